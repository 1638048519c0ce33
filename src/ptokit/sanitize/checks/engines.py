"""Transfers that engines beside the pipes carry out: in the background of their core, session by session
(memory-model-and-sync 5.5, 11.1; pto-isa docs/isa/comm TPUT_ASYNC)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from ptokit.diagnostics import Note
from ptokit.ir.core import Op
from ptokit.isa.machine import AsyncEvent
from ptokit.types.enums import Pipe

from ..findings.folded import Draft, Findings
from ..memory.footprints import Touch
from ..simulation.events import Barrier, Submit, WaitWork, Work
from . import global_views
from .core import Moving, ObservedCore, Prefetch

Given = Mapping[str, Any]
Run = Callable[[], Any]


# --- prefetches: data do not change, and nothing may touch them before the event ----------------------------------


def tprefetch_async(o: ObservedCore, op: Op, given: Given, attrs: Given, run: Run) -> Any:
    """Sessions and events by number."""
    named = attrs["session"] is not None and given.get("workspace") is not None
    result = run()
    _prefetched(o, op, given, (attrs["session"], attrs["event"]) if named else None)
    return result


def prefetch_async(o: ObservedCore, op: Op, given: Given, attrs: Given, run: Run) -> Any:
    """Sessions and events as values."""
    event = run()
    _prefetched(o, op, given, (given["ctx"].session, event.handle) if event.handle else None)
    return event


def _prefetched(o: ObservedCore, op: Op, given: Given, event: tuple[Any, int] | None) -> None:
    touches = global_views.touched(o, given["src"], write=False)
    work = Work(op, "TPREFETCH_ASYNC", Pipe.S, touches=list(touches), keep=True)
    before, o.prefetches = o.prefetches, []  # prefetches do not disturb each other
    o.push(work)
    o.prefetches = before
    if event is not None and touches:
        o.prefetches.append(Prefetch(*event, work, touches))


def prefetch_wait(o: ObservedCore, op: Op, given: Given, attrs: Given, run: Run) -> Any:
    """Waiting completes the prefetch and those before it in the session."""
    run()
    o.push(WaitWork(op, "wait", Pipe.S, works=_prefetches_done(o, attrs["session"], attrs["event"])))


def _prefetches_done(o: ObservedCore, session: Any, event: int) -> tuple[Work, ...]:
    done = [p for p in o.prefetches if p.session == session and p.event <= event]
    o.prefetches = [p for p in o.prefetches if p not in done]
    return tuple(p.work for p in done)


def check_prefetches(o: ObservedCore, work: Work) -> None:
    """ASYNC-RACE: an instruction touches what a prefetch may still be reading."""
    for prefetch in o.prefetches:
        for touch in work.touches:
            for other in prefetch.touches:
                if touch.space is other.space and np.intersect1d(touch.where.granules(), other.where.granules()).size:
                    o.report("ASYNC-RACE", work.op, prefetch.work.op, partial(_early, work, prefetch.work, touch))


def _early(work: Work, prefetch: Work, touch: Touch) -> Draft:
    verb = "writes" if touch.write else "reads"
    message = f"{work.name} {verb} {touch.name} before {prefetch.name} has been waited for"
    note = Note("the transfer starts here", prefetch.op.location)
    return Draft(message, work.op.location, "event.wait(session) first", [note])


# --- transfers between devices: each session is a stream of its own ------------------------------------------------


def build(o: ObservedCore, op: Op, given: Given, attrs: Given, run: Run) -> Any:
    """A session; its scratch tile holds nothing of the program's."""
    return run()


def transfer(name: str, o: ObservedCore, op: Op, given: Given, attrs: Given, run: Run) -> Any:
    """All pipes end, then the engine of the session gets the transfer."""
    dst, src = given["dst"], given["src"]
    sides = [global_views.stays_in_memory(o, op, name, operand, given[operand]) for operand in ("dst", "src")]
    o.push(Barrier(op, name, Pipe.ALL))
    o.catch_up(Pipe.S)
    if not all(sides):
        return AsyncEvent()
    event = run()
    global_views.whole(dst, src)
    touches = [*global_views.touched(o, src, write=False), *global_views.touched(o, dst, write=True)]
    work = Work(op, name, Pipe.MTE3, touches=touches, keep=True)
    o.push(Submit(op, name, Pipe.S, session=given["session"], work=work))
    o.moving.append(Moving(given["session"], event.handle, work))
    return event


def wait(o: ObservedCore, op: Op, given: Given, attrs: Given, run: Run) -> Any:
    """What the event stands for is over, and what came before it in its session."""
    result = run()
    session, event = given["session"], given["event"].handle
    done = [m for m in o.moving if m.session is session and m.event <= event]
    o.moving = [m for m in o.moving if m not in done]
    works = (*_prefetches_done(o, session, event), *(m.work for m in done))
    name = op.name.removeprefix("pto.").removeprefix("comm.")
    o.push(WaitWork(op, name, Pipe.S, works=works))
    return result


def left_moving(o: ObservedCore, findings: Findings) -> None:
    """ASYNC-UNWAITED: transfers whose events nobody has waited for by the end of the core's program."""
    for moving in o.moving:

        def make(work: Work = moving.work) -> Draft:
            message = f"nothing waits for this {work.name}: when the kernel ends it may not be over"
            return Draft(message, work.op.location, "wait for its event, or a later one of the session")

        findings.add("ASYNC-UNWAITED", moving.work.op, o.core, moving.work, make)


HANDLERS: dict[str, Callable[[ObservedCore, Op, Given, Given, Run], Any]] = {
    "TPREFETCH_ASYNC": tprefetch_async,
    "prefetch_wait": prefetch_wait,
    "prefetch_async": prefetch_async,
    "build_async_session": build,
    "tput_async": partial(transfer, "TPUT_ASYNC"),
    "tget_async": partial(transfer, "TGET_ASYNC"),
    "wait_async_event": wait,
    "test_async_event": wait,
}
