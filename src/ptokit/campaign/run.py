"""A campaign from beginning to end: every case of a spec on an executor, every result in a file."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Executor
from pathlib import Path

import numpy as np

from ptokit import __version__

from .case import Result
from .drive import drive
from .executors import open_executor
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
    about = {"ptokit": __version__, "numpy": np.__version__, "python": platform.python_version(), "spec": spec.name}
    with Store(out) as store:
        run, done = store.begin(spec.name, about, cases)
        left = [case for case in cases if case.id not in done]
        keys = {case.id: case.key for case in left}
        progress(len(done), len(cases))
        if isinstance(executor, Executor):
            _collect(store, run, keys, drive(left, executor, jobs), len(done), len(cases), progress)
        elif left:
            with open_executor(executor, jobs) as (opened, workers):
                _collect(store, run, keys, drive(left, opened, workers), len(done), len(cases), progress)
        store.finish(run)
    return run


def _collect(
    store: Store,
    run: int,
    keys: Mapping[str, str],
    groups: Iterable[list[Result]],
    done: int,
    total: int,
    progress: Progress,
) -> None:
    for results in groups:
        store.add(run, keys, results)
        done += len(results)
        progress(done, total)
