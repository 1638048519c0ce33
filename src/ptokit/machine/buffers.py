"""The caller's arrays as global memory: buffers, where they lie, axes of views.

The system's table of mappings says so. What arrays say of themselves does not do: another file may have their name by
now, and views, buffers of `multiprocessing.shared_memory` and arrays of other packages name none.
"""

from __future__ import annotations

import mmap
import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from ptokit.types.dtypes import DType
from ptokit.types.enums import Layout
from ptokit.types.tensor import ROW_COL_AXES, Dims5, inner_channels, right_align

# Narrow floats in a wider type.


_HALVES = np.arange(65536, dtype=np.uint16).view(np.float16).astype(np.float32)


def widen(values: np.ndarray, dtype: np.dtype, out: np.ndarray | None = None) -> np.ndarray:
    """Values in a wider float type, exactly, in `out` if given.

    Half precision by table, which is faster than NumPy's cast; to float64 by way of float32, faster than directly.
    """
    if dtype == np.float64 and values.dtype.itemsize <= 2 and values.dtype.kind not in "iu":
        values = widen(values, np.dtype(np.float32))
    if values.dtype == np.float16 and values.size >= 256:
        return np.take(_HALVES, values.view(np.uint16), out=out, mode="clip")  # every index is inside
    if out is None:
        return values.astype(dtype)
    np.copyto(out, values)
    return out


# Rows and columns of a view as axes of its memory: what a copy goes through.


@lru_cache(maxsize=4096)
def five_dims(dims: tuple[int, ...], strides: tuple[int, ...]) -> tuple[Dims5, Dims5]:
    shape, stride = right_align(dims, strides)
    return tuple(shape), tuple(stride)  # type: ignore[return-value]


@lru_cache(maxsize=4096)
def reach(dims: tuple[int, ...], strides: tuple[int, ...]) -> tuple[int, int]:
    """Lowest and highest element, relative to the first, that a view touches."""
    low = sum((d - 1) * s for d, s in zip(dims, strides) if s < 0)
    high = sum((d - 1) * s for d, s in zip(dims, strides) if s > 0)
    return low, high


@lru_cache(maxsize=4096)
def row_col_axes(dims: tuple[int, ...], strides: tuple[int, ...], layout: Layout, dtype: DType) -> Any:
    """How to see a view as (rows, cols): axis sizes and strides in row-then-column order, and the two extents."""
    shape, stride = five_dims(dims, strides)
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


def spread_to(values: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
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


# The caller's arrays as global memory.


_MIRROR_LIMIT = 1 << 26  # elements: larger buffers are decoded piece by piece


class Borrower(Protocol):
    """What is read from bytes of a buffer, as a tile that was loaded from it."""

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

    def at(self, address: int) -> tuple[Buffer, int] | None:
        """The argument at an address, and how many bytes of it lie before; None between arguments."""


class Buffer:
    """One pointer argument: the caller's memory, never a copy. ``whole`` is the argument, of its own element type.

    ``written`` is set if the program stores through it or through memory that overlaps it; only then do tiles that
    are read from its contents have to be told of a store.
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
        "shown",
        "written",
    )

    def __init__(
        self, name: str, array: np.ndarray, dtype: DType, whole: Buffer | None = None, *, shown: str = ""
    ) -> None:
        self.name = name
        self.shown = shown or name  # in findings
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
            found = self.seen_as[dtype] = Buffer(self.name, self.mem, dtype, self, shown=self.shown)
            found.written, found.launch_blocks = self.written, self.launch_blocks
            found.addresses, found.address = self.addresses, self.address
            found.partners = [self, *self.partners]
            for other in found.partners:
                other.partners.append(found)
        return found

    def before_write(self) -> None:
        """Let the tiles that are read from this memory keep their values."""
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


class Chosen(NamedTuple):
    """Elements of a buffer, by number, that a gather or scatter through a view has chosen."""

    view: object  # the `View` by which they were chosen
    elements: np.ndarray
    write: bool


# Arguments that are mapped from files: what a launch has gone through need not stay in memory.


REST_SECONDS = 0.1
"""How often pages are given back: often enough for the fastest launch to hold some hundred megabytes of them."""


@contextmanager
def pages_given_back(args: Sequence[Any]) -> Iterator[None]:
    """While a launch runs, let the system take the pages of mapped arguments again; what was written is in the file."""
    shared = [a for a in args if isinstance(a, np.memmap) and a.mode != "c"]  # a private copy would be lost
    maps = [m for a in shared if (m := getattr(a, "_mmap", None)) is not None]
    if not maps or not hasattr(mmap, "MADV_DONTNEED"):  # as on Windows
        yield
        return
    over = threading.Event()

    def give_back() -> None:
        while not over.wait(REST_SECONDS):
            for mapping in maps:
                mapping.madvise(mmap.MADV_DONTNEED)

    worker = threading.Thread(target=give_back, daemon=True)
    worker.start()
    try:
        yield
    finally:
        over.set()
        worker.join()


# Where arrays have their memory: two mappings of a file are the same memory at two addresses.


TABLE = Path("/proc/self/maps")
"""What is mapped into this process, on systems that tell."""

_LINE = re.compile(rb"([0-9a-f]+)-([0-9a-f]+) ...(.) ([0-9a-f]+) ([0-9a-f:]+) (\d+) *(.*)")


class Piece(NamedTuple):
    """Memory from one address to another, and where it begins in the file that it is mapped from.

    ``file``: device and inode as the table has them, None without a file. ``shared``: what is written goes to the file.
    """

    start: int
    end: int
    file: tuple[bytes, int] | None = None
    offset: int = 0
    shared: bool = False
    path: str = ""


def pieces(arrays: Sequence[np.ndarray]) -> list[list[Piece]] | None:
    """The memory of contiguous arrays, by address; None where the system does not tell."""
    spans = [span(array) for array in arrays]
    if not any(map(_lent, arrays)):
        return [[Piece(*each)] for each in spans]
    try:
        table = [_piece(*found.groups()) for found in _LINE.finditer(TABLE.read_bytes())]
    except OSError:
        return None
    return [_inside(table, *each) if _lent(array) else [Piece(*each)] for array, each in zip(arrays, spans)]


def span(array: np.ndarray) -> tuple[int, int]:
    """The first address of a contiguous array and the end."""
    start = array.__array_interface__["data"][0]
    return start, start + array.nbytes


def overlaps(arrays: Sequence[np.ndarray], written: Sequence[bool]) -> list[tuple[int, int]]:
    """The pairs of contiguous arrays that have bytes in common, one of them written, as ascending positions.

    Where the system does not tell, all files that are mapped count as one.
    """
    pairs = [(i, j) for j in range(len(arrays)) for i in range(j) if written[i] or written[j]]
    if not pairs:
        return []
    found = pieces(arrays)
    if found is not None:
        return [(i, j) for i, j in pairs if any(_meet(a, b) for a in found[i] for b in found[j])]
    plain = [Piece(*span(array)) for array in arrays]
    mapped = [isinstance(array, np.memmap) for array in arrays]
    return [(i, j) for i, j in pairs if _meet(plain[i], plain[j]) or (mapped[i] and mapped[j])]


def groups(arrays: Sequence[np.ndarray]) -> list[tuple[int, list[tuple[int, int]]]]:
    """Contiguous arrays that are one memory: its size, and where in it each of them begins, as (position, bytes).

    Arrays that are mapped from a file lie where the file has them, if one of them writes to it.
    """
    found = pieces(arrays) or [[] for _ in arrays]
    shared = {part.file for parts in found for part in parts if part.shared and part.file}
    places: list[tuple[str, int, int, int]] = []
    for i, (array, parts) in enumerate(zip(arrays, found)):
        start, end = span(array)
        first = parts[0] if parts else Piece(start, end)
        lies = first.file, first.offset - first.start
        if first.file in shared and all((part.file, part.offset - part.start) == lies for part in parts):
            start, end = first.offset, first.offset + end - start
            places.append((repr(first.file), start, end, i))
        else:
            places.append(("", start, end, i))
    out: list[tuple[int, list[tuple[int, int]]]] = []
    last = ("", 0, 0)  # where, first and end
    for where, start, end, i in sorted(places):
        if out and where == last[0] and start < last[2]:
            last = (where, last[1], max(last[2], end))
            out[-1] = (last[2] - last[1], [*out[-1][1], (i, start - last[1])])
        else:
            last = (where, start, end)
            out.append((end - start, [(i, 0)]))
    return out


def _lent(array: np.ndarray) -> bool:
    """True if the memory was not allocated by NumPy, so that it may be a mapping."""
    base: Any = array
    while isinstance(base, np.ndarray):
        base = base.base
    return base is not None


def _piece(start: bytes, end: bytes, shared: bytes, offset: bytes, device: bytes, inode: bytes, path: bytes) -> Piece:
    file = (device, int(inode)) if int(inode) else None
    name = path.replace(rb"\012", b"\n").decode(errors="surrogateescape")
    return Piece(int(start, 16), int(end, 16), file, int(offset, 16), shared == b"s", name)


def _inside(table: Sequence[Piece], start: int, end: int) -> list[Piece]:
    found = [piece for piece in table if piece.start < end and start < piece.end]
    parts = []
    for piece in found:
        first, last = max(start, piece.start), min(end, piece.end)
        parts.append(piece._replace(start=first, end=last, offset=piece.offset + first - piece.start))
    return parts


def _meet(a: Piece, b: Piece) -> bool:
    if a.start < b.end and b.start < a.end:
        return True
    if a.file is None or a.file != b.file or not (a.shared or b.shared):
        return False
    return a.offset < b.offset + b.end - b.start and b.offset < a.offset + a.end - a.start
