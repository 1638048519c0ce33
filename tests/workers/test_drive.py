"""Tasks on their way to workers: limits, processes that die, executors that lose work."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

import pytest

from ptokit.diagnostics import DiagnosticError
from ptokit.workers import minder
from ptokit.workers.executors import Remote, drive, open_executor
from ptokit.workers.minder import Answer, How, Task, read_answer, work_batch

from .cluster import children, processes, until


def task(name: str, call: str = "echo", **more: Any) -> Task:
    return Task(name, f"{__name__}:{call}", {"name": name}, **more)


def done(*tasks: Task) -> list[Answer]:
    return [read_answer(entry) for entry in work_batch([t.as_plain() for t in tasks])]


@pytest.fixture
def _fresh() -> Any:
    yield
    minder.let_go()


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


def leaves_a_process(given: dict[str, Any], data: Sequence[bytes]) -> None:
    """A copy of the process stays, which holds all that it holds."""
    marker = Path(os.environ["MARKER"])
    if not os.fork():
        if given["name"].startswith("far"):
            os.setsid()
        marker.with_suffix(".new").write_text(str(os.getpid()))
        marker.with_suffix(".new").rename(marker)
        time.sleep(60)
        os._exit(0)
    until(marker.exists)
    if given["name"].endswith("dies"):
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(60)


def replies(given: dict[str, Any], data: Sequence[bytes]) -> None:
    """Disturbs the messages."""
    for fd in range(3, 10):
        with suppress(OSError):
            os.write(fd, given["reply"].encode() + b"\n")
    time.sleep(60)


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
@pytest.mark.parametrize("seconds", [1e10, 1e300, float("inf")])
@pytest.mark.parametrize("memory", [1 << 62, 1 << 64, 10**30])
def test_limits_beyond_all_bounds_are_none(seconds: float, memory: int) -> None:
    (answer,) = done(task("a", seconds=seconds, memory=memory))
    assert (answer.how, answer.message) == (How.DONE, "")


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


@pytest.mark.usefixtures("_fresh")
@pytest.mark.parametrize(
    ("name", "how"),
    [("sleeps", How.TIMEOUT), ("dies", How.LOST), ("far sleeps", How.TIMEOUT), ("far dies", How.LOST)],
)
def test_a_task_that_leaves_a_process_ends(
    name: str, how: How, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    marker = tmp_path / "left"
    monkeypatch.setenv("MARKER", str(marker))
    monkeypatch.setattr(minder, "ATTEMPTS", 1)
    left, other = done(task(name, "leaves_a_process", seconds=2), task("b"))
    assert (left.how, other.how) == (how, How.DONE)
    pid = int(marker.read_text())
    if "far" in name:  # it has left the group, and holds nobody up
        os.kill(pid, signal.SIGKILL)
    else:
        assert _ends(pid)


def _ends(pid: int) -> bool:
    return bool(until(lambda: pid not in {number for number, *_ in processes()}, 10))


@pytest.mark.usefixtures("_fresh")
@pytest.mark.parametrize("reply", ["nonsense", "[1]", "[{}, [-1]]", "[" * 100_000, '[{"how": "done", "x": 1}, []]'])
def test_a_malformed_reply_is_the_end_of_the_process(reply: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minder, "ATTEMPTS", 1)
    odd = Task("odd", f"{__name__}:replies", {"reply": reply})
    lost, other = done(odd, task("b"))
    assert (lost.how, lost.message) == (How.LOST, "its process died 1 times: a malformed reply")
    assert other.how is How.DONE


def test_no_process_stays_where_its_parent_is_killed(tmp_path: Path) -> None:
    marker = tmp_path / "left"
    program = f"""
from ptokit.workers.minder import work_batch
from ptokit.workers.minder import Task
work_batch([Task("x", "{__name__}:leaves_a_process", {{"name": "sleeps"}}).as_plain()])
"""
    environment = {**os.environ, "MARKER": str(marker), "PYTHONPATH": os.pathsep.join(sys.path)}
    parent = subprocess.Popen([sys.executable, "-c", program], env=environment)
    assert until(marker.exists)
    (child,) = children(parent.pid)
    parent.kill()
    parent.wait()
    assert _ends(child)
    assert _ends(int(marker.read_text()))


class Losing(Executor):
    """Loses every batch that has one of some tasks, as a cluster does whose worker dies."""

    def __init__(self, lost: set[str], times: int, kind: type[Exception] = RuntimeError) -> None:
        self.lost, self.times, self.kind, self.batches = lost, times, kind, 0

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.batches += 1
        future: Future[Any] = Future()
        (entries,) = args
        if self.times and any(entry["id"] in self.lost for entry in entries):
            self.times -= 1
            future.set_exception(self.kind("worker gone"))
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


class Dying(Remote):
    """Answers some batches, then none: with an exception, by taking them back, by taking no more, or not at all."""

    def __init__(self, how: str, alive: int = 20) -> None:
        self.how, self.alive = how, alive

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        (entries,) = args
        self.alive -= 1
        if self.alive >= 0:
            future.set_result([Answer(entry["id"], How.DONE, seconds=1).as_plain() for entry in entries])
        elif self.how == "refuses":
            raise RuntimeError("shut down")
        elif self.how == "takes back":
            future.cancel()
            future.set_running_or_notify_cancel()
        elif self.how == "fails":
            future.set_exception(ConnectionError("nobody there"))
        elif self.how != "is silent":
            future.set_exception(minder.StartError("no memory"))
        return future

    def gone(self) -> str:
        return "out of reach" if self.alive < 0 and self.how == "is silent" else ""


@pytest.mark.parametrize("how", ["refuses", "takes back", "fails", "cannot start", "is silent"])
def test_tasks_of_an_executor_that_dies_are_not_lost(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ptokit.workers.executors.POLL_SECONDS", 0.01)
    answers: list[Answer] = []

    def work() -> None:
        for group in drive(map(task, map(str, range(100))), Dying(how), 2):
            answers.extend(group)

    with pytest.raises(DiagnosticError) as caught:
        work()
    assert [d.rule for d in caught.value.diagnostics] == ["RUN-EXECUTOR"]
    assert len(answers) == len({a.id for a in answers}) == 20
    assert {a.how for a in answers} == {How.DONE}


@pytest.mark.parametrize("kind", [CancelledError, BrokenExecutor])
@pytest.mark.parametrize(("times", "ends"), [(4, False), (5, True)])
def test_a_task_that_an_executor_takes_back_is_not_lost(kind: type[Exception], times: int, ends: bool) -> None:
    executor = Losing({"c7"}, times, kind)
    answers: list[Answer] = []
    with pytest.raises(DiagnosticError, match="executor is lost") if ends else nullcontext():
        for group in drive(map(task, ("c6", "c7", "c8")), executor, 1, together=1):
            answers += group
    assert {a.id: a.how for a in answers} == dict.fromkeys(("c6", "c8") if ends else ("c6", "c7", "c8"), How.DONE)


@pytest.mark.parametrize("reply", [None, [], [{}], 5, [{"id": "x", "how": "done"}], [{"id": "odd", "how": "so"}]])
def test_a_reply_that_is_none_loses_its_task_only(reply: Any) -> None:
    class Odd(Losing):
        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
            future = super().submit(fn, *args, **kwargs)
            if [entry["id"] for entry in args[0]] == ["odd"]:
                future = Future()
                future.set_result(reply)
            return future

    answers = [a for group in drive([task("a"), task("odd"), task("b")], Odd(set(), 0), 1, together=1) for a in group]
    assert {a.id: a.how for a in answers} == {"a": How.DONE, "odd": How.LOST, "b": How.DONE}
