"""Predicates: made of patterns and counts, and the operations on them (vector-path 5)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ptokit.diagnostics import rule

from ..site import MaskInfo, Site
from ..table import Instr
from . import predicate_values as values
from .compute_rules import words_listed
from .lanes import PREFIX, VREG_BYTES
from .rules import SOURCE
from .words import mask, micro, number, out_mask, out_number, token

WIDTHS = (1, 2, 4)
PARTS = ("LOWER", "HIGHER")


PRD_01 = rule(
    "PRD-A5-01",
    what="The pattern, part or comparison is a word that exists.",
    source=SOURCE,
    accepted='pto.pset_b32 "PAT_VL8"',
    rejected='pto.pset_b32 "PAT_VL9"',
    decision="PAT_H and PAT_Q are the low half and the low quarter of the lanes.",
)(words_listed)


@rule(
    "PRD-A5-02",
    source=SOURCE,
    accepted="pand of three !pto.mask<b32>",
    rejected="pand of a !pto.mask<b16> and a !pto.mask<b32>",
    decision="ppack and punpack may change the granularity. !pto.mask without a granularity fits everywhere.",
)
def PRD_02(o: Site) -> tuple[str, str] | None:
    """The predicates of one operation have one granularity.

    Predicates with a stated granularity have one, the instruction's where it has one.
    """
    stated = {operand.name: operand.bits for operand in (*o.instr.operands, *o.instr.produces)}
    first: MaskInfo | None = None
    for name, info in o.operands.items():
        if not isinstance(info, MaskInfo) or not info.bits:
            continue
        bits = stated[name] or (first.bits if first else info.bits)
        if info.bits != bits:
            return f"%{info.name} is a mask of b{info.bits} where b{bits} is needed", "reinterpret it with pto.pbitcast"
        first = first or info
    return None


def _pset(machine: Any, *, width: int, pattern: str, **_: Any) -> np.ndarray:
    return values.pattern(pattern, width)


def _plt(machine: Any, count: Any, *, width: int, **_: Any) -> tuple[np.ndarray, Any]:
    return values.less_than(count, width)


def _pltm(machine: Any, loop: Any, bound: Any, *, width: int, **_: Any) -> np.ndarray:
    lanes = VREG_BYTES // width
    left = np.atleast_1d(np.asarray(bound)).astype(np.int64) - np.atleast_1d(np.asarray(loop)).astype(np.int64) * lanes
    return PREFIX[width][np.clip(left.reshape(-1), 0, lanes)]


def _pair(machine: Any, a: np.ndarray, b: np.ndarray, *, fn: Any, width: int, **_: Any) -> Any:
    return fn(a, b, width)


def _sized(width: int) -> None:
    """The operations that come once for each granularity."""
    bits = 8 * width
    pair = (mask("src0", optional=False, bits=bits), mask("src1", optional=False, bits=bits))
    both = (out_mask("lo", bits=bits), out_mask("hi", bits=bits))
    for text in ("pset", "pge"):
        micro(
            f"{text}_b{bits}",
            f"A predicate of {bits}-bit lanes after a pattern.",
            (),
            (out_mask(bits=bits),),
            partial(_pset, width=width),
            PRD_01,
            PRD_02,
            attrs=(token("pattern", words=values.PATTERNS),),
            source="5",
        )
    micro(
        f"plt_b{bits}",
        f"A predicate whose first lanes of {bits} bits are active, as many as the count says, and what is left of it.",
        (number("count", "i32"),),
        (out_mask(bits=bits), out_number("rest", "i32")),
        partial(_plt, width=width),
        PRD_02,
        counts=VREG_BYTES // width,
        source="5",
        decision="Lanes below the count, which is unsigned, are active; an overview page has it the other way round.",
    )
    micro(
        f"pltm_b{bits}",
        f"A predicate of {bits}-bit lanes that are below a bound, after so many whole registers.",
        (number("loop", "i16"), number("bound", "i32")),
        (out_mask(bits=bits),),
        partial(_pltm, width=width),
        PRD_02,
        source="PTOAS e32488c9, micro-isa 5",
    )
    micro(
        f"pintlv_b{bits}",
        f"lo, hi = the {bits}-bit lanes of src0 and src1 by turns",
        pair,
        both,
        partial(_pair, fn=values.interleave, width=width),
        PRD_02,
        source="5",
    )
    micro(
        f"pdintlv_b{bits}",
        f"lo, hi = the even and the odd {bits}-bit lanes of src0 followed by src1",
        pair,
        both,
        partial(_pair, fn=values.deinterleave, width=width),
        PRD_02,
        source="5",
    )


for _width in WIDTHS:
    _sized(_width)


def _algebra(text: str, fn: Callable[..., np.ndarray], summary: str, *names: str, gated: bool = False) -> Instr:
    """An operation on whole images; ``gated``: the last operand may be missing."""
    operands = tuple(mask(name, optional=gated and name == names[-1]) for name in names)
    return micro(
        text,
        summary,
        operands,
        (out_mask(like=names[0]),),
        lambda m, *images, **_: fn(*images),
        PRD_02,
        source="5",
    )


PAND = _algebra("pand", values.both, "dst = src0 & src1 where gate is on", "src0", "src1", "gate")
POR = _algebra("por", values.either, "dst = src0 | src1 where gate is on", "src0", "src1", "gate")
PXOR = _algebra("pxor", values.differ, "dst = src0 ^ src1 where gate is on", "src0", "src1", "gate")
PNOT = _algebra("pnot", values.invert, "dst = ~src where gate is on", "src", "gate")
PSEL = _algebra(
    "psel",
    values.select,
    "dst = select ? src0 : src1, where a gate is on",
    "src0",
    "src1",
    "select",
    "gate",
    gated=True,
)


def _half(text: str, fn: Callable[[np.ndarray, str], np.ndarray], summary: str) -> Instr:
    return micro(
        text,
        summary,
        (mask("src", optional=False),),
        (out_mask(like="src"),),
        lambda m, src, *, part, **_: fn(src, part),
        PRD_01,
        attrs=(token("part", words=PARTS),),
        source="5",
        decision="Bits are dropped or inserted, as published results have it; the manual concatenates with zeros.",
    )


PPACK = _half("ppack", values.pack, "dst = every second bit of src, in one half; 0 in the other")
PUNPACK = _half("punpack", values.unpack, "dst = the bits of one half of src, each followed by a 0")
PBITCAST = micro(
    "pbitcast",
    "dst = the bits of src with another granularity",
    (mask("src", optional=False),),
    (out_mask(),),
    lambda m, src, **_: src,
    source="5",
)
