"""Quantisation on the way out of an accumulator: the fix-pipe's arithmetic (load-store 5.1, 6; move-gather-scatter 6).

Decisions where the sources differ, and what they rest on:

* 8-bit results: cpu rounds once, ``sat(rint(x*s + offset))``; the devices round first and add the offset to a 9-bit
  value, ``sat(sat(rint(x*s), -256, 255) + offset)`` (load-store 6.3, D-20; move-gather-scatter D10).
* The offset is unsigned, 0 to 511 (D11); NaN gives 0; bit 46 of the word, not the destination type, selects the range.
* Shifts saturate, though a header wraps (D-22). ReLU comes last (D-21).
* Scalar words use all 32 scale bits on every target, vector words the upper 19 (D-23).
* HiF8 and FP8 results saturate always; HiF8 rounds ties away from zero for both signs (types-and-layouts 1.9).
* A cast or product beyond f16 or bf16 overflows as the mode's row says, with the saturate-special bit CTRL[48] clear.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ptokit.records import dataclass
from ptokit.targets import Target
from ptokit.types.codecs import encode
from ptokit.types.dtypes import DTYPES, DType
from ptokit.types.enums import RoundMode

from .quant_modes import QuantMode
from .rounding import as_values

_I16 = DTYPES["i16"]
_F16_MAX = 65504.0
_VECTOR_SCALE = np.uint32(0xFFFFE000)  # sign, exponent, upper 10 fraction bits


@dataclass(frozen=True, slots=True)
class Word:
    """Fields of quantisation parameter words, one or an array of them (load-store 6.2)."""

    scale_bits: np.ndarray  # uint32, bits 31..0
    shift_code: np.ndarray  # int32, bits 35..32: the shift is one more
    offset: np.ndarray  # int32 0..511, bits 45..37
    signed: np.ndarray  # bool, bit 46

    @classmethod
    def parse(cls, words: int | np.ndarray) -> Word:
        """Split 64-bit words; signed integers are taken by their bits."""
        if isinstance(words, int):
            words = np.array(words & 0xFFFF_FFFF_FFFF_FFFF, np.uint64)
        bits = np.asarray(words).astype(np.uint64)
        high = (bits >> np.uint64(32)).astype(np.uint32)
        return cls(
            scale_bits=bits.astype(np.uint32),
            shift_code=(high & np.uint32(0xF)).astype(np.int32),
            offset=(high >> np.uint32(5) & np.uint32(0x1FF)).astype(np.int32),
            signed=(high >> np.uint32(14) & np.uint32(1)).astype(bool),
        )

    @classmethod
    def make(cls, scale: Any, zero: Any = 0, signed: bool = True, shift: Any = 1) -> np.ndarray:
        """The words of these fields, uint64, one or an array of them.

        ``scale``: f32. ``zero``: the offset of 8-bit results, 0 to 511. ``signed``: 8-bit results are -128..127, not
        0..255. ``shift``: bits to shift right, 1 to 16. Raises `ValueError` for a field that does not hold its value.
        """
        with np.errstate(over="ignore"):
            scales = np.asarray(scale, np.float32)
        offsets, shifts = np.asarray(zero), np.asarray(shift)
        if not np.isfinite(scales).all():
            raise ValueError(f"the scale {scale!r:.60} is no finite f32")
        for name, values, low, high in (("zero", offsets, 0, 511), ("shift", shifts, 1, 16)):
            if values.dtype.kind not in "iu" or not ((low <= values) & (values <= high)).all():
                raise ValueError(f"{name} is an integer from {low} to {high}, not {values.tolist()!r:.60}")
        upper = (shifts.astype(np.uint64) - np.uint64(1)) | offsets.astype(np.uint64) << np.uint64(5)
        upper = upper | np.uint64(bool(signed) << 14)
        words: np.ndarray = scales.view(np.uint32).astype(np.uint64) | upper << np.uint64(32)
        return words

    @property
    def shift(self) -> np.ndarray:
        """Bits to shift right, 1 to 16."""
        return self.shift_code + np.int32(1)

    @property
    def scale(self) -> np.ndarray:
        """The f32 scale of a scalar word."""
        return self.scale_bits.view(np.float32)

    @property
    def vector_scale(self) -> np.ndarray:
        """The f32 scale of a vector word: a float with 8 exponent and 10 fraction bits, all exponents normal.

        The low 13 bits are dropped. Exponent and fraction zero is 0.0; there are no subnormals, infinities or NaN
        (an exponent of 255 overflows f32). Source: move-gather-scatter 6.1.
        """
        bits = self.scale_bits & _VECTOR_SCALE
        exponent = (bits >> np.uint32(23) & np.uint32(0xFF)).astype(np.int32)
        fraction = (bits >> np.uint32(13) & np.uint32(0x3FF)).astype(np.float64)
        magnitude = np.ldexp(1 + fraction / 1024, exponent - 127)
        magnitude = np.where(bits & np.uint32(0x7FFFFFFF) == 0, 0.0, magnitude)
        with np.errstate(over="ignore"):
            return np.where(bits >> np.uint32(31) == 0, magnitude, 0.0 - magnitude).astype(np.float32)


def quantize(
    values: np.ndarray,
    dst: DType,
    mode: QuantMode,
    words: int | np.ndarray = 0,
    *,
    relu: bool = False,
    target: Target,
    saturate_special: bool = False,
    signed_offset: bool = False,
) -> np.ndarray:
    """Accumulator values (f32 or i32) as `dst` values: ``dst.value`` dtype, or codes where that is None.

    `words` is one parameter word or an array of them that broadcasts against `values`, for the vector modes usually of
    shape (columns,); modes without a parameter ignore it. ``NoQuant`` converts the value: to nearest even for floats,
    toward zero and saturating for integers. `relu` maps everything that is not positive, NaN and -0 included, to +0.
    `saturate_special` is CTRL[48]: f16 and bf16 modes turn NaN into 0 and clamp infinities. `signed_offset` reads
    the 8-bit offset as two's complement, the alternative that load-store 6.3 records.
    """
    family = mode.scalar_mode
    if family is QuantMode.NoQuant or family in (QuantMode.F322F16, QuantMode.F322BF16):
        return _cast(values, dst, family, relu, saturate_special)
    word = Word.parse(words)
    if family is QuantMode.SHIFTS322S16:
        shifted = values >> word.shift
        return as_values(encode(_I16, relu_of(shifted) if relu else shifted), _I16)
    scale = word.vector_scale if mode.per_column else word.scale
    with np.errstate(over="ignore", invalid="ignore"):
        product = values.astype(np.float32) * scale  # i32 is rounded to nearest even first
    if family in (QuantMode.QF322B8_PRE, QuantMode.REQ8, QuantMode.QF162B8_PRE):
        return _to_8_bits(product, dst, word, relu, target, signed_offset)
    if family in (QuantMode.DEQS16, QuantMode.QF162S16_PRE):
        return _to_16_bits(product, dst, word, relu)
    if family is QuantMode.DEQF16:
        np.clip(product, -_F16_MAX, _F16_MAX, out=product)
    elif family is QuantMode.QF322F16_PRE and not saturate_special:
        np.clip(product, -_F16_MAX, _F16_MAX, out=product, where=np.isfinite(product))
    elif saturate_special and dst.name in ("f16", "bf16"):
        product[np.isnan(product)] = 0
    if relu:
        relu_of(product, out=product)
    return _narrow(product, dst, (dst.bits == 8 or saturate_special) and dst.name != "f32")


def _cast(values: np.ndarray, dst: DType, family: QuantMode, relu: bool, saturate_special: bool) -> np.ndarray:
    """No parameter: the value itself, narrowed."""
    if relu:
        values = relu_of(values)
    if family is QuantMode.NoQuant:
        return _narrow(values, dst, dst.is_integer)
    if saturate_special:
        values = np.where(np.isnan(values), 0, values)
    return _narrow(values, dst, saturate_special)


def relu_of(x: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """``x > 0 ? x : 0``: NaN and -0 become +0 (load-store 5.1). Same dtype as `x` (f32 or integers)."""
    zero = x.dtype.type(0)
    positive = np.fmax(x, zero, out=out)  # the number wins over NaN
    if x.dtype.kind == "f":
        positive += zero  # -0 + 0 is +0
    return positive


def _narrow(x: np.ndarray, dst: DType, saturate: bool) -> np.ndarray:
    """Conversion to the destination: nearest even, integers toward zero."""
    rounding = RoundMode.TRUNC if dst.is_integer else RoundMode.NONE
    return as_values(encode(dst, x, rounding=rounding, saturate=saturate), dst)


def _to_16_bits(product: np.ndarray, dst: DType, word: Word, relu: bool) -> np.ndarray:
    """Round, clamp to 17 bits, add the offset, and clamp to the range that bit 46 selects, as the library's tests."""
    whole = np.clip(np.rint(np.where(np.isnan(product), 0, product)), -65536, 65535) + word.offset
    low = np.where(word.signed & (not relu), -32768, 0)
    clamped = np.clip(whole, low, np.where(word.signed, 32767, 65535))
    return clamped.astype(np.int32).astype(np.int16).astype(dst.value)


def _to_8_bits(
    product: np.ndarray, dst: DType, word: Word, relu: bool, target: Target, signed_offset: bool
) -> np.ndarray:
    """Round, add the offset and clamp to the range that bit 46 selects; `product` is overwritten."""
    offset = word.offset
    if signed_offset:
        offset = offset - ((offset & 0x100) << 1)
    with np.errstate(invalid="ignore"):
        if not target.is_device:
            if np.any(offset):
                product += offset.astype(np.float32)
            np.rint(product, out=product)
        else:
            np.rint(product, out=product)
            if np.any(offset):
                np.clip(product, -256, 255, out=product)
                product += offset.astype(np.float32)
    nan = np.isnan(product)
    if nan.any():
        product[nan] = 0
    assert dst.value is not None
    some, every = bool(np.any(word.signed)), bool(np.all(word.signed))
    if some == every:
        low, high = (-128, 127) if every else (0, 255)
        np.clip(product, 0 if relu else low, high, out=product)
        if every == (dst.name == "i8"):
            return product.astype(dst.value)
    else:
        low_bounds = np.where(word.signed & (not relu), np.float32(-128), np.float32(0))
        np.clip(product, low_bounds, np.where(word.signed, np.float32(127), np.float32(255)), out=product)
    return product.astype(np.int16).astype(dst.value)  # a range of the other signedness keeps its low 8 bits
