"""From an instruction's footprint to exact accesses, and who touched which bytes of global memory.

For every instruction of the text that touches a memory there is an array that holds, per granule, a number. It is
that of a set of accesses: the last one of each core that something later may race with. Equal sets have one number.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from ptokit.isa.site import Site, TileInfo
from ptokit.isa.table import Access, Instr, Role
from ptokit.machine.global_memory import View
from ptokit.machine.local_memory import Access as LocalAccess
from ptokit.machine.local_memory import Elements, Lanes, LocalPointer, Rows, Span
from ptokit.machine.tiles import Tile
from ptokit.records import dataclass
from ptokit.types.enums import AtomicType, ScatterAtomicOp

from ..simulation.clocks import Clock, Footprint, Region, Touch, footprint, union
from ..simulation.core import Work
from .shadow import Group, Record, Space

# Global memory: who touched which elements, over all blocks (memory-model-and-sync 7, 8, 11.2).


_MANY = 256  # sets to remember before looking which of them no granule names any more
_FEW = 32  # cores; of more it takes longer to ask for the last access of each than for the granules
_PER_LOOK = 64  # granules per access that such a look may cost


@dataclass(frozen=True, slots=True, eq=False)
class Strided:
    """Granules start + sum(i * stride) over the axes (size, stride)."""

    start: int
    axes: tuple[tuple[int, int], ...]

    def view(self, array: np.ndarray) -> np.ndarray:
        """The entries of a one-dimensional array, writable in place."""
        size = array.itemsize
        shape = tuple(n for n, _ in self.axes)
        strides = tuple(s * size for _, s in self.axes)
        return np.ndarray(shape, array.dtype, array, self.start * size, strides)

    def set(self, array: np.ndarray, values: int | np.ndarray) -> None:
        """Write the entries; ``values`` is a number or has the shape of `view`."""
        self.view(array)[...] = values

    def granules(self) -> np.ndarray:
        """The granules as an array of the shape of the axes."""
        out: np.ndarray = np.array(self.start, np.int64)
        for n, s in self.axes:
            out = out[..., None] + np.arange(n, dtype=np.int64) * s
        return out


@dataclass(frozen=True, slots=True, eq=False)
class Scattered:
    """Granules by number, an array of any shape."""

    where: np.ndarray

    def view(self, array: np.ndarray) -> np.ndarray:
        """The entries of a one-dimensional array, a copy."""
        out: np.ndarray = array[self.where]
        return out

    def set(self, array: np.ndarray, values: int | np.ndarray) -> None:
        """Write the entries; ``values`` is a number or has the shape of `view`."""
        array[self.where] = values

    def granules(self) -> np.ndarray:
        return self.where


Place = Strided | Scattered
Class = tuple[Hashable, ...]
Records = tuple[Record, ...]


class Memory:
    """The memory of one argument, or of several that overlap. ``granule`` is in bytes, ``size`` in granules."""

    def __init__(self, name: str, size: int, granule: int, *, written: bool, initialised: bool = True) -> None:
        self.name, self.size, self.granule, self.written = name, size, granule, written
        self.valid = None if initialised else np.zeros(size, bool)
        self._sets: dict[Class, np.ndarray] = {}
        self._writes: dict[Class, tuple[bool, object]] = {}
        self._latest: dict[Class, dict[int, Record]] = {}  # by core
        self._records: dict[int, Records] = {0: ()}
        self._next = 1
        self._limit = max(_MANY, size // _PER_LOOK)

    def conflicts(self, touch: Touch, clock: Clock) -> Iterator[Record]:
        """Earlier processed accesses to common granules that conflict and that nothing orders before this one."""
        if not self.written:
            return
        for key, sets in self._sets.items():
            write, atomic = self._writes[key]
            if not (write or touch.write) or (atomic is not None and atomic == touch.atomic):
                continue
            latest = self._latest[key]
            if len(latest) <= _FEW and all(record.before(clock) for record in latest.values()):
                continue  # and so is all that came before these
            found = [self._records[number] for number in _distinct(touch.where.view(sets))]
            for record in found[0] if len(found) == 1 else dict.fromkeys(r for records in found for r in records):
                if not record.before(clock):
                    yield record

    def add(self, record: Record, clock: Clock, *, overtakes: bool, settled: Callable[[Record], bool]) -> None:
        """Remember an access, whose core knew `clock` when it began; see `Space.add` for ``overtakes``.

        ``settled``: whether all that the core of a record is still to issue comes after it.
        """
        if not self.written:
            return
        touch = record.touch
        key: Class = (record.work.op, record.component, touch.write, touch.atomic)
        sets = self._sets.get(key)
        if sets is None:
            sets = self._sets[key] = np.zeros(self.size, np.int32)
            self._writes[key] = (touch.write, touch.atomic)
            self._latest[key] = {}
        latest = self._latest[key]
        stranger = not clock.far and record.core not in latest  # to all that came before
        latest[record.core] = record

        def records_of(number: int) -> Records:
            """The set of a granule that this access joins. What it replaces comes before it, and before all that comes
            after it: those of its own core, and those of others that neither it nor their own core can race with."""
            if stranger:
                return (*self._records[number], record)
            kept = (
                former
                for former in self._records[number]
                if (overtakes if former.core == record.core else not (former.before(clock) and settled(former)))
            )
            return (*kept, record)

        if len(latest) == 1 and not overtakes:
            touch.where.set(sets, self._number((record,)))
        else:
            entries = touch.where.view(sets)
            numbers = _distinct(entries)
            found = [records_of(number) for number in numbers]
            fresh = {records: self._number(records) for records in dict.fromkeys(found)}
            new = np.array([fresh[records] for records in found], np.int32)
            touch.where.set(sets, int(new[0]) if len(new) == 1 else new[np.searchsorted(numbers, entries)])
        if len(self._records) > self._limit:
            self._forget()

    def _number(self, records: Records) -> int:
        """A number for a set of accesses that has none."""
        number = self._next
        self._next += 1
        self._records[number] = records
        return number

    def _forget(self) -> None:
        """Drop the sets that no granule names any more, and the accesses that are in none."""
        live = {0}
        for sets in self._sets.values():
            live.update(np.unique(sets).tolist())
        self._records = {n: r for n, r in self._records.items() if n in live}
        named = {record for records in self._records.values() for record in records}
        for latest in self._latest.values():
            for core in [core for core, record in latest.items() if record not in named]:
                del latest[core]
        self._limit = max(_MANY, self.size // _PER_LOOK, 2 * len(self._records))

    @property
    def read(self) -> bool:
        """True if the launch has read any of it that it also writes."""
        return any(not write for write, _ in self._writes.values())

    # --- initialisation ------------------------------------------------------------------------------------------

    def uninitialised(self, place: Place) -> np.ndarray | None:
        """The granules of a region that nobody has written; None if there are none."""
        if self.valid is None:
            return None
        missing = ~place.view(self.valid)
        return place.granules()[missing] if missing.any() else None

    def write(self, place: Place) -> None:
        """The region has been written."""
        if self.valid is not None:
            place.set(self.valid, 1)


Located = tuple[Memory, int]
"""A memory, and the place of an argument in it in bytes."""


def _distinct(entries: np.ndarray) -> list[int]:
    """The numbers that occur, ascending."""
    first = entries[(0,) * entries.ndim]
    return [int(first)] if (entries == first).all() else np.unique(entries).tolist()


# Accesses by address: what vector instructions and DMA copies really read and write, byte by byte.


Axes = tuple[tuple[int, int], ...]
_NOTHING = Footprint(np.empty(0, np.int64), np.empty(0, np.int64))


def footprint_of(access: LocalAccess) -> Footprint:
    """The bytes of a buffer that an access by address touches, in the only block that runs."""
    match access:
        case Span(pointer, offset, nbytes):
            return _run(_start(pointer, offset), nbytes)
        case Lanes(pointer, offset, width, active):
            return _lanes(_start(pointer, offset), width, np.packbits(active[0]).tobytes())
        case Elements(pointer, offset, places, width, keep):
            kept = places[0]
            if keep is not None:
                all_places, all_kept = np.broadcast_arrays(places, keep)
                kept = all_places[0][all_kept[0]]
            return _elements(np.unique(kept + _start(pointer, offset)).tobytes(), width)
        case Rows(pointer, first, axes, nbytes):
            return rows(pointer.address + first, axes, nbytes)


def needed_of(access: LocalAccess) -> Footprint | None:
    """The bytes on which results depend, where those are fewer than all."""
    if not isinstance(access, Rows) or access.needed is None:
        return None
    axes, nbytes = access.needed
    return rows(access.pointer.address + access.first, tuple(axes), nbytes) if nbytes else _NOTHING


def in_global_memory(access: Rows, memory: Memory, origin: int) -> Scattered:
    """The granules of global memory that rows at a pointer touch; ``origin``: bytes to the pointer's buffer."""
    pointer = access.pointer
    found = rows(origin + pointer.offset * pointer.dtype.size + access.first, access.axes, access.nbytes)
    return Scattered(np.unique(_bytes(found) // memory.granule))


def _start(pointer: LocalPointer, offset: Any) -> int:
    return int(pointer.address if offset is None else pointer.address + offset * pointer.size)


@lru_cache(maxsize=65536)
def _run(start: int, nbytes: int) -> Footprint:
    """Bytes in one run."""
    return Footprint(np.array([start]), np.array([start + nbytes]))


@lru_cache(maxsize=65536)
def _lanes(start: int, width: int, active: bytes) -> Footprint:
    """The bytes of active lanes; `active` has one bit for each, the first in the highest bit."""
    lanes = np.flatnonzero(np.unpackbits(np.frombuffer(active, np.uint8)))
    return _merged(start + lanes * width, width)


@lru_cache(maxsize=65536)
def _elements(starts: bytes, width: int) -> Footprint:
    """Elements at ascending places, given as the bytes of an int64 array."""
    return _merged(np.frombuffer(starts, np.int64), width)


@lru_cache(maxsize=8192)
def rows(start: int, axes: Axes, nbytes: int) -> Footprint:
    """The bytes of rows."""
    starts: np.ndarray = np.array([start], np.int64)
    for count, stride in axes:
        starts = (starts[:, None] + np.arange(count, dtype=np.int64) * stride).reshape(-1)
    return _merged(np.unique(starts), nbytes)


def _merged(starts: np.ndarray, nbytes: int) -> Footprint:
    """Runs of equal length at ascending places, those that touch as one."""
    if not len(starts):
        return Footprint(starts, starts)
    apart = np.flatnonzero(np.diff(starts) > nbytes)
    return Footprint(
        starts[np.concatenate(([0], apart + 1))], starts[np.concatenate((apart, [len(starts) - 1]))] + nbytes
    )


def _bytes(found: Footprint) -> np.ndarray:
    return np.arange(found.lo, found.hi) if isinstance(found.index, slice) else found.index


# From an instruction's footprint to exact accesses of memory (memory-model-and-sync 7, 8).


def atomic_kind(site: Site) -> Any:
    """What makes two atomic updates compatible: operation and element type; None for plain accesses.

    Writes that several cores make ``alike`` are compatible, too.
    """
    if "alike" in site.attrs:
        return site.attrs["alike"]
    kind = site.attrs.get("atomic")
    if isinstance(kind, AtomicType | ScatterAtomicOp) and kind.value:
        return kind.name.removeprefix("Atomic"), site.dst.dtype.name
    return None


def tile_region(tile: Tile, rows: int, cols: int, row: int = 0, col: int = 0) -> Region:
    """A region of a tile, clipped at its memory."""
    spec = tile.home.spec
    row, col = row + tile.row, col + tile.col
    rows, cols = max(0, min(rows, spec.rows - row)), max(0, min(cols, spec.cols - col))
    return Region(spec, tile.home.start, row, col, rows, cols)


def tile_touch(site: Site, access: Access, info: TileInfo, space: Space) -> Touch | None:
    """The bytes of one access to a tile; None if there are none.

    Reads count as far as results depend on them: the valid regions of the tile and of dst. What a device reads beyond,
    because it moves whole blocks, only makes padding of padding.
    """
    tile: Tile = info.data
    rows, cols = access.rows, access.cols
    if rows < 0:
        rows, cols = tile.vr, tile.vc
    if not access.write:
        rows, cols = _needed(site, access, tile, rows, cols)
    region = tile_region(tile, rows, cols, access.row, access.col)
    where = footprint(region)
    if not len(where):
        return None
    touch = Touch(space, access.write, where, info.name, access.operand, region, last=access.last, origin=origin(tile))
    if not access.write or site.instr.operand(access.operand).role is not Role.SCRATCH:
        touch.padding = _padding(tile, access, rows, cols)
    return touch


def origin(tile: Tile) -> tuple[int, int]:
    """Where element (0, 0) of a tile lies in the tile it is a window of."""
    return tile.row, tile.col


def _needed(site: Site, access: Access, tile: Tile, rows: int, cols: int) -> tuple[int, int]:
    results = [i.data for n, i in site.operands.items() if isinstance(i, TileInfo) and _written(site, n)]
    vr, vc = max([tile.vr, *(t.vr for t in results)]), max([tile.vc, *(t.vc for t in results)])
    return min(rows, max(0, vr - access.row)), min(cols, max(0, vc - access.col))


def _written(site: Site, name: str) -> bool:
    return site.instr.operand(name).role in (Role.OUT, Role.INOUT)


def _padding(tile: Tile, access: Access, rows: int, cols: int) -> Footprint | None:
    """The part of a written region outside the tile's valid region, or outside the results."""
    if access.row >= tile.vr or access.col >= tile.vc:
        return footprint(tile_region(tile, rows, cols, access.row, access.col))
    made = (rows, cols) if access.results is None else access.results
    inside_rows, inside_cols = min(made[0], tile.vr - access.row), min(made[1], tile.vc - access.col)
    if inside_cols < cols and inside_rows == rows:
        return footprint(tile_region(tile, rows, cols - inside_cols, access.row, access.col + inside_cols))
    if inside_rows < rows and inside_cols == cols:
        return footprint(tile_region(tile, rows - inside_rows, cols, access.row + inside_rows, access.col))
    if inside_rows < rows:
        return _corner(tile, access, (rows, cols), (inside_rows, inside_cols))
    return None


def _corner(tile: Tile, access: Access, size: tuple[int, int], inside: tuple[int, int]) -> Footprint:
    """Padding on two sides, as one set of bytes."""

    below = tile_region(tile, size[0] - inside[0], size[1], access.row + inside[0], access.col)
    beside = tile_region(tile, inside[0], size[1] - inside[1], access.row, access.col + inside[1])
    return union(below, beside)


def accesses(site: Site) -> Iterator[Access]:
    """What the table says an instruction touches."""
    yield from site.instr.footprint(site)


# Which instructions last wrote tiles and views: what TSYNC waits for.


class Producers:
    """Of one core. ``tiles``: groups of tiles by id; ``memories``: the argument of a buffer, by id."""

    def __init__(self, tiles: Mapping[int, Group], memories: Mapping[int, Located]) -> None:
        self._tiles, self._memories = tiles, memories
        self._last: dict[Any, Work] = {}

    def wrote(self, work: Work, instr: Instr, given: Mapping[str, Any]) -> None:
        """`work` is the instruction that writes its destinations now."""
        for operand in instr.operands:
            if operand.role is not Role.IN:
                self._last[self._identity(given.get(operand.name))] = work

    def of(self, waited: Iterable[Any]) -> tuple[Work, ...]:
        """The instructions that last wrote tiles and views."""
        known = (self._identity(value) for value in waited)
        return tuple(dict.fromkeys(self._last[key] for key in known if key is not None and key in self._last))

    def _identity(self, operand: Any) -> Any:
        """What TSYNC knows a tile or view by: the tile with its aliases, the argument of a view."""
        if isinstance(operand, Tile):
            return self._tiles.get(id(operand))
        if isinstance(operand, View) and operand.buffer is not None:
            return self._memories[id(operand.buffer.whole)][0]
        return None
