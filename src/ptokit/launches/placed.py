"""The arguments of a launch where its workers find them, and what they wrote where the caller wants it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np

from ptokit.run.program import Program

from .access import Footprints, names
from .arrays import describe_file, describe_number, pack_runs, put, shared, take, transfer
from .runs import merged, of_blocks, union

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
