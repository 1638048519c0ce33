"""The synchronisations that a manual version of a program needs: found by adding one at a time to a copy of it, until
no two pipes of a core race, and then leaving out those that the others make superfluous."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import field
from typing import Any

from ptokit.diagnostics.finding import Edit
from ptokit.ir.core import Module, Op
from ptokit.records import dataclass
from ptokit.targets import Target

from ..simulation.events import Work
from .fixes import Fix, Step
from .insertion import Insertion
from .race import Race

_ROUNDS = 200  # synchronisations at most
_TRIALS = 1_000_000  # instructions executed to find superfluous ones

Watch = Callable[[Module], tuple[list[Race], int]]
"""Runs a module: its races, and how many instructions that took."""


@dataclass
class Synchronisation:
    """Flags and barriers, in the order in which they were found. ``complete``: nothing races with them; ``minimal``:
    each of them is needed."""

    fixes: list[Fix] = field(default_factory=list)
    complete: bool = True
    minimal: bool = True

    @property
    def edits(self) -> list[Edit]:
        """The lines to insert, in the order of the text; those at one place in the order in which they belong."""
        found = [(edit.line, not step.after, i, edit) for i, fix in enumerate(self.fixes) for step, edit in fix.paired]
        return [edit for *_, edit in sorted(found, key=lambda entry: entry[:3])]

    def __str__(self) -> str:
        if not self.fixes:
            return "a manual version needs no flags and barriers"
        lines = ["a manual version needs:"]
        if all(fix.edits for fix in self.fixes):
            width = len(str(max(edit.line for edit in self.edits)))
            lines += [f"  before line {edit.line:>{width}}: {(edit.text or '').strip()}" for edit in self.edits]
        else:
            lines += [f"  {fix.text}" for fix in self.fixes]
        if not self.complete:
            lines.append("  and more: the search was given up")
        elif not self.minimal:
            lines.append("  some may be superfluous: the program is too long to leave out each of them in turn")
        return "\n".join(lines)

    def apply(self, source: str) -> str:
        """The text of the file with the lines inserted."""
        return Fix("", tuple(self.edits)).apply(source)

    def as_json(self) -> dict[str, Any]:
        """The object of docs/formats.md."""
        return {
            "complete": self.complete,
            "minimal": self.minimal,
            "needs": [fix.text for fix in self.fixes],
            "insert": [{**edit.as_json(), "text": (edit.text or "").strip()} for edit in self.edits],
        }


def explain(module: Module, target: Target, watch: Watch) -> Synchronisation:
    """The synchronisations between pipes that `module` needs; ``watch`` runs a version of it."""
    insertion = Insertion(module.functions, target)
    found = Synchronisation()
    for _ in range(_ROUNDS):
        copy, original = _with(module, found.fixes)
        races, cost = watch(copy)
        race = next((race for race in races if race.same_core), None)
        if race is None:
            break
        a, b = race.first.work, race.second.work
        assert a is not None
        assert b is not None
        found.fixes.append(insertion.fix(_as(a, original), _as(b, original)))
    else:
        found.complete = False
    found.minimal = found.complete and cost * len(found.fixes) <= _TRIALS
    if found.minimal:
        _drop_superfluous(module, found, watch)
    return found


def _drop_superfluous(module: Module, found: Synchronisation, watch: Watch) -> None:
    for fix in list(found.fixes):
        rest = [other for other in found.fixes if other is not fix]
        races, _ = watch(_with(module, rest)[0])
        if not any(race.same_core for race in races):
            found.fixes = rest


def _as(work: Work, original: dict[Op, Op]) -> Work:
    """The same instruction of the program itself."""
    return Work(original[work.op], work.name, work.pipe)


def _with(module: Module, fixes: list[Fix]) -> tuple[Module, dict[Op, Op]]:
    """A copy of a program with synchronisations inserted, and the operation behind each of its operations."""
    ops = [op for f in module.functions if f.body is not None for op in f.body.walk()]
    memo: dict[int, Any] = {}
    for op in ops:
        shared: list[Any] = [*op.attrs.values(), *(v.type for v in (*op.values, *op.results)), op.location]
        shared += [arg.type for region in op.regions for block in region.blocks for arg in block.args]
        memo.update((id(part), part) for part in shared)
    for function in module.functions:
        memo.update((id(part), part) for part in (*function.attrs.values(), *(p.type for p in function.params)))
    copy: Module = deepcopy(module, memo)
    copies = [op for f in copy.functions if f.body is not None for op in f.body.walk()]
    original = dict(zip(copies, ops))
    steps: dict[tuple[Op, bool], list[Step]] = {}
    for fix in fixes:
        for step in fix.steps:
            steps.setdefault((step.op, step.after), []).append(step)
    regions = [f.body for f in copy.functions if f.body is not None] + [r for op in copies for r in op.regions]
    for block in (block for region in regions for block in region.blocks):
        placed: list[Op] = []
        for op in block.ops:
            placed += [step.make() for step in steps.get((original[op], False), [])]
            placed.append(op)
            placed += [step.make() for step in steps.get((original[op], True), [])]
        block.ops[:] = placed
    return copy, original
