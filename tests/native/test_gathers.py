"""Gathers and scatters by indices give the same bytes as machine code and with NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from ptokit.asm import parse_module
from ptokit.backends.native.program import NativeProgram
from ptokit.diagnostics import DiagnosticError
from ptokit.run import Program, compile_program
from ptokit.targets import target

ROWS, COLS, TABLE = 8, 64, 512
VIEW, PART = "!pto.tensor_view<?x?xE>", "!pto.partition_tensor_view<{}x{}xE>"


def tile(type: str, rows: int = ROWS, cols: int = COLS, valid: str = "") -> str:
    return f"!pto.tile_buf<vec, {rows}x{cols}x{type}{valid}>"


def kernel(body: str, type: str) -> str:
    """%d (data) and %i (indices) are tiles, %t a table of 8x64 elements as a view; %d is stored."""
    lines = ["func.func @k(%x: !pto.ptr<E>, %y: !pto.ptr<i32>, %z: !pto.ptr<E>, %w: !pto.ptr<E>) {"]
    lines += [f"%k{n} = arith.constant {n} : index" for n in (0, 1, 8, 64, TABLE)]
    for name, element in (("x", "E"), ("y", "i32"), ("z", "E"), ("w", "E")):
        view, part = VIEW.replace("xE", f"x{element}"), PART.format(ROWS, COLS).replace("xE", f"x{element}")
        lines.append(f"%{name}v = pto.make_tensor_view %{name}, shape = [%k8, %k64], strides = [%k64, %k1] : {view}")
        place = "offsets = [%k0, %k0], sizes = [%k8, %k64]"
        lines.append(f"%{name}p = pto.partition_view %{name}v, {place} : {view} -> {part}")
    data, index, part = tile("E"), tile("i32"), PART.format(ROWS, COLS)
    lines += [f"%d = pto.alloc_tile : {data}", f"%s = pto.alloc_tile : {data}", f"%i = pto.alloc_tile : {index}"]
    lines.append(f"pto.tload ins(%xp : {part}) outs(%s : {data})")
    lines.append(f"pto.tload ins(%yp : {part.replace('xE', 'xi32')}) outs(%i : {index})")
    lines.append(body)
    lines += [f"pto.tstore ins(%d : {data}) outs(%wp : {part})", "return", "}"]
    text = "\n".join(lines).replace("DATA", data).replace("INDEX", index).replace("PART", part)
    return text.replace("xE", f"x{type}").replace("<E>", f"<{type}>")


GATHER = "pto.mgather ins(%zp, %i : PART, INDEX) outs(%d : DATA) {gatherOob = #pto<gather_oob MODE>}"
SCATTER = (
    "pto.mscatter ins(%s, %i : DATA, INDEX) outs(%zp : PART) {scatterOob = #pto<scatter_oob MODE>}\n"
    "pto.tload ins(%zp : PART) outs(%d : DATA)"
)
CASES = {
    "tgather": ("pto.tgather ins(%s, %i : DATA, INDEX) outs(%d : DATA)", False),
    "tscatter": ("pto.tscatter ins(%s, %i : DATA, INDEX) outs(%d : DATA)", False),
    **{f"mgather {m}": (GATHER.replace("MODE", m), m != "undefined") for m in ("undefined", "clamp", "wrap", "zero")},
    **{f"mscatter {m}": (SCATTER.replace("MODE", m), m != "undefined") for m in ("undefined", "skip", "clamp", "wrap")},
}


def compiled(body: str, type: str, on: str) -> Program:
    read = parse_module(kernel(body, type), target=target(on))
    read.diagnostics.raise_if_errors()
    return compile_program(read.module, target(on))


def launched(program: Program, args: list[Any], backend: str) -> Any:
    """The arrays after a launch, or the rule that stopped it."""
    copies = [a.copy() for a in args]
    try:
        program.launch(copies, backend=backend)
    except DiagnosticError as error:
        return error.diagnostics[0].rule, error.diagnostics[0].message
    return [a.tobytes() for a in copies]


@pytest.mark.parametrize(("type", "on"), [("f32", "a5"), ("f32", "cpu"), ("i32", "a2a3")])
@pytest.mark.parametrize("name", CASES)
def test_same_bytes(name: str, type: str, on: str) -> None:
    body, anywhere = CASES[name]
    if (name, on) == ("tgather", "a2a3"):
        body = "%q = pto.alloc_tile : INDEX\n" + body.replace("%i : DATA, INDEX", "%i, %q : DATA, INDEX, INDEX")
    program = compiled(body, type, on)
    made = NativeProgram(program)
    assert not made.module.called
    rng = np.random.default_rng(3)
    x, z, w = (
        rng.integers(-1000, 1000, (ROWS, COLS)).astype({"f32": np.float32, "i32": np.int32}[type]) for _ in "xzw"
    )
    inside = rng.integers(0, TABLE, (ROWS, COLS)).astype(np.int32)
    outside = np.where(rng.random(inside.shape) < 0.2, rng.integers(-(1 << 31), 1 << 31, inside.shape), inside)
    for index in (inside, outside.astype(np.int32)):
        native, plain = (launched(program, [x, index, z, w], backend) for backend in ("native", "numpy"))
        assert native == plain
    refused = isinstance(plain, tuple)
    assert refused is not (anywhere or (on == "cpu" and name.startswith("t")))
