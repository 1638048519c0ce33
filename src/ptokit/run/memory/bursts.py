"""Rows of bytes moved between memories: what a DMA instruction does (vector-path 3.3)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ptokit.isa.checks.tile_types import buffer_name
from ptokit.isa.machine import Axis, Combine
from ptokit.isa.meaning.primitives import PRIMITIVES

from ..fault import Fault, outside
from ..machine.lanes import Line, extremes, lanes
from .accesses import Rows
from .axes import disjoint
from .buffers import Buffer
from .global_memory import Pointer
from .local import SPACES, LocalMemory
from .pointers import LocalPointer

Axes = Sequence[tuple[int, int]]  # (count, stride in bytes), the outermost axis first


class Bursts(LocalMemory):
    """What a chunk does for DMA instructions (see `ptokit.isa.machine.Machine`)."""

    def copy(self, dst: Any, first: int, src: Any, axes: Sequence[Axis], nbytes: int) -> None:
        """Rows of `nbytes` from `src` to `first` bytes behind `dst`; all are read before one is written."""
        if nbytes == 0 or not all(axis[0] for axis in axes):
            return
        axes = [axis for axis in axes if axis[0] > 1]
        while axes and axes[-1][1] == axes[-1][2] == nbytes:  # rows without gaps are one long row
            nbytes *= axes.pop()[0]
        read = [(n, s) for n, _, s in axes]
        write = [(n, d) for n, d, _ in axes]
        sources = self._rows(src, 0, read, nbytes, write=False)
        targets = self._rows(dst, first, write, nbytes, write=True)
        if isinstance(dst, LocalPointer) and isinstance(src, LocalPointer):
            sources = [rows.copy() for rows in sources]
        self._assign(targets, sources)
        if self.observer is not None:
            self.observer.accessed(Rows(src, 0, tuple(read), nbytes, write=False))
            self.observer.accessed(Rows(dst, first, tuple(write), nbytes, write=True))

    def fill(self, dst: LocalPointer, first: int, axes: Sequence[Axis], unit: bytes, nbytes: int) -> None:
        """`nbytes` bytes, from `first` bytes behind the start of each row, with an element over and over."""
        if nbytes <= 0 or not all(axis[0] for axis in axes):
            return
        pattern = np.resize(np.frombuffer(unit, np.uint8), nbytes)
        for rows in self._rows(dst, first, [(n, d) for n, d, _ in axes], nbytes, write=True):
            rows[...] = pattern
        if self.observer is not None:
            self.observer.accessed(Rows(dst, first, tuple((n, d) for n, d, _ in axes), nbytes, write=True))

    def fetch(
        self, src: Any, first: int, axes: Axes, nbytes: int, *, needed: tuple[Axes, int] | None = None
    ) -> np.ndarray:
        """Rows of `nbytes` from `first` bytes behind `src`: uint8 (blocks or 1, counts.., nbytes), the caller's own."""
        counts = tuple(n for n, _ in axes)
        if nbytes == 0 or not all(counts):
            return np.empty((1, *counts, nbytes), np.uint8)
        found = self._rows(src, first, axes, nbytes, write=False)
        if self.observer is not None:
            self.observer.accessed(Rows(src, first, tuple(axes), nbytes, write=False, needed=needed))
        return found[0].copy() if len(found) == 1 else np.concatenate(found)

    def deposit(
        self, dst: Any, first: int, axes: Axes, values: np.ndarray, *, combine: Combine | None = None, sub: int = 0
    ) -> None:
        """Write rows (blocks or 1, counts.., elements) from `first` bytes behind `dst`, lower blocks first."""
        if not values.size:
            return
        plain = np.ascontiguousarray(values)
        nbytes = plain.shape[-1] * plain.dtype.itemsize
        targets = self._rows(dst, first, axes, nbytes, write=True, sub=sub)
        if self.observer is not None:
            self.observer.accessed(Rows(dst, first, tuple(axes), nbytes, write=True, combine=combine, sub=sub))
        if combine is None:
            self._assign(targets, [plain.view(np.uint8)])
            return
        operation = PRIMITIVES[combine[0]].numpy
        for block in range(self.blocks):
            target = _of_block(targets, block).view(plain.dtype)
            target[...] = operation(target, _of_block([plain], block))

    def _assign(self, targets: list[np.ndarray], sources: list[np.ndarray]) -> None:
        """Lower blocks first. One array stands for all blocks, several for one block each."""
        if len(targets) == len(sources) == 1:
            target, source = targets[0], sources[0]
            target[...] = source[-1:] if target.shape[0] == 1 else source
            return
        for block in range(self.blocks):
            target, source = (_of_block(rows, block) for rows in (targets, sources))
            target[...] = source

    def _rows(
        self, pointer: Any, first: int, axes: Axes, nbytes: int, *, write: bool, sub: int = 0
    ) -> list[np.ndarray]:
        """The rows as arrays (blocks or 1, counts.., nbytes) over the memory itself.

        One array if blocks lie at even distances, else one for each block. Raises `Fault`.
        """
        reach = sum((n - 1) * s for n, s in axes) + nbytes
        shape, strides = tuple(n for n, _ in axes), tuple(s for _, s in axes)
        if isinstance(pointer, LocalPointer):
            arena = self.memory_of(pointer, sub)
            low, high = extremes(pointer.address)
            if low + first < 0 or high + first + reach > arena.size:
                start = (low if low < 0 else high) + first
                name = buffer_name(SPACES[pointer.space])
                raise outside("rows in", start, reach, name, arena.size)
            dense = low == high and reach == nbytes * math.prod(shape)
            arena.settle(low + first, high + first + reach, write=write, whole=dense)
            data, pitch = arena.data, arena.pitch
            if low == high:
                return [_strided(arena.flat, low + first, (len(data), *shape, nbytes), (pitch, *strides, 1))]
            return [
                _strided(arena.flat, block * pitch + int(start) + first, (1, *shape, nbytes), (pitch, *strides, 1))
                for block, start in enumerate(lanes(pointer.address))
            ]
        buffer = _checked(pointer, reach)
        if write:
            buffer.before_write()
        start = pointer.offset * pointer.dtype.size + first
        apart = isinstance(start, Line) and (
            not write or disjoint((*_sized(axes), (nbytes, 1)), start.step, start.count)
        )
        if isinstance(start, Line) and apart:
            return [_strided(buffer.mem, start.base, (start.count, *shape, nbytes), (start.step, *strides, 1))]
        starts = np.atleast_1d(lanes(start))
        return [_strided(buffer.mem, int(s), (1, *shape, nbytes), (0, *strides, 1)) for s in starts]


def _sized(axes: Axes) -> Axes:
    return [(n, s) for n, s in axes if n > 1]


def _strided(memory: np.ndarray | None, start: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> np.ndarray:
    assert memory is not None
    return np.ndarray(shape, np.uint8, memory, start, strides)


def _of_block(rows: list[np.ndarray], block: int) -> np.ndarray:
    if len(rows) > 1:
        return rows[block]
    return rows[0][block if rows[0].shape[0] > 1 else 0]


def _checked(pointer: Pointer, reach: int) -> Buffer:
    """The memory behind a global pointer, if `reach` bytes from there lie inside it. Raises `Fault`."""
    buffer = pointer.buffer
    if buffer is None:
        raise Fault("GM-NULL", "the pointer to global memory is null")
    low, high = (int(x) * pointer.dtype.size for x in extremes(pointer.offset))
    if low < 0 or high + reach > buffer.mem.size:
        start = low if low < 0 else high
        raise outside("rows in", start, reach, f"argument {buffer.shown}", buffer.mem.size, show="d")
    return buffer
