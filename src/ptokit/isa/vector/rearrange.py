"""Rearrangement of lanes, packing and unpacking (vector-path 6.8)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ..machine import Machine
from ..operands import Message
from ..site import ScalarInfo, Site
from ..table import Instr
from . import convert_values, shuffle
from .compare import permutation
from .compute_rules import MASKED, SAME, VEC_08, follows, worded
from .lanes import Predicate, element
from .predicates import PRD_01
from .words import ANY, mask, micro, number, out_vreg, token, types, vreg

HALVES = ("LOWER", "HIGHER")

SQZN = "SQZN"
"""Special register: bytes of the active lanes of the last vsqz or vusqz, per block (blocks or 1, 1)."""

Pair = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]


def _pair(text: str, fn: Pair, summary: str) -> Instr:
    """Two registers to two; and ``text`` + v2, which gives one of them and is not on a5."""
    sources = (vreg("src0"), vreg("src1"))
    micro(
        text + "v2",
        f"One half of {text}: {summary}",
        sources,
        (out_vreg(like="src0"),),
        lambda m, a, b, *, part, **_: fn(a, b)[HALVES.index(part)],
        SAME,
        VEC_08,
        worded(PRD_01),
        attrs=(token("part", words=HALVES),),
        types={"cpu": ANY["cpu"], "a2a3": ANY["a2a3"], "a5": frozenset()},
        source="6.8",
    )
    return micro(
        text,
        summary,
        sources,
        (out_vreg("lo", like="src0"), out_vreg("hi", like="src0")),
        lambda m, a, b, **_: fn(a, b),
        SAME,
        types=ANY,
        source="6.8",
    )


VINTLV = _pair("vintlv", shuffle.interleave, "lo, hi = the lanes of src0 and src1 by turns")
VDINTLV = _pair("vdintlv", shuffle.deinterleave, "lo, hi = the even and the odd lanes of src0 followed by src1")


def _squeeze(machine: Machine, src: np.ndarray, mask: Predicate, **_: Any) -> np.ndarray:
    values, count = shuffle.squeeze(src, mask)
    machine.registers[SQZN] = count * src.dtype.itemsize
    return values


VSQZ = micro(
    "vsqz",
    "dst = the active lanes, then zeros; latches their bytes for vstur",
    (vreg(), mask()),
    (out_vreg(like="src"),),
    _squeeze,
    SAME,
    MASKED,
    types=ANY,
    source="6.8",
)


def _ranks(machine: Machine, src: Any, mask: Predicate, *, types: Mapping[str, Any]) -> np.ndarray:
    dtype = element(types["dst"].dtype)
    values, count = shuffle.ranks(mask, dtype)
    machine.registers[SQZN] = count * dtype.itemsize
    return values


VUSQZ = micro(
    "vusqz",
    "dst[i] = number of active lanes below i; latches the bytes of the active lanes for vstur",
    (vreg(optional=True), mask()),
    (out_vreg(like="src"),),
    _ranks,
    SAME,
    MASKED,
    types=types("i8 i16 i32"),
    source="6.8",
    decision="It counts, as published results have it; the manual describes the inverse of vsqz. The mask does not "
    "zero lanes of the result.",
)


def _pack(machine: Machine, a: np.ndarray, b: Any, mode: Any, *, part: str, types: Mapping[str, Any]) -> np.ndarray:
    to = types["dst"].dtype
    return convert_values.pack(a, to, part) if b is None else convert_values.pack_two(a, b, to)


VPACK = micro(
    "vpack",
    "dst = the low halves of the lanes, in one half of the register; of two registers one after the other",
    (vreg("src0"), vreg("src1", optional=True), number("mode", "index", optional=True)),
    (out_vreg(),),
    _pack,
    follows("i32 u16  u32 u16  i16 u8  u16 u8"),
    worded(PRD_01),
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
        return convert_values.unpack(src, types["dst"].dtype, part, kind)

    return micro(
        text,
        summary,
        (vreg(), number("part", "index")),
        (out_vreg(),),
        run,
        follows("i8 i16  i8 u16  u8 i16  u8 u16  i16 i32  i16 u32  u16 i32  u16 u32"),
        PART,
        types=types("i8 u8 i16 u16 i32 u32"),
        source="6.8",
    )


VSUNPACK = _unpack("vsunpack", "i", "dst = lanes of half part of src, sign-extended to twice their width")
VZUNPACK = _unpack("vzunpack", "u", "dst = lanes of half part of src, zero-extended to twice their width")

VSLIDE = micro(
    "vslide",
    "dst[i] = src0[i - amount], and below that the end of src1",
    (vreg("src0"), vreg("src1"), number("amount", "i16")),
    (out_vreg(like="src0"),),
    lambda m, a, b, amount, **_: shuffle.window(a, b, amount),
    SAME,
    types=ANY,
    source="6.8",
    decision="Lanes that neither register reaches, for an amount outside 0..N, are 0.",
)
VSHIFT = micro(
    "vshift",
    "dst[i] = src[i - amount], and 0 below that",
    (vreg(), number("amount", "i16")),
    (out_vreg(like="src"),),
    lambda m, src, amount, **_: shuffle.window(src, None, amount),
    SAME,
    types=ANY,
    source="6.8",
)
permutation("vperm", "6.8")
VBITCAST = micro(
    "vbitcast",
    "dst = the bytes of src as lanes of another type",
    (vreg(),),
    (out_vreg(),),
    lambda m, src, *, types: shuffle.reinterpret(src, element(types["dst"].dtype)),
    types=ANY,
    source="6.6",
)
