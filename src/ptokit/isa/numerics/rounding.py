"""Rounding as instructions see it: to integral values and to a narrower float type."""

from __future__ import annotations

import numpy as np

from ptokit.types.codecs import encode
from ptokit.types.dtypes import DType
from ptokit.types.enums import RoundMode, SaturationMode
from ptokit.types.rounding import round_to_integral

__all__ = ["LETTERS", "as_values", "narrow", "round_to_integral"]

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
