"""An executor in this process, and kernels to divide."""

from __future__ import annotations

import json
from concurrent.futures import Executor, Future
from multiprocessing.shared_memory import SharedMemory
from typing import Any

import pytest

from ptokit.asm import parse_module
from ptokit.launches import arrays
from ptokit.run import Program, compile_program
from ptokit.targets import target
from ptokit.workers.minder import Answer, How, Task, read_task, work_on


class Inline(Executor):
    """Does the work at once, in this process."""

    def __init__(self) -> None:
        self.tasks: list[Task] = []

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        (entries,) = args
        if not entries:  # asked whether it works
            future.set_result([])
            return future
        (entry,) = entries
        task = read_task(json.loads(json.dumps({**entry, "data": []})) | {"data": entry["data"]})
        self.tasks.append(task)
        value, data = work_on(task.call, task.given, task.data)
        future.set_result([Answer(task.id, How.DONE, value, tuple(data), seconds=1.0).as_plain()])
        return future


def compiled(text: str, on: str = "a5") -> Program:
    read = parse_module(text, "k.pto", target=target(on))
    read.diagnostics.raise_if_errors()
    return compile_program(read.module, target(on))


@pytest.fixture
def memories(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the shared memory that this test makes: other processes make some, too."""
    names: list[str] = []

    def make(*args: Any, **kwargs: Any) -> SharedMemory:
        memory = SharedMemory(*args, **kwargs)
        if kwargs.get("create"):
            names.append(memory.name)
        return memory

    monkeypatch.setattr(arrays, "SharedMemory", make)
    return names
