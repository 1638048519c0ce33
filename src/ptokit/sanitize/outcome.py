"""What a run under observation found and what it left unchecked, as data; what starts uninitialised."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from typing import Any

import numpy as np

from ptokit.diagnostics import Diagnostic, Diagnostics
from ptokit.diagnostics.finding import edited
from ptokit.diagnostics.render import summary
from ptokit.ir.core import Module, Op
from ptokit.ir.facts import instr_of
from ptokit.records import dataclass
from ptokit.types.dtypes import DType
from ptokit.types.enums import SECOND_CORE
from ptokit.types.values import Ptr

from .findings.insertion import Synchronisation
from .findings.race import Fix, Race, Witness

# Who places tiles and orders pipes, and so what the sanitizer checks and what it leaves unchecked.


class SyncMode:
    """Whether the program places tiles and orders pipes itself (memory-model-and-sync 4).

    ``placed``: it gives tiles addresses. ``by_compiler``: it leaves the order of the pipes of a core to the compiler.
    ``stated``: that was said, not inferred. ``adds_flags``: it was said that the compiler adds them.
    ``between_cores``: it orders cores. ``unsure``: flags between cores that several pipes give or take.
    ``others_may_end``: waits of it may end by other signals than in the order of a launch.
    """

    def __init__(self, module: Module, stated: str | None) -> None:
        ops = [op for f in module.functions if f.body is not None for op in f.body.walk()]
        instrs = [instr for op in ops if (instr := instr_of(op)) is not None]
        ordered = any(instr.order.only and not instr.order.between_cores for instr in instrs)
        addressed = any(isinstance(v.type, Ptr) and v.type.space == "ub" for op in ops for v in op.results)
        self.placed = any(op.name == "pto.tassign" or (op.name in ALLOCATIONS and op.get("addr")) for op in ops)
        self.waits_for_work = any(instr.name == "TSYNC" for instr in instrs)
        self.between_cores = any(instr.order.between_cores for instr in instrs)
        self.unsure = _unsure(ops)
        asking = {instr.name for instr in instrs} & {"TWAIT", "TTEST"}
        self.others_may_end = bool(asking or self.unsure)
        self.by_compiler = not self.placed and not addressed and not ordered
        self.stated = stated is not None
        self.adds_flags = stated == "auto-sync"
        if stated is not None:
            self.by_compiler = stated != "manual"
            self.placed = stated == "manual" or (stated == "auto-sync" and self.placed)


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
