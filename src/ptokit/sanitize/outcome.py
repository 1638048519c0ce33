"""What a run under observation found, as data, and what starts uninitialised."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace

import numpy as np

from ptokit.diagnostics import Diagnostic, Diagnostics
from ptokit.diagnostics.finding import edited
from ptokit.diagnostics.render import summary
from ptokit.records import dataclass
from ptokit.types.dtypes import DType

from .coverage import NOTHING, Coverage, listed
from .findings.changes import Fix
from .findings.insertion import Synchronisation
from .findings.race import Race, Witness

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
