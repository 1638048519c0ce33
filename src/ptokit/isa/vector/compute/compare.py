"""Comparison and selection (vector-path 6.5)."""

from __future__ import annotations

from collections.abc import Callable

from ...meaning.expressions import (
    Bit,
    Element,
    Expr,
    Taken,
    equal,
    greater,
    greater_equal,
    less,
    less_equal,
    select,
    unequal,
)
from ...meaning.words import Lane, Write, lane
from ...site import Site
from ..predicates import PRD_01
from ..words import ANY, mask, micro, number, out_mask, out_vreg, token, vreg
from .compute import SCALAR, SRC, SRC0, SRC1, UNPUBLISHED
from .compute_rules import FITS, MASKED, SAME, VEC_08, VEC_17, worded
from .typesets import I8_64_FB

COMPARISONS: dict[str, Callable[..., Expr]] = {
    "eq": equal,
    "ne": unequal,
    "lt": less,
    "le": less_equal,
    "gt": greater,
    "ge": greater_equal,
}
"""Comparisons by their word; with NaN all are false but ``ne``."""

_CMP = token("cmp", words=COMPARISONS, key="cmp_mode")


def _comparison(a: Element, b: Expr) -> Callable[[Site], Lane]:
    """The bits of the lanes where the comparison holds and the seed mask lets it through."""
    return lambda o: Lane((Write("dst", COMPARISONS[o.cmp](a, b), packed=True),), over=a.name, mask="seed")


VCMP = micro(
    "vcmp",
    "dst = src0 cmp src1 in the lanes of the seed mask; with NaN only ne holds",
    (vreg("src0"), vreg("src1"), mask("seed")),
    (out_mask(like="seed"),),
    None,
    SAME,
    MASKED,
    worded(PRD_01),
    meaning=_comparison(SRC0, SRC1),
    attrs=(_CMP,),
    types=I8_64_FB,
    source="6.5",
)
VCMPS = micro(
    "vcmps",
    "dst = src cmp scalar in the lanes of the seed mask; with NaN only ne holds",
    (vreg(), number("scalar"), mask("seed")),
    (out_mask(like="seed"),),
    None,
    FITS,
    MASKED,
    worded(PRD_01),
    meaning=_comparison(SRC, SCALAR),
    attrs=(_CMP,),
    types=I8_64_FB,
    source="6.5",
)
VSEL = micro(
    "vsel",
    "dst = src0 in the active lanes, src1 in the others",
    (vreg("src0"), vreg("src1"), mask()),
    (out_vreg(like="src0"),),
    None,
    SAME,
    MASKED,
    meaning=lane(select(Bit("mask"), SRC0, SRC1), over="src0"),
    types=ANY,
    source="6.5",
)


def permutation(text: str, source: str, decision: str = "") -> None:
    """An operation that picks every lane by an index."""
    micro(
        text,
        "dst[i] = src[index[i] mod N]",
        (vreg(), vreg("index")),
        (out_vreg(like="src"),),
        None,
        VEC_17,
        meaning=lane(Taken(SRC, Element("index")), over="src"),
        types=ANY,
        source=source,
        decision=decision,
    )


permutation("vselr", "6.5", "Lanes are chosen by an index register; the manual describes a selection by a mask.")
VSELRV2 = micro(
    "vselrv2",
    "Select in reversed order, by a predicate that the public sources do not name.",
    (vreg("src0"), vreg("src1")),
    (out_vreg(like="src0"),),
    None,
    VEC_08,
    meaning=UNPUBLISHED,
    types={},
    source="6.5",
)
