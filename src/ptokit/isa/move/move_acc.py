"""Moves out of an accumulator through the fix-pipe (move-gather-scatter 4.12).

A single mode writes the unified buffer of the vector sub-core it names, a dual mode one part to each. Where a program
runs on one core there is one such buffer: both single modes write it, and a dual mode leaves sub-core 0's part.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ptokit.types.enums import AccToVecMode, ReluPreMode

from ..machine import Machine, TileOperand
from ..meaning.moving import put
from .move_facts import DUAL, column_block, first_part
from .move_parts import codes_of, fix_pipe, store_at


def drain(
    m: Machine,
    dst: TileOperand,
    src: TileOperand,
    region: tuple[int, int, int, int],
    at: tuple[int, int] = (0, 0),
    *,
    fp: TileOperand | None = None,
    quant: Any = None,
    relu: ReluPreMode = ReluPreMode.NoRelu,
    mode: AccToVecMode | None = None,
) -> None:
    """Move the region (row, col, rows, cols) of the accumulator, quantised, to (row, col) = `at` of `dst`."""
    row, col, rows, cols = region
    second = m.on_sub_core(dst, 1) if mode in (*DUAL, AccToVecMode.SingleModeVec1) else None
    if mode is AccToVecMode.SingleModeVec1 and second is not None:
        dst = second
    elif mode in DUAL and second is not None:
        r, c = first_part(mode, rows, cols)
        rest = (row + r, col, rows - r, cols) if r < rows else (row, col + c, rows, cols - c)
        drain(m, second, src, rest, at, fp=fp, quant=quant, relu=relu)
    rows, cols = first_part(mode, rows, cols)
    plain = fp is None and quant is None and relu is ReluPreMode.NoRelu and src.spec.dtype is dst.spec.dtype
    if plain and (row, col, *at) == (0, 0, 0, 0):
        dst.take(src, rows, cols)
        return
    values = fix_pipe(m, src, dst, (row, col, rows, cols), fp, quant, relu)
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
