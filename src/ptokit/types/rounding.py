"""Rounding to integers and to binary formats, exact and vectorised (compute-elementwise 8.3 to 8.5).

`round_to_format` works on the bits of its input, so that every result is the one the rounding mode defines, whatever
the number of the format's exponent and fraction bits, subnormals included.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import ml_dtypes
import numpy as np

from ptokit.records import dataclass

from .enums import RoundMode

NEAREST_EVEN = (RoundMode.NONE, RoundMode.RINT, RoundMode.CAST_RINT)

_PIECE = 1 << 16  # elements whose temporaries stay in the cache


@dataclass(frozen=True, slots=True)
class FloatFormat:
    """A binary format with sign, ``exponent`` and ``fraction`` bits. Codes below are those of positive values."""

    exponent: int
    fraction: int
    bias: int
    largest: int  # code of the largest finite value
    infinity: int | None  # code of infinity, None if the format has none
    nan: int  # canonical quiet NaN; the largest value in formats without NaN

    @property
    def sign(self) -> int:
        """The sign bit."""
        return 1 << (self.exponent + self.fraction)

    @property
    def storage(self) -> np.dtype:
        """Unsigned integer dtype of a code."""
        return np.dtype(f"u{max(1, (1 + self.exponent + self.fraction) // 8)}")


F32 = FloatFormat(8, 23, 127, 0x7F7FFFFF, 0x7F800000, 0x7FC00000)
F16 = FloatFormat(5, 10, 15, 0x7BFF, 0x7C00, 0x7E00)
BF16 = FloatFormat(8, 7, 127, 0x7F7F, 0x7F80, 0x7FC0)
E4M3 = FloatFormat(4, 3, 7, 0x7E, None, 0x7F)
E5M2 = FloatFormat(5, 2, 15, 0x7B, 0x7C, 0x7E)
E2M1 = FloatFormat(2, 1, 1, 0x7, None, 0x7)
E1M2 = FloatFormat(1, 2, 1, 0x7, None, 0x7)


def round_to_integral(x: np.ndarray, mode: RoundMode) -> np.ndarray:
    """`x` (f32 or f64) rounded to integral values of the same dtype; zeros keep the sign of `x`, NaN and inf stay.

    ROUND is nearest with ties away from zero; ODD takes the odd neighbour of an inexact value; NONE means RINT.
    Source: compute-elementwise 8.3, 8.5.
    """
    with np.errstate(invalid="ignore"):  # signalling NaN, remainder of infinity
        if mode in NEAREST_EVEN:
            return np.rint(x)
        if mode is RoundMode.FLOOR:
            return np.floor(x)
        if mode is RoundMode.CEIL:
            return np.ceil(x)
        if mode is RoundMode.TRUNC:
            return np.trunc(x)
        if mode is RoundMode.ROUND:  # the largest value below a half: a half itself would carry 0.49999997 up to 1
            return np.trunc(x + np.copysign(np.nextafter(x.dtype.type(0.5), x.dtype.type(0)), x))
        below, above = np.floor(x), np.ceil(x)
        return np.where(np.fmod(below, 2) == 0, above, below)


def to_integer(x: np.ndarray, dtype: np.dtype, mode: RoundMode, saturate: bool) -> np.ndarray:
    """Floats (f32 or f64) as integers of `dtype`: rounded first, then saturated or wrapped.

    NaN gives 0. Without saturation the low bits of the exact value are kept, +inf gives all ones and -inf gives 0.
    Source: compute-elementwise 8.5.
    """
    rounded = round_to_integral(x, mode)
    info = np.iinfo(dtype)
    low, above = float(info.min), float(info.max) + 1.0  # powers of two, exact in any float dtype
    if rounded.size == 0 or (rounded.min() >= low and rounded.max() < above):  # False if there is a NaN
        return rounded.astype(dtype)
    if not saturate:
        return _wrap(rounded, dtype)
    top = x.dtype.type(info.max)
    exact = float(top) < above
    if not exact:
        top = np.nextafter(top, x.dtype.type(0))  # the largest value of x's dtype that fits
    clipped = np.clip(rounded, low, top)
    nan = np.isnan(rounded)
    if nan.any():
        clipped[nan] = 0
    out = clipped.astype(dtype)
    if not exact:
        out[rounded >= above] = info.max
    return out


def _wrap(rounded: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Low bits of integral floats; +inf all ones, -inf and NaN zero."""
    if rounded.min() >= -(2.0**63) and rounded.max() < 2.0**63:
        return rounded.astype(np.int64).astype(dtype)
    finite = np.isfinite(rounded)
    wide = np.where(finite, rounded, 0).astype(np.float64)
    magnitude = np.fmod(np.abs(wide), 2.0**64).astype(np.uint64)  # fmod is exact
    bits = np.where(wide < 0, np.uint64(0) - magnitude, magnitude)
    bits[rounded == np.inf] = np.uint64(0xFFFF_FFFF_FFFF_FFFF)
    return bits.astype(f"u{dtype.itemsize}").view(dtype)


def int_to_float(v: np.ndarray) -> np.ndarray:
    """Integers as f64 that round to any format of at most 51 significant bits as the exact values would.

    Values of more than 53 bits are rounded to odd, which keeps a second rounding correct.
    """
    if v.dtype.itemsize < 8:
        return v.astype(np.float64)
    negative = v < 0
    magnitude = np.where(negative, np.uint64(0) - v.view(np.uint64), v.view(np.uint64))
    low = magnitude & np.uint64(0x7FF)
    sticky = ((low != 0) & (magnitude >= np.uint64(1 << 53))).astype(np.uint64) << np.uint64(11)
    kept = np.where(magnitude >= np.uint64(1 << 53), magnitude - low | sticky, magnitude)
    out = kept.astype(np.float64)
    return np.negative(out, out=out, where=negative)


def round_to_format(x: np.ndarray, fmt: FloatFormat, mode: RoundMode, saturate: bool) -> np.ndarray:
    """Codes of `x` (f32 or f64, with more fraction bits than `fmt`) as an array of ``fmt.storage``.

    Results may be subnormal. Overflow and infinity: the largest finite value if `saturate`; otherwise infinity (NaN in
    formats without one), except that a mode that rounds a finite value toward zero stops at the largest value.
    NaN gives the canonical NaN; formats without NaN give their largest value (compute-elementwise 8.7).
    """
    if x.dtype == np.float32 and fmt.fraction <= 3:
        return _by_leading_bits(x, fmt, mode, saturate)
    rounded = _by_dropping_bits if x.dtype == np.float32 and fmt.fraction < 23 else _by_parts
    out = np.empty(x.shape, fmt.storage)
    source, result = x.reshape(-1), out.reshape(-1)
    for start in range(0, x.size, _PIECE):
        piece = slice(start, start + _PIECE)
        result[piece] = rounded(source[piece], fmt, mode, saturate)
    return out


def _by_leading_bits(x: np.ndarray, fmt: FloatFormat, mode: RoundMode, saturate: bool) -> np.ndarray:
    """Small formats: sign, exponent, one fraction bit more than the format has, and whether more follow, decide."""
    bits = np.ascontiguousarray(x).view(np.uint32)
    drop = 22 - fmt.fraction
    index = bits >> np.uint32(drop) << np.uint32(1)
    index |= (bits & np.uint32((1 << drop) - 1)) != 0
    return np.take(_leading_bits_table(fmt, mode, saturate), index)


@lru_cache(maxsize=64)
def _leading_bits_table(fmt: FloatFormat, mode: RoundMode, saturate: bool) -> np.ndarray:
    drop = 22 - fmt.fraction
    index = np.arange(1 << (33 - drop), dtype=np.uint32)
    values = (index >> np.uint32(1) << np.uint32(drop) | (index & np.uint32(1))).view(np.float32)
    return _by_parts(values, fmt, mode, saturate)


def _by_dropping_bits(x: np.ndarray, fmt: FloatFormat, mode: RoundMode, saturate: bool) -> np.ndarray:
    """f16 and bf16 of f32 (1-D): the same number of bits goes from all values that are normal in `fmt`."""
    bits = np.ascontiguousarray(x).view(np.int32)
    drop = 23 - fmt.fraction
    magnitude = bits & 0x7FFFFFFF
    code = magnitude + _addend(magnitude, bits, drop, mode)
    code >>= drop
    if mode is RoundMode.ODD:
        code |= (magnitude & ((1 << drop) - 1)) != 0
    code -= (127 - fmt.bias) << fmt.fraction
    np.maximum(code, 0, out=code)  # zeros
    nearest = mode in NEAREST_EVEN or mode is RoundMode.ROUND
    infinity = fmt.largest + 1
    rare = magnitude > 0x7F800000  # NaN
    if not (saturate or nearest):
        rare |= code > fmt.largest
    np.minimum(code, fmt.largest if saturate else infinity, out=code)
    out = code.astype(fmt.storage)
    out |= (bits >> np.int32(31 - fmt.exponent - fmt.fraction)).astype(fmt.storage) & fmt.storage.type(fmt.sign)
    if fmt.exponent < 8:  # f32 has normal values that are subnormal here
        least = (128 - fmt.bias) << 23
        tiny = np.flatnonzero((magnitude - 1).view(np.uint32) < np.uint32(least - 1))
        if tiny.size:
            out[tiny] = _subnormals(x[tiny], fmt, mode, saturate)
    special = np.flatnonzero(rare)
    if special.size:
        out[special] = _by_parts(x[special], fmt, mode, saturate)
    return out


def _subnormals(x: np.ndarray, fmt: FloatFormat, mode: RoundMode, saturate: bool) -> np.ndarray:
    """Codes of f32 values below the least normal value of `fmt`."""
    if mode not in NEAREST_EVEN:
        return _by_parts(x, fmt, mode, saturate)
    unit = np.float32(2.0 ** (24 - fmt.bias - fmt.fraction))  # its f32 spacing is the spacing of the subnormals
    code = ((np.abs(x) + unit).view(np.int32) - unit.view(np.int32)).astype(fmt.storage)
    return code | np.signbit(x).astype(fmt.storage) << fmt.storage.type(fmt.exponent + fmt.fraction)


def _addend(magnitude: np.ndarray, bits: np.ndarray, drop: int, mode: RoundMode) -> np.ndarray | int:
    """What to add to a magnitude so that dropping its `drop` low bits rounds as `mode` says."""
    if mode in NEAREST_EVEN:
        return (magnitude >> drop & 1) + ((1 << (drop - 1)) - 1)
    if mode is RoundMode.ROUND:
        return 1 << (drop - 1)
    if mode in (RoundMode.FLOOR, RoundMode.CEIL):
        sign = bits >> 31  # all ones for negative values
        return (sign if mode is RoundMode.FLOOR else ~sign) & ((1 << drop) - 1)
    return 0


def _by_parts(x: np.ndarray, fmt: FloatFormat, mode: RoundMode, saturate: bool) -> np.ndarray:
    """The definition: significand and exponent are rounded separately for each value."""
    fraction, bias = (23, 127) if x.dtype == np.float32 else (52, 1023)
    signed = np.dtype(f"i{x.dtype.itemsize}")
    bits = np.ascontiguousarray(x).view(signed)
    negative = bits < 0
    magnitude = bits & np.iinfo(signed).max
    exponent = magnitude >> fraction
    implicit = (exponent > 0).astype(signed) << fraction
    significand = (magnitude & ((1 << fraction) - 1)) | implicit
    scale = np.maximum(exponent, 1) - (bias - fmt.bias)  # exponent field in the target format, unbounded
    shift = np.minimum((fraction - fmt.fraction) + np.maximum(1 - scale, 0), fraction + 2)
    kept = significand >> shift
    rest = significand - (kept << shift)
    code = kept + ((np.maximum(scale, 1) - 1) << fmt.fraction)  # a carry out of the fraction raises the exponent
    code += _increment(kept, rest, shift, negative, mode)

    infinite = exponent == (1 << (signed.itemsize * 8 - 1 - fraction)) - 1
    nan = infinite & (magnitude & ((1 << fraction) - 1) != 0)
    over = code > fmt.largest
    if over.any():
        beyond = fmt.largest if saturate else fmt.nan if fmt.infinity is None else fmt.infinity
        code[over] = beyond
        if beyond != fmt.largest:
            stops = over & ~infinite & _toward_zero(negative, mode)
            code[stops] = fmt.largest
    out = code.astype(fmt.storage)
    out |= negative.astype(fmt.storage) << fmt.storage.type(fmt.exponent + fmt.fraction)
    if nan.any():
        out[nan] = fmt.nan
    return out


def _increment(
    kept: np.ndarray, rest: np.ndarray, shift: np.ndarray, negative: np.ndarray, mode: RoundMode
) -> np.ndarray:
    """True where the magnitude is rounded up."""
    if mode in NEAREST_EVEN or mode is RoundMode.ROUND:
        half = np.left_shift(1, shift - 1, dtype=rest.dtype)
        return rest >= half if mode is RoundMode.ROUND else rest + (kept & 1) > half
    inexact = rest != 0
    if mode is RoundMode.FLOOR:
        return inexact & negative
    if mode is RoundMode.CEIL:
        return inexact & ~negative
    if mode is RoundMode.ODD:
        return inexact & (kept & 1 == 0)
    return np.zeros_like(inexact)


def _toward_zero(negative: np.ndarray, mode: RoundMode) -> np.ndarray:
    """True where the mode never rounds a magnitude up to infinity."""
    if mode is RoundMode.FLOOR:
        return ~negative
    if mode is RoundMode.CEIL:
        return negative
    return np.full_like(negative, mode in (RoundMode.TRUNC, RoundMode.ODD))


# Numbers of the scalar unit, rounded to their type.

FLOAT_TYPES: dict[str, Any] = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": np.float32,
    "f64": np.float64,
}
_NARROW = {"f16": F16, "bf16": BF16, "f32": F32}


def round_float(x: Any, type_name: str, mode: RoundMode = RoundMode.RINT) -> float:
    """A float rounded to its type, once: to nearest, ties to even, or in another mode where the type is narrow."""
    if isinstance(x, float):
        x = float.__float__(x)  # the number alone: numbers of an eager session round what they are compared with
    if mode is not RoundMode.RINT or (type_name == "bf16" and x == x and float(np.float32(x)) != x):
        codes = round_to_format(np.array([x], np.float64), _NARROW[type_name], mode, saturate=False)  # not twice
        return float(codes.view(FLOAT_TYPES[type_name])[0])
    return float(FLOAT_TYPES[type_name](x))


def constant(x: float, type_name: str) -> float:
    """A number of the text in its type; one beyond it is infinite."""
    with np.errstate(all="ignore"):
        return round_float(x, type_name)
