"""Moving parts of tiles: windows in rows and columns, elements in storage order, and the fix-pipe's values."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ptokit.types.codecs import pack_nibbles, unpack_nibbles
from ptokit.types.enums import BLayout, ReluPreMode, SLayout
from ptokit.types.layout import element_offset

from ..machine import Machine, TileOperand
from ..numerics.quant import quantize
from ..numerics.quant_modes import QuantMode, move_mode
from .move_facts import operand_layout


def window(tile: TileOperand, row: int, col: int, rows: int, cols: int) -> np.ndarray:
    """Values of [row, row + rows) x [col, col + cols) of the physical tile; not to be modified."""
    values = tile.read(row + rows, col + cols)
    return values[:, row:, col:] if row or col else values


def to_operand(dst: TileOperand, src: TileOperand, rows: int, cols: int) -> None:
    """``dst[r, c] = src[r, c]``, where the bytes of src count as Nz or Zn, whatever its type says.

    What lies behind the tile is zero.
    """
    nz = operand_layout(src.spec, dst.spec) == "Nz"
    outer, inner = (BLayout.ColMajor, SLayout.RowMajor) if nz else (BLayout.RowMajor, SLayout.ColMajor)
    seen = replace(src.spec, blayout=outer, slayout=inner, fractal=512)
    where = element_offset(seen, np.arange(rows)[:, None], np.arange(cols)[None, :])
    codes = stored(src)[:, np.minimum(where, seen.numel - 1)]
    codes[:, where >= seen.numel] = 0
    dst.write(codes if seen.dtype.packed else codes.view(seen.dtype.value or seen.dtype.storage), rows, cols)


# Elements in storage order -------------------------------------------------------------------------------------------


def stored(tile: TileOperand) -> np.ndarray:
    """A copy of the elements' codes as they lie in memory: (blocks, rows * cols)."""
    raw = tile.raw()
    return unpack_nibbles(raw) if tile.spec.dtype.packed else raw.view(tile.spec.dtype.storage).copy()


def store_at(tile: TileOperand, offsets: Any, codes: np.ndarray) -> None:
    """Set the elements at `offsets` (an array or slice, in elements) to codes (blocks or 1, *offsets.shape)."""
    raw = tile.raw()
    if tile.spec.dtype.packed:
        elements = unpack_nibbles(raw)
        elements[:, offsets] = codes
        raw[...] = pack_nibbles(elements)
    else:
        raw.view(tile.spec.dtype.storage)[:, offsets] = codes


def codes_of(values: np.ndarray, tile: TileOperand) -> np.ndarray:
    """Values of the tile's type as codes of its storage type."""
    return values.view(tile.spec.dtype.storage) if values.dtype != tile.spec.dtype.storage else values


# The fix-pipe --------------------------------------------------------------------------------------------------------


def fix_pipe(
    m: Machine,
    src: TileOperand,
    dst: TileOperand,
    region: tuple[int, int, int, int],
    fp: TileOperand | None,
    quant: Any,
    relu: ReluPreMode,
) -> np.ndarray:
    """Accumulator elements as they arrive in `dst` (move-gather-scatter 6).

    `region` is (row, col, rows, cols) in the source. Column c takes word c of `fp`, or all take the word `quant`.
    """
    row, col, rows, cols = region
    values = window(src, row, col, rows, cols)
    form = "vector" if fp is not None else "cast" if quant is None else "scalar"
    mode = move_mode(m.target, form, src.spec.dtype, dst.spec.dtype)
    positive = relu is ReluPreMode.NormalRelu
    if mode is QuantMode.NoQuant and src.spec.dtype is dst.spec.dtype and not positive:
        return values
    words = 0 if quant is None else quant
    if fp is not None:
        words = window(fp, 0, col, 1, cols)
    return quantize(values, dst.spec.dtype, mode, words, relu=positive, target=m.target)
