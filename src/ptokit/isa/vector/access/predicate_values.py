"""Predicates in memory (vector-path 5).

Images are bool arrays of shape (blocks or 1, 256), see `lanes`; elements have `width` bytes.
"""

from __future__ import annotations

import numpy as np


def bytes_of(bits: np.ndarray) -> np.ndarray:
    """Bits (blocks or 1, n) as n/8 bytes, bit 0 the lowest of the first byte."""
    return np.packbits(bits, axis=1, bitorder="little")


def compact(a: np.ndarray, width: int) -> np.ndarray:
    """The bytes that pstu appends: one bit per lane of `width` bytes."""
    return bytes_of(a[:, ::width])
