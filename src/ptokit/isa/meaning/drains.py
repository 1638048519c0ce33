"""NumPy forms of moves out of an accumulator through the fix-pipe (move-gather-scatter 4.12, 6).

A single mode writes the unified buffer of the vector sub-core it names, a dual mode one part to each. Where a program
runs on one core there is one such buffer: both single modes write it, and a dual mode leaves sub-core 0's part.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ptokit.targets import A5, Target
from ptokit.types.enums import AccToVecMode, ReluPreMode

from ..machine import Machine, TileOperand
from ..numerics.quant import quantize
from ..numerics.quant_modes import QuantMode, move_mode
from .moving import codes_of, put, store_at, window

DUAL = (AccToVecMode.DualModeSplitM, AccToVecMode.DualModeSplitN)


def first_part(mode: AccToVecMode | None, rows: Any, cols: Any) -> tuple[Any, Any]:
    """Rows and columns that vector sub-core 0 receives of a result: half of it in the dual modes."""
    if mode is AccToVecMode.DualModeSplitM:
        return -(-rows // 2), cols
    if mode is AccToVecMode.DualModeSplitN:
        return rows, -(-cols // 2)
    return rows, cols


def column_block(tile: Any, target: Target) -> int:
    """Columns of one block that the fix-pipe writes to an Nz tile (`tile` is a TileSpec or TileInfo; 4.12)."""
    if target.is_a(A5) and tile.fractal == 1024:
        return 16 if tile.dtype.bits == 32 else 2 * int(tile.c0)
    return int(tile.c0)


def drain(
    m: Machine,
    dst: TileOperand,
    src: TileOperand,
    region: tuple[int, int, int, int],
    at: tuple[int, int],
    words: Any,
    relu: ReluPreMode,
    mode: AccToVecMode | None,
) -> None:
    """Move the region (row, col, rows, cols) of the accumulator, quantised, to (row, col) = `at` of `dst`.

    ``words``: a tile with one for each column, one for all, or None.
    """
    row, col, rows, cols = region
    second = m.on_sub_core(dst, 1) if mode in (*DUAL, AccToVecMode.SingleModeVec1) else None
    if mode is AccToVecMode.SingleModeVec1 and second is not None:
        dst = second
    elif mode in DUAL and second is not None:
        r, c = first_part(mode, rows, cols)
        rest = (row + r, col, rows - r, cols) if r < rows else (row, col + c, rows, cols - c)
        drain(m, second, src, rest, at, words, relu, None)
    rows, cols = first_part(mode, rows, cols)
    plain = words is None and relu is ReluPreMode.NoRelu and src.spec.dtype is dst.spec.dtype
    if plain and (row, col, *at) == (0, 0, 0, 0):
        dst.take(src, rows, cols)
        return
    values = _fix_pipe(m, src, dst, (row, col, rows, cols), words, relu)
    block = column_block(dst.spec, m.target)
    if m.target.is_device and dst.spec.layout_name == "Nz" and block != dst.spec.box.cols:
        _put_blocks(dst, values, block, at)
    else:
        put(dst, values, *at)


def _put_blocks(dst: TileOperand, values: np.ndarray, block: int, at: tuple[int, int]) -> None:
    """Store to an Nz tile whose column blocks, as the fix-pipe sees them, are not the boxes of its type."""
    r = at[0] + np.arange(values.shape[1])[:, None]
    c = at[1] + np.arange(values.shape[2])[None, :]
    store_at(dst, (c // block) * dst.spec.rows * block + r * block + c % block, codes_of(values, dst))


def _words(tile: TileOperand, col: int, cols: int) -> np.ndarray:
    """The words of some columns; the bytes of a tile of other elements are words of 64 bits, too."""
    if tile.spec.dtype.size == 8:
        return window(tile, 0, col, 1, cols)
    return tile.raw().view(np.uint64)[:, None, col : col + cols]


def _fix_pipe(
    m: Machine, src: TileOperand, dst: TileOperand, region: tuple[int, int, int, int], words: Any, relu: ReluPreMode
) -> np.ndarray:
    """Accumulator elements as they arrive in `dst` (move-gather-scatter 6)."""
    row, col, rows, cols = region
    values = window(src, row, col, rows, cols)
    form = "vector" if hasattr(words, "spec") else "cast" if words is None else "scalar"
    mode = move_mode(m.target, form, src.spec.dtype, dst.spec.dtype)
    positive = relu is ReluPreMode.NormalRelu
    if mode is QuantMode.NoQuant and src.spec.dtype is dst.spec.dtype and not positive:
        return values
    of_columns = _words(words, col, cols) if form == "vector" else words or 0
    return quantize(values, dst.spec.dtype, mode, of_columns, relu=positive, target=m.target)
