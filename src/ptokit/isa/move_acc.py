"""Moves out of an accumulator through the fix-pipe (move-gather-scatter 4.12).

Both vector sub-cores share one program here, whose vector half is sub-core 0 (GET_SUBBLOCK_IDX is 0). So a dual mode
leaves sub-core 0's part in the destination, and both single modes write it: the tile stands for the unified buffer of
whichever sub-core the mode names.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ptokit.types.enums import AccToVecMode, ReluPreMode

from .machine import Machine, TileOperand
from .move_facts import column_block, first_part
from .move_parts import codes_of, fix_pipe, put, store_at


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
    rows, cols = first_part(mode, rows, cols)
    plain = fp is None and quant is None and relu is ReluPreMode.NoRelu and src.spec.dtype is dst.spec.dtype
    if plain and (row, col, *at) == (0, 0, 0, 0):
        dst.take(src, rows, cols)
        return
    values = fix_pipe(m, src, dst, (row, col, rows, cols), fp, quant, relu)
    block = column_block(dst.spec, m.target.name)
    if m.target.name != "cpu" and dst.spec.layout_name == "Nz" and block != dst.spec.box.cols:
        _put_blocks(dst, values, block, at)
    else:
        put(dst, values, *at)


def _put_blocks(dst: TileOperand, values: np.ndarray, block: int, at: tuple[int, int]) -> None:
    """Store to an Nz tile whose column blocks, as the fix-pipe sees them, are not the boxes of its type."""
    r = at[0] + np.arange(values.shape[1])[:, None]
    c = at[1] + np.arange(values.shape[2])[None, :]
    store_at(dst, (c // block) * dst.spec.rows * block + r * block + c % block, codes_of(values, dst))
