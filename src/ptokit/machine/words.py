"""What a machine does about tiles, views, single elements, arrays and structs, and loops: the words of steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ptokit.ir.facts import Packed
from ptokit.isa.checks.tile_types import SLOPES, broken_placement
from ptokit.targets import Target
from ptokit.types.dtypes import DType
from ptokit.types.enums import Layout, TileType
from ptokit.types.tensor import infer_layout
from ptokit.types.tile import DYNAMIC, TileSpec, numbers_in

from .buffers import Buffer
from .global_memory import Pointer, View, as_view
from .lanes import Counted, Diverge, Fault, Line, lanes, lift, plain, uniform
from .local_memory import Bursts, LocalMemory, LocalPointer
from .storage import Arena, Storage
from .tiles import Tile, Window

# What a machine does about tiles: memory for them, other names and windows, valid regions.


class TileWords(Bursts):
    """The part of a chunk that has its buffers."""

    target: Target

    def __init__(self, initial: int = 0) -> None:
        self.initial = initial  # byte that on-chip memory starts with
        self._sites: dict[int, Arena] = {}
        self._storages: dict[int, Storage] = {}
        self._spaces: dict[TileType, Arena] = {}

    def home(self, loc: TileType) -> TileWords:
        """The core whose memory a buffer is."""
        raise NotImplementedError

    # --- tiles ---------------------------------------------------------------------------------------------------

    def site(self, number: int, spec: TileSpec) -> Storage:
        """Storage of an allocation without an address: a space of its own."""
        return self.home(spec.loc).own_site(number, spec)

    def own_site(self, number: int, spec: TileSpec) -> Storage:
        """`site`, in this core's own memory."""
        storage = self._storages.get(number)
        if storage is None:
            storage = self._storages[number] = self._arena(number, spec.nbytes).window(spec, 0)
        return storage

    def apart(self, number: int, size: int) -> Arena:
        """Memory of this core's own for what has that number."""
        return self._arena(number, size)

    def _arena(self, number: int, size: int) -> Arena:
        arena = self._sites.get(number)
        if arena is None:
            arena = self._sites[number] = Arena(self.blocks, size, self.initial)
        return arena

    def own_space(self, loc: TileType) -> Arena:
        """A buffer in this core's own memory."""
        arena = self._spaces.get(loc)
        if arena is None:
            size = self.target.capacity[loc] + (SLOPES if loc is TileType.Scaling else 0)
            arena = self._spaces[loc] = Arena(self.blocks, size, self.initial)
        return arena

    def adopt(self, loc: TileType, arena: Arena) -> None:
        """Let a buffer be memory that another has made."""
        self._spaces[loc] = arena

    def space(self, loc: TileType) -> Arena:
        """The buffer that the running core knows under this name."""
        return self.home(loc).own_space(loc)

    def at(self, address: Any, spec: TileSpec) -> Storage:
        """Storage of a tile at a byte address of its buffer. Raises `Fault` if it does not fit."""
        address = uniform(address)
        for rule, message in broken_placement(spec, address, self.target):
            raise Fault(rule, message)
        return self.space(spec.loc).window(spec, address)

    def tile(self, site: int | None, spec: TileSpec, rows: Any, cols: Any, name: str, address: int | None) -> Tile:
        """A tile at an address of its buffer, or else in memory of its own.

        ``site`` is a number for that memory; without one it is new each time: the tile outlives the iteration.
        ``rows`` and ``cols``: the valid sizes. Raises `Fault` if the tile does not fit.
        """
        if address is not None:
            storage = self.at(address, spec)
        elif site is None:
            storage = Arena(self.blocks, spec.nbytes).window(spec, 0)
        else:
            storage = self.site(site, spec)
        vr = valid_size(rows, spec.rows, "row", "TILE-01")
        vc = valid_size(cols, spec.cols, "column", "TILE-01")
        return Tile(storage, spec, vr, vc, name, address)

    def tiles(
        self, sites: tuple[int, ...], spec: TileSpec, rows: Any, cols: Any, name: str, base: int | None
    ) -> list[Tile]:
        """Several tiles of one type, one after the other from an address on, or each in memory of its own."""
        slots = [None if base is None else base + k * slot_bytes(spec) for k in range(len(sites))]
        return [self.tile(site, spec, rows, cols, name, slot) for site, slot in zip(sites, slots)]

    def rebind(self, tile: Tile, address: Any) -> Tile:
        """TASSIGN: the same tile type and valid region at another address."""
        storage = self.at(address, tile.type)
        return Tile(storage, tile.type, tile.vr, tile.vc, tile.name, uniform(address))

    def bind_scales(self, scales: Tile, scaled: Tile) -> None:
        """TGET_SCALE_ADDR. Raises `Fault` if the tile does not fit there."""
        if scaled.address is not None and self.target.capacity.get(scales.spec.loc, 0):
            scales.address = scaled.address // 16
            scales.storage = self.at(scales.address, scales.spec)

    def alias(self, tile: Tile, spec: TileSpec, name: str) -> Tile:
        """TRESHAPE and bitcast: the bytes from the tile's first one on as another type.

        A valid dimension that the type leaves open is that of the source where the sizes agree, else all of it.
        """
        storage = tile.storage.arena.window(spec, tile.storage.start)
        same = (tile.type.rows, tile.type.cols) == (spec.rows, spec.cols)
        vr, vc = (tile.vr, tile.vc) if same else (spec.rows, spec.cols)
        vr = vr if spec.valid_row == DYNAMIC else spec.valid_row
        vc = vc if spec.valid_col == DYNAMIC else spec.valid_col
        return Tile(storage, spec, vr, vc, name, tile.address)

    def numbers(self, tile: Tile, spec: TileSpec) -> Tile:
        """A tile of pairs of 4-bit floats as one of numbers."""
        storage = tile.storage.arena.window(spec, tile.storage.start)
        rows, cols = numbers_in(tile.type)
        return Tile(storage, spec, tile.vr * rows, tile.vc * cols, tile.name, tile.address)

    def window(
        self, tile: Tile, offsets: tuple[Any, Any], spec: TileSpec, name: str, valid: tuple[Any, Any] = (None, None)
    ) -> Tile:
        """subset and subview: a window of a tile. Raises `Fault` if its valid region leaves the tile.

        ``valid``: the valid sizes where the type leaves them open; None: what is left of the tile's.
        """
        row, col = (uniform(o) for o in offsets)
        parent, box = tile.type, tile.type.box
        vr, vc = spec.valid_row, spec.valid_col
        if vr == DYNAMIC:
            vr = max(0, min(spec.rows, tile.vr - row if valid[0] is None else uniform(valid[0])))
        if vc == DYNAMIC:
            vc = max(0, min(spec.cols, tile.vc - col if valid[1] is None else uniform(valid[1])))
        if not (0 <= row <= parent.rows - vr and 0 <= col <= parent.cols - vc):
            raise Fault(
                "SS-1",
                f"the valid {vr}x{vc} of the window at ({row}, {col}) leave the {parent.rows}x{parent.cols} tile",
            )
        # Boxes that follow each other down a column, each row after row, are rows one after the other; so with columns.
        rows, cols = 1 if parent.layout_name == "Nz" else box.rows, 1 if parent.layout_name == "Zn" else box.cols
        if row % rows or col % cols:
            raise Fault("SS-1", f"the window at ({row}, {col}) begins inside a box of {box.rows}x{box.cols}")
        return Window(tile, spec, row, col, vr, vc, name)

    @staticmethod
    def first_byte(tile: Tile, dtype: DType, space: str) -> LocalPointer:
        """tile_buf_addr: a pointer to a tile, in its own memory if it has no address."""
        if tile.address is None:
            return LocalPointer(space, tile.storage.start, dtype, tile.storage.arena)
        return LocalPointer(space, tile.address, dtype)

    def set_valid(self, tile: Tile, rows: Any, cols: Any) -> None:
        """set_validshape, in place."""
        tile.vr = valid_size(rows, tile.type.rows, "row", "VS-3")
        tile.vc = valid_size(cols, tile.type.cols, "column", "VS-3")

    @staticmethod
    def valid(tile: Tile) -> tuple[int, int]:
        """The valid rows and columns."""
        return tile.vr, tile.vc

    @staticmethod
    def valid_rows(tile: Tile) -> int:
        """The valid rows."""
        return tile.vr

    @staticmethod
    def valid_cols(tile: Tile) -> int:
        """The valid columns."""
        return tile.vc


_CUBE = (TileType.Left, TileType.Right, TileType.Acc)


def slot_bytes(spec: TileSpec) -> int:
    """Bytes from one of several tiles to the next: whole 512 in the buffers of the cube unit, whole 32 elsewhere."""
    unit = 512 if spec.loc in _CUBE else 32
    return -(-spec.nbytes // unit) * unit


def valid_size(value: Any, limit: int, what: str, rule: str) -> int:
    """A run-time valid dimension; negative ones and those beyond the tile are faults."""
    size = uniform(value)
    if not 0 <= size <= limit:
        raise Fault(rule, f"valid {what} count {size} is outside 0..{limit}")
    return int(size)


# What a machine does about views, single elements, arrays and structs, and loops.


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
        return _iterations(lower, upper, step)
    columns = np.broadcast_arrays(*(np.atleast_1d(lanes(bound)) for bound in (lower, upper, step)))
    trips = [_iterations(*map(plain, row)) for row in zip(*columns)]
    return trips[0] if trips.count(trips[0]) == len(trips) else np.array(trips, np.uint64)


def _iterations(lower: int, upper: int, step: int) -> int:
    if step <= 0 or isinstance(step, bool):  # true of i1 is -1
        raise Fault("RUN-STEP", "the step of a loop must be positive")
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
