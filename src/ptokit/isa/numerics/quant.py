"""Quantisation on the way out of an accumulator: the fix-pipe's modes and arithmetic (load-store 5).

Facts: load-store 6.1 (TSTORE), move-gather-scatter 5.1 to 5.3 (TMOV). A pair that a table does not list is not
quantised: `QuantMode.NoQuant`. The tables say what the hardware selects, not what is legal; the verifier knows that.

Decisions where the sources differ, and what they rest on:

* 8-bit results: cpu rounds once, ``sat(rint(x*s + offset))``; the devices round first and add the offset to a 9-bit
  value, ``sat(sat(rint(x*s), -256, 255) + offset)`` (load-store 6.3, D-20; move-gather-scatter D10).
* The offset is unsigned, 0 to 511 (D11); NaN gives 0; bit 46 of the word, not the destination type, selects the range.
* Shifts saturate, though a header wraps (D-22). ReLU comes last (D-21).
* Scalar words use all 32 scale bits on every target, vector words the upper 19 (D-23).
* HiF8 and FP8 results saturate always; HiF8 rounds ties away from zero for both signs (types-and-layouts 1.9).
* A cast or product beyond f16 or bf16 overflows as the mode's row says, with the saturate-special bit CTRL[48] clear.

What `quantize` has is taken from there. Integer families that it does not have scale, round to nearest even, add the
offset and saturate (PTOAS e32488c9, micro-isa 16).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Any

import numpy as np

from ptokit.records import dataclass
from ptokit.targets import Target
from ptokit.types.codecs import encode
from ptokit.types.dtypes import DTYPES, DType
from ptokit.types.enums import RoundMode

from .arith import as_values

# Which quantisation the fix-pipe performs for a pair of types, per instruction form and target.


class QuantMode(IntEnum):
    """Pre-quantisation modes; the values are the device's numbers (load-store 6.1, move-gather-scatter 5.3)."""

    NoQuant = 0
    F322F16 = 1
    VREQ8 = 2
    REQ8 = 3
    VDEQF16 = 4
    DEQF16 = 5
    VSHIFTS322S16 = 12
    SHIFTS322S16 = 13
    F322BF16 = 16
    VQF322B8_PRE = 23
    QF322B8_PRE = 24
    QF322HIF8_PRE = 25
    QF322FP8_PRE = 26
    QF322F32_PRE = 27
    VQF322HIF8_PRE = 28
    QF322F16_PRE = 32
    VQF322F16_PRE = 33
    QF322BF16_PRE = 34
    QS322BF16_PRE = 35
    VQF322BF16_PRE = 36
    VQF322FP8_PRE = 37
    VQF322F32_PRE = 38
    VQS322BF16_PRE = 39
    QF162B8_PRE = -1  # from here on: kirin9030, whose numbers no public source gives
    VQF162B8_PRE = -2
    QF162S16_PRE = -3
    VQF162S16_PRE = -4
    DEQS16 = -5
    VDEQS16 = -6

    @property
    def per_column(self) -> bool:
        """True for the vector modes: one parameter word per column, with a 19-bit scale."""
        return self.name.startswith("V")

    @property
    def scalar_mode(self) -> QuantMode:
        """The mode with the same arithmetic and one parameter word."""
        return QuantMode[self.name[1:]] if self.per_column else self

    def number(self, target: Target) -> int:
        """The number of the mode on a target; the host simulator's enumeration differs in one place."""
        return 36 if self is QuantMode.VQS322BF16_PRE and not target.is_device else int(self)


Modes = Mapping[tuple[DType, DType], QuantMode]


def _modes(table: str) -> dict[tuple[DType, DType], QuantMode]:
    """Parse lines ``src dst MODE``."""
    rows = (line.split() for line in table.strip().splitlines())
    return {(DTYPES[src], DTYPES[dst]): QuantMode[mode] for src, dst, mode in rows}


_CAST = _modes("""
f32 f16 F322F16
f32 bf16 F322BF16
""")
_SCALAR = _modes("""
f32 i8 QF322B8_PRE
f32 u8 QF322B8_PRE
f32 f16 QF322F16_PRE
f32 bf16 QF322BF16_PRE
i32 i8 REQ8
i32 u8 REQ8
i32 f16 DEQF16
""")
_VECTOR = _modes("""
f32 i8 VQF322B8_PRE
f32 u8 VQF322B8_PRE
i32 i8 VREQ8
i32 u8 VREQ8
i32 f16 VDEQF16
""")
_SHIFT_SCALAR = _modes("i32 i16 SHIFTS322S16")
_SHIFT_VECTOR = _modes("i32 i16 VSHIFTS322S16")
# The TMOV helper selects the vector mode for a scalar f32 to e4m3; both do the same with one word, so this is the
# scalar mode here too (move-gather-scatter D8).
_SCALAR_A5 = _SCALAR | _modes("""
f32 hif8 QF322HIF8_PRE
f32 e4m3 QF322FP8_PRE
i32 bf16 QS322BF16_PRE
""")
_VECTOR_A5 = _VECTOR | _modes("""
f32 f16 VQF322F16_PRE
f32 bf16 VQF322BF16_PRE
f32 hif8 VQF322HIF8_PRE
f32 e4m3 VQF322FP8_PRE
i32 bf16 VQS322BF16_PRE
""")
_TO_F32_SCALAR = _modes("f32 f32 QF322F32_PRE")
_TO_F32_VECTOR = _modes("f32 f32 VQF322F32_PRE")

_SCALAR_KIRIN9030 = _modes("""
i32 i8 REQ8
i32 u8 REQ8
i32 f16 DEQF16
i32 i16 DEQS16
f16 i8 QF162B8_PRE
f16 u8 QF162B8_PRE
f16 i16 QF162S16_PRE
""")
_VECTOR_KIRIN9030 = {pair: QuantMode[f"V{mode.name}"] for pair, mode in _SCALAR_KIRIN9030.items()}
# stores choose no mode for 16-bit integers
_STORED = {pair: mode for pair, mode in _SCALAR_KIRIN9030.items() if pair[1].name != "i16"}
_STORED_BY_COLUMN = {pair: QuantMode[f"V{mode.name}"] for pair, mode in _STORED.items()}

FORMS = ("cast", "scalar", "vector")
"""Forms of an instruction: without a parameter, with one word, with one word per column."""

STORE_MODES: dict[str, dict[str, Modes]] = {
    "cpu": {"cast": _CAST, "scalar": _SCALAR | _SHIFT_SCALAR, "vector": _VECTOR | _SHIFT_VECTOR},
    "a2a3": {"cast": _CAST, "scalar": _SCALAR | _SHIFT_SCALAR, "vector": _VECTOR | _SHIFT_VECTOR},
    "a5": {"cast": _CAST, "scalar": _SCALAR_A5 | _TO_F32_SCALAR, "vector": _VECTOR_A5 | _TO_F32_VECTOR},
    "kirin9030": {"cast": {}, "scalar": _STORED, "vector": _STORED_BY_COLUMN},
}
"""TSTORE from an accumulator: target → form → (source, destination) → mode."""

# A5 chooses by the destination alone when there is no parameter (move-gather-scatter 5.1).
_CAST_A5_MOVE = {
    (src, DTYPES[dst]): mode
    for src in DTYPES.values()
    for dst, mode in (("f16", QuantMode.F322F16), ("bf16", QuantMode.F322BF16))
    if src.name != dst
}

MOVE_MODES: dict[str, dict[str, Modes]] = {
    "cpu": STORE_MODES["cpu"],
    "a2a3": STORE_MODES["a2a3"],
    "a5": {"cast": _CAST_A5_MOVE, "scalar": _SCALAR_A5, "vector": _VECTOR_A5},
    "kirin9030": {"cast": {}, "scalar": _SCALAR_KIRIN9030, "vector": _VECTOR_KIRIN9030},
}
"""TMOV, TEXTRACT and TINSERT from an accumulator. Quantising f32 to f32 on A5 is a plain copy here."""


def store_mode(target: Target, form: str, src: DType, dst: DType) -> QuantMode:
    """Mode of TSTORE (`form` of `FORMS`); NoQuant if the table has no entry."""
    return target.entry(STORE_MODES)[form].get((src, dst), QuantMode.NoQuant)


def move_mode(target: Target, form: str, src: DType, dst: DType) -> QuantMode:
    """Mode of TMOV, TEXTRACT and TINSERT (`form` of `FORMS`); NoQuant if the table has no entry."""
    return target.entry(MOVE_MODES)[form].get((src, dst), QuantMode.NoQuant)


# Quantisation on the way out of an accumulator: the fix-pipe's arithmetic (load-store 5.1, 6; move-gather-scatter 6).


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


# The fix-pipe's arithmetic by the words of operations on pointers: scale, ReLU with a slope, conversion.


_KNOWN = {
    "f32_f16": QuantMode.F322F16,
    "f32_bf16": QuantMode.F322BF16,
    "no_convert": QuantMode.NoQuant,
    "req8": QuantMode.REQ8,
    "deqf16": QuantMode.DEQF16,
    "qf322b8_pre": QuantMode.QF322B8_PRE,
    "qf322hif8_pre": QuantMode.QF322HIF8_PRE,
    "qf322fp8_pre": QuantMode.QF322FP8_PRE,
    "qf322f32_pre": QuantMode.QF322F32_PRE,
    "qf322f16_pre": QuantMode.QF322F16_PRE,
    "qf322bf16_pre": QuantMode.QF322BF16_PRE,
    "qs322bf16_pre": QuantMode.QS322BF16_PRE,
}
_PLAIN = frozenset((QuantMode.NoQuant, QuantMode.F322F16, QuantMode.F322BF16))
_WIDE = frozenset(("deqs32_int", "deqs16"))
_BY_F16 = frozenset(("qf162b8_pre", "qf162s16_pre"))
_ONE = np.uint64(0x3F800000)


def narrowed(
    x: np.ndarray,
    src: DType,
    dst: DType,
    mode: str,
    words: int | np.ndarray,
    *,
    relu: str = "no_relu",
    slopes: Any = None,
    saturation: str | None = None,
    keep_nan: bool = False,
    target: Target,
) -> np.ndarray | None:
    """Accumulator elements (f32 or i32) as elements of `dst`; None where nothing public says what the mode does.

    ``words``: a parameter word, or one for each column; ``slopes``: of ``scalar_relu`` and ``vector_relu``.
    """
    family = mode.removesuffix("_vec").removesuffix("_scalar")
    if src is dst and mode == "no_convert" and relu == "no_relu":
        return x
    known = _KNOWN.get(family)
    if known is None and family not in _WIDE | _BY_F16:
        return None
    word = Word.parse(words)
    if family in _BY_F16:
        with np.errstate(over="ignore"):
            x = x.astype(np.float32).astype(np.float16)
    plain = known in _PLAIN
    if relu == "no_relu" and known is not None:
        chosen = QuantMode[f"V{known.name}"] if mode.endswith("_vec") else known
        return _quantized(x, dst, chosen, words, saturation, keep_nan, target)
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = x.astype(np.float32)
        if not plain:
            scaled = scaled * (word.vector_scale if mode.endswith("_vec") else word.scale)
        scaled = _rectified(scaled, relu, slopes)
    if known is None:
        return _integers(scaled, dst, word)
    if plain and src is dst:
        return scaled.astype(x.dtype)
    left = words if plain else (np.asarray(words).astype(np.uint64) >> np.uint64(32) << np.uint64(32)) | _ONE
    return _quantized(scaled, dst, known, left, saturation, keep_nan, target)


def _quantized(
    x: np.ndarray,
    dst: DType,
    mode: QuantMode,
    words: Any,
    saturation: str | None,
    keep_nan: bool,
    target: Target,
) -> np.ndarray:
    if saturation == "nosat" and dst.name in ("f16", "bf16") and dst.value is not None:
        return _unbounded(x, dst, mode, words)
    values = quantize(x, dst, mode, words, target=target, saturate_special=saturation == "sat" and not keep_nan)
    wanted = dst.value or dst.storage
    return values if values.dtype == wanted else values.view(wanted)


def _unbounded(x: np.ndarray, dst: DType, mode: QuantMode, words: Any) -> np.ndarray:
    """Scaled and rounded, beyond the largest number to infinity."""
    word = Word.parse(words)
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = x.astype(np.float32)
        if mode not in _PLAIN:
            scaled = scaled * (word.vector_scale if mode.per_column else word.scale)
        out: np.ndarray = scaled.astype(dst.value)
    return out


def _rectified(x: np.ndarray, relu: str, slopes: Any) -> np.ndarray:
    if relu == "no_relu":
        return x
    if relu == "normal_relu":
        return np.fmax(x, np.float32(0)) + np.float32(0)
    return np.where(x >= 0, x, x * np.asarray(slopes).astype(np.float32))


def _integers(x: np.ndarray, dst: DType, word: Word) -> np.ndarray:
    """Rounded, with the offset, in the range of the type; NaN is 0."""
    assert dst.value is not None
    limits = np.iinfo(dst.value)
    whole = np.nan_to_num(np.rint(x.astype(np.float64)), nan=0.0, posinf=2.0**40, neginf=-(2.0**40)) + word.offset
    out: np.ndarray = np.clip(whole, limits.min, limits.max).astype(dst.value)
    return out
