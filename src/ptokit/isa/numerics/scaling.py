"""The fix-pipe's arithmetic by the words of operations on pointers: scale, ReLU with a slope, conversion.

What `quantize` has is taken from there. Integer families that it does not have scale, round to nearest even, add the
offset and saturate (PTOAS e32488c9, micro-isa 16).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ptokit.targets import Target
from ptokit.types.dtypes import DType

from .quant import Word, quantize
from .quant_modes import QuantMode

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
