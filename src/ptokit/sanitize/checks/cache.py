"""The scalar unit's cache of global memory: 64-byte lines that nobody else sees or refreshes
(memory-model-and-sync 6.2, 11.9)."""

from __future__ import annotations

from dataclasses import field
from functools import partial

import numpy as np

from ptokit.diagnostics import Note
from ptokit.records import dataclass
from ptokit.types.enums import Pipe

from ..findings.folded import Draft, Findings
from ..memory.footprints import Touch
from ..memory.gm import Memory
from ..memory.shadow import Record
from ..simulation.clocks import Clock
from ..simulation.core import Core
from ..simulation.events import Work

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
