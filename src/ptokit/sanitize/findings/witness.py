"""Another legal order of the same launch, and the values it changes.

Instructions are put off when they could begin and carried out later, but before anything that is ordered after them:
the clock of an instruction says what has to be over before it. What the scalar unit reads is read when the program
needs it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import field
from functools import partial
from typing import Any

import numpy as np

from ptokit.diagnostics import DiagnosticError
from ptokit.isa.checks.cores import pipe_on
from ptokit.isa.table import Role
from ptokit.records import dataclass
from ptokit.run.fault import Fault
from ptokit.run.memory.global_memory import View
from ptokit.run.memory.tile import Tile
from ptokit.run.observer import Moment
from ptokit.types.enums import Pipe

from ..checks.views import leaves_memory
from ..memory.footprints import Touch
from ..observe import Buffers, CoreObserver
from ..simulation.clocks import COMPONENTS, POSTED, Clock
from ..simulation.events import Work
from ..simulation.queues import Core
from .races import Access, Race

SHOWN = 4
"""Changed elements of an argument that a witness lists."""

_PENDING = 1 << 16  # instructions that are put off at most
_POSTED = Touch(None, True, None, "")  # tells that the scalar unit writes

Delays = Callable[[Core, Work], bool]


@dataclass(frozen=True)
class Change:
    """An element of an argument: its value in the order of the program, and in the other order."""

    argument: str
    index: tuple[int, ...]
    value: Any
    other: Any

    def __str__(self) -> str:
        where = ", ".join(map(str, self.index))
        return f"%{self.argument}[{where}] = {_text(self.other)} instead of {_text(self.value)}"

    def as_json(self) -> dict[str, Any]:
        """The object of docs/formats.md; values as text, since JSON has no NaN."""
        return {
            "argument": self.argument,
            "index": list(self.index),
            "value": _text(self.value),
            "other": _text(self.other),
        }


@dataclass
class Witness:
    """What another legal order changes.

    ``order`` tells which one. ``counts``: changed elements of each argument that changes, and how many it has;
    ``changes``: the first few of each. ``failure``: what ended that run early.
    """

    order: str
    counts: dict[str, tuple[int, int]] = field(default_factory=dict)
    changes: list[Change] = field(default_factory=list)
    failure: str | None = None

    def __str__(self) -> str:
        if self.failure is not None:
            return f"{self.order}, and the run fails: {self.failure}"
        if not self.counts:
            return f"{self.order}, and no value changes with these arguments"
        parts = []
        for name, (changed, size) in self.counts.items():
            shown = ", ".join(str(change) for change in self.changes if change.argument == name)
            parts.append(f"{changed} of {size} elements of %{name} change: {shown}{', …' if changed > SHOWN else ''}")
        return f"{self.order}, and {'; '.join(parts)}"

    def as_json(self) -> dict[str, Any]:
        """The object of docs/formats.md."""
        return {
            "order": self.order,
            "counts": {name: {"changed": n, "size": size} for name, (n, size) in self.counts.items()},
            "changes": [change.as_json() for change in self.changes],
            "failure": self.failure,
        }


def _text(value: Any) -> str:
    return f"{float(value):.9g}" if np.issubdtype(type(value), np.inexact) or not _integer(value) else str(int(value))


def _integer(value: Any) -> bool:
    return isinstance(value, int | np.integer | np.bool_)


# --- which instructions wait -----------------------------------------------------------------------------------------


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
            self._settle(pipe)
            result = self.checked(moment)
            self.taken()
        elif not any(isinstance(v, View) and (v.buffer is None or leaves_memory(v)) for v in moment.operands):
            # Sizes of tiles can be set anew before it runs.
            kept = tuple(copy(v) if isinstance(v, Tile) else v for v in moment.operands)
            work.action = partial(self._carry_out, Moment(moment.step, self.machine, kept))
        self.push(work)
        return result

    def _settle(self, pipe: Pipe) -> None:
        """Carry out what an instruction comes after whose result the program needs at once."""
        clock = self.core.clocks[pipe].copy()
        clock.join(self.core.issue)
        self.scheduler.settle(clock)

    def element(self, moment: Moment) -> Any:
        pipe = self.unit(moment.given["ptr"])
        if moment.step.word == "load_scalar":
            self._settle(pipe)
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


# --- arguments -------------------------------------------------------------------------------------------------------


def copies(args: Sequence[Any]) -> list[Any]:
    """The arguments with their contents, apart from the originals; arrays that overlap still do."""
    spans = sorted((a.__array_interface__["data"][0], a.nbytes, i) for i, a in enumerate(args) if _array(a))
    out = list(args)
    group: list[tuple[int, int, int]] = []

    def close() -> None:
        if not group:
            return
        start = group[0][0]
        memory = np.zeros(max(s + n for s, n, _ in group) - start, np.uint8)
        for place, size, i in group:
            own = memory[place - start : place - start + size]
            own[...] = np.frombuffer(args[i].tobytes(), np.uint8)
            out[i] = own.view(args[i].dtype).reshape(args[i].shape).view(type(args[i]))

    for span in spans:
        if group and span[0] >= max(s + n for s, n, _ in group):
            close()
            group = []
        group.append(span)
    close()
    return out


def _array(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.flags.c_contiguous and value.size > 0


def compare(witness: Witness, names: Sequence[str], values: Sequence[Any], others: Sequence[Any]) -> None:
    """Note in which elements two runs differ, bit for bit."""
    for name, value, other in zip(names, values, others):
        if not _array(value):
            continue
        a, b = np.asarray(value), np.asarray(other)
        unlike = (_bits(a) != _bits(b)).any(-1)
        if unlike.any():
            witness.counts[name] = int(unlike.sum()), a.size
            for place in np.argwhere(unlike)[:SHOWN]:
                index = tuple(map(int, place))
                witness.changes.append(Change(name, index, a[index], b[index]))


def _bits(array: np.ndarray) -> np.ndarray:
    return np.frombuffer(array.tobytes(), np.uint8).reshape(*array.shape, array.itemsize)


def explained(error: Exception) -> str:
    """Why a run ended."""
    return error.diagnostics[0].message if isinstance(error, DiagnosticError) and error.diagnostics else str(error)
