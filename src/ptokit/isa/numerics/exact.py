"""Sums and products in f64 that a later rounding turns into the correctly rounded result.

An inexact f64 result is made odd (its last bit 1), as if the discarded digits were still there: rounding it again, to a
format of at most 51 bits, gives what rounding the exact value would.
"""

from __future__ import annotations

import numpy as np

from ptokit.types.codecs import encode
from ptokit.types.dtypes import DType
from ptokit.types.enums import RoundMode

from .rounding import as_values


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
