"""Transfers between devices that a transfer engine carries out in the background (pto-isa docs/isa/comm TPUT_ASYNC).

A transfer is submitted once all pipes of the core have ended. It and those before it in its session are over when its
event has been waited for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ptokit.types.enums import Pipe

from ..async_sessions import AsyncEvent, AsyncSession
from ..machine import Machine, ViewOperand
from ..meaning.transfers import transferred
from ..pending import handle, number
from ..table import Attr, Instr, Operand, Role, grammar, instruction, src, view
from ..traits import BETWEEN_CORES

_SOURCE = "PTOAS e32488c9 PTOOps.td; pto-isa docs/isa/comm"


def build(m: Machine, scratch: Any, workspace: Any, **_: Any) -> AsyncSession:
    """A session of its own; what is configured has no effect on values or order."""
    return AsyncSession()


def transfer(m: Machine, dst: ViewOperand, src: ViewOperand, session: AsyncSession) -> AsyncEvent:
    """``dst = src``, and the event of the transfer."""
    transferred(m, dst, src, rows=False)
    return AsyncEvent(session.submit())


def wait(m: Machine, event: AsyncEvent, session: AsyncSession) -> bool:
    """Complete the event, and those before it."""
    return event.wait(session)


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
            source=_SOURCE,
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
