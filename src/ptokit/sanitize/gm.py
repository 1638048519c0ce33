"""Global memory: who touched which elements, over all blocks (memory-model-and-sync 7, 8, 11.2).

For every instruction of the text that touches a memory there is an array that holds, per granule, the number of the
last access. Accesses of other cores that nothing orders before it are kept in further arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from .clocks import Clock
from .footprints import Touch
from .shadow import Record

_MANY = 256  # accesses to remember before looking which of them no granule names any more
_PER_LOOK = 64  # granules per access that such a look may cost
_SLOTS = 16


@dataclass(frozen=True, slots=True, eq=False)
class Strided:
    """Granules start + sum(i * stride) over the axes (size, stride)."""

    start: int
    axes: tuple[tuple[int, int], ...]

    def view(self, array: np.ndarray) -> np.ndarray:
        """The entries of a one-dimensional array, writable in place."""
        size = array.itemsize
        shape = tuple(n for n, _ in self.axes)
        strides = tuple(s * size for _, s in self.axes)
        return np.ndarray(shape, array.dtype, array, self.start * size, strides)

    def set(self, array: np.ndarray, value: int) -> None:
        self.view(array)[...] = value

    def places(self) -> np.ndarray:
        """The granules as an array of the shape of the axes."""
        out: np.ndarray = np.array(self.start, np.int64)
        for n, s in self.axes:
            out = out[..., None] + np.arange(n, dtype=np.int64) * s
        return out


@dataclass(frozen=True, slots=True, eq=False)
class Scattered:
    """Granules by number, an array of any shape."""

    where: np.ndarray

    def view(self, array: np.ndarray) -> np.ndarray:
        """The entries of a one-dimensional array, a copy."""
        out: np.ndarray = array[self.where]
        return out

    def set(self, array: np.ndarray, value: int) -> None:
        array[self.where] = value

    def places(self) -> np.ndarray:
        return self.where


Place = Strided | Scattered
Class = tuple[Hashable, ...]


class Memory:
    """The memory of one argument, or of several that overlap. ``granule`` is in bytes, ``size`` in granules."""

    def __init__(self, name: str, size: int, granule: int, *, written: bool, initialised: bool = True) -> None:
        self.name, self.size, self.granule, self.written = name, size, granule, written
        self.valid = None if initialised else np.zeros(size, bool)
        self._slots: dict[Class, list[np.ndarray]] = {}
        self._writes: dict[Class, tuple[bool, object]] = {}
        self._latest: dict[Class, dict[int, Record]] = {}  # by core
        self._records: dict[int, Record] = {}
        self._next = 1
        self._limit = max(_MANY, size // _PER_LOOK)

    def conflicts(self, touch: Touch, clock: Clock) -> Iterator[Record]:
        """Earlier processed accesses to common granules that conflict and that nothing orders before this one."""
        if not self.written:
            return
        for key, slots in self._slots.items():
            write, atomic = self._writes[key]
            if not (write or touch.write) or (atomic is not None and atomic == touch.atomic):
                continue
            if all(record.before(clock) for record in self._latest[key].values()):
                continue  # and so is all that came before these
            for numbers in slots:
                entries = touch.where.view(numbers)
                if not entries.any():
                    continue
                for number in np.unique(entries).tolist():
                    if number and not self._records[number].before(clock):
                        yield self._records[number]

    def add(self, record: Record, clock: Clock, *, overtakes: bool) -> None:
        """Remember an access, whose core knew `clock` when it began; see `Space.add` for ``overtakes``."""
        if not self.written:
            return
        touch = record.touch
        key: Class = (record.work.op, record.component, touch.write, touch.atomic)
        slots = self._slots.get(key)
        if slots is None:
            slots = self._slots[key] = [np.zeros(self.size, np.int32)]
            self._writes[key] = (touch.write, touch.atomic)
            self._latest[key] = {}
        latest = self._latest[key]
        latest[record.core] = record
        number = self._next
        self._next += 1
        self._records[number] = record
        kept = partial(self._kept, record=record, clock=clock, overtakes=overtakes)
        if (len(latest) == 1 and not overtakes) or not kept(touch.where.view(slots[0])):
            touch.where.set(slots[0], number)
        else:
            self._insert(slots, touch.where.places().reshape(-1), number, kept)
        if len(self._records) > self._limit:
            self._forget()

    def _kept(self, entries: np.ndarray, record: Record, clock: Clock, overtakes: bool) -> list[int]:
        """Numbers of former accesses that may still matter: those by other cores that nothing orders before this one,
        and those that something sees as the former one of the two."""
        if not entries.any():
            return []
        numbers = [number for number in np.unique(entries).tolist() if number]
        records = [self._records[number] for number in numbers]
        return [
            number
            for number, former in zip(numbers, records)
            if (overtakes if former.core == record.core else not former.before(clock))
        ]

    def _insert(
        self, slots: list[np.ndarray], places: np.ndarray, number: int, kept: Callable[[np.ndarray], list[int]]
    ) -> None:
        """Put the access where it displaces none that is to be kept."""
        for i in range(_SLOTS):
            if i == len(slots):
                slots.append(np.zeros(self.size, np.int32))
            entries = slots[i][places]
            taken = np.isin(entries, kept(entries))
            slots[i][places[~taken]] = number
            places = places[taken]
            if not len(places):
                return

    def _forget(self) -> None:
        """Drop the accesses that no granule names any more."""
        live: set[int] = set()
        for slots in self._slots.values():
            for numbers in slots:
                live.update(np.unique(numbers).tolist())
        self._records = {n: r for n, r in self._records.items() if n in live}
        self._limit = max(_MANY, self.size // _PER_LOOK, 2 * len(self._records))

    # --- initialisation ------------------------------------------------------------------------------------------

    def uninitialised(self, place: Place) -> np.ndarray | None:
        """The granules of a region that nobody has written; None if there are none."""
        if self.valid is None:
            return None
        missing = ~place.view(self.valid)
        return place.places()[missing] if missing.any() else None

    def write(self, place: Place) -> None:
        """The region has been written."""
        if self.valid is not None:
            place.set(self.valid, 1)


Located = tuple[Memory, int]
"""A memory, and the place of an argument in it in bytes."""
