"""Rounding as instructions see it: to integral values, to a narrower float type, to fewer fraction bits."""

from __future__ import annotations

import numpy as np

from ptokit.types.codecs import encode
from ptokit.types.dtypes import DType
from ptokit.types.enums import RoundMode, SaturationMode
from ptokit.types.rounding import round_to_integral

__all__ = ["LETTERS", "as_values", "narrow", "round_mantissa", "round_to_integral"]

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


def round_mantissa(x: np.ndarray, bits: int, ties_away: bool, flush_subnormals: bool = False) -> np.ndarray:
    """f32 values rounded to `bits` fraction bits, still f32: the operand rounding of the matrix unit.

    HF32 (A2/A3) has 11 bits and turns subnormals into zeros of their sign; TF32 (A5) has 10 bits. To nearest, ties to
    even or away from zero; a carry goes into the exponent and may give infinity; NaN stays NaN.
    Source: compute-reduce-matrix 11.
    """
    drop = 23 - bits
    word = np.ascontiguousarray(x, np.float32).view(np.uint32)
    magnitude = word & np.uint32(0x7FFFFFFF)
    half = np.uint32(1 << (drop - 1))
    add = half if ties_away else half - np.uint32(1) + (magnitude >> np.uint32(drop) & np.uint32(1))
    rounded = (magnitude + add) >> np.uint32(drop) << np.uint32(drop)
    out = (rounded | (word & np.uint32(0x80000000))).view(np.float32)
    special = magnitude >= np.uint32(0x7F800000)
    if special.any():
        out[special] = x[special]
    if flush_subnormals:
        tiny = magnitude < np.uint32(0x00800000)
        out[tiny] = np.copysign(np.float32(0), x[tiny])
    return out
