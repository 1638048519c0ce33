"""Comparison and selection (vector-path 6.5)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..machine import Machine
from ..numerics.scalars import element
from . import shuffle
from .compute import dtype_of, unpublished
from .compute_rules import FITS, MASKED, SAME, VEC_08, VEC_17, worded
from .lanes import Predicate, active, image
from .predicates import PRD_01
from .typesets import I8_64_FB
from .values import COMPARISONS
from .words import ANY, mask, micro, number, out_mask, out_vreg, token, vreg

_CMP = token("cmp", words=COMPARISONS)


def _compare(machine: Machine, a: np.ndarray, b: Any, seed: Predicate, *, cmp: str, **_: Any) -> np.ndarray:
    width = a.dtype.itemsize
    found, on = COMPARISONS[cmp](a, b), active(seed, width)
    return image(found if on is None else found & on, width)


def _compare_number(machine: Machine, src: np.ndarray, scalar: Any, seed: Predicate, **attrs: Any) -> np.ndarray:
    return _compare(machine, src, element(dtype_of(src), scalar), seed, **attrs)


VCMP = micro(
    "vcmp",
    "dst = src0 cmp src1 in the lanes of the seed mask; with NaN only ne holds",
    (vreg("src0"), vreg("src1"), mask("seed")),
    (out_mask(like="seed"),),
    _compare,
    SAME,
    MASKED,
    worded(PRD_01),
    attrs=(_CMP,),
    types=I8_64_FB,
    source="6.5",
)
VCMPS = micro(
    "vcmps",
    "dst = src cmp scalar in the lanes of the seed mask; with NaN only ne holds",
    (vreg(), number("scalar"), mask("seed")),
    (out_mask(like="seed"),),
    _compare_number,
    FITS,
    MASKED,
    worded(PRD_01),
    attrs=(_CMP,),
    types=I8_64_FB,
    source="6.5",
)
VSEL = micro(
    "vsel",
    "dst = src0 in the active lanes, src1 in the others",
    (vreg("src0"), vreg("src1"), mask()),
    (out_vreg(like="src0"),),
    lambda m, a, b, on, **_: shuffle.choose(a, b, on),
    SAME,
    MASKED,
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
        lambda m, src, index, **_: shuffle.permute(src, index),
        VEC_17,
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
    unpublished,
    VEC_08,
    types={},
    source="6.5",
)
