"""Registers made of numbers (vector-path 6.1, 6.6)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ptokit.diagnostics import rule
from ptokit.types.dtypes import dtype, is_dtype

from ..machine import Machine
from ..operands import Message
from ..site import ScalarInfo, Site, VregInfo
from ..table import Kind, Operand
from . import convert_values, shuffle
from .compute_rules import FITS, MASKED, SAME, worded
from .lanes import Predicate, zeroed
from .predicates import PRD_01
from .rules import SOURCE
from .typesets import NARROW
from .words import mask, micro, number, out_vreg, types, word


def _splat(value: Any, number: ScalarInfo, made: VregInfo) -> np.ndarray:
    """A number in every lane; one of integer type is the code of an 8-bit float."""
    given = dtype(number.type) if is_dtype(number.type) else made.dtype
    return convert_values.splat(value, made.dtype, bits=given.is_integer and made.dtype.is_float)


VBR = micro(
    "vbr",
    "every lane = scalar",
    (number("scalar"),),
    (out_vreg(),),
    lambda m, value, *, types: _splat(value, types["scalar"], types["dst"]),
    FITS,
    types=NARROW,
    source="6.1",
)


def _duplicate(machine: Machine, src: Any, mask: Predicate, *, position: str, types: Mapping[str, Any]) -> np.ndarray:
    if isinstance(types["src"], VregInfo):
        return zeroed(shuffle.duplicate(src, position), mask)
    return zeroed(_splat(src, types["src"], types["dst"]), mask)


VDUP = micro(
    "vdup",
    "every active lane = src: a number, or the lowest or highest lane of a register",
    (Operand("src", kind=Kind.SCALAR, or_vreg=True), mask()),
    (out_vreg(),),
    _duplicate,
    SAME,
    MASKED,
    FITS,
    worded(PRD_01),
    attrs=(word("position", "LOWEST", ("LOWEST", "HIGHEST")),),
    types=NARROW,
    source="6.1",
)


@rule(
    "VEC-A5-19",
    source=SOURCE,
    accepted='vci {order = "DESC"} of i32',
    rejected="vci of ui32",
    decision="DESC counts down from the start: lane i is start - i.",
)
def VEC_19(o: Site) -> Message:
    """vci counts up (ASC) or down (DESC), in i8, i16, i32, f16 or f32."""
    if o.order not in ("ASC", "DESC"):
        return f"order '{o.order}' is neither ASC nor DESC"
    made = o.operands.get("dst")
    if isinstance(made, VregInfo) and made.dtype not in _COUNTED["a5"]:
        return f"vci does not count in {made.dtype.text}; it does in i8, i16, i32, f16 and f32"
    return None


_COUNTED = types("i8 i16 i32 f16 f32")


VCI = micro(
    "vci",
    "dst[i] = start + i; start - i with order DESC",
    (number("start"),),
    (out_vreg(),),
    lambda m, start, *, order, types: convert_values.ramp(start, types["dst"].dtype, order),
    FITS,
    VEC_19,
    attrs=(word("order", "ASC", ("ASC", "DESC")),),
    source="6.6",
)
