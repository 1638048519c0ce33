"""Element codes to numbers and back, for every element type, HiFloat8 and HiFloat4 among them (types-and-layouts 1).

Magnitude bits of a code, after the sign bit:

==============  ======================================  =========================================
``0000mmm``     m = 0: zero, with sign bit NaN          otherwise ``2**(m - 23)``
``0001fff``     exponent 0                              three fraction bits
``001sfff``     exponent ±1                             three fraction bits
``01sefff``     exponent ±(2 + e)                       three fraction bits
``10seeff``     exponent ±(4 + ee)                      two fraction bits
``11seeef``     exponent ±(8 + eee)                     one fraction bit; ``0x6F`` is infinity
==============  ======================================  =========================================

A number is a code of e1m2 (0 to 1.75) times ``Ea * 2**Eb * 2**Ec``:

- Ea, one byte of a group: a float without a sign, 6 bits of exponent (bias 48) and 2 of mantissa; 0xFF is NaN;
- Eb, one byte: bit i is of the elements 8*i to 8*i + 7;
- Ec, two bytes, the lower first: bit i is of the elements 4*i to 4*i + 3.

Source: library for a6 (TQuant.hpp, its tests, docs/isa/TQUANT_HIF4.md, TMATMUL_MX_HIF4.md).

A code is the bits of one element as an unsigned integer of the type's storage unit; the 4-bit types have one code per
element, in the low nibble of a byte (`pack_nibbles` makes bytes of them).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from .dtypes import (
    BF16,
    E1M2,
    E2M1,
    E4M3,
    E5M2,
    F16,
    F32,
    NEAREST_EVEN,
    DType,
    FloatFormat,
    int_to_float,
    round_to_format,
    to_integer,
)
from .enums import RoundMode

# HiFloat8: 8 bits with a prefix that tells how many of them are exponent (types-and-layouts 1.9).


NAN = 0x80
INFINITY = 0x6F
OVERFLOW = 40960.0  # magnitudes from here on round to infinity


def _magnitude(code: int) -> float:
    """Value of a code without its sign bit."""
    if code < 0x08:
        return 2.0 ** (code - 23) if code else 0.0
    if code < 0x10:
        return 1 + (code & 7) / 8
    if code == INFINITY:
        return np.inf
    # class with k exponent bits (the leading one of them implicit) and w fraction bits
    k, w = next((k, w) for k, w, first in ((4, 1, 0x60), (3, 2, 0x40), (2, 3, 0x20), (1, 3, 0x10)) if code >= first)
    fraction = (code & ((1 << w) - 1)) / (1 << w)
    exponent = (1 << (k - 1)) | ((code >> w) & ((1 << (k - 1)) - 1))
    negative = code >> (w + k - 1) & 1
    return 2.0 ** (-exponent if negative else exponent) * (1 + fraction)


@lru_cache(maxsize=1)
def hifloat8_values() -> np.ndarray:
    """f32 values of the 256 codes."""
    positive = np.array([_magnitude(c) for c in range(128)], np.float32)
    table = np.concatenate([positive, -positive])
    table[NAN] = np.nan
    table.flags.writeable = False
    return table


@lru_cache(maxsize=1)
def _magnitudes() -> tuple[np.ndarray, np.ndarray]:
    """Finite magnitudes in ascending order as f64, and their codes."""
    values = hifloat8_values()[:INFINITY].astype(np.float64)
    values = np.append(values, hifloat8_values()[INFINITY + 1 : 128].astype(np.float64))
    codes = np.append(np.arange(INFINITY), np.arange(INFINITY + 1, 128)).astype(np.uint8)
    order = np.argsort(values)
    return values[order], codes[order]


@lru_cache(maxsize=2)
def _ties_away_table(saturate: bool) -> np.ndarray:
    """Codes by the top 13 bits of an f32: sign, exponent and four fraction bits.

    All midpoints between neighbours have at most four fraction bits, and a tie goes away from zero, so the bits below
    cannot matter (NaN excepted).
    """
    values = (np.arange(1 << 13, dtype=np.uint32) << np.uint32(19)).view(np.float32)
    values[np.isnan(values)] = 0  # `encode` looks for NaN itself
    table = _encode_by_search(values.astype(np.float64), RoundMode.ROUND, saturate)
    table.flags.writeable = False
    return table


def hifloat8_codes(x: np.ndarray, mode: RoundMode = RoundMode.ROUND, saturate: bool = True) -> np.ndarray:
    """HiFloat8 codes (uint8) of floats (f32 or f64).

    The format's own rounding is ROUND: nearest, ties away from zero. NaN gives ``0x80``, both zeros ``0x00``; beyond
    the largest value ±32768 the result is that value if `saturate`, else infinity from ±40960 on.
    """
    if mode is not RoundMode.ROUND or x.dtype != np.float32:
        return _encode_by_search(x.astype(np.float64), mode, saturate)
    index = np.ascontiguousarray(x).view(np.uint32) >> np.uint32(19)
    codes = np.take(_ties_away_table(saturate), index)
    nan = np.isnan(x)
    if nan.any():
        codes[nan] = NAN
    return codes


def _encode_by_search(x: np.ndarray, mode: RoundMode, saturate: bool) -> np.ndarray:
    """Codes of f64 values for any rounding mode, by binary search among the finite magnitudes."""
    values, codes = _magnitudes()
    magnitude, negative = np.abs(x), np.signbit(x)
    bounded = np.where(np.isnan(x), 0.0, np.minimum(magnitude, values[-1]))
    lower = np.searchsorted(values, bounded, side="right") - 1
    upper = np.minimum(lower + 1, len(values) - 1)
    below, above = bounded - values[lower], values[upper] - bounded
    odd = codes[lower] & 1 == 1
    inexact = below != 0
    if mode is RoundMode.ROUND:
        up = below >= above
    elif mode is RoundMode.ODD:
        up = ~odd
    elif mode in (RoundMode.FLOOR, RoundMode.CEIL):
        up = negative == (mode is RoundMode.FLOOR)
    elif mode is RoundMode.TRUNC:
        up = np.zeros_like(inexact)
    else:
        up = (below > above) | ((below == above) & odd)
    code = codes[np.where(inexact & up, upper, lower)]
    if not saturate:
        stops = (mode is RoundMode.TRUNC) | (mode is RoundMode.ODD) | (mode is RoundMode.FLOOR) & ~negative
        stops = stops | (mode is RoundMode.CEIL) & negative
        nearest = mode not in (RoundMode.FLOOR, RoundMode.CEIL)
        over = magnitude >= OVERFLOW if nearest else magnitude > values[-1]
        code = np.where((over & ~stops) | np.isinf(magnitude), np.uint8(INFINITY), code)
    code = np.where(negative & (code != 0), code | np.uint8(0x80), code)
    return np.where(np.isnan(x), np.uint8(NAN), code)


# HiFloat4: 4-bit numbers in groups of 64 that share 4 bytes of scales, of three levels (arXiv 2602.11287).


GROUP = 64  # elements that share an Ea
BYTES = 4  # of scales of a group: Ea, Eb, Ec low, Ec high
_BF16 = np.dtype(ml_dtypes.bfloat16)
_NAN, _LARGEST = 0xFF, 0xFE
_BIAS, _LEAST, _MOST = 48, -48, 15


def ea_value(codes: np.ndarray) -> np.ndarray:
    """The values of Ea, float64."""
    values = np.ldexp(1 + (codes & 3) / 4, (codes >> 2).astype(np.int64) - _BIAS)
    return np.where(codes == _NAN, np.nan, values)


def scales(codes: np.ndarray) -> np.ndarray:
    """Of bytes of scales (…, 4 * groups) those of single elements (…, 64 * groups), float64."""
    groups = codes.reshape(*codes.shape[:-1], -1, BYTES)
    place = np.arange(GROUP)
    eb = groups[..., 1:2] >> (place // 8).astype(np.uint8) & 1
    ec = groups[..., 2 + place // 32] >> (place // 4 % 8).astype(np.uint8) & 1
    spread = np.ldexp(ea_value(groups[..., :1]), (eb + ec).astype(np.int64))
    return spread.reshape(*codes.shape[:-1], -1)


class Quantised(NamedTuple):
    """What TQUANT makes of groups of 64, last axis first to last: numbers to convert to e1m2, and their scales."""

    scaled: np.ndarray  # (…, 64) bf16 as float32
    ea: np.ndarray  # (…) codes
    eb: np.ndarray  # (…) bytes
    ec: np.ndarray  # (…, 2) bytes, the lower first
    largest_of_4: np.ndarray  # (…, 16) bf16 as float32
    largest_of_8: np.ndarray  # (…, 8)
    factor: np.ndarray  # (…, 16) bf16 as float32: what the four elements are multiplied by


def quantised(groups: np.ndarray) -> Quantised:
    """Groups of 64 numbers (…, 64) of bf16 as float32, as the vector unit of a6 quantises them.

    Every product is rounded to bf16. Ea is a seventh of the largest magnitude. Decision: where that is zero the factor
    is 0, as in the library's tests.
    """
    magnitude = np.abs(groups)
    of_4 = magnitude.reshape(*groups.shape[:-1], 16, 4).max(axis=-1)
    of_8 = of_4.reshape(*groups.shape[:-1], 8, 2).max(axis=-1)
    ea = _ea_code(_bf16(of_8.max(axis=-1) * _bf16(np.array(1 / 7))))
    with np.errstate(divide="ignore", invalid="ignore"):
        inverse = np.where(ea == 0, 0, _bf16((1 / ea_value(ea)).astype(np.float32)))[..., None]
        high = _bf16(of_8 * inverse) >= 4
        half = np.repeat(np.where(high, np.float32(0.5), np.float32(1)), 2, axis=-1)
        higher = _bf16(_bf16(of_4 * inverse) * half) >= 2
        factor = _bf16(inverse.astype(np.float32) * _bf16(half * np.where(higher, np.float32(0.5), np.float32(1))))
        scaled = _bf16(groups * np.repeat(factor, 4, axis=-1))
    eb = np.packbits(high, axis=-1, bitorder="little")[..., 0]
    ec = np.packbits(higher, axis=-1, bitorder="little")
    return Quantised(scaled, ea, eb, ec, of_4, of_8, factor)


def _bf16(x: np.ndarray) -> np.ndarray:
    return np.asarray(x, np.float32).astype(_BF16).astype(np.float32)


def _ea_code(x: np.ndarray) -> np.ndarray:
    """The nearest Ea of magnitudes, ties to even; 0 of zero."""
    finite = np.where(np.isfinite(x) & (x > 0), x, 1).astype(np.float64)
    exponent = np.clip(np.frexp(finite)[1] - 1, _LEAST, _MOST)
    mantissa = np.rint((np.ldexp(finite, -exponent) - 1) * 4).astype(np.int64)
    carried = mantissa >= 4
    code = (exponent + _BIAS + carried) * 4 + np.where(carried, 0, mantissa)
    code = np.where(np.isinf(x), _LARGEST, np.clip(code, 0, _LARGEST))
    code = np.where(x == 0, 0, np.where(np.isnan(x), _NAN, code))
    return code.astype(np.uint8)


# Element codes to numbers and back, for every element type (types-and-layouts 1).


_INT4 = ("int4", "s4")

FORMATS: dict[str, FloatFormat] = {
    "f32": F32,
    "f16": F16,
    "bf16": BF16,
    "e4m3": E4M3,
    "e5m2": E5M2,
    "e2m1": E2M1,
    "e1m2": E1M2,
    "hif4": E1M2,
}


@cache
def decode_table(dtype: DType) -> np.ndarray:
    """Values of all codes of a type of at most 16 bits: 256 or 65,536 entries, f32 (integers: ``dtype.value``, int8).

    The high nibble of codes of 4-bit types is ignored. The table is read-only.
    """
    codes = np.arange(1 << (8 * dtype.size), dtype=dtype.storage)
    if dtype.name == "hif8":
        return hifloat8_values()
    if dtype.name in _INT4:
        table = ((codes & 0xF) ^ 8).astype(np.int8) - np.int8(8)
    elif dtype.packed:
        table = _decode_fp4(codes, FORMATS[dtype.name])
    else:
        assert dtype.value is not None
        table = codes.view(dtype.value)
        if dtype.is_float:
            with np.errstate(invalid="ignore"):  # signalling NaN
                table = _quiet(table.astype(np.float32))
    table.flags.writeable = False
    return table


def _quiet(values: np.ndarray) -> np.ndarray:
    """f32 `values` with signalling NaN made quiet, in place."""
    nan = np.isnan(values)
    if nan.any():
        values.view(np.uint32)[nan] |= np.uint32(0x00400000)
    return values


def _decode_fp4(codes: np.ndarray, fmt: FloatFormat) -> np.ndarray:
    exponent = (codes & 7) >> fmt.fraction
    significand = (codes & ((1 << fmt.fraction) - 1)) + ((exponent > 0) << fmt.fraction)
    value = np.ldexp(significand.astype(np.float32), np.maximum(exponent, 1).astype(int) - fmt.bias - fmt.fraction)
    return np.where(codes & 8 != 0, -value, value).astype(np.float32)


def decode(dtype: DType, codes: np.ndarray) -> np.ndarray:
    """The numbers of `codes` (unsigned integers of the storage unit): f32 for floats, else the integer type.

    int4 gives int8. Every float type is exactly representable in f32; narrower NaN codes give quiet NaN. The result may
    share memory with `codes`.
    """
    codes = np.asarray(codes, dtype.storage)
    if dtype.name == "f32":
        return codes.view(np.float32)
    if dtype.name == "bf16":
        bits = np.atleast_1d(codes).astype(np.uint32) << np.uint32(16)
        return _quiet(bits.view(np.float32)).reshape(codes.shape)
    if dtype.is_float or dtype.name in _INT4:
        return np.take(decode_table(dtype), codes)
    assert dtype.value is not None
    return codes.view(dtype.value)


def encode(
    dtype: DType, values: np.ndarray | float, *, rounding: RoundMode = RoundMode.NONE, saturate: bool = True
) -> np.ndarray:
    """Codes of numbers, rounded once from their exact value.

    `values` may have any integer or float dtype. ``RoundMode.NONE`` is the type's own rounding: ties away from zero for
    hif8, ties to even for all others. With `saturate`, out-of-range values and infinities become the largest finite
    value of their sign; without, floats overflow to infinity (NaN where there is none, FP4 saturates always) and
    integers keep their low bits. NaN becomes the canonical quiet NaN, in FP4 the largest value, in integers 0.

    E8M0 has no sign and no zero: negative values give NaN, 0 gives the smallest code, and rounding applies to the
    base-2 logarithm (types-and-layouts 1.5).
    """
    values = np.asarray(values)
    with np.errstate(over="ignore", invalid="ignore"):  # overflow and NaN have defined results
        return _encode(dtype, np.atleast_1d(values), rounding, saturate).reshape(values.shape)


def _encode(dtype: DType, values: np.ndarray, rounding: RoundMode, saturate: bool) -> np.ndarray:
    if dtype.is_integer:
        return _encode_integer(dtype, values, rounding, saturate)
    if values.dtype.kind in "iub":
        if dtype.name == "f32" and rounding in NEAREST_EVEN:
            return values.astype(np.float32).view(np.uint32)
        if dtype.name == "f16" and values.dtype.itemsize >= 4:  # what f16 cannot tell from 2**17 need not be exact
            x = np.clip(values, 0 if values.dtype.kind == "u" else -(1 << 17), 1 << 17).astype(np.float32)
        else:
            x = int_to_float(values.astype(np.uint8) if values.dtype.kind == "b" else values)
    else:
        x = values if values.dtype in (np.float32, np.float64) else values.astype(np.float32)
    if dtype.name == "hif8":
        return hifloat8_codes(x, RoundMode.ROUND if rounding is RoundMode.NONE else rounding, saturate)
    if dtype.name == "e8m0":
        return _encode_e8m0(x, rounding, saturate)
    nearest = _NEAREST.get((dtype.name, x.dtype)) if rounding in NEAREST_EVEN else None
    if dtype.name == "f32" and x.dtype == np.float32:
        nearest = np.copy
    if nearest is None or (nearest is _to_f16 and x.size >= _LARGE):
        return round_to_format(x, FORMATS[dtype.name], rounding, saturate)
    if saturate:
        largest = x.dtype.type(decode(dtype, np.array(FORMATS[dtype.name].largest)))
        x = np.clip(x, -largest, largest)
    codes = nearest(x).view(dtype.storage)
    nan = np.isnan(x)
    if nan.any():
        codes[nan] = FORMATS[dtype.name].nan
    return codes


def _to_f16(x: np.ndarray) -> np.ndarray:
    return x.astype(np.float16)


_LARGE = 1 << 15
"""Elements from which on `round_to_format` beats NumPy's f32 to f16, which is slow where zeros mix with other values
and very slow (60 ns an element) for subnormal and overflowing results."""

# Conversions to the nearest even value that NumPy and ml_dtypes do in one correct rounding.
_NEAREST: dict[tuple[str, np.dtype], Callable[[np.ndarray], np.ndarray]] = {
    ("f16", np.dtype(np.float32)): _to_f16,
    ("f16", np.dtype(np.float64)): lambda x: x.astype(np.float16),
    ("bf16", np.dtype(np.float32)): lambda x: x.astype(ml_dtypes.bfloat16),
    ("f32", np.dtype(np.float64)): lambda x: x.astype(np.float32),
}


def _encode_integer(dtype: DType, values: np.ndarray, rounding: RoundMode, saturate: bool) -> np.ndarray:
    if dtype.name in _INT4:
        wide = _encode_integer_as(np.dtype(np.int8), values, rounding, saturate)
        return (np.clip(wide, -8, 7) if saturate else wide).view(np.uint8) & np.uint8(0xF)
    assert dtype.value is not None
    return _encode_integer_as(dtype.value, values, rounding, saturate).view(dtype.storage)


def _encode_integer_as(target: np.dtype, values: np.ndarray, rounding: RoundMode, saturate: bool) -> np.ndarray:
    if values.dtype.kind not in "iub":
        x = values if values.dtype in (np.float32, np.float64) else values.astype(np.float32)
        return to_integer(x, target, rounding, saturate)
    return narrow_integers(values, target, saturate)


def narrow_integers(values: np.ndarray, target: np.dtype, saturate: bool) -> np.ndarray:
    """Integers as another integer dtype: the low bits, or the nearest value in range if `saturate`."""
    if saturate and values.dtype.kind in "iu":
        have, want = np.iinfo(values.dtype), np.iinfo(target)
        if have.min < want.min or have.max > want.max:
            values = np.clip(values, max(have.min, want.min), min(have.max, want.max))
    return values.astype(target)


def _encode_e8m0(x: np.ndarray, rounding: RoundMode, saturate: bool) -> np.ndarray:
    mantissa, exponent = np.frexp(x)  # x = mantissa * 2**exponent, mantissa in [0.5, 1)
    low = exponent - 1  # floor(log2(x))
    inexact = mantissa != 0.5
    if rounding in NEAREST_EVEN or rounding is RoundMode.ROUND:
        up = mantissa.astype(np.float64) > np.sqrt(0.5)  # irrational: there are no ties
    elif rounding is RoundMode.CEIL:
        up = inexact
    elif rounding is RoundMode.FLOOR:
        up = np.zeros_like(inexact)
    elif rounding is RoundMode.TRUNC:
        up = inexact & (low < 0)
    else:
        up = inexact & (low % 2 == 0)
    biased = low + up + 127
    top = 0xFE if saturate else 0xFF
    code = np.where(x == 0, 0, np.where(np.isinf(x), top, np.clip(biased, 0, np.where(biased > 0xFE, top, 0xFF))))
    return np.where(np.isnan(x) | (x < 0), 0xFF, code).astype(np.uint8)


def pack_nibbles(codes: np.ndarray) -> np.ndarray:
    """Bytes of 4-bit codes along the last axis: even index in the low nibble; an odd count ends in a zero nibble.

    Source: types-and-layouts 1.6.
    """
    codes = np.asarray(codes, np.uint8) & np.uint8(0xF)
    count = codes.shape[-1]
    out = np.zeros((*codes.shape[:-1], (count + 1) // 2), np.uint8)
    out |= codes[..., 0::2]
    out[..., : count // 2] |= codes[..., 1::2] << np.uint8(4)
    return out


def unpack_nibbles(data: np.ndarray, count: int | None = None) -> np.ndarray:
    """4-bit codes of bytes along the last axis, the first `count` of them (default all), one uint8 per element."""
    data = np.asarray(data, np.uint8)
    out = np.empty((*data.shape[:-1], 2 * data.shape[-1]), np.uint8)
    np.bitwise_and(data, 0xF, out=out[..., 0::2])
    np.right_shift(data, 4, out=out[..., 1::2])
    return out if count is None else out[..., :count]


# Integers of a fixed width, in two's complement.


def width(type_name: str) -> int:
    """Bits of an integer type; index counts as 64."""
    return 64 if type_name == "index" else int(type_name.lstrip("siu"))


def wrap(x: Any, bits: int) -> Any:
    """Two's complement: the low `bits` bits as a signed number (i1 stays a bool)."""
    if bits == 1:
        return bool(x & 1)
    half = 1 << (bits - 1)
    return ((x + half) & ((1 << bits) - 1)) - half


def signed(x: Any, bits: int) -> int:
    """A value as a signed number; true, the only bit of i1, is its sign."""
    return -int(x) if bits == 1 else int(x)


def unsigned(x: Any, bits: int) -> int:
    """The same bits as a number from 0 on."""
    return int(x) & ((1 << bits) - 1)
