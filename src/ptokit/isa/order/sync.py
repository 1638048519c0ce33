"""Flags, barriers and events (memory-model-and-sync 5, assembly 8).

Within a core they have no effect on values: the executor works in program order. Waiting for another core lets that one
go on first. The sanitizer reads them all for the order they make.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from enum import IntEnum
from typing import Any

from ptokit.types.enums import EVENT_ID_COUNT, Pipe

from ..machine import Machine
from ..meaning.words import Ordering
from ..site import Site
from ..table import ORDERING, Attr, Instr, Operand, Order, Sync, grammar, index, instruction, ptr
from . import sync_rules as rules
from .sync_rules import class_pipe


def _pipe_attr(name: str, position: str) -> Attr:
    return Attr(name, Pipe, None, position, "pipe", dotted=True)


SRC_PIPE, DST_PIPE = _pipe_attr("src_pipe", "src_pipe"), _pipe_attr("dst_pipe", "dst_pipe")
EVENT_ID = Attr("event_id", int, 0, "event_id", "event", dotted=True)  # EVENT_ID0 .. EVENT_ID7


_ORDER = Ordering()


_BY_COMPILER = replace(ORDERING, by_compiler=True)
_SETS, _WAITS = replace(_BY_COMPILER, does=Sync.SET), replace(_BY_COMPILER, does=Sync.WAIT)
_TAKES, _GIVES = replace(_BY_COMPILER, does=Sync.TAKE), replace(_BY_COMPILER, does=Sync.RELEASE)
_CORE_FLAG_ORDER = replace(_BY_COMPILER, between_cores=True)
_CORE_SIGNAL = replace(_CORE_FLAG_ORDER, does=Sync.SIGNAL)
_CORE_WAIT = replace(_CORE_FLAG_ORDER, waits=True, does=Sync.AWAIT)


def _sync(
    name: str,
    text: str,
    summary: str,
    *operands: Operand,
    attrs: tuple[Attr, ...] = (),
    pipe: Any = Pipe.S,
    meaning: Ordering = _ORDER,
    order: Order = ORDERING,
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
            meaning=meaning,
            order=order,
            source="memory-model-and-sync 5; assembly 8",
            **more,
        )
    )


def _source(site: Site) -> Pipe:
    return site.src_pipe


def _destination(site: Site) -> Pipe:
    return site.dst_pipe


_FLAG = "~[ A(src_pipe) , A(dst_pipe) , A(event_id) ] {}"
_FLAG_FORMS = (_FLAG, "( B(src_pipe) , B(dst_pipe) , B(event_id) )", _FLAG)
_FLAG_DYN = ("~[ A(src_pipe) , A(dst_pipe) , %event:index ] {}",)

SET_FLAG = _sync(
    "set_flag",
    "set_flag",
    f"Raise a flag when the source pipe's earlier work is done; ids 0..{EVENT_ID_COUNT - 1}.",
    attrs=(SRC_PIPE, DST_PIPE, EVENT_ID),
    pipe=_source,
    rules=(rules.FLAG_RANGE, rules.FLAG_PIPE),
    order=_SETS,
    form=grammar(*_FLAG_FORMS),
)
WAIT_FLAG = _sync(
    "wait_flag",
    "wait_flag",
    "Hold the destination pipe's later work until the flag is set, and consume it.",
    attrs=(SRC_PIPE, DST_PIPE, EVENT_ID),
    pipe=_destination,
    rules=(rules.FLAG_RANGE, rules.FLAG_PIPE),
    order=_WAITS,
    form=grammar(*_FLAG_FORMS),
)
SET_FLAG_DYN = _sync(
    "set_flag_dyn",
    "set_flag_dyn",
    "set_flag with an event id from a register.",
    index("event"),
    attrs=(SRC_PIPE, DST_PIPE),
    pipe=_source,
    rules=(rules.FLAG_RANGE, rules.FLAG_PIPE),
    order=_SETS,
    form=grammar(*_FLAG_DYN),
)
WAIT_FLAG_DYN = _sync(
    "wait_flag_dyn",
    "wait_flag_dyn",
    "wait_flag with an event id from a register.",
    index("event"),
    attrs=(SRC_PIPE, DST_PIPE),
    pipe=_destination,
    rules=(rules.FLAG_RANGE, rules.FLAG_PIPE),
    order=_WAITS,
    form=grammar(*_FLAG_DYN),
)
PIPE_BARRIER = _sync(
    "pipe_barrier",
    "barrier",
    "Later work of a pipe starts after all its earlier work; PIPE_ALL drains every pipe.",
    attrs=(_pipe_attr("pipe", "pipe"),),
    pipe=lambda site: site.attrs["pipe"],
    order=replace(_BY_COMPILER, does=Sync.BARRIER),
    form=grammar("A(pipe) {}"),
)
TSYNC = _sync(
    "TSYNC",
    "tsync",
    "Wait for the instructions that produced the given tiles or events.",
    Operand("events", variadic=1),
    order=replace(ORDERING, does=Sync.WORK),
    form=grammar("ins ~( <? %events* : T(events) ?> ) {}"),
)
_CLASSES = (
    Attr("src_op", str, None, "src_op", "pipe_event_type", dotted=True),
    Attr("dst_op", str, None, "dst_op", "pipe_event_type", dotted=True),
)
_EVENT = ("~[ A!(src_op) , A!(dst_op) , A(event_id) ] {}",)
_EVENT_RULES = (rules.EV_2, rules.FLAG_RANGE, rules.FLAG_PIPE_CLASSES, rules.PIPE_TAG)
RECORD_EVENT = _sync(
    "record_event",
    "record_event",
    "set_flag between the pipes of two operation classes.",
    attrs=(*_CLASSES, EVENT_ID),
    pipe=lambda site: class_pipe(site.src_op, site.core) or Pipe.S,
    rules=_EVENT_RULES,
    order=replace(ORDERING, does=Sync.SET),
    form=grammar(*_EVENT),
)
WAIT_EVENT = _sync(
    "wait_event",
    "wait_event",
    "wait_flag between the pipes of two operation classes.",
    attrs=(*_CLASSES, EVENT_ID),
    pipe=lambda site: class_pipe(site.dst_op, site.core) or Pipe.S,
    rules=_EVENT_RULES,
    order=replace(ORDERING, does=Sync.WAIT),
    form=grammar(*_EVENT),
)
BARRIER_SYNC = _sync(
    "barrier_sync",
    "barrier_sync",
    "Barrier on the pipe of an operation class.",
    pipe=lambda site: class_pipe(site.attrs["op"], site.core) or Pipe.S,
    rules=(rules.BA_2, rules.PIPE_TAG),
    attrs=(Attr("op", str, None, "op_type", "pipe_event_type", dotted=True),),
    order=replace(ORDERING, does=Sync.BARRIER),
    form=grammar("~[ A!(op) ] {}"),
)

# --------------------------------------------- tokens, flags between cores

_TOKEN = (
    Attr("op", str, None, "op_type", "buffer_user", dotted=True),
    Attr("id", int, None, "buf_id"),
    Attr("mode", int, None, "mode", optional=True),
)


def _token_forms(id: str) -> tuple[str, ...]:
    return (f"[ A!(op) , {id} <? , N(mode) ?> ] {{}}", f"N(op) , {id} <? , N(mode) ?> {{}}")


_TOKEN_FORMS = _token_forms("N(id)")
GET_BUF = _sync(
    "get_buf",
    "get_buf",
    "Take a buffer token: the pipe's later work waits until the token is free.",
    form=grammar(*_TOKEN_FORMS),
    attrs=_TOKEN,
    pipe=lambda site: class_pipe(site.attrs["op"], site.core) or Pipe.S,
    rules=(rules.BF_1,),
    order=_TAKES,
)
RLS_BUF = _sync(
    "rls_buf",
    "rls_buf",
    "Give a buffer token back when the pipe's earlier work is done.",
    form=grammar(*_TOKEN_FORMS),
    attrs=_TOKEN,
    pipe=lambda site: class_pipe(site.attrs["op"], site.core) or Pipe.S,
    rules=(rules.BF_1,),
    order=_GIVES,
)
for _text, _summary, _does in (("get_buf_dyn", "Take", _TAKES), ("rls_buf_dyn", "Give back", _GIVES)):
    _sync(
        _text,
        _text,
        f"{_summary} a buffer token whose number is a value.",
        index("buf"),
        attrs=(_TOKEN[0], _TOKEN[2]),
        pipe=lambda site: class_pipe(site.attrs["op"], site.core) or Pipe.S,
        form=grammar(*_token_forms("%buf:index")),
        order=_does,
    )
_CORE_FLAG = (_pipe_attr("pipe", "pipe"), Attr("event_id", int, None, "event_id", register="event"))


def _signal(m: Machine, event: Any, *, event_id: int | None, ffts_mode: int | None, **_: Any) -> None:
    """Raise the flag; its order after the pipe's work is the sanitizer's subject."""
    m.signal(int(event) if event is not None else event_id or 0, 2 if ffts_mode is None else ffts_mode)


def _await(m: Machine, event: Any, *, event_id: int | None, **_: Any) -> Callable[[], bool]:
    """True once the flag is there."""
    return m.arrival(int(event) if event is not None else event_id or 0)


_FLAG_RULES = (rules.XFLAG_RANGE, rules.XFLAG_RESERVED)
_CORE_FORMS = ("A(pipe) , <? %event ?> <? N(event_id) ?> {}",)
SYNC_SET = _sync(
    "sync.set",
    "sync.set",
    "Raise a flag between cores when the pipe's earlier work is done.",
    index("event", optional=True),
    attrs=(*_CORE_FLAG, Attr("ffts_mode", int, None, "ffts_mode", optional=True)),
    pipe=lambda site: site.attrs["pipe"],
    rules=(rules.SY_1, rules.XFLAG_MODE, rules.SY_2, rules.SY_3, *_FLAG_RULES),
    meaning=Ordering(_signal),
    order=_CORE_SIGNAL,
    form=grammar(*_CORE_FORMS),
)
SYNC_WAIT = _sync(
    "sync.wait",
    "sync.wait",
    "Hold the core (a2a3) or the pipe (a5) until a flag between cores is set.",
    index("event", optional=True),
    attrs=(*_CORE_FLAG, Attr("ffts_mode", int, None, "ffts_mode", optional=True)),
    pipe=lambda site: site.attrs["pipe"],
    rules=(rules.SY_1, rules.SY_4, *_FLAG_RULES),
    meaning=Ordering(_await),
    order=_CORE_WAIT,
    form=grammar(*_CORE_FORMS),
)
for _reach, _between, _ids in (
    ("cross", "blocks", rules.SY_5),
    ("intra", "the cores of a block", rules.SY_5_INTRA),
):
    for _like, _verb, _what in ((SYNC_SET, "set", "Raise"), (SYNC_WAIT, "wait", "Wait for")):
        instruction(
            replace(
                _like,
                name=f"{_verb}_{_reach}_block",
                text=f"{_verb}_{_reach}_block",
                summary=f"{_what} a flag between {_between}: {_like.text} by another name.",
                attrs=(*_CORE_FLAG, Attr("ffts_mode", int, None, "ffts_mode", optional=True)),
                rules=(*_like.rules, _ids),
                form=grammar("A!(pipe) , <? %event:index ?> <? N(event_id) ?> {}"),
                source="PTOAS e32488c9, PTOOps.td",
            )
        )
SET_FFTS = _sync(
    "set_ffts",
    "set_ffts",
    "Give the address of the flags between cores.",
    ptr("base"),
    order=replace(ORDERING, between_cores=True),
    form=grammar("%base {} : T(base)"),
)
_ORDERED = tuple(
    "VV_ALL VST_VLD VLD_VST VST_VST VS_ALL VST_LD VLD_ST VST_ST "
    "SV_ALL ST_VLD LD_VST ST_VST SS_ALL ST_LD LD_ST ST_ST".split()
)
"""What is ordered with what: loads and stores of registers (``VLD``, ``VST``) and of the scalar unit."""
MEM_BAR = _sync(
    "mem_bar",
    "mem_bar",
    "Order loads and stores of vector registers inside one vector scope; tile instructions need none.",
    attrs=(Attr("kind", str, words=_ORDERED),),
    pipe=Pipe.V,
    order=replace(_BY_COMPILER, does=Sync.WITHIN),
    form=grammar("N(kind) {}"),
)


class Access(IntEnum):
    """Accesses that barriers tell apart, named as they name them."""

    VLD = 0
    VST = 1
    LD = 2
    ST = 3


UNITS = {"V": (Access.VLD, Access.VST), "S": (Access.LD, Access.ST)}
"""Loads and stores of the unit of vectors, and of the scalar one."""

SCALAR = frozenset(("pto.load_scalar", "pto.store_scalar"))
"""What the scalar unit of the vector thread does with its buffer."""


def ordered_by(kind: str) -> list[tuple[Access, Access]]:
    """What a barrier orders: earlier accesses of the first class before later ones of the second."""
    first, second = kind.split("_")
    if second == "ALL":
        return [(a, b) for a in UNITS[first[0]] for b in UNITS[first[1]]]
    return [(Access[first], Access[second])]
