"""Predicates in memory (vector-path 5).

Images are bool arrays of shape (blocks or 1, 256), see `lanes`; elements have `width` bytes.
"""

from __future__ import annotations

import numpy as np


def bytes_of(bits: np.ndarray) -> np.ndarray:
    """Bits (blocks or 1, n) as n/8 bytes, bit 0 the lowest of the first byte."""
    return np.packbits(bits, axis=1, bitorder="little")


def bits_of(data: np.ndarray) -> np.ndarray:
    """Bytes as bits; the inverse of `bytes_of`."""
    return np.unpackbits(data, axis=1, bitorder="little").view(np.bool_)


LOADED = {"NORM": 32, "US": 16, "DS": 64}
"""Bytes that a predicate load reads, by distribution mode."""

STORED = {"NORM": 32, "PK": 16}
"""Bytes that a predicate store writes, by distribution mode."""


def from_memory(data: np.ndarray, dist: str) -> np.ndarray:
    """The image a predicate load makes of its bytes: all bits, each bit twice (US), or every second bit (DS)."""
    bits = bits_of(data)
    if dist == "US":
        return np.repeat(bits, 2, axis=1)
    return bits[:, ::2] if dist == "DS" else bits


def to_memory(a: np.ndarray, dist: str) -> np.ndarray:
    """The bytes a predicate store writes: the image, or every second bit of it (PK)."""
    return bytes_of(a[:, ::2] if dist == "PK" else a)


def compact(a: np.ndarray, width: int) -> np.ndarray:
    """The bytes that pstu appends: one bit per lane of `width` bytes."""
    return bytes_of(a[:, ::width])
