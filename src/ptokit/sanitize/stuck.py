"""What is left when nothing can advance: DEADLOCK and FLAG-ORDER (memory-model-and-sync 11.8)."""

from __future__ import annotations

from functools import partial

from ptokit.diagnostics import Note

from .events import AwaitSignal, Barrier, GetToken, Item, SetFlag, WaitFlag, WaitWork
from .findings import Draft, Findings
from .flags import flag_text
from .queues import Core


def report_stuck(cores: list[Core], findings: Findings) -> bool:
    """Report everything that is blocked; True if something is."""
    stuck = [core for core in cores if core.blocked]
    misplaced = False
    for core in stuck:
        head = core.stream[0] if core.stream else None
        if isinstance(head, WaitFlag) and not _queued(core, head) and (later := _later(core, head)) is not None:
            misplaced = True
            findings.add("FLAG-ORDER", head.op, core, head, partial(_order, head, later))
    if stuck and not misplaced:
        for core in stuck:
            heads = core.blocked
            findings.add("DEADLOCK", tuple(h.op for h in heads), core, heads[0], partial(_deadlock, core, heads))
    return bool(stuck)


def _queued(core: Core, wait: WaitFlag) -> SetFlag | None:
    """A set of the flag that has been issued but stands behind something."""
    return next(
        (i for queue in core.queues.values() for i in queue if isinstance(i, SetFlag) and i.key == wait.key), None
    )


def _later(core: Core, wait: WaitFlag) -> SetFlag | None:
    """A set of the flag that the scalar unit has not issued."""
    return next((i for i in core.stream if isinstance(i, SetFlag) and i.key == wait.key), None)


def _order(head: WaitFlag, later: SetFlag) -> Draft:
    message = f"the scalar unit waits for flag ({flag_text(head.key)}) before it issues the set"
    note = Note("this set is issued only after the wait", later.op.location)
    return Draft(message, head.op.location, "move the set_flag before the wait_flag", [note])


def _deadlock(core: Core, heads: list[Item]) -> Draft:
    texts = [_why(core, head) for head in heads]
    message = f"deadlock: {texts[0][0]}"
    notes = [Note(text, location.op.location) for (text, _), location in zip(texts[1:], heads[1:])]
    for (_, setter), _head in zip(texts, heads):
        if setter is not None:
            notes.append(Note("the set stands here, behind what is blocked", setter.op.location))
    return Draft(message, heads[0].op.location, None, notes)


def _why(core: Core, head: Item) -> tuple[str, Item | None]:
    """What a blocked item waits for, and the item that would satisfy it."""
    who = "the scalar unit" if core.stream and core.stream[0] is head else head.pipe.text
    match head:
        case WaitFlag():
            setter = _queued(core, head) or _later(core, head)
            tail = "whose set cannot be reached" if setter is not None else "and no set of it exists"
            return f"{who} waits for flag ({flag_text(head.key)}), {tail}", setter
        case AwaitSignal():
            return f"{who} waits for flag {head.event} between cores, which is not raised", None
        case GetToken():
            holder = core.tokens.get(head.token, (None, None))[0]
            by = holder.text if holder is not None else "nobody"
            return f"{who} waits for token {head.token}, held by {by}", None
        case Barrier():
            return f"{who} waits at a barrier for all pipes", None
        case WaitWork():
            return f"{who} waits in TSYNC for work that is blocked", None
        case _:
            return f"{who} is blocked at {head.name}", None
