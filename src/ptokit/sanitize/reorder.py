"""Another legal order of the same launch.

Instructions are put off when they could begin and carried out later, but before anything that is ordered after them:
the clock of an instruction says what has to be over before it. What the scalar unit reads is read when the program
needs it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from copy import copy
from functools import partial
from typing import Any

from ptokit.diagnostics import DiagnosticError
from ptokit.ir.facts import instr_of
from ptokit.isa.checks.tiles import pipe_on
from ptokit.isa.site import Site
from ptokit.isa.table import Role
from ptokit.machine.global_memory import View
from ptokit.machine.lanes import Fault
from ptokit.machine.observer import Moment
from ptokit.machine.tiles import Tile
from ptokit.records import dataclass
from ptokit.types.enums import Pipe

from .checks import engines
from .checks.core import Buffers
from .checks.placement import leaves_memory, visited
from .findings.race import Access, Race
from .memory.gm import accesses
from .observe import CoreObserver
from .simulation.clocks import COMPONENTS, POSTED, Clock, Touch
from .simulation.core import Core, Work

_PENDING = 1 << 16  # instructions that are put off at most
_POSTED = Touch(None, True, None, "")  # tells that the scalar unit writes

Delays = Callable[[Core, Work], bool]


def delaying(race: Race) -> tuple[Delays, str]:
    """The first of the two accesses as late as the model allows, and that in words."""
    first, second = race.first, race.second
    assert first.work is not None
    op, seq = first.work.op, first.seq
    once = second.work is not None and second.work.op is op and race.same_core

    def delays(core: Core, work: Work) -> bool:
        if work.op is not op or (once and work.seq != seq):
            return False
        return race.same_core or core.place == first.core

    return delays, f"let {_who(first)} run as late as it may"


def can_wait(work: Work) -> bool:
    """True if an instruction may be put off: transfers between devices are carried out as they come."""
    instr = instr_of(work.op)
    return instr is None or instr.name not in (*engines.OPERATIONS, *engines.HANDLERS)


def _who(access: Access) -> str:
    return f"{access.instruction} in line {access.location.line}"


class Scheduler:
    """Carries instructions out when they begin, or later."""

    def __init__(self, delays: Delays, rng: random.Random | None = None) -> None:
        self.delays, self.rng = delays, rng
        self.failure: str | None = None
        self._pending: list[_Pending] = []
        self._first: dict[tuple[int, int], int] = {}  # by core and component: the lowest count that is pending

    def execute(self, core: Core, work: Work, clock: Clock) -> None:
        """An instruction begins on a core that knows `clock`."""
        action = work.action
        if action is not None:
            component = POSTED if work.pipe is Pipe.S else COMPONENTS[work.pipe]
            if self.delays(core, work) or self._held(clock):
                key = core.index, component
                count = core.counts[component] + 1
                self._pending.append(_Pending(*key, count, clock.copy(), action))
                self._first.setdefault(key, count)
            else:
                self._do(action)
        if self.rng is not None and self._pending and self.rng.random() < 0.25:
            self._release(self.rng.choice(self._pending))
        if len(self._pending) > _PENDING:
            self.flush()

    def settle(self, clock: Clock) -> None:
        """Carry out everything that is over when `clock` is."""
        if self._held(clock):
            self._run([p for p in self._pending if p.over(clock)])

    def flush(self) -> None:
        """Carry out everything."""
        self._run(self._pending)

    def _held(self, clock: Clock) -> bool:
        return any(clock.knows(core, component, count) for (core, component), count in self._first.items())

    def _release(self, chosen: _Pending) -> None:
        self._run([p for p in self._pending if p is chosen or p.over(chosen.clock)])

    def _run(self, chosen: list[_Pending]) -> None:
        """Carry out in the order of arrival, which is legal."""
        gone = set(map(id, chosen))
        self._pending = [p for p in self._pending if id(p) not in gone]
        self._first = {}
        for p in self._pending:
            self._first.setdefault((p.core, p.component), p.count)
        for p in chosen:
            self._do(p.action)

    def _do(self, action: Callable[[], None]) -> None:
        if self.failure is None:
            try:
                action()
            except Fault as fault:
                self.failure = fault.message


@dataclass(slots=True, eq=False)
class _Pending:
    core: int
    component: int
    count: int
    clock: Clock
    action: Callable[[], None]

    def over(self, clock: Clock) -> bool:
        return clock.knows(self.core, self.component, self.count)


class Delayed(CoreObserver):
    """Watches a core whose instructions are carried out by a scheduler. It looks for nothing."""

    scheduler: Scheduler

    def watch(self, core: Core, buffers: Buffers) -> None:
        super().watch(core, buffers)
        self.machine.silent = True  # the first run has printed it

    def instruction(self, moment: Moment, given: Mapping[str, Any]) -> Any:
        op, instr, static = moment.op, moment.step.instr, moment.step.site
        assert instr is not None
        assert static is not None
        pipe = pipe_on(instr.pipe_of(static), static.core)
        work = Work(op, instr.name, pipe, keep=self.waits_for_work)
        if pipe is Pipe.S and any(o.role is not Role.IN and given.get(o.name) is not None for o in instr.operands):
            work.touches = [_POSTED]
        if self.waits_for_work:
            self.producers.wrote(work, instr, given)
        result = None
        if op.results:
            self.catch_up(pipe)
            result = self.checked(moment)
            self.taken()
        elif not any(v.buffer is None or leaves_memory(v) for v in self._views(static, given)):
            # Sizes of tiles can be set anew before it runs.
            kept = tuple(copy(v) if isinstance(v, Tile) else v for v in moment.operands)
            work.action = partial(self._carry_out, Moment(moment.step, self.machine, kept))
        self.push(work)
        return result

    def _views(self, static: Site, given: Mapping[str, Any]) -> Iterator[View]:
        tiles = {access.operand: given.get(access.along) for access in accesses(static)}
        for name, view in given.items():
            if isinstance(view, View):
                seen = view if view.buffer is None else visited(view, tiles.get(name), self.target)
                if seen is not None:
                    yield seen

    def catch_up(self, pipe: Pipe) -> None:
        clock = self.core.clocks[pipe].copy()
        clock.join(self.core.issue)
        self.scheduler.settle(clock)

    def element(self, moment: Moment) -> Any:
        pipe = self.unit(moment.given["ptr"])
        if moment.step.word == "load_scalar":
            self.catch_up(pipe)
            value = moment.run()
            self.taken()
            self.push(Work(self.here, "load_scalar", pipe))
            return value
        posted = [_POSTED] if pipe is Pipe.S else []
        action = partial(self._carry_out, moment)
        self.push(Work(self.here, "store_scalar", pipe, touches=posted, action=action))
        return None

    def _carry_out(self, moment: Moment) -> None:
        self.checked(moment)
        self.taken()


def explained(error: Exception) -> str:
    """Why a run ended."""
    return error.diagnostics[0].message if isinstance(error, DiagnosticError) and error.diagnostics else str(error)
