"""Registers made of numbers (vector-path 6.1, 6.6)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ptokit.diagnostics import ALL_TARGETS, family
from ptokit.types.dtypes import dtype, is_dtype

from ...checks.operands import Message
from ...machine import Machine
from ...meaning.expressions import Element, Place, Scalar, lane
from ...meaning.words import Lane, Python, Word, Write
from ...site import ScalarInfo, Site, VregInfo
from ...table import Kind, Operand
from ..lanes import VREG_BYTES, Predicate, zeroed
from ..predicates import PRD_01
from ..rules import SOURCE
from ..words import mask, micro, number, out_vreg, types, word
from . import convert_values
from .compute_rules import FITS, MASKED, SAME, worded
from .typesets import NARROW

rule = family(SOURCE, targets=ALL_TARGETS)


def _splat(value: Any, number: ScalarInfo, made: VregInfo) -> np.ndarray:
    """A number in every lane; one of integer type is the code of an 8-bit float."""
    given = dtype(number.type) if is_dtype(number.type) else made.dtype
    return convert_values.splat(value, made.dtype, bits=given.is_integer and made.dtype.is_float)


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


@rule("VEC-A5-19", 'vci {order = "DESC"} of i32', "vci of ui32")
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
