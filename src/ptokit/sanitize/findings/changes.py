"""Changes of a program, as they show in what its cores issue and in its text."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import field

from ptokit.diagnostics import finding
from ptokit.ir.core import Op
from ptokit.records import dataclass
from ptokit.types.enums import Pipe

from ..simulation.core import Barrier, FlagKey, Item, SetFlag, WaitFlag

# Changes of a program, as they show in what its cores issue.


Found = dict[tuple[str, Hashable], None]
"""Findings by rule and key, in the order they were made."""


@dataclass
class Outcome:
    """What is found in a launch, and the items that nothing has let go on."""

    found: Found
    blocked: list[Item]


@dataclass
class Change:
    """Items that come before and after others, operations that issue nothing any more, flags that get other ids, and by
    how many bytes tiles are moved, by the operations that make them."""

    before: dict[Item, list[Item]] = field(default_factory=dict)
    after: dict[Item, list[Item]] = field(default_factory=dict)
    dropped: set[Op] = field(default_factory=set)
    renamed: dict[Item, FlagKey] = field(default_factory=dict)
    placed: dict[Op, int] = field(default_factory=dict)


def applied(items: Sequence[tuple[int, Item]], changes: Sequence[Change]) -> Iterator[tuple[int, Item]]:
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


def _renamed(item: Item, changes: Sequence[Change]) -> Item:
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

    def __init__(self, items: Sequence[tuple[int, Item]], changes: Sequence[Change]) -> None:
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

    def after(self, change: Change) -> tuple[int, int]:
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

    def _with(self, change: Change) -> dict[tuple[int, FlagKey], list[_Entry]]:
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


Replayed = Callable[[Sequence[Change]], Outcome]


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
        if self.verb == "barrier":
            return Op("pto.barrier", {}, {"pipe": self.pipes[0]}, location=self.op.location)
        attrs = {"src_pipe": self.pipes[0], "dst_pipe": self.pipes[1], "event_id": self.number}
        return Op(f"pto.{self.verb}_flag", {}, attrs, location=self.op.location)


@dataclass(frozen=True, slots=True)
class Fix(finding.Fix):
    """What mends a finding; ``steps``: the operations of those edits that insert one each."""

    steps: tuple[Step, ...] = ()

    @property
    def paired(self) -> list[tuple[Step, finding.Edit]]:
        """Each step with its line."""
        return list(zip(self.steps, self.edits))
