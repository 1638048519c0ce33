"""On-chip memory of one core: who touched which bytes, which are initialised, and whose they are.

Not the last access to a byte is kept but, for every instruction of the program text and region, the last time it
touched it: that is enough to find every pair of conflicting lines, and does not grow with the length of a run.

Followed in program order, on the bytes that are accessed. Tiles that share storage by treshape, bitcast or subset are
one group.

A tile that is written over exactly the elements of another one, whose value has been read before, may be its next value
under another name, as lowered accumulators are: either tile holds it. If it is used as a value of the tile that was
written, however, the program tells the two apart, and the first one's is gone.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ptokit.ir.core import Op
from ptokit.records import dataclass
from ptokit.types.enums import BLayout, SLayout
from ptokit.types.tile import TileSpec

from ..simulation.clocks import Clock, Footprint, Touch, meet
from ..simulation.core import Work

# On-chip memory of one core: who touched which bytes, and which are initialised (memory-model-and-sync 8, 11.2,
# 11.4).


UNINITIALISED, PADDING, INITIALISED = 0, 1, 2
_CROWDED = 4096
_PAGE = 2048  # bytes


@dataclass(slots=True, eq=False)
class Record:
    """An access that has happened: number `count` of a component of a core's clock."""

    core: int
    component: int
    count: int
    work: Work
    touch: Touch

    def before(self, clock: Clock) -> bool:
        """True if it is known to have completed."""
        return clock.knows(self.core, self.component, self.count)


Key = tuple[Op, int, int, bool, int]


class Space:
    """One buffer of a core, or the memory of one tile that has none of its own address. Sizes in bytes."""

    def __init__(self, name: str, size: int) -> None:
        self.name = name
        self.state = np.zeros(size, np.uint8)
        self.version = 0  # counts changes of the state
        self._records: dict[Footprint, dict[Key, Record]] = {}
        self._neighbours: dict[Footprint, list[Footprint]] = {}
        self._pages: dict[int, dict[Footprint, None]] = {}  # the regions that lie in each, at least in part
        self._count = 0
        self._limit = _CROWDED

    def conflicts(self, touch: Touch, clock: Clock) -> Iterator[Record]:
        """Earlier processed accesses to common bytes, one of the two a write, that nothing orders before this one."""
        core, own, write = clock.core, clock.own, touch.write
        for place in self._near(touch.where):
            for record in self._records[place].values():
                if not write and not record.touch.write:
                    continue
                if record.core == core:
                    if own[record.component] >= record.count:
                        continue
                elif record.before(clock):
                    continue
                yield record

    def add(self, record: Record, *, overtakes: bool) -> None:
        """Remember an access; a former one of the same instruction to the same region is forgotten.

        ``overtakes``: instructions before it in the program have not begun. The former access comes before them and the
        new one after them, so that both are kept.
        """
        place = record.touch.where
        self._near(place)
        records = self._records[place]
        key = (record.work.op, record.core, record.component, record.touch.write, 0)
        former = records.get(key)
        if former is None or overtakes:
            self._count += 1
        if former is not None and overtakes:
            records[*key[:-1], former.count] = former
        records[key] = record

    def _near(self, place: Footprint) -> list[Footprint]:
        """The regions seen so far that overlap this one, itself included."""
        found = self._neighbours.get(place)
        if found is None:
            found = self._neighbours[place] = [place]
            pages = [self._pages.setdefault(page, {}) for page in _pages(place)]
            for other in dict.fromkeys(other for page in pages for other in page):
                if place.lo < other.hi and other.lo < place.hi and meet(place, other):
                    found.append(other)
                    self._neighbours[other].append(place)
            for page in pages:
                page[place] = None
            self._records[place] = {}
        return found

    @property
    def crowded(self) -> bool:
        """True if there is much to remember."""
        return self._count >= self._limit

    def prune(self, clocks: list[Clock]) -> None:
        """Forget what nothing that is yet to come can conflict with."""
        self._count = 0
        for place, records in list(self._records.items()):
            kept = {k: r for k, r in records.items() if not all(r.before(clock) for clock in clocks)}
            self._count += len(kept)
            if kept:
                self._records[place] = kept
            else:
                del self._records[place]
                for page in _pages(place):
                    del self._pages[page][place]
                for other in self._neighbours.pop(place):
                    if other is not place:
                        self._neighbours[other].remove(place)
        self._limit = max(_CROWDED, 2 * self._count)

    # --- initialisation ------------------------------------------------------------------------------------------

    def worst(self, place: Footprint) -> int:
        """The least state of the bytes: `UNINITIALISED`, `PADDING` or `INITIALISED`."""
        states = self.state[place.index]
        return int(states.min()) if len(states) else INITIALISED

    def lacking(self, place: Footprint, state: int) -> np.ndarray:
        """The bytes of a region in that state, ascending."""
        places = np.arange(place.lo, place.hi) if isinstance(place.index, slice) else place.index
        found: np.ndarray = places[self.state[place.index] == state]
        return found

    def write(self, touch: Touch) -> None:
        """A write initialises its bytes, except the padding around the valid region."""
        if touch.settled == self.version:
            return
        before = self.state[touch.where.index].copy()
        self.state[touch.where.index] = INITIALISED
        if touch.padding is not None:
            self.state[touch.padding.index] = PADDING
        if not np.array_equal(before, self.state[touch.where.index]):
            self.version += 1
        touch.settled = self.version


def _pages(place: Footprint) -> range:
    """The pages that a region lies in."""
    return range(place.lo // _PAGE, -(-place.hi // _PAGE))


# Which tile the bytes belong to: lost values and reads through another type (memory-model-and-sync 11.4, 11.6).


@dataclass(slots=True, eq=False)
class Group:
    """A tile with its aliases. ``op`` allocates it."""

    number: int
    op: Op
    name: str
    spec: TileSpec


@dataclass(slots=True, eq=False)
class Loss:
    """A value of `group` that was overwritten through `by`. ``shared``: the bytes that the two have in common, half
    open; empty where one of them has moved since."""

    group: Group
    by: Group
    write: Op
    shared: range


_FIRST = 4096  # bytes


class _Marks:
    """A number for each byte of a buffer, 0 to begin with. It takes memory for every run of equal numbers only: a tile
    that has lost its bytes to another one has mostly lost all of them."""

    __slots__ = ("_numbers", "_starts")

    def __init__(self) -> None:
        self._starts, self._numbers = np.zeros(1, np.int64), np.zeros(1, np.int32)  # of the runs

    def at(self, index: slice | np.ndarray) -> np.ndarray:
        """The numbers of bytes, a copy."""
        low, high = _ends(index)
        numbers = self._between(low, high)
        return numbers if isinstance(index, slice) else numbers[index - low]

    def set(self, index: slice | np.ndarray, numbers: int | np.ndarray) -> None:
        """Give bytes other numbers."""
        low, high = _ends(index)
        first, last = np.searchsorted(self._starts, (low, high)).tolist()
        inside = self._between(low, high + 1)
        inside[:-1][slice(None) if isinstance(index, slice) else index - low] = numbers
        new = np.flatnonzero(np.diff(inside, prepend=self._numbers[first - 1] if first else ~inside[0]))
        after = last + (last < len(self._starts) and self._starts[last] == high)
        self._starts = np.concatenate((self._starts[:first], new + low, self._starts[after:]))
        self._numbers = np.concatenate((self._numbers[:first], inside[new], self._numbers[after:]))

    def _between(self, low: int, high: int) -> np.ndarray:
        first = int(np.searchsorted(self._starts, low, "right")) - 1
        last = int(np.searchsorted(self._starts, high))
        ends = np.append(self._starts[first + 1 : last], high)
        return np.repeat(self._numbers[first:last], np.diff(ends, prepend=low))


def _ends(index: slice | np.ndarray) -> tuple[int, int]:
    """The first of some ascending bytes, and the end of the last."""
    return (index.start, index.stop) if isinstance(index, slice) else (int(index[0]), int(index[-1]) + 1)


class Owners:
    """The bytes of one buffer, as far as they have been accessed: many cores may wait for one another at a time."""

    def __init__(self) -> None:
        self._owner = np.zeros(_FIRST, np.int32)
        self._groups: dict[int, Group] = {}
        self._lost: dict[int, _Marks] = {}  # by group: number of the loss, per byte; negative after an update
        self._unread = np.zeros(_FIRST, bool)  # since the bytes came to belong to their owner
        self._start: dict[int, int] = {}  # by group: where it was written last
        self._updated: dict[int, set[int]] = {}  # by group: those whose values it may have updated
        self._borrowed: dict[tuple[int, int], tuple[Loss, Op]] = {}  # (group, owner): read as if it were its own
        self._losses: list[Loss] = []
        self._numbers: dict[tuple[int, int, Op], int] = {}

    def _reach(self, place: Footprint) -> None:
        """Have room for the bytes."""
        if place.hi > (size := len(self._owner)):
            more = max(place.hi, 2 * size) - size
            self._owner, self._unread = np.pad(self._owner, (0, more)), np.pad(self._unread, (0, more))

    def write(self, group: Group, place: Footprint, op: Op, start: int) -> bool:
        """`group`, a tile at byte `start`, writes bytes. False if nothing changes by it."""
        self._reach(place)
        self._groups[group.number] = group
        self._start[group.number] = start
        for key in [key for key in self._borrowed if key[1] == group.number]:
            del self._borrowed[key]
        index = place.index
        before, read = self._owner[index].copy(), ~self._unread[index]
        changed = not (before == group.number).all()
        if changed:
            for number in np.unique(before).tolist():
                if number not in (0, group.number):
                    self._lose(number, group, index, before == number, read, op)
            self._owner[index] = group.number
            unread = self._unread[index]
            unread[before != group.number] = True
            self._unread[index] = unread
        changed |= self._replace(group, index, (before == group.number) & ~read, op)
        lost = self._lost.get(group.number)
        if lost is not None and lost.at(index).any():
            lost.set(index, 0)
            changed = True
        return changed

    def _replace(self, group: Group, index: slice | np.ndarray, mask: np.ndarray, op: Op) -> bool:
        """A tile gets a new value where nobody has read what it may have updated. True if that loses a value."""
        changed = False
        for other in self._updated.get(group.number, ()):
            gone = mask & (self._lost[other].at(index) < 0)
            if gone.any():
                changed = True
                self._mark(other, group, index, gone, op, updates=False)
        return changed

    def _same(self, number: int, group: Group) -> bool:
        """True if two tiles have the same elements at the same places."""
        return self._start[number] == self._start[group.number] and _alike(self._groups[number].spec, group.spec)

    def _lose(
        self, number: int, by: Group, index: slice | np.ndarray, mask: np.ndarray, read: np.ndarray, op: Op
    ) -> None:
        """`by` takes bytes of a group, and with them those of the groups that this one has updated."""
        followed = self._updated.get(number, set()) - {by.number}
        for other, of in ((number, mask), *((n, mask & (self._lost[n].at(index) < 0)) for n in followed)):
            same = self._same(other, by)
            for updates, part in ((False, of & ~read if same else of), (True, of & read)):
                if part.any() and (same or not updates):
                    self._mark(other, by, index, part, op, updates=updates)

    def _mark(
        self, number: int, by: Group, index: slice | np.ndarray, mask: np.ndarray, op: Op, *, updates: bool
    ) -> None:
        lost = self._lost.get(number)
        if lost is None:
            lost = self._lost[number] = _Marks()
        known = self._numbers.setdefault((number, by.number, op), len(self._losses) + 1)
        if known > len(self._losses):
            tiles = [(self._start[group.number], group.spec.nbytes) for group in (self._groups[number], by)]
            shared = range(max(start for start, _ in tiles), min(start + size for start, size in tiles))
            self._losses.append(Loss(self._groups[number], by, op, shared))
        lost.set(index, np.where(mask, -known if updates else known, lost.at(index)))
        if updates:
            self._updated.setdefault(by.number, set()).add(number)

    def release(self, place: Footprint) -> bool:
        """Bytes are written by address, through no tile: they are anybody's. True if that changes something."""
        self._reach(place)
        owned = bool(self._owner[place.index].any())
        self._owner[place.index] = 0
        return owned

    def used(self, group: Group, place: Footprint) -> tuple[bool, list[tuple[Loss, Op]]]:
        """Bytes are read for another purpose than to update them.

        Whether this changes what is lost; reads through other tiles that got the same value, and where they were.
        """
        self._reach(place)
        changed, early = False, []
        for number in self._updated.get(group.number, ()):
            part = self._lost[number].at(place.index)
            mine = (part < 0) & (self._owner[place.index] == group.number)
            if mine.any():
                changed = True
                self._lost[number].set(place.index, np.where(mine, -part, part))
                borrowed = self._borrowed.pop((number, group.number), None)
                early += [] if borrowed is None else [borrowed]
        return changed, early

    def read(self, group: Group, place: Footprint, op: Op) -> tuple[Loss | None, Group | None, bool]:
        """(value of `group` that is gone, group of another type that wrote the bytes, whether something changes)."""
        self._reach(place)
        owner = self._owner[place.index]
        changed = bool(self._unread[place.index].any())
        self._unread[place.index] = False
        foreign = (owner != group.number) & (owner != 0)
        if not foreign.any():
            return None, None, changed
        lost = self._lost.get(group.number)
        if lost is not None:
            numbers = lost.at(place.index)
            last = int(numbers[foreign].max())
            if last > 0:
                return self._losses[last - 1], None, changed
            for number in np.unique(owner[foreign & (numbers < 0)]).tolist():
                loss = self._losses[-int(numbers[(owner == number) & (numbers < 0)].min()) - 1]
                changed |= (group.number, number) not in self._borrowed
                self._borrowed.setdefault((group.number, number), (loss, op))
        for number in np.unique(owner[foreign]).tolist():
            other = self._groups[number]
            if not _alike(other.spec, group.spec) and not _view(other.spec, group.spec):
                return None, other, changed
        return None, None, changed


def _alike(a: TileSpec, b: TileSpec) -> bool:
    """True if both see the same elements in the same order: equal types, or reshapes of one another without boxes.

    A row or column of elements has one order, whichever layout it is declared with.
    """
    if _type(a) == _type(b):
        return True
    plain = type(a) is type(b) is TileSpec and a.slayout is b.slayout is SLayout.NoneBox
    if not plain or a.dtype is not b.dtype or a.rows * a.cols != b.rows * b.cols:
        return False
    return a.blayout is b.blayout or any(1 in (spec.rows, spec.cols) for spec in (a, b))


def _view(whole: TileSpec, part: TileSpec) -> bool:
    """True if a type sees elements of another one as they are: rows of it, or all of it transposed in boxes."""
    if not type(whole) is type(part) is TileSpec or whole.dtype is not part.dtype or whole.fractal != part.fractal:
        return False
    if whole.slayout is part.slayout is SLayout.NoneBox:
        run = 1 in (part.rows, part.cols) and part.rows * part.cols <= whole.cols
        rows = part.blayout is BLayout.RowMajor and part.cols == whole.cols
        return whole.blayout is BLayout.RowMajor and (run or rows)
    turned = (part.rows, part.cols) == (whole.cols, whole.rows) and SLayout.NoneBox not in (part.slayout, whole.slayout)
    return turned and whole.blayout is not part.blayout and whole.slayout is not part.slayout


def _type(spec: TileSpec) -> tuple[object, ...]:
    return spec.dtype, spec.rows, spec.cols, spec.blayout, spec.slayout, spec.fractal
