"""Element codes to numbers and back, for every element type (types-and-layouts 1).

A code is the bits of one element as an unsigned integer of the type's storage unit; the 4-bit types have one code per
element, in the low nibble of a byte (`pack_nibbles` makes bytes of them).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np

from . import hifloat8
from .dtypes import DType
from .enums import RoundMode
from .rounding import (
    BF16,
    E1M2,
    E2M1,
    E4M3,
    E5M2,
    F16,
    F32,
    NEAREST_EVEN,
    FloatFormat,
    int_to_float,
    round_to_format,
    to_integer,
)

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
        return hifloat8.decode_table()
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
    """The numbers behind `codes` (unsigned integers of the storage unit): f32 for floats, else the integer type.

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
        return hifloat8.encode(x, RoundMode.ROUND if rounding is RoundMode.NONE else rounding, saturate)
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
