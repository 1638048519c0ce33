"""A campaign from beginning to end: every case of a spec on an executor, every result in a file."""

from __future__ import annotations

import hashlib
import platform
import socket
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np

from ptokit import __version__
from ptokit.workers.drive import drive
from ptokit.workers.executors import open_executor
from ptokit.workers.task import Answer, How, Task

from .case import Case, Result, Status, read_result
from .spec import Spec
from .store import Store

Progress = Callable[[int, int], None]


def run_campaign(
    spec: Spec,
    out: Path,
    *,
    executor: Executor | str = "processes",
    jobs: int = 1,
    progress: Progress = lambda done, total: None,
) -> int:
    """Work on every case of `spec` that the file `out` has no result of yet; the number of the run.

    ``executor``: any executor of `concurrent.futures`, or as for `open_executor`; ``jobs``: how many processes, or how
    many workers an executor that is given has. ``progress(done, total)`` is called as results come. Interrupted, the
    file keeps what came, and the next call goes on from there. Raises `DiagnosticError`.
    """
    cases = list(spec.cases())
    about = {
        "ptokit": __version__,
        "rules and targets": data_version(),
        "numpy": np.__version__,
        "python": platform.python_version(),
        "seeds": ", ".join(map(str, spec.seeds)),
        "host": socket.gethostname(),
        "spec": spec.name,
    }
    with Store(out) as store:
        run, done = store.begin(spec.name, about, cases)
        left = [case for case in cases if case.id not in done]
        progress(len(done), len(cases))
        if left:
            count, keys = len(done), {case.id: case.key for case in left}
            with open_executor(executor, jobs) as (opened, workers):
                for answers in drive(map(_task, left), opened, workers):
                    store.add(run, keys, map(_result, answers))
                    count += len(answers)
                    progress(count, len(cases))
        store.finish(run)
    return run


@cache
def data_version() -> str:
    """A digest of what ptokit knows of targets and instructions: the sources of both."""
    state = hashlib.sha256()
    for package in ("isa", "targets"):
        for path in sorted((Path(__file__).parents[1] / package).rglob("*.py")):
            state.update(path.read_bytes())
    return state.hexdigest()[:12]


def _task(case: Case) -> Task:
    return Task(case.id, "ptokit.campaign.work:work_case", case.as_json(), (), case.seconds, case.memory)


_WITHOUT_RESULT = {How.FAILED: Status.CRASHED, How.TIMEOUT: Status.TIMEOUT, How.LOST: Status.LOST}


def _result(answer: Answer) -> Result:
    if answer.how is How.DONE:
        return replace(read_result(answer.value), host=answer.host, attempt=answer.attempt)
    status, a = _WITHOUT_RESULT[answer.how], answer
    return Result(a.id, status, a.message, seconds=a.seconds, host=a.host, attempt=a.attempt)
