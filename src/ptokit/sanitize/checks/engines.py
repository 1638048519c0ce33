"""Transfers by engines and between devices, SYNCALL, signals in global memory, the scalar unit's cache."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ptokit.diagnostics import Diagnostics, Note
from ptokit.ir.core import Function, Module, Op
from ptokit.ir.facts import instr_of
from ptokit.isa.machine import AsyncEvent
from ptokit.isa.order.core_sync import COMPARE, CORE_KINDS, signal_values
from ptokit.isa.table import Role
from ptokit.machine.buffers import Buffer
from ptokit.machine.global_memory import Pointer, View
from ptokit.machine.lanes import uniform
from ptokit.machine.tiles import Tile
from ptokit.types.enums import NotifyOp, Pipe

from ..findings.races import Draft, Findings
from ..memory.gm import Located, tile_region
from ..simulation.clocks import Touch, footprint
from ..simulation.core import OWN_FLAG, Barrier, Meet, SetFlag, Source, Submit, WaitFlag, WaitWork, Work
from . import core, placement
from .core import Moving, ObservedCore, Prefetch

# Transfers that engines beside the pipes carry out: in the background of their core, session by session
# (memory-model-and-sync 5.5, 11.1; pto-isa docs/isa/comm TPUT_ASYNC).


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
    session = getattr(given["ctx"], "session", given["ctx"])
    _prefetched(o, op, given, (session, event.handle) if event.handle else None)
    return event


def _prefetched(o: ObservedCore, op: Op, given: Given, event: tuple[Any, int] | None) -> None:
    touches = placement.touched(o, given["src"], write=False)
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
    sides = [placement.stays_in_memory(o, op, name, operand, given[operand]) for operand in ("dst", "src")]
    o.push(Barrier(op, name, Pipe.ALL))
    o.catch_up(Pipe.S)
    if not all(sides):
        return AsyncEvent()
    event = run()
    placement.whole(dst, src)
    touches = [*placement.touched(o, src, write=False), *placement.touched(o, dst, write=True)]
    work = Work(op, name, Pipe.MTE3, touches=touches, keep=True)
    o.push(Submit(op, name, Pipe.S, session=given["session"], work=work))
    o.moving.append(Moving(given["session"], event.handle, work))
    return event


def wait(o: ObservedCore, op: Op, given: Given, attrs: Given, run: Run) -> Any:
    """What the event tells of is over, and what came before it in its session."""
    result = run()
    session, event = given["session"], given["event"]
    event = event if isinstance(event, int) else event.handle
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


TRANSFERS: dict[str, Callable[[ObservedCore, Op, Given, Given, Run], Any]] = {
    "TPREFETCH_ASYNC": tprefetch_async,
    "prefetch_wait": prefetch_wait,
    "prefetch_async": prefetch_async,
    "build_async_session": build,
    "tput_async": partial(transfer, "TPUT_ASYNC"),
    "tget_async": partial(transfer, "TGET_ASYNC"),
    "wait_async_event": wait,
    "test_async_event": wait,
}


# Transfers between devices under observation: what they read and write of global memory, and the tiles they need.


def handle(o: ObservedCore, op: Op, given: Mapping[str, Any], attrs: Mapping[str, Any], run: Callable[[], Any]) -> Any:
    """A transfer loads its source into tiles, and stores them; where it adds up, the vector pipe does that between.

    The pipes are in order inside, and loads that follow come after the stores; nothing else waits for the stores
    (pto-isa include/pto/comm). One with a part that leaves its memory is reported and left out.
    """
    instr = instr_of(op)
    assert instr is not None
    sides: dict[bool, list[Touch]] = {False: [], True: []}  # of global memory, by whether they write
    tiles: list[tuple[Tile, str]] = []
    views: list[View] = []
    in_memory = True
    for operand in instr.operands:
        value = given.get(operand.name)
        role = operand.role
        for part in value if isinstance(value, list | tuple) else (value,):
            if isinstance(part, View):
                views.append(part)
                in_memory = placement.stays_in_memory(o, op, instr.name, operand.name, part) and in_memory
                write = role is Role.OUT
                kind = placement.atomic_kind(attrs.get("atomic"), part) if write else None
                sides[write] += placement.touched(o, part, write=write, kind=kind)
            elif isinstance(part, Tile):
                tiles.append((part, operand.name))
    o.catch_up(Pipe.MTE2)
    result = run() if in_memory else None
    placement.whole(*views)
    adds = "acc" in given
    loaded = [_staged(o, tile, name, write=True) for tile, name in tiles]
    o.push(Work(op, instr.name, Pipe.MTE2, touches=[*sides[False], *loaded]))
    stored = [_staged(o, tile, name, write=False) for tile, name in tiles if not adds or name == "acc"]
    if adds:
        _order(o, op, instr.name, Pipe.MTE2, Pipe.V)
        o.push(Work(op, instr.name, Pipe.V, touches=[_staged(o, t, n, write=n == "acc") for t, n in tiles]))
    _order(o, op, instr.name, Pipe.V if adds else Pipe.MTE2, Pipe.MTE3)
    o.push(Work(op, instr.name, Pipe.MTE3, touches=[*stored, *sides[True]]))
    _order(o, op, instr.name, Pipe.MTE3, Pipe.MTE2)
    return result


def _order(o: ObservedCore, op: Op, name: str, first: Pipe, second: Pipe) -> None:
    """The transfer's own flag."""
    o.push(SetFlag(op, name, first, key=(first, second, OWN_FLAG)))
    o.push(WaitFlag(op, name, second, key=(first, second, OWN_FLAG)))


def _staged(o: ObservedCore, tile: Tile, operand: str, *, write: bool) -> Touch:
    """The access to a tile that data pass through: all of it, what it held before is gone."""
    space = o.space_of(tile.storage.arena, tile.spec.loc, f"tile {tile.name}")
    region = tile_region(tile, tile.spec.rows, tile.spec.cols)
    return Touch(space, write, footprint(region), tile.name, operand, region)


OPERATIONS = (
    *(f"comm.{name}" for name in ("tput", "tget", "tbroadcast", "tgather", "tscatter", "treduce")),
    *("TPUT", "TGET", "TBROADCAST", "TREDUCE", "GROUP_GATHER", "GROUP_SCATTER"),
)
"""Names of the transfers."""


# Outputs that a launch has written in part: GM-UNWRITTEN.


def report_unwritten(
    module: Module, kernel: Function, blocks: int, outputs: Iterable[tuple[Buffer, Located]], found: Diagnostics
) -> None:
    """Report the outputs that are written in part, when all blocks have ended.

    ``outputs``: arguments that started uninitialised, with their memory.
    """
    ops = (op for f in module.functions if f.body is not None for op in f.body.walk())
    by_block = any(op.name == "pto.get_block_idx" for op in ops)
    for buffer, (memory, start) in outputs:
        if memory.valid is None or memory.read:
            continue
        first, last = start // memory.granule, (start + buffer.mem.nbytes) // memory.granule
        valid = memory.valid[first:last]
        per = buffer.nelem / len(valid) if len(valid) else 0  # elements of a granule
        written = int(valid.sum())
        if not 0 < written < len(valid):
            continue
        missing, total = int((len(valid) - written) * per), int(len(valid) * per)
        message = f"{missing:,} of {total:,} elements of {buffer.shown} were never written"
        hint = "store to all of it, or pass an argument of the size that is stored"
        share, left = divmod(written, blocks)
        if by_block and not left and len(valid) % share == 0 and valid[:written].all():
            each, needed = int(share * per), len(valid) // share
            now = "1 block has" if blocks == 1 else f"{blocks} blocks have"
            hint = f"launch {needed} blocks: {now} written {each:,} elements{'' if blocks == 1 else ' each'}"
        found.warning("GM-UNWRITTEN", message, kernel.location, hint=hint)


# What cores say to each other beyond flags: SYNCALL, signals in global memory, the cache of the scalar unit
# (memory-model-and-sync 5.5, 6.2).


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
        wait.works, wait.sources = _notified(o, touches, given, attrs)
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
            works, sources = _notified(o, touches, given, attrs)
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


def _notified(
    o: ObservedCore, touches: list[Touch], given: Given, attrs: Given
) -> tuple[tuple[Work, ...], list[Source]]:
    """The notifications that have been waited for, and what may have been."""
    compare, value = COMPARE[attrs["cmp"]], int(uniform(given["value"]))
    count = len(_values(given["signal"]))
    works: list[Work] = []
    sources: list[Source] = []
    for touch in touches:
        found = o.simulation.signals.notifications(touch, o.core.index, count, lambda now: bool(compare(now, value)))
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

_ISSUED = (*_DRAINED, Pipe.MTE1, Pipe.M, Pipe.V)
"""Pipes that the scalar unit issues instructions to."""


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
    """The scalar unit goes on once its writes are done, so all that it issues afterwards comes after them."""
    for pipe in _ISSUED:
        o.push(SetFlag(op, "dsb", Pipe.S, key=(Pipe.S, pipe, OWN_FLAG)))
        o.push(WaitFlag(op, "dsb", pipe, key=(Pipe.S, pipe, OWN_FLAG)))


HANDLERS: dict[str, Callable[[ObservedCore, Op, Given, Given, Run], Any]] = {
    "SYNCALL": syncall,
    "TNOTIFY": tnotify,
    "TWAIT": twait,
    "TTEST": ttest,
    "dcci": dcci,
    "cmo.cacheinvalid": cacheinvalid,
    "fence.barrier_all": fence,
    "dsb": dsb,
    **TRANSFERS,
    **dict.fromkeys(core.OPERATIONS, core.handle),
    **dict.fromkeys(OPERATIONS, handle),
}
"""By the instruction's name: report it, execute it with `run`, and give its result."""
