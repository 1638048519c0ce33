"""Reductions of a register (vector-path 6.7).

Lanes that are not active contribute nothing. Sums of floats are rounded at every step.
"""

from __future__ import annotations

import numpy as np

from ptokit.types.dtypes import dtype

from ...meaning.expressions import (
    Bit,
    Const,
    Convert,
    Element,
    Expr,
    First,
    Folded,
    Front,
    Reinterpret,
    Taken,
    equal,
    lane,
    select,
    unequal,
)
from ...meaning.words import Lane, Meaning, Python, Word, Write
from ...site import Site
from ...table import Instr
from ..lanes import VREG_BYTES, Predicate, active
from ..predicates import PRD_01
from ..words import mask, micro, out_mask, out_vreg, types, vreg, word
from .compute import SRC
from .compute_rules import MASKED, SAME, follows, worded
from .typesets import I8_32_F, I16_32_F, F

GROUPS = 8
"""32-byte groups of a register."""

_ORDER = (
    "Floats: neighbours are added, then neighbours of the sums, until one is left, each sum rounded to the type; an "
    "inactive lane is +0. The vendor's documentation has this order for the sums of a repeat and of its blocks. Open: "
    "f16 sums beyond 65504, which are 65504 there and infinite here; the sign of a sum of -0 and inactive lanes."
)
_LANE = "The result of group g lies in lane g, as published results have it; the manual puts it at each group's start."
_ON = Bit("mask")


def _total(o: Site) -> Lane:
    own, to = o.src.dtype, o.dst.dtype
    value = SRC if own is to else Convert(SRC, to)
    lanes = VREG_BYTES // own.size
    total = Folded("add", value, Bit("mask", width=own.size), lanes=lanes)
    return Lane((Write("dst", Front((total,))),), lanes=VREG_BYTES // to.size)


VCADD = micro(
    "vcadd",
    "dst[0] = sum of the active lanes, in twice the width for 8- and 16-bit integers",
    (vreg(), mask()),
    (out_vreg(),),
    None,
    MASKED,
    follows("i8 i16  u8 u16  i16 i32  u16 u32"),
    meaning=_total,
    types=I8_32_F,
    source="6.7",
    decision=_ORDER,
)


def _reduction(text: str, meaning: Meaning, summary: str, decision: str) -> Instr:
    return micro(
        text,
        summary,
        (vreg(), mask()),
        (out_vreg(like="src"),),
        None,
        SAME,
        MASKED,
        meaning=meaning,
        types=I16_32_F,
        source="6.7",
        decision=decision,
    )


def _groups(op: str) -> Lane:
    """The fold of group g in lane g (C-12)."""
    return Lane((Write("dst", Front((Folded(op, SRC, _ON, GROUPS),), GROUPS)),), over="src")


def _held(o: Site, op: str) -> tuple[Expr, Expr]:
    """The extreme, and the active lanes that hold it: NaN if there is one; +0 and -0 are equal."""
    best = Folded(op, SRC, _ON)
    held = equal(SRC, best)
    if o.src.dtype.is_float:
        held = held | unequal(SRC, SRC) & unequal(best, best)
    return best, held & _ON


def _first(o: Site, op: str) -> tuple[Expr, Expr, Expr]:
    """The first lane that holds the extreme, its number, and the lanes that hold it.

    Of no active lanes the limit of the type, and 0.
    """
    best, held = _held(o, op)
    number = First(held, dtype(f"u{o.src.dtype.bits}"))
    return Taken(select(_ON, SRC, best), number), number, held


def _extreme(op: str) -> Meaning:
    """Lane 0 the extreme, lane 1 the index of its first occurrence as an integer's bits (C-13)."""

    def meaning(o: Site) -> Lane:
        value, index, _ = _first(o, op)
        return Lane((Write("dst", Front((value, Reinterpret(index, o.src.dtype)))),), over="src")

    return meaning


_PLACE = "index of its first occurrence as an integer"
_FIRST = (
    "The value is in lane 0 and the bits of the index in lane 1. NaN is the extremum if there is one; without active "
    "lanes the value is the lowest or highest of the type and the index 0."
)
VCMAX = _reduction("vcmax", _extreme("max"), f"dst[0] = maximum of the active lanes, dst[1] = {_PLACE}", _FIRST)
VCMIN = _reduction("vcmin", _extreme("min"), f"dst[0] = minimum of the active lanes, dst[1] = {_PLACE}", _FIRST)
VCGADD = _reduction("vcgadd", _groups("add"), "dst[g] = sum of group g of 32 bytes", f"{_LANE} {_ORDER}")
VCGMAX = _reduction("vcgmax", _groups("max"), "dst[g] = maximum of group g of 32 bytes", _LANE)
VCGMIN = _reduction("vcgmin", _groups("min"), "dst[g] = minimum of group g of 32 bytes", _LANE)


def _matching(op: str) -> Meaning:
    def meaning(o: Site) -> Lane:
        value, _, held = _first(o, op)
        return Lane((Write("value", Front((value,))), Write("found", held, packed=True)), over="src")

    return meaning


def _extremum(text: str, op: str, what: str) -> Instr:
    return micro(
        text,
        f"The {what} of the active lanes in lane 0, and a predicate of the lanes that hold it.",
        (vreg(), mask()),
        (out_vreg("value", like="src"), out_mask("found")),
        None,
        SAME,
        MASKED,
        meaning=_matching(op),
        types=types("i8 u8 i16 u16 i32 u32 f16 f32"),
        source="PTOAS e32488c9, micro-isa 10",
        decision="NaN wins, as in vcmax and vcmin, and lanes with NaN are found then.",
    )


VCBMAX = _extremum("vcbmax", "max", "maximum")
VCBMIN = _extremum("vcbmin", "min", "minimum")


def _prefix_sums(x: np.ndarray, mask: Predicate) -> np.ndarray:
    """Lane i holds the sum of lane i - 1 and the active lane i, rounded (C-11)."""
    on = active(mask, x.dtype.itemsize)
    x = x if on is None else np.where(on, x, x.dtype.type(0))
    return np.add.accumulate(x, axis=1)


def _pairs(o: Site) -> Word:
    """src[2i] + src[2i+1] in lane i (C-11), or the sums of the lanes before."""
    if o.mode == "PREFIX":
        return Python(lambda m, src, on, **_: _prefix_sums(src, on))
    lanes = VREG_BYTES // o.src.dtype.size
    places, size = (lane(2, first) for first in (0, 1)), o.src.dtype.size
    one, other = (select(Bit("mask", at, size), Element("src", at), Const(0, SRC)) for at in places)
    return Lane((Write("dst", one + other),), lanes=lanes // 2)


VCPADD = micro(
    "vcpadd",
    "dst[i] = src[2i] + src[2i+1]; the sums of the lanes 0..i with mode PREFIX",
    (vreg(), mask()),
    (out_vreg(like="src"),),
    None,
    SAME,
    MASKED,
    worded(PRD_01),
    meaning=_pairs,
    attrs=(word("mode", "PAIR", ("PAIR", "PREFIX")),),
    types=F,
    source="6.7",
    decision="Pairs are added, as published results and library code have it. The texts describe a prefix sum: "
    'mode = "PREFIX" gives that.',
)
