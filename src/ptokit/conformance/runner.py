"""Replay of a folder of cases of any kind, in one process or several, in the order of the manifest."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import Any

from ptokit.diagnostics import DiagnosticError
from ptokit.records import dataclass
from ptokit.targets import TARGETS
from ptokit.workers.executors import drive, open_executor
from ptokit.workers.task import Answer, How, Task

from .bench import replay
from .cases import MANIFEST, read_manifest, refused, suite_of
from .compare import Outcome, Result
from .programs import ProgramSuite, SyncSuite

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


@dataclass(frozen=True)
class Cases:
    """A folder of cases of one kind.

    ``kind``: what the jobs are listed by. ``jobs``: every case on every target that it says something about, in the
    order of the manifest. ``replay`` judges one of them, and never raises.
    """

    kind: str
    jobs: list[Job]
    replay: Callable[[Job], Result]


def _of_instructions(folder: Path, manifest: dict[str, Any]) -> Cases:
    cases = suite_of(folder, manifest).cases
    jobs = [Job(i, case.id, case.op, name) for i, case in enumerate(cases) for name in TARGETS if case.claims(name)]
    return Cases("instruction", jobs, lambda job: replay(cases[job.index], TARGETS[job.target]))


def _of_programs(folder: Path, manifest: dict[str, Any], root: Path | None) -> Cases:
    suite = ProgramSuite(folder, manifest, root)
    jobs = [Job(i, case.id, case.name, case.target.name, case.ops) for i, case in enumerate(suite.cases)]
    return Cases("program", jobs, lambda job: suite.replay(suite.cases[job.index]))


def _of_synchronisation(folder: Path, manifest: dict[str, Any]) -> Cases:
    suite = SyncSuite.read(folder, manifest)
    jobs = [Job(i, case.file, case.name, name) for i, case in enumerate(suite.cases) for name in case.targets]
    return Cases("program", jobs, lambda job: suite.replay(suite.cases[job.index], job.target))


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
        return _of_instructions(folder, manifest)
    if {"file", "args", "outputs"} <= set(first):
        return _of_programs(folder, manifest, root)
    if {"file", "targets", "expect"} <= set(first):
        return _of_synchronisation(folder, manifest)
    shown = f"format {form!r}" if form is not None else f"cases with {', '.join(sorted(first)) or 'nothing'}"
    raise refused(path, f"ptokit does not know this kind of manifest: {shown}", "CONF-FORMAT")


def plain_name(op: str) -> str:
    """An instruction's name without ``pto.`` and in upper case: TLOAD."""
    return op.upper().removeprefix("PTO.").replace(".", "_")


Progress = Callable[[int, int], None]


def replay_all(
    folder: Path,
    cases: Cases,
    jobs: Sequence[Job],
    *,
    executor: Executor | str = "processes",
    processes: int = 1,
    root: Path | None = None,
    progress: Progress = lambda done, total: None,
) -> Iterator[Result]:
    """Results in the order of `jobs`, which are some of ``cases.jobs``.

    ``executor``: as for `ptokit.workers.executors.open_executor`; with ``processes`` and one process, the work is done
    in this one. Others read the folder themselves, and it has to be there. ``progress(done, total)`` is called as
    results come in. Raises `DiagnosticError` for an executor that cannot be had.
    """
    if executor == "processes" and (processes == 1 or len(jobs) < 2):
        results: Iterator[Result] = map(cases.replay, jobs)
        yield from _counted(results, len(jobs), progress)
        return
    yield from _counted(_on_processes(folder, root, jobs, executor, processes), len(jobs), progress)


def _on_processes(
    folder: Path, root: Path | None, jobs: Sequence[Job], executor: Executor | str, processes: int
) -> Iterator[Result]:
    where = {"folder": str(folder.resolve()), "root": None if root is None else str(root.resolve())}
    tasks = [
        Task(str(n), "ptokit.conformance.runner:replay_job", {**where, "job": asdict(job)})
        for n, job in enumerate(jobs)
    ]
    early: dict[int, Result] = {}  # that came before those in front of them
    following = 0
    with open_executor(executor, processes) as (opened, workers):
        for answers in drive(tasks, opened, workers):
            for answer in answers:
                early[int(answer.id)] = _result(jobs[int(answer.id)], answer)
            while following in early:
                yield early.pop(following)
                following += 1


def _result(job: Job, answer: Answer) -> Result:
    if answer.how is not How.DONE:
        return Result(job.case, job.op, job.target, Outcome.FAILED, answer.message)
    value = answer.value
    return Result(**{**value, "outcome": Outcome(value["outcome"]), "reported": tuple(value["reported"])})


@lru_cache(maxsize=4)
def _cases(folder: str, root: str | None) -> Cases | None:
    try:
        return open_cases(Path(folder), None if root is None else Path(root))
    except DiagnosticError:
        return None


def replay_job(given: dict[str, Any], _: Sequence[bytes]) -> dict[str, Any]:
    """The task of a worker: one job, and its result as JSON."""
    job = Job(**{**given["job"], "ops": tuple(given["job"]["ops"])})
    cases = _cases(given["folder"], given["root"])
    if cases is None:
        message = "the folder changed while it was replayed, or it is not there for the worker"
        return asdict(Result(job.case, job.op, job.target, Outcome.FAILED, message))
    return asdict(cases.replay(job))


def _counted(results: Iterator[Result], total: int, progress: Progress) -> Iterator[Result]:
    for done, result in enumerate(results, 1):
        progress(done, total)
        yield result
