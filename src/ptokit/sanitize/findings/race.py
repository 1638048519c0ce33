"""A race: two accesses that nothing orders, and what another legal order of them changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Any

import numpy as np

from ptokit.diagnostics import Location
from ptokit.machine.buffers import groups
from ptokit.records import dataclass

from ..memory.footprints import Touch
from ..simulation.core import Loops, Timeline, Work
from .changes import Fix

# What another legal order of the same launch changes: the values, element by element.


SHOWN = 4
"""Changed elements of an argument that a witness lists."""


@dataclass(frozen=True)
class Change:
    """An element of an argument: its value in the order of the program, and in the other order."""

    argument: str
    index: tuple[int, ...]
    value: Any
    other: Any
    shown: str  # the argument, in findings

    def __str__(self) -> str:
        where = ", ".join(map(str, self.index))
        return f"{self.shown}[{where}] = {_text(self.other)} instead of {_text(self.value)}"

    def as_json(self) -> dict[str, Any]:
        """The object of docs/formats.md; values as text, since JSON has no NaN."""
        return {
            "argument": self.argument,
            "index": list(self.index),
            "value": _text(self.value),
            "other": _text(self.other),
        }


@dataclass
class Witness:
    """What another legal order changes.

    ``order`` tells which one. ``counts``: changed elements of each argument that changes, and how many it has;
    ``changes``: the first few of each. ``failure``: what ended that run early.
    """

    order: str
    counts: dict[str, tuple[int, int]] = field(default_factory=dict)
    changes: list[Change] = field(default_factory=list)
    failure: str | None = None

    @property
    def counted(self) -> list[tuple[str, int, int]]:
        """What findings call each argument that changes, its changed elements, and how many it has."""
        shown = {change.argument: change.shown for change in self.changes}
        return [(shown[name], *counts) for name, counts in self.counts.items()]

    def __str__(self) -> str:
        if self.failure is not None:
            return f"{self.order}, and the run fails: {self.failure}"
        if not self.counts:
            return f"{self.order}, and no value changes with these arguments"
        parts = []
        for name, changed, size in self.counted:
            shown = ", ".join(str(change) for change in self.changes if change.shown == name)
            parts.append(f"{changed} of {size} elements of {name} change: {shown}{', …' if changed > SHOWN else ''}")
        return f"{self.order}, and {'; '.join(parts)}"

    def as_json(self) -> dict[str, Any]:
        """The object of docs/formats.md."""
        return {
            "order": self.order,
            "counts": {name: {"changed": n, "size": size} for name, (n, size) in self.counts.items()},
            "changes": [change.as_json() for change in self.changes],
            "failure": self.failure,
        }


def _text(value: Any) -> str:
    return f"{float(value):.9g}" if np.issubdtype(type(value), np.inexact) or not _integer(value) else str(int(value))


def _integer(value: Any) -> bool:
    return isinstance(value, int | np.integer | np.bool_)


# --- which instructions wait -----------------------------------------------------------------------------------------


# --- arguments -------------------------------------------------------------------------------------------------------


def copies(args: Sequence[Any]) -> list[Any]:
    """The arguments with their contents, apart from the originals; arrays that overlap still do."""
    out = list(args)
    chosen = [(i, arg) for i, arg in enumerate(args) if _array(arg)]
    for size, members in groups([array for _, array in chosen]):
        memory = np.zeros(size, np.uint8)
        for k, start in members:
            i, array = chosen[k]
            own = memory[start : start + array.nbytes]
            own[...] = np.frombuffer(array.tobytes(), np.uint8)
            out[i] = own.view(array.dtype).reshape(array.shape).view(type(array))
    return out


def _array(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.flags.c_contiguous and value.size > 0


def compare(witness: Witness, names: Sequence[str], values: Sequence[Any], others: Sequence[Any]) -> None:
    """Note in which elements two runs differ, bit for bit; ``names``: what findings call the arguments."""
    for shown, value, other in zip(names, values, others):
        if not _array(value):
            continue
        a, b = np.asarray(value), np.asarray(other)
        unlike = (_bits(a) != _bits(b)).any(-1)
        if unlike.any():
            name = shown.removeprefix("%")
            witness.counts[name] = int(unlike.sum()), a.size
            for place in np.argwhere(unlike)[:SHOWN]:
                index = tuple(map(int, place))
                witness.changes.append(Change(name, index, a[index], b[index], shown))


def _bits(array: np.ndarray) -> np.ndarray:
    return np.frombuffer(array.tobytes(), np.uint8).reshape(*array.shape, array.itemsize)


# A race: two accesses that nothing orders, and what is known of them.


Span = tuple[int, int]
"""Half open."""


@dataclass(frozen=True, slots=True)
class Access:
    """One of the two accesses of a race.

    ``operand``: tile or argument. ``rows``, ``columns``: where in the tile the shared bytes lie, half open; None in
    global memory. ``loops``: (variable, value) of the loops around it, the outermost first. ``seq`` counts what the
    core has issued, in program order.
    """

    instruction: str
    pipe: str
    block: int
    core: str
    operand: str
    write: bool
    location: Location
    loops: Loops
    seq: int
    rows: Span | None = None
    columns: Span | None = None
    work: Work | None = field(default=None, repr=False, compare=False)
    touch: Touch | None = field(default=None, repr=False, compare=False)

    def as_json(self) -> dict[str, Any]:
        """The object of docs/formats.md."""
        return {
            "instruction": self.instruction,
            "pipe": self.pipe,
            "block": self.block,
            "core": self.core,
            "operand": self.operand,
            "access": "write" if self.write else "read",
            "file": self.location.file,
            "line": self.location.line,
            "column": self.location.column,
            "loops": [{"name": name, "value": _plain(value)} for name, value in self.loops],
            "rows": None if self.rows is None else list(self.rows),
            "columns": None if self.columns is None else list(self.columns),
        }


@dataclass(slots=True)
class Race:
    """Two accesses that nothing orders; ``first`` by program order, or of the lower core.

    ``space``: buffer or argument; ``bytes`` of it that both touch, in all and as half-open ranges, the first 64 of
    them. ``last_sync``: locations of the set and the wait that last ordered the two pipes. ``iterations``, ``blocks``,
    ``times``: how often it was found. ``fix``: None if the two are on different cores. ``witness``: what the other
    order of the two changes, if that was asked for.
    """

    first: Access
    second: Access
    space: str
    size: int
    ranges: list[Span]
    last_sync: tuple[Location, Location] | None = None
    fix: Fix | None = None
    witness: Witness | None = None
    timeline: tuple[Timeline, ...] = field(default=(), repr=False)
    times: int = 0
    iterations: int = 0
    blocks: list[int] = field(default_factory=list)

    @property
    def same_core(self) -> bool:
        """True for two pipes of one core."""
        return self.first.core == self.second.core

    def as_json(self) -> dict[str, Any]:
        """The object of docs/formats.md."""
        sync = None
        if self.last_sync is not None:
            sync = {"set": self.last_sync[0].line, "wait": self.last_sync[1].line}
        fix = None
        if self.fix is not None:
            fix = self.fix.as_json()
        return {
            "accesses": [self.first.as_json(), self.second.as_json()],
            "space": self.space,
            "bytes": self.size,
            "ranges": [list(span) for span in self.ranges],
            "last_sync": sync,
            "fix": fix,
            "times": self.times,
            "iterations": self.iterations,
            "blocks": self.blocks,
            "witness": None if self.witness is None else self.witness.as_json(),
        }


def _plain(value: Any) -> int | float | str:
    return value if isinstance(value, int | float) else str(value)
