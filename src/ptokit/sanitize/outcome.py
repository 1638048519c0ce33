"""What a run under observation found and what it left unchecked, as data; what starts uninitialised; and what is left
when nothing can advance: DEADLOCK and FLAG-ORDER (memory-model-and-sync 11.8)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from functools import partial
from typing import Any

import numpy as np

from ptokit.diagnostics import Diagnostic, Diagnostics, Note
from ptokit.diagnostics.finding import edited
from ptokit.diagnostics.render import summary
from ptokit.ir.core import Module, Op
from ptokit.ir.facts import instr_of
from ptokit.isa.table import Sync
from ptokit.records import dataclass
from ptokit.types.dtypes import DType
from ptokit.types.enums import SECOND_CORE, Pipe
from ptokit.types.values import Ptr

from .checks.flags import unit_hint, unit_text
from .findings.insertion import Synchronisation
from .findings.race import Fix, Race, Witness
from .findings.races import Draft, Findings
from .findings.source_text import flag_text
from .simulation.core import (
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
from .simulation.queues import Simulation


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


# Who places tiles and orders pipes, and so what the sanitizer checks and what it leaves unchecked.


class SyncMode:
    """Whether the program places tiles and orders pipes itself (memory-model-and-sync 4).

    ``placed``: it gives tiles addresses. ``by_compiler``: it leaves the order of the pipes of a core to the compiler.
    ``stated``: that was said, not inferred. ``adds_flags``: it was said that the compiler adds them.
    ``between_cores``: it orders cores. ``unsure``: flags between cores that several pipes give or take.
    ``others_may_end``: waits of it may end by other signals than in the order of a launch. ``rests``: what a finding
    about the order of pipes rests on, where nothing but barriers tells that the program orders them.
    """

    def __init__(self, module: Module, stated: str | None) -> None:
        ops = [op for f in module.functions if f.body is not None for op in f.body.walk()]
        instrs = [instr for op in ops if (instr := instr_of(op)) is not None]
        ordered = [instr.order.does for instr in instrs if instr.order.only and not instr.order.between_cores]
        addressed = any(isinstance(v.type, Ptr) and v.type.space == "ub" for op in ops for v in op.results)
        self.placed = any(op.name == "pto.tassign" or (op.name in ALLOCATIONS and op.get("addr")) for op in ops)
        self.waits_for_work = any(instr.name == "TSYNC" for instr in instrs)
        self.between_cores = any(instr.order.between_cores for instr in instrs)
        self.unsure = _unsure(ops)
        asking = {instr.name for instr in instrs} & {"TWAIT", "TTEST"}
        self.others_may_end = bool(asking or self.unsure)
        self.by_compiler = not self.placed and not addressed and not ordered
        self.stated = stated is not None
        alone = not self.placed and not addressed and bool(ordered) and set(ordered) == {Sync.BARRIER}
        self.rests = _BARRIERS if alone and not self.stated else None
        self.adds_flags = stated == "auto-sync"
        if stated is not None:
            self.by_compiler = stated != "manual"
            self.placed = stated == "manual" or (stated == "auto-sync" and self.placed)


_BARRIERS = Note(
    "the program has barriers and no flags, and is taken to order its pipes itself; if it is assembled with "
    "--enable-insert-sync, --mode auto-sync leaves that order to the assembler"
)

_GIVE, _TAKE = (
    frozenset((f"sync.{verb}", *(f"{other}_{place}_block" for place in ("cross", "intra"))))
    for verb, other in (("set", "set"), ("wait", "wait"))
)


def _unsure(ops: list[Op]) -> frozenset[int]:
    """Flags between cores, without the number of a core in them, that several pipes give or several take."""
    found: set[int] = set()
    for names in (_GIVE, _TAKE):
        pipes: dict[int, set[Any]] = {event: set() for event in range(SECOND_CORE)}
        for op in ops:
            instr = instr_of(op)
            if instr is not None and instr.name in names:
                event = op.attrs.get("event_id")
                for one in pipes if event is None else (event % SECOND_CORE,):
                    pipes[one].add(op.attrs.get("pipe"))
        found.update(event for event, several in pipes.items() if len(several) > 1)
    return frozenset(found)


ALLOCATIONS = ("pto.alloc_tile", "pto.alloc_multi_tile")


@dataclass(frozen=True)
class Gap:
    """Something that was not checked. ``accepted``: whoever asked for the run said that this is left to others."""

    what: str
    why: str
    accepted: bool = False

    def __str__(self) -> str:
        return f"{self.what} {'left alone' if self.accepted else 'NOT CHECKED'}: {self.why}"

    def as_json(self) -> dict[str, Any]:
        """The object of docs/formats.md."""
        return {"what": self.what, "why": self.why, "accepted": self.accepted}


@dataclass(frozen=True)
class Coverage:
    """What a run under observation checked, in words, and what it did not."""

    checked: tuple[str, ...] = ()
    gaps: tuple[Gap, ...] = ()

    @property
    def complete(self) -> bool:
        """True if nothing was left unchecked, except what is said to be left to others."""
        return all(gap.accepted for gap in self.gaps)

    def as_json(self) -> dict[str, Any]:
        """The object of docs/formats.md."""
        out: dict[str, Any] = {"complete": self.complete, "checked": list(self.checked)}
        return {**out, "unchecked": [gap.as_json() for gap in self.gaps]}


NOTHING = Coverage(gaps=(Gap("the run", "the kernel was refused before it"),))
"""Of a kernel that has not run."""

PIPES, RANKS, BLOCKS, CORES, FLAGS, DATA, BOUNDS = (
    "order of pipes",
    "order of ranks",
    "order of blocks",
    "order of cores",
    "flags",
    "data",
    "bounds",
)


def coverage(mode: SyncMode, *, ranks: bool, in_order: bool, explained: bool, complete: bool) -> Coverage:
    """What is checked of a program. ``ranks``: it is launched on several devices. ``in_order``: the target completes
    one instruction after the other. ``explained``: the flags that a manual version needs were asked for. ``complete``:
    every core came to its end."""
    gaps = []
    between = [RANKS] if ranks else []
    if mode.by_compiler and not in_order:
        checked = [*between, CORES if mode.between_cores else BLOCKS, DATA, BOUNDS]
        why = "the program has no addresses and no flags and leaves it to the compiler (auto mode)"
        why = "the compiler adds the flags (auto-sync mode)" if mode.adds_flags else why
        gaps.append(Gap(PIPES, why, accepted=mode.stated or explained))
    else:
        checked = [PIPES, *between, CORES, FLAGS, DATA, BOUNDS]
    if not complete:
        gaps.append(Gap("the rest of the run", "a core did not come to its end"))
    return Coverage(tuple(checked), tuple(gaps))


def listed(words: tuple[str, ...]) -> str:
    """``a, b and c``."""
    return " and ".join((", ".join(words[:-1]), words[-1])) if len(words) > 1 else words[0]


# What a run under observation found, as data.


@dataclass
class Outcome:
    """What was found. ``instructions``: how many were executed and checked, over all blocks. ``coverage``: what was
    looked at; a report without findings says nothing about the rest."""

    name: str
    target: str
    blocks: int
    order: str
    diagnostics: Diagnostics = field(default_factory=Diagnostics)
    instructions: int = 0
    races: dict[Diagnostic, Race] = field(default_factory=dict)  # what is known about those that are races
    fixes: dict[Diagnostic, Fix] = field(default_factory=dict)  # what mends a finding, tried out; they belong together
    folded: dict[Diagnostic, tuple[Diagnostic, ...]] = field(default_factory=dict)  # others that have the same cause
    closed: bool = False  # whatever the arguments are, the same happens to memory
    shuffled: Witness | None = None  # what the order of `seed` changes
    synchronisation: Synchronisation | None = None  # what a manual version needs, if that was asked for
    ran: bool = False  # False if the static check already ended it
    coverage: Coverage = NOTHING
    ranks: int = 0  # devices of the launch, 0 where there is one
    arguments: list[str] = field(default_factory=list)  # in the grammar of --arg, where they were made from the text

    @property
    def errors(self) -> list[Diagnostic]:
        """Findings of error severity, by place."""
        return self.diagnostics.errors

    @property
    def warnings(self) -> list[Diagnostic]:
        """Findings of warning severity, by place."""
        return self.diagnostics.warnings

    @property
    def clean(self) -> bool:
        """True without errors and warnings; ``coverage.complete`` tells whether everything was looked at."""
        return not self.errors and not self.warnings

    def raise_if_errors(self) -> None:
        """Raise `DiagnosticError` with all findings if one of them is an error."""
        self.diagnostics.raise_if_errors()

    def fix(self, source: str, file: str | None = None) -> str:
        """A text with what mends its findings; ``source``: the text that was looked at, ``file``: its name, where
        findings are in several."""
        edits = [edit for fix in self.fixes.values() for edit in fix.edits]
        return edited(source, (edit for edit in edits if file in (None, edit.file)))

    @property
    def symptoms(self) -> list[Diagnostic]:
        """Every finding by itself, also those that have the cause of another one."""
        return [each for found in self.diagnostics for each in (found, *self.folded.get(found, ()))]

    def keep(self, found: Diagnostics) -> None:
        """Have these findings: those of its symptoms that are to be reported, and others. What is left of several with
        one cause is still one, and the first of it tells the cause."""
        left, first_of = set(found), dict[Diagnostic, Diagnostic]()
        folded, fixes = self.folded, self.fixes
        self.folded, self.fixes = {}, {}
        for first, others in folded.items():
            kept = [each for each in (first, *others) if each in left]
            if kept:
                told = first if kept[0] is first else replace(kept[0], hint=fixes[first].text)
                self.folded[told], self.fixes[told] = tuple(kept[1:]), fixes[first]
                first_of |= dict.fromkeys(kept, told)
        shown = dict.fromkeys(first_of.get(each, each) for each in found)
        self.diagnostics = Diagnostics(shown)
        self.races = {each: race for each, race in self.races.items() if each in shown}

    @property
    def verdict(self) -> str:
        """What was checked, what was found, and what was not checked, in one line."""
        found = summary(self.diagnostics) or ("notes only" if len(self.diagnostics) else "no findings")
        checked = f"checked {listed(self.coverage.checked)}: " if self.coverage.checked else ""
        return f"{checked}{found}{''.join(f'; {gap}' for gap in self.coverage.gaps)}"


# Arguments that start uninitialised.


class Uninitialised(np.ndarray):
    """An array whose contents the kernel must not rely on. Made by `uninit`."""


def uninit(shape: int | Sequence[int], dtype: DType) -> Uninitialised:
    """An output-only argument: global memory of `shape` elements that starts uninitialised (filled with 0xA5 bytes)."""
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    if dtype.packed:
        sizes = (*sizes[:-1], (sizes[-1] + 1) // 2)
    kind = np.dtype(dtype.value or dtype.storage)
    raw = np.full((int(np.prod(sizes)) * kind.itemsize,), 0xA5, np.uint8)
    return raw.view(kind).reshape(sizes).view(Uninitialised)
