"""Rearrangement of lanes, packing and unpacking, extrema with their lanes, histograms (vector-path 6.8)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ptokit.types.dtypes import DTYPES, DType, dtype, i64, u8, u16

from ...checks.compiling import Message
from ...machine import Machine
from ...meaning.expressions import (
    Before,
    Bit,
    Const,
    Convert,
    Counted,
    Element,
    Expr,
    Folded,
    Place,
    Scalar,
    Taken,
    greater_equal,
    lane,
    less,
    select,
)
from ...meaning.moves import interleaved, split
from ...meaning.words import Keep, Lane, Meaning, Python, Word, Write
from ...meaning.words import lane as each_lane
from ...site import ScalarInfo, Site, VregInfo, known
from ...table import Instr
from ..predicates import PRD_01
from ..registers import VREG_BYTES
from ..words import ANY, MOVED, VEC_06, mask, micro, number, out_vreg, token, types, vreg
from . import materialise
from .arithmetic import permutation
from .words import MASKED, SAME, VEC_08, follows, number_of, worded

# Rearrangement of lanes, packing and unpacking (vector-path 6.8).


HALVES = ("LOWER", "HIGHER")

SQZN = "SQZN"
"""Special register: bytes of the active lanes of the last vsqz or vusqz, per block (blocks or 1, 1)."""

Pair = Callable[..., tuple[Expr, Expr]]
"""The lanes of two results, from those of src0 and src1."""


def _unit(info: Any) -> DType:
    """Lanes as bits, whatever they mean."""
    return dtype(f"u{8 * info.dtype.size}")


def _pair(text: str, fn: Pair, summary: str) -> Instr:
    """Two registers to two; and ``text`` + v2, which gives one of them and is not on a5."""
    sources = (vreg("src0"), vreg("src1"))

    def halves(o: Site) -> tuple[Expr, Expr]:
        unit = _unit(o.src0)
        return fn(VREG_BYTES // unit.size, lambda name, at: Element(name, at, unit), "src0", "src1")

    def both(o: Site) -> Lane:
        lo, hi = halves(o)
        return Lane((Write("lo", lo), Write("hi", hi)), over="src0")

    def one(o: Site) -> Lane:
        return Lane((Write("dst", halves(o)[HALVES.index(o.part)]),), over="src0")

    micro(
        text + "v2",
        f"One half of {text}: {summary}",
        sources,
        (out_vreg(like="src0"),),
        None,
        SAME,
        VEC_08,
        worded(PRD_01),
        meaning=one,
        attrs=(token("part", words=HALVES),),
        types={"cpu": ANY["cpu"], "a2a3": ANY["a2a3"], "a5": frozenset()},
        source="6.8",
    )
    return micro(
        text,
        summary,
        sources,
        (out_vreg("lo", like="src0"), out_vreg("hi", like="src0")),
        None,
        SAME,
        meaning=both,
        types=ANY,
        source="6.8",
    )


VINTLV = _pair("vintlv", interleaved, "lo, hi = the lanes of src0 and src1, interleaved")
VDINTLV = _pair("vdintlv", split, "lo, hi = the even and the odd lanes of src0 followed by src1")


def _counted(size: int) -> Keep:
    """The bytes of the active lanes, for vstur."""
    return Keep(SQZN, Folded("add", Const(size, Place(i64)), Bit("mask")))


def _squeezed(o: Site) -> Lane:
    front = Write("dst", Element("src"), place=Before(Bit("mask"), i64), where=Bit("mask"))
    return Lane((front,), over="src", keeps=(_counted(o.src.dtype.size),))


VSQZ = micro(
    "vsqz",
    "dst = the active lanes, then zeros; latches their bytes for vstur",
    (vreg(), mask()),
    (out_vreg(like="src"),),
    None,
    SAME,
    MASKED,
    meaning=_squeezed,
    types=ANY,
    source="6.8",
)


def _ranks(o: Site) -> Lane:
    kind = o.dst.dtype
    write = Write("dst", Before(Bit("mask"), kind))
    return Lane((write,), lanes=VREG_BYTES // kind.size, keeps=(_counted(kind.size),))


VUSQZ = micro(
    "vusqz",
    "dst[i] = number of active lanes below i; latches the bytes of the active lanes for vstur",
    (vreg(optional=True), mask()),
    (out_vreg(like="src"),),
    None,
    SAME,
    MASKED,
    meaning=_ranks,
    types=types("i8 i16 i32"),
    source="6.8",
    decision="It counts, as published results have it; the manual describes the inverse of vsqz. The mask does not "
    "zero lanes of the result.",
)


def _packed(o: Site) -> Lane:
    """The low halves of lanes: those of one register in one half, those of two one after the other."""
    wide, to = _unit(o.src0), _unit(o.dst)
    n = VREG_BYTES // to.size
    if o.operands.get("src1") is None:
        at = lane(1, n // 2 if o.part == "HIGHER" else 0)
        return Lane((Write("dst", Convert(Element("src0", dtype=wide), to), at),), over="src0")
    a, b = (Element(name, lane(cycle=n // 2), wide) for name in ("src0", "src1"))
    return Lane((Write("dst", Convert(select(less(Place(u16), n // 2), a, b), to)),), lanes=n)


VPACK = micro(
    "vpack",
    "dst = the low halves of the lanes, in one half of the register; of two registers one after the other",
    (vreg("src0"), vreg("src1", optional=True), number("mode", "index", optional=True)),
    (out_vreg(),),
    None,
    follows("i32 u16  u32 u16  i16 u8  u16 u8"),
    worded(PRD_01),
    meaning=_packed,
    attrs=(token("part", "LOWER", words=HALVES),),
    types=types("i32 u32 i16 u16 u8"),
    source="6.8",
    decision="One register fills the half that part names; of two, as in the manual, the first comes first.",
)


def _part(o: Site) -> Message:
    part = o.operands.get("part")
    if isinstance(part, ScalarInfo) and (part.value < 0 or part.value > 1):
        return f"a register has the parts 0 and 1, not {part.value}"
    return None


PART = replace(PRD_01, check=_part)


def _unpack(text: str, kind: str, summary: str) -> Instr:
    def run(machine: Machine, src: np.ndarray, part: Any, *, types: Mapping[str, Any]) -> np.ndarray:
        wrong = np.ravel((part < 0) | (part > 1))
        if wrong.any():
            block = int(np.argmax(wrong))
            message = f"a register has the parts 0 and 1, not {int(np.ravel(part)[block])}"
            machine.refuse(PART.id, message, block=block if wrong.size > 1 else None)
        return materialise.unpack(src, types["dst"].dtype, part, kind)

    def meaning(o: Site) -> Word:
        """The lanes of a half that is known; what only the run knows, Python chooses."""
        part, size = number_of(o, "part"), o.src.dtype.size
        if not known(part) or part not in (0, 1):
            return Python(run)
        lanes = VREG_BYTES // (2 * size)
        value = Convert(Element("src", lane(1, part * lanes), dtype(f"{kind}{8 * size}")), dtype(f"{kind}{16 * size}"))
        return Lane((Write("dst", value),), lanes=lanes)

    return micro(
        text,
        summary,
        (vreg(), number("part", "index")),
        (out_vreg(),),
        None,
        follows("i8 i16  i8 u16  u8 i16  u8 u16  i16 i32  i16 u32  u16 i32  u16 u32"),
        PART,
        meaning=meaning,
        types=types("i8 u8 i16 u16 i32 u32"),
        source="6.8",
    )


VSUNPACK = _unpack("vsunpack", "i", "dst = lanes of half part of src, sign-extended to twice their width")
VZUNPACK = _unpack("vzunpack", "u", "dst = lanes of half part of src, zero-extended to twice their width")

_J = Place(i64)


def _window(a: str, b: str = "") -> Meaning:
    """Lanes of `a` moved up, below them the end of `b`; 0 where neither reaches."""

    def meaning(o: Site) -> Lane:
        unit = _unit(o.operands[a])
        n, place = VREG_BYTES // unit.size, _J - Scalar("amount", i64)
        value: Expr = Taken(Element(a, dtype=unit), place)
        none = Const(0, value)
        below = select(greater_equal(place, -n), Taken(Element(b, dtype=unit), place), none) if b else none
        return Lane((Write("dst", select(less(place, 0), below, select(less(place, n), value, none))),), over=a)

    return meaning


VSLIDE = micro(
    "vslide",
    "dst[i] = src0[i - amount], and below that the end of src1",
    (vreg("src0"), vreg("src1"), number("amount", "i16")),
    (out_vreg(like="src0"),),
    None,
    SAME,
    meaning=_window("src0", "src1"),
    types=ANY,
    source="6.8",
    decision="Lanes that neither register reaches, for an amount outside 0..N, are 0.",
)
VSHIFT = micro(
    "vshift",
    "dst[i] = src[i - amount], and 0 below that",
    (vreg(), number("amount", "i16")),
    (out_vreg(like="src"),),
    None,
    SAME,
    meaning=_window("src"),
    types=ANY,
    source="6.8",
)
permutation("vperm", "6.8")


def _same_bits(o: Site) -> Lane:
    return Lane((Write("dst", Element("src")),), over="src")


VBITCAST = micro(
    "vbitcast",
    "dst = the bytes of src as lanes of another type",
    (vreg(),),
    (out_vreg(),),
    None,
    meaning=_same_bits,
    types=MOVED,
    source="6.6",
)


# Extrema with the lanes that have them, and histograms (PTOAS e32488c9, micro-isa 10).


SOURCE = "PTOAS e32488c9, micro-isa 10"


def _shapes(o: Site) -> Message:
    wanted = {"acc": "u16", "src": "u8", "dst": "u16"}
    for name, kind in wanted.items():
        info = o.operands.get(name)
        if isinstance(info, VregInfo) and info.dtype is not DTYPES[kind]:
            return f"{info.name} has lanes of {info.dtype}; {name} has {DTYPES[kind].text}"
    return None


def _histogram(text: str, what: str, *, cumulative: bool) -> Instr:
    first = (Scalar("bin", i64) & 1) << 7  # half of the values
    samples, on = Element("src", dtype=u8), Bit("mask", width=1)
    count = Counted(samples, Place(i64) + first, on, u16, VREG_BYTES, cumulative)
    return micro(
        text,
        f"dst = acc + how many active samples {what} the value of the lane; bin 1: values from 128.",
        (vreg("acc"), vreg(), mask(optional=False, bits=8), number("bin", "i32")),
        (out_vreg(like="acc"),),
        None,
        replace(VEC_06, check=_shapes),
        meaning=each_lane(Element("acc") + count, over="acc"),
        types=types("u8 u16"),
        source=SOURCE,
        decision="bin 0 counts values 0..127, bin 1 those from 128; a cumulative count includes all smaller values.",
    )


CHISTV2 = _histogram("chistv2", "have at most", cumulative=True)
DHISTV2 = _histogram("dhistv2", "have", cumulative=False)
