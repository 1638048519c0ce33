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
import stat
import struct
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from itertools import pairwise
from multiprocessing import resource_tracker
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from ptokit.machine.buffers import Piece, pieces

BOOT = Path("/proc/sys/kernel/random/boot_id")
"""Another one for each machine, and each time that it is started."""

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
    """The file that holds the memory of an array, and where it begins there; None without one that others can open.

    That is so for memory that NumPy allocated, private mappings, and files that have no name any more.
    """
    found = pieces([array])
    if found is None or not found[0] or not all(_continues(a, b) for a, b in pairwise(found[0])):
        return None
    piece = found[0][0]
    if piece.file is None or not piece.shared:
        return None
    with suppress(OSError, ValueError), _regular(piece.path, "rb") as file:
        if _file_of(file.fileno()) == piece.file:
            return {"file": piece.path, "offset": piece.offset, "identity": _identity(file.fileno())}
    return None


def _regular(path: str, mode: str) -> BinaryIO:
    """A file that is no pipe and no device, open. Raises `OSError`."""
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise OSError(path)
    return open(path, mode)  # type: ignore[return-value]


def _continues(a: Piece, b: Piece) -> bool:
    same = (a.file, a.shared, a.path) == (b.file, b.shared, b.path)
    return same and a.end == b.start and b.offset - a.offset == b.start - a.start


def _file_of(file: int) -> tuple[bytes, int] | None:
    """An open file as the table of mappings names it, where some file systems have other numbers than `os.stat`."""
    with mmap.mmap(file, 1, access=mmap.ACCESS_READ) as mapping:
        view = np.frombuffer(mapping, np.uint8)
        found = pieces([view])
        del view
    return found[0][0].file if found else None


def _identity(file: int) -> list[Any]:
    """What tells a file from all others of one machine, and the machine from others since it was started."""
    found = os.fstat(file)
    return [found.st_dev, found.st_ino, found.st_size, BOOT.read_text().strip()]


def open_file(given: Mapping[str, Any], nbytes: int, *, write: bool) -> np.ndarray:
    """The bytes of a file as an array. Raises `MissingError` unless it is the very file, on the same machine."""
    try:
        with _regular(given["file"], "r+b" if write else "rb") as file:
            if _identity(file.fileno()) != given["identity"]:
                raise MissingError(given["file"])
            return np.memmap(file, np.uint8, "r+" if write else "r", given["offset"], (nbytes,))
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
