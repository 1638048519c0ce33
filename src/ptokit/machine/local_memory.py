"""On-chip memory by address: pointers, loads and stores of registers, rows of bytes that DMA copies.

The bytes are those of the arena in which tiles with addresses live. Addresses are the same for all blocks, or differ:
then every block reads or writes its own place.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from ptokit.isa.checks.tile_types import buffer_name
from ptokit.isa.machine import Axis, Combine
from ptokit.isa.meaning.primitives import PRIMITIVES
from ptokit.types.dtypes import DType, u8
from ptokit.types.enums import TileType

from .buffers import Buffer, disjoint
from .global_memory import Pointer
from .lanes import Fault, Line, extremes, lanes, lift, outside
from .storage import Arena

# Pointers into on-chip memory.


class LocalPointer:
    """An address in an on-chip buffer, in bytes; a number, or a scalar that differs between blocks.

    ``apart``: the memory of a tile that has no address in its buffer, in which this one counts.
    """

    __slots__ = ("address", "apart", "dtype", "size", "space")

    def __init__(self, space: str, address: Any, dtype: DType, apart: Arena | None = None) -> None:
        self.space, self.address, self.dtype, self.apart = space, address, dtype, apart
        self.size = dtype.size

    def advance(self, elements: Any) -> LocalPointer:
        """The pointer `elements` further on."""
        return LocalPointer(self.space, self.address + lift(_flat(elements)) * self.size, self.dtype, self.apart)

    def as_bytes(self) -> LocalPointer:
        """The same place as a pointer to bytes."""
        return LocalPointer(self.space, self.address, u8, self.apart)


def _flat(value: Any) -> Any:
    return value.reshape(-1) if isinstance(value, np.ndarray) else value


# What an instruction has read or written of memory by address, as its machine tells an observer.


class Span(NamedTuple):
    """Bytes in one run, from `offset` elements after a pointer on."""

    pointer: LocalPointer
    offset: Any
    nbytes: int
    write: bool


class Lanes(NamedTuple):
    """Elements of `width` bytes in one run; only those of them are accessed where `active`, (1, n), is true."""

    pointer: LocalPointer
    offset: Any
    width: int
    active: np.ndarray
    write: bool


class Elements(NamedTuple):
    """Elements of `width` bytes at `places`, (1, n), bytes after pointer + offset elements, where `keep` is true."""

    pointer: LocalPointer
    offset: Any
    places: np.ndarray
    width: int
    keep: np.ndarray | None
    write: bool


class Rows(NamedTuple):
    """Rows of `nbytes` bytes, from `first` bytes after a pointer on; axes are (count, stride in bytes).

    ``needed``: the rows on which results depend, where those are fewer. ``combine``: the operation and element type of
    an update. ``sub``: number of the vector core of the cluster whose buffer it is.
    """

    pointer: Any  # also to global memory
    first: int
    axes: tuple[tuple[int, int], ...]
    nbytes: int
    write: bool
    needed: tuple[Sequence[tuple[int, int]], int] | None = None
    combine: Combine | None = None
    sub: int = 0


Access = Span | Lanes | Elements | Rows


class AccessListener(Protocol):
    """Who is told of accesses to memory by address."""

    def accessed(self, access: Access) -> None:
        """The running instruction has read or written on-chip memory by address."""

    def remark(self, rule: str, message: str) -> None:
        """What the running instruction does breaks a rule of warning severity."""


# On-chip memory by address: pointers, and the accesses of vector instructions (vector-path 1, 4).


SPACES = {
    "ub": TileType.Vec,
    "l1": TileType.Mat,
    "l0a": TileType.Left,
    "l0b": TileType.Right,
    "l0c": TileType.Acc,
    "bt": TileType.Bias,
    "fb": TileType.Scaling,
    "l0a scales": TileType.ScaleLeft,
    "l0b scales": TileType.ScaleRight,
}
"""The buffer a pointer's space names; no text names the last two, whose places follow from those of operands."""


class LocalMemory:
    """What a chunk does with on-chip memory by address (see `ptokit.isa.machine.Machine`)."""

    blocks: int
    observer: AccessListener | None = None  # told what the program does

    def space(self, loc: TileType) -> Arena:
        """The memory of one buffer."""
        raise NotImplementedError

    def cast(self, value: Any, dtype: DType, space: str) -> Any:
        """castptr: a byte address, or a pointer of the same space, as a pointer to elements of `dtype`."""
        if isinstance(value, LocalPointer):
            return LocalPointer(space, value.address, dtype, value.apart)
        if space not in SPACES:
            return _cast_global(value, dtype)
        return LocalPointer(space, lift(_flat(value)), dtype)

    def number_of(self, pointer: Any) -> Any:
        """castptr to a number: the byte address; a pointer to global memory has none and stays one."""
        if not isinstance(pointer, LocalPointer):
            return pointer
        if pointer.apart is not None:
            raise Fault(
                "PTR-A5-02", "the address of a tile that has none: nobody has placed it", hint="write addr = .."
            )
        return lift(_flat(lanes(pointer.address)))

    def memory_of(self, pointer: LocalPointer, sub: int = 0) -> Arena:
        """The memory that a pointer points into; of several vector cores of a cluster that of core `sub`."""
        return self.sub_space(SPACES[pointer.space], sub) if pointer.apart is None else pointer.apart

    def sub_space(self, loc: TileType, sub: int) -> Arena:
        """The memory of a buffer; of several vector cores of a cluster that of core `sub`."""
        raise NotImplementedError

    def load(
        self, pointer: LocalPointer, offset: Any, nbytes: int, alignment: int, rule: str = "VEC-A5-03"
    ) -> np.ndarray:
        """`nbytes` bytes at pointer + offset elements, as uint8 of shape (blocks, nbytes)."""
        arena, start = self._place(pointer, offset, nbytes, alignment, rule)
        if self.observer is not None:
            self.observer.accessed(Span(pointer, offset, nbytes, write=False))
        if not isinstance(start, int):
            arena.settle(int(start.min()), int(start.max()) + nbytes, write=False)
            return arena.data[np.arange(len(start))[:, None], start[:, None] + np.arange(nbytes)]
        if arena.windows or arena.stale:
            arena.settle(start, start + nbytes, write=False)
        return arena.data[:, start : start + nbytes].copy()

    def store(
        self,
        pointer: LocalPointer,
        offset: Any,
        values: np.ndarray,
        active: np.ndarray | None,
        alignment: int,
        rule: str = "VEC-A5-03",
    ) -> None:
        """Write values (blocks or 1, n) at pointer + offset elements, those where `active` (blocks or 1, n) is true."""
        width = values.dtype.itemsize
        nbytes = values.shape[1] * width
        arena, start = self._place(pointer, offset, nbytes, alignment, rule)
        if self.observer is not None:
            whole = Span(pointer, offset, nbytes, write=True)
            self.observer.accessed(whole if active is None else Lanes(pointer, offset, width, active, write=True))
        if not isinstance(start, int):
            self._store_apart(arena, start, values, active)
            return
        arena.settle(start, start + nbytes, write=True)
        target = arena.data[:, start : start + nbytes]
        bits = np.ascontiguousarray(values).view(f"u{width}")
        if active is None:
            target.view(bits.dtype)[...] = bits
        else:
            np.copyto(target.view(bits.dtype), bits, where=active)

    def _store_apart(self, arena: Arena, start: np.ndarray, values: np.ndarray, active: np.ndarray | None) -> None:
        """Every block writes at a place of its own."""
        bits = np.ascontiguousarray(values).view(np.uint8)
        nbytes = bits.shape[1]
        arena.settle(int(start.min()), int(start.max()) + nbytes, write=True)
        shape = (len(start), nbytes)
        block = np.broadcast_to(np.arange(len(start))[:, None], shape)
        where = start[:, None] + np.arange(nbytes)
        bits = np.broadcast_to(bits, shape)
        if active is not None:
            kept = np.broadcast_to(np.repeat(active, values.dtype.itemsize, axis=1), shape)
            block, where, bits = block[kept], where[kept], bits[kept]
        arena.data[block, where] = bits

    def gather(
        self,
        pointer: LocalPointer,
        places: np.ndarray,
        width: int,
        keep: np.ndarray | None,
        alignment: int,
        offset: Any = None,
    ) -> np.ndarray:
        """Elements of `width` bytes at `places` (blocks or 1, n) bytes after pointer + offset elements."""
        arena, where = self._places(pointer, places, width, keep, alignment, offset)
        if self.observer is not None:
            self.observer.accessed(Elements(pointer, offset, places, width, keep, write=False))
        if where.size:
            arena.settle(int(where.min()), int(where.max()) + width, write=False)
        block = np.arange(self.blocks)[:, None, None]
        found = arena.data[block, where[:, :, None] + np.arange(width)]
        return found if keep is None else np.where(keep[:, :, None], found, np.uint8(0))

    def scatter(
        self,
        pointer: LocalPointer,
        places: np.ndarray,
        values: np.ndarray,
        keep: np.ndarray | None,
        alignment: int,
        offset: Any = None,
    ) -> None:
        """Write elements (blocks or 1, n, width) of bytes to `places`; of two at one place the last one stays."""
        width = values.shape[2]
        arena, where = self._places(pointer, places, width, keep, alignment, offset)
        if self.observer is not None:
            self.observer.accessed(Elements(pointer, offset, places, width, keep, write=True))
        if keep is not None and not keep.any():
            return
        arena.settle(int(where.min()), int(where.max()) + width, write=True)
        shape = (self.blocks, *where.shape[1:])
        where, values = np.broadcast_to(where, shape), np.broadcast_to(values, (*shape, width))
        block = np.broadcast_to(np.arange(self.blocks)[:, None], shape)
        if keep is not None:
            kept = np.broadcast_to(keep, shape)
            block, where, values = block[kept], where[kept], values[kept]
        arena.data[block[..., None], where[..., None] + np.arange(width)] = values

    def address(self, pointer: LocalPointer) -> Any:
        """Byte address of a pointer: a number, or int64 (blocks,)."""
        return lanes(pointer.address)

    def remark(self, rule: str, message: str) -> None:
        """Tell the observer what breaks a rule of warning severity."""
        if self.observer is not None:
            self.observer.remark(rule, message)

    def _places(
        self,
        pointer: LocalPointer,
        places: np.ndarray,
        width: int,
        keep: np.ndarray | None,
        alignment: int,
        offset: Any,
    ) -> tuple[Arena, np.ndarray]:
        """The memory, and the first bytes of elements (blocks or 1, n); those not kept are inside. Raises `Fault`."""
        arena = self.memory_of(pointer)
        start = pointer.address if offset is None else pointer.address + lift(_flat(offset)) * pointer.size
        where = np.reshape(lanes(start), (-1, 1)) + places
        wrong = (where < 0) | (where + width > arena.size) | (where % alignment != 0)
        if keep is not None:
            wrong, where = (
                wrong & keep,
                np.where(keep, where, min(max(0, int(np.min(lanes(start)))), arena.size - width)),
            )
        if wrong.any():
            block, lane = np.argwhere(wrong)[0].tolist()
            starts = np.broadcast_to(where, wrong.shape)[block : block + 1, lane]
            self._misplaced(pointer, arena, starts, width, alignment, "VEC-A5-03")
        return arena, where

    def _place(
        self, pointer: LocalPointer, offset: Any, nbytes: int, alignment: int, rule: str
    ) -> tuple[Arena, int | np.ndarray]:
        """The memory and the first byte, one for all blocks or one for each. Raises `Fault`."""
        start = pointer.address if offset is None else pointer.address + lift(_flat(offset)) * pointer.size
        arena = self.memory_of(pointer)
        if isinstance(start, int):
            if start % alignment or start < 0 or start + nbytes > arena.size:
                self._misplaced(pointer, arena, np.array([start]), nbytes, alignment, rule)
            return arena, start
        where = np.asarray(lanes(start), np.int64)
        if (where % alignment).any() or where.min() < 0 or where.max() + nbytes > arena.size:
            self._misplaced(pointer, arena, where, nbytes, alignment, rule)
        return arena, where

    def _misplaced(
        self, pointer: LocalPointer, arena: Arena, starts: np.ndarray, nbytes: int, alignment: int, rule: str
    ) -> None:
        beyond = (starts < 0) | (starts + nbytes > arena.size)
        block = int(np.argmax(beyond | (starts % alignment != 0)))
        start, name = int(starts[block]), buffer_name(SPACES[pointer.space])
        blame = block if len(starts) > 1 else None
        if beyond[block]:
            raise outside("access to", start, nbytes, name, arena.size, block=blame)
        raise Fault(rule, f"address {start:#x} of {name} is not a multiple of {alignment} bytes", block=blame)


def _cast_global(value: Any, dtype: DType) -> Pointer:
    if not isinstance(value, Pointer):
        return Pointer(None, 0, dtype)
    where = lanes(value.offset * value.dtype.bits)
    if np.any(np.asarray(where) % dtype.bits):
        raise Fault("PTR-A5-02", f"a pointer to {dtype} would not point to a whole element of global memory")
    return Pointer(value.buffer and value.buffer.of_type(dtype), lift(where // dtype.bits), dtype)


# Rows of bytes moved between memories: what a DMA instruction does (vector-path 3.3).


Axes = Sequence[tuple[int, int]]  # (count, stride in bytes), the outermost axis first


class Bursts(LocalMemory):
    """What a chunk does for DMA instructions (see `ptokit.isa.machine.Machine`)."""

    def copy(self, dst: Any, first: int, src: Any, axes: Sequence[Axis], nbytes: int) -> None:
        """Rows of `nbytes` from `src` to `first` bytes after `dst`; all are read before one is written."""
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
        """`nbytes` bytes, from `first` bytes after the start of each row, with an element over and over."""
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
        """Rows of `nbytes` from `first` bytes after `src`: uint8 (blocks or 1, counts.., nbytes), the caller's own."""
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
        """Write rows (blocks or 1, counts.., elements) from `first` bytes after `dst`, lower blocks first."""
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
        """Lower blocks first. One array is for all blocks, several are for one block each."""
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
    """The memory at a global pointer, if `reach` bytes from there lie inside it. Raises `Fault`."""
    buffer = pointer.buffer
    if buffer is None:
        raise Fault("GM-NULL", "the pointer to global memory is null")
    low, high = (int(x) * pointer.dtype.size for x in extremes(pointer.offset))
    if low < 0 or high + reach > buffer.mem.size:
        start = low if low < 0 else high
        raise outside("rows in", start, reach, f"argument {buffer.shown}", buffer.mem.size, show="d")
    return buffer
