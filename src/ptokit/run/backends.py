"""What carries out a launch: NumPy, or another backend that registers here.

A backend is a module with a function ``prepare(program)``, which gives a kernel that is `Prepared`, or raises `Unable`
and says what it cannot do.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from ptokit.diagnostics import Diagnostic, DiagnosticError, Severity

if TYPE_CHECKING:
    from ptokit.plan.estimate import Work

    from .faults import Faults
    from .machine.printed import Printed

BACKENDS: dict[str, str] = {"native": "ptokit.native.backend"}
"""Modules of the backends beside NumPy, by name."""


class Unable(Exception):
    """A backend cannot run a kernel; the message says why."""


class Launched(NamedTuple):
    """Blocks to run: those of ``span``, of a launch of ``blocks``, on so many ``threads`` at most.

    What they print is added to ``printed``, and where they fail to ``faults``.
    """

    values: Sequence[Any]
    blocks: int
    matmul: str
    threads: int
    printed: Printed
    span: range
    faults: Faults


class Prepared(Protocol):
    """A kernel as a backend has it."""

    def launch(self, work: Launched) -> None:
        """Run the blocks of a launch."""

    def ready(self) -> None:
        """Do what has to be done before the first launch. Raises `Unable`."""

    def seconds(self, work: Work, blocks: int) -> float:
        """How long a launch will take, roughly."""


def wanted(stated: str | None) -> str:
    """The backend that is asked for, by argument or PTOKIT_BACKEND: ``numpy``, one of `BACKENDS`, or "" for the best.

    Raises `DiagnosticError` (RUN-BACKEND) if there is none of this name.
    """
    name = stated or os.environ.get("PTOKIT_BACKEND", "")
    if name in ("", "auto"):
        return ""
    if name != "numpy" and name not in BACKENDS:
        known = ", ".join(("numpy", *BACKENDS))
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
        prepared: Prepared = import_module(BACKENDS[name]).prepare(program)
    except Unable as error:
        return error
    return prepared
