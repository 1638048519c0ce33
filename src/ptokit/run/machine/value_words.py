"""What a machine does about views, single elements, arrays and structs, and loops."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ptokit.ir.scale_views import Packed
from ptokit.types.dtypes import DType
from ptokit.types.enums import Layout
from ptokit.types.tensor import infer_layout

from ..fault import Fault
from ..memory.buffers import Buffer
from ..memory.global_memory import Pointer, View, as_view
from ..memory.local import LocalMemory
from ..memory.pointers import LocalPointer
from .lanes import Diverge, Line, lanes, lift, plain, uniform
from .paths import Counted

APART = 1 << 40
"""Bytes from one argument to the next where a program asks for addresses in global memory."""


class ValueWords(LocalMemory):
    """The part of a chunk that has no state of its own but the memory of the arguments."""

    memories: Sequence[Buffer | None] = ()

    @staticmethod
    def parameter(argument: Any) -> Any:
        """A memref argument as a view."""
        return as_view(argument)

    @staticmethod
    def view(
        pointer: Pointer, dims: tuple[int, ...], strides: tuple[int, ...], dtype: DType, layout: Layout | None
    ) -> View:
        """make_tensor_view; without a layout the one that shape and strides tell."""
        if layout is None:
            layout = infer_layout(dtype, dims, strides)
        return View(pointer.buffer, pointer.offset, dims, strides, dtype, layout)

    @staticmethod
    def slice(view: View, offsets: tuple[Any, ...], sizes: tuple[int, ...], packed: Packed | None = None) -> View:
        """partition_view; ``packed``: scales in groups. Raises `Fault` GM-OOB."""
        part = view.partition(offsets, sizes)
        return part if packed is None else View(part.buffer, part.offset, *packed[:2], part.dtype, packed.layout)

    @staticmethod
    def dim(view: View, index: int) -> int:
        """get_tensor_view_dim. Raises `Fault` RUN-INDEX."""
        return view.dims[place((index,), (len(view.dims),), "the dimensions")]

    @staticmethod
    def stride(view: View, index: int) -> int:
        """get_tensor_view_stride. Raises `Fault` RUN-INDEX."""
        return view.strides[place((index,), (len(view.strides),), "the dimensions")]

    @staticmethod
    def first_element(view: View) -> Pointer:
        """tensor_view_addr."""
        return Pointer(view.buffer, view.offset, view.dtype)

    def address_in_gm(self, pointer: Pointer) -> Any:
        """ptrtoint: the byte address. Memory k of the launch lies at (k + 1) * `APART`; a null pointer is 0.

        On several devices it lies where `Addresses` says.
        """
        start = pointer.offset * pointer.dtype.bits
        if pointer.buffer is not None and pointer.buffer.whole.addresses is not None:
            start = start + pointer.buffer.whole.address * 8
        elif pointer.buffer is not None:
            whole = pointer.buffer.whole
            number = next(k for k, memory in enumerate(self.memories) if memory is whole)
            start = start + (number + 1) * APART * 8
        return lift(lanes(start) // 8)

    def pointer_at(self, address: Any, dtype: DType) -> Pointer:
        """inttoptr. Raises `Fault` PTR-A5-02 between two elements, `Diverge` where blocks mean different arguments."""
        where = lanes(address)
        if np.any(np.asarray(where) % dtype.size):
            raise Fault("PTR-A5-02", f"a pointer to {dtype} would not point to a whole element of global memory")
        addresses = next((memory.addresses for memory in self.memories if memory is not None), None)
        if addresses is not None:
            memory, before = addresses.at(int(uniform(address))) or (None, 0)
            return Pointer(None if memory is None else memory.of_type(dtype), before // dtype.size, dtype)
        number = uniform(lift((where + APART // 2) // APART))
        buffer = self.memories[number - 1] if 0 < number <= len(self.memories) else None
        if buffer is None:
            return Pointer(None, 0, dtype)
        return Pointer(buffer.of_type(dtype), lift((where - number * APART) // dtype.size), dtype)

    @staticmethod
    def advance(pointer: Pointer | LocalPointer, offset: Any) -> Pointer | LocalPointer:
        """addptr."""
        return pointer.advance(offset)

    def load_scalar(self, pointer: Pointer | LocalPointer, index: Any) -> Any:
        """Load one element of memory."""
        if isinstance(pointer, LocalPointer):
            dtype = pointer.dtype
            values = self.load(pointer, index, dtype.size, dtype.size).view(dtype.value or dtype.storage)
            return lift(values[:, 0])
        buffer, where = _element(pointer, index)
        values = buffer.mem.view(pointer.dtype.value or pointer.dtype.storage)
        if isinstance(where, (Line, np.ndarray)):
            return lift(values[lanes(where)])
        return plain(values[where])

    def store_scalar(self, value: Any, pointer: Pointer | LocalPointer, index: Any) -> None:
        """Write one element of memory; of global memory lower blocks first."""
        if isinstance(pointer, LocalPointer):
            dtype = pointer.dtype
            item = np.atleast_1d(lanes(value)).astype(dtype.value or dtype.storage)
            self.store(pointer, index, item.reshape(-1, 1), None, dtype.size)
            return
        buffer, where = _element(pointer, index)
        buffer.before_write()
        values = buffer.mem.view(pointer.dtype.value or pointer.dtype.storage)
        positions = np.atleast_1d(lanes(where))
        data = np.broadcast_to(np.atleast_1d(lanes(value)), (max(len(positions), np.size(lanes(value))),))
        for i, item in enumerate(data):
            values[positions[i if len(positions) > 1 else 0]] = np.asarray(item).astype(values.dtype)

    def loop(self, lower: Any, upper: Any, step: Any) -> Counted:
        """scf.for whose bounds differ between blocks, or come from the run."""
        return Counted(self._iterations(lower, upper, step))

    @staticmethod
    def _iterations(lower: Any, upper: Any, step: Any) -> Iterator[Any]:
        """The loop variable. Raises `Diverge` if blocks do different numbers of iterations."""
        trips = _trips(lower, upper, step)
        if isinstance(trips, np.ndarray):
            raise Diverge(trips)
        if trips:
            yield lower
        for k in range(1, trips):
            yield lower + step * k

    @staticmethod
    def claim(condition: Any, message: str) -> None:
        """cf.assert. Raises `Fault` (RUN-ASSERT) unless the condition holds in every block."""
        if not np.all(condition):
            raise Fault("RUN-ASSERT", f"the assertion does not hold: {message}")

    # --- arrays and structs of the scalar unit: lists, whose fields may be lists -----------------------------------

    @staticmethod
    def several(value: Any, count: int) -> list[Any]:
        """An array of that many elements."""
        return [_fresh(value) for _ in range(count)]

    @staticmethod
    def record(value: list[Any]) -> Any:
        """A struct with these fields."""
        return _fresh(value)

    @staticmethod
    def element(items: Sequence[Any], indices: tuple[Any, ...], sizes: tuple[int, ...], what: str) -> Any:
        """One of several tiles, or of an array. Raises `Fault` RUN-INDEX, `Diverge`."""
        return items[place(indices, sizes, what)]

    @staticmethod
    def set_element(items: list[Any], indices: tuple[Any, ...], sizes: tuple[int, ...], what: str, value: Any) -> None:
        """Set an element of an array."""
        items[place(indices, sizes, what)] = value

    @staticmethod
    def field(struct: Any, path: tuple[int, ...]) -> Any:
        """A field of a struct, or of the struct that is its field."""
        for k in path:
            struct = struct[k]
        return struct

    @staticmethod
    def set_field(struct: Any, path: tuple[int, ...], value: Any) -> None:
        """Set a field."""
        *outer, last = path
        for k in outer:
            struct = struct[k]
        struct[last] = value


def place(index: Any, sizes: Sequence[int], what: str) -> int:
    """The position of an element, counted row by row. Raises `Fault` RUN-INDEX if there is none, `Diverge`."""
    found = 0
    for i, size in zip(index, sizes):
        i = uniform(i)
        if not 0 <= i < size:
            raise Fault("RUN-INDEX", f"index {i} of {what}, which has {size}")
        found = found * size + i
    return found


def _trips(lower: Any, upper: Any, step: Any) -> Any:
    """How often a loop is done: a number, or an array for blocks that differ. Raises `Fault` RUN-STEP."""
    if isinstance(lower, int) and isinstance(upper, int) and isinstance(step, int):
        return _turns(lower, upper, step)
    columns = np.broadcast_arrays(*(np.atleast_1d(lanes(bound)) for bound in (lower, upper, step)))
    trips = [_turns(*map(plain, row)) for row in zip(*columns)]
    return trips[0] if trips.count(trips[0]) == len(trips) else np.array(trips, np.uint64)


def _turns(lower: int, upper: int, step: int) -> int:
    if step <= 0 or isinstance(step, bool):  # true of i1 is -1
        raise Fault("RUN-STEP", "the step of scf.for must be positive")
    return max(0, -((lower - upper) // step))


def _fresh(value: Any) -> Any:
    """A copy of a list with the lists in it."""
    return [_fresh(item) for item in value] if isinstance(value, list) else value


def _element(pointer: Pointer, index: Any) -> tuple[Any, Any]:
    buffer = pointer.buffer
    if buffer is None:
        raise Fault("GM-NULL", "scalar access through a null pointer")
    where = pointer.offset + index
    values = np.atleast_1d(lanes(where))
    bad = np.flatnonzero((values < 0) | (values >= buffer.nelem))
    if bad.size:
        raise Fault(
            "GM-OOB",
            f"access to element {int(values[bad[0]])} of argument {buffer.shown}, which has {buffer.nelem} elements",
        )
    return buffer, where
