"""Tiles whose bytes count in another order than their type says."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ptokit.types.enums import BLayout, SLayout
from ptokit.types.layout import element_offset

from ..machine import TileOperand
from ..meaning.moving import stored
from .move_facts import (
    operand_layout,
)


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
