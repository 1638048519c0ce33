"""Replay of a folder of cases of any kind, in one process or several, in the order of the manifest."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import active_children, get_context
from pathlib import Path
from typing import Any, Protocol

from ptokit.diagnostics import DiagnosticError
from ptokit.targets import TARGETS

from .cases import suite_of
from .files import MANIFEST, read_manifest, refused
from .programs import ProgramSuite
from .result import Outcome, Result
from .sync import SyncSuite
from .vectors import replay

VECTOR_FORMATS = ("pto-move-vectors", "pto-compute-vectors")
VERSION = 1


@dataclass(frozen=True)
class Job:
    """One case on one target. ``op`` is what it is listed under, ``ops`` all instructions it executes."""

    index: int
    case: str
    op: str
    target: str
    ops: tuple[str, ...] = ()

    def concerns(self, op: str) -> bool:
        """True if the case is about an instruction or a kernel of this name; case and ``pto.`` do not matter."""
        return plain_name(op) in map(plain_name, (self.op, *self.ops))


class Cases(Protocol):
    """A folder of cases of one kind."""

    kind: str  # what the jobs are listed by

    @property
    def jobs(self) -> list[Job]:
        """Every case on every target that it says something about, in the order of the manifest."""

    def replay(self, job: Job) -> Result:
        """Judge one of the jobs. Never raises."""


class Vectors:
    """Cases of single instructions."""

    kind = "instruction"

    def __init__(self, folder: Path, manifest: dict[str, Any]) -> None:
        self.cases = suite_of(folder, manifest).cases

    @property
    def jobs(self) -> list[Job]:
        return [
            Job(index, case.id, case.op, name)
            for index, case in enumerate(self.cases)
            for name in TARGETS
            if case.claims(name)
        ]

    def replay(self, job: Job) -> Result:
        return replay(self.cases[job.index], TARGETS[job.target])


class Programs:
    """Cases of whole kernels."""

    kind = "program"

    def __init__(self, folder: Path, manifest: dict[str, Any], root: Path | None) -> None:
        self.suite = ProgramSuite(folder, manifest, root)

    @property
    def jobs(self) -> list[Job]:
        return [Job(i, case.id, case.name, case.target.name, case.ops) for i, case in enumerate(self.suite.cases)]

    def replay(self, job: Job) -> Result:
        return self.suite.replay(self.suite.cases[job.index])


class Synchronisation:
    """Cases of races, flags and deadlocks."""

    kind = "program"

    def __init__(self, folder: Path, manifest: dict[str, Any]) -> None:
        self.suite = SyncSuite.read(folder, manifest)

    @property
    def jobs(self) -> list[Job]:
        return [Job(i, case.file, case.name, t) for i, case in enumerate(self.suite.cases) for t in case.targets]

    def replay(self, job: Job) -> Result:
        return self.suite.replay(self.suite.cases[job.index], job.target)


def open_cases(folder: Path, root: Path | None = None) -> Cases:
    """Read a folder of cases; their kind shows in the manifest. Raises `DiagnosticError`."""
    manifest = read_manifest(folder)
    path = folder / MANIFEST
    form = manifest.get("format")
    first: dict[str, Any] = next(iter(manifest["cases"]), {})
    version = manifest.get("version", form if isinstance(form, int) else VERSION)
    if version != VERSION:
        raise refused(path, f"the manifest has version {version!r}; ptokit knows {VERSION}", "CONF-FORMAT")
    if form in VECTOR_FORMATS or (form is None and {"op", "tiles"} <= set(first)):
        return Vectors(folder, manifest)
    if {"file", "args", "outputs"} <= set(first):
        return Programs(folder, manifest, root)
    if {"file", "targets", "expect"} <= set(first):
        return Synchronisation(folder, manifest)
    shown = f"format {form!r}" if form is not None else f"cases with {', '.join(sorted(first)) or 'nothing'}"
    raise refused(path, f"ptokit does not know this kind of manifest: {shown}", "CONF-FORMAT")


def plain_name(op: str) -> str:
    """An instruction's name without ``pto.`` and in upper case: TLOAD."""
    return op.upper().removeprefix("PTO.").replace(".", "_")


Progress = Callable[[int, int], None]
_worker: Cases | None = None  # of a worker process


def replay_all(
    folder: Path,
    cases: Cases,
    jobs: Sequence[Job],
    *,
    processes: int = 1,
    root: Path | None = None,
    progress: Progress = lambda done, total: None,
) -> Iterator[Result]:
    """Results in the order of `jobs`, which are some of ``cases.jobs``.

    With several processes each reads the folder itself. ``progress(done, total)`` is called as results come in.
    Raises `DiagnosticError` if a process dies.
    """
    if processes == 1 or len(jobs) < 2:
        results: Iterator[Result] = map(cases.replay, jobs)
        yield from _counted(results, len(jobs), progress)
        return
    yield from _counted(_in_processes(folder, root, jobs, processes), len(jobs), progress)


def _in_processes(folder: Path, root: Path | None, jobs: Sequence[Job], processes: int) -> Iterator[Result]:
    pool = ProcessPoolExecutor(processes, get_context("spawn"), _start_worker, (folder, root))
    others = set(active_children())
    share = max(1, min(32, len(jobs) // (4 * processes)))
    with _interrupts_ignored():
        results = pool.map(_work, jobs, chunksize=share)  # starts the processes
        workers = set(active_children()) - others
    try:
        yield from results
    except BrokenProcessPool:
        raise refused(folder, "a process that replayed cases ended early, for lack of memory perhaps") from None
    except BaseException:  # interrupted, or nobody wants the rest
        for worker in workers:
            worker.terminate()
        raise
    finally:
        with _interrupts_ignored():
            pool.shutdown(wait=True, cancel_futures=True)


def _counted(results: Iterator[Result], total: int, progress: Progress) -> Iterator[Result]:
    for done, result in enumerate(results, 1):
        progress(done, total)
        yield result


@contextmanager
def _interrupts_ignored() -> Iterator[None]:
    """Keep Ctrl-C from processes that start, which inherit that it is ignored, and from their end.

    It reaches all processes of a terminal; the parent alone answers it.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may say what signals do
        return
    usual = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)


def _start_worker(folder: Path, root: Path | None) -> None:
    global _worker
    with suppress(DiagnosticError):
        _worker = open_cases(folder, root)


def _work(job: Job) -> Result:
    if _worker is None:
        return Result(job.case, job.op, job.target, Outcome.FAILED, "the folder changed while it was replayed")
    return _worker.replay(job)
