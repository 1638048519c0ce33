"""Threads of a launch under the sanitizer: races between them, and what the launch as a whole touches.

Two threads race if they access a byte, one of them writes, neither access is atomic, and no syncthreads lies between.
Several threads that store one value to one place in the same operation do not. The 32 threads of a warp execute
operations together; whether that orders their accesses no public document says, so races within a warp are warnings.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ptokit.diagnostics import Note
from ptokit.ir.core import Op
from ptokit.isa.checks.placement import buffer_name
from ptokit.isa.simt.meaning import WARP
from ptokit.records import dataclass
from ptokit.run.memory.local import SPACES
from ptokit.run.simt.threads import Access, Place, Threads

from ..findings.folded import Draft
from ..memory.footprints import Footprint, Touch
from ..memory.gm import Scattered
from .core import ObservedCore

_MANY = -1  # threads


@dataclass(slots=True)
class _Bytes:
    """What is known of the bytes of one memory: threads count from 1, 0 is nobody."""

    writer: np.ndarray
    reader: np.ndarray
    atomic: np.ndarray  # the last access was an atomic update
    by: np.ndarray  # which operation it was, in `_Watched.ops`
    written: np.ndarray  # by the launch
    needed: np.ndarray  # read before the launch has written it
    updated: np.ndarray  # by atomic updates only


class Watched:
    """The accesses of one launch."""

    def __init__(self, observer: ObservedCore, op: Op) -> None:
        self.observer, self.op = observer, op
        self.ops: list[Op] = []
        self._numbers: dict[Op, int] = {}
        self._memories: dict[Any, tuple[Place, _Bytes]] = {}
        self.kinds: set[tuple[str, str]] = set()

    def _known(self, threads: Threads, place: Place) -> _Bytes:
        key = (place.space, id(place.apart)) if place.buffer is None else id(place.buffer.whole)
        found = self._memories.get(key)
        if found is None:
            size = place.buffer.mem.size if place.buffer is not None else threads.memory_of(place).size
            writer, reader, by = (np.zeros(size, kind) for kind in (np.int32, np.int32, np.int16))
            atomic, written, needed, updated = np.zeros((4, size), bool)
            found = self._memories[key] = place, _Bytes(writer, reader, atomic, by, written, needed, updated)
        return found[1]

    def access(
        self, threads: Threads, place: Place, where: np.ndarray, nbytes: int, on: np.ndarray, how: Access
    ) -> None:
        """See `ptokit.run.simt.threads.Watch`."""
        known = self._known(threads, place)
        units = (where[:, None] + np.arange(nbytes)).reshape(-1)
        who = np.repeat(threads.number[on] + np.int32(1), nbytes)
        op = threads.here or self.op
        number = self._numbers.setdefault(op, len(self.ops))
        if number == len(self.ops):
            self.ops.append(op)
        writer, reader = known.writer[units], known.reader[units]
        calm = known.atomic[units] & bool(how.atomic)
        other = np.where((writer != 0) & (writer != who) & ~calm, writer, 0)
        if how.write:
            met = np.where((reader != 0) & (reader != who) & ~calm, reader, 0)
            self._report(place, units, who, np.where(other != 0, other, met), known, op)
            if not how.atomic:
                self._same(known, place, units, who, how.values, nbytes, op)
            if how.atomic:
                known.needed[units] |= ~known.written[units]
                known.updated[units] |= ~known.written[units]
            else:
                known.updated[units] = False
            known.writer[units], known.written[units] = who, True
        else:
            self._report(place, units, who, other, known, op)
            known.needed[units] |= ~known.written[units]
            known.reader[units] = np.where((reader == 0) | (reader == who), who, _MANY)
            known.reader[units[known.reader[units] != who]] = _MANY  # several of them now
        known.atomic[units], known.by[units] = bool(how.atomic), number

    def _same(
        self,
        known: _Bytes,
        place: Place,
        units: np.ndarray,
        who: np.ndarray,
        values: np.ndarray | None,
        nbytes: int,
        op: Op,
    ) -> None:
        """Several threads store different values to a place at once."""
        known.writer[units] = who
        last = known.writer[units]
        if (last == who).all() or values is None:
            return
        given = np.ascontiguousarray(values).view(np.uint8).reshape(-1)
        stays = np.zeros(len(known.writer), np.uint8)
        stays[units] = given
        differ = stays[units] != given
        known.by[units] = self._numbers[op]
        self._report(place, units, who, np.where(differ, last, 0), known, op)

    def _report(
        self, place: Place, units: np.ndarray, who: np.ndarray, other: np.ndarray, known: _Bytes, op: Op
    ) -> None:
        if not other.any():
            return
        apart = (other == _MANY) | ((other - 1) // WARP != (who - 1) // WARP)
        for rule, chosen in (("RACE-THREADS", (other != 0) & apart), ("RACE-WARP", (other != 0) & ~apart)):
            found = np.flatnonzero(chosen)
            if len(found):
                k = int(found[0])
                earlier = self.ops[known.by[units[k]]]
                make = partial(_draft, place, int(units[k]), int(who[k]) - 1, int(other[k]), op, earlier)
                self.observer.report(rule, op, earlier, make)

    def sync(self, threads: Threads) -> None:
        """See `ptokit.run.simt.threads.Watch`."""
        for _, known in self._memories.values():
            for part in (known.writer, known.reader, known.atomic):
                part[...] = 0

    def touches(self) -> list[Touch]:
        """What the launch reads and writes, for the order of pipes and cores."""
        out: list[Touch] = []
        for place, known in self._memories.values():
            plain = known.written & ~known.updated
            for write, atomic, marked in (
                (False, None, known.needed & ~known.updated),
                (True, None, plain),
                (True, ("threads", ""), known.updated),
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
            return Touch(memory, write, Scattered(granules), place.buffer.name, atomic=atomic)
        loc = SPACES[place.space]
        breaks = np.flatnonzero(np.diff(where) != 1)
        starts = where[np.concatenate(([0], breaks + 1))]
        ends = where[np.concatenate((breaks, [len(where) - 1]))] + 1
        arena = o.machine.space(loc) if place.apart is None else place.apart
        space = o.space_of(arena, loc, buffer_name(loc))
        return Touch(space, write, Footprint(starts, ends), "", atomic=atomic)


def _draft(place: Place, at: int, who: int, other: int, op: Op, earlier: Op) -> Draft:
    name = f"argument %{place.buffer.name}" if place.buffer is not None else buffer_name(SPACES[place.space])
    them = "several threads" if other == _MANY else f"thread {other - 1}"
    message = (
        f"thread {who} accesses byte {at:#x} of {name}, which {them} access"
        f"{'' if other == _MANY else 'es'}, too, and nothing orders them"
    )
    hint = "put pto.syncthreads between the accesses, or make them atomic"
    notes = [] if earlier is op else [Note("the other access", earlier.location)]
    return Draft(message, op.location, hint, notes)
