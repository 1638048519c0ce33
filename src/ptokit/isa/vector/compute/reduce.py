"""Reductions of a register (vector-path 6.7)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...numerics import arith
from ...table import Instr
from ..lanes import Predicate
from ..predicates import PRD_01
from ..words import Types, mask, micro, out_vreg, vreg, word
from . import reduce_values
from .compute_rules import MASKED, SAME, follows, worded
from .typesets import I8_32_F, I16_32_F, F

Reduction = Callable[[np.ndarray, Predicate], np.ndarray]

_ORDER = "Float sums are exact to binary64 and rounded once; the order of the additions on a device is not published."
_LANE = "The result of group g lies in lane g, as published results have it; the manual puts it at each group's start."

VCADD = micro(
    "vcadd",
    "dst[0] = sum of the active lanes, in twice the width for 8- and 16-bit integers",
    (vreg(), mask()),
    (out_vreg(),),
    lambda m, src, on, *, types: reduce_values.total(src, on, types["dst"].dtype),
    MASKED,
    follows("i8 i16  u8 u16  i16 i32  u16 u32"),
    types=I8_32_F,
    source="6.7",
    decision=_ORDER,
)


def _reduction(text: str, fn: Reduction, summary: str, decision: str, types: Types = I16_32_F) -> Instr:
    return micro(
        text,
        summary,
        (vreg(), mask()),
        (out_vreg(like="src"),),
        lambda m, src, on, **_: fn(src, on),
        SAME,
        MASKED,
        types=types,
        source="6.7",
        decision=decision,
    )


def _extreme(fold: reduce_values.Fold) -> Reduction:
    return lambda x, on: reduce_values.extreme(x, on, fold)


def _group_extremes(fold: reduce_values.Fold) -> Reduction:
    return lambda x, on: reduce_values.group_extremes(x, on, fold)


_PLACE = "index of its first occurrence as an integer"
_FIRST = (
    "The value is in lane 0 and the bits of the index in lane 1. NaN is the extremum if there is one; without active "
    "lanes the value is the lowest or highest of the type and the index 0."
)
VCMAX = _reduction("vcmax", _extreme(arith.maximum), f"dst[0] = maximum of the active lanes, dst[1] = {_PLACE}", _FIRST)
VCMIN = _reduction("vcmin", _extreme(arith.minimum), f"dst[0] = minimum of the active lanes, dst[1] = {_PLACE}", _FIRST)
VCGADD = _reduction("vcgadd", reduce_values.group_sums, "dst[g] = sum of group g of 32 bytes", f"{_LANE} {_ORDER}")
VCGMAX = _reduction("vcgmax", _group_extremes(arith.maximum), "dst[g] = maximum of group g of 32 bytes", _LANE)
VCGMIN = _reduction("vcgmin", _group_extremes(arith.minimum), "dst[g] = minimum of group g of 32 bytes", _LANE)
VCPADD = micro(
    "vcpadd",
    "dst[i] = src[2i] + src[2i+1]; the sums of the lanes 0..i with mode PREFIX",
    (vreg(), mask()),
    (out_vreg(like="src"),),
    lambda m, src, on, *, mode, **_: (reduce_values.prefix_sums if mode == "PREFIX" else reduce_values.pair_sums)(
        src, on
    ),
    SAME,
    MASKED,
    worded(PRD_01),
    attrs=(word("mode", "PAIR", ("PAIR", "PREFIX")),),
    types=F,
    source="6.7",
    decision="Pairs are added, as published results and library code have it. The texts describe a prefix sum: "
    'mode = "PREFIX" gives that.',
)
