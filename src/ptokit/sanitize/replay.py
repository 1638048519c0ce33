"""The order of a launch once more, with changes of its program: what the cores issued is kept, values are not."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from copy import copy
from dataclasses import field, replace
from typing import Any

from ptokit.ir.core import Op
from ptokit.ir.facts import instr_of
from ptokit.isa.table import Engine
from ptokit.machine.rings import Event
from ptokit.records import dataclass

from .checks.analysis import Analysis
from .checks.flags import ProgramOrder, alias_pipes, left_set
from .checks.stuck import report_stuck
from .findings.addresses import PLACES, Ring
from .findings.changes import Change, Outcome, applied
from .findings.races import Draft, Findings, Folded
from .launch import ObservedRun
from .memory.footprints import Touch, shifted
from .memory.gm import Memory
from .memory.shadow import Space
from .observe import CoreObserver
from .simulation.core import Core, GetToken, Item, Meet, ReleaseToken, Submit, WaitFlag, WaitWork, Work
from .simulation.queues import Simulation
from .simulation.signals import Hub

LONGEST = 20_000
"""Items of a launch that are kept; of a longer one, those of its first blocks."""


@dataclass
class Recording:
    """What the cores of a launch issued, in the order of the executor. ``fit``: a change keeps what waits for what.
    ``ended``: cores that came to their end. ``rings``: of the pipes that were popped from."""

    items: list[tuple[int, Item]]
    ended: frozenset[int]
    fit: bool = True
    rings: set[Ring] = field(default_factory=set)
    works: dict[Work, Work] = field(default_factory=dict)  # those somebody may wait for, as they are kept


class Recorder(CoreObserver):
    """Watches a core and keeps what it issues."""

    recording: Recording

    def push(self, item: Item) -> None:
        touches = list(item.touches) if isinstance(item, Work) else []
        super().push(item)
        kept = _fresh(item)
        match item, kept:
            case Work(), Work():
                kept.touches = touches
                if item.keep:
                    self.recording.works[item] = kept
            case WaitWork(reason=None, works=tuple(works)), WaitWork() if all(w in self.recording.works for w in works):
                kept.works = tuple(self.recording.works[work] for work in works)
            case ((WaitWork() | Submit()), _):
                self.recording.fit = False
            case _:
                pass
        self.recording.items.append((self.core.index, kept))

    def piped(self, event: Event) -> None:
        super().piped(event)
        self.recording.rings.update(self.pipes.rings)


def _fresh(item: Item) -> Item:
    """An item as it was before the simulation saw it."""
    made = copy(item)
    made.issue = None
    match made:
        case Work():
            made.done, made.wakes = None, set()
        case WaitFlag():
            made.source = None
        case Meet():
            made.times = 0
        case GetToken():
            made.after, made.released = (), None
        case ReleaseToken():
            made.taken = None
        case _:
            pass
    return made


class RecordedRun(ObservedRun):
    """A launch whose items are kept."""

    def record(self) -> Recording:
        """Run it. Nothing that it finds is reported."""
        self.kind = Recorder
        self.recording = Recording([], frozenset())
        self.run()
        self.recording.ended = frozenset(core.index for core in self.simulation.cores if core.ended)
        self.recording.fit &= len(self.recording.items) <= LONGEST
        return self.recording

    def _observer(self) -> CoreObserver:
        observer = super()._observer()
        assert isinstance(observer, Recorder)
        observer.recording = self.recording
        return observer


class Replay:
    """A recording that can be ordered again. Calling it with changes tells what is found then."""

    def __init__(self, run: RecordedRun) -> None:
        self._run, self.recording = run, run.recording
        self.cost = 0  # items that were ordered again, in all

    @property
    def items(self) -> list[tuple[int, Item]]:
        """What the cores issued, in the order of the executor: the number of the core, and the item."""
        return self.recording.items

    def __call__(self, changes: Sequence[Change]) -> Outcome:
        """What is found with some changes of the program."""
        run, found = self._run, _Tally()
        cores = [
            Core(c.index, c.kind, c.block, c.sub, run.target, profile=run.profile, rank=c.rank)
            for c in run.simulation.cores
        ]
        for core, like in zip(cores, run.simulation.cores):
            core.cluster = [cores[other.index] for other in like.cluster]
            core.ended = like.ended
        analysis = Analysis(found, blocks_only=run.analysis.blocks_only)
        simulation = Simulation(cores, Hub(cores, unsure=run.mode.unsure), analysis.execute)
        analysis.cores = simulation.cores
        placed = {op: by for change in changes for op, by in change.placed.items()}
        for rule, key in run.findings.keys:
            if rule in PLACES and isinstance(key, tuple) and placed.keys().isdisjoint(key):
                found.seen[rule, key] = None
        alias = alias_pipes(run.also, run.target)
        orders = [ProgramOrder(core, found, alias=alias) for core in cores]
        spaces: dict[int, Any] = {}
        touches: dict[int, Touch] = {}
        works: dict[Item, Work] = {}
        for index, kept in applied(self.recording.items, changes):
            item = _fresh(kept)
            self.cost += 1
            if isinstance(item, WaitWork) and item.works:
                item.works = tuple(works[work] for work in item.works)
            elif isinstance(item, Work):
                works[kept] = item
                item.touches = [_moved(touch, touches, spaces, placed) for touch in item.touches]
                instr = instr_of(item.op)
                if instr is not None and run.target.of(instr.engines) is Engine.SEVERAL_PIPES:
                    orders[index].hidden(item)
            if orders[index].issue(item):
                simulation.push(cores[index], item)
        report_stuck(simulation, found)
        for core, order in zip(cores, orders):
            if core.ended and not core.blocked:
                order.finish()
                left_set(core, found)
        return Outcome(found.seen, [item for core in cores for item in core.blocked])


def _moved(touch: Touch, touches: dict[int, Touch], spaces: dict[int, Any], placed: dict[Op, int]) -> Touch:
    """The same access to memory of its own; ``placed``: by how many bytes tiles are moved."""
    made = touches.get(id(touch))
    if made is None:
        made = touches[id(touch)] = copy(touch)
        space = touch.space
        own = spaces.get(id(space))
        if own is None and isinstance(space, Memory):
            fresh = space.valid is None
            own = Memory(space.name, space.size, space.granule, written=space.written, initialised=fresh)
        elif own is None:
            own = Space(space.name, len(space.state))
        spaces[id(space)] = made.space = own
        made.settled = -1
        by = placed.get(touch.owner.op) if touch.owner is not None else None
        if by is not None:
            made.where = shifted(touch.where, by)
            made.initial, made.padding = (
                None if part is None else shifted(part, by) for part in (touch.initial, touch.padding)
            )
            made.region = None if touch.region is None else replace(touch.region, start=touch.region.start + by)
    return made


class _Tally(Findings):
    """Findings of which only the rules and keys matter."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: dict[tuple[str, Hashable], None] = {}

    def add(self, rule: str, key: Hashable, core: Core, item: Item | None, make: Callable[[], Draft]) -> Folded:
        self.seen[rule, key] = None
        return _NOTHING


_NOTHING = Folded("", Draft("", None), "")  # type: ignore[arg-type]
