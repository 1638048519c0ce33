"""A task and what came of it, and messages between two processes: plain values that travel anywhere."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
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
