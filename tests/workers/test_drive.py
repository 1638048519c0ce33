"""Tasks on their way to workers: limits, processes that die, executors that lose work."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Sequence
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import pytest

from ptokit.diagnostics import DiagnosticError
from ptokit.workers import minder
from ptokit.workers.drive import drive
from ptokit.workers.executors import open_executor
from ptokit.workers.minder import work_batch
from ptokit.workers.task import Answer, How, Task, read_answer


def task(name: str, call: str = "echo", **more: Any) -> Task:
    return Task(name, f"{__name__}:{call}", {"name": name}, **more)


def done(*tasks: Task) -> list[Answer]:
    return [read_answer(entry) for entry in work_batch([t.as_plain() for t in tasks])]


@pytest.fixture
def _fresh() -> Any:
    yield
    minder.end_children()
    minder._mine.child = None


def echo(given: dict[str, Any], data: Sequence[bytes]) -> Any:
    print("nobody sees this")
    return given["name"], [part[::-1] for part in data]


def sleeps(given: dict[str, Any], data: Sequence[bytes]) -> None:
    time.sleep(60)


def takes_memory(given: dict[str, Any], data: Sequence[bytes]) -> int:
    return len(bytearray(4 << 30))


def ends_its_process_once(given: dict[str, Any], data: Sequence[bytes]) -> str:
    marker = Path(os.environ["MARKER"])
    if not marker.exists():
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return "at last"


def ends_its_process(given: dict[str, Any], data: Sequence[bytes]) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.usefixtures("_fresh")
def test_values_and_bytes_travel_both_ways() -> None:
    big = bytes(range(256)) * 5000
    (answer,) = done(task("a", data=(b"", b"\n\0x", big)))
    assert (answer.how, answer.value, answer.data) == (How.DONE, "a", (b"", b"x\0\n", big[::-1]))


@pytest.mark.usefixtures("_fresh")
def test_limits_of_time_and_memory_end_one_task_only() -> None:
    slow, large = task("slow", "sleeps", seconds=0.3), task("large", "takes_memory", memory=3 << 30)
    answers = done(task("a"), slow, large, task("b"))
    assert [a.how for a in answers] == [How.DONE, How.TIMEOUT, How.FAILED, How.DONE]
    assert answers[1].message == "stopped after 0.3 s"
    assert answers[2].message.startswith("MemoryError")


@pytest.mark.usefixtures("_fresh")
def test_a_process_that_dies_is_replaced_and_its_task_worked_on_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MARKER", str(tmp_path / "died"))
    answers = done(task("a"), task("deadly", "ends_its_process_once"), task("b"))
    assert [(a.value, a.attempt) for a in answers] == [("a", 1), ("at last", 2), ("b", 1)]


@pytest.mark.usefixtures("_fresh")
def test_a_task_whose_process_dies_twice_is_lost() -> None:
    lost, other = done(task("deadly", "ends_its_process"), task("b"))
    assert (lost.how, lost.message, other.how) == (How.LOST, "its process died 2 times: SIGKILL", How.DONE)


class Losing(Executor):
    """Loses every batch that has one of some tasks, as a cluster does whose worker dies."""

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
            future.set_result([Answer(entry["id"], How.DONE, seconds=1e-4).as_plain() for entry in entries])
        return future


@pytest.mark.parametrize(("times", "how"), [(1, How.DONE), (2, How.LOST)])
def test_what_an_executor_loses_is_tried_once_more(times: int, how: How) -> None:
    names = [f"c{i}" for i in range(2000)]
    executor = Losing({"c7"}, times)
    answers = {a.id: a for group in drive(map(task, names), executor, 2) for a in group}
    assert set(answers) == set(names)
    assert {name for name, a in answers.items() if a.how is not How.DONE} == ({"c7"} if times == 2 else set())
    assert answers["c7"].how is how
    assert executor.batches < 1000  # short tasks travel together


def test_tasks_are_made_when_there_is_a_worker_for_them() -> None:
    made: list[str] = []

    def tasks() -> Any:
        for i in range(100):
            made.append(str(i))
            yield task(str(i))

    next(drive(tasks(), Losing(set(), 0), 1, together=1))
    assert len(made) < 10


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("dusk", "'dusk' is no executor; there are processes, dask://HOST:PORT and ray"),
        ("dask://127.0.0.1:1", "there is no Dask scheduler at 127.0.0.1:1"),
    ],
)
def test_an_executor_that_cannot_be_had_is_told(where: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ptokit.workers.executors.CONNECT_SECONDS", 0.3)
    with pytest.raises(DiagnosticError) as caught, open_executor(where, 1):
        pass
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.rule == "RUN-EXECUTOR"
    assert diagnostic.message.startswith(message)
