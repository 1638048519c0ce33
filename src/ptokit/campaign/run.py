"""A campaign from beginning to end: every case of a spec on an executor, every result in a file."""

from __future__ import annotations

import hashlib
import os
import platform
import socket
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import replace
from functools import cache
from importlib import metadata
from pathlib import Path

import numpy as np

from ptokit import __version__
from ptokit.workers.drive import drive
from ptokit.workers.executors import open_executor
from ptokit.workers.task import Answer, How, Task

from .case import Case, Result, Status, read_result
from .sources import forget, remembered
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
    forget()
    cases = list(spec.cases())
    with Store(out) as store:
        run, done = store.begin(spec.name, _about(spec), cases)
        left = {case.id: case for case in cases if case.id not in done}
        progress(len(done), len(cases))
        if left:
            count, keys = len(done), {id: case.key for id, case in left.items()}
            with open_executor(executor, jobs) as (opened, workers):
                for answers in drive(map(_task, left.values()), opened, workers):
                    found = [_result(answer, keys[answer.id]) for answer in answers]
                    keys.update((result.id, key) for result, key in found)
                    store.add(run, keys, [result for result, _ in found])
                    count += len(answers)
                    progress(count, len(cases))
        store.finish(run, cases)
    return run


def _about(spec: Spec) -> dict[str, str]:
    """What decides the results of all cases alike, and where the run began."""
    return {
        "ptokit": __version__,
        "code": code_version(),
        "numpy": np.__version__,
        **{name: version for name in ("ml_dtypes", "llvmlite") if (version := _version(name))},
        "python": platform.python_version(),
        **({"backend": os.environ["PTOKIT_BACKEND"]} if os.environ.get("PTOKIT_BACKEND") else {}),
        "seeds": ", ".join(map(str, spec.seeds)),
        "host": socket.gethostname(),
        "spec": spec.name,
    }


@cache
def code_version() -> str:
    """A digest of the code of ptokit."""
    state = hashlib.sha256()
    package = Path(__file__).parents[1]
    for path in sorted(package.rglob("*.py")):
        state.update(f"{path.relative_to(package).as_posix()}\0".encode() + path.read_bytes())
    return state.hexdigest()[:12]


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def _task(case: Case) -> Task:
    given = {"case": case.as_json(), "known": remembered(case.files)}
    return Task(case.id, "ptokit.campaign.work:work_case", given, (), case.seconds, case.memory)


_WITHOUT_RESULT = {How.FAILED: Status.CRASHED, How.TIMEOUT: Status.TIMEOUT, How.LOST: Status.LOST}


def _result(answer: Answer, key: str) -> tuple[Result, str]:
    """What came of a case, and the key of it; `key` where the answer has none."""
    status, message, a = _WITHOUT_RESULT.get(answer.how), answer.message, answer
    if status is None:
        try:
            found = replace(read_result(a.value["result"]), host=a.host, attempt=a.attempt)
            if found.id == a.id and isinstance(a.value["key"], str):
                return found, a.value["key"]
        except (ValueError, KeyError, TypeError):
            pass
        status, message = Status.CRASHED, "what its worker says is no result; is it the same version of ptokit?"
    return Result(a.id, status, message, seconds=a.seconds, host=a.host, attempt=a.attempt), key
