"""Campaigns without processes of their own, for tests that run many."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

from ptokit.campaign.run import Summary, run_campaign, summarise
from ptokit.campaign.spec import read_spec
from ptokit.campaign.store import Store
from ptokit.workers.minder import Answer, How, read_task, work_on


class Here(Executor):
    """Works on tasks in this process, and remembers which."""

    def __init__(self, before: Callable[[str], object] = lambda id: None) -> None:
        self.before, self.worked = before, list[str]()

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        answers = []
        for task in map(read_task, args[0]):
            self.before(task.id)
            self.worked.append(task.id)
            value, _ = work_on(task.call, task.given, task.data)
            answers.append(Answer(task.id, How.DONE, value, seconds=1).as_plain())
        future.set_result(answers)
        return future


def campaign(
    spec: Path, out: Path, stop: int | None = None, before: Callable[[str], object] = lambda id: None
) -> set[str]:
    """Run a campaign, or go on with it, until `stop` more cases have results; the ids of the cases worked on."""
    here, counts = Here(before), list[int]()

    def watch(done: int, _total: int) -> None:
        counts.append(done)
        if stop is not None and done - counts[0] >= stop:
            raise KeyboardInterrupt

    try:
        run_campaign(read_spec(spec), out, executor=here, progress=watch)
    except KeyboardInterrupt:
        assert stop is not None
    return set(here.worked)


def outcome(file: Path) -> Summary:
    """The last run of a file."""
    with Store(file, create=False) as store:
        found = summarise(store)
    assert found is not None
    return found


def told(file: Path) -> dict[str, object]:
    """What a campaign says of its cases, without what it took."""
    return {
        r.id: r.result and (r.result.status, r.result.message, r.result.rules, r.result.digest)
        for r in outcome(file).rows
    }


def with_results(file: Path) -> set[str]:
    """The cases of the last run that have results."""
    return {r.id for r in outcome(file).rows if r.result}
