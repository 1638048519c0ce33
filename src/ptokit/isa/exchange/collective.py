"""Transfers between devices: to and from one other, and among a group (pages of the collectives in the ISA manual).

They do what those of `communication` do, without naming the tiles that data pass through. The manual has them only in
the sync form; level 2 follows from the operands.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ptokit.diagnostics import Scope, define
from ptokit.types.enums import Pipe, ReduceOp

from ..forms import LEVEL1, LEVEL2
from ..machine import Machine, ViewOperand
from ..meaning.words import Meaning, Refusal, Transfer, Word
from ..site import Site
from ..table import Attr, Instr, Kind, Operand, Role, TextForm, grammar, instruction
from ..traits import BETWEEN_CORES
from .communication import reduction

_MEMBERS = reduction("group")
GROUP = Operand("group", Role.IN, Kind.GROUP)
_RECEIVERS = Operand("group", Role.OUT, Kind.GROUP)

define(
    "COMM-02",
    "A reduction among devices has the members of its group for sources.",
    scope=Scope.RUN,
    source="pto-isa docs/isa/comm TREDUCE",
    why="Nothing public says what becomes of one beside them.",
    rejected="pto.treduce ins(%g, %m : G, M) outs(%n : M)",
    accepted="pto.treduce ins(%g : G) outs(%n : M)",
)


def _reduced(o: Site) -> Word | None:
    return Refusal("COMM-02", "the reduction has a source beside the group") if o.has("src") else _MEMBERS(o)


def _group(m: Machine, members: Sequence[ViewOperand]) -> tuple[ViewOperand, ...]:
    return tuple(members)


def _memory(name: str, role: Role = Role.IN, *, optional: bool = False) -> Operand:
    """Global memory of this or another device, or a tile."""
    return Operand(name, role, Kind.VIEW, optional, also=(Kind.TILE,))


TEXT_ONLY = TextForm(in_python=False)


def _between(
    name: str,
    summary: str,
    *operands: Operand,
    meaning: Meaning,
    text: str = "",
    form: TextForm = TEXT_ONLY,
    **more: Any,
) -> Instr:
    text = text or name.lower()
    more |= {"source": "assembly 6.1; pto-isa docs/isa/comm"}
    return instruction(
        Instr(name, text, summary, operands, pipe=Pipe.MTE3, meaning=meaning, order=BETWEEN_CORES, form=form, **more)
    )


TPUT = _between(
    "TPUT",
    "Send global memory to another device.",
    _memory("dst", Role.OUT),
    _memory("src"),
    meaning=Transfer("dst", "src"),
    form=replace(TEXT_ONLY, orders={LEVEL1: "dst src"}),
)
TGET = _between(
    "TGET",
    "Fetch global memory of another device.",
    _memory("dst", Role.OUT),
    _memory("src"),
    meaning=Transfer("dst", "src"),
    form=replace(TEXT_ONLY, orders={LEVEL1: "dst src"}),
)
TBROADCAST = _between(
    "TBROADCAST",
    "Send the data of one device to all of a group.",
    Operand("dst", Role.OUT, Kind.TILE, optional=True),
    _RECEIVERS,
    _memory("src"),
    meaning=Transfer("group", "src"),
    form=replace(TEXT_ONLY, orders={LEVEL2: "group src -> dst"}),
)
TREDUCE = _between(
    "TREDUCE",
    "Make one of the data of all devices of a group, element by element.",
    _memory("dst", Role.OUT),
    GROUP,
    _memory("src", optional=True),
    meaning=_reduced,
    attrs=(Attr("op", ReduceOp, None, "op", "reduce_op", dotted=True),),
)
GROUP_GATHER = _between(
    "GROUP_GATHER",
    "Put the data of all devices of a group together.",
    _memory("dst", Role.OUT),
    GROUP,
    meaning=Transfer("dst", "group", rows=True),
    text="tgather.group",
    form=replace(TEXT_ONLY, newest="tgather"),
    cpp="TGATHER",
)
GROUP_SCATTER = _between(
    "GROUP_SCATTER",
    "Give every device of a group its part.",
    _RECEIVERS,
    _memory("src"),
    meaning=Transfer("group", "src", rows=True),
    text="tscatter.group",
    form=replace(TEXT_ONLY, newest="tscatter", orders={LEVEL2: "group src ->"}),
    cpp="TSCATTER",
)
MAKE_GROUP = instruction(
    Instr(
        "MAKE_GROUP",
        "make_group",
        "A group of devices, by the memory that each takes part with.",
        (Operand("members", Role.IN, Kind.VIEW, variadic=1),),
        pipe=Pipe.S,
        run=_group,
        form=grammar("%members* {} : ( T(members) ) -> R:group", in_python=False),
        source="pto-isa docs/isa/comm",
    )
)
