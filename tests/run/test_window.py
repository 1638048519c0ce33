"""subset: windows of a tile share its storage."""

import numpy as np

from .kernels import TILE, add, alloc, compiled, load, part, store, view

PTRS = "%x: !pto.ptr<f32>, %y: !pto.ptr<f32>, %rows: index"
HALF = "!pto.tile_buf<vec, 8x8xf32>"


def test_columns_of_a_tile() -> None:
    body = (
        view("xv", "%x")
        + view("yv", "%y")
        + alloc("t")
        + part("p", "%xv", "%c0")
        + part("q", "%yv", "%c0")
        + load("%t", "%p")
        + f"    %l = pto.subset %t[%c0, %c0] sizes [8, 8] : {TILE}\n"
        + f"    %r = pto.subset %t[%c0, %c8] sizes [8, 8] : {TILE}\n"
        + f"    pto.tadd ins(%l, %r : {HALF}, {HALF}) outs(%r : {HALF})\n"
        + store("%t", "%q")
    )
    program = compiled(PTRS, body)
    x = np.arange(128, dtype=np.float32).reshape(8, 16)
    y = np.zeros_like(x)
    program.launch([x, y, 8])
    assert (y[:, :8] == x[:, :8]).all()
    assert (y[:, 8:] == x[:, :8] + x[:, 8:]).all()


def test_loading_into_a_window_leaves_the_rest() -> None:
    body = (
        view("xv", "%x")
        + view("yv", "%y")
        + alloc("t")
        + part("p", "%xv", "%c0")
        + part("q", "%yv", "%c0")
        + load("%t", "%p")
        + add("%t", "%t", "%t")
        + f"    %w = pto.subset %t[%c0, %c8] sizes [8, 8] : {TILE}\n"
        + "    %h = pto.partition_view %xv, offsets = [%c0, %c0], sizes = [%c8, %c8] : "
        "!pto.tensor_view<?x16xf32> -> !pto.partition_tensor_view<8x8xf32>\n"
        + f"    pto.tload ins(%h : !pto.partition_tensor_view<8x8xf32>) outs(%w : {HALF})\n"
        + store("%t", "%q")
    )
    x = np.arange(128, dtype=np.float32).reshape(8, 16)
    y = np.zeros_like(x)
    compiled(PTRS, body).launch([x, y, 8])
    assert (y[:, :8] == 2 * x[:, :8]).all()
    assert (y[:, 8:] == x[:, :8]).all()
