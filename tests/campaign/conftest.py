"""Small kernels for campaigns."""

from __future__ import annotations

from pathlib import Path

import pytest

from ..cli.conftest import ptokit

__all__ = ["kernels", "ptokit"]

SCALE = """module attributes {{pto.target_arch = "a5"}} {{
  func.func @scale(%x: !pto.ptr<f32>, %y: !pto.ptr<f32>, %n: index) attributes {{pto.entry}} {{
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %c64 = arith.constant 64 : index
    %s = arith.constant {factor} : f32
    %xv = pto.make_tensor_view %x, shape = [%c16, %c64], strides = [%c64, %c1] : !pto.tensor_view<?x?xf32>
    %yv = pto.make_tensor_view %y, shape = [%c16, %c64], strides = [%c64, %c1] : !pto.tensor_view<?x?xf32>
    %xp = pto.partition_view %xv, offsets = [%c0, %c0], sizes = [%c16, %c64]
      : !pto.tensor_view<?x?xf32> -> !pto.partition_tensor_view<16x64xf32>
    %yp = pto.partition_view %yv, offsets = [%c0, %c0], sizes = [%c16, %c64]
      : !pto.tensor_view<?x?xf32> -> !pto.partition_tensor_view<16x64xf32>
    %t = pto.alloc_tile : !pto.tile_buf<vec, 16x64xf32>
    {loop}
      pto.tload ins(%xp : !pto.partition_tensor_view<16x64xf32>) outs(%t : !pto.tile_buf<vec, 16x64xf32>)
      pto.tmuls ins(%t, %s : !pto.tile_buf<vec, 16x64xf32>, f32) outs(%t : !pto.tile_buf<vec, 16x64xf32>)
      pto.tstore ins(%t : !pto.tile_buf<vec, 16x64xf32>) outs(%yp : !pto.partition_tensor_view<16x64xf32>)
    {end}
    return
  }}
}}
"""


def kernel(factor: float = 2.0, turns: int = 0) -> str:
    """``y = x * factor``, `turns` times over where it is not 0."""
    if not turns:
        return SCALE.format(factor=float(factor), loop="", end="")
    loop = f"%last = arith.constant {turns} : index\n    scf.for %i = %c0 to %last step %c1 {{"
    return SCALE.format(factor=float(factor), loop=loop, end="}")


@pytest.fixture
def kernels(tmp_path: Path) -> Path:
    """A folder with three kernels: two that pass, one whose tile does not fit."""
    folder = tmp_path / "kernels"
    folder.mkdir()
    (folder / "two.pto").write_text(kernel(2))
    (folder / "three.pto").write_text(kernel(3))
    (folder / "huge.pto").write_text(
        kernel(2).replace("alloc_tile : !pto.tile_buf<vec, 16x64xf32>", "alloc_tile : !pto.tile_buf<vec, 16x64xf64>")
    )
    return folder
