"""Reductions of a register (vector-path 6.7)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .. import arith
from ..table import Instr
from . import reduction
from .compute_rules import MASKED, SAME, follows
from .lanes import Predicate
from .typesets import I8_32_F, I16_32_F, F
from .words import Types, mask, micro, out_vreg, vreg

Reduction = Callable[[np.ndarray, Predicate], np.ndarray]

VCADD = micro(
    "vcadd",
    "dst[0] = sum of the active lanes, in twice the width for 8- and 16-bit integers",
    (vreg(), mask()),
    (out_vreg(),),
    lambda m, src, on, *, types: reduction.total(src, on, types["dst"].dtype),
    MASKED,
    follows("i8 i16  u8 u16  i16 i32  u16 u32"),
    types=I8_32_F,
    source="6.7",
)


def _reduction(text: str, fn: Reduction, summary: str, types: Types = I16_32_F) -> Instr:
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
    )


def _extreme(fold: reduction.Fold) -> Reduction:
    return lambda x, on: reduction.extreme(x, on, fold)


def _group_extremes(fold: reduction.Fold) -> Reduction:
    return lambda x, on: reduction.group_extremes(x, on, fold)


_PLACE = "index of its first occurrence as an integer"
VCMAX = _reduction("vcmax", _extreme(arith.maximum), f"dst[0] = maximum of the active lanes, dst[1] = {_PLACE}")
VCMIN = _reduction("vcmin", _extreme(arith.minimum), f"dst[0] = minimum of the active lanes, dst[1] = {_PLACE}")
VCGADD = _reduction("vcgadd", reduction.group_sums, "dst[g] = sum of group g of 32 bytes")
VCGMAX = _reduction("vcgmax", _group_extremes(arith.maximum), "dst[g] = maximum of group g of 32 bytes")
VCGMIN = _reduction("vcgmin", _group_extremes(arith.minimum), "dst[g] = minimum of group g of 32 bytes")
VCPADD = _reduction("vcpadd", reduction.pair_sums, "dst[i] = src[2i] + src[2i+1]", F)
