"""What is looked at when an instruction runs: races, uninitialised data, the scalar unit's cache."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from functools import partial

import numpy as np

from ptokit.diagnostics import Note
from ptokit.records import dataclass
from ptokit.types.enums import Pipe

from ..findings.races import Draft, Findings, Folded, describe, operand, region
from ..memory.footprints import Touch, places_of
from ..memory.gm import Memory
from ..memory.shadow import PADDING, UNINITIALISED, Record
from ..simulation.clocks import COMPONENTS, POSTED, Clock
from ..simulation.core import ENGINE, Core, Work
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
