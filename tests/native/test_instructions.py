"""Instructions whose meaning is data give the same elements as machine code and with NumPy."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from ptokit.asm import parse_module
from ptokit.ir.verify import verify
from ptokit.isa.table import TABLE, Instr, Kind, Role
from ptokit.run import compile_program
from ptokit.targets import target
from ptokit.types.dtypes import DTYPES

ROWS, COLS, VALID = 16, 48, (16, 37)
SHAPES = {
    "t": f"{ROWS}x{COLS}xE, valid={VALID[0]}x{VALID[1]}",
    "c": f"{ROWS}x1xE, blayout=col_major",
    "r": f"1x{COLS}xE, valid=1x{VALID[1]}",
}
LINE = f"!pto.tile_buf<vec, 1x{ROWS}xE>"  # in which a column is loaded and stored
VIEW, PART = f"!pto.tensor_view<?x{COLS}xE>", "!pto.partition_tensor_view<{}x{}xE>"


def meant(instr: Instr) -> bool:
    """True for tile instructions that may have native code."""
    kinds = {o.kind for o in instr.operands}
    return (
        instr.run is not None
        and instr.form.syntax == "dps"
        and kinds <= {Kind.TILE, Kind.SCALAR}
        and not instr.produces
    )


def statements(instr: Instr, shapes: tuple[str, ...], name: str) -> str:
    """The instruction on sources %t0, %c1 … and a destination of its own."""
    out, *sources = shapes
    ins: list[tuple[str, str]] = []
    waiting = list(sources)
    for operand in instr.ins:
        if operand.kind is Kind.SCALAR:
            ins.append(("%s", operand.type or "S"))
        elif operand.role is Role.SCRATCH:
            if not operand.optional:
                ins.append(("%tmp", f"!pto.tile_buf<vec, {SHAPES['t']}>"))
        else:
            shape = waiting.pop(0)
            ins.append((f"%in{shape}{len(ins) % 3}", f"!pto.tile_buf<vec, {SHAPES[shape]}>"))
    tile = f"!pto.tile_buf<vec, {SHAPES[out]}>"
    listed, types = ", ".join(n for n, _ in ins), ", ".join(t for _, t in ins)
    return f"%{name} = pto.alloc_tile : {tile}\npto.{instr.text} ins({listed} : {types}) outs(%{name} : {tile})\n"


def kernel(body: list[tuple[str, str]], type: str) -> str:
    """Loads sources, executes statements (name and shape of the destination, text) and stores each destination."""
    lines = ["func.func @k(%x: !pto.ptr<E>, %y: !pto.ptr<E>, %s: S, %n: index) {", "%zero = arith.constant 0 : index"]
    lines += [f"%k{n} = arith.constant {n} : index" for n in {1, *VALID, COLS}]
    for v, p in (("xv", "x"), ("yv", "y")):
        lines.append(f"%{v} = pto.make_tensor_view %{p}, shape = [%n, %k{COLS}], strides = [%k{COLS}, %k1] : {VIEW}")
    row = 0

    def part(view: str, name: str, shape: str) -> str:
        nonlocal row
        rows, cols = {"t": VALID, "c": (1, ROWS), "r": (1, VALID[1])}[shape]
        kind = PART.format(rows, cols)
        lines.append(f"%o{name} = arith.constant {row} : index")
        row += VALID[0]
        place = f"offsets = [%o{name}, %zero], sizes = [%k{rows}, %k{cols}]"
        lines.append(f"%{name} = pto.partition_view %{view}, {place} : {VIEW} -> {kind}")
        return kind

    for shape, k in itertools.product("tcr", range(3)):
        tile = f"!pto.tile_buf<vec, {SHAPES[shape]}>"
        kind, name = part("xv", f"p{shape}{k}", shape), f"%in{shape}{k}"
        into = LINE if shape == "c" else tile
        lines.append(f"{name}{'l' * (shape == 'c')} = pto.alloc_tile : {into}")
        lines.append(f"pto.tload ins(%p{shape}{k} : {kind}) outs({name}{'l' * (shape == 'c')} : {into})")
        if shape == "c":
            lines.append(f"{name} = pto.treshape {name}l : {LINE} -> {tile}")
    lines.append(f"%tmp = pto.alloc_tile : !pto.tile_buf<vec, {SHAPES['t']}>")
    row = 0
    for name, text in body:
        shape, number = name[0], name[1:]
        lines.append(text)
        kind = part("yv", f"q{number}", shape)
        tile = f"!pto.tile_buf<vec, {SHAPES[shape]}>"
        if shape == "c":
            lines.append(f"%{name}l = pto.treshape %{name} : {tile} -> {LINE}")
            name, tile = f"{name}l", LINE
        lines.append(f"pto.tstore ins(%{name} : {tile}) outs(%q{number} : {kind})")
    lines += ["return", "}"]
    text = "\n".join(lines).replace("xE", f"x{type}").replace("<E>", f"<{type}>")
    return text.replace(": S", f": {type}").replace(", S", f", {type}")


@cache
def accepted(type: str, on: str) -> list[tuple[str, str]]:
    """Instructions that the target takes for an element type, each in its first form that it does take."""
    found = []
    for instr in TABLE.values():
        if not meant(instr):
            continue
        count = 1 + sum(o.kind is Kind.TILE and o.role is not Role.SCRATCH for o in instr.ins)
        for shapes in forms(count):
            name = f"{shapes[0]}{len(found)}"
            text = statements(instr, shapes, name)
            read = parse_module(kernel([(name, text)], type), target=target(on))
            if not read.diagnostics.errors and not verify(read.module, target(on)).errors:
                found.append((name, text))
                break
    return found


def forms(count: int) -> Iterator[tuple[str, ...]]:
    yield ("t",) * count
    for last in "cr":
        yield ("t",) * (count - 1) + (last,)
    for first in "cr":
        yield (first,) + ("t",) * (count - 1)


MORE = [("f16", "a2a3"), ("i32", "a2a3"), ("u16", "a5"), ("bf16", "cpu")]


@pytest.mark.parametrize(
    ("type", "on"),
    [("f32", "a5"), ("i16", "a5"), *(pytest.param(*case, marks=pytest.mark.campaign) for case in MORE)],
)
def test_same_elements(type: str, on: str) -> None:
    body = accepted(type, on)
    assert len(body) > 20
    program = compile_program(parse_module(kernel(body, type), target=target(on)).module, target(on))
    dtype = DTYPES[type]
    rng = np.random.default_rng(7)
    x = rng.integers(0, 1 << dtype.bits, (max(9, len(body)) * VALID[0], COLS), dtype=dtype.storage)
    if dtype.is_float:
        near = rng.standard_normal(x.shape).astype(dtype.value).view(dtype.storage)
        x = np.where(rng.random(x.shape) < 0.8, near, x)
    x[:3, :3] = 0
    results = []
    for backend in ("native", "numpy"):
        y = np.zeros_like(x)
        program.launch([x, y, 3, len(x)], backend=backend)
        results.append(y[: len(body) * VALID[0]].reshape(len(body), -1))
    same = results[0] == results[1]
    if dtype.is_float:
        same |= np.isnan(results[0].view(dtype.value)) & np.isnan(results[1].view(dtype.value))
    wrong = [text.split("\n")[1] for (_, text), fine in zip(body, same.all(axis=1)) if not fine]
    assert wrong == []
