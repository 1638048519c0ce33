"""What is looked at when an instruction runs: races, uninitialised data (memory-model-and-sync 7, 8, 11)."""

from __future__ import annotations

import numpy as np

from ptokit.diagnostics import Note
from ptokit.types.enums import Pipe

from .clocks import COMPONENTS, POSTED, Clock
from .events import Work
from .findings import Draft, Findings
from .footprints import Touch, common, rectangle
from .gm import Memory
from .queues import Core
from .repair import Repair
from .shadow import PADDING, UNINITIALISED, Record, Space

_SHORT = {(True, False): "RAW", (False, True): "WAR", (True, True): "WAW"}


class Analysis:
    """Checks instructions in the order of the simulation. ``races`` is off where the program does not order pipes."""

    def __init__(self, findings: Findings, repair: Repair, *, races: bool) -> None:
        self.findings, self.repair, self.races = findings, repair, races

    def execute(self, core: Core, work: Work, clock: Clock) -> None:
        """An instruction begins on a core that knows `clock`."""
        for touch in work.touches:
            if not touch.write or touch.atomic is not None:
                self._initialised(core, work, touch)
            if self.races:
                for record in touch.space.conflicts(touch, clock):
                    self._race(core, work, touch, record)
        component = COMPONENTS[work.pipe]
        for touch in work.touches:
            posted = POSTED if work.pipe is Pipe.S and touch.write else component
            record = Record(core.index, posted, core.counts[posted] + 1, work, touch)
            if isinstance(touch.space, Memory):
                if self.races:
                    touch.space.add(record, clock)
                if touch.write:
                    touch.space.write(touch.where)
            else:
                if self.races:
                    touch.space.add(record)
                    if touch.space.crowded:
                        touch.space.prune([c for peer in core.cluster for c in (*peer.clocks.values(), peer.issue)])
                if touch.write:
                    touch.space.write(touch)

    # --- races ---------------------------------------------------------------------------------------------------

    def _race(self, core: Core, work: Work, touch: Touch, record: Record) -> None:
        other = self.repair.cores[record.core]
        mine, theirs = (core, work, touch), (other, record.work, record.touch)
        same_core = other is core
        mine_first = (work.seq < record.work.seq) if same_core else core.index < other.index
        first, second = (mine, theirs) if mine_first else (theirs, mine)
        kind = _SHORT[first[2].write, second[2].write]
        if not same_core:
            rule = f"RACE-XCORE-{kind}"
        elif first[1].pipe is second[1].pipe and first[1].pipe is not Pipe.S:
            rule = "RACE-INTRAPIPE"
        else:
            rule = f"RACE-{kind}"
        key = (first[1].op, second[1].op, first[2].name, second[2].name, kind)
        self.findings.add(rule, key, core, work, lambda: self._describe(rule, first, second))

    def _describe(self, rule: str, first: tuple[Core, Work, Touch], second: tuple[Core, Work, Touch]) -> Draft:
        (core_a, a, touch_a), (core_b, b, touch_b) = first, second
        verb = "writes" if touch_b.write else "reads"
        verb_a = "writing" if touch_a.write else "reading"
        who = f"{a.name} on {a.pipe.text}"
        if core_a is not core_b:
            who += f" of {core_a.place}"
        message = f"{b.name} on {b.pipe.text} {verb} {_operand(touch_b)}"
        message += f" while {who} may still be {verb_a} {_operand(touch_a)}"
        where = [core_a.place] if core_a is not core_b else []
        where += [f"%{name} = {value}" for name, value in a.loops]
        doing = f"{a.name} {'writes' if touch_a.write else 'reads'} {_operand(touch_a)} here"
        notes = [Note(f"{doing} ({', '.join(where)})" if where else doing, a.op.location)]
        notes.append(Note(overlap(touch_a, touch_b)))
        if core_a is core_b:
            notes += self.repair.last_sync(core_a, a, b)
            hint = self.repair.edge(core_a, a, b)
        elif core_a.block == core_b.block:
            hint = "order the cores with sync.set after the first and sync.wait before the second"
        else:
            hint = (
                "give each block memory of its own, make both stores atomic, or order the blocks with sync.set after "
                "the first and sync.wait before the second"
            )
        return Draft(message, b.op.location, hint, notes)

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
                    f"{work.name} reads {_operand(touch)}, which nothing has written yet "
                    f"(first at byte {first} of the argument, {missing.size * space.granule} bytes in all)"
                )
                return Draft(message, work.op.location, "pass initialised memory, or store to it before the load")

            self.findings.add("UNINIT-READ", (work.op, touch.name), core, work, gm)
            return
        if touch.settled == space.version:
            return
        place = touch.where if touch.initial is None else touch.initial
        worst = space.worst(place)
        if worst > PADDING and not touch.write:
            touch.settled = space.version
        elif worst == UNINITIALISED:
            self._unwritten(core, work, touch, space, "UNINIT-READ", UNINITIALISED)
        elif worst == PADDING:
            self._unwritten(core, work, touch, space, "PAD-READ", PADDING)

    def _unwritten(self, core: Core, work: Work, touch: Touch, space: Space, rule: str, state: int) -> None:
        def make() -> Draft:
            place = touch.where if touch.initial is None else touch.initial
            bytes_ = space.lacking(place, state)
            what = "padding only" if state == PADDING else "never written"
            where = region(touch, bytes_) or f"bytes {bytes_[0]:#x}..{bytes_[-1]:#x} of {space.name}"
            message = f"{work.name} reads {_operand(touch)} where it was {what}: {where}"
            hint = "load or fill that region first, or make the valid regions agree"
            return Draft(message, work.op.location, hint)

        self.findings.add(rule, (work.op, touch.name), core, work, make)


def _operand(touch: Touch) -> str:
    return f"%{touch.name}" if touch.name else "memory"


def span(low: int, high: int, noun: str) -> str:
    """``row 3`` or ``rows 0..15``; `high` is one past the end."""
    return f"{noun} {low}" if high - low == 1 else f"{noun}s {low}..{high - 1}"


def region(touch: Touch, places: np.ndarray) -> str | None:
    """Rows and columns of a tile that hold the bytes `places`."""
    if touch.region is None:
        return None
    found = rectangle(touch.region, places)
    if found is None:
        return None
    row, col = touch.region.row - touch.origin[0], touch.region.col - touch.origin[1]
    rows, cols = span(found[0] + row, found[1] + row, "row"), span(found[2] + col, found[3] + col, "column")
    return f"{rows}, {cols} of {_operand(touch)}"


def overlap(a: Touch, b: Touch) -> str:
    """The common bytes of two accesses in words."""
    if isinstance(a.space, Memory):
        places = np.intersect1d(a.where.places(), b.where.places())
        granule = a.space.granule
        low, high = int(places[0]) * granule, (int(places[-1]) + 1) * granule
        return f"both touch {len(places) * granule} bytes of global memory %{a.space.name}, in bytes {low}..{high - 1}"
    places = common(a.where, b.where)
    parts = [text for text in dict.fromkeys((region(a, places), region(b, places))) if text]
    where = f"{a.space.name} bytes {int(places[0]):#x}..{int(places[-1]):#x}"
    return f"both touch {len(places)} bytes: {'; '.join([*parts, where])}"
