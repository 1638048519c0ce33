"""What is left when nothing can advance: DEADLOCK and FLAG-ORDER (memory-model-and-sync 11.8)."""

from __future__ import annotations

from functools import partial

from ptokit.diagnostics import Note
from ptokit.types.enums import Pipe

from ..findings.races import Draft, Findings
from ..findings.source_text import flag_text
from ..simulation.core import (
    AwaitSignal,
    AwaitSlot,
    Barrier,
    Core,
    GetToken,
    Item,
    Meet,
    SetFlag,
    WaitFlag,
    WaitWork,
    Work,
)
from ..simulation.queues import Simulation
from .flags import unit_hint, unit_text


def report_stuck(simulation: Simulation, findings: Findings) -> None:
    """Report every core that is blocked, except those that may wait for one which is at fault itself."""
    stuck = [core for core in simulation.cores if core.ended and core.blocked]
    at_fault = {core for core in simulation.cores if not core.ended}
    for core in stuck:
        head = core.stream[0] if core.stream else None
        if isinstance(head, WaitFlag) and not _queued(core, head) and (later := _later(core, head)) is not None:
            at_fault.add(core)
            findings.add("FLAG-ORDER", head.op, core, head, partial(_order, head, later))
    for core in stuck:
        heads = core.blocked
        if core in at_fault or (at_fault and any(map(_between, heads))):
            continue
        missing = _missing(simulation, core)
        if missing:
            findings.add("SYNCALL-MISMATCH", heads[0].op, core, heads[0], partial(_mismatch, heads[0], missing))
            continue
        findings.add("DEADLOCK", tuple(h.op for h in heads), core, heads[0], partial(_deadlock, core, heads))


def _between(head: Item) -> bool:
    """True for an item that waits for other cores."""
    return isinstance(head, AwaitSignal | Meet) or (isinstance(head, WaitWork) and head.works is None)


def _missing(simulation: Simulation, core: Core) -> list[Core]:
    """The cores that one waits for in a SYNCALL, if all have ended or wait in a SYNCALL of other cores."""
    head = core.stream[0] if core.stream else None
    if not isinstance(head, Meet) or not head.times:
        return []
    missing = [simulation.cores[i] for i in simulation.meetings.missing(core.index, head.key, head.times)]
    for other in missing:
        at = other.stream[0] if other.stream else None
        if other.blocked and not (isinstance(at, Meet) and at.times and at.key != head.key):
            return []
    return missing


def _mismatch(head: Item, missing: list[Core]) -> Draft:
    others = [core.stream[0] for core in missing if core.stream]
    what = "waits in another SYNCALL" if others else "has ended without it"
    more = f" and {len(missing) - 1} other cores" if len(missing) > 1 else ""
    message = f"SYNCALL waits for {missing[0].place}{more}, which {what}"
    notes = [Note("this SYNCALL joins other cores", others[0].op.location)] if others else []
    return Draft(message, head.op.location, "call it on all of these cores, equally often", notes)


def _queued(core: Core, wait: WaitFlag) -> SetFlag | None:
    """A set of the flag that has been issued and is queued after something."""
    return next(
        (i for queue in core.queues.values() for i in queue if isinstance(i, SetFlag) and i.key == wait.key), None
    )


def _later(core: Core, wait: WaitFlag) -> SetFlag | None:
    """A set of the flag that the scalar unit has not issued."""
    return next((i for i in core.stream if isinstance(i, SetFlag) and i.key == wait.key), None)


def _order(head: WaitFlag, later: SetFlag) -> Draft:
    message = f"the scalar unit waits for flag ({flag_text(head.key, head.op)}) before it issues the set"
    note = Note("this set is issued only after the wait", later.op.location)
    return Draft(message, head.op.location, "move the set_flag before the wait_flag", [note])


def _deadlock(core: Core, heads: list[Item]) -> Draft:
    """One line for every blocked pipe, the sets that cannot be reached, and the cycle if there is one."""
    texts = [_why(core, head) for head in heads]
    notes = [Note(text, head.op.location) for text, head in zip(texts[1:], heads[1:])]
    for head in heads:
        setter = _setter(core, head)
        if setter is not None:
            lane = _lane(core, _head_of(core, setter))
            text = f"this set is never reached: it is queued after what {lane} waits for"
            notes.append(Note(text, setter.op.location))
    cycle = _cycle(core, heads)
    hint = None
    if cycle:
        notes.append(Note(f"the cycle: {' → '.join(cycle)}"))
    elif flags := [unit_hint(core, head) for head in heads if isinstance(head, Work) and head.use is not None]:
        hint = flags[0]
    elif any(isinstance(head, WaitFlag) and _setter(core, head) is None for head in heads):
        hint = "add the missing set_flag, or remove the wait"
    return Draft(f"deadlock: {texts[0]}", heads[0].op.location, hint, notes)


def _lane(core: Core, head: Item) -> str:
    """What a blocked item holds up: the scalar unit, or its pipe."""
    return "the scalar unit" if core.stream and core.stream[0] is head else head.pipe.text


def _head_of(core: Core, item: Item) -> Item:
    """The blocked item that one waits after."""
    return next((queue[0] for queue in core.queues.values() if item in queue), None) or core.stream[0]


def _setter(core: Core, head: Item) -> SetFlag | None:
    return _queued(core, head) or _later(core, head) if isinstance(head, WaitFlag) else None


def _holders(head: GetToken) -> list[Pipe]:
    """The pipes that take the token before this one and have not given it back."""
    return [get.pipe for get in head.after if get.released is None]


def _blockers(core: Core, head: Item) -> list[Item]:
    """The blocked items of the same core that have to go before this one can."""
    match head:
        case WaitFlag():
            setter = _setter(core, head)
            return [] if setter is None else [_head_of(core, setter)]
        case GetToken():
            return [core.queues[pipe][0] for pipe in _holders(head) if core.queues.get(pipe)]
        case Barrier() | WaitWork():
            return [queue[0] for queue in core.queues.values() if queue]
        case _:
            return []


def _cycle(core: Core, heads: list[Item]) -> list[str]:
    """The pipes that wait for one another, the first again at the end; empty if none do."""
    for start in heads:
        reached: dict[Item, Item | None] = {start: None}
        pending = [start]
        while pending:
            item = pending.pop(0)
            for blocker in _blockers(core, item):
                if blocker is start:
                    path = [start]
                    back: Item | None = item
                    while back is not None:
                        path.append(back)
                        back = reached[back]
                    return [_lane(core, step) for step in reversed(path)]
                if blocker not in reached:
                    reached[blocker] = item
                    pending.append(blocker)
    return []


def _why(core: Core, head: Item) -> str:
    """What a blocked item waits for."""
    who = _lane(core, head)
    match head:
        case WaitFlag():
            setter = _setter(core, head)
            if setter is None:
                return f"{who} waits for flag ({flag_text(head.key, head.op)}), and no set of it exists"
            before = _lane(core, _head_of(core, setter))
            where = f"whose set in line {setter.op.location.line} is queued after what {before} waits for"
            return f"{who} waits for flag ({flag_text(head.key, head.op)}), {where}"
        case AwaitSlot(waiting=waiting) if waiting is not None:
            return f"{who} waits for {waiting.why}"
        case AwaitSignal():
            return f"{who} waits for flag {head.event} between cores, which is not raised"
        case GetToken():
            holders = ", ".join(pipe.text for pipe in _holders(head))
            return f"{who} waits for token {head.token}, held by {holders}"
        case Work() if head.use is not None:
            return f"{who} waits in {head.name} for {unit_text(core, head)}"
        case Barrier():
            return f"{who} waits at a barrier for all pipes"
        case WaitWork() if head.works is None:
            assert head.reason is not None
            return f"{who} waits in {head.name} for {head.reason()}"
        case Meet():
            return f"{who} waits in SYNCALL for other cores"
        case WaitWork():
            return f"{who} waits in TSYNC for work that is blocked"
        case _:
            return f"{who} is blocked at {head.name}"
