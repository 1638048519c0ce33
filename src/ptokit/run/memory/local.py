"""On-chip memory by address: pointers, and the accesses of vector instructions (vector-path 1, 4).

The bytes are those of the arena in which tiles with addresses live. Addresses are the same for all blocks, or differ:
then every block reads or writes its own place.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ptokit.isa.checks.tile_types import buffer_name
from ptokit.types.dtypes import DType
from ptokit.types.enums import TileType

from ..fault import Fault, outside
from ..machine.lanes import lanes, lift
from .accesses import AccessListener, Elements, Lanes, Span
from .global_memory import Pointer
from .pointers import LocalPointer, _flat
from .storage import Arena

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
        """castptr to a number: the byte address; a pointer to global memory has none and stands for itself."""
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
        """Elements of `width` bytes at `places` (blocks or 1, n) bytes behind pointer + offset elements."""
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
