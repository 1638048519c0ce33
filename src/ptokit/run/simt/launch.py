"""Launches of threads from a program, and operations of threads that it executes itself: one thread in each block."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from ptokit.ir.core import Op
from ptokit.isa.simt.memory import SIZES
from ptokit.isa.simt.words import WARP
from ptokit.run.fault import Fault
from ptokit.run.machine.lanes import lift
from ptokit.types.values import Type

from .kinds import kind_of
from .threads import Threads, Watch

Called = Callable[..., Any]
"""``f(threads, *arguments)``: a function that threads execute; it returns its result, or several."""


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
        self, op: Op, callee: Called, types: Sequence[Type], sizes: Sequence[int] | None, given: Sequence[Any]
    ) -> None:
        """Run a function on many threads.

        ``types``: of its parameters; ``sizes``: in x, y, z, else those that have been set for launches.
        """
        if sizes is None:
            sizes = self.registers.get(SIZES, (1, 1, 1))
        x, y, z = (int(n) for n in sizes)
        threads = Threads(self, (x, y, z), self.watch_threads(op))  # type: ignore[arg-type]
        arguments = _arguments(threads, types, given)
        if threads.count:
            callee(threads, *arguments)

    def one_thread(self, op: Op, callee: Called, types: Sequence[Type], given: Sequence[Any]) -> Any:
        """An operation of threads, by one thread in each block; None if it has no result."""
        threads = Threads(self, (1, 1, 1), self.watch_threads(op))  # type: ignore[arg-type]
        out = callee(threads, *_arguments(threads, types, given))
        if not op.results:
            return None
        if not isinstance(out, np.ndarray):
            raise Fault("TEXT-UNIMPLEMENTED", f"{op.name} gives a pointer")
        of_blocks = out if len(out) == 1 else out[::WARP]
        return of_blocks if of_blocks.ndim == 2 else lift(of_blocks)


def _arguments(threads: Threads, types: Sequence[Type], given: Sequence[Any]) -> list[Any]:
    return [threads.argument(value, kind_of(type)) for type, value in zip(types, given)]
