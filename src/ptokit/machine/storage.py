"""What tiles hold: bytes, or values for them.

A tile just loaded is the global memory it came from; an operand of the cube is a logical array in whatever precision
the next instruction wants. Bytes are made only when somebody looks: an overlapping tile, a view of another type, a
partial overwrite, the user. See docs/decisions for why.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import count

import numpy as np

from ptokit.types.codecs import decode, pack_nibbles, unpack_nibbles
from ptokit.types.enums import Layout
from ptokit.types.tile import TileSpec, block_shape, offset_map, regular

from .buffers import Buffer, widen
from .global_memory import View

_SKEW = 576  # bytes between the memories of two blocks, lest equal addresses compete for the same cache lines
_LINKED = 512  # windows of an arena that know of each other; the others are linked again when they are used


@lru_cache(maxsize=4096)
def _full(spec: TileSpec) -> TileSpec:
    """The type without its valid region: tiles that differ only there share storage."""
    return spec.with_valid(spec.rows, spec.cols)


_serials = count()  # of storages, which unlike their ids are never used again


class Arena:
    """Bytes of one on-chip buffer, or of one tile that has a space of its own, for all blocks of a chunk.

    After its `size` bytes is room for windows whose type ends later (a part of a tile has the type of the tile).
    """

    __slots__ = ("_data", "blocks", "flat", "initial", "pitch", "reach", "room", "size", "stale", "windows")

    def __init__(self, blocks: int, size: int, initial: int = 0) -> None:
        self.blocks = blocks
        self.size = self.room = size
        self.initial = initial  # byte that memory starts with
        self.pitch = size + _SKEW if size > _SKEW else size
        self.flat: np.ndarray | None = None
        """All bytes of all blocks in a row, `pitch` bytes for each."""
        self.reach = 0  # bytes from here on still are as they started
        self.stale: list[tuple[int, int]] = []  # bytes of an earlier run that are left in place of initial ones
        self._data: np.ndarray | None = None
        self.windows: dict[tuple[int, TileSpec], Storage] = {}

    @classmethod
    def over(cls, memory: np.ndarray, size: int) -> Arena:
        """The bytes of an array, for one block, with room after `size`: what is written to one is in the other."""
        arena = cls(1, size)
        arena.room = arena.pitch = memory.size
        arena.flat = memory
        arena._data = memory.reshape(1, -1)
        return arena

    @property
    def data(self) -> np.ndarray:
        """All bytes, (blocks, room); zero at the start of a launch, or another byte."""
        if self._data is None:
            size = self.blocks * self.pitch
            self.flat = np.full(size, self.initial, np.uint8) if self.initial else np.zeros(size, np.uint8)
            self._data = self.flat.reshape(self.blocks, self.pitch)[:, : self.room]
        return self._data

    def _grow(self, room: int) -> None:
        """Make room for a window that ends past the memory."""
        for storage in self.windows.values():
            storage.leave()
        old = self._data
        self.room, self.pitch, self._data = room, room + _SKEW, None
        if old is not None:
            self.data[:, : old.shape[1]] = old

    def settle(self, start: int, end: int, *, write: bool, whole: bool = False) -> None:
        """Bytes [start, end) are about to be read or written as such: make them current.

        Windows that overlap them give up the values that they hold for bytes that will change. ``whole``: if they
        are written, it is every one of them, in all blocks.
        """
        if write:
            self.reach = max(self.reach, end)
        if self.stale:
            self._freshen(start, end, fill=not (write and whole))
        for storage in self.windows.values():
            if storage.start < end and start < storage.end and (write or not storage.clean):
                storage.flush()

    def _freshen(self, start: int, end: int, *, fill: bool) -> None:
        """Bytes [start, end) are what they shall be from now on; initial ones, if `fill`, where they are stale."""
        kept = []
        for low, high in self.stale:
            a, b = max(low, start), min(high, end)
            if a >= b:
                kept.append((low, high))
                continue
            if fill:
                self.data[:, a:b].fill(self.initial)
            kept += [part for part in ((low, a), (b, high)) if part[0] < part[1]]
        self.stale = kept

    def window(self, spec: TileSpec, start: int) -> Storage:
        """The storage of a tile at byte `start`."""
        key = (start, _full(spec))
        found = self.windows.get(key)
        if found is None:
            found = Storage(key[1], self, start)
            self.link(found)
        return found

    def link(self, storage: Storage) -> None:
        """Let the windows that share bytes with this one know of it, and it of them.

        Only so many do at a time, or a loop that makes windows would slow down with every one of them.
        """
        start, end = storage.start, storage.end
        if end > self.room:
            self._grow(end)
        if len(self.windows) >= _LINKED:
            for other in list(self.windows.values())[: _LINKED // 4]:
                self._unlink(other)
        key = (start, storage.spec)
        if key in self.windows:
            self._unlink(self.windows[key])
        if self.stale:
            self._freshen(start, end, fill=True)
        storage.aliases = [other for other in self.windows.values() if other.start < end and start < other.end]
        for other in storage.aliases:
            other.aliases.append(storage)
        self.windows[key] = storage
        self.reach = max(self.reach, end)

    def _unlink(self, storage: Storage) -> None:
        """Forget a window: its bytes are what counts until somebody uses it again."""
        storage.leave()
        for other in storage.aliases:
            other.aliases.remove(storage)
        storage.aliases = [storage]
        del self.windows[storage.start, storage.spec]

    def forget(self) -> None:
        """Drop the values that tiles hold in place of bytes."""
        for storage in self.windows.values():
            storage.forget()

    def clear(self) -> None:
        """Start over, as at the start of a kernel."""
        self.forget()
        if self._data is not None:
            self.stale = [(0, self.reach)] if self.reach else []
            for storage in self.windows.values():
                self._freshen(storage.start, storage.start + storage.spec.nbytes, fill=True)


class Storage:
    """The contents of one window of on-chip memory, for all blocks of a chunk.

    ``aliases`` are other windows that share bytes with this one, or this one alone where it has to be linked first. At
    any time the elements of rows x cols of ``value``
    (or of the view ``loaded`` in global memory) hold what the bytes would; elsewhere the bytes do. Windows are made by
    `Arena.window`.
    """

    __slots__ = (
        "_bytes",
        "_elements",
        "aliases",
        "arena",
        "blocks",
        "clean",
        "cols",
        "element",
        "end",
        "loaded",
        "loaded_layout",
        "rows",
        "serial",
        "spec",
        "start",
        "value",
        "wide",
    )

    def __init__(self, spec: TileSpec, arena: Arena, start: int) -> None:
        self.spec = spec
        self.serial = next(_serials)
        self.blocks = arena.blocks
        self.arena = arena
        self.start = start  # byte offset in the arena
        self.end = start + spec.nbytes
        self.element = spec.dtype.value or spec.dtype.storage
        self.aliases: list[Storage] = []
        self._bytes: np.ndarray | None = None
        self._elements: np.ndarray | None = None
        self.value: np.ndarray | None = None
        self.loaded: View | None = None
        self.loaded_layout = Layout.ND
        self.clean = False  # the value only repeats the bytes
        self.rows = self.cols = 0
        self.wide: np.ndarray | None = None

    # --- bytes ---------------------------------------------------------------------------------------------------

    @property
    def bytes(self) -> np.ndarray:
        """The window's bytes, (blocks, nbytes), without regard to a value held in their place."""
        if self._bytes is None:
            self._bytes = self.arena.data[:, self.start : self.start + self.spec.nbytes]
        return self._bytes

    @property
    def elements(self) -> np.ndarray | None:
        """The bytes as (blocks, rows, cols) where that is a strided view of them: plain row- or column-major."""
        if self._elements is None and not self.spec.boxed and not self.spec.dtype.packed:
            spec = self.spec
            flat = self.bytes.view(self.element)
            if spec.row_major:
                self._elements = flat.reshape(self.blocks, spec.rows, spec.cols)
            else:
                self._elements = flat.reshape(self.blocks, spec.cols, spec.rows).transpose(0, 2, 1)
        return self._elements

    def _blocked(self) -> np.ndarray:
        """The bytes of a regular boxed tile as (blocks, block row, row in box, block col, col in box)."""
        shape, axes = block_shape(self.spec)
        a = self.bytes.view(self.element).reshape(self.blocks, *shape)
        return a.transpose(0, *(x + 1 for x in axes))

    def _unpack(self, rows: int, cols: int) -> np.ndarray:
        spec = self.spec
        if spec.dtype.packed:
            return unpack_nibbles(self.bytes)[:, offset_map(spec)[:rows, :cols]]
        if regular(spec):
            return self._blocked().reshape(self.blocks, spec.rows, spec.cols)[:, :rows, :cols]
        return self.bytes.view(self.element)[:, offset_map(spec)[:rows, :cols]]

    def _pack(self, values: np.ndarray, row: int, col: int) -> None:
        """Write values (blocks or 1, r, c) to the bytes at (row, col)."""
        spec = self.spec
        rows, cols = values.shape[1:]
        if self.elements is not None:
            self.elements[:, row : row + rows, col : col + cols] = values
            return
        if (rows, cols) == (spec.rows, spec.cols) and regular(spec):
            (ir, ic) = spec.box
            self._blocked()[...] = values.reshape(-1, rows // ir, ir, cols // ic, ic)
            return
        where = offset_map(spec)[row : row + rows, col : col + cols]
        if spec.dtype.packed:
            codes = unpack_nibbles(self.bytes)
            codes[:, where] = values
            self.bytes[...] = pack_nibbles(codes)
        else:
            self.bytes.view(self.element)[:, where] = values

    # --- the value in their place --------------------------------------------------------------------------------

    def _resolve(self) -> np.ndarray | None:
        """The value as an array, if there is one."""
        if self.value is None and self.loaded is not None:
            self.value = self._same_type(self.loaded.load(self.loaded_layout))
        return self.value

    def _same_type(self, values: np.ndarray) -> np.ndarray:
        return values if values.dtype == self.element else values.view(self.element)

    def settle(self, buffer: Buffer) -> None:
        """`buffer` is about to change: keep the old contents if this tile is read there."""
        if self.loaded is not None and self.loaded.buffer is buffer:
            value = self._resolve()
            assert value is not None
            self.value = value.copy()
            self.loaded = None

    def flush(self) -> None:
        """Make the bytes current and forget the value."""
        value = self._resolve()
        if value is not None and not self.clean:
            self._pack(value, 0, 0)
        self.forget()

    def forget(self) -> None:
        """Drop the value; the bytes are what counts."""
        self.value = self.loaded = self.wide = None
        self.clean = False

    def leave(self) -> None:
        """Make the bytes current and forget where they are."""
        self.flush()
        self._bytes = self._elements = None

    def _others(self) -> list[Storage]:
        """The windows that share bytes with this one."""
        if self.aliases and self.aliases[0] is self:
            self.arena.link(self)
        return self.aliases

    def _before_read(self) -> None:
        for other in self._others():
            if not other.clean and (other.value is not None or other.loaded is not None):
                other.flush()

    def begin_write(self, rows: int, cols: int) -> None:
        """The region [0, rows) x [0, cols) is about to be overwritten completely."""
        for other in self._others():
            other.flush()
        self.wide = None
        if self.value is None and self.loaded is None:
            return
        if self.clean or (self.rows <= rows and self.cols <= cols):
            self.value = self.loaded = None
            self.clean = False
        else:
            self.flush()

    # --- access --------------------------------------------------------------------------------------------------

    def read(self, rows: int, cols: int) -> np.ndarray:
        """Values of [0, rows) x [0, cols) as (blocks or 1, rows, cols); do not modify."""
        if self.aliases:
            self._before_read()
        value = self.value
        if value is None and self.loaded is not None:
            value = self._resolve()
        if value is not None:
            if self.rows == rows and self.cols == cols:
                return value
            if rows <= self.rows and cols <= self.cols:
                return value[:, :rows, :cols]
            self.flush()
        spec = self.spec
        elements = self.elements
        if elements is not None:
            return elements if rows == spec.rows and cols == spec.cols else elements[:, :rows, :cols]
        value = self._unpack(rows, cols)
        self.value, self.rows, self.cols, self.clean = value, rows, cols, True
        return value

    def read_wide(self, rows: int, cols: int, dtype: np.dtype) -> np.ndarray:
        """As `read`, exactly converted to a wider float dtype; kept for the next reader."""
        wide = self.wide
        if wide is not None and wide.dtype == dtype and wide.shape[1:] == (rows, cols) and not self.aliases:
            return wide
        loaded = self.loaded
        if loaded is not None and not self.aliases and (self.rows, self.cols) == (rows, cols):
            same = loaded.dtype is self.spec.dtype and self.spec.dtype.value is not None
            wide = loaded.load(self.loaded_layout, dtype) if same else None
        else:
            wide = None
        if wide is None:
            values = self.read(rows, cols)
            if self.spec.dtype.value is None:
                values = decode(self.spec.dtype, values)
            wide = widen(values, dtype)
        if self.value is not None or self.loaded is not None:
            self.wide = wide  # a later write through the bytes would not be noticed, so only beside a value
        return wide

    def out(self, rows: int, cols: int) -> np.ndarray | None:
        """A writable array for [0, rows) x [0, cols), which the caller overwrites; None if it is not strided."""
        self.begin_write(rows, cols)
        elements = self.elements
        if elements is None or (rows == self.spec.rows and cols == self.spec.cols):
            return elements
        return elements[:, :rows, :cols]

    def write(self, values: np.ndarray, rows: int, cols: int) -> None:
        """Set [0, rows) x [0, cols); the array belongs to the tile afterwards."""
        target = self.out(rows, cols)
        if target is not None:
            target[...] = values
        else:
            self.value, self.rows, self.cols, self.clean = self._typed(values), rows, cols, False

    def _typed(self, values: np.ndarray) -> np.ndarray:
        return values if values.dtype == self.element else values.astype(self.element)

    def load(self, view: View, layout: Layout, rows: int, cols: int) -> None:
        """Be read from a view of global memory, whose elements have this tile's size."""
        self.begin_write(rows, cols)
        self.loaded, self.loaded_layout, self.rows, self.cols = view, layout, rows, cols
        buffer = view.buffer
        assert buffer is not None
        if buffer.written:
            buffer.borrowers.append(self)

    def take(self, other: Storage, rows: int, cols: int) -> None:
        """Set [0, rows) x [0, cols) to the same region of a tile of the same type, bit for bit."""
        if other.aliases:
            other._before_read()
        same_region = (other.rows, other.cols) == (rows, cols)
        if same_region and other.loaded is not None:
            view, layout, wide = other.loaded, other.loaded_layout, other.wide
            self.load(view, layout, rows, cols)
            self.value, self.wide = other.value, wide
        elif same_region and other.value is not None and self.elements is None:
            value, wide = other.value, other.wide
            if other.clean and np.may_share_memory(value, other.bytes):
                value = value.copy()  # one column of boxes: the value is a view of bytes that may change
            self.begin_write(rows, cols)
            self.value, self.rows, self.cols, self.wide = value, rows, cols, wide
            self.clean = False
        else:
            values = other.read(rows, cols)
            if self.elements is None:
                values = values.copy()
            self.write(self._same_type(values), rows, cols)

    def patch(self, values: np.ndarray, row: int, col: int) -> None:
        """Overwrite a region that does not start at (0, 0): values (blocks or 1, r, c) in this tile's type."""
        self.begin_patch()
        self._pack(values, row, col)

    def begin_patch(self) -> None:
        """Part of the bytes is about to be overwritten: make them current."""
        for other in self._others():
            other.flush()
        self.flush()

    def fill(self, row: int, rows: int, col: int, cols: int, bits: int) -> None:
        """Set rows [row, rows) x cols [col, cols) to an element's bit pattern."""
        if row >= rows or col >= cols:
            return
        unit = np.array(bits, self.spec.dtype.storage)
        if not self.spec.dtype.packed:
            unit = unit.view(self.element)
        self.patch(np.broadcast_to(unit, (1, rows - row, cols - col)), row, col)

    def raw(self) -> np.ndarray:
        """The bytes, up to date, for reading and writing: (blocks, nbytes)."""
        self.begin_patch()
        return self.bytes
