"""Accesses by address: what vector instructions and DMA copies really read and write, byte by byte."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ptokit.isa.machine import Axis, Combine
from ptokit.isa.placement import buffer_name
from ptokit.run.chunk import Chunk
from ptokit.run.local import SPACES, LocalPointer
from ptokit.run.memory import Pointer
from ptokit.run.storage import Arena
from ptokit.types.enums import TileType

from .footprints import Footprint, Touch
from .gm import Memory, Scattered
from .pipes import ObservedPipes
from .shadow import Space
from .views import ObservedView

Row = tuple[int, int]
Rows = tuple[Row, ...]
_NOTHING = Footprint(np.empty(0, np.int64), np.empty(0, np.int64))


class ObservedMemory(Chunk):
    """A chunk of one block whose accesses by address are collected in ``touched`` until somebody takes them."""

    view = ObservedView
    pipes_of = ObservedPipes
    pipes: ObservedPipes
    memories: dict[int, tuple[Memory, int]]
    touched: list[Touch]

    def space_of(self, arena: Arena, loc: TileType, name: str) -> Space:
        """The shadow of an arena."""
        raise NotImplementedError

    def taken(self) -> list[Touch]:
        """The accesses by address since the last call: reads first, then writes."""
        taken, self.touched = self.touched, []
        return sorted(taken, key=lambda touch: touch.write)

    def load(
        self, pointer: LocalPointer, offset: Any, nbytes: int, alignment: int, rule: str = "VEC-A5-03"
    ) -> np.ndarray:
        found = super().load(pointer, offset, nbytes, alignment, rule)
        self._touch(pointer, _run(_start(pointer, offset), nbytes), write=False)
        return found

    def store(
        self,
        pointer: LocalPointer,
        offset: Any,
        values: np.ndarray,
        active: np.ndarray | None,
        alignment: int,
        rule: str = "VEC-A5-03",
    ) -> None:
        super().store(pointer, offset, values, active, alignment, rule)
        start, width = _start(pointer, offset), values.dtype.itemsize
        if active is None:
            self._touch(pointer, _run(start, values.shape[1] * width), write=True)
        else:
            self._touch(pointer, _lanes(start, width, np.packbits(active[0]).tobytes()), write=True)

    def gather(
        self,
        pointer: LocalPointer,
        places: np.ndarray,
        width: int,
        keep: np.ndarray | None,
        alignment: int,
        offset: Any = None,
    ) -> np.ndarray:
        found = super().gather(pointer, places, width, keep, alignment, offset)
        self._scattered(pointer, places, width, keep, offset, write=False)
        return found

    def scatter(
        self,
        pointer: LocalPointer,
        places: np.ndarray,
        values: np.ndarray,
        keep: np.ndarray | None,
        alignment: int,
        offset: Any = None,
    ) -> None:
        super().scatter(pointer, places, values, keep, alignment, offset)
        self._scattered(pointer, places, values.shape[2], keep, offset, write=True)

    def _scattered(
        self,
        pointer: LocalPointer,
        places: np.ndarray,
        width: int,
        keep: np.ndarray | None,
        offset: Any,
        *,
        write: bool,
    ) -> None:
        chosen = places[0] if keep is None else np.broadcast_to(places, np.broadcast(places, keep).shape)[0][keep[0]]
        starts = np.unique(chosen + _start(pointer, offset))
        self._touch(pointer, _elements(starts.tobytes(), width), write=write)

    def copy(self, dst: Any, first: int, src: Any, axes: Sequence[Axis], nbytes: int) -> None:
        super().copy(dst, first, src, axes, nbytes)
        if nbytes:
            self._rows_touched(src, 0, tuple((n, s) for n, _, s in axes), nbytes, write=False)
            self._rows_touched(dst, first, tuple((n, d) for n, d, _ in axes), nbytes, write=True)

    def fill(self, dst: LocalPointer, first: int, axes: Sequence[Axis], unit: bytes, nbytes: int) -> None:
        super().fill(dst, first, axes, unit, nbytes)
        if nbytes > 0:
            self._rows_touched(dst, first, tuple((n, d) for n, d, _ in axes), nbytes, write=True)

    def fetch(
        self, src: Any, first: int, axes: Sequence[Row], nbytes: int, *, needed: tuple[Sequence[Row], int] | None = None
    ) -> np.ndarray:
        found = super().fetch(src, first, axes, nbytes, needed=needed)
        if nbytes:
            touch = self._rows_touched(src, first, tuple(axes), nbytes, write=False)
            if touch is not None and needed is not None and isinstance(src, LocalPointer):
                touch.initial = rows(src.address + first, tuple(needed[0]), needed[1]) if needed[1] else _NOTHING
        return found

    def deposit(
        self,
        dst: Any,
        first: int,
        axes: Sequence[Row],
        values: np.ndarray,
        *,
        combine: Combine | None = None,
        sub: int = 0,
    ) -> None:
        super().deposit(dst, first, axes, values, combine=combine, sub=sub)
        if values.size:
            nbytes = values.shape[-1] * values.itemsize
            touch = self._rows_touched(dst, first, tuple(axes), nbytes, write=True, sub=sub)
            if touch is not None and combine is not None:
                touch.atomic = combine[0].capitalize(), combine[1].name

    def _touch(self, pointer: LocalPointer, where: Footprint, *, write: bool, sub: int = 0) -> Touch | None:
        if not len(where):
            return None
        loc = SPACES[pointer.space]
        space = self.space_of(self.sub_space(loc, sub), loc, buffer_name(loc))
        self.touched.append(Touch(space, write, where, ""))
        return self.touched[-1]

    def _rows_touched(
        self, pointer: Any, first: int, axes: Rows, nbytes: int, *, write: bool, sub: int = 0
    ) -> Touch | None:
        axes = tuple((n, s) for n, s in axes if n != 1)
        if any(n == 0 for n, _ in axes):
            return None
        if isinstance(pointer, LocalPointer):
            return self._touch(pointer, rows(pointer.address + first, axes, nbytes), write=write, sub=sub)
        assert isinstance(pointer, Pointer)
        memory, origin = self.memories[id(pointer.buffer)]
        found = rows(origin + pointer.offset * pointer.dtype.size + first, axes, nbytes)
        granules = np.unique(_bytes(found) // memory.granule)
        self.touched.append(Touch(memory, write, Scattered(granules), memory.name))
        return self.touched[-1]


def _start(pointer: LocalPointer, offset: Any) -> int:
    return int(pointer.address if offset is None else pointer.address + offset * pointer.size)


@lru_cache(maxsize=65536)
def _run(start: int, nbytes: int) -> Footprint:
    """Bytes in one run."""
    return Footprint(np.array([start]), np.array([start + nbytes]))


@lru_cache(maxsize=65536)
def _lanes(start: int, width: int, active: bytes) -> Footprint:
    """The bytes of active lanes; `active` has one bit for each, the first in the highest bit."""
    lanes = np.flatnonzero(np.unpackbits(np.frombuffer(active, np.uint8)))
    return _merged(start + lanes * width, width)


@lru_cache(maxsize=65536)
def _elements(starts: bytes, width: int) -> Footprint:
    """Elements at ascending places, given as the bytes of an int64 array."""
    return _merged(np.frombuffer(starts, np.int64), width)


@lru_cache(maxsize=8192)
def rows(start: int, axes: Rows, nbytes: int) -> Footprint:
    """The bytes of rows."""
    starts: np.ndarray = np.array([start], np.int64)
    for count, stride in axes:
        starts = (starts[:, None] + np.arange(count, dtype=np.int64) * stride).reshape(-1)
    return _merged(np.unique(starts), nbytes)


def _merged(starts: np.ndarray, nbytes: int) -> Footprint:
    """Runs of equal length at ascending places, those that touch as one."""
    if not len(starts):
        return Footprint(starts, starts)
    apart = np.flatnonzero(np.diff(starts) > nbytes)
    return Footprint(
        starts[np.concatenate(([0], apart + 1))], starts[np.concatenate((apart, [len(starts) - 1]))] + nbytes
    )


def _bytes(found: Footprint) -> np.ndarray:
    return np.arange(found.lo, found.hi) if isinstance(found.index, slice) else found.index
