"""Threads of a launch under the sanitizer: races between them, and what the launch as a whole touches.

Two threads race if they access a byte, one of them writes, not both accesses are atomic, and no syncthreads lies
between: an atomic update hides nothing that the same or another thread does with the byte besides.
Several threads that store one value to one place in the same operation do not. The 32 threads of a warp execute
operations together; whether that orders their accesses no public document says, so races within a warp are warnings.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ptokit.diagnostics import Note
from ptokit.ir.core import Op
from ptokit.isa.checks.tile_types import buffer_name
from ptokit.isa.simt.words import WARP
from ptokit.machine.local_memory import SPACES
from ptokit.machine.threads import Access, Place, Threads
from ptokit.records import dataclass

from ..findings.races import Draft
from ..memory.footprints import Footprint, Touch
from ..memory.gm import Scattered
from .core import ObservedCore

_How = tuple[Op, bool, bool]
"""An operation, whether it writes, and whether atomically."""


@dataclass(slots=True)
class _Seen:
    """Who has accessed the bytes of a memory in one way since the last syncthreads; threads count from 1.

    Two threads of each byte are enough to find another one than any given thread, and one of another warp if there is
    one: ``second`` is of another warp than ``first`` as soon as one is known.
    """

    op: Op
    write: bool
    atomic: bool
    first: np.ndarray
    second: np.ndarray
    lo: int
    hi: int

    def add(self, units: np.ndarray, who: np.ndarray, lo: int, hi: int) -> None:
        """More accesses, to bytes from `lo` below `hi`."""
        self.lo, self.hi = min(self.lo, lo), max(self.hi, hi)
        fresh = self.first[units] == 0
        if fresh.any():
            self.first[units[fresh]] = who[fresh]
        first = self.first[units]
        others = first != who
        if not others.any():
            return
        units, who, first = units[others], who[others], first[others]
        apart = _warp(first) != _warp(who)
        near = ~apart & (self.second[units] == 0)
        self.second[units[near]] = who[near]
        self.second[units[apart]] = who[apart]


def _warp(who: np.ndarray) -> np.ndarray:
    out: np.ndarray = (who - 1) // WARP
    return out


@dataclass(slots=True)
class _Bytes:
    """What is known of the bytes of one memory: who has accessed them since the last syncthreads, by operation, and
    what the launch as a whole has done with them."""

    size: int
    seen: dict[tuple[Op, bool, bool], _Seen]
    stored: np.ndarray  # plainly
    loaded: np.ndarray  # plainly
    updated: np.ndarray  # atomically
    needed: np.ndarray  # before the launch has written it


class Watched:
    """The accesses of one launch."""

    def __init__(self, observer: ObservedCore, op: Op) -> None:
        self.observer, self.op = observer, op
        self._memories: dict[Any, tuple[Place, _Bytes]] = {}

    def _known(self, threads: Threads, place: Place) -> _Bytes:
        key = (place.space, id(place.apart)) if place.buffer is None else id(place.buffer.whole)
        found = self._memories.get(key)
        if found is None:
            size = place.buffer.mem.size if place.buffer is not None else threads.memory_of(place).size
            found = self._memories[key] = place, _Bytes(size, {}, *np.zeros((4, size), bool))
        return found[1]

    def access(
        self, threads: Threads, place: Place, where: np.ndarray, nbytes: int, on: np.ndarray, how: Access
    ) -> None:
        """See `ptokit.machine.threads.Watch`."""
        known = self._known(threads, place)
        units = (where[:, None] + np.arange(nbytes)).reshape(-1)
        lo, hi = int(where.min()), int(where.max()) + nbytes
        who = np.repeat((threads.number[on] + 1).astype(np.int16), nbytes)
        key = threads.here or self.op, how.write, bool(how.atomic)
        mine = known.seen.get(key)
        for seen in known.seen.values():
            if (seen.write or how.write) and not (seen.atomic and how.atomic) and seen.lo < hi and lo < seen.hi:
                self._meet(place, units, who, seen, key)
        if mine is None:
            first, second = np.zeros((2, known.size), np.int16)
            mine = known.seen[key] = _Seen(*key, first, second, lo, hi)
        if how.write and not how.atomic and how.values is not None:
            self._same(place, units, who, how.values, mine)
        mine.add(units, who, lo, hi)
        if not (how.write and not how.atomic):
            known.needed[units] |= ~(known.stored[units] | known.updated[units])
        (known.updated if how.atomic else known.stored if how.write else known.loaded)[units] = True

    def _meet(self, place: Place, units: np.ndarray, who: np.ndarray, seen: _Seen, how: _How) -> None:
        """Report accesses to bytes that others have accessed."""
        first = seen.first[units]
        if not ((first != 0) & (first != who)).any() and not seen.second[units].any():
            return
        for other in (first, seen.second[units]):
            self._report(place, units, who, np.where(other != who, other, 0), seen, how)

    def _same(self, place: Place, units: np.ndarray, who: np.ndarray, values: np.ndarray, mine: _Seen) -> None:
        """Several threads store different values to a place at once: each is compared with the last and the first."""
        order = np.arange(len(units))
        chosen = np.zeros(int(units.max()) + 1, np.int64)
        given = np.ascontiguousarray(values).view(np.uint8).reshape(-1)
        for among in (order, order[::-1]):
            chosen[units[among]] = among
            one = chosen[units]
            if (one == order).all():
                return
            differ = given[one] != given
            self._report(place, units, who, np.where(differ, who[one], 0), mine, (mine.op, True, False))

    def _report(
        self, place: Place, units: np.ndarray, who: np.ndarray, other: np.ndarray, seen: _Seen, how: _How
    ) -> None:
        if not other.any():
            return
        apart = _warp(other) != _warp(who)
        for rule, chosen in (("RACE-THREADS", (other != 0) & apart), ("RACE-WARP", (other != 0) & ~apart)):
            found = np.flatnonzero(chosen)
            if len(found):
                k = int(found[0])
                make = partial(_draft, place, int(units[k]), (int(who[k]), how), (int(other[k]), seen))
                self.observer.report(rule, how[0], seen.op, make)

    def sync(self, threads: Threads) -> None:
        """See `ptokit.machine.threads.Watch`."""
        for _, known in self._memories.values():
            known.seen.clear()

    def touches(self) -> list[Touch]:
        """What the launch reads and writes, for the order of pipes and cores."""
        out: list[Touch] = []
        for place, known in self._memories.values():
            for write, atomic, marked in (
                (False, None, np.where(known.stored, known.needed, known.loaded)),
                (True, None, known.stored),
                (True, ("threads", ""), known.updated & ~known.stored),
            ):
                where = np.flatnonzero(marked)
                if len(where):
                    out.append(self._touch(place, where, write=write, atomic=atomic))
        return sorted(out, key=lambda touch: touch.write)

    def _touch(self, place: Place, where: np.ndarray, *, write: bool, atomic: Any) -> Touch:
        o = self.observer
        if place.buffer is not None:
            memory, origin = o.memories[id(place.buffer.whole)]
            granules = np.unique((where + origin) // memory.granule)
            return Touch(memory, write, Scattered(granules), place.buffer.shown, atomic=atomic)
        loc = SPACES[place.space]
        breaks = np.flatnonzero(np.diff(where) != 1)
        starts = where[np.concatenate(([0], breaks + 1))]
        ends = where[np.concatenate((breaks, [len(where) - 1]))] + 1
        arena = o.machine.space(loc) if place.apart is None else place.apart
        space = o.space_of(arena, loc, buffer_name(loc))
        return Touch(space, write, Footprint(starts, ends), "", atomic=atomic)


def _draft(place: Place, at: int, mine: tuple[int, _How], theirs: tuple[int, _Seen]) -> Draft:
    (who, (op, *how)), (other, seen) = mine, theirs
    name = f"argument {place.buffer.shown}" if place.buffer is not None else buffer_name(SPACES[place.space])
    message = (
        f"thread {who - 1} {_does(*how)} byte {at:#x} of {name}, which thread {other - 1} "
        f"{_does(seen.write, seen.atomic)}, too, and nothing orders them"
    )
    hint = "put pto.syncthreads between the accesses, or make them atomic"
    notes = [] if seen.op is op else [Note("the other access", seen.op.location)]
    return Draft(message, op.location, hint, notes)


def _does(write: bool, atomic: bool) -> str:
    return "updates" if atomic else "stores to" if write else "loads"
