"""Philox4x32: random words of a key and a 128-bit counter (compute-layout-irregular 2.10)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

_M0, _M1 = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_W0, _W1 = 0x9E3779B9, 0xBB67AE85
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_PER_STEP = 256  # words of one step: 64 counters of four words


def philox(counters: np.ndarray, key: Sequence[int], rounds: int) -> np.ndarray:
    """The four words of each counter; uint64 of shape (n, 4), word 0 least significant, each below 2**32."""
    c0, c1, c2, c3 = np.asarray(counters, np.uint64).T
    k0, k1 = (k & 0xFFFFFFFF for k in key)
    for _ in range(rounds):
        p0, p1 = c0 * _M0, c2 * _M1
        c0, c1, c2, c3 = (
            (p1 >> _HALF) ^ c1 ^ np.uint64(k0),
            p1 & _LOW,
            (p0 >> _HALF) ^ c3 ^ np.uint64(k1),
            p0 & _LOW,
        )
        k0, k1 = (k0 + _W0) & 0xFFFFFFFF, (k1 + _W1) & 0xFFFFFFFF
    return np.stack((c0, c1, c2, c3), axis=1)


def counter_of(words: Sequence[int]) -> int:
    """The 128-bit number of four words, the first least significant."""
    return sum((w & 0xFFFFFFFF) << 32 * k for k, w in enumerate(words))


def random_row(base: int, key: Sequence[int], columns: int, rounds: int) -> tuple[np.ndarray, int]:
    """The words of one row, uint32, and the base counter of the next row.

    The next row begins after the counters of all steps but the last and, of that, one per column modulo 64: so the
    device counts, although a full step uses 64 counters for 256 columns.
    """
    steps = -(-columns // _PER_STEP)
    numbers = [(base + n) & (1 << 128) - 1 for n in range(-(-columns // 4))]
    counters = np.array([[n >> 32 * k & 0xFFFFFFFF for k in range(4)] for n in numbers], np.uint64)
    words = philox(counters, key, rounds).astype(np.uint32).reshape(-1)[:columns]
    return words, base + 64 * (steps - 1) + (columns - 1) % 64 + 1
