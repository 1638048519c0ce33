"""Moves out of the unified buffer that address memory in their own way on a5 (move-gather-scatter 4.4 to 4.6).

Where the addresses agree with the layouts of both tiles they are plain copies by row and column.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ptokit.targets import A5
from ptokit.types.enums import TileType

from ..machine import Machine, TileOperand
from ..meaning.moving import put, store_at, stored, window
from .move_facts import (
    nz_pitch,
)


def rearrange(dst: TileOperand, src: TileOperand) -> None:
    """ND to Nz and ND to Zn."""
    if dst.spec.layout_name == "Nz":
        pitch = nz_pitch(dst.spec, dst.vr)
        assert isinstance(pitch, int)
        nd_to_nz(dst, src, src.vr, dst.vc, pitch)
    else:
        nd_to_zn(dst, src)


def nd_to_nz(dst: TileOperand, src: TileOperand, rows: int, cols: int, pitch: int, row: int = 0, col: int = 0) -> None:
    """The window at (row, col) of an ND source; column blocks of the destination lie `pitch` rows apart."""
    spec = dst.spec
    if pitch == spec.rows and rows <= pitch and spec.fractal == 512:
        put(dst, window(src, row, col, rows, cols))
        return
    r, c = np.arange(rows)[:, None], np.arange(cols)[None, :]
    where = (c // spec.c0) * pitch * spec.c0 + r * spec.c0 + c % spec.c0
    store_at(dst, where, stored(src)[:, (row + r) * src.spec.cols + col + c])


def nd_to_zn(dst: TileOperand, src: TileOperand) -> None:
    """Boxes of c0 x 16 elements, transposed inside; the pitches are the destination's valid columns."""
    c0, blocks = dst.spec.c0, dst.vc // 16
    k, n = np.arange(dst.vr // c0 * c0)[:, None], np.arange(16 * blocks)[None, :]
    where = ((k // c0 * blocks + n // 16) * 16 + n % 16) * c0 + k % c0
    store_at(dst, where, stored(src)[:, k * dst.vc + n])


# Exponents for the matrix unit ---------------------------------------------------------------------------------------


@lru_cache(maxsize=64)
def _zz_from_rows(rows: int, cols: int) -> np.ndarray:
    """Source offsets in destination order: boxes of 16 rows x 2 columns (group axis 1)."""
    blocks, pairs = -(-rows // 16), cols // 2
    rb, p, i, q = np.ogrid[:blocks, :pairs, :16, :2]
    return ((16 * rb + i) * cols + 2 * p + q).reshape(-1)


@lru_cache(maxsize=64)
def _zz_from_columns(rows: int, cols: int) -> np.ndarray:
    """Source offsets in destination order where the exponents of a column lie in consecutive rows (group axis 0)."""
    cb, p, q, e = np.ogrid[: cols // 16, : rows // 2, :16, :2]
    return ((2 * p + e) * cols + 16 * cb + q).reshape(-1)


def to_zz(m: Machine, dst: TileOperand, src: TileOperand, grp_axis: int) -> None:
    """Exponents in the order of the scale buffers (4.5).

    With group axis 1 the device first clears the source's rows up to a multiple of 16, and so does this for a5.
    """
    codes = stored(src)
    if grp_axis == 0:
        where = _zz_from_columns(src.vr, src.vc)
    else:
        where = _zz_from_rows(dst.vr, dst.vc)
        end = min(len(where), codes.shape[1])
        padding = slice(dst.vr * dst.vc, end)
        codes[:, padding] = 0
        if len(where) > end:
            codes = np.pad(codes, ((0, 0), (0, len(where) - end)))
        if m.target.is_a(A5) and end > dst.vr * dst.vc:
            store_at(src, padding, codes[:, padding])
    store_at(dst, slice(0, len(where)), codes[:, where])


# To the matrix buffer ------------------------------------------------------------------------------------------------


def vec_to_mat(m: Machine, dst: TileOperand, src: TileOperand, row: int = 0, col: int = 0) -> None:
    """A window at (row, col) of the source goes to (0, 0) of the destination, in whole 32-byte blocks on a5 (4.6)."""
    assert dst.spec.loc is TileType.Mat
    a, b = src.spec, dst.spec
    size = a.dtype.bits
    nz = a.layout_name == "Nz"
    if nz:
        pitch, start = 16 * -(-dst.vr // 16), a.rows * a.c0 * (col // a.c0) + row * a.c0 + col % a.c0
        extent = pitch, min(a.c0 * -(-dst.vc // a.c0), a.cols)
        boxes = b.layout_name == "Nz" and (a.fractal, b.fractal) == (512, 512)
        same = boxes and pitch == b.rows <= a.rows and not (row or col)
    else:
        start, extent = row * src.vc + col, (dst.vr, dst.vc)
        same = b.layout_name == "ND" and a.cols == b.cols == dst.vc and dst.vr * dst.vc * size % 256 == 0 and not start
    if same:
        dst.take(src, *extent)
        return
    if nz:
        block = np.arange(-(-dst.vc // a.c0))[:, None]
        lanes = np.arange(pitch * a.c0)[None, :]
        read = start + block * (pitch + a.rows - b.rows) * a.c0 + lanes
        where = (block * pitch * a.c0 + lanes).reshape(-1)
    else:
        whole = dst.vr * dst.vc * size // 256 * 256 // size  # a partial last block is dropped
        read, where = start + np.arange(whole), np.arange(whole)
    read = read.reshape(-1)
    inside = (read < a.numel) & (read >= 0) & (where < b.numel)
    store_at(dst, where[inside], stored(src)[:, read[inside]])
