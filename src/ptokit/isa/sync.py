"""Flags, barriers and events (memory-model-and-sync 5, assembly 8).

They have no effect on values: the executor works in program order. The sanitizer reads them for the order they make.
"""

from __future__ import annotations

from typing import Any

from ptokit.types.enums import EVENT_ID_COUNT, Pipe

from .site import Site
from .table import Attr, Instr, Operand, instruction, scalar


def _no_value_effect(*_: Any, **__: Any) -> None:
    """Ordering only."""


def _pipe_attr(name: str, position: str) -> Attr:
    return Attr(name, Pipe, None, position, "pipe", dotted=True)


SRC_PIPE, DST_PIPE = _pipe_attr("src_pipe", "src_pipe"), _pipe_attr("dst_pipe", "dst_pipe")
EVENT_ID = Attr("event_id", int, 0, "event_id", "event", dotted=True)  # EVENT_ID0 .. EVENT_ID7


def _sync(
    name: str,
    text: str,
    summary: str,
    *operands: Operand,
    attrs: tuple[Attr, ...] = (),
    pipe: Any = Pipe.S,
    syntax: str = "",
    **more: Any,
) -> Instr:
    return instruction(
        Instr(
            name,
            text,
            summary,
            operands,
            attrs,
            pipe=pipe,
            run=_no_value_effect,
            syntax=syntax or text,
            source="memory-model-and-sync 5; assembly 8",
            **more,
        )
    )


def _source(site: Site) -> Pipe:
    return site.src_pipe


def _destination(site: Site) -> Pipe:
    return site.dst_pipe


SET_FLAG = _sync(
    "set_flag",
    "set_flag",
    f"Raise a flag when the source pipe's earlier work is done; ids 0..{EVENT_ID_COUNT - 1}.",
    attrs=(SRC_PIPE, DST_PIPE, EVENT_ID),
    pipe=_source,
    syntax="flag",
)
WAIT_FLAG = _sync(
    "wait_flag",
    "wait_flag",
    "Hold the destination pipe's later work until the flag is set, and consume it.",
    attrs=(SRC_PIPE, DST_PIPE, EVENT_ID),
    pipe=_destination,
    syntax="flag",
)
SET_FLAG_DYN = _sync(
    "set_flag_dyn",
    "set_flag_dyn",
    "set_flag with an event id from a register.",
    scalar("event"),
    attrs=(SRC_PIPE, DST_PIPE),
    pipe=_source,
    syntax="flag",
)
WAIT_FLAG_DYN = _sync(
    "wait_flag_dyn",
    "wait_flag_dyn",
    "wait_flag with an event id from a register.",
    scalar("event"),
    attrs=(SRC_PIPE, DST_PIPE),
    pipe=_destination,
    syntax="flag",
)
PIPE_BARRIER = _sync(
    "pipe_barrier",
    "barrier",
    "Later work of a pipe starts after all its earlier work; PIPE_ALL drains every pipe.",
    attrs=(_pipe_attr("pipe", "pipe"),),
    pipe=lambda site: site.attrs["pipe"],
    syntax="barrier",
)
TSYNC = _sync(
    "TSYNC",
    "tsync",
    "Wait for the instructions that produced the given tiles or events.",
    Operand("events", variadic=True),
    syntax="tsync",
)
_CLASSES = (
    Attr("src_op", str, None, "src_op", "pipe_event_type", dotted=True),
    Attr("dst_op", str, None, "dst_op", "pipe_event_type", dotted=True),
)
RECORD_EVENT = _sync(
    "record_event",
    "record_event",
    "set_flag between the pipes of two operation classes.",
    attrs=(*_CLASSES, EVENT_ID),
    syntax="event",
)
WAIT_EVENT = _sync(
    "wait_event",
    "wait_event",
    "wait_flag between the pipes of two operation classes.",
    attrs=(*_CLASSES, EVENT_ID),
    syntax="event",
)
BARRIER_SYNC = _sync(
    "barrier_sync",
    "barrier_sync",
    "Barrier on the pipe of an operation class.",
    attrs=(Attr("op", str, None, "op", "pipe_event_type", dotted=True),),
)

EVENT_CLASS_PIPE: dict[str, Pipe] = {
    "TLOAD": Pipe.MTE2,
    "TSTORE_VEC": Pipe.MTE3,
    "TSTORE_ACC": Pipe.FIX,
    "TMOV_M2L": Pipe.MTE1,
    "TMOV_M2B": Pipe.MTE1,
    "TMOV_M2S": Pipe.FIX,
    "TMOV_M2V": Pipe.V,
    "TMOV_V2M": Pipe.FIX,
    "TMATMUL": Pipe.M,
    "TVEC": Pipe.V,
    "TVECWAIT_EVENT": Pipe.V,
}
"""Pipe of each operation class of record_event, wait_event and barrier_sync (assembly 8)."""
