"""Global memory at run time: the caller's arrays, pointers into them, and views."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

import numpy as np

from ptokit.types.codecs import pack_nibbles, unpack_nibbles
from ptokit.types.dtypes import DType
from ptokit.types.enums import Layout
from ptokit.types.tensor import ROW_COL_AXES, Dims5, infer_layout, inner_channels, right_align, vector_layout

from ..fault import Fault
from ..machine.lanes import Line, extremes, lanes
from .widening import widen

Offset = Any  # int, Line or int64 array: elements from the start of the buffer
Describe = Callable[[int, int, int], str]


class Borrower(Protocol):
    """What stands for bytes of a buffer, as a tile does that was loaded from it."""

    def settle(self, buffer: Buffer) -> None:
        """The buffer's memory is about to change: keep the bytes."""


class Lender(Protocol):
    """Where arrays of a launch come from."""

    def array(self, name: str, dtype: np.dtype, elements: int) -> np.ndarray:
        """An array of arbitrary contents."""


class AddressSpace(Protocol):
    """The arguments of all ranks of a launch, by address."""

    def find(self, buffer: Buffer, offset: Any, dtype: DType) -> tuple[Buffer, Any]:
        """Where a pointer leads that may have left `buffer`; ``offset`` in elements."""


class Buffer:
    """One pointer argument: the caller's memory, never a copy. ``whole`` is the argument, of its own element type.

    ``written`` is set if the program stores through it or through memory that overlaps it; only then do tiles that
    stand for its contents have to be told of a store.
    """

    __slots__ = (
        "_decoded",
        "address",
        "addresses",
        "before",
        "borrowers",
        "chosen",
        "decoded_elements",
        "dtype",
        "keep",
        "launch_blocks",
        "whole",
        "workspace",
        "mem",
        "name",
        "nelem",
        "partners",
        "seen_as",
        "written",
    )

    def __init__(self, name: str, array: np.ndarray, dtype: DType, whole: Buffer | None = None) -> None:
        self.name = name
        self.whole = self if whole is None else whole
        self.dtype = dtype
        self.mem = array.reshape(-1).view(np.uint8)
        self.nelem = self.mem.size * 2 if dtype.packed else self.mem.size // dtype.size
        self.written = False
        self.partners: list[Buffer] = []  # other arguments in the same memory
        self.seen_as: dict[DType, Buffer] = {}  # the same memory as elements of other types
        self.borrowers: list[Borrower] = []
        self.chosen: list[Chosen] | None = None  # by gathers and scatters, where an observer wants to know
        self.keep = False  # the contents before the first write
        self.before: np.ndarray | None = None
        self.decoded_elements = 0
        self.launch_blocks = 1
        self.workspace: Lender | None = None
        self.addresses: AddressSpace | None = None  # of the arguments of all ranks, in a launch on several
        self.address = 0
        self._decoded: dict[np.dtype, np.ndarray] = {}

    def of_type(self, dtype: DType) -> Buffer:
        """The same memory, of elements of another type."""
        if dtype is self.dtype:
            return self
        if self.whole is not self:
            return self.whole.of_type(dtype)
        found = self.seen_as.get(dtype)
        if found is None:
            found = self.seen_as[dtype] = Buffer(self.name, self.mem, dtype, self)
            found.written, found.launch_blocks = self.written, self.launch_blocks
            found.addresses, found.address = self.addresses, self.address
            found.partners = [self, *self.partners]
            for other in found.partners:
                other.partners.append(found)
        return found

    def before_write(self) -> None:
        """Let the tiles that stand for this memory keep their values."""
        whole = self.whole
        if whole.keep:
            whole.keep, size, workspace = False, self.mem.size, whole.workspace
            space = None if workspace is None else workspace.array(f"{self.name} before", self.mem.dtype, size)
            whole.before = np.empty(size, np.uint8) if space is None else space
            np.copyto(whole.before, self.mem)
        for buffer in (self, *self.partners):
            if buffer.borrowers:
                for storage in buffer.borrowers:
                    storage.settle(buffer)
                buffer.borrowers.clear()

    def decoded(self, dtype: np.dtype, wanted: int) -> np.ndarray | None:
        """The whole buffer in a wider float type, once a launch is known to read so much of it that it pays.

        ``wanted``: elements one block reads now.
        """
        if self.written or self.nelem > _MIRROR_LIMIT:
            return None
        mirror = self._decoded.get(dtype)
        if mirror is None:
            self.decoded_elements += wanted * self.launch_blocks
            if 2 * self.decoded_elements < self.nelem:
                return None
            out = None if self.workspace is None else self.workspace.array(self.name, dtype, self.nelem)
            mirror = widen(self.mem.view(self.dtype.value or self.dtype.storage), dtype, out)
            self._decoded[dtype] = mirror
        return mirror


_MIRROR_LIMIT = 1 << 26  # elements: larger buffers are decoded piece by piece


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


@lru_cache(maxsize=4096)
def _five(dims: tuple[int, ...], strides: tuple[int, ...]) -> tuple[Dims5, Dims5]:
    shape, stride = right_align(dims, strides)
    return tuple(shape), tuple(stride)  # type: ignore[return-value]


@lru_cache(maxsize=4096)
def _reach(dims: tuple[int, ...], strides: tuple[int, ...]) -> tuple[int, int]:
    """Lowest and highest element, relative to the first, that a view touches."""
    low = sum((d - 1) * s for d, s in zip(dims, strides) if s < 0)
    high = sum((d - 1) * s for d, s in zip(dims, strides) if s > 0)
    return low, high


@lru_cache(maxsize=4096)
def _plan(dims: tuple[int, ...], strides: tuple[int, ...], layout: Layout, dtype: DType) -> Any:
    """How to see a view as (rows, cols): axis sizes and strides in row-then-column order, and the two extents."""
    shape, stride = _five(dims, strides)
    row_axes, col_axes = ROW_COL_AXES[layout]
    rows = _merge([(shape[a], stride[a]) for a in row_axes])
    cols = _merge([*((shape[a], stride[a]) for a in col_axes), (inner_channels(dtype, layout), 1)])
    extent = (int(np.prod([n for n, _ in rows])), int(np.prod([n for n, _ in cols])))
    return rows, cols, extent


def _merge(axes: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Fewest axes that visit the same elements in the same order."""
    out: list[tuple[int, int]] = []
    for n, s in axes:
        if n == 1:
            continue
        if out and out[-1][1] == n * s:
            out[-1] = (out[-1][0] * n, s)
        else:
            out.append((n, s))
    return out or [(1, 1)]


def _spread(values: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """`np.broadcast_to`, which costs as much as a small copy, where it is needed."""
    return values if values.shape == shape else np.broadcast_to(values, shape)


@lru_cache(maxsize=4096)
def disjoint(axes: tuple[tuple[int, int], ...], step: int, count: int) -> bool:
    """True if blocks `step` apart surely touch different elements; only then may they be stored in one go."""
    reach = 0
    for stride, n in sorted((abs(s), n) for n, s in (*axes, (count, step)) if n > 1):
        if stride <= reach:
            return False
        reach += stride * (n - 1)
    return True


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
        return _five(self.dims, self.strides)[0]

    @property
    def stride(self) -> Dims5:
        """Five strides in elements, outermost first."""
        return _five(self.dims, self.strides)[1]

    @property
    def layout(self) -> Layout:
        """The stated layout, or ND."""
        return Layout.ND if self.stated_layout is None else self.stated_layout

    def partition(self, offsets: tuple[Offset, ...], sizes: tuple[int, ...]) -> View:
        """A slice; raises `Fault` GM-OOB if it leaves the tensor's declared shape."""
        start = self.offset
        for axis, (o, n, d, s) in enumerate(zip(offsets, sizes, self.dims, self.strides)):
            if isinstance(o, int):
                if o < 0 or n > d - o:
                    self._outside(axis, o, n, d)
            else:
                low, high = extremes(o)
                if low < 0 or n > d - high:
                    self._outside(axis, low if low < 0 else high, n, d)
            start = start + o * s
        return View(self.buffer, start, sizes, self.strides, self.dtype, self.stated_layout)

    def _outside(self, axis: int, offset: int, size: int, dim: int) -> None:
        raise Fault(
            "GM-OOB",
            f"slice [{offset}, {offset + size}) leaves dimension {axis} of the tensor view, which has {dim} elements",
            hint="shorten the slice (and the tile's valid region) at the edge of the tensor",
        )

    def element_text(self, offset: int) -> str:
        """The element `offset` after the first, of the first block, in words."""
        name = "" if self.buffer is None else self.buffer.name
        return f"element {extremes(self.offset)[0] + offset} of %{name}"

    def layout_for(self, row_major_tile: bool) -> Layout:
        """The stated layout; a vector that fits ND and DN alike takes that of the tile it meets."""
        if self.stated_layout is not None:
            return self.stated_layout
        return vector_layout(self.shape, row_major_tile=row_major_tile)

    def extent(self, layout: Layout) -> tuple[int, int]:
        """Rows and columns of the 2-D view (types-and-layouts 9.1)."""
        return _plan(self.dims, self.strides, layout, self.dtype)[2]

    def check_bounds(self) -> Buffer:
        """The buffer, if every element of the view lies inside it. Raises `Fault` GM-OOB or GM-NULL."""
        buffer = self.buffer
        if buffer is None:
            raise Fault("GM-NULL", "the view has no memory: its pointer is null")
        low, high = _reach(self.dims, self.strides)
        if self.stated_layout is Layout.NDC1HWC0:
            high += inner_channels(self.dtype, Layout.NDC1HWC0) - 1
        first, last = extremes(self.offset)
        if first + low < 0 or last + high >= buffer.nelem:
            start, end = first + low, last + high
            raise Fault(
                "GM-OOB",
                f"access to elements [{start}, {end + 1}) of argument %{buffer.name}, "
                f"which has {buffer.nelem} elements",
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
        rows, cols, extent = _plan(self.dims, self.strides, layout, self.dtype)
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
        rows, cols, _ = _plan(self.dims, self.strides, layout, self.dtype)
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
        rows, cols, _ = _plan(self.dims, self.strides, layout, self.dtype)
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
        where, values = _spread(where, shape), _spread(values, shape)
        if keep is not None:
            mask = _spread(keep, shape)
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
                f"argument %{buffer.name}, which has {memory.size} elements",
                block=block,
            )
        return memory, where

    def indices(self, layout: Layout) -> np.ndarray:
        """Element offsets in the buffer, int64 of shape (blocks or 1, rows, cols)."""
        rows, cols, extent = _plan(self.dims, self.strides, layout, self.dtype)
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


class Chosen(NamedTuple):
    """Elements of a buffer, by number, that a gather or scatter through a view has chosen."""

    view: View
    elements: np.ndarray
    write: bool
