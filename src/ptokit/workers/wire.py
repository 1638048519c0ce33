"""Messages between two processes: a line of JSON, and bytes behind it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, BinaryIO


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
