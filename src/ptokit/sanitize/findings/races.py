"""What a race report says, and findings of one kind at one pair of places, folded and counted."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import field, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np

from ptokit.diagnostics import Diagnostic, Diagnostics, Location, Note, Severity, lookup
from ptokit.ir.core import Op
from ptokit.records import dataclass
from ptokit.types.enums import Pipe

from ..memory.gm import Memory
from ..simulation.clocks import Touch, common, rectangle
from ..simulation.core import ENGINE, Core, Item, Loops, Signal, Work, timelines
from .addresses import PLACES
from .insertion import Insertion
from .race import Access, Fix, Race, Span
from .source_text import barrier_code, flag_code

if TYPE_CHECKING:
    from .repair import Cause, Repairs


# Findings of one kind at one pair of places, folded: counted, with the first of them as the example.


COUNTED = 100_000
"""Iterations of one finding that are told apart."""


class Reported(Protocol):
    """A report, as far as findings go into it."""

    diagnostics: Diagnostics
    races: dict[Diagnostic, Race]
    fixes: dict[Diagnostic, Fix]
    folded: dict[Diagnostic, tuple[Diagnostic, ...]]


@dataclass(slots=True)
class Draft:
    """What a finding says; made for the first of its kind only."""

    message: str
    location: Location
    hint: str | None = None
    notes: list[Note] = field(default_factory=list)
    race: Race | None = None
    severity: Severity | None = None  # where it is not that of the rule
    spare: bool = False  # about bytes beyond a valid region: PAD-READ, if no result depends on them


@dataclass(slots=True)
class Folded:
    """Findings that count as one."""

    rule: str
    draft: Draft
    example: str
    times: int = 0
    blocks: set[int] = field(default_factory=set)
    iterations: set[Loops] = field(default_factory=set)


class Findings:
    """All findings of a run, in the order they were first made. ``rests``: what those about pipes of a core rest on."""

    def __init__(self, rests: Note | None = None) -> None:
        self.rests = rests
        self._folded: dict[tuple[str, Hashable], Folded] = {}

    def add(self, rule: str, key: Hashable, core: Core, item: Item | None, make: Callable[[], Draft]) -> Folded:
        """Count a finding; ``key`` tells what counts as the same one. Gives the entry that counts it."""
        folded = self._folded.get((rule, key))
        if folded is None:
            loops = item.loops if item is not None else ()
            folded = Folded(rule, make(), ", ".join([core.place, *(f"{name} = {value}" for name, value in loops)]))
            self._folded[rule, key] = folded
        folded.times += 1
        folded.blocks.add(core.block)
        if item is not None and item.loops and len(folded.iterations) < COUNTED:
            folded.iterations.add(item.loops)
        return folded

    def has(self, rule: str) -> bool:
        """True if there is a finding of that rule."""
        return any(name == rule for name, _ in self._folded)

    def at(self, op: Op, *rules: str) -> bool:
        """True if one of the rules has a finding whose key begins with `op`."""
        return any(rule in rules and isinstance(key, tuple) and key[0] is op for rule, key in self._folded)

    @property
    def spare(self) -> list[Folded]:
        """Unwritten bytes that are read beyond the valid regions of tiles."""
        return [folded for folded in self._folded.values() if folded.rule == "UNINIT-READ" and folded.draft.spare]

    @property
    def keys(self) -> list[tuple[str, Hashable]]:
        """Rule and key of every finding."""
        return list(self._folded)

    def into(self, report: Reported, insertion: Insertion, repairs: Repairs | None = None) -> None:
        """Add every finding, unless the same rule already has one at that place: races with what is known about them,
        and those of one cause as one, with what mends it. A race that no change was tried for has the plain fix, which
        says so; one that all have failed for has none."""
        found, causes = report.diagnostics, repairs.causes if repairs is not None else []
        unmended = repairs.unmended if repairs is not None else set()
        known = {(d.rule, d.location) for d in found}
        cause_of = {key: cause for cause in causes for key in cause.keys}
        made: dict[tuple[str, Hashable], tuple[Diagnostic, Race | None]] = {}
        for key, folded in self._folded.items():
            if (folded.rule, folded.draft.location) not in known:
                made[key] = self._diagnostic(folded, cause_of.get(key), None if key in unmended else insertion)
        shown: set[int] = set()
        for key, (diagnostic, race) in made.items():
            cause = cause_of.get(key)
            if cause is not None:
                if id(cause) in shown:
                    continue
                shown.add(id(cause))
                several = {made[other][0]: made[other][1] for other in cause.keys if other in made}
                first = min(several, key=lambda d: (d.severity is not Severity.ERROR, _FIRST.get(d.rule, _FIRST[""])))
                race = several.pop(first)
                notes = [*(note for note in first.notes if note.message != cause.words), *_also(list(several))]
                message = f"{cause.words}: {first.message}" if cause.words not in ("", first.message) else first.message
                diagnostic = replace(first, message=message, hint=cause.fix.text, notes=tuple(notes))
                report.fixes[diagnostic] = cause.fix
                report.folded[diagnostic] = tuple(several)
            found.add(diagnostic)
            if race is not None:
                report.races[diagnostic] = race

    def _diagnostic(
        self, folded: Folded, cause: Cause | None, insertion: Insertion | None
    ) -> tuple[Diagnostic, Race | None]:
        """One finding by itself; ``insertion``: None where no change mends it."""
        draft = folded.draft
        notes = [*draft.notes, Note(f"at {folded.example}{_extent(folded)}")]
        hint, race = draft.hint, draft.race
        if race is not None:
            race.times, race.iterations, race.blocks = folded.times, len(folded.iterations), sorted(folded.blocks)
            if self.rests is not None and race.same_core:
                notes.append(self.rests)
            if cause is not None:
                race.fix = cause.fix
            elif insertion is not None and race.same_core and race.first.work and race.second.work:
                fix = insertion.fix(race.first.work, race.second.work)
                race.fix = replace(fix, text=f"{fix.text}; this has not been tried")
                hint = race.fix.text
        severity = draft.severity or lookup(folded.rule).severity
        return Diagnostic(folded.rule, severity, draft.message, draft.location, hint, tuple(notes)), race


_FIRST = {rule: n for n, rule in enumerate(("FLAG-UNMATCHED", "FLAG-REUSE", "FLAG-ORDER", "DEADLOCK", "", *PLACES))}
"""The rules that tell best what is wrong, where findings of several have one cause; "": all others."""

_NAMED = 4
"""Findings of one cause that are named, besides the first."""


def _also(others: list[Diagnostic]) -> list[Note]:
    """The findings that have the same cause."""
    notes = [Note(f"the same fix mends {d.rule}: {d.message}", d.location) for d in others[:_NAMED]]
    if len(others) > _NAMED:
        rules = sorted({d.rule for d in others[_NAMED:]})
        notes.append(Note(f"and {len(others) - _NAMED} more: {', '.join(rules)}"))
    return notes


def _extent(folded: Folded) -> str:
    parts = []
    if len(folded.iterations) > 1:
        more = " or more" if len(folded.iterations) == COUNTED else ""
        parts.append(f"{len(folded.iterations)}{more} iterations")
    if len(folded.blocks) > 1:
        parts.append(f"{len(folded.blocks)} blocks")
    if not parts and folded.times > 1:
        parts.append(f"{folded.times} places")
    return f"; in {', '.join(parts)}" if parts else ""


# What a race report says: the two accesses, the bytes they share, what last ordered their pipes, and what would.


_RANGES = 64  # runs of bytes that a report lists


Side = tuple[Core, Work, Touch]


def describe(first: Side, second: Side) -> Draft:
    """The report of a race; the fix is left to the end of the run, when all ids are known."""
    (core_a, a, touch_a), (core_b, b, touch_b) = first, second
    same = core_a is core_b
    who = _doer(core_a, a) if same or core_a.kind == ENGINE else f"{_doer(core_a, a)} of {core_a.place}"
    message = f"{_doer(core_b, b)} {'writes' if touch_b.write else 'reads'} {operand(touch_b)} while {who} may "
    message += f"still be {'writing' if touch_a.write else 'reading'} {operand(touch_a)}"
    where = ([] if same else [core_a.place]) + [f"{name} = {value}" for name, value in a.loops]
    doing = f"{a.name} {'writes' if touch_a.write else 'reads'} {operand(touch_a)} here"
    notes = [Note(f"{doing} ({', '.join(where)})" if where else doing, a.op.location)]
    notes.append(Note(overlap(touch_a, touch_b)))
    hint, early = None, None if same else _early(first, second) or _early(second, first)
    doubted = None if same else _doubted(first, second) or _doubted(second, first)
    last: tuple[Item, Item] | None = None
    if same:
        last = last_sync(core_a, a, b)
        notes += sync_notes(a, b, last)
    elif ENGINE in (core_a.kind, core_b.kind) and core_a.issuer is core_b.issuer:
        hint = "wait for the event of the transfer first: wait_async_event"
    elif doubted is not None:
        told, wait = doubted
        flag = isinstance(told, Signal)
        hint = f"let the {wait.name} in line {wait.op.location.line} wait for "
        hint += (
            "a flag that no other pipe gives" if flag else "a value that only all of them give, or for another signal"
        )
        others = "flags of the same number that other pipes give" if flag else "other notifications"
        notes.append(Note(f"{wait.name} here may end by {others}", wait.op.location))
        notes.append(Note(f"{told.name} here is what tells of {who}", told.op.location))
    elif core_a.rank != core_b.rank or early is not None:
        hint = _told_early(*early) if early is not None else _tell(core_a, core_b)
        notes += [] if early is None else [_notification(*early)]
    elif core_a.block == core_b.block:
        hint = (
            "order the cores with sync.set after the first and sync.wait before the second; `ptokit sync` inserts them"
        )
    else:
        hint = (
            "give each block memory of its own, make both stores atomic, or order the blocks with sync.set after "
            "the first and sync.wait before the second"
        )
    places, granule = shared(touch_a, touch_b)
    race = Race(
        _access(first, places),
        _access(second, places),
        touch_a.space.name.removeprefix("%"),
        len(places) * granule,
        runs(places, granule)[:_RANGES],
        None if last is None else (last[0].op.location, last[1].op.location),
        timeline=timelines((core_a, a), (core_b, b)),
    )
    return Draft(message, b.op.location, hint, notes, race)


def _early(side: Side, other: Side) -> tuple[Side, Work] | None:
    """The notification after an access that the other core has waited for, though it does not wait for the access."""
    core, work, _ = side
    later = (told for told in other[0].issuer.heard.get(core.issuer.index, ()) if told.seq > work.seq)
    return next(((side, told) for told in later), None)


def _doubted(side: Side, other: Side) -> tuple[Item, Item] | None:
    """The signal after an access that has ended a wait before the other access, and the wait, which others may end."""
    core, work, _ = side
    pairs = other[0].issuer.doubted.get(core.issuer.index, ())
    return next(((told, wait) for told, wait in pairs if told.seq > work.seq and wait.seq < other[1].seq), None)


def _doer(core: Core, work: Work) -> str:
    """An instruction and what carries it out."""
    return f"{work.name} on {core.place if core.kind == ENGINE else work.pipe.text}"


def _notification(side: Side, told: Work) -> Note:
    core, work, _ = side
    message = f"{told.name} of {core.issuer.place} comes later in its program and does not wait for {work.name}"
    return Note(message, told.op.location)


def _told_early(side: Side, told: Work) -> str:
    core, work, _ = side
    if core.kind == ENGINE:
        return f"wait for the event of {work.name} before the {told.name} in line {told.op.location.line}"
    pipe, op = work.pipe, told.op
    flags = (flag_code(verb, (pipe, Pipe.S, 0), op) for verb in ("set", "wait"))
    return (
        f"let {pipe.text} end before the {told.name} in line {op.location.line}: {barrier_code(Pipe.ALL, op)}, or "
        f"{' and '.join(flags)}"
    )


def _tell(first: Core, second: Core) -> str:
    return (
        f"order the ranks: TNOTIFY on rank {first.rank} after its access and TWAIT on rank {second.rank} before the "
        "other, or the other way round"
    )


def _access(side: Side, places: np.ndarray) -> Access:
    core, work, touch = side
    found = _rectangle(touch, places)
    loops = tuple((name.removeprefix("%"), value) for name, value in work.loops)
    name = touch.name.removeprefix("%")
    return Access(
        *(work.name, work.pipe.text, core.block, core.place, name, touch.write, work.op.location),
        *(loops, work.seq, *(found or (None, None)), work, touch),
    )


# --- bytes -----------------------------------------------------------------------------------------------------------


def shared(a: Touch, b: Touch) -> tuple[np.ndarray, int]:
    """The common granules of two accesses, ascending, and the size of one in bytes."""
    if isinstance(a.space, Memory):
        return np.intersect1d(a.where.granules(), b.where.granules()), a.space.granule
    return common(a.where, b.where), 1


def runs(places: np.ndarray, granule: int) -> list[Span]:
    """Ascending granules as ranges of bytes."""
    breaks = np.flatnonzero(np.diff(places) != 1) + 1
    parts = np.split(places, breaks) if len(places) else []
    return [(int(part[0]) * granule, (int(part[-1]) + 1) * granule) for part in parts]


def operand(touch: Touch) -> str:
    """What an access touches in words."""
    return touch.name if touch.name else "memory"


def span(low: int, high: int, noun: str) -> str:
    """``row 3`` or ``rows 0..15``; `high` is one past the end."""
    return f"{noun} {low}" if high - low == 1 else f"{noun}s {low}..{high - 1}"


def _rectangle(touch: Touch, places: np.ndarray) -> tuple[Span, Span] | None:
    """Rows and columns of a tile that hold the bytes `places`; None outside tiles."""
    found = None if touch.region is None else rectangle(touch.region, places)
    if touch.region is None or found is None:
        return None
    row, col = touch.region.row - touch.origin[0], touch.region.col - touch.origin[1]
    return (found[0] + row, found[1] + row), (found[2] + col, found[3] + col)


def region(touch: Touch, places: np.ndarray) -> str | None:
    """Rows and columns of a tile that hold the bytes `places`, in words."""
    found = _rectangle(touch, places)
    return found and f"{span(*found[0], 'row')}, {span(*found[1], 'column')} of {operand(touch)}"


def overlap(a: Touch, b: Touch) -> str:
    """The common bytes of two accesses in words."""
    places, granule = shared(a, b)
    if isinstance(a.space, Memory):
        low, high = int(places[0]) * granule, (int(places[-1]) + 1) * granule
        return f"both touch {len(places) * granule} bytes of global memory {a.space.name}, in bytes {low}..{high - 1}"
    parts = [text for text in dict.fromkeys((region(a, places), region(b, places))) if text]
    where = f"{a.space.name} bytes {int(places[0]):#x}..{int(places[-1]):#x}"
    return f"both touch {len(places)} bytes: {'; '.join([*parts, where])}"


# --- what orders them now --------------------------------------------------------------------------------------------


def last_sync(core: Core, a: Work, b: Work) -> tuple[Item, Item] | None:
    """The set and the wait that last ordered the two pipes."""
    return None if a.pipe is b.pipe else core.last_sync.get((a.pipe, b.pipe))


def sync_notes(a: Work, b: Work, last: tuple[Item, Item] | None) -> Iterable[Note]:
    """The same in words."""
    pair = f"{a.pipe.text} to {b.pipe.text}"
    if last is not None:
        source, wait = last
        lines = f"set in line {source.op.location.line}, waited for in line {wait.op.location.line}"
        yield Note(f"the last flag from {pair} was {lines}", wait.op.location)
    elif a.pipe is not b.pipe:
        yield Note(f"nothing has ordered {pair} so far")
