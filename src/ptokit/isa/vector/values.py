"""Value functions of the lane-wise vector operations, on registers of shape (blocks or 1, N) (vector-path 6).

Integers wrap at their width; f16 and bf16 results are rounded once; the caller silences floating-point warnings. What
tiles compute in the same way is in `ptokit.isa.numerics.arith` and `ptokit.isa.numerics.approx`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ptokit.isa.numerics.rounding import narrow
from ptokit.types.dtypes import DType, from_numpy

from ..numerics import approx, arith
from . import exact

is_integer = arith.is_integer


def _dtype(x: np.ndarray) -> DType:
    found = from_numpy(x.dtype)
    assert found is not None, x.dtype
    return found


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


def ones(x: np.ndarray) -> np.ndarray:
    """vbcnt: number of bits that are 1, in the element type."""
    return np.bitwise_count(x.view(f"u{x.dtype.itemsize}")).astype(x.dtype)


def sign_bits(x: np.ndarray) -> np.ndarray:
    """vcls: leading bits equal to the sign bit, which itself does not count."""
    bits = 8 * x.dtype.itemsize
    signed = x.view(f"i{x.dtype.itemsize}")
    rest = (signed ^ (signed >> (bits - 1))).view(f"u{x.dtype.itemsize}")  # leading zeros instead of sign bits
    length = np.zeros(x.shape, np.int64)
    step = bits // 2
    while step:
        high = rest >> rest.dtype.type(step)
        length = np.where(high != 0, length + step, length)
        rest = np.where(high != 0, high, rest)
        step //= 2
    return (bits - 1 - (length + (rest != 0))).astype(x.dtype)


def bitwise(ufunc: np.ufunc, a: np.ndarray, b: Any) -> np.ndarray:
    """A bit operation; floats are taken as their bits."""
    if is_integer(a):
        return ufunc(a, b)
    words = f"u{a.dtype.itemsize}"
    return ufunc(a.view(words), b.view(words)).view(a.dtype)


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


# Rectifiers and fused operations -------------------------------------------------------------------------------------


def leaky(x: np.ndarray, slope: Any) -> np.ndarray:
    """x >= 0 ? x : slope * x; NaN stays NaN."""
    return np.where(x >= 0, x, x * slope)


def add_relu(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """max(a + b, 0)."""
    return arith.relu(a + b)


def subtract_relu(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """max(a - b, 0)."""
    return arith.relu(a - b)


def multiply_add(a: np.ndarray, b: Any, c: np.ndarray) -> np.ndarray:
    """a * b + c, rounded once; integers wrap."""
    if is_integer(a):
        return a * b + c
    return narrow(exact.fused(a, np.asarray(b), c), _dtype(a))


def accumulate(acc: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """vmula: acc + a * b, rounded once."""
    return multiply_add(a, b, acc)


def scale_add(x: np.ndarray, y: np.ndarray, alpha: Any) -> np.ndarray:
    """vaxpy: alpha * x + y, rounded once."""
    return multiply_add(x, alpha, y)


def exp_difference(x: np.ndarray, m: np.ndarray) -> np.ndarray:
    """vexpdif: e ** (x - m) in f32, the difference rounded to f32."""
    return approx.exp(x.astype(np.float32) - m.astype(np.float32))


# Comparison ----------------------------------------------------------------------------------------------------------

COMPARISONS = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}
"""Comparisons by their word; with NaN all are false but ``ne``."""
