"""Element types: size, NumPy representation, and spellings in `.pto`, C++ and Python; rounding to them.

Facts: types-and-layouts section 1, compute-elementwise 8.3 to 8.5. Two NumPy dtypes belong to a type: ``storage`` is
the unsigned integer of the same width (moves never look at values, so never change bits), ``value`` is the dtype to
compute with (from ml_dtypes where NumPy has none; None where only the codecs of `ptokit.types.codecs` understand the
bits).

`round_to_format` works on the bits of its input, so that every result is the one the rounding mode defines, whatever
the number of the format's exponent and fraction bits, subnormals included.
"""

from __future__ import annotations

import re
from functools import cache, cached_property, lru_cache
from typing import Any

import ml_dtypes
import numpy as np

from ptokit.records import dataclass

from .enums import RoundMode


@dataclass(frozen=True, eq=False)
class DType:
    """An element type. Compare with ``is``: there is one object per type."""

    name: str  # short name, also the Python one: "f32"
    bits: int  # width of one element
    kind: str  # "f" float, "i" signed, "u" unsigned integer
    cpp: str  # C++ spelling
    text: str  # canonical `.pto` spelling
    aliases: tuple[str, ...] = ()  # further spellings that are read

    @property
    def size(self) -> int:
        """``sizeof`` of the C++ type in bytes; 1 for the 4-bit types (types-and-layouts 1.6)."""
        return max(1, self.bits // 8)

    @property
    def packed(self) -> bool:
        """True for the types that store two elements per byte (even index in the low nibble)."""
        return self.name in ("e2m1", "e1m2", "hif4", "s4")

    @property
    def c0(self) -> int:
        """Elements in a 32-byte block: 64 for packed 4-bit types."""
        return 64 if self.packed else 32 // self.size

    def nbytes(self, elements: int) -> int:
        """Bytes that `elements` elements occupy."""
        return (elements + 1) // 2 if self.packed else elements * self.size

    @cached_property
    def storage(self) -> np.dtype:
        """Unsigned integer dtype of one storage unit."""
        return np.dtype(f"u{self.size}")

    @cached_property
    def value(self) -> np.dtype | None:
        """NumPy dtype to compute with, or None."""
        return _VALUES.get(self.name)

    @property
    def is_float(self) -> bool:
        """True for floating-point types of any width."""
        return self.kind == "f"

    @property
    def is_integer(self) -> bool:
        """True for signed and unsigned integers."""
        return self.kind in "iu"

    @property
    def signed(self) -> bool:
        """False for unsigned integers."""
        return self.kind != "u"

    def __repr__(self) -> str:
        return "int4" if self.name == "s4" else self.name

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return (dtype, (self.name,))


f32 = DType("f32", 32, "f", "float", "f32", ("float", "float32"))
f16 = DType("f16", 16, "f", "half", "f16", ("half", "float16"))
bf16 = DType("bf16", 16, "f", "bfloat16_t", "bf16", ("bfloat16",))
i8 = DType("i8", 8, "i", "int8_t", "i8", ("si8", "int8"))
u8 = DType("u8", 8, "u", "uint8_t", "ui8", ("uint8",))
i16 = DType("i16", 16, "i", "int16_t", "i16", ("si16", "int16"))
u16 = DType("u16", 16, "u", "uint16_t", "ui16", ("uint16",))
i32 = DType("i32", 32, "i", "int32_t", "i32", ("si32", "int32"))
u32 = DType("u32", 32, "u", "uint32_t", "ui32", ("uint32",))
i64 = DType("i64", 64, "i", "int64_t", "i64", ("si64", "int64"))
u64 = DType("u64", 64, "u", "uint64_t", "ui64", ("uint64",))
e4m3 = DType("e4m3", 8, "f", "float8_e4m3_t", "f8E4M3FN", ("f8E4M3", "f8e4m3", "f8E4M3FNUZ", "f8E4M3B11FNUZ"))
e5m2 = DType("e5m2", 8, "f", "float8_e5m2_t", "f8E5M2", ("f8e5m2", "f8E5M2FNUZ"))
e8m0 = DType("e8m0", 8, "f", "float8_e8m0_t", "!pto.f8E8M0", ("f8E8M0FNU", "f8e8m0"))
hif8 = DType("hif8", 8, "f", "hifloat8_t", "!pto.hif8", ("hifloat8", "hifloat8_t"))
e2m1 = DType("e2m1", 4, "f", "float4_e2m1x2_t", "f4E2M1FN", ("float4_e2m1x2", "float4_e2m1x2_t"))
e1m2 = DType("e1m2", 4, "f", "float4_e1m2x2_t", "float4_e1m2x2", ("float4_e1m2x2_t",))
int4 = DType("int4", 4, "i", "int4b_t", "int4b", ("int4b_t", "i4"))

DTYPES: dict[str, DType] = {
    t.name: t
    for t in (
        *(f32, f16, bf16, i8, u8, i16, u16, i32, u32, i64, u64),
        *(e4m3, e5m2, e8m0, hif8, e2m1, e1m2, int4),
    )
}

e2m1x2 = DType("e2m1x2", 8, "f", "float4_e2m1x2_t", "!pto.f4E2M1x2")
e1m2x2 = DType("e1m2x2", 8, "f", "float4_e1m2x2_t", "!pto.f4E1M2x2")

hif4 = DType("hif4", 4, "f", "hifloat4x2_t", "!pto.hif4", ("hifloat4x2", "hifloat4x2_t"))
"""Numbers as of e1m2, whose scales have three levels (`ptokit.types.codecs`)."""

PACKED: dict[str, DType] = {
    t.name: t
    for t in (
        *(e2m1x2, e1m2x2, hif4),
        DType("hif8x2", 16, "f", "hifloat8x2_t", "!pto.hif8x2"),
        DType("bf16x2", 32, "f", "bfloat16x2_t", "!pto.bf16x2"),
        DType("f64", 64, "f", "double", "f64"),
    )
}
"""Further elements: two numbers in one, whose width is that of both, and what threads load."""

HALVES = {e2m1x2: e2m1, e1m2x2: e1m2}
"""Pairs of 4-bit floats, which are one element of tiles in UB, views and pointers, and the type of their numbers."""

s4 = DType("s4", 4, "i", "int4b_t", "int4b")
"""What an a2a3 conversion makes of int4, whose tiles have a byte for each element: two in a byte, in half of a row."""

SINGLES = {**HALVES, PACKED["hif8x2"]: hif8, PACKED["bf16x2"]: bf16}
"""All pairs, and the type of their numbers."""

_VALUES: dict[str, np.dtype] = {
    "f32": np.dtype(np.float32),
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    **{f"i{8 * n}": np.dtype(f"i{n}") for n in (1, 2, 4, 8)},
    **{f"u{8 * n}": np.dtype(f"u{n}") for n in (1, 2, 4, 8)},
    "f64": np.dtype(np.float64),
    "e4m3": np.dtype(ml_dtypes.float8_e4m3fn),
    "e5m2": np.dtype(ml_dtypes.float8_e5m2),
    "e8m0": np.dtype(ml_dtypes.float8_e8m0fnu),
}

_BY_SPELLING = {s: t for t in DTYPES.values() for s in (t.name, t.text, t.cpp, *t.aliases)}
_BY_SPELLING |= {s: t for t in PACKED.values() for s in (t.name, t.text, *t.aliases)}
_VECTOR = re.compile(r"vector\s*<\s*([1-9]\d?)\s*x\s*([!\w.]+)\s*>\Z", re.ASCII)
_BY_NUMPY = {v: DTYPES[n] for n, v in _VALUES.items() if n in DTYPES}


def dtype(spelling: str) -> DType:
    """The type with this name, `.pto` or C++ spelling. Raises `KeyError`."""
    found = _BY_SPELLING.get(spelling)
    return _short_vector(spelling) if found is None else found


def is_dtype(spelling: str) -> bool:
    """True if `spelling` names an element type."""
    if spelling in _BY_SPELLING:
        return True
    m = _VECTOR.match(spelling)
    return m is not None and m[2] in _BY_SPELLING


@cache
def _short_vector(spelling: str) -> DType:
    """``vector<2xf16>``: a few numbers that threads load and store as one."""
    m = _VECTOR.match(spelling)
    if m is None:
        raise KeyError(spelling)
    element = _BY_SPELLING[m[2]]
    name = f"vector<{m[1]}x{element.text}>"
    if name != spelling:
        return dtype(name)
    return DType(name, int(m[1]) * element.bits, element.kind, name, name)


def lanes(element: DType) -> tuple[DType, int] | None:
    """The numbers in an element of a short vector: their type, and how many; None for other types."""
    m = _VECTOR.match(element.name)
    return None if m is None else (_BY_SPELLING[m[2]], int(m[1]))


def from_numpy(dt: np.dtype) -> DType | None:
    """The element type of a NumPy dtype, or None."""
    return _BY_NUMPY.get(np.dtype(dt))


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
