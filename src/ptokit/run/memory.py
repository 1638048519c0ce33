"""Global memory at run time: the caller's arrays, pointers into them, and views."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ptokit.types.codecs import pack_nibbles, unpack_nibbles
from ptokit.types.dtypes import DType
from ptokit.types.enums import Layout
from ptokit.types.tensor import Dims5, right_align, vector_layout

from .fault import Fault
from .lanes import Line, extremes, lanes

if TYPE_CHECKING:
    from .storage import Storage

Offset = Any  # int, Line or int64 array: elements from the start of the buffer


class Buffer:
    """One pointer argument: the caller's memory, never a copy.

    ``written`` is set if the program stores through it or through memory that overlaps it; only then do tiles that
    stand for its contents have to be told of a store.
    """

    __slots__ = ("_decoded", "borrowers", "decoded_elements", "dtype", "mem", "name", "nelem", "partners", "written")

    def __init__(self, name: str, array: np.ndarray, dtype: DType) -> None:
        self.name = name
        self.dtype = dtype
        self.mem = array.reshape(-1).view(np.uint8)
        self.nelem = self.mem.size * 2 if dtype.packed else self.mem.size // dtype.size
        self.written = False
        self.partners: list[Buffer] = []  # other arguments in the same memory
        self.borrowers: list[Storage] = []
        self.decoded_elements = 0
        self._decoded: dict[np.dtype, np.ndarray] = {}

    def before_write(self) -> None:
        """Let the tiles that stand for this memory keep their values."""
        for buffer in (self, *self.partners):
            if buffer.borrowers:
                for storage in buffer.borrowers:
                    storage.settle(buffer)
                buffer.borrowers.clear()

    def decoded(self, dtype: np.dtype, wanted: int) -> np.ndarray | None:
        """The whole buffer in a wider float type, once so much of it was asked for that one pass is cheaper."""
        if self.written:
            return None
        mirror = self._decoded.get(dtype)
        if mirror is None:
            self.decoded_elements += wanted
            if self.decoded_elements < self.nelem:
                return None
            mirror = widen(self.mem.view(self.dtype.value or self.dtype.storage), dtype)
            self._decoded[dtype] = mirror
        return mirror


@lru_cache(maxsize=8)
def _half_table(dtype: np.dtype) -> np.ndarray:
    return np.arange(65536, dtype=np.uint16).view(np.float16).astype(dtype)


def widen(values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Values in a wider float type, exactly; half precision by table, which is faster than NumPy's cast."""
    if values.dtype == np.float16 and values.size >= 256:
        return np.take(_half_table(dtype), values.view(np.uint16))
    if values.dtype.itemsize <= 2 and values.dtype.kind not in "iuf" and dtype == np.float64:
        return values.astype(np.float32).astype(dtype)  # ml_dtypes casts to float32 much faster
    return values.astype(dtype)


class Pointer:
    """An address in a buffer; ``offset`` counts elements of ``dtype``."""

    __slots__ = ("buffer", "dtype", "offset")

    def __init__(self, buffer: Buffer | None, offset: Offset, dtype: DType) -> None:
        self.buffer, self.offset, self.dtype = buffer, offset, dtype

    def advance(self, elements: Offset) -> Pointer:
        """The pointer `elements` further on."""
        return Pointer(self.buffer, self.offset + elements, self.dtype)


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


# Axes of a 5-D view that make up the rows and the columns of its 2-D view (types-and-layouts 9.1).
ROW_COL_AXES: dict[Layout, tuple[tuple[int, ...], tuple[int, ...]]] = {
    Layout.ND: ((0, 1, 2, 3), (4,)),
    Layout.DN: ((3,), (0, 1, 2, 4)),
    Layout.NZ: ((2, 3), (0, 1, 4)),
    Layout.NC1HWC0: ((0, 2, 3), (1, 4)),
    Layout.FRACTAL_Z: ((0, 1, 2, 4), (3,)),
    Layout.MX_A_ZZ: ((1, 3), (2, 4)),
    Layout.MX_B_NN: ((2, 4), (1, 3)),
    Layout.MX_A_ND: ((2,), (3, 4)),
    Layout.MX_A_DN: ((3,), (2, 4)),
    Layout.MX_B_ND: ((2, 4), (3,)),
    Layout.MX_B_DN: ((3, 4), (2,)),
}


@lru_cache(maxsize=4096)
def _plan(dims: tuple[int, ...], strides: tuple[int, ...], layout: Layout) -> Any:
    """How to see a view as (rows, cols): axis sizes and strides in row-then-column order, and the two extents."""
    shape, stride = _five(dims, strides)
    row_axes, col_axes = ROW_COL_AXES[layout]
    rows = _merge([(shape[a], stride[a]) for a in row_axes])
    cols = _merge([(shape[a], stride[a]) for a in col_axes])
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


class View:
    """A tensor or partition view: start, shape and strides in elements of its buffer, and layout.

    ``dims``/``strides`` have the rank of the text; `shape` and `stride` are right-aligned to 5-D. ``limits`` is the
    shape of the whole tensor for `partition`.
    """

    __slots__ = ("buffer", "dims", "dtype", "offset", "stated_layout", "strides")

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
        return _five(self.dims, self.strides)[0]

    @property
    def stride(self) -> Dims5:
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

    def layout_for(self, row_major_tile: bool) -> Layout:
        """The stated layout; a vector that fits ND and DN alike takes that of the tile it meets."""
        if self.stated_layout is not None:
            return self.stated_layout
        return vector_layout(self.shape, row_major_tile=row_major_tile)

    def extent(self, layout: Layout) -> tuple[int, int]:
        """Rows and columns of the 2-D view (types-and-layouts 9.1)."""
        return _plan(self.dims, self.strides, layout)[2]

    def check_bounds(self) -> Buffer:
        """The buffer, if every element of the view lies inside it. Raises `Fault` GM-OOB or GM-NULL."""
        buffer = self.buffer
        if buffer is None:
            raise Fault("GM-NULL", "the view has no memory: its pointer is null")
        low, high = _reach(self.dims, self.strides)
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
        rows, cols, extent = _plan(self.dims, self.strides, layout)
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

    def begin_store(self) -> None:
        """To be called before the values to store are read. Raises `Fault` if the view leaves its memory."""
        self.check_bounds().before_write()

    def update(self, values: np.ndarray, layout: Layout, combine: Callable[..., np.ndarray], blocks: int) -> None:
        """Atomic store: old and new combined by a ufunc, every block's contribution counted, lower blocks first."""
        rows, cols, _ = _plan(self.dims, self.strides, layout)
        axes = [*rows, *cols]
        offsets = np.broadcast_to(np.atleast_1d(np.asarray(lanes(self.offset))), (blocks,))
        values = np.broadcast_to(values, (blocks, *values.shape[1:])).reshape(blocks, *(n for n, _ in axes))
        for value, offset in zip(values, offsets):
            target = self._strided(axes, int(offset))[0]
            target[...] = combine(target, value)

    def store(self, values: np.ndarray, layout: Layout) -> None:
        """Write values (blocks or 1, rows, cols) to the view, lower blocks first."""
        buffer = self.buffer
        assert buffer is not None
        rows, cols, _ = _plan(self.dims, self.strides, layout)
        axes = [*rows, *cols]
        if self.dtype.packed:
            self._scatter_packed(axes, values)
            return
        if len(axes) != 2:
            values = values.reshape(values.shape[0], *(n for n, _ in axes))
        if isinstance(self.offset, np.ndarray):
            for i, o in enumerate(self.offset):
                self._strided(axes, int(o))[0] = values[i if values.shape[0] > 1 else 0]
        else:
            target = self._strided(axes, self.offset)
            target[...] = values[-1:] if target.shape[0] == 1 else values

    def indices(self, layout: Layout) -> np.ndarray:
        """Element offsets in the buffer, int64 of shape (blocks or 1, rows, cols)."""
        rows, cols, extent = _plan(self.dims, self.strides, layout)
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
