"""The page of pto.tload: its C++ example, its text of level 2, its layouts and its restrictions.

Its sync form (``%t0 = tload %sv[...]``) and its level 1 (``%dst = pto.tload %mem : …``) are in `test_text_forms`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ptokit as pto
from ptokit import BLayout, DiagnosticError, Layout, SLayout, TileType

from .examples import TARGETS, TYPES, function, numbers, run, run_text


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("T", TYPES, ids=str)
def test_example(target: str, T: Any) -> None:
    def example(memory: Any) -> None:
        gshape = pto.Shape(1, 1, 1, 16, 16)
        gstride = pto.BaseShape2D(T, 16, 16, Layout.ND)
        gin = pto.GlobalTensor(memory, gshape, gstride, Layout.ND)
        t = pto.Tile(TileType.Vec, T, 16, 16)
        e = pto.TLOAD(t, gin)
        pto.TSYNC(e)
        loaded.append(t)

    loaded: list[pto.Tile] = []
    x = numbers(T)
    (after,) = run(example, target, x)
    assert np.array_equal(after, x)
    assert np.array_equal(loaded[-1].numpy(), x)  # the tile of the core


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("T", TYPES, ids=str)
def test_level_2(target: str, T: Any) -> None:
    tile = f"!pto.tile_buf<vec, 16x16x{T.text}>"
    body = f"""
        %dst = pto.alloc_tile : {tile}
        pto.tload ins(%mem : !pto.partition_tensor_view<16x16x{T.text}>)
                  outs(%dst : {tile})
        pto.tstore ins(%dst : {tile}) outs(%out : !pto.partition_tensor_view<16x16x{T.text}>)"""
    x, y = numbers(T), np.zeros((16, 16), T.value)
    run_text(function(body, T.text), target, x, y)
    assert np.array_equal(y, x)


def test_the_transfer_is_the_valid_region_at_the_base_offset() -> None:
    """``dst[i, j] = src[r0 + i, c0 + j]`` for i < R, j < C."""
    x = numbers(pto.f32, 32, 64)
    for target in TARGETS:
        with pto.Core(target):
            t = pto.Tile(TileType.Vec, pto.f32, 16, 32, valid_row=5, valid_col=24)
            pto.TLOAD(t, pto.GlobalTensor(x, (32, 64))[3:8, 8:32])
        assert np.array_equal(t.numpy(), x[3:8, 8:32])


ND, DN, NZ = Layout.ND, Layout.DN, Layout.NZ


def tensor(x: np.ndarray, layout: Layout) -> pto.GlobalTensor:
    """The 32x32 f16 matrix `x` as a tensor of this layout over memory arranged for it."""
    memory = {
        ND: x,
        DN: x.T,
        NZ: x.reshape(32, 2, 16).transpose(1, 0, 2),
    }[layout]
    stride = pto.BaseShape2D(pto.f16, 32, 32, layout)
    return pto.GlobalTensor(np.ascontiguousarray(memory), pto.TileShape2D(pto.f16, 32, 32, layout), stride, layout)


TILE_LAYOUTS = {
    ND: (BLayout.RowMajor, SLayout.NoneBox),
    DN: (BLayout.ColMajor, SLayout.NoneBox),
    NZ: (BLayout.ColMajor, SLayout.RowMajor),
    "ZN": (BLayout.RowMajor, SLayout.ColMajor),
}


@pytest.mark.parametrize("target", ["a2a3", "a5"])
@pytest.mark.parametrize("loc", [TileType.Vec, TileType.Mat])
@pytest.mark.parametrize("pair", [(ND, ND), (DN, DN), (NZ, NZ), (ND, NZ), (DN, "ZN")], ids=str)
def test_layout_compatibility(target: str, loc: TileType, pair: tuple[Layout, Any]) -> None:
    """The table: Vec takes equal layouts only, Mat also ND→NZ and DN→ZN."""
    memory, layout = pair
    blayout, slayout = TILE_LAYOUTS[layout]
    x = numbers(pto.f16, 32, 32)
    with pto.Core(target):
        t = pto.Tile(loc, pto.f16, 32, 32, blayout, slayout=slayout)
        if loc is TileType.Vec and memory is not layout:
            with pytest.raises(DiagnosticError) as error:
                pto.TLOAD(t, tensor(x, memory))
            assert error.value.diagnostics[0].rule.startswith("LOAD-")
        else:
            pto.TLOAD(t, tensor(x, memory))
            assert np.array_equal(t.numpy(), x)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    ("dtype", "shape", "words"),
    [
        (pto.f32, (1, 1, 1, 16, 16), "f32"),  # element sizes are equal
        (pto.f16, (1, 1, 1, 8, 16), "8x16"),  # the view is as large as the valid region
        (pto.f16, (1, 1, 1, 16, 0), "must be positive"),  # sizes are positive
    ],
)
def test_constraints(target: str, dtype: Any, shape: tuple[int, ...], words: str) -> None:
    x = numbers(dtype, first=1)
    with pto.Core(target):
        t = pto.Tile(TileType.Vec, pto.f16, 16, 16)
        with pytest.raises(DiagnosticError, match=words):
            pto.TLOAD(t, pto.GlobalTensor(x, shape))
    assert not t.numpy().any()
