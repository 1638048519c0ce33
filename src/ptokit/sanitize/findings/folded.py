"""Findings of one kind at one pair of places, folded: counted, with the first of them as the example."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import field, replace
from typing import TYPE_CHECKING, Protocol

from ptokit.diagnostics import Diagnostic, Diagnostics, Location, Note, Severity, lookup
from ptokit.ir.core import Op
from ptokit.records import dataclass

from ..simulation.core import Core
from ..simulation.events import Item, Loops
from .race import Race

if TYPE_CHECKING:
    from .repair import Cause, Repairs
from .addresses import PLACES
from .fixes import Fix
from .insertion import Insertion

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
    """All findings of a run, in the order they were first made."""

    def __init__(self) -> None:
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
