"""Value functions of the lane-wise vector operations, on registers of shape (blocks or 1, N) (vector-path 6).

Integers wrap at their width; f16 and bf16 results are rounded once; the caller silences floating-point warnings. What
tiles compute in the same way is in `ptokit.isa.numerics.arith` and `ptokit.isa.numerics.approx`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..numerics import approx

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


# Carries -------------------------------------------------------------------------------------------------------------


def add_carry(a: np.ndarray, b: np.ndarray, carry: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Sum of 32-bit lanes and of the bits `carry` (blocks or 1, N); and the unsigned carry out of it."""
    x, y = (v.view(np.uint32).astype(np.uint64) for v in (a, b))
    total = x + y if carry is None else x + y + carry
    return total.astype(np.uint32).view(a.dtype), total >> np.uint64(32) != 0


def subtract_carry(a: np.ndarray, b: np.ndarray, carry: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Difference of 32-bit lanes, one less where `carry` is 0; the carry is 1 where nothing was borrowed (C-14)."""
    x, y = (v.view(np.uint32).astype(np.uint64) for v in (a, b))
    if carry is not None:
        y = y + ~carry
    return (x - y).astype(np.uint32).view(a.dtype), x >= y


def wide_product(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """vmull: low and high 32 bits of the 64-bit product, in the element type."""
    wide = f"{a.dtype.kind}8"
    product = a.astype(wide) * b.astype(wide)
    return product.astype(a.dtype), (product >> 32).astype(a.dtype)


# Fused operations -------------------------------------------------------------------------------------


def exp_difference(x: np.ndarray, m: np.ndarray) -> np.ndarray:
    """vexpdif: e ** (x - m) in f32, the difference rounded to f32."""
    return approx.exp(x.astype(np.float32) - m.astype(np.float32))
