"""Launches of threads from a program, and operations of threads that it executes itself: one thread in each block."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from ptokit.ir.core import Op, Value
from ptokit.isa.simt.meaning import WARP
from ptokit.isa.simt.memory import SIZES
from ptokit.plan.steps import Bodies
from ptokit.run.fault import Fault
from ptokit.run.machine.lanes import lift

from .code import Step, run_function, step
from .kinds import kind_of
from .threads import Threads, Watch


class Single:
    """An operation of threads as one thread executes it."""

    def __init__(self, bodies: Bodies, op: Op) -> None:
        self.op, self.values = op, op.values
        self._step: Step = step(bodies, op)

    def __call__(self, t: Threads, given: Sequence[Any]) -> Any:
        """The result of each block; None if there is none."""
        env: dict[Value, Any] = {
            value: t.argument(what, kind_of(value.type)) for value, what in zip(self.values, given)
        }
        self._step(t, env)
        if not self.op.results:
            return None
        out = env[self.op.results[0]]
        if not isinstance(out, np.ndarray):
            raise Fault("TEXT-UNIMPLEMENTED", f"{self.op.name} gives a pointer")
        of_blocks = out if len(out) == 1 else out[::WARP]
        return of_blocks if of_blocks.ndim == 2 else lift(of_blocks)


class ThreadListener(Protocol):
    """Who is told of launches of threads."""

    def watch_threads(self, op: Op) -> Watch | None:
        """Who is told of what the threads of a launch access."""


class ThreadLaunches:
    """What a chunk does with threads."""

    registers: dict[str, Any]
    observer: ThreadListener | None

    def watch_threads(self, op: Op) -> Watch | None:
        """Who is told of what the threads of a launch access."""
        return None if self.observer is None else self.observer.watch_threads(op)

    def launch_threads(
        self, op: Op, bodies: Bodies, name: str, sizes: Sequence[int] | None, given: Sequence[Any]
    ) -> None:
        """Run a function on many threads; ``sizes``: in x, y, z, else those that have been set for launches."""
        if sizes is None:
            sizes = self.registers.get(SIZES, (1, 1, 1))
        x, y, z = (int(n) for n in sizes)
        t = Threads(self, (x, y, z), self.watch_threads(op))  # type: ignore[arg-type]
        function = bodies.function(name)
        arguments = [t.argument(value, kind_of(p.type)) for p, value in zip(function.params, given)]
        if t.count:
            run_function(bodies, name, t, arguments)

    def one_thread(self, op: Op, bodies: Bodies, *given: Any) -> Any:
        """An operation of threads, by one thread in each block."""
        single = bodies.compiled.get(op)
        if single is None:
            single = bodies.compiled[op] = Single(bodies, op)
        return single(Threads(self, (1, 1, 1), self.watch_threads(single.op)), given)  # type: ignore[arg-type]
