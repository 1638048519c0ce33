"""What cores say to each other beyond flags: SYNCALL, signals in global memory, the scalar unit's cache
(memory-model-and-sync 5.5, 6.2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from ptokit.ir.core import Op
from ptokit.isa.order.core_sync import COMPARE, CORE_KINDS, signal_values
from ptokit.machine.global_memory import Pointer, View
from ptokit.machine.lanes import uniform
from ptokit.types.enums import NotifyOp, Pipe

from ..memory.footprints import Touch
from ..simulation.core import OWN_FLAG, Barrier, Meet, SetFlag, WaitFlag, WaitWork, Work
from ..simulation.givers import Source
from . import engines, pipes, placement
from .core import ObservedCore

Given = Mapping[str, Any]
Run = Callable[[], Any]

SIGNAL = ("signal",)
"""Kind of the accesses of TNOTIFY, TWAIT and TTEST, which never race with each other."""

WHOLE_CACHE = -1


def syncall(o: ObservedCore, op: Op, given: Given, attrs: Given, run: Run) -> Any:
    used = given.get("used")
    count = 0 if used is None else int(uniform(used))
    o.push(Meet(op, "SYNCALL", Pipe.S, key=(CORE_KINDS[attrs["core_type"]], count)))
    return run()


def tnotify(o: ObservedCore, op: Op, given: Given, attrs: Given, run: Run) -> Any:
    signal = given["signal"]
    touches = placement.touched(o, signal, write=True, kind=SIGNAL)
    work = Work(op, "TNOTIFY", Pipe.S, touches=touches, keep=True)
    before = _values(signal) if touches else []
    run()
    for touch in touches:
        fresh = attrs["op"] is NotifyOp.Set
        o.simulation.signals.give(touch, o.core.index, work, before, _values(signal), fresh=fresh)
    o.push(work)
    o.push(Barrier(op, "TNOTIFY", Pipe.ALL))


def twait(o: ObservedCore, op: Op, given: Given, attrs: Given, run: Run) -> Any:
    over = run()
    wait = WaitWork(op, "TWAIT", Pipe.S, works=None, reason=over.reason)
    o.push(wait)

    def seen() -> bool:
        if not over():
            return False
        touches = placement.touched(o, given["signal"], write=False, kind=SIGNAL)
        wait.works, wait.sources = _behind(o, touches, given, attrs)
        o.simulation.resume(o.core)
        o.push(Work(op, "TWAIT", Pipe.S, touches=touches))
        return True

    return replace(over, over=seen)


def ttest(o: ObservedCore, op: Op, given: Given, attrs: Given, run: Run) -> Any:
    asked = run()

    def answer() -> bool:
        result = bool(asked())
        touches = placement.touched(o, given["signal"], write=False, kind=SIGNAL)
        if result:
            works, sources = _behind(o, touches, given, attrs)
            o.push(WaitWork(op, "TTEST", Pipe.S, works=works, sources=sources))
        o.push(Work(op, "TTEST", Pipe.S, touches=touches))
        return result

    return replace(asked, over=answer)


def _values(signal: View) -> list[int]:
    """The values of signals now."""
    values = signal_values(signal).reshape(-1).tolist()
    assert signal.buffer is not None
    if signal.buffer.chosen:
        signal.buffer.chosen.clear()
    return values


def _behind(o: ObservedCore, touches: list[Touch], given: Given, attrs: Given) -> tuple[tuple[Work, ...], list[Source]]:
    """The notifications that have been waited for, and what may have been."""
    compare, value = COMPARE[attrs["cmp"]], int(uniform(given["value"]))
    count = len(_values(given["signal"]))
    works: list[Work] = []
    sources: list[Source] = []
    for touch in touches:
        found = o.simulation.signals.behind(touch, o.core.index, count, lambda now: bool(compare(now, value)))
        works += found[0]
        sources += found[1]
    return tuple(works), sources


def dcci(o: ObservedCore, op: Op, given: Given, attrs: Given, run: Run) -> Any:
    """The cache is that of global memory: a line of another buffer is none of its own."""
    pointer = given.get("ptr")
    if pointer is None or attrs.get("cache") == "ENTIRE_DATA_CACHE":
        o.push(Work(op, "dcci", Pipe.S, clean=(None, WHOLE_CACHE)))
    elif isinstance(pointer, Pointer):
        _clean(o, op, "dcci", pointer)


def cacheinvalid(o: ObservedCore, op: Op, given: Given, attrs: Given, run: Run) -> Any:
    address = given.get("addr")
    if address is None:
        o.push(Work(op, "cmo.cacheinvalid", Pipe.S, clean=(None, WHOLE_CACHE)))
    elif isinstance(address, Pointer | View):
        _clean(o, op, "cmo.cacheinvalid", address)


def _clean(o: ObservedCore, op: Op, name: str, at: Pointer | View) -> None:
    """The line that an address in global memory lies in."""
    if at.buffer is not None:
        memory, origin = o.memories[id(at.buffer.whole)]
        o.push(Work(op, name, Pipe.S, clean=(memory, origin + int(uniform(at.offset)) * at.dtype.size)))


_DRAINED = (Pipe.MTE2, Pipe.MTE3, Pipe.FIX)
"""Pipes that a fence drains on cores that are not vector cores (PTOAS, PTOOps.td)."""


def fence(o: ObservedCore, op: Op, given: Given, attrs: Given, run: Run) -> Any:
    """A fence of global memory drains the pipes first: all of a vector core, those that move data of another."""
    run()
    name = "fence.barrier_all"
    if attrs["scope"] == "local_memory":
        return
    if o.core.kind == "vector":
        o.push(Barrier(op, name, Pipe.ALL))
        return
    for pipe in _DRAINED:
        o.push(SetFlag(op, name, pipe, key=(pipe, Pipe.S, OWN_FLAG)))
        o.push(WaitFlag(op, name, Pipe.S, key=(pipe, Pipe.S, OWN_FLAG)))


def dsb(o: ObservedCore, op: Op, given: Given, attrs: Given, run: Run) -> Any:
    """Order of the scalar unit's own writes; nothing here waits for it."""


HANDLERS: dict[str, Callable[[ObservedCore, Op, Given, Given, Run], Any]] = {
    "SYNCALL": syncall,
    "TNOTIFY": tnotify,
    "TWAIT": twait,
    "TTEST": ttest,
    "dcci": dcci,
    "cmo.cacheinvalid": cacheinvalid,
    "fence.barrier_all": fence,
    "dsb": dsb,
    **engines.HANDLERS,
    **dict.fromkeys(pipes.OPERATIONS, pipes.handle),
    **dict.fromkeys(engines.OPERATIONS, engines.handle),
}
"""By the instruction's name: report it, execute it with `run`, and give its result."""
