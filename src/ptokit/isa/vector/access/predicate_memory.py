"""Predicates in the unified buffer (vector-path 5)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ptokit.diagnostics import ALL_TARGETS, define, family
from ptokit.types.dtypes import DTYPES

from ...checks.operands import Message
from ...machine import Machine
from ...meaning.expressions import Bit, Listed, Stored, apply, lane
from ...meaning.words import Advance, Lane, Write
from ...site import MaskInfo, PtrInfo, ScalarInfo, Site
from ...table import Instr, Role
from ...unknown import known
from ..compute.compute_rules import VEC_08, worded
from ..lanes import VREG_BYTES
from ..predicates import PRD_01
from ..rules import SOURCE
from ..words import align, at, mask, micro, number, out_align, out_mask, out_ptr, token, ub
from . import predicate_values as values
from .posting import UPDATED, updated
from .stream import StoreStream, append

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


@rule("PRD-A5-04", "pldi with 1023 units on a5", "pldi with 1024 units on a5")
def PRD_04(o: Site) -> Message:
    """The offset of pldi and psti is a constant, behind a comma of at most 1023 units of 8 bytes.

    Decision: In brackets the offset counts 16 or 32 bytes, as the mode says, behind a comma units of 8 bytes.
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
    """The operand that says where the predicate is, the bytes that it counts, and the pointer behind it."""
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
    data = values.compact(value, size)
    count = data.shape[1]
    return append(machine, state, base, 0, data[:, :, None], count), base.advance(count // size)


_POINTED = frozenset((DTYPES["u16"], DTYPES["u32"]))

PSTU = micro(
    "pstu",
    "Append a predicate to a stream at a pointer, one bit for each lane; the pointer behind it.",
    (align(), mask("value", optional=False), ub("base", Role.OUT)),
    (out_align(), out_ptr("end", like="base")),
    _append,
    PRD_05,
    VEC_08,
    types={"cpu": frozenset(), "a2a3": _POINTED, "a5": _POINTED},
    source="5",
)
