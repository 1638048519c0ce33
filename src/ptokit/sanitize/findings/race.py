"""A race: two accesses that nothing orders, what another order changes, and changes of the program that order them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from ptokit.diagnostics import Location, finding
from ptokit.ir.core import Op, Value
from ptokit.machine.buffers import groups
from ptokit.records import dataclass
from ptokit.types.enums import Pipe

from ..simulation.clocks import Touch
from ..simulation.core import Barrier, FlagKey, Item, Loops, SetFlag, Timeline, WaitFlag, Work

# Changes of a program, as they show in what its cores issue.


Found = dict[tuple[str, Hashable], None]
"""Findings by rule and key, in the order they were made."""


@dataclass
class Outcome:
    """What is found in a launch, and the items that nothing has let go on."""

    found: Found
    blocked: list[Item]


@dataclass
class ProgramChange:
    """Items that come before and after others, operations that issue nothing any more, flags that get other ids, and by
    how many bytes tiles are moved, by the operations that make them."""

    before: dict[Item, list[Item]] = field(default_factory=dict)
    after: dict[Item, list[Item]] = field(default_factory=dict)
    dropped: set[Op] = field(default_factory=set)
    renamed: dict[Item, FlagKey] = field(default_factory=dict)
    placed: dict[Op, int] = field(default_factory=dict)


def applied(items: Sequence[tuple[int, Item]], changes: Sequence[ProgramChange]) -> Iterator[tuple[int, Item]]:
    """What the cores issue with some changes."""
    if not changes:
        yield from items
        return
    dropped = set[Op]().union(*(change.dropped for change in changes))
    for core, item in items:
        for change in changes:
            for extra in change.before.get(item, ()):
                yield core, extra
        if item.op not in dropped:
            yield core, _renamed(item, changes)
        for change in changes:
            for extra in change.after.get(item, ()):
                yield core, extra


def _renamed(item: Item, changes: Sequence[ProgramChange]) -> Item:
    for change in changes:
        key = change.renamed.get(item)
        if key is not None:
            return flag(item, item.op, key, isinstance(item, SetFlag))
    return item


def flag(like: Item, op: Op, key: FlagKey, sets: bool) -> Item:
    """A set or a wait that `op` issues where `like` is issued."""
    if sets:
        return SetFlag(op, "set_flag", key[0], like.loops, like.seq, key=key)
    return WaitFlag(op, "wait_flag", key[1], like.loops, like.seq, key=key)


def barrier(like: Item, op: Op, pipe: Pipe) -> Item:
    """A barrier that `op` issues where `like` is issued."""
    return Barrier(op, "pipe_barrier", pipe, like.loops, like.seq)


_Entry = tuple[tuple[int, int, int], bool, Item]
"""A set or wait in the order of the program: where, whether it sets, and the item."""


class Balance:
    """The sets and waits of every flag of every core, in the order of the program, with some changes."""

    def __init__(self, items: Sequence[tuple[int, Item]], changes: Sequence[ProgramChange]) -> None:
        self._place = {item: (number, core) for number, (core, item) in enumerate(items)}
        self._flags: dict[tuple[int, FlagKey], list[_Entry]] = {}
        for core, item in items:
            if isinstance(item, SetFlag | WaitFlag):
                entry = (self._place[item][0], 0, 0), isinstance(item, SetFlag), item
                self._flags.setdefault((core, item.key), []).append(entry)
        for change in changes:
            self._flags |= self._with(change)
        self._wrong = {flag: _wrong(entries) for flag, entries in self._flags.items()}
        self.total, self.early = (sum(part) for part in zip((0, 0), *self._wrong.values()))

    def after(self, change: ProgramChange) -> tuple[int, int]:
        """How many sets and waits do not alternate, and how many waits come before their sets, with another change."""
        total, early = self.total, self.early
        for flag, entries in self._with(change).items():
            before, now = self._wrong.get(flag, (0, 0)), _wrong(entries)
            total, early = total + now[0] - before[0], early + now[1] - before[1]
        return total, early

    def single(self) -> tuple[dict[FlagKey, None], dict[FlagKey, None]]:
        """Flags that are set twice or that nobody waits for, and those that are waited for without a set."""
        over: dict[FlagKey, None] = {}
        under: dict[FlagKey, None] = {}
        for (_, key), entries in self._flags.items():
            count, double, _ = _count(entries)
            if double or count > 0:
                over[key] = None
            if count < 0:
                under[key] = None
        return over, under

    def _with(self, change: ProgramChange) -> dict[tuple[int, FlagKey], list[_Entry]]:
        """The flags that a change concerns, as they are with it."""
        added: dict[tuple[int, FlagKey], list[_Entry]] = {}
        for slot, places in ((-1, change.before), (1, change.after)):
            for item, extra in places.items():
                number, core = self._place[item]
                for one in extra:
                    if isinstance(one, SetFlag | WaitFlag):
                        entry = (number, slot, _LATE), isinstance(one, SetFlag), one
                        added.setdefault((core, one.key), []).append(entry)
        gone: set[tuple[int, FlagKey]] = set()
        for item, key in change.renamed.items():
            number, core = self._place[item]
            assert isinstance(item, SetFlag | WaitFlag)
            added.setdefault((core, key), []).append(((number, 0, 0), isinstance(item, SetFlag), item))
            gone.add((core, item.key))
        if change.dropped:
            gone.update(f for f, entries in self._flags.items() if any(e[2].op in change.dropped for e in entries))
        found = {}
        for flag in dict.fromkeys([*added, *sorted(gone, key=str)]):
            kept = [
                e for e in self._flags.get(flag, ()) if e[2].op not in change.dropped and e[2] not in change.renamed
            ]
            found[flag] = sorted([*kept, *added.get(flag, ())], key=lambda entry: entry[0])
        return found


_LATE = 1  # after what other changes insert at the same place: sorting keeps their order


def _count(entries: Sequence[_Entry]) -> tuple[int, int, int]:
    """Sets without a wait (below 0: waits without a set), sets that find the flag set, waits before their sets."""
    count = double = early = 0
    for _, sets, _ in entries:
        double += sets and count > 0
        early += not sets and count <= 0
        count += 1 if sets else -1
    return count, double, early


def _wrong(entries: Sequence[_Entry]) -> tuple[int, int]:
    count, double, early = _count(entries)
    return double + abs(count), early


Replayed = Callable[[Sequence[ProgramChange]], Outcome]


# What mends a finding: operations to insert, and changes of the text.


@dataclass(frozen=True, slots=True)
class Step:
    """One operation to insert before or after `op`: a set or wait of a flag, or a barrier (``verb`` is "barrier")."""

    op: Op
    after: bool
    verb: str
    pipes: tuple[Pipe, ...]
    number: int = 0

    def make(self) -> Op:
        """The operation."""
        return ordering(self.verb, self.pipes, self.number, self.op.location)


def ordering(verb: str, pipes: tuple[Pipe, ...], number: int | Value, at: Location) -> Op:
    """The operation that sets or waits for a flag, with a number or a value for its id, or a barrier."""
    if verb == "barrier":
        return Op("pto.barrier", {}, {"pipe": pipes[0]}, location=at)
    attrs: dict[str, Any] = {"src_pipe": pipes[0], "dst_pipe": pipes[1]}
    if isinstance(number, int):
        return Op(f"pto.{verb}_flag", {}, attrs | {"event_id": number}, location=at)
    return Op(f"pto.{verb}_flag_dyn", {"event": number}, attrs, location=at)


@dataclass(frozen=True, slots=True)
class Fix(finding.Fix):
    """What mends a finding; ``steps``: the operations of those edits that insert one each."""

    steps: tuple[Step, ...] = ()

    @property
    def paired(self) -> list[tuple[Step, finding.Edit]]:
        """Each step with its line."""
        return list(zip(self.steps, self.edits))


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
