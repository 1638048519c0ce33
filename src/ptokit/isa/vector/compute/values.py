"""Value functions of the lane-wise vector operations, on registers of shape (blocks or 1, N) (vector-path 6).

Integers wrap at their width; f16 and bf16 results are rounded once; the caller silences floating-point warnings. What
tiles compute in the same way is in `ptokit.isa.numerics.arith` and `ptokit.isa.numerics.approx`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

# Bits ----------------------------------------------------------------------------------------------------------------


def _count(x: np.ndarray, count: Any) -> np.ndarray:
    """A shift count in the type of `x`; negative and too large ones become its width, which shifts everything out."""
    bits = 8 * x.dtype.itemsize
    n = np.asarray(count)
    return np.where((n < 0) | (n > bits), bits, n).astype(x.dtype)


def shift_left(x: np.ndarray, count: Any) -> np.ndarray:
    """``x << count``; 0 for a count outside 0..bits-1."""
    return np.left_shift(x, _count(x, count))


def shift_right(x: np.ndarray, count: Any) -> np.ndarray:
    """``x >> count``, arithmetic for signed types; the sign or 0 for a count outside 0..bits-1."""
    return np.right_shift(x, _count(x, count))
