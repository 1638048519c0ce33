"""A tile converted into another one on its own bytes: all elements are read before one is written."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from ptokit.asm import parse_module
from ptokit.backends.native.program import prepare
from ptokit.run import compile_program
from ptokit.targets import target
from ptokit.types.dtypes import DTYPES

pytest.importorskip("llvmlite")


def text(source: str, result: str, shift: int, rows: int) -> str:
    """``y = convert(x)`` on the bytes of `x`; the check refuses all that a device would read too late."""
    a, b = (f"!pto.tile_buf<vec, 16x32x{t}, valid={rows}x32>" for t in (source, result))
    v, p = ("!pto.tensor_view<16x32x{}>", f"!pto.partition_tensor_view<{rows}x32x{{}}>")
    lines = [
        f"func.func @k(%x: !pto.ptr<{source}>, %y: !pto.ptr<{result}>) attributes {{pto.entry}} {{",
        *(f"%c{n} = arith.constant {n} : index" for n in sorted({0, 1, 16, 32, rows})),
        "%p0 = arith.constant 4096 : i64",
        f"%p1 = arith.constant {4096 + shift} : i64",
    ]
    for name, element in (("x", source), ("y", result)):
        whole, part = v.format(element), p.format(element)
        shape = "shape = [%c16, %c32], strides = [%c32, %c1]"
        lines.append(f"%{name}v = pto.make_tensor_view %{name}, {shape} : {whole}")
        cut = f"offsets = [%c0, %c0], sizes = [%c{rows}, %c32]"
        lines.append(f"%{name}p = pto.partition_view %{name}v, {cut} : {whole} -> {part}")
    lines += [
        f"%a = pto.alloc_tile addr = %p0 : {a}",
        f"%b = pto.alloc_tile addr = %p1 : {b}",
        f"pto.tload ins(%xp : {p.format(source)}) outs(%a : {a})",
        f"pto.tcvt ins(%a : {a}) outs(%b : {b})",
    ]
    lines += [f"pto.tstore ins(%b : {b}) outs(%yp : {p.format(result)})", "return", "}"]
    return "module {\n" + "\n".join(lines) + "\n}\n"


PAIRS = [("f32", "bf16"), ("f32", "f16"), ("f32", "i16"), ("f16", "i8")]


@pytest.mark.parametrize(("pair", "shift", "rows"), [*itertools.product(PAIRS, (0, -32, -512), (7, 16))])
def test_both_backends(pair: tuple[str, str], shift: int, rows: int) -> None:
    source, result = pair
    parsed = parse_module(text(source, result, shift, rows), "k.pto", target=target("a5"))
    parsed.diagnostics.raise_if_errors()
    program = compile_program(parsed.module, target("a5"))
    assert prepare(program).made.module.called == set()
    x = (np.random.default_rng(1).standard_normal((16, 32)) * 40).astype(DTYPES[source].value)
    found = []
    for backend in ("numpy", "native"):
        y = np.zeros((16, 32), DTYPES[result].value)
        program.launch([x, y], 1, backend=backend)
        found.append(y.tobytes())
    assert found[0] == found[1]
    assert any(found[0])
