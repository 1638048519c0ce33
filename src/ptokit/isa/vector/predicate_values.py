"""What the predicate operations compute, on predicate images (vector-path 5).

Images are bool arrays of shape (blocks or 1, 256), see `lanes`; elements have `width` bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from .lanes import ALL, VREG_BYTES, image, prefix

HALF = VREG_BYTES // 2

_FIRST = (1, 2, 3, 4, 8, 16, 32, 64, 128)

_PATTERNS: dict[str, Callable[[np.ndarray, int], np.ndarray]] = {
    "PAT_ALL": lambda i, n: i >= 0,
    "PAT_ALLF": lambda i, n: i < 0,
    **{f"PAT_VL{k}": lambda i, n, k=k: i < k for k in _FIRST},  # type: ignore[misc]
    "PAT_H": lambda i, n: i < n // 2,
    "PAT_Q": lambda i, n: i < n // 4,
    "PAT_M3": lambda i, n: i % 3 == 0,
    "PAT_M4": lambda i, n: i % 4 == 0,
}

PATTERNS = tuple(_PATTERNS)
"""Names of the patterns of pset and pge."""


@lru_cache(maxsize=64)
def pattern(name: str, width: int) -> np.ndarray:
    """The image of a pattern; (1, 256), read-only. PAT_H and PAT_Q are low lanes (conflict C-20)."""
    count = VREG_BYTES // width
    found = _PATTERNS[name](np.arange(count), count)[None]
    out = ALL[width] if found.all() else image(found, width)
    out.flags.writeable = False
    return out


def less_than(count: Any, width: int) -> tuple[np.ndarray, Any]:
    """plt: lanes below the unsigned 32-bit `count` are active; and what is left of it after one register."""
    full = VREG_BYTES // width
    unsigned = count & 0xFFFF_FFFF
    if isinstance(count, np.ndarray):
        rest = np.maximum(unsigned - full, 0)
        return prefix(unsigned, width), np.where(rest >> 31 != 0, rest - (1 << 32), rest)
    rest = max(unsigned - full, 0)
    return prefix(unsigned, width), rest - (1 << 32) if rest >> 31 else rest


def both(a: np.ndarray, b: np.ndarray, gate: np.ndarray) -> np.ndarray:
    """pand."""
    return a & b & gate


def either(a: np.ndarray, b: np.ndarray, gate: np.ndarray) -> np.ndarray:
    """por."""
    return (a | b) & gate


def differ(a: np.ndarray, b: np.ndarray, gate: np.ndarray) -> np.ndarray:
    """pxor."""
    return (a ^ b) & gate


def invert(a: np.ndarray, gate: np.ndarray) -> np.ndarray:
    """pnot."""
    return ~a & gate


def select(a: np.ndarray, b: np.ndarray, choose: np.ndarray, gate: np.ndarray | None = None) -> np.ndarray:
    """psel: `choose` ? a : b, and 0 where a gate is given and is 0."""
    out = np.where(choose, a, b)
    return out if gate is None else out & gate


def pack(a: np.ndarray, part: str) -> np.ndarray:
    """ppack: every second bit, in the half that `part` names; the other half is 0 (conflict C-21)."""
    out = np.zeros((len(a), VREG_BYTES), np.bool_)
    out[:, _half(part)] = a[:, ::2]
    return out


def unpack(a: np.ndarray, part: str) -> np.ndarray:
    """punpack: the half that `part` names, a 0 after every bit."""
    out = np.zeros((len(a), VREG_BYTES), np.bool_)
    out[:, ::2] = a[:, _half(part)]
    return out


def _half(part: str) -> slice:
    return slice(HALF, VREG_BYTES) if part == "HIGHER" else slice(0, HALF)


def interleave(a: np.ndarray, b: np.ndarray, width: int) -> tuple[np.ndarray, np.ndarray]:
    """pintlv: the lanes of `a` and `b` by turns; first and second half of them."""
    return _lanewise(lambda x, y: np.stack((x, y), axis=2), a, b, width)


def deinterleave(a: np.ndarray, b: np.ndarray, width: int) -> tuple[np.ndarray, np.ndarray]:
    """pdintlv: the even and the odd lanes of `a` followed by `b`."""

    def split(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        both = np.concatenate((x, y), axis=1)
        return np.concatenate((both[:, ::2], both[:, 1::2]), axis=1)

    return _lanewise(split, a, b, width)


def _lanewise(
    rearrange: Callable[[np.ndarray, np.ndarray], np.ndarray], a: np.ndarray, b: np.ndarray, width: int
) -> tuple[np.ndarray, np.ndarray]:
    """Move the lanes of `width` bytes of two images; the bits inside a lane that nobody reads come out as 0."""
    a, b = np.broadcast_arrays(a, b)
    count = VREG_BYTES // width
    moved = rearrange(a[:, ::width], b[:, ::width]).reshape(len(a), 2 * count)
    return image(moved[:, :count], width), image(moved[:, count:], width)


# In memory ------------------------------------------------------------------------------------------------------------


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
