"""Rounding as instructions see it, and sums and products that it makes correctly rounded.

An inexact f64 result is made odd (its last bit 1), as if the discarded digits were still there: rounding it again, to a
format of at most 51 bits, gives what rounding the exact value would.
"""

from __future__ import annotations

import numpy as np

from ptokit.types.codecs import encode
from ptokit.types.dtypes import DType
from ptokit.types.enums import RoundMode, SaturationMode
from ptokit.types.rounding import round_to_integral

__all__ = ["LETTERS", "as_values", "narrow", "round_to_integral"]


# Rounding as instructions see it: to integral values and to a narrower float type.


LETTERS = {
    "": RoundMode.RINT,
    "R": RoundMode.RINT,
    "A": RoundMode.ROUND,
    "H": RoundMode.ROUND,
    "F": RoundMode.FLOOR,
    "C": RoundMode.CEIL,
    "Z": RoundMode.TRUNC,
    "O": RoundMode.ODD,
}
"""Rounding modes by the letter of conversions of registers and vectors."""


def as_values(codes: np.ndarray, dtype: DType) -> np.ndarray:
    """Codes as an array of ``dtype.value``; types without a NumPy dtype stay codes. No copy."""
    return codes if dtype.value is None else codes.view(dtype.value)


def narrow(
    x: np.ndarray,
    dtype: DType,
    mode: RoundMode = RoundMode.RINT,
    sat: SaturationMode = SaturationMode.OFF,
) -> np.ndarray:
    """Floats rounded once to the float type `dtype`, as an array of ``dtype.value`` (codes where that is None).

    Overflow and infinity: ON gives the largest finite value, OFF what the rounding mode defines; NaN is quiet
    (compute-elementwise 8.5). Arithmetic of the elementwise families rounds with RINT and OFF.
    """
    return as_values(encode(dtype, x, rounding=mode, saturate=sat is SaturationMode.ON), dtype)


# Sums and products in f64 that a later rounding turns into the correctly rounded result.


def add(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a + b of f64 arrays, rounded to odd; special values as IEEE has them."""
    total = np.asarray(a + b, np.float64)
    rest = total - a
    error = (a - (total - rest)) + (b - rest)  # exact, for finite sums (Knuth)
    bits = total.view(np.int64)
    odd = np.where((error != 0) & np.isfinite(error) & np.isfinite(total) & (bits & 1 == 0), 1, 0)
    toward_zero = (error < 0) != (total < 0)
    return (bits + np.where(toward_zero, -odd, odd)).view(np.float64)


def fused(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """a * b + c of values of at most 24 significant bits (f32, f16, bf16), as f64 rounded to odd."""
    return add(a.astype(np.float64) * b.astype(np.float64), c.astype(np.float64))


def rounded_once(op: str, a: np.ndarray, b: np.ndarray, to: DType, rounding: RoundMode, saturate: bool) -> np.ndarray:
    """``a op b`` (add, sub or mul), of numbers with at most 32 bits, rounded once; with `saturate` NaN is 0."""
    x, y = (np.asarray(n).astype(np.float64) for n in (a, b))
    numbers = x * y if op == "mul" else add(x, -y if op == "sub" else y)
    if saturate:
        numbers = np.where(np.isnan(numbers), 0.0, numbers)
    return as_values(encode(to, numbers, rounding=rounding, saturate=saturate), to)
