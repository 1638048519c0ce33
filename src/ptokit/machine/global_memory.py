"""Views of global memory, and pointers into it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ptokit.types.codecs import pack_nibbles, unpack_nibbles
from ptokit.types.dtypes import DType
from ptokit.types.enums import Layout
from ptokit.types.tensor import HIF4_PAIRS, Dims5, infer_layout, inner_channels, vector_layout

from .buffers import Buffer, Chosen, disjoint, five_dims, reach, row_col_axes, spread_to, widen
from .lanes import Fault, Line, extremes, lanes

Offset = Any  # int, Line or int64 array: elements from the start of the buffer
Describe = Callable[[int, int, int], str]


class Pointer:
    """An address in a buffer; ``offset`` counts elements of ``dtype``."""

    __slots__ = ("buffer", "dtype", "offset")

    def __init__(self, buffer: Buffer | None, offset: Offset, dtype: DType) -> None:
        self.buffer, self.offset, self.dtype = buffer, offset, dtype

    def advance(self, elements: Offset) -> Pointer:
        """The pointer `elements` further on."""
        buffer, offset = self.buffer, self.offset + elements
        if buffer is not None and buffer.addresses is not None:
            buffer, offset = buffer.addresses.find(buffer, offset, self.dtype)
        return Pointer(buffer, offset, self.dtype)


class Tensor(Pointer):
    """A memref argument: where it begins, with shape and strides in elements (`View` describes what it points to)."""

    __slots__ = ("dims", "strides")

    def __init__(
        self, buffer: Buffer | None, offset: int, dims: tuple[int, ...], strides: tuple[int, ...], dtype: DType
    ) -> None:
        super().__init__(buffer, offset, dtype)
        self.dims, self.strides = dims, strides


def as_view(argument: Any) -> Any:
    """A memref argument as a view; what is one already, or only carried, as it is."""
    if not isinstance(argument, Tensor):
        return argument
    a = argument
    return View(a.buffer, a.offset, a.dims, a.strides, a.dtype, infer_layout(a.dtype, a.dims, a.strides))


class View:
    """A tensor or partition view: start, shape and strides in elements of its buffer, and layout.

    ``dims``/``strides`` have the rank of the text; `shape` and `stride` are right-aligned to 5-D. ``limits`` is the
    shape of the whole tensor for `partition`.
    """

    __slots__ = ("buffer", "dims", "dtype", "note", "offset", "stated_layout", "strides")

    note: Any  # what an observer keeps with it; unset otherwise

    def __init__(
        self,
        buffer: Buffer | None,
        offset: Offset,
        dims: tuple[int, ...],
        strides: tuple[int, ...],
        dtype: DType,
        layout: Layout | None,
    ) -> None:
        self.buffer, self.offset, self.dims, self.strides = buffer, offset, dims, strides
        self.dtype, self.stated_layout = dtype, layout

    @property
    def shape(self) -> Dims5:
        """Five sizes in elements, outermost first; missing ones are 1."""
        return five_dims(self.dims, self.strides)[0]

    @property
    def stride(self) -> Dims5:
        """Five strides in elements, outermost first."""
        return five_dims(self.dims, self.strides)[1]

    @property
    def layout(self) -> Layout:
        """The stated layout, or ND."""
        return Layout.ND if self.stated_layout is None else self.stated_layout

    def partition(self, offsets: tuple[Offset, ...], sizes: tuple[int, ...]) -> View:
        """A slice. Raises `Fault` GM-OOB if it leaves the tensor's declared shape and its memory, too."""
        start, wrong = self.offset, None
        for axis, (o, n, d, s) in enumerate(zip(offsets, sizes, self.dims, self.strides)):
            low, high = (o, o) if isinstance(o, int) else extremes(o)
            if (low < 0 or n > d - high) and wrong is None:
                wrong = axis, low if low < 0 else high
            start = start + o * s
        part = View(self.buffer, start, sizes, self.strides, self.dtype, self.stated_layout)
        if wrong is not None and self.buffer is not None and part.outside() is not None:
            axis, first = wrong
            raise Fault(
                "GM-OOB",
                f"slice [{first}, {first + sizes[axis]}) leaves dimension {axis} of the tensor view, which has "
                f"{self.dims[axis]} elements, and argument {self.buffer.shown}, which has {self.buffer.nelem}",
                hint="shorten the slice (and the tile's valid region) at the edge of the tensor",
            )
        return part

    def with_lines(self, axis: int, length: int, *, gaps: bool) -> View:
        """The same lines, which are rows (`axis` 4) or columns (3), each of `length` elements that follow each other.

        ``gaps``: what lies between two lines stays as long as it is, so that they begin elsewhere.
        """
        dims, strides = list(self.shape), list(self.stride)
        if gaps:
            strides[7 - axis] += length - dims[axis]
        dims[axis], strides[axis] = length, 1
        lines = View(self.buffer, self.offset, tuple(dims), tuple(strides), self.dtype, self.stated_layout)
        if self.buffer is not None and lines.outside() is not None and self.outside() is None:
            raise Fault(
                "GM-OOB",
                f"the valid region has lines of {length} elements, the view of {self.shape[axis]}: they leave argument "
                f"{self.buffer.shown}, which has {self.buffer.nelem} elements",
                hint="make the valid region of the tile as large as the view",
            )
        return lines

    def with_rows(self, rows: int) -> View:
        """The first rows of each block of columns of an NZ view, whose rows follow each other."""
        (a, b, _, _, width), strides = self.shape, self.stride
        return View(self.buffer, self.offset, (a, b, 1, rows, width), strides, self.dtype, self.stated_layout)

    def in_pairs(self) -> View:
        """Groups of 16 x 4 scales as twice as many of 16 x 2 (`HIF4_PAIRS`)."""
        (a, b, groups, long, few), (p, q, step, *_) = self.shape, self.stride
        dims, strides = (a, b, groups * few // 2, long, 2), (p, q, step * 2 // few, 2, 1)
        return View(self.buffer, self.offset, dims, strides, self.dtype, HIF4_PAIRS[self.layout])

    def with_layout(self, layout: Layout) -> View:
        """The same elements in another layout."""
        return View(self.buffer, self.offset, self.dims, self.strides, self.dtype, layout)

    def element_text(self, offset: int) -> str:
        """The element `offset` after the first, of the first block, in words."""
        name = "" if self.buffer is None else self.buffer.shown
        return f"element {extremes(self.offset)[0] + offset} of {name}"

    def layout_for(self, row_major_tile: bool) -> Layout:
        """The stated layout; a vector that fits ND and DN alike takes that of the tile it meets."""
        if self.stated_layout is not None:
            return self.stated_layout
        return vector_layout(self.shape, row_major_tile=row_major_tile)

    def extent(self, layout: Layout) -> tuple[int, int]:
        """Rows and columns of the 2-D view (types-and-layouts 9.1)."""
        return row_col_axes(self.dims, self.strides, layout, self.dtype)[2]

    def outside(self) -> tuple[int, int] | None:
        """The first and the last element that the view touches, if one of them lies outside of its buffer."""
        assert self.buffer is not None
        low, high = reach(self.dims, self.strides)
        if self.stated_layout is Layout.NDC1HWC0:
            high += inner_channels(self.dtype, Layout.NDC1HWC0) - 1
        first, last = extremes(self.offset)
        bad = first + low < 0 or last + high >= self.buffer.nelem
        return (first + low, last + high) if bad else None

    def check_bounds(self) -> Buffer:
        """The buffer, if every element of the view lies inside it. Raises `Fault` GM-OOB or GM-NULL."""
        buffer = self.buffer
        if buffer is None:
            raise Fault("GM-NULL", "the view has no memory: its pointer is null")
        outside = self.outside()
        if outside is not None:
            start, end = outside
            raise Fault(
                "GM-OOB",
                f"access to elements [{start}, {end + 1}) of argument {buffer.shown}, which has "
                f"{buffer.nelem} elements",
            )
        return buffer

    def _strided(
        self, axes: list[tuple[int, int]], offset: Offset, dtype: np.dtype | None = None, mem: np.ndarray | None = None
    ) -> np.ndarray:
        buffer = self.buffer
        assert buffer is not None
        np_dtype = dtype or self.dtype.value or self.dtype.storage
        size = np_dtype.itemsize
        if isinstance(offset, Line):
            lead, step, start = offset.count, offset.step * size, offset.base
        else:
            lead, step, start = 1, 0, offset
        return np.ndarray(
            (lead, *(n for n, _ in axes)),
            np_dtype,
            buffer.mem if mem is None else mem,
            start * size,
            (step, *(s * size for _, s in axes)),
        )

    def load(self, layout: Layout, wide: np.dtype | None = None) -> np.ndarray:
        """Elements as (blocks or 1, rows, cols): a view of the memory where possible. ``wide``: decoded exactly."""
        buffer = self.buffer
        assert buffer is not None
        rows, cols, extent = row_col_axes(self.dims, self.strides, layout, self.dtype)
        axes = [*rows, *cols]
        if self.dtype.packed:
            return self._gather_packed(axes).reshape(-1, *extent)
        mem, dtype = None, None
        if wide is not None:
            mirror = buffer.decoded(wide, extent[0] * extent[1])
            if mirror is not None:
                mem, dtype = mirror.view(np.uint8), wide
        if isinstance(self.offset, np.ndarray):
            parts = [self._strided(axes, int(o), dtype, mem) for o in self.offset]
            out = np.concatenate(parts).reshape(-1, *extent)
        else:
            out = self._strided(axes, self.offset, dtype, mem)
            if len(axes) != 2:
                out = out.reshape(-1, *extent)
        return widen(out, wide) if wide is not None and mem is None else out

    def begin_store(self, *, whole: bool = True) -> None:
        """To be called before the values to store are read. Raises `Fault` if the view leaves its memory.

        ``whole`` is False where only some elements will be written; `scatter` checks those.
        """
        if whole:
            self.check_bounds().before_write()
        elif self.buffer is not None:
            self.buffer.before_write()

    def update(self, values: np.ndarray, layout: Layout, combine: Callable[..., np.ndarray], blocks: int) -> None:
        """Atomic store: old and new combined by a ufunc, every block's contribution counted, lower blocks first."""
        if not values.size:
            return  # no valid elements, whatever the view has
        rows, cols, _ = row_col_axes(self.dims, self.strides, layout, self.dtype)
        axes = [*rows, *cols]
        offsets = np.broadcast_to(np.atleast_1d(np.asarray(lanes(self.offset))), (blocks,))
        values = np.broadcast_to(values, (blocks, *values.shape[1:])).reshape(blocks, *(n for n, _ in axes))
        for value, offset in zip(values, offsets):
            target = self._strided(axes, int(offset))[0]
            target[...] = combine(target, value)

    def store(self, values: np.ndarray, layout: Layout) -> None:
        """Write values (blocks or 1, rows, cols) to the view, lower blocks first; none where there are none."""
        if not values.size:
            return
        buffer = self.buffer
        assert buffer is not None
        rows, cols, _ = row_col_axes(self.dims, self.strides, layout, self.dtype)
        axes = [*rows, *cols]
        if self.dtype.packed:
            self._scatter_packed(axes, values)
            return
        if len(axes) != 2:
            values = values.reshape(values.shape[0], *(n for n, _ in axes))
        offset = self.offset
        if isinstance(offset, Line) and not disjoint(tuple(axes), offset.step, offset.count):
            offset = offset.array()
        if isinstance(offset, np.ndarray):
            for i, o in enumerate(offset):
                self._strided(axes, int(o))[0] = values[i if values.shape[0] > 1 else 0]
        else:
            target = self._strided(axes, offset)
            target[...] = values[-1:] if target.shape[0] == 1 else values

    def gather(self, offsets: np.ndarray, describe: Describe) -> np.ndarray:
        """The elements `offsets` (blocks or 1, rows, cols) after the first of the view, as (blocks or 1, rows, cols).

        Only the memory bounds them, not the view's shape. ``describe(block, row, col)`` tells in words where an offset
        comes from. Raises `Fault` GM-NULL or GM-OOB.
        """
        self._choose(offsets, write=False)
        memory, where = self._places(offsets, describe)
        return memory.take(where, mode="clip")

    def scatter(
        self,
        offsets: np.ndarray,
        values: np.ndarray,
        put: Callable[[np.ndarray, np.ndarray, np.ndarray], None],
        blocks: int,
        describe: Describe,
        keep: np.ndarray | None = None,
    ) -> None:
        """Write values (blocks or 1, rows, cols) to the elements `offsets` after the first of the view.

        ``put(memory, places, values)`` receives flat arrays in the order of writing: lower blocks first, row-major in
        a block, every one of `blocks` blocks counted, without the elements where ``keep`` is false. Raises as `gather`.
        """
        self._choose(offsets, keep, write=True)
        if keep is not None:
            offsets = np.where(keep, offsets, 0)
        memory, where = self._places(offsets, describe)
        shape = (blocks, *where.shape[1:])
        where, values = spread_to(where, shape), spread_to(values, shape)
        if keep is not None:
            mask = spread_to(keep, shape)
            where, values = where[mask], values[mask]
        put(memory, where.reshape(-1), values.reshape(-1))

    def _choose(self, offsets: np.ndarray, keep: np.ndarray | None = None, *, write: bool) -> None:
        """Note the elements that an instruction chooses, of one block, where that is wanted."""
        if self.buffer is not None and self.buffer.chosen is not None:
            elements = offsets + self.offset
            elements = elements if keep is None else elements[np.broadcast_to(keep, elements.shape)]
            self.buffer.chosen.append(Chosen(self, elements, write))

    def _places(self, offsets: np.ndarray, describe: Describe) -> tuple[np.ndarray, np.ndarray]:
        """The memory as elements of this view's type, and the positions of elements in it."""
        buffer = self.buffer
        if buffer is None:
            raise Fault("GM-NULL", "the view has no memory: its pointer is null")
        element = self.dtype.value or self.dtype.storage
        memory = np.ndarray((buffer.mem.size // element.itemsize,), element, buffer.mem)
        start = lanes(self.offset)
        where = offsets + (start.reshape(-1, 1, 1) if isinstance(start, np.ndarray) else start)
        if where.size and where.view(np.uint64).max() >= memory.size:
            block, row, col = np.argwhere((where < 0) | (where >= memory.size))[0].tolist()
            raise Fault(
                "GM-OOB",
                f"{describe(min(block, len(offsets) - 1), row, col)} is element {int(where[block, row, col])} of "
                f"argument {buffer.shown}, which has {memory.size} elements",
                block=block,
            )
        return memory, where

    def indices(self, layout: Layout) -> np.ndarray:
        """Element offsets in the buffer, int64 of shape (blocks or 1, rows, cols)."""
        rows, cols, extent = row_col_axes(self.dims, self.strides, layout, self.dtype)
        return self._indices([*rows, *cols]).reshape(-1, *extent)

    def _indices(self, axes: list[tuple[int, int]]) -> np.ndarray:
        index = np.atleast_1d(np.asarray(lanes(self.offset), dtype=np.int64))
        for n, s in axes:
            index = index[..., None] + np.arange(n, dtype=np.int64) * s
        return index

    def _gather_packed(self, axes: list[tuple[int, int]]) -> np.ndarray:
        buffer = self.buffer
        assert buffer is not None
        return unpack_nibbles(buffer.mem)[self._indices(axes)]

    def _scatter_packed(self, axes: list[tuple[int, int]], values: np.ndarray) -> None:
        buffer = self.buffer
        assert buffer is not None
        codes = unpack_nibbles(buffer.mem)
        index = self._indices(axes)
        for i in range(index.shape[0]):
            codes[index[i]] = values[i if values.shape[0] > 1 else 0].reshape(index.shape[1:])
        buffer.mem[...] = pack_nibbles(codes)
