"""Transfers between devices: to and from one other, and among a group (pages of the collectives in the ISA manual).

They are read, carried and printed; `isa.communication` has those that run. The manual has them only in the sync form;
level 2 follows from the operands.
"""

from __future__ import annotations

from typing import Any

from ptokit.types.enums import Pipe, ReduceOp

from ..table import Attr, Instr, Kind, Operand, Role, instruction

GROUP = Operand("group", Role.IN, Kind.GROUP)


def _memory(name: str, role: Role = Role.IN, *, optional: bool = False) -> Operand:
    """Global memory of this or another device, or a tile."""
    return Operand(name, role, Kind.VIEW, optional, or_tile=True)


def _between(name: str, summary: str, *operands: Operand, text: str = "", **more: Any) -> Instr:
    text = text or name.lower()
    source = "assembly 6.1; pto-isa docs/isa/comm"
    return instruction(
        Instr(name, text, summary, operands, pipe=Pipe.S, implemented=False, source=source, syntax="dps", **more)
    )


TPUT = _between(
    "TPUT", "Send global memory to another device.", _memory("dst", Role.OUT), _memory("src"), statement="dst src"
)
TGET = _between(
    "TGET", "Fetch global memory of another device.", _memory("dst", Role.OUT), _memory("src"), statement="dst src"
)
TBROADCAST = _between(
    "TBROADCAST",
    "Send the data of one device to all of a group.",
    Operand("dst", Role.OUT, Kind.TILE, optional=True),
    GROUP,
    _memory("src"),
)
TREDUCE = _between(
    "TREDUCE",
    "Make one of the data of all devices of a group, element by element.",
    _memory("dst", Role.OUT),
    GROUP,
    _memory("src", optional=True),
    attrs=(Attr("op", ReduceOp, None, "op", "reduce_op", dotted=True),),
)
GROUP_GATHER = _between(
    "GROUP_GATHER",
    "Put the data of all devices of a group together.",
    _memory("dst", Role.OUT),
    GROUP,
    text="tgather.group",
    shares="tgather",
    cpp="TGATHER",
)
GROUP_SCATTER = _between(
    "GROUP_SCATTER",
    "Give every device of a group its part.",
    GROUP,
    _memory("src"),
    text="tscatter.group",
    shares="tscatter",
    cpp="TSCATTER",
)
MAKE_GROUP = instruction(
    Instr(
        "MAKE_GROUP",
        "make_group",
        "A group of devices, by the memory that each takes part with.",
        (Operand("members", Role.IN, Kind.VIEW, variadic=True),),
        pipe=Pipe.S,
        implemented=False,
        results=1,
        source="pto-isa docs/isa/comm",
        grammar=("%members* {} : ( T(members) ) -> R:group",),
    )
)
