"""Watches over a process that works on cases: limits of time and memory, and what to say when the process dies.

`work_batch` is what executors run, in a thread, a process or on another machine. Each thread that runs it has a process
of its own for the work (`ptokit.campaign.child`), so that a case that hangs, runs out of memory or ends the process
costs no other case anything.
"""

from __future__ import annotations

import atexit
import json
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from .case import Case, Result, Status, read_case, read_result

ATTEMPTS = 2
"""How often a case is tried whose process dies."""

START_SECONDS = 120
"""How long a process may take to start."""

_BLAS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
"""One thread in each process: there are as many processes as the executor has workers."""


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
            [sys.executable, "-m", "ptokit.campaign.child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            encoding="utf-8",
        )
        self.ended = False  # on purpose
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        threading.Thread(target=self._listen, daemon=True).start()
        _children.add(self)
        self._answer(START_SECONDS)

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    def work(self, case: Case) -> Result:
        """The result of a case. Raises `ChildDied`, and `TimeoutError` past the case's limit."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(case.as_json()) + "\n")
            self._process.stdin.flush()
        except OSError:
            raise ChildDied(self._how()) from None
        return read_result(json.loads(self._answer(case.seconds or None)))

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

    def _listen(self) -> None:
        assert self._process.stdout is not None
        with suppress(ValueError):  # closed
            for line in self._process.stdout:
                self._lines.put(line)
        self._lines.put("")

    def _answer(self, seconds: float | None) -> str:
        try:
            line = self._lines.get(timeout=seconds)
        except queue.Empty:
            raise TimeoutError from None
        if not line.endswith("\n"):
            raise ChildDied(self._how())
        return line

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
    """End every process that works on cases."""
    for child in list(_children):
        child.end()


def work_batch(entries: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The results of cases, as JSON objects, in order. Never raises on account of a case."""
    return [_mind(read_case(entry)).as_json() for entry in entries]


def _mind(case: Case) -> Result:
    start = time.perf_counter()
    how = ""
    for attempt in range(1, ATTEMPTS + 1):
        child: Child | None = getattr(_mine, "child", None)
        try:
            child = _mine.child = child or Child()
            result = child.work(case)
            return result if attempt == 1 else replace(result, attempt=attempt)
        except ChildDied as death:
            how = death.how
            if child is not None and child.ended:  # the campaign is over
                break
            _let_go()
        except TimeoutError:
            _let_go()
            message = f"stopped after {case.seconds:g} s"
            return _without_answer(case, Status.TIMEOUT, message, start, attempt)
    return _without_answer(case, Status.LOST, f"its process died {ATTEMPTS} times: {how}", start, ATTEMPTS)


def _let_go() -> None:
    child = getattr(_mine, "child", None)
    if child is not None:
        child.end()
    _mine.child = None


def _without_answer(case: Case, status: Status, message: str, start: float, attempt: int) -> Result:
    seconds = time.perf_counter() - start
    return Result(case.id, status, message, seconds=seconds, host=socket.gethostname(), attempt=attempt)
