"""Registers as arrays: lanes and predicates (vector-path 1.2, 1.3).

A vector register is an array (blocks or 1, lanes) of its element's dtype, 256 bytes for each block; it is never
modified. A predicate register is its image, a bool array (blocks or 1, 256) with one entry for each data byte: lane i
of elements of w bytes is active where entry w*i is true. No predicate (None) means that all lanes are active.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ptokit.types.dtypes import DType

VREG_BYTES = 256

Predicate = np.ndarray | None


def element(dtype: DType) -> np.dtype:
    """NumPy dtype of a register's lanes; codes where NumPy has none."""
    return dtype.value or dtype.storage


def _prefixes(width: int) -> np.ndarray:
    lanes = VREG_BYTES // width
    table = np.zeros((lanes + 1, VREG_BYTES), bool)
    table[:, ::width] = np.arange(lanes) < np.arange(lanes + 1)[:, None]
    table.flags.writeable = False
    return table


PREFIX = {width: _prefixes(width) for width in (1, 2, 4)}
"""By element bytes: row n is the image of a predicate whose first n lanes are active."""

ALL = {width: table[-1:] for width, table in PREFIX.items()}
"""By element bytes: the image with all lanes active. Compared by identity, to spare what masks nothing."""


def image(lanes: np.ndarray, width: int) -> np.ndarray:
    """The predicate image of active lanes (blocks or 1, 256 / width): bits that stand for no lane are 0."""
    out = np.zeros((lanes.shape[0], VREG_BYTES), bool)
    out[:, ::width] = lanes
    return out


def active(mask: Predicate, width: int) -> Predicate:
    """Which lanes of `width` bytes a predicate lets through: bool (blocks or 1, 256 / width), None if all."""
    if mask is None or any(mask is full for w, full in ALL.items() if w <= width):
        return None
    return mask[:, ::width]


def zeroed(values: np.ndarray, mask: Predicate) -> np.ndarray:
    """Values with zeros in inactive lanes; ``mask`` is the predicate image."""
    lanes = active(mask, values.dtype.itemsize)
    return values if lanes is None else np.where(lanes, values, np.zeros((), values.dtype))


def prefix(count: Any, width: int) -> np.ndarray:
    """The image whose first `count` lanes are active; `count` is a number, or an array (blocks, 1). Unsigned."""
    lanes = VREG_BYTES // width
    if isinstance(count, np.ndarray):
        if count.min() >= lanes:
            return ALL[width]
        return PREFIX[width][np.clip(count.reshape(-1), 0, lanes)]
    return ALL[width] if count >= lanes else PREFIX[width][count : count + 1]
