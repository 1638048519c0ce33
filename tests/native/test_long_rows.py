"""Long rows, copied past the caches or not, are copied whole wherever they begin."""

from __future__ import annotations

import numpy as np
import pytest

from ptokit.asm import parse_module
from ptokit.run import Program, compile_program
from ptokit.targets import target

rows = pytest.importorskip("ptokit.backends.native.tiles")


def program(width: int) -> Program:
    """Row by row of i8, by way of a tile as wide as needed."""
    view, part = f"!pto.tensor_view<?x{width}xi8>", f"!pto.partition_tensor_view<1x{width}xi8>"
    tile = f"!pto.tile_buf<vec, 1x{-(-width // 32) * 32}xi8, valid=1x{width}>"
    text = f"""
    func.func @k(%x: !pto.ptr<i8>, %y: !pto.ptr<i8>, %rows: index, %pitch: index) {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %w = arith.constant {width} : index
      %b64 = pto.get_block_idx
      %b = arith.index_cast %b64 : i64 to index
      %xv = pto.make_tensor_view %x, shape = [%rows, %w], strides = [%pitch, %c1] : {view}
      %yv = pto.make_tensor_view %y, shape = [%rows, %w], strides = [%pitch, %c1] : {view}
      %p = pto.partition_view %xv, offsets = [%b, %c0], sizes = [%c1, %w] : {view} -> {part}
      %q = pto.partition_view %yv, offsets = [%b, %c0], sizes = [%c1, %w] : {view} -> {part}
      %t = pto.alloc_tile : {tile}
      pto.tload ins(%p : {part}) outs(%t : {tile})
      pto.tstore ins(%t : {tile}) outs(%q : {part})
      return
    }}"""
    read = parse_module(text, target=target("a5"))
    read.diagnostics.raise_if_errors()
    return compile_program(read.module, target("a5"))


@pytest.mark.parametrize("far", [0, 1 << 30], ids=["wherever they begin", "where lines do"])
@pytest.mark.parametrize("large", [0, 1 << 30], ids=["past the caches", "kept"])
@pytest.mark.parametrize("width", [33, 64, 300, 512, 1000])
def test_rows_are_copied_whole(width: int, large: int, far: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("LARGE", large), ("_FAR", far), ("LONG", 1)):
        monkeypatch.setattr(rows, name, value)
    monkeypatch.setenv("PTOKIT_CACHE", "off")
    made, count = program(width), 7
    for pitch in (width, width + 1, -(-width // 64) * 64):
        for start in (0, 16, 33):
            x = np.random.default_rng(1).integers(0, 256, count * pitch, np.uint8)
            space = np.zeros(count * pitch + 160, np.uint8)
            begin = -space.ctypes.data % 64 + start
            y = space[begin : begin + count * pitch]
            made.launch([x, y, count, pitch], count, backend="native", threads=1)
            wanted = np.zeros_like(y)
            for row in range(count):
                wanted[row * pitch : row * pitch + width] = x[row * pitch : row * pitch + width]
            assert (y == wanted).all()
            assert not space[:begin].any()
            assert not space[begin + count * pitch :].any()
