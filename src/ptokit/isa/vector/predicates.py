"""Predicates: made of patterns and counts, and the operations on them (vector-path 5)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ptokit.diagnostics import ALL_TARGETS, family
from ptokit.types.dtypes import i64, u16, u32

from ..meaning.counted import rest
from ..meaning.expressions import (
    Bit,
    Expr,
    Place,
    Scalar,
    equal,
    fmod,
    greater_equal,
    lane,
    less,
    select,
)
from ..meaning.turns import by_turns, split
from ..meaning.words import Lane, Write
from ..site import MaskInfo, Site
from ..table import Instr
from .compute.compute_rules import words_listed
from .lanes import VREG_BYTES
from .rules import SOURCE
from .words import mask, micro, number, out_mask, out_number, token

rule = family(SOURCE, targets=ALL_TARGETS)

WIDTHS = (1, 2, 4)
PARTS = ("LOWER", "HIGHER")


PRD_01 = rule(
    "PRD-A5-01",
    'pto.pset_b32 "PAT_VL8"',
    'pto.pset_b32 "PAT_VL9"',
    what="The pattern, part or comparison is a word that exists.",
    decision="PAT_H and PAT_Q are the low half and the low quarter of the lanes.",
)(words_listed)


@rule(
    "PRD-A5-02",
    "pand of three !pto.mask<b32>",
    "pand of a !pto.mask<b16> and a !pto.mask<b32>",
    decision="ppack and punpack may change the granularity. !pto.mask without a granularity fits everywhere.",
)
def PRD_02(o: Site) -> tuple[str, str] | None:
    """The predicates of one operation have one granularity."""
    # Of those that state one; the instruction's where it has one.
    stated = {operand.name: operand.bits for operand in (*o.instr.operands, *o.instr.produces)}
    first: MaskInfo | None = None
    for name, info in o.operands.items():
        if not isinstance(info, MaskInfo) or not info.bits:
            continue
        bits = stated[name] or (first.bits if first else info.bits)
        if info.bits != bits:
            return f"{info.name} is a mask of b{info.bits} where b{bits} is needed", "reinterpret it with pto.pbitcast"
        first = first or info
    return None


def _lanes(width: int, *writes: Write, **more: Any) -> Lane:
    """Predicates and numbers made from the lanes of `width` bytes."""
    return Lane(writes, lanes=VREG_BYTES // width, **more)


def _bits(value: Expr, dst: str = "dst") -> Write:
    return Write(dst, value, packed=True)


_J = Place(u16)
PATTERNS: dict[str, Callable[[int], Expr]] = {
    "PAT_ALL": lambda n: greater_equal(_J, 0),
    "PAT_ALLF": lambda n: less(_J, 0),
    **{f"PAT_VL{k}": lambda n, k=k: less(_J, k) for k in (1, 2, 3, 4, 8, 16, 32, 64, 128)},  # type: ignore[misc]
    "PAT_H": lambda n: less(_J, n // 2),
    "PAT_Q": lambda n: less(_J, n // 4),
    "PAT_M3": lambda n: equal(fmod(_J, 3), 0),
    "PAT_M4": lambda n: equal(fmod(_J, 4), 0),
}
"""Which of `n` lanes are active, by the word of pset and pge."""

_PATTERNS_DO = {
    "PAT_ALL": "all lanes",
    "PAT_ALLF": "no lane",
    **{word: f"the first {word.removeprefix('PAT_VL')} lanes" for word in PATTERNS if word.startswith("PAT_VL")},
    "PAT_H": "the lower half",
    "PAT_Q": "the lowest quarter",
    "PAT_M3": "every third lane, from the first",
    "PAT_M4": "every fourth lane, from the first",
}


def _pair(fn: Callable[..., tuple[Expr, Expr]], width: int) -> Lane:
    """The lanes of two predicates in another order."""
    lo, hi = fn(VREG_BYTES // width, Bit, "src0", "src1")
    return _lanes(width, _bits(lo, "lo"), _bits(hi, "hi"))


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
            None,
            PRD_01,
            PRD_02,
            meaning=lambda o: _lanes(width, _bits(PATTERNS[o.pattern](VREG_BYTES // width))),
            attrs=(token("pattern", does=_PATTERNS_DO),),
            source="5",
        )
    count, n = Scalar("count", u32), VREG_BYTES // width
    micro(
        f"plt_b{bits}",
        f"A predicate whose first lanes of {bits} bits are active, as many as the count says, and what is left of it.",
        (number("count", "i32"),),
        (out_mask(bits=bits), out_number("rest", "i32")),
        None,
        PRD_02,
        meaning=_lanes(
            width,
            _bits(less(Place(u32), count)),
            Write("rest", rest(count, n)),
        ),
        source="5",
        decision="Lanes below the count, which is unsigned, are active; an overview page has it the other way round.",
    )
    micro(
        f"pltm_b{bits}",
        f"A predicate of {bits}-bit lanes that are below a bound, after so many whole registers.",
        (number("loop", "i16"), number("bound", "i32")),
        (out_mask(bits=bits),),
        None,
        PRD_02,
        meaning=_lanes(width, _bits(less(Place(i64), Scalar("bound", i64) - Scalar("loop", i64) * n))),
        source="PTOAS e32488c9, micro-isa 5",
    )
    micro(
        f"pintlv_b{bits}",
        f"lo, hi = the {bits}-bit lanes of src0 and src1 by turns",
        pair,
        both,
        None,
        PRD_02,
        meaning=_pair(by_turns, width),
        source="5",
    )
    micro(
        f"pdintlv_b{bits}",
        f"lo, hi = the even and the odd {bits}-bit lanes of src0 followed by src1",
        pair,
        both,
        None,
        PRD_02,
        meaning=_pair(split, width),
        source="5",
    )


for _width in WIDTHS:
    _sized(_width)


def _algebra(text: str, value: Expr, summary: str, *names: str, gated: bool = False) -> Instr:
    """An operation on whole images; ``gated``: the last operand may be missing."""
    operands = tuple(mask(name, optional=gated and name == names[-1]) for name in names)
    return micro(
        text,
        summary,
        operands,
        (out_mask(like=names[0]),),
        None,
        PRD_02,
        meaning=_lanes(1, _bits(value & _GATE)),
        source="5",
    )


_A, _B, _SRC, _GATE = (Bit(name) for name in ("src0", "src1", "src", "gate"))
PAND = _algebra("pand", _A & _B, "dst = src0 & src1 where gate is on", "src0", "src1", "gate")
POR = _algebra("por", _A | _B, "dst = src0 | src1 where gate is on", "src0", "src1", "gate")
PXOR = _algebra("pxor", _A ^ _B, "dst = src0 ^ src1 where gate is on", "src0", "src1", "gate")
PNOT = _algebra("pnot", ~_SRC, "dst = ~src where gate is on", "src", "gate")
PSEL = _algebra(
    "psel",
    select(Bit("select"), _A, _B),
    "dst = select ? src0 : src1, where a gate is on",
    "src0",
    "src1",
    "select",
    "gate",
    gated=True,
)
_HALF = VREG_BYTES // 2


def _packed(o: Site) -> Lane:
    """Every second bit, in one half."""
    here = greater_equal(_J, _HALF) if o.part == "HIGHER" else less(_J, _HALF)
    return _lanes(1, _bits(Bit("src", lane(2, cycle=VREG_BYTES)) & here))


def _unpacked(o: Site) -> Lane:
    """The bits of one half, a 0 after each."""
    first = VREG_BYTES if o.part == "HIGHER" else 0
    return _lanes(1, _bits(Bit("src", lane(over=2, plus=first)) & equal(_J & 1, 0)))


def _half(text: str, meaning: Callable[[Site], Lane], summary: str) -> Instr:
    return micro(
        text,
        summary,
        (mask("src", optional=False),),
        (out_mask(like="src"),),
        None,
        PRD_01,
        meaning=meaning,
        attrs=(token("part", words=PARTS),),
        source="5",
        decision="Bits are dropped or inserted, as published results have it; the manual concatenates with zeros.",
    )


PPACK = _half("ppack", _packed, "dst = every second bit of src, in one half; 0 in the other")
PUNPACK = _half("punpack", _unpacked, "dst = the bits of one half of src, each followed by a 0")
PBITCAST = micro(
    "pbitcast",
    "dst = the bits of src with another granularity",
    (mask("src", optional=False),),
    (out_mask(),),
    None,
    meaning=_lanes(1, _bits(_SRC)),
    source="5",
)
