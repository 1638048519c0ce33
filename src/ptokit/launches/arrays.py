"""Arrays on their way to other processes, and back: shared memory on one machine, files by name, bytes elsewhere.

An argument is described by an object of JSON:

| key | |
|---|---|
| ``number`` | a number; a float as the hexadecimal digits of its 8 bytes |
| ``element``, ``shape`` | of an array: bytes of an element, as unsigned integers; its sizes |
| ``source`` | where its bytes are: ``{"shared": NAME}``, ``{"file": ..}``, ``{"bytes": true}``; none: not read |
| ``target`` | where those go that are written: the same; none: not written |
| ``copy`` | the array is a copy of the bytes that the blocks read |

Nothing that is read is changed before all is done, so that a task can be repeated anywhere.
"""

from __future__ import annotations

import mmap
import os
import shutil
import struct
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from multiprocessing import resource_tracker
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path
from typing import Any

import numpy as np

SHARED = Path("/dev/shm")
"""Where the memory comes from that processes share, on systems that show it."""


class MissingError(Exception):
    """A shared memory or file is not there on this machine."""


def describe_number(value: Any) -> dict[str, Any]:
    """The description of a number."""
    value = value.item() if isinstance(value, np.generic) else value
    return {"number": struct.pack("<d", value).hex() if isinstance(value, float) else value}


def number(text: Any) -> Any:
    """The number of a description."""
    return struct.unpack("<d", bytes.fromhex(text))[0] if isinstance(text, str) else text


def describe_file(array: np.ndarray) -> dict[str, Any] | None:
    """The file an array is mapped from, and where it begins there; None without one, or with changes of its own."""
    mapping = getattr(array, "_mmap", None)
    if not isinstance(array, np.memmap) or mapping is None or array.mode == "c" or array.filename is None:
        return None
    first = np.frombuffer(mapping, np.uint8).__array_interface__["data"][0]
    inside = array.__array_interface__["data"][0] - first
    start = array.offset - array.offset % mmap.ALLOCATIONGRANULARITY
    path = Path(array.filename)
    with suppress(OSError):
        found = path.stat()
        return {"file": str(path.resolve()), "offset": start + inside, "size": found.st_size, "inode": found.st_ino}
    return None


def open_file(given: Mapping[str, Any], nbytes: int, *, write: bool) -> np.ndarray:
    """The bytes of a file as an array. Raises `MissingError` unless it is the very file."""
    try:
        found = os.stat(given["file"])
        if (found.st_size, found.st_ino) != (given["size"], given["inode"]):
            raise MissingError(given["file"])
        mode = "r+" if write else "r"
        return np.memmap(given["file"], np.uint8, mode, given["offset"], (nbytes,))  # type: ignore[call-overload,no-any-return]
    except (OSError, ValueError):
        raise MissingError(given["file"]) from None


# --- shared memory ---------------------------------------------------------------------------------------------------


@contextmanager
def shared(nbytes: int) -> Iterator[tuple[str, np.ndarray] | None]:
    """New memory that other processes of this machine can open, zeros, and its name; None where there is not enough.

    It is gone afterwards, also if this process is killed: Python's resource tracker sees to that.
    """
    try:
        if SHARED.is_dir() and shutil.disk_usage(SHARED).free < nbytes + nbytes // 8:
            yield None  # touching what is not there would end the process
            return
        memory = SharedMemory(create=True, size=max(1, nbytes))
    except OSError:
        yield None
        return
    with ExitStack() as stack:
        stack.callback(memory.unlink)
        stack.callback(_close, memory)
        yield memory.name, np.ndarray(nbytes, np.uint8, memory.buf)


def _close(memory: SharedMemory) -> None:
    with suppress(BufferError):  # an array of it is still there, and with it the mapping, until the process ends
        memory.close()


@contextmanager
def opened(name: str, nbytes: int) -> Iterator[np.ndarray]:
    """The memory of that name. Raises `MissingError`."""
    register = resource_tracker.register
    try:
        if sys.version_info >= (3, 13):
            memory = SharedMemory(name, track=False)
        else:  # it would be taken for this process's own, and removed when this process ends
            resource_tracker.register = lambda *_: None  # type: ignore[assignment]
            memory = SharedMemory(name)
    except OSError:
        raise MissingError(name) from None
    finally:
        resource_tracker.register = register
    try:
        yield np.ndarray(nbytes, np.uint8, memory.buf)
    finally:
        _close(memory)


def empty(nbytes: int) -> np.ndarray:
    """Zeros of this process alone, which take memory where they are touched only."""
    return np.frombuffer(mmap.mmap(-1, max(1, nbytes)), np.uint8, nbytes)


# --- parts -----------------------------------------------------------------------------------------------------------


def pack_runs(starts: np.ndarray, ends: np.ndarray) -> bytes:
    """Runs as bytes."""
    return np.stack([starts, ends]).astype("<i8").tobytes()


def unpack_runs(data: bytes) -> list[tuple[int, int]]:
    """Runs from `pack_runs`, as (start, end)."""
    starts, ends = np.frombuffer(data, "<i8").reshape(2, -1).tolist()
    return list(zip(starts, ends))


def take(memory: np.ndarray, runs: list[tuple[int, int]]) -> bytes:
    """The bytes of runs, one behind the other."""
    return b"".join(memory[start:end].tobytes() for start, end in runs)


def put(memory: np.ndarray, runs: list[tuple[int, int]], data: bytes) -> None:
    """Write bytes from `take` to their places."""
    raw, at = np.frombuffer(data, np.uint8), 0
    for start, end in runs:
        memory[start:end] = raw[at : at + end - start]
        at += end - start


def transfer(target: np.ndarray, source: np.ndarray, runs: list[tuple[int, int]]) -> None:
    """Copy runs."""
    for start, end in runs:
        target[start:end] = source[start:end]
