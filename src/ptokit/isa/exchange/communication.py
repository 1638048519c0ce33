"""Transfers between devices as August 2026 writes them: through tiles, and asynchronous ones (PTOAS 2026-08, PTOOps).

Those through tiles run: every device's part is global memory that the kernel has a view of. The others are read,
checked, carried and printed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ptokit.types.enums import AtomicType, Pipe, ReduceOp

from ..pending import handle, number, pending
from ..table import Attr, Instr, Kind, Operand, Role, instruction, ptr, src, view
from . import device_transfers

_PING, _PONG = src("ping"), src("pong", optional=True)
_READ = Operand("members", Role.IN, Kind.VIEW, variadic=True)
_WRITTEN = Operand("members", Role.OUT, Kind.VIEW, variadic=True)
_ROOT = number("root")
_SOURCE = "PTOAS 2026-08 PTOOps.td"


def _transfer(
    text: str, summary: str, *operands: Operand, run: Callable[..., Any], attrs: tuple[Attr, ...], grammar: str
) -> None:
    instruction(
        Instr(
            text,
            text,
            summary,
            operands,
            attrs,
            pipe=Pipe.MTE3,
            run=run,
            syntax=text,
            source=_SOURCE,
            between_cores=True,
            in_python=False,
            grammar=(grammar,),
        )
    )


def _collective(
    text: str,
    summary: str,
    *operands: Operand,
    members: Operand,
    run: Callable[..., Any],
    attrs: tuple[Attr, ...] = (_ROOT,),
) -> None:
    names = [o.name for o in operands]
    values, types = (" , ".join(form.format(n) for n in names) for form in ("%{}", "T({})"))
    grammar = (
        f"~( {values} , recv ~( %ping <? , %pong ?> ) , group ~( %members* ) "
        f": {types} , T(ping) <? , T(pong) ?> , T(members) ) {{}}"
    )
    _transfer(text, summary, *operands, _PING, _PONG, members, run=run, attrs=attrs, grammar=grammar)


_collective(
    "comm.tbroadcast",
    "Send the data of one device to all of a group.",
    view("src"),
    members=_WRITTEN,
    run=device_transfers.broadcast,
)
_collective(
    "comm.tgather",
    "Put the data of all devices of a group together, row behind row.",
    view("dst", Role.OUT),
    members=_READ,
    run=device_transfers.collect,
)
_collective(
    "comm.tscatter",
    "Give every device of a group its rows.",
    view("src"),
    members=_WRITTEN,
    run=device_transfers.deal,
)
_collective(
    "comm.treduce",
    "Make one of the data of all devices of a group, element by element.",
    view("dst", Role.OUT),
    src("acc"),
    members=_READ,
    run=device_transfers.reduce,
    attrs=(Attr("op", ReduceOp, None, "reduceOp", "reduce_op"), _ROOT),
)
for _text, _summary, _attrs in (
    ("comm.tput", "Send", (Attr("atomic", AtomicType, None, "atomicType", "atomic_type"),)),
    ("comm.tget", "Fetch", ()),
):
    _transfer(
        _text,
        f"{_summary} global memory of another device, through one or two tiles.",
        view("dst", Role.OUT),
        view("src"),
        _PING,
        _PONG,
        run=device_transfers.send,
        attrs=_attrs,
        grammar="~( %dst , %src , buf ~( %ping <? , %pong ?> ) : T(dst) , T(src) , T(ping) <? , T(pong) ?> ) {}",
    )

BUILD_ASYNC_SESSION = pending(
    "build_async_session",
    "A session of transfers to another device.",
    src("scratch"),
    handle("workspace"),
    kinds={"scratch": "AS-1", "workspace": "AS-1"},
    attrs=tuple(map(number, "sync_id block_bytes comm_block_offset queue_num channel_group_idx".split())),
    results=1,
    spellings=("comm.build_async_session",),
    newest="comm.build_async_session",
    grammar=("~( %scratch , %workspace : T(scratch) , T(workspace) ) {} -> R",),
)
for _text, _summary in (("tput_async", "Send"), ("tget_async", "Fetch")):
    pending(
        _text,
        f"{_summary} global memory without waiting.",
        view("dst", Role.OUT),
        view("src"),
        handle("session"),
        kinds={"dst": "AS-1", "src": "AS-1"},
        results=1,
        spellings=(f"comm.{_text}",),
        newest=f"comm.{_text}",
        grammar=("~( %dst , %src , %session : T(dst) , T(src) , T(session) ) {} -> R",),
    )
for _text, _summary in (("wait_async_event", "Wait for a transfer."), ("test_async_event", "Ask for a transfer.")):
    pending(
        _text,
        _summary,
        handle("event"),
        handle("session"),
        results=1,
        spellings=(f"comm.{_text}",),
        newest=f"comm.{_text}",
        grammar=("~( %event , %session : T(event) , T(session) ) {} -> R",),
    )
MAKE_PREFETCH_ASYNC_CONTEXT = pending(
    "make_prefetch_async_context",
    "A context of prefetches, made of a workspace in global memory.",
    ptr("workspace"),
    results=1,
    source=_SOURCE,
    grammar=("~( %workspace : T(workspace) ) {} -> R",),
)
PREFETCH_ASYNC = pending(
    "prefetch_async",
    "Prefetch global memory in the background; gives the event.",
    view("src"),
    handle("ctx"),
    results=1,
    newest="tprefetch_async",
    source=_SOURCE,
    grammar=("~( %src , %ctx : T(src) , T(ctx) ) {} -> R",),
)
GET_PREFETCH_ASYNC_SESSION = pending(
    "get_prefetch_async_session",
    "The session of a prefetch context.",
    handle("ctx"),
    results=1,
    source=_SOURCE,
    grammar=("%ctx {} : T(ctx) -> R",),
)
