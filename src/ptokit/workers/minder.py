"""Tasks, what came of them, and a watch over the process that works on them: limits of time and memory, and what to say
when the process dies.

Tasks and answers are plain values that travel anywhere. `work_batch` is what executors run, in a thread, a process or
on another machine. Each thread that runs it has a process of its own for the work (`ptokit.workers.child`), so that a
task that hangs, runs out of memory or ends the process costs no other task anything.
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
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict
from enum import StrEnum
from importlib import import_module
from typing import Any, BinaryIO

from ptokit.records import dataclass

# A task, and what came of it: plain values, so that they travel to any process.


Work = Callable[[dict[str, Any], Sequence[bytes]], Any]
"""Gets what a task gives and its bytes; returns a value of JSON, or a pair of one and a list of bytes."""


@dataclass(frozen=True)
class Task:
    """A call of a function that a process can import, ``module:name``, on data.

    ``given`` is an object of JSON, ``data`` bytes beside it. ``seconds`` and ``memory`` (bytes) are limits; 0: none.
    """

    id: str
    call: str
    given: dict[str, Any]
    data: tuple[bytes, ...] = ()
    seconds: float = 0
    memory: int = 0

    def as_plain(self) -> dict[str, Any]:
        """The task in values of Python itself."""
        return {"id": self.id, "call": self.call, "given": self.given, "data": list(self.data)} | {
            "seconds": self.seconds,
            "memory": self.memory,
        }


class How(StrEnum):
    """How the work on a task ended."""

    DONE = "done"
    FAILED = "failed"  # the function raised an exception, which the message names
    TIMEOUT = "timeout"
    LOST = "lost"  # its process died, twice


@dataclass(frozen=True)
class Answer:
    """What came of a task. ``value`` is what the function returned; ``attempt`` counts from 1."""

    id: str
    how: How
    value: Any = None
    data: tuple[bytes, ...] = ()
    message: str = ""
    seconds: float = 0.0
    host: str = ""
    attempt: int = 1

    def as_plain(self) -> dict[str, Any]:
        """The answer in values of Python itself."""
        return asdict(self)


def read_task(entry: dict[str, Any]) -> Task:
    """The task that `Task.as_plain` describes."""
    return Task(**{**entry, "data": tuple(entry["data"])})


def read_answer(entry: dict[str, Any]) -> Answer:
    """The answer that `Answer.as_plain` describes."""
    return Answer(**{**entry, "how": How(entry["how"]), "data": tuple(entry["data"])})


def work_on(call: str, given: dict[str, Any], data: Sequence[bytes]) -> tuple[Any, list[bytes]]:
    """Call the function; its value and bytes. Raises whatever it raises."""
    module, _, name = call.partition(":")
    work: Work = getattr(import_module(module), name)
    found = work(given, data)
    return found if isinstance(found, tuple) else (found, [])


# Messages between two processes: a line of JSON, and bytes after it.


class MalformedError(Exception):
    """What came is no message."""


def send(stream: BinaryIO, value: Any, data: Sequence[bytes] = ()) -> None:
    """Write a message. Raises `OSError` where the other end is gone."""
    stream.write(json.dumps([value, [len(d) for d in data]]).encode() + b"\n")
    for part in data:
        stream.write(part)
    stream.flush()


def receive(stream: BinaryIO) -> tuple[Any, list[bytes]] | None:
    """The next message; None where the other end is gone, perhaps in the middle of one. Raises `MalformedError`."""
    line = stream.readline()
    if not line.endswith(b"\n"):
        return None
    try:
        value, sizes = json.loads(line)
        if not all(isinstance(size, int) and size >= 0 for size in sizes):
            raise ValueError("a size is none")
        data = [stream.read(size) for size in sizes]
    except (ValueError, TypeError, RecursionError, OverflowError, MemoryError) as error:
        raise MalformedError(" ".join(str(error).split())[:200]) from None
    return None if any(len(part) != size for part, size in zip(data, sizes)) else (value, data)


ATTEMPTS = 2
"""How often a task is tried whose process dies."""

START_SECONDS = 120
"""How long a process may take to start."""

STARTS = 3
"""How often it is tried to start one."""

LAST_WORDS_SECONDS = 0.2
"""How long to read what a process has sent that has ended, where another one holds its end of the socket."""

END_SECONDS = 5.0
"""How long a process may take to end that has closed its end of the socket."""

_MALFORMED = "a malformed reply"

_BLAS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
"""One thread in each process: there are as many processes as the executor has workers."""

_HOST = socket.gethostname()


class ChildDied(Exception):
    """The process ended without an answer; `how` says by what."""

    def __init__(self, how: str) -> None:
        self.how = how
        super().__init__(how)


class StartError(Exception):
    """No process for the work can be started: nothing that a task can help."""


class OverError(Exception):
    """The work is over: nobody waits for the answer."""


class Child:
    """A running process, at the head of a group of its own."""

    def __init__(self) -> None:
        environment = {**os.environ, **dict.fromkeys(_BLAS, "1"), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        # A pair of sockets, since the end here can be closed whoever holds the other one: a process that a task left.
        self._socket, theirs = socket.socketpair()
        self._answers, self._tasks = self._socket.makefile("rb"), self._socket.makefile("wb")
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "ptokit.workers.child"],
                stdin=theirs.fileno(),
                stdout=theirs.fileno(),
                stderr=subprocess.DEVNULL,
                env=environment,
                start_new_session=True,
            )
        except OSError:
            self._socket.close()
            raise
        finally:
            theirs.close()
        self._reaping = threading.Lock()  # once the process is reaped, its number may be another one's
        self._imported: set[str] = set()
        self._messages: queue.SimpleQueue[tuple[Any, list[bytes]] | str | None] = queue.SimpleQueue()
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()
        self._watcher = threading.Thread(target=self._see_it_end, daemon=True)
        self._watcher.start()

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    def ready(self) -> None:
        """Wait until it can work. Raises `ChildDied`, and `TimeoutError`."""
        self._message(START_SECONDS)

    def work(self, task: Task) -> Answer:
        """The answer to a task. Raises `ChildDied`, and `TimeoutError` past the task's limit."""
        module = task.call.partition(":")[0]
        if module not in self._imported:  # which does not count as time of the task
            self._send({"import": module})
            self._message(START_SECONDS)
            self._imported.add(module)
        self._send({"call": task.call, "given": task.given, "memory": task.memory}, task.data)
        answer, data = self._message(min(task.seconds, threading.TIMEOUT_MAX) or None)
        try:
            how = How(answer.pop("how"))
            return Answer(task.id, how, data=tuple(data), host=_HOST, **answer)
        except (AttributeError, KeyError, TypeError, ValueError):
            raise ChildDied(_MALFORMED) from None

    def end(self) -> None:
        """End the process, and all of its group, whatever they do."""
        self._kill()
        self._close()
        self._watcher.join()

    def _kill(self) -> None:
        with self._reaping:
            if self._process.returncode is None:
                os.killpg(self.pid, signal.SIGKILL)

    def _close(self) -> None:
        """Let go of the socket; whoever reads from it or writes to it is told."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def _see_it_end(self) -> None:
        """When the process has ended, end its group; one who has left the group keeps nobody waiting."""
        os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
        self._kill()
        self._listener.join(LAST_WORDS_SECONDS)
        self._close()
        with self._reaping:
            self._process.wait()

    def _send(self, value: dict[str, Any], data: Sequence[bytes] = ()) -> None:
        try:
            send(self._tasks, value, data)
        except (OSError, ValueError):
            raise ChildDied(self._how()) from None

    def _listen(self) -> None:
        try:
            while (message := receive(self._answers)) is not None:
                self._messages.put(message)
            self._messages.put(None)
        except MalformedError:
            self._messages.put(_MALFORMED)
        except (OSError, ValueError):  # closed
            self._messages.put(None)
        finally:
            self._socket.close()

    def _message(self, seconds: float | None) -> tuple[Any, list[bytes]]:
        try:
            message = self._messages.get(timeout=seconds)
        except queue.Empty:
            raise TimeoutError from None
        if message is None:
            raise ChildDied(self._how())
        if isinstance(message, str):
            raise ChildDied(message)
        return message

    def _how(self) -> str:
        self._watcher.join(END_SECONDS)
        code = self._process.returncode
        if code is None:
            return "it hung up"
        if code >= 0:
            return f"exit status {code}"
        try:
            return signal.Signals(-code).name
        except ValueError:
            return f"signal {-code}"


class Crew:
    """The processes that the threads of an executor watch over."""

    def __init__(self) -> None:
        self._children: set[Child] = set()
        self._lock = threading.Lock()
        self.over = False

    def child(self) -> Child:
        """A new process. Raises `OSError`, and `OverError` once all is over."""
        with self._lock:  # none is made that `end` does not see
            if self.over:
                raise OverError
            child = Child()
            self._children.add(child)
        return child

    def let_go(self, child: Child) -> None:
        """End one of them."""
        child.end()
        with self._lock:
            self._children.discard(child)

    def end(self) -> None:
        """End all of them, and begin none any more."""
        with self._lock:
            self.over = True
            children = list(self._children)
        for child in children:
            self.let_go(child)


_everybody = Crew()
"""Those of threads that joined no other crew: of executors elsewhere."""

atexit.register(_everybody.end)

_mine = threading.local()


def join(crew: Crew) -> None:
    """Have the process of this thread belong to a crew."""
    _mine.crew = crew


def work_batch(entries: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The answers to tasks, both in plain values, in order.

    Never raises on account of a task: `StartError` where there can be no process, `OverError` where nobody waits.
    """
    return [_mind(read_task(entry)).as_plain() for entry in entries]


def _mind(task: Task) -> Answer:
    start = time.perf_counter()
    how = ""
    for attempt in range(1, ATTEMPTS + 1):
        try:
            answer = _child().work(task)
            return answer if attempt == 1 else _again(answer, attempt)
        except ChildDied as death:
            how = death.how
            let_go()
        except TimeoutError:
            let_go()
            return _without_value(task, How.TIMEOUT, f"stopped after {task.seconds:g} s", start, attempt)
    return _without_value(task, How.LOST, f"its process died {ATTEMPTS} times: {how}", start, ATTEMPTS)


def _crew() -> Crew:
    crew: Crew = getattr(_mine, "crew", _everybody)
    return crew


class _Held:
    """What ends a process with the thread that watches over it."""

    def __init__(self, child: Child, crew: Crew) -> None:
        self.child = child
        self.let_go = weakref.finalize(self, crew.let_go, child)


def _child() -> Child:
    """The process of this thread. Raises `StartError`."""
    held: _Held | None = getattr(_mine, "held", None)
    if held is not None and not _crew().over:
        return held.child
    why = ""
    for _ in range(STARTS):
        try:
            _mine.held = held = _Held(_crew().child(), _crew())
            held.child.ready()
            return held.child
        except OSError as error:  # a process that is not ready in time, too
            why = str(error) or f"not ready after {START_SECONDS} s"
        except ChildDied as death:
            why = death.how
        let_go()
    raise StartError(f"no process can be started: {why}")


def _again(answer: Answer, attempt: int) -> Answer:
    return Answer(**{**vars(answer), "attempt": attempt})


def let_go() -> None:
    """End the process of this thread, if it has one."""
    held: _Held | None = getattr(_mine, "held", None)
    if held is not None:
        held.let_go()
    _mine.held = None


def _without_value(task: Task, how: How, message: str, start: float, attempt: int) -> Answer:
    seconds = time.perf_counter() - start
    return Answer(task.id, how, message=message, seconds=seconds, host=_HOST, attempt=attempt)
