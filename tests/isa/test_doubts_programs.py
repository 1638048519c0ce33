"""Random programs on tiles whose valid regions differ: the region of dst decides, whatever the sources state."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ptokit as pto

R, C = 16, 64
Vec, f32, i32 = pto.TileType.Vec, pto.f32, pto.i32
F, I = pto.Ptr[f32], pto.Ptr[i32]
X = np.arange(R * C, dtype=np.float32).reshape(R, C)
Y = X * 7 + 3
COLUMN = np.arange(R, dtype=np.float32) * 1000

Sizes = tuple[int, int, int, int]
"""Valid rows and columns of a source, and of dst."""


def part(rows: Any, cols: Any, addr: int, dtype: Any = f32) -> pto.Tile:
    return pto.Tile(Vec, dtype, R, C, valid_row=rows, valid_col=cols, addr=addr)


def column(rows: Any, addr: int) -> pto.Tile:
    return pto.Tile(Vec, f32, R, 1, valid_row=rows, valid_col=1, blayout=pto.BLayout.ColMajor, addr=addr)


def filled(memory: Any, addr: int, dtype: Any = f32) -> pto.Tile:
    tile = part(R, C, addr, dtype)
    pto.TLOAD(tile, pto.GlobalTensor(memory, (R, C)))
    return tile


def of_rows(memory: Any, rows: Any) -> pto.GlobalTensor:
    return pto.GlobalTensor(memory, (rows, 1), (1, 1), layout=pto.Layout.DN)


@pto.kernel(target="a5")
def convert(x: F, z: I, sr: int, sc: int, dr: int, dc: int) -> None:
    filled(x, 0)
    whole = filled(z, 8192, i32)
    pto.TCVT(part(dr, dc, 8192, i32), part(sr, sc, 0), pto.RoundMode.CAST_RINT)
    pto.TSTORE(pto.GlobalTensor(z, (R, C)), whole)


@pto.kernel(target="a5")
def expand_row(x: F, z: F, sr: int, sc: int, dr: int, dc: int) -> None:
    filled(x, 0)
    whole = filled(z, 8192)
    pto.TCOLEXPAND(part(dr, dc, 8192), part(sr, sc, 0))
    pto.TSTORE(pto.GlobalTensor(z, (R, C)), whole)


@pto.kernel(target="a5")
def expand_column(v: F, z: F, sr: int, dr: int, dc: int) -> None:
    whole = filled(z, 8192)
    pto.TLOAD(column(R, 16384), of_rows(v, R))
    pto.TROWEXPAND(part(dr, dc, 8192), column(sr, 16384))
    pto.TSTORE(pto.GlobalTensor(z, (R, C)), whole)


@pto.kernel(target="a5")
def subtract_column(x: F, v: F, z: F, sr: int, dr: int, dc: int) -> None:
    filled(x, 0)
    whole = filled(z, 8192)
    pto.TLOAD(column(R, 16384), of_rows(v, R))
    pto.TROWEXPANDSUB(part(dr, dc, 8192), part(dr, dc, 0), column(sr, 16384))
    pto.TSTORE(pto.GlobalTensor(z, (R, C)), whole)


@pto.kernel(target="a5")
def subtract_row(x: F, y: F, z: F, sc: int, dr: int, dc: int) -> None:
    filled(x, 0)
    filled(y, 4096)
    whole = filled(z, 8192)
    pto.TCOLEXPANDSUB(part(dr, dc, 8192), part(dr, dc, 0), part(1, sc, 4096))
    pto.TSTORE(pto.GlobalTensor(z, (R, C)), whole)


@pto.kernel(target="a5")
def sum_in_place(x: F, z: F, rows: int, cols: int) -> None:
    filled(x, 0)
    pto.TROWSUM(column(rows, 0), part(rows, cols, 0))
    pto.TSTORE(of_rows(z, rows), column(rows, 0))


def check(sizes: Sizes) -> None:
    """Run every kernel on these sizes, against NumPy."""
    sr, sc, dr, dc = sizes
    expected = [
        (convert, (X,), (sr, sc, dr, dc), X.astype(np.int32)),
        (expand_row, (X,), (sr, sc, dr, dc), np.broadcast_to(X[0], X.shape)),
        (expand_column, (COLUMN,), (sr, dr, dc), np.broadcast_to(COLUMN[:, None], X.shape)),
        (subtract_column, (X, COLUMN), (sr, dr, dc), X - COLUMN[:, None]),
        (subtract_row, (X, Y), (sc, max(dr, 2), dc), X - Y[0]),
    ]
    for kernel, memory, numbers, values in expected:
        z = np.full((R, C), -1, values.dtype)
        want = z.copy()
        rows = numbers[-2]
        want[:rows, :dc] = values[:rows, :dc]
        kernel(*memory, z, *numbers)
        assert (z == want).all(), kernel
    z, want = np.zeros((R, 1), np.float32), np.zeros((R, 1), np.float32)
    want[:dr, 0] = X[:dr, :dc].sum(1)
    sum_in_place(X, z, dr, dc)
    assert (z == want).all()


SIZES = st.tuples(*(st.integers(1, n) for n in (R, C, R, C)))


@settings(max_examples=20)
@given(SIZES)
def test_the_region_of_dst_decides(sizes: Sizes) -> None:
    check(sizes)


@pytest.mark.campaign
@settings(max_examples=1000)
@given(SIZES)
def test_many_regions(sizes: Sizes) -> None:
    check(sizes)
