"""Values of the conversions: vcvt with its parts, vtrc, vci, packing and unpacking (vector-path 6.6, 6.8).

Element types that meet in a conversion differ by a factor of 1, 2 or 4 in size. The lanes of the wider type belong to
one part of the lanes of the narrower type: lane i to lane factor * i + part.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ptokit.isa.numerics.rounding import as_values
from ptokit.types.codecs import decode, encode
from ptokit.types.dtypes import PACKED, SINGLES, DType, from_numpy
from ptokit.types.enums import RoundMode

from ..lanes import VREG_BYTES, Predicate, active, element

PARTS = {"": 0, "EVEN": 0, "ODD": 1, "P0": 0, "P1": 1, "P2": 2, "P3": 3}
"""Part of the narrower register that takes part in a conversion, by its word."""

ROUNDINGS = {
    "": RoundMode.RINT,
    "R": RoundMode.RINT,
    "A": RoundMode.ROUND,
    "F": RoundMode.FLOOR,
    "C": RoundMode.CEIL,
    "Z": RoundMode.TRUNC,
    "O": RoundMode.ODD,
}
"""Rounding modes by their letter."""


def cast(x: np.ndarray, to: DType, rounding: RoundMode = RoundMode.RINT, saturate: bool = False) -> np.ndarray:
    """Lanes converted one by one, rounded once; the shape stays.

    Without saturation integers keep the low bits of the value, and floats overflow to infinity. NaN gives 0 in
    integers, and with saturation in floats as well.
    """
    source = from_numpy(x.dtype)
    assert source is not None, x.dtype
    numbers = decode(source, np.ascontiguousarray(x).view(source.storage))
    return _rounded(numbers, to, rounding, saturate)


def _rounded(numbers: np.ndarray, to: DType, rounding: RoundMode, saturate: bool) -> np.ndarray:
    if saturate and to.is_float:
        numbers = np.where(np.isnan(numbers), numbers.dtype.type(0), numbers)
    return as_values(encode(to, numbers, rounding=rounding, saturate=saturate), to)


def widened(x: np.ndarray, mask: Predicate, src: DType, dst: DType, part: int) -> np.ndarray:
    """Every fourth byte of a register, from `part` on, as f32 numbers, or pairs of FP4 as numbers of bf16."""
    codes, on = x.view(np.uint8)[:, part::4], active(mask, 1)
    on = None if on is None else on[:, part::4]
    if src in PACKED.values():
        codes = np.stack((codes & 0xF, codes >> 4), -1).reshape(len(codes), -1)
        on = None if on is None else np.repeat(on, 2, axis=1)
    return kept(as_values(encode(dst, decode(_single(src), codes), saturate=False), dst), on)


def narrowed(
    x: np.ndarray, mask: Predicate, src: DType, dst: DType, part: int, rounding: RoundMode, saturate: bool
) -> np.ndarray:
    """Numbers as floats of 8 bits or pairs of FP4, in one part of the bytes of a register."""
    numbers = decode(src, np.ascontiguousarray(x).view(src.storage))
    if saturate:
        numbers = np.where(np.isnan(numbers), np.float32(0), numbers)
    codes = kept(encode(_single(dst), numbers, rounding=rounding, saturate=saturate), active(mask, src.size))
    if dst in PACKED.values():
        codes = codes[:, ::2] | codes[:, 1::2] << 4
    return place(codes, dst, part).view(element(dst))


def _single(dtype: DType) -> DType:
    """The type of one number of a pair."""
    return SINGLES.get(dtype, dtype)


def place(values: np.ndarray, dtype: DType, part: int) -> np.ndarray:
    """Results of a narrower type in their part of a register; the other parts are 0."""
    count = VREG_BYTES // dtype.size
    if values.shape[1] == count:
        return values
    out = np.zeros((len(values), count), values.dtype)
    out[:, part :: count // values.shape[1]] = values
    return out


def kept(values: np.ndarray, on: np.ndarray | None) -> np.ndarray:
    """Values with 0 in the lanes that are not `on`."""
    return values if on is None else np.where(on, values, values.dtype.type(0))


def splat(value: Any, dtype: DType, *, bits: bool = False) -> np.ndarray:
    """vbr: every lane holds `value`, of which integers keep the low bits; ``bits``: an integer that is a code."""
    if bits or dtype.is_integer:
        codes = as_values(np.asarray(value).astype(np.int64).astype(dtype.storage), dtype)
    else:
        codes = as_values(encode(dtype, np.asarray(value, np.float64), saturate=False), dtype)
    column = codes.reshape(-1, 1)
    return np.broadcast_to(column, (len(column), VREG_BYTES // dtype.size))


def unpack(x: np.ndarray, to: DType, part: Any, kind: str) -> np.ndarray:
    """vsunpack (`kind` i) and vzunpack (u): the lanes of half `part` (0 or 1), extended to twice their width."""
    assert to.value is not None
    half = x.shape[1] // 2
    source = x.view(f"{kind}{x.dtype.itemsize}")
    if isinstance(part, np.ndarray):
        blocks = max(len(x), len(part))
        index = np.broadcast_to(part.reshape(-1, 1) * half + np.arange(half), (blocks, half))
        source = np.take_along_axis(np.broadcast_to(source, (blocks, 2 * half)), index.astype(np.intp), axis=1)
    else:
        source = source[:, int(part) * half :][:, :half]
    return source.astype(f"{kind}{to.size}").view(to.value)
