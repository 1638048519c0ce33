"""What is looked at when an instruction runs: races, of threads too, uninitialised data, the scalar unit's cache.

Two threads race if they access a byte, one of them writes, not both accesses are atomic, and no syncthreads lies
between: an atomic update hides nothing that the same or another thread does with the byte besides.
Several threads that store one value to one place in the same operation do not. The 32 threads of a warp execute
operations together; whether that orders their accesses no public document says, so races within a warp are warnings.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from functools import partial
from typing import Any

import numpy as np

from ptokit.diagnostics import Note
from ptokit.ir.core import Op
from ptokit.isa.checks.tile_types import buffer_name
from ptokit.isa.simt.memory import WARP
from ptokit.machine.local_memory import SPACES
from ptokit.machine.threads import Access, Place, Threads
from ptokit.records import dataclass
from ptokit.types.enums import Pipe

from ..findings.races import Draft, Findings, Folded, describe, operand, region
from ..memory.gm import Memory, Scattered
from ..memory.shadow import PADDING, UNINITIALISED, Record
from ..simulation.clocks import COMPONENTS, POSTED, Clock, Footprint, Touch, places_of
from ..simulation.core import ENGINE, Core, Work
from .core import ObservedCore
from .registers import Gap

# The scalar unit's cache of global memory: 64-byte lines that nobody else sees or refreshes (memory-model-and-sync
# 6.2, 11.9).


LINE = 64
"""Bytes of a line."""


@dataclass
class _Lines:
    """The lines of one memory that some scalar unit has touched."""

    valid: dict[tuple[int, int], int] = field(default_factory=dict)  # (core, line): since when
    dirty: dict[tuple[int, int], Record] = field(default_factory=dict)  # (core, line): the store
    written: dict[int, tuple[int, Record]] = field(default_factory=dict)  # line: when last, by what
    known: set[int] = field(default_factory=set)


class ScalarCaches:
    """The caches of all cores, in the order of the simulation."""

    def __init__(self, findings: Findings) -> None:
        self.findings = findings
        self._memories: dict[int, _Lines] = {}
        self._now = 0

    def access(self, core: Core, record: Record, clock: Clock) -> None:
        """An access to global memory."""
        touch, work = record.touch, record.work
        scalar = work.pipe is Pipe.S and touch.atomic is None
        lines = self._memories.get(id(touch.space))
        if lines is None:
            if not scalar:
                return
            lines = self._memories[id(touch.space)] = _Lines()
        numbers = np.unique(touch.where.granules() * touch.space.granule // LINE).tolist()
        self._now += 1
        for line in numbers:
            if scalar:
                lines.known.add(line)
            elif line not in lines.known:
                continue
            if touch.write:
                lines.written[line] = self._now, record
                if scalar:
                    lines.dirty[core.index, line] = record
                    lines.valid.setdefault((core.index, line), self._now)
            else:
                self._read(core, work, touch, lines, line, clock, scalar=scalar)

    def _read(
        self, core: Core, work: Work, touch: Touch, lines: _Lines, line: int, clock: Clock, *, scalar: bool
    ) -> None:
        for (owner, dirty), store in lines.dirty.items():
            if dirty == line and owner != core.index and store.before(clock):
                make = partial(_unseen, work, touch, store)
                self.findings.add("CACHE-STALE", (work.op, store.work.op), core, work, make)
        if not scalar:
            return
        since = lines.valid.setdefault((core.index, line), self._now)
        when, write = lines.written.get(line, (0, None))
        if write is not None and when > since and write.core != core.index and write.before(clock):
            self.findings.add("CACHE-STALE", (work.op, write.work.op), core, work, partial(_old, work, touch, write))

    def clean(self, core: Core, where: tuple[Memory | None, int]) -> None:
        """dcci: of the line of a byte of a memory, or of all lines."""
        memory, byte = where
        for number, lines in self._memories.items():
            if memory is not None and number != id(memory):
                continue
            for table in (lines.valid, lines.dirty):
                for key in [k for k in table if k[0] == core.index and (memory is None or k[1] == byte // LINE)]:
                    del table[key]  # type: ignore[attr-defined]


def _unseen(work: Work, touch: Touch, store: Record) -> Draft:
    message = f"{work.name} reads {touch.name} where {store.work.name} of another core has written only its cache"
    note = Note("the store stands here", store.work.op.location)
    return Draft(message, work.op.location, "dcci of the line, and dsb, after the store", [note])


def _old(work: Work, touch: Touch, write: Record) -> Draft:
    message = (
        f"{work.name} reads {touch.name} from its cache, and {write.work.name} of another core has written it since"
    )
    note = Note("it is written here", write.work.op.location)
    return Draft(message, work.op.location, "dcci of the line before the read", [note])


# What is looked at when an instruction runs: races, uninitialised data (memory-model-and-sync 7, 8, 11).


_SHORT = {(True, False): "RAW", (False, True): "WAR", (True, True): "WAW"}


class Analysis:
    """Checks instructions in the order of the simulation. ``blocks_only``: the cores of a block do not race."""

    cores: list[Core]  # of the launch, and the transfer engines that come to them

    def __init__(self, findings: Findings, *, blocks_only: bool) -> None:
        self.findings, self.blocks_only = findings, blocks_only
        self.caches = ScalarCaches(findings)

    def execute(self, core: Core, work: Work, clock: Clock) -> None:
        """An instruction begins on a core that knows `clock`."""
        for touch in work.touches:
            if not touch.write or touch.atomic is not None:
                self._initialised(core, work, touch)
            alike: dict[object, Folded | None] = {}
            for record in touch.space.conflicts(touch, clock):
                how = record.work.op, record.touch.name, record.touch.write, self._side(record, core, work)
                if how not in alike:
                    alike[how] = self._race(core, work, touch, record)
                elif (folded := alike[how]) is not None:
                    folded.times += 1
        if work.flow is not None:
            for gap, lanes in work.flow.finish():
                used = partial(_used, work, lanes)
                self._unwritten(core, gap.work, gap.touch, gap.state, partial(_places, gap), used)
        if work.clean is not None:
            self.caches.clean(core, work.clean)
        component, overtakes = COMPONENTS[work.pipe], core.overtakes(work)
        for touch in work.touches:
            posted = POSTED if work.pipe is Pipe.S and touch.write else component
            record = Record(core.index, posted, core.counts[posted] + 1, work, touch)
            if isinstance(touch.space, Memory):
                touch.space.add(record, clock, overtakes=overtakes, settled=self._settled)
                if core.target.is_device:
                    self.caches.access(core, record, clock)
                if touch.write:
                    touch.space.write(touch.where)
            else:
                touch.space.add(record, overtakes=overtakes)
                if touch.space.crowded:
                    peers = [peer for peer in core.cluster if peer.clocks]
                    touch.space.prune([c for peer in peers for c in (*peer.clocks.values(), peer.issue)])
                if touch.write:
                    touch.space.write(touch)

    def _settled(self, record: Record) -> bool:
        """True if all that the record's own core is still to issue comes after it."""
        core = self.cores[record.core]
        return core.over or record.before(core.issue)

    # --- races ---------------------------------------------------------------------------------------------------

    def _race(self, core: Core, work: Work, touch: Touch, record: Record) -> Folded | None:
        """Report two accesses; None where they do not count."""
        other = self.cores[record.core]
        engine = ENGINE in (core.kind, other.kind)
        if self.blocks_only and not engine and other.block == core.block and other.rank == core.rank:
            return None
        mine, theirs = (core, work, touch), (other, record.work, record.touch)
        same_core = other is core
        here, there = core.issuer.index, other.issuer.index
        mine_first = (work.seq < record.work.seq) if here == there else here < there
        first, second = (mine, theirs) if mine_first else (theirs, mine)
        kind = _SHORT[first[2].write, second[2].write]
        if other.rank != core.rank:
            rule = f"RACE-XRANK-{kind}"
        elif engine and other.issuer is core.issuer:
            rule = "ASYNC-RACE"
        elif not same_core:
            rule = f"RACE-XCORE-{kind}"
        elif first[1].pipe is second[1].pipe and first[1].pipe is not Pipe.S:
            rule = "RACE-INTRAPIPE"
        else:
            rule = f"RACE-{kind}"
        key = (first[1].op, second[1].op, first[2].name, second[2].name, kind)
        return self.findings.add(rule, key, core, work, partial(describe, first, second))

    def _side(self, record: Record, core: Core, work: Work) -> object:
        """Tells the races of an access with one instruction apart: which of the two is first, and on which cores."""
        if record.core == core.index:
            return record.work.pipe, record.work.seq < work.seq
        other = self.cores[record.core]
        return record.core < core.index, other.block == core.block, other.rank == core.rank

    # --- initialisation ------------------------------------------------------------------------------------------

    def _initialised(self, core: Core, work: Work, touch: Touch) -> None:
        space = touch.space
        if isinstance(space, Memory):
            missing = space.uninitialised(touch.where)
            if missing is None:
                return
            first = int(missing.reshape(-1)[0]) * space.granule

            def gm() -> Draft:
                message = (
                    f"{work.name} reads {operand(touch)}, which nothing has written yet "
                    f"(first at byte {first} of the argument, {missing.size * space.granule} bytes in all)"
                )
                return Draft(message, work.op.location, "pass initialised memory, or store to it before the load")

            self.findings.add("UNINIT-READ", (work.op, touch.name), core, work, gm)
            return
        if touch.settled == space.version:
            return
        place = touch.where if touch.initial is None else touch.initial
        if not len(place):
            return
        worst = space.worst(place)
        if worst > PADDING:
            if not touch.write:
                touch.settled = space.version
        elif work.flow is not None and work.flow.loads:
            for state in (UNINITIALISED, PADDING):
                if len(lacking := space.lacking(place, state)):
                    work.flow.found.append(Gap(work, touch, state, lacking))
        else:
            self._unwritten(core, work, touch, worst, lambda: space.lacking(place, worst))

    def _unwritten(
        self,
        core: Core,
        work: Work,
        touch: Touch,
        state: int,
        places: Callable[[], np.ndarray],
        used: Callable[[], Note] | None = None,
    ) -> None:
        """Report bytes that were read and not written; `used` tells which instruction uses them, if not the reader."""

        def make() -> Draft:
            lacking = places()
            what = "padding only" if state == PADDING else "never written"
            where = region(touch, lacking) or f"bytes {lacking[0]:#x}..{lacking[-1]:#x} of {touch.space.name}"
            message = f"{work.name} reads {operand(touch)} where it was {what}: {where}"
            hint = "load or fill that region first, or make the valid regions agree"
            if used is not None:
                hint = "write those bytes before the load, or leave the lanes out with the mask"
            beyond = touch.padding is not None and np.isin(lacking, places_of(touch.padding)).all()
            return Draft(message, work.op.location, hint, [used()] if used else [], spare=bool(beyond))

        rule = "PAD-READ" if state == PADDING else "UNINIT-READ"
        self.findings.add(rule, (work.op, touch.name), core, work, make)


def _places(gap: Gap) -> np.ndarray:
    return gap.places


def _used(work: Work, lanes: str) -> Note:
    """Where lanes of a register are used that hold what nothing has written."""
    return Note(f"{work.name} uses {lanes} of what it loaded here", work.op.location)


# Threads of a launch under the sanitizer: races between them, and what the launch as a whole touches.


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
    hint = "put pto.syncthreads, in C++ __sync_workitems, between the accesses, or make them atomic"
    notes = [] if seen.op is op else [Note("the other access", seen.op.location)]
    return Draft(message, op.location, hint, notes)


def _does(write: bool, atomic: bool) -> str:
    return "updates" if atomic else "stores to" if write else "loads"
