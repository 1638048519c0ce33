"""Watches over a process that works on tasks: limits of time and memory, and what to say when the process dies.

`work_batch` is what executors run, in a thread, a process or on another machine. Each thread that runs it has a process
of its own for the work (`ptokit.workers.child`), so that a task that hangs, runs out of memory or ends the process
costs no other task anything.
"""

from __future__ import annotations

import atexit
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from .task import Answer, How, Task, read_task
from .wire import receive, send

ATTEMPTS = 2
"""How often a task is tried whose process dies."""

START_SECONDS = 120
"""How long a process may take to start."""

_BLAS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
"""One thread in each process: there are as many processes as the executor has workers."""

_HOST = socket.gethostname()


class ChildDied(Exception):
    """The process ended without an answer; `how` says by what."""

    def __init__(self, how: str) -> None:
        self.how = how
        super().__init__(how)


class Child:
    """A running process."""

    def __init__(self) -> None:
        environment = {**os.environ, **dict.fromkeys(_BLAS, "1"), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "ptokit.workers.child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
        )
        self.ended = False  # on purpose
        self._imported: set[str] = set()
        self._messages: queue.SimpleQueue[tuple[Any, list[bytes]] | None] = queue.SimpleQueue()
        threading.Thread(target=self._listen, daemon=True).start()
        _children.add(self)
        self._message(START_SECONDS)

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    def work(self, task: Task) -> Answer:
        """The answer to a task. Raises `ChildDied`, and `TimeoutError` past the task's limit."""
        module = task.call.partition(":")[0]
        if module not in self._imported:  # which does not count as time of the task
            self._send({"import": module})
            self._message(START_SECONDS)
            self._imported.add(module)
        self._send({"call": task.call, "given": task.given, "memory": task.memory}, task.data)
        answer, data = self._message(task.seconds or None)
        how = How(answer.pop("how"))
        return Answer(task.id, how, data=tuple(data), host=_HOST, **answer)

    def end(self) -> None:
        """End the process, whatever it does."""
        self.ended = True
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with suppress(OSError):
                    stream.close()
        _children.discard(self)

    def _send(self, value: dict[str, Any], data: Sequence[bytes] = ()) -> None:
        assert self._process.stdin is not None
        try:
            send(self._process.stdin, value, data)  # type: ignore[arg-type]
        except OSError:
            raise ChildDied(self._how()) from None

    def _listen(self) -> None:
        assert self._process.stdout is not None
        with suppress(ValueError, OSError):  # closed
            while (message := receive(self._process.stdout)) is not None:  # type: ignore[arg-type]
                self._messages.put(message)
        self._messages.put(None)

    def _message(self, seconds: float | None) -> tuple[Any, list[bytes]]:
        try:
            message = self._messages.get(timeout=seconds)
        except queue.Empty:
            raise TimeoutError from None
        if message is None:
            raise ChildDied(self._how())
        return message

    def _how(self) -> str:
        code = self._process.wait()
        if code >= 0:
            return f"exit status {code}"
        try:
            return signal.Signals(-code).name
        except ValueError:
            return f"signal {-code}"


_children: weakref.WeakSet[Child] = weakref.WeakSet()
_mine = threading.local()


@atexit.register
def end_children() -> None:
    """End every process that works on tasks."""
    for child in list(_children):
        child.end()


def work_batch(entries: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The answers to tasks, both in plain values, in order. Never raises on account of a task."""
    return [_mind(read_task(entry)).as_plain() for entry in entries]


def _mind(task: Task) -> Answer:
    start = time.perf_counter()
    how = ""
    for attempt in range(1, ATTEMPTS + 1):
        child: Child | None = getattr(_mine, "child", None)
        try:
            child = _mine.child = child or Child()
            answer = child.work(task)
            return answer if attempt == 1 else _again(answer, attempt)
        except ChildDied as death:
            how = death.how
            if child is not None and child.ended:  # all is over
                break
            _let_go()
        except TimeoutError:
            _let_go()
            return _without_value(task, How.TIMEOUT, f"stopped after {task.seconds:g} s", start, attempt)
    return _without_value(task, How.LOST, f"its process died {ATTEMPTS} times: {how}", start, ATTEMPTS)


def _again(answer: Answer, attempt: int) -> Answer:
    return Answer(**{**vars(answer), "attempt": attempt})


def _let_go() -> None:
    child = getattr(_mine, "child", None)
    if child is not None:
        child.end()
    _mine.child = None


def _without_value(task: Task, how: How, message: str, start: float, attempt: int) -> Answer:
    seconds = time.perf_counter() - start
    return Answer(task.id, how, message=message, seconds=seconds, host=_HOST, attempt=attempt)
