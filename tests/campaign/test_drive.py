"""Cases on their way to workers: limits, processes that die, executors that lose work."""

from __future__ import annotations

import os
import signal
from concurrent.futures import Executor, Future
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ptokit.campaign import minder
from ptokit.campaign.case import Action, Case, Status
from ptokit.campaign.drive import drive
from ptokit.campaign.executors import open_executor
from ptokit.campaign.minder import work_batch
from ptokit.diagnostics import DiagnosticError

from .conftest import kernel

ENDLESS = 1 << 40


def case(name: str, text: str = "", **more: Any) -> Case:
    return Case(name, f"{name}.pto", text or kernel(), Action.RUN, **more)


@pytest.fixture
def _fresh() -> Any:
    yield
    minder.end_children()
    minder._mine.child = None


@pytest.mark.usefixtures("_fresh")
def test_limits_of_time_and_memory_end_one_case_only() -> None:
    cases = [
        case("a"),
        case("slow", kernel(2, ENDLESS), seconds=0.5),
        case("large", args=("zeros:f32:1024", "zeros:f32:4000000000", "0"), memory=3 << 30),
        case("b"),
    ]
    results = [r["status"] for r in work_batch([c.as_json() for c in cases])]
    assert results == ["passed", "out of time", "out of memory", "passed"]


def ends_its_process_once(*arguments: Any) -> Any:
    marker = Path(os.environ["MARKER"])
    if not marker.exists():
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return [None] * len(arguments)


def ends_its_process(*_: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.usefixtures("_fresh")
def test_a_process_that_dies_is_replaced_and_its_case_worked_on_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MARKER", str(tmp_path / "died"))
    deadly = replace(case("deadly", function=f"{__name__}:ends_its_process_once"), action=Action.COMPARE)
    results = work_batch([case("a").as_json(), deadly.as_json(), case("b").as_json()])
    assert [(r["status"], r["attempt"]) for r in results] == [("passed", 1), ("passed", 2), ("passed", 1)]


@pytest.mark.usefixtures("_fresh")
def test_a_case_whose_process_dies_twice_is_lost() -> None:
    deadly = replace(case("deadly", function=f"{__name__}:ends_its_process"), action=Action.COMPARE)
    results = work_batch([deadly.as_json(), case("b").as_json()])
    assert [r["status"] for r in results] == ["lost", "passed"]
    assert results[0]["message"] == "its process died 2 times: SIGKILL"


class Losing(Executor):
    """Loses every batch that has one of some cases, as a cluster does whose worker dies."""

    def __init__(self, lost: set[str], times: int) -> None:
        self.lost, self.times, self.batches = lost, times, 0

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.batches += 1
        future: Future[Any] = Future()
        (entries,) = args
        if self.times and any(entry["id"] in self.lost for entry in entries):
            self.times -= 1
            future.set_exception(RuntimeError("worker gone"))
        else:
            future.set_result([{**_passed(entry["id"])} for entry in entries])
        return future


def _passed(name: str) -> dict[str, Any]:
    from ptokit.campaign.case import Result

    return Result(name, Status.PASSED, seconds=1e-4).as_json()


@pytest.mark.parametrize(("times", "status"), [(1, Status.PASSED), (2, Status.LOST)])
def test_what_an_executor_loses_is_tried_once_more(times: int, status: Status) -> None:
    cases = [case(f"c{i}") for i in range(2000)]
    executor = Losing({"c7"}, times)
    results = {r.id: r for group in drive(cases, executor, 2) for r in group}
    assert set(results) == {c.id for c in cases}
    assert {name for name, r in results.items() if r.status is not Status.PASSED} == ({"c7"} if times == 2 else set())
    assert results["c7"].status is status
    assert executor.batches < 1000  # short cases travel together


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("dusk", "'dusk' is no executor; there are processes, dask://HOST:PORT and ray"),
        ("dask://127.0.0.1:1", "there is no Dask scheduler at 127.0.0.1:1"),
    ],
)
def test_an_executor_that_cannot_be_had_is_told(where: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ptokit.campaign.executors.CONNECT_SECONDS", 0.3)
    with pytest.raises(DiagnosticError) as caught, open_executor(where, 1):
        pass
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.rule == "CAMP-EXECUTOR"
    assert diagnostic.message.startswith(message)
