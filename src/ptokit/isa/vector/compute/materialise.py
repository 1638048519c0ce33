"""Registers made of numbers, and values of conversions (vector-path 6.1, 6.6).

Element types that meet in a conversion differ by a factor of 1, 2 or 4 in size. The lanes of the wider type belong to
one part of the lanes of the narrower type: lane i to lane factor * i + part.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ptokit.diagnostics import ALL_TARGETS, family
from ptokit.isa.numerics.arith import as_values
from ptokit.types.codecs import decode, encode
from ptokit.types.dtypes import PACKED, SINGLES, DType, dtype, from_numpy, is_dtype
from ptokit.types.enums import RoundMode

from ...checks.compiling import Message
from ...machine import Machine
from ...meaning.expressions import Element, Place, Scalar, lane
from ...meaning.words import Lane, Python, Word, Write
from ...site import ScalarInfo, Site, VregInfo
from ...table import Kind, Operand
from ..predicates import PRD_01
from ..registers import VREG_BYTES, Predicate, active, element, zeroed
from ..words import SOURCE, mask, micro, number, out_vreg, types, word
from .arithmetic import NARROW
from .words import FITS, MASKED, SAME, worded

# Values of the conversions: vcvt with its parts, vtrc, vci, packing and unpacking (vector-path 6.6, 6.8).


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
    """vbr: every lane holds `value`, whose low bits integers keep; ``bits``: an integer that is a code."""
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


# Registers made of numbers (vector-path 6.1, 6.6).


rule = family(SOURCE, targets=ALL_TARGETS)


def _splat(value: Any, number: ScalarInfo, made: VregInfo) -> np.ndarray:
    """A number in every lane; one of integer type is the code of an 8-bit float."""
    given = dtype(number.type) if is_dtype(number.type) else made.dtype
    return splat(value, made.dtype, bits=given.is_integer and made.dtype.is_float)


def _number(o: Site, name: str, mask: str = "") -> Word:
    """A number in every lane; codes that are no numbers to NumPy are left to Python."""
    given, made = o.operands[name], o.dst.dtype
    same = isinstance(given, ScalarInfo) and (made.is_integer or given.type == made.name)
    if made.value is None or (made.bits == 8 and made.is_float) or not same:
        return Python(_duplicate if mask else _every)
    return Lane((Write("dst", Scalar(name, made)),), mask=mask, lanes=VREG_BYTES // made.size)


def _every(machine: Machine, value: Any, *, types: Mapping[str, Any], **_: Any) -> np.ndarray:
    return _splat(value, types["scalar"], types["dst"])


VBR = micro(
    "vbr",
    "every lane = scalar",
    (number("scalar"),),
    (out_vreg(),),
    None,
    FITS,
    meaning=lambda o: _number(o, "scalar"),
    types=NARROW,
    source="6.1",
)


def _duplicate(machine: Machine, src: Any, mask: Predicate, *, types: Mapping[str, Any], **_: Any) -> np.ndarray:
    return zeroed(_splat(src, types["src"], types["dst"]), mask)


def _duplicated(o: Site) -> Word:
    """A number, or one lane of a register."""
    if not isinstance(o.operands["src"], VregInfo):
        return _number(o, "src", "mask")
    unit = dtype(f"u{o.src.dtype.bits}")
    last = VREG_BYTES // unit.size - 1 if o.position == "HIGHEST" else 0
    value = Element("src", lane(0, last), unit)
    return Lane((Write("dst", value),), mask="mask", lanes=VREG_BYTES // unit.size)


VDUP = micro(
    "vdup",
    "every active lane = src: a number, or the lowest or highest lane of a register",
    (Operand("src", kind=Kind.SCALAR, also=(Kind.VREG,)), mask()),
    (out_vreg(),),
    None,
    SAME,
    MASKED,
    FITS,
    worded(PRD_01),
    meaning=_duplicated,
    attrs=(word("position", "LOWEST", ("LOWEST", "HIGHEST")),),
    types=NARROW,
    source="6.1",
)


@rule(
    "VEC-A5-19",
    """
        pto.vecscope {
        %r = pto.vci %n {order = "DESC"} : {i32|ui32} -> !pto.vreg<64x{i32|ui32}>
        }
    """,
    evidence="ptokit",
)
def VEC_19(o: Site) -> Message:
    """vci counts up (ASC) or down (DESC), in i8, i16, i32, f16 or f32.

    Decision: DESC counts down from the start: lane i is start - i.
    """
    if o.order not in ("ASC", "DESC"):
        return f"order '{o.order}' is neither ASC nor DESC"
    made = o.operands.get("dst")
    if isinstance(made, VregInfo) and made.dtype not in _COUNTED["a5"]:
        return f"vci does not count in {made.dtype}; it does in i8, i16, i32, f16 and f32"
    return None


_COUNTED = types("i8 i16 i32 f16 f32")


def _counted(o: Site) -> Lane:
    """start, start + 1, … or start, start - 1, …"""
    made = o.dst.dtype
    start, step = Scalar("start", made), Place(made)
    value = start - step if o.order == "DESC" else start + step
    return Lane((Write("dst", value),), lanes=VREG_BYTES // made.size)


VCI = micro(
    "vci",
    "dst[i] = start + i; start - i with order DESC",
    (number("start"),),
    (out_vreg(),),
    None,
    FITS,
    VEC_19,
    meaning=_counted,
    attrs=(word("order", "ASC", ("ASC", "DESC")),),
    source="6.6",
)
