"""On-chip memory of one core: who touched which bytes, and which are initialised (memory-model-and-sync 8, 11.2, 11.4).

Not the last access to a byte is kept but, for every instruction of the program text and region, the last time it
touched it: that is enough to find every pair of conflicting lines, and does not grow with the length of a run.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ptokit.ir.core import Op
from ptokit.records import dataclass

from ..simulation.clocks import Clock
from ..simulation.events import Work
from .footprints import Footprint, Touch, meet

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
