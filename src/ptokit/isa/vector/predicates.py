"""Predicates: made of patterns and counts, the operations on them, and their loads and stores (vector-path 5).

Images are bool arrays of shape (blocks or 1, 256), see `lanes`; elements have `width` bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ptokit.diagnostics import ALL_TARGETS, define, family
from ptokit.types.dtypes import DTYPES, i64, u16, u32

from ..checks.compiling import Message
from ..machine import Machine
from ..meaning.expressions import (
    Bit,
    Expr,
    Listed,
    Place,
    Scalar,
    Stored,
    apply,
    equal,
    fmod,
    greater_equal,
    lane,
    less,
    select,
)
from ..meaning.moves import interleaved, rest, split
from ..meaning.words import Advance, Lane, Write
from ..site import MaskInfo, PtrInfo, ScalarInfo, Site, known
from ..table import Instr, Role
from .access.load_store import UPDATED, updated
from .access.stream import StoreStream, append
from .compute.words import VEC_08, worded, words_listed
from .registers import VREG_BYTES
from .words import SOURCE, align, at, mask, micro, number, out_align, out_mask, out_number, out_ptr, token, ub

# Predicates: made of patterns and counts, and the operations on them (vector-path 5).


rule = family(SOURCE, targets=ALL_TARGETS)

WIDTHS = (1, 2, 4)
PARTS = ("LOWER", "HIGHER")


PRD_01 = rule(
    "PRD-A5-01",
    """
        pto.vecscope {
        %m = pto.pset_b32 "PAT_VL{8|9}" : !pto.mask<b32>
        }
    """,
    what="The pattern, part or comparison is a word that exists.",
    decision="PAT_H and PAT_Q are the low half and the low quarter of the lanes.",
    evidence="assembler ptokit",
)(words_listed)


@rule(
    "PRD-A5-02",
    """
        pto.vecscope {
        %r = pto.pand %a, %b, %m : !pto.mask<b32>, !pto.mask<{b32|b16}>, !pto.mask<b32> -> !pto.mask<b32>
        }
    """,
    decision="ppack and punpack may change the granularity. !pto.mask without a granularity fits everywhere.",
    evidence="assembler ptokit",
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
        f"lo, hi = the {bits}-bit lanes of src0 and src1, interleaved",
        pair,
        both,
        None,
        PRD_02,
        meaning=_pair(interleaved, width),
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


# Predicates in memory (vector-path 5).


def bytes_of(bits: np.ndarray) -> np.ndarray:
    """Bits (blocks or 1, n) as n/8 bytes, bit 0 the lowest of the first byte."""
    return np.packbits(bits, axis=1, bitorder="little")


def compact(a: np.ndarray, width: int) -> np.ndarray:
    """The bytes that pstu appends: one bit per lane of `width` bytes."""
    return bytes_of(a[:, ::width])


# Predicates in the unified buffer (vector-path 5).


rule = family(SOURCE, targets=ALL_TARGETS)

UNIT = 8
"""Bytes to which predicates in memory are aligned, and which immediate and register offsets count."""

PRD_03 = define(
    "PRD-A5-03",
    "A predicate in memory lies at a multiple of 8 bytes.",
    source=SOURCE,
    example="""
        # ptokit run
        p = castptr({8|4}, u32)
        with vecscope():
            m = plds(p, 0, "NORM")
    """,
    evidence="device",
)


@rule(
    "PRD-A5-04",
    """
        pto.vecscope {
        %c = arith.constant {1023|1024} : index
        %m = pto.pldi %p, %c, "NORM" : !pto.ptr<ui32, ub>, index -> !pto.mask<b32>
        }
    """,
    evidence="assembler ptokit",
)
def PRD_04(o: Site) -> Message:
    """The offset of pldi and psti is a constant, after a comma of at most 1023 units of 8 bytes.

    Decision: In brackets the offset counts 16 or 32 bytes, as the mode says, after a comma units of 8 bytes.
    """
    units = o.operands.get("units")
    given = units if isinstance(units, ScalarInfo) else o.operands.get("offset")
    if not isinstance(given, ScalarInfo):
        return None
    if not known(given.value):
        return f"the offset {given.name} is not a constant"
    limit = o.target.predicate_units
    if given is units and (given.value < 0 or (limit is not None and given.value > limit)):
        return f"the offset is {given.value} units of 8 bytes; {o.target.name} takes 0 to {limit}"
    return None


IMMEDIATE = {"NORM": 32, "US": 16, "DS": 32, "PK": 16}
"""Bytes that an immediate offset counts, by token (PTOAS e32488c9, micro-isa 4)."""

LOADED = {"NORM": 32, "US": 16, "DS": 64}
"""Bytes that a predicate load reads, by distribution mode."""

STORED = {"NORM": 32, "PK": 16}
"""Bytes that a predicate store writes, by distribution mode."""

_BYTE = DTYPES["u8"]


def _place(o: Site, pointer: str, unit: int) -> tuple[str, int, tuple[Advance, ...]]:
    """The operand that says where the predicate is, the bytes that it counts, and the pointer after it."""
    unit = unit or IMMEDIATE[o.dist]
    advances = (Advance(UPDATED, pointer, "offset", unit),) if UPDATED in o.operands else ()
    if o.has("units"):
        return "units", UNIT, advances
    return "" if advances or not o.has("offset") else "offset", unit, advances


def _load(o: Site, *, unit: int) -> Lane:
    """Bit j, or every bit twice (US), or every second bit (DS)."""
    offset, counted, advances = _place(o, "src", unit)
    step, over = {"NORM": (1, 1), "US": (1, 2), "DS": (2, 1)}[o.dist]
    at = lane(step, over=8 * over)
    byte = Stored("src", _BYTE, LOADED[o.dist], UNIT, at, offset, unit=counted, rule=PRD_03.id)
    bit = Listed(tuple(1 << (j * step // over) % 8 for j in range(VREG_BYTES)), _BYTE)
    return Lane((Write("dst", apply("ne", byte & bit, 0), packed=True),), lanes=VREG_BYTES, advances=advances)


def _store(o: Site, *, unit: int) -> Lane:
    """All bits, or every second one (PK)."""
    offset, counted, advances = _place(o, "dst", unit)
    lanes = 8 * STORED[o.dist]
    bit = Bit("value", lane(VREG_BYTES // lanes), 1)
    write = Write("dst", bit, packed=True, offset=offset, alignment=UNIT, unit=counted, rule=PRD_03.id)
    return Lane((write,), lanes=lanes, advances=advances)


_BYTES = (
    "NORM moves 32 bytes, US doubles bits, DS and PK drop every second one, as published programs have it. An offset "
    "in brackets counts bytes, of pldi and psti units of 16 or 32 bytes, as the newest text has it."
)
_OFFSETS = (at(listed=True), number("units", "i32", optional=True))


_PACKED = replace(VEC_08, check=lambda o: "cpu does not pack predicates" if o.dist == "PK" else None, targets=("cpu",))


def _loads(text: str, summary: str, unit: int, *rules: Any) -> Instr:
    return micro(
        text,
        summary,
        (ub(), *_OFFSETS),
        (out_mask(), updated("src")),
        None,
        worded(PRD_01),
        *rules,
        meaning=partial(_load, unit=unit),
        attrs=(token("dist", "NORM", words=LOADED),),
        source="5",
        decision=_BYTES,
    )


def _stores(text: str, summary: str, unit: int, *rules: Any) -> Instr:
    return micro(
        text,
        summary,
        (mask("value", optional=False), ub("dst", Role.OUT), *_OFFSETS),
        (updated("dst"),),
        None,
        worded(PRD_01),
        _PACKED,
        *rules,
        meaning=partial(_store, unit=unit),
        attrs=(token("dist", "NORM", words=STORED),),
        source="5",
        decision=_BYTES,
    )


PLDS = _loads("plds", "dst = a predicate in memory, at an offset in bytes.", 1)
PLDI = _loads("pldi", "dst = a predicate in memory, at a constant offset in units of 16 or 32 bytes.", 0, PRD_04)
PLD = _loads("pld", "dst = a predicate in memory, at an offset in bytes, or in units of 8 bytes.", 1)
PSTS = _stores("psts", "Store a predicate, at an offset in bytes.", 1)
PSTI = _stores("psti", "Store a predicate, at a constant offset in units of 16 or 32 bytes.", 0, PRD_04)
PST = _stores("pst", "Store a predicate, at an offset in bytes, or in units of 8 bytes.", 1)


@rule(
    "PRD-A5-05",
    "pto.vecscope {\n"
    "%b, %e = pto.pstu %a, %m, %h : !pto.align, !pto.mask<{b16|b32}>, !pto.ptr<ui16, ub> -> "
    "!pto.align, !pto.ptr<ui16, ub>\n"
    "}",
    evidence="ptokit",
)
def PRD_05(o: Site) -> Message:
    """pstu stores a b16 predicate through a pointer to ui16, a b32 predicate through one to ui32."""
    value, pointer = o.operands.get("value"), o.operands.get("base")
    if not isinstance(value, MaskInfo) or not isinstance(pointer, PtrInfo):
        return None
    bits = {"u16": 16, "u32": 32}.get(pointer.dtype.name)
    if bits is None or value.bits not in (0, bits):
        return f"{value.name} is a mask of b{value.bits}, {pointer.name} points to {pointer.dtype}"
    return None


def _append(
    machine: Machine, state: Any, value: np.ndarray, base: Any, *, types: Mapping[str, Any]
) -> tuple[StoreStream, Any]:
    size = types["base"].dtype.size
    data = compact(value, size)
    count = data.shape[1]
    return append(machine, state, base, 0, data[:, :, None], count), base.advance(count // size)


_POINTED = frozenset((DTYPES["u16"], DTYPES["u32"]))

PSTU = micro(
    "pstu",
    "Append a predicate to a stream at a pointer, one bit for each lane; the pointer after it.",
    (align(), mask("value", optional=False), ub("base", Role.OUT)),
    (out_align(), out_ptr("end", like="base")),
    _append,
    PRD_05,
    VEC_08,
    types={"cpu": frozenset(), "a2a3": _POINTED, "a5": _POINTED},
    source="5",
)
