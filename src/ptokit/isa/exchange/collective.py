"""Transfers between devices: to one other, among a group, and in the background.

Every device's part is global memory that the kernel has a view of.

TPUT, TGET and their relatives do what ``comm.`` operations do, without naming the tiles that data pass through. The
manual has them only in the sync form; level 2 follows from the operands.

A transfer in the background is submitted once all pipes of the core have ended. It and those before it in its session
are over when its event has been waited for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ptokit.diagnostics import Scope, define
from ptokit.types.enums import AtomicType, Pipe, ReduceOp

from ..machine import AsyncEvent, AsyncSession, Machine, ViewOperand
from ..meaning.moves import transferred
from ..meaning.words import COMBINING, Meaning, Refusal, Transfer, Word
from ..site import Site
from ..table import (
    BETWEEN_CORES,
    LEVEL1,
    LEVEL2,
    Attr,
    Instr,
    Kind,
    Operand,
    Role,
    TextForm,
    grammar,
    handle,
    instruction,
    listed,
    number,
    src,
    view,
)

# Transfers between devices through tiles, as August 2026 writes them (PTOAS 2026-08, PTOOps).


_PING, _PONG = src("ping"), src("pong", optional=True)
_READ = Operand("members", Role.IN, Kind.VIEW, variadic=1)
_WRITTEN = Operand("members", Role.OUT, Kind.VIEW, variadic=1)
_ROOT = number("root")
_SOURCE = "PTOAS 2026-08 PTOOps.td"


_FOLDS = {ReduceOp.Sum: "add", ReduceOp.Max: "max", ReduceOp.Min: "min"}


def reduction(members: str) -> Callable[[Site], Transfer]:
    """The parts of all members made one, that of the root first (comm/TReduce.hpp)."""

    def meaning(o: Site) -> Transfer:
        fold = _FOLDS[o.op if o.op is not None else ReduceOp.Sum]
        return Transfer("dst", members, fold=fold, first=o.attrs.get("root") or 0)

    return meaning


def _transfer(
    text: str, summary: str, *operands: Operand, meaning: Meaning, attrs: tuple[Attr, ...], written: str
) -> None:
    instruction(
        Instr(
            text,
            text,
            summary,
            operands,
            attrs,
            pipe=Pipe.MTE3,
            meaning=meaning,
            form=grammar(written),
            source=_SOURCE,
            order=BETWEEN_CORES,
        )
    )


def _collective(
    text: str,
    summary: str,
    *operands: Operand,
    members: Operand,
    meaning: Meaning,
    attrs: tuple[Attr, ...] = (_ROOT,),
) -> None:
    names = " ".join(o.name for o in operands)
    written = (
        f"~( {listed(names)} , recv ~( %ping <? , %pong ?> ) , group ~( %members* ) "
        f": {listed(names, 'T({})')} , T(ping) <? , T(pong) ?> , T(members) ) {{}}"
    )
    _transfer(text, summary, *operands, _PING, _PONG, members, meaning=meaning, attrs=attrs, written=written)


_collective(
    "comm.tbroadcast",
    "Send the data of one device to all of a group.",
    view("src"),
    members=_WRITTEN,
    meaning=Transfer("members", "src"),
)
_collective(
    "comm.tgather",
    "Put the data of all devices of a group together, row after row.",
    view("dst", Role.OUT),
    members=_READ,
    meaning=Transfer("dst", "members", rows=True),
)
_collective(
    "comm.tscatter",
    "Give every device of a group its rows.",
    view("src"),
    members=_WRITTEN,
    meaning=Transfer("members", "src", rows=True),
)
_collective(
    "comm.treduce",
    "Make one of the data of all devices of a group, element by element.",
    view("dst", Role.OUT),
    src("acc"),
    members=_READ,
    meaning=reduction("members"),
    attrs=(Attr("op", ReduceOp, None, "reduceOp", "reduce_op"), _ROOT),
)
for _text, _summary, _attrs in (
    (
        "comm.tput",
        "Send global memory to another device",
        (Attr("atomic", AtomicType, None, "atomicType", "atomic_type"),),
    ),
    ("comm.tget", "Fetch global memory of another device", ()),
):
    _transfer(
        _text,
        f"{_summary}, through one or two tiles.",
        view("dst", Role.OUT),
        view("src"),
        _PING,
        _PONG,
        meaning=lambda o: Transfer("dst", "src", combine=COMBINING[o.atomic] if o.attrs.get("atomic") else ""),
        attrs=_attrs,
        written="~( %dst , %src , buf ~( %ping <? , %pong ?> ) : T(dst) , T(src) , T(ping) <? , T(pong) ?> ) {}",
    )


# Transfers between devices: to and from one other, and among a group (pages of the collectives in the ISA manual).


_MEMBERS = reduction("group")
GROUP = Operand("group", Role.IN, Kind.GROUP)
_RECEIVERS = Operand("group", Role.OUT, Kind.GROUP)

define(
    "COMM-02",
    "A reduction among devices has the members of its group for sources.",
    scope=Scope.RUN,
    source="pto-isa docs/isa/comm TREDUCE",
    why="Nothing public says what becomes of one beside them.",
    example="""
        // ptokit run
        func.func @f(%a: !pto.partition_tensor_view<4x8xf32>, %b: !pto.partition_tensor_view<4x8xf32>,
          %w: !pto.partition_tensor_view<4x8xf32>) {
          %g = pto.make_group %a, %b : (!pto.partition_tensor_view<4x8xf32>, !pto.partition_tensor_view<4x8xf32>)
            -> !pto.group<2>
          pto.treduce ins(%g{|, %w} : !pto.group<2>{|, !pto.partition_tensor_view<4x8xf32>}) outs(%a
            : !pto.partition_tensor_view<4x8xf32>)
          return
        }
    """,
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
    cpp="",
)
TGET = _between(
    "TGET",
    "Fetch global memory of another device.",
    _memory("dst", Role.OUT),
    _memory("src"),
    meaning=Transfer("dst", "src"),
    form=replace(TEXT_ONLY, orders={LEVEL1: "dst src"}),
    cpp="",
)
TBROADCAST = _between(
    "TBROADCAST",
    "Send the data of one device to all of a group.",
    Operand("dst", Role.OUT, Kind.TILE, optional=True),
    _RECEIVERS,
    _memory("src"),
    meaning=Transfer("group", "src"),
    form=replace(TEXT_ONLY, orders={LEVEL2: "group src -> dst"}),
    cpp="",
)
TREDUCE = _between(
    "TREDUCE",
    "Make one of the data of all devices of a group, element by element.",
    _memory("dst", Role.OUT),
    GROUP,
    _memory("src", optional=True),
    meaning=_reduced,
    attrs=(Attr("op", ReduceOp, None, "op", "reduce_op", dotted=True),),
    cpp="",
)
GROUP_GATHER = _between(
    "GROUP_GATHER",
    "Put the data of all devices of a group together.",
    _memory("dst", Role.OUT),
    GROUP,
    meaning=Transfer("dst", "group", rows=True),
    text="tgather.group",
    form=replace(TEXT_ONLY, newest="tgather"),
    cpp="",
)
GROUP_SCATTER = _between(
    "GROUP_SCATTER",
    "Give every device of a group its part.",
    _RECEIVERS,
    _memory("src"),
    meaning=Transfer("group", "src", rows=True),
    text="tscatter.group",
    form=replace(TEXT_ONLY, newest="tscatter", orders={LEVEL2: "group src ->"}),
    cpp="",
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


# Transfers between devices that a transfer engine carries out in the background (pto-isa docs/isa/comm TPUT_ASYNC).


_ASYNC_SOURCE = "PTOAS e32488c9 PTOOps.td; pto-isa docs/isa/comm"


def build(m: Machine, scratch: Any, workspace: Any, **_: Any) -> AsyncSession:
    """A session of its own; what is configured has no effect on values or order."""
    return AsyncSession()


def transfer(m: Machine, dst: ViewOperand, src: ViewOperand, session: AsyncSession) -> AsyncEvent:
    """``dst = src``, and the event of the transfer."""
    transferred(m, dst, src, rows=False)
    return AsyncEvent(session.submit())


def wait(m: Machine, event: AsyncEvent | int, session: AsyncSession) -> bool:
    """Complete the event, and those before it; C++ counts events."""
    return (AsyncEvent(event) if isinstance(event, int) else event).wait(session)


def _define(
    text: str,
    summary: str,
    *operands: Operand,
    run: Callable[..., Any],
    attrs: tuple[Attr, ...] = (),
    written: str,
    misfits: Mapping[str, str] | None = None,
) -> None:
    instruction(
        Instr(
            text,
            text,
            summary,
            operands,
            attrs,
            pipe=Pipe.S,
            run=run,
            form=grammar(
                written,
                spellings=(f"comm.{text}",),
                newest=f"comm.{text}",
                misfits=misfits or {},
                in_python=False,
            ),
            source=_ASYNC_SOURCE,
            order=BETWEEN_CORES,
        )
    )


_define(
    "build_async_session",
    "Make a session of transfers to other devices, with a tile for its control words.",
    src("scratch"),
    handle("workspace"),
    run=build,
    written="~( %scratch , %workspace : T(scratch) , T(workspace) ) {} -> R",
    misfits={"scratch": "AS-1", "workspace": "AS-1"},
    attrs=tuple(map(number, "sync_id block_bytes comm_block_offset queue_num channel_group_idx".split())),
)
for _text, _summary in (
    ("tput_async", "Send global memory to another device in the background; gives the event."),
    ("tget_async", "Fetch global memory of another device in the background; gives the event."),
):
    _define(
        _text,
        _summary,
        view("dst", Role.OUT),
        view("src"),
        handle("session"),
        run=transfer,
        written="~( %dst , %src , %session : T(dst) , T(src) , T(session) ) {} -> R",
        misfits={"dst": "AS-1", "src": "AS-1"},
    )
for _text, _summary in (
    ("wait_async_event", "Wait for a transfer and those before it in its session; gives true."),
    ("test_async_event", "Ask whether a transfer is over; gives an i1."),
):
    _define(
        _text,
        _summary,
        handle("event"),
        handle("session"),
        run=wait,
        written="~( %event , %session : T(event) , T(session) ) {} -> R",
    )
