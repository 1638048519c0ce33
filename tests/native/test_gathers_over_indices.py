"""Gathers whose destination lies on the indices: all are read before one is written."""

from __future__ import annotations

import numpy as np
import pytest

from ptokit.asm import parse_module
from ptokit.diagnostics import DiagnosticError
from ptokit.run import compile_program
from ptokit.targets import target

pytest.importorskip("llvmlite")

F, I = "!pto.tile_buf<vec, 8x16xf32>", "!pto.tile_buf<vec, 8x16xi32>"
VIEW = "!pto.tensor_view<8x16x{}>"
PART = "!pto.partition_tensor_view<8x16x{}>"


@pytest.mark.parametrize("on", ["cpu", "a5"])
@pytest.mark.parametrize("shift", [0, 32, 64, -32, -64, 512])
def test_shifted(shift: int, on: str) -> None:
    views = ""
    for name, of in (("x", "f32"), ("i", "i32"), ("y", "f32")):
        view, part = VIEW.format(of), PART.format(of)
        views += f"%{name}v = pto.make_tensor_view %{name}, shape = [%c8, %c16], strides = [%c16, %c1] : {view}\n"
        views += (
            f"%{name}p = pto.partition_view %{name}v, offsets = [%c0, %c0], sizes = [%c8, %c16] : {view} -> {part}\n"
        )
    text = f"""func.func @k(%x: !pto.ptr<f32>, %i: !pto.ptr<i32>, %y: !pto.ptr<f32>) attributes {{pto.entry}} {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c8 = arith.constant 8 : index
      %c16 = arith.constant 16 : index
      %p0 = arith.constant 0 : i64
      %p1 = arith.constant 4096 : i64
      %p2 = arith.constant {4096 + shift} : i64
      {views}
      %a = pto.alloc_tile addr = %p0 : {F}
      %b = pto.alloc_tile addr = %p1 : {I}
      %d = pto.alloc_tile addr = %p2 : {F}
      pto.tload ins(%xp : {PART.format("f32")}) outs(%a : {F})
      pto.tload ins(%ip : {PART.format("i32")}) outs(%b : {I})
      pto.tgather ins(%a, %b : {F}, {I}) outs(%d : {F})
      pto.tstore ins(%d : {F}) outs(%yp : {PART.format("f32")})
      return
    }}"""
    read = parse_module(text, "k.pto", target=target(on))
    assert [str(d) for d in read.diagnostics] == [], text
    rng = np.random.default_rng(5)
    x, i = rng.random((8, 16), np.float32), rng.integers(0, 128, (8, 16)).astype(np.int32)
    found: list[object] = []
    for backend in ("numpy", "native"):
        y = np.zeros((8, 16), np.float32)
        try:
            compile_program(read.module, target(on)).launch([x, i, y], 1, backend=backend)
            found.append(y.tolist())
        except DiagnosticError as error:
            found.append([d.rule for d in error.diagnostics])
    assert found[0] == found[1]
    if shift in (0, 512) and on == "cpu":
        assert np.array_equal(found[0], x.reshape(-1)[i])
