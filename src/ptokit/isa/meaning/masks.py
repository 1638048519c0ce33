"""Packed masks: a tile whose bits are conditions. Column c is bit c % 8 of byte c // 8 of its row."""

from __future__ import annotations

import numpy as np

from ..machine import TileOperand


def _bytes(mask: TileOperand, rows: int, cols: int) -> np.ndarray:
    """The mask's storage as (blocks, rows, bytes per row), with room for rows x cols bits."""
    mask.region(rows, -(-cols // mask.spec.dtype.bits))
    raw = mask.raw()
    return raw.reshape(len(raw), mask.spec.rows, -1)


def write_mask(mask: TileOperand, bits: np.ndarray) -> None:
    """Store booleans (blocks, rows, cols); the bits behind the last column of a row's last byte become 0."""
    packed = np.packbits(bits, axis=2, bitorder="little")
    _bytes(mask, *bits.shape[1:])[:, : packed.shape[1], : packed.shape[2]] = packed


def read_mask(mask: TileOperand, rows: int, cols: int) -> np.ndarray:
    """The first rows x cols bits of a mask, as booleans with a leading block axis."""
    packed = _bytes(mask, rows, cols)[:, :rows, : (cols + 7) // 8]
    return np.unpackbits(packed, axis=2, count=cols, bitorder="little").astype(bool)
