"""Arrays and arguments on their way to other processes, and back: shared memory or files.

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
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from itertools import pairwise
from multiprocessing import resource_tracker
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from ptokit.diagnostics import Scope, define
from ptokit.machine.buffers import Piece, pieces
from ptokit.run.program import Program

from .access import Footprints, merged, names, of_blocks, union

# Arrays on their way to other processes, and back: shared memory on one machine, files by name, bytes elsewhere.


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
    """The bytes of runs, one after the other."""
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


# The arguments of a launch where its workers find them, and what they wrote where the caller wants it.


SMALL = 1 << 16
"""Bytes that go with the task whatever there is."""

_HERE = {"bytes": True}


class Placed:
    """The arguments of one launch. Shared memory that it takes belongs to ``stack``.

    ``found``: what blocks touch; None: everything, by one task with all blocks. ``near``: workers may be on this
    machine.
    """

    def __init__(
        self, program: Program, args: Sequence[Any], found: Footprints | None, stack: ExitStack, *, near: bool
    ) -> None:
        self._arguments = [
            _Argument(name, arg, param in program.effects.written, found, stack, near=near)
            for name, arg, param in zip(names(program), args, program.entry.params)
        ]

    def given(self, span: range) -> tuple[list[dict[str, Any]], tuple[bytes, ...]]:
        """The arguments as a task for these blocks has them, and its bytes."""
        data: list[bytes] = []
        return [argument.given(span, data) for argument in self._arguments], tuple(data)

    def take_back(self, span: range, data: Sequence[bytes]) -> None:
        """These blocks have run: ``data`` is what the task returned."""
        rest = list(data)
        for argument in self._arguments:
            argument.take_back(span, rest)

    @property
    def bytes_sent(self) -> int:
        """Of all tasks together, roughly: what decides how many blocks go into one."""
        return sum(argument.bytes_sent for argument in self._arguments)


class _Argument:
    def __init__(
        self, name: str, value: Any, written: bool, found: Footprints | None, stack: ExitStack, *, near: bool
    ) -> None:
        self.name, self.value, self.found = name, value, found
        if not isinstance(value, np.ndarray):
            return
        self.raw = value.reshape(-1).view(np.uint8)
        size = self.raw.size
        reads = not written or found is None or len(found.of(name, write=False)) > 0
        file = describe_file(value) if near else None
        self._inside: np.ndarray | None = None  # shared memory that workers write
        self.source = self.target = None
        if reads:
            self.source = file or (self._share(size, stack) if near and size > SMALL else None) or _HERE
        if written:
            if reads or not (file and value.flags.writeable):
                self.target = self._share_out(size, stack) if near and size > SMALL else _HERE
            else:
                self.target = file
        self.copy = (reads and written) or _HERE in (self.source, self.target)
        if self.copy and self.source is None:
            self.source = _HERE

    def _share(self, size: int, stack: ExitStack) -> dict[str, Any] | None:
        memory = stack.enter_context(shared(size))
        if memory is None:
            return None
        np.copyto(memory[1], self.raw)
        return {"shared": memory[0]}

    def _share_out(self, size: int, stack: ExitStack) -> dict[str, Any]:
        memory = stack.enter_context(shared(size))
        if memory is None:
            return _HERE
        self._inside = memory[1]
        np.copyto(self._inside, self.raw)  # a store need not fill all of its view
        return {"shared": memory[0]}

    @property
    def bytes_sent(self) -> int:
        if not isinstance(self.value, np.ndarray):
            return 0
        return sum(
            int((runs.ends - runs.starts).sum())
            for place, write in ((self.source, False), (self.target, True))
            if place is _HERE and self.found is not None and (runs := self.found.of(self.name, write=write))
        )

    def given(self, span: range, data: list[bytes]) -> dict[str, Any]:
        if not isinstance(self.value, np.ndarray):
            return describe_number(self.value)
        if self.copy:
            reads = self._needed(span)
            data.append(pack_runs(*reads))
            if self.source is _HERE:
                data.append(take(self.raw, list(zip(*(part.tolist() for part in reads)))))
            if self.target is not None:
                data.append(pack_runs(*self._runs(span, write=True)))
        entry = {"element": self.value.dtype.itemsize, "shape": list(self.value.shape)}
        return {**entry, "source": self.source, "target": self.target, "copy": self.copy}

    def take_back(self, span: range, rest: list[bytes]) -> None:
        if not isinstance(self.value, np.ndarray) or self.target is None:
            return
        runs = list(zip(*(part.tolist() for part in self._runs(span, write=True))))
        if self._inside is not None:
            transfer(self.raw, self._inside, runs)
        elif self.target is _HERE:
            put(self.raw, runs, rest.pop(0))

    def _needed(self, span: range) -> tuple[np.ndarray, np.ndarray]:
        """What a copy has to hold: what is read, and what is returned, for a store need not fill all of its view."""
        reads = self._runs(span, write=False)
        return reads if self.target is None else merged(*map(np.concatenate, zip(reads, self._runs(span, write=True))))

    def _runs(self, span: range, *, write: bool) -> tuple[np.ndarray, np.ndarray]:
        if self.found is None:
            return np.zeros(1, np.int64), np.full(1, self.raw.size, np.int64)
        return union(of_blocks(self.found.of(self.name, write=write), span))


# Rules of launches on other processes.


LOST = define(
    "RUN-LOST",
    "The workers of a launch stay alive long enough to run their blocks.",
    scope=Scope.RUN,
    why="Blocks whose worker dies are run once more elsewhere; where that one dies, too, their results are missing.",
    source="docs/campaigns.md",
    example="{a worker that is killed once|a machine without enough memory for the tiles and arrays of a block}",
    unrun="it is about other processes and machines",
)
