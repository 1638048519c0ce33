"""What carries out a launch: a backend, and what it is told.

A backend is one of `ptokit.types.choices.Backend`, and the module of that name in `ptokit.backends`, with a function
``prepare(program)``, which gives a kernel that is `Prepared`, or raises `Unable` and says what it cannot do.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from functools import cache
from importlib import import_module
from threading import Lock
from typing import TYPE_CHECKING, Any, Protocol

from ptokit.diagnostics import Diagnostic, DiagnosticError, Severity
from ptokit.types.choices import Backend

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

    from ptokit.machine.chunk import Workspace
    from ptokit.machine.observer import Observer
    from ptokit.plan.effects import Work

    from .outcome import Faults, Printed


DEFAULT = Backend.NUMPY
"""The backend that runs every kernel, and is watched."""


class Unable(Exception):
    """A backend cannot run a kernel; the message says why."""


class Launched:
    """Blocks to run: those of ``span``, of a launch of ``blocks``.

    What they print is added to ``printed``, where they fail to ``faults``; ``progress`` is told how many are done.
    Backends may take memory from ``workspace`` and run blocks on ``threads`` threads at most. What only the default
    backend does: ``chunk`` blocks together, with an ``observer``, on several ``ranks``, which have these arguments.
    """

    def __init__(
        self,
        values: list[Any],
        blocks: int,
        matmul: str,
        printed: Printed,
        span: range,
        faults: Faults,
        workspace: Workspace,
    ) -> None:
        self.values, self.blocks, self.matmul, self.printed, self.span = values, blocks, matmul, printed, span
        self.faults, self.workspace = faults, workspace
        self.threads = 1
        self.chunk: int | None = None
        self.observer: Observer | None = None
        self.ranks: Sequence[list[Any]] = ()
        self.progress: Callable[[int, int], None] = lambda done, total: None


class Prepared(Protocol):
    """A kernel as a backend has it."""

    def launch(self, work: Launched) -> None:
        """Run the blocks of a launch."""

    def ready(self) -> None:
        """Do what has to be done before the first launch. Raises `Unable`."""

    def seconds(self, work: Work, blocks: int) -> float:
        """How long a launch will take, roughly."""


def wanted(stated: str | None) -> str:
    """The backend that is asked for, by argument or PTOKIT_BACKEND, or "" for the best.

    Raises `DiagnosticError` (RUN-BACKEND) if there is none of this name.
    """
    name = stated or os.environ.get("PTOKIT_BACKEND", "")
    if name in ("", "auto"):
        return ""
    if name not in tuple(Backend):
        known = ", ".join(Backend)
        raise DiagnosticError(
            Diagnostic("RUN-BACKEND", Severity.ERROR, f"there is no backend {name!r}; known: {known}")
        )
    return name


def threads_wanted(stated: int | None) -> int:
    """How many threads may run blocks: as stated, by PTOKIT_THREADS, or one for each processor."""
    if stated is None:
        given = os.environ.get("PTOKIT_THREADS", "")
        stated = int(given) if given.isdigit() else 0
    if stated > 0:
        return stated
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def prepare(name: str, program: object) -> Prepared | Unable:
    """A compiled `Program` for a backend, or why it cannot be had."""
    try:
        prepared: Prepared = import_module(f"ptokit.backends.{name}").prepare(program)
    except Unable as error:
        return error
    return prepared


# One BLAS thread while tiles are multiplied (docs/decisions/0016-one-blas-thread.md).


@cache
def _controller() -> ThreadpoolController:
    from threadpoolctl import ThreadpoolController  # kernels without products start without it

    return ThreadpoolController()  # finds the loaded libraries, which takes milliseconds


class _Limit:
    """The limit of this process: set by the first thread that wants it, lifted by the last."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._users = 0
        self._limits = ExitStack()

    def __enter__(self) -> None:
        with self._lock:
            self._users += 1
            if self._users == 1 and any(library["num_threads"] != 1 for library in _controller().info()):
                self._limits.enter_context(_controller().limit(limits=1, user_api="blas"))

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._users -= 1
            if not self._users:
                self._limits.close()


_LIMIT = _Limit()


def one_blas_thread(wanted: bool) -> AbstractContextManager[object]:
    """A context in which BLAS works in the calling thread only; nothing if not `wanted`."""
    return _LIMIT if wanted else nullcontext()
