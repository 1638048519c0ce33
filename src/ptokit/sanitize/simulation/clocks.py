"""Vector clocks over the pipes of all cores, and exact byte sets of tile regions (memory-model-and-sync 7, 11.1).

A core has one component per pipe and one for the posted writes of the scalar unit: those are known only to the scalar
unit itself until a flag from it, or a full barrier, passes them on (6, rule 2).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import count
from typing import Any

import numpy as np

from ptokit.records import dataclass
from ptokit.types.enums import Pipe
from ptokit.types.tile import TileSpec, offset_map

# Vector clocks over the pipes of all cores (memory-model-and-sync 11.1).


COMPONENTS: dict[Pipe, int] = {
    pipe: i for i, pipe in enumerate((Pipe.S, Pipe.V, Pipe.M, Pipe.MTE1, Pipe.MTE2, Pipe.MTE3, Pipe.FIX))
}
"""Component of each pipe in a core's part of a clock."""

POSTED = len(COMPONENTS)
"""Component of the scalar unit's writes."""

WIDTH = POSTED + 1
SCALAR = COMPONENTS[Pipe.S]

Part = tuple[int, ...]
_NOTHING: Part = (0,) * WIDTH


_BITS = 4
_FAN = 1 << _BITS
_NONE: tuple[None, ...] = (None,) * _FAN
_numbers = count(1)


class _Node:
    """Part of a tree, never changed. ``below`` is the number of a node at its place that is known to have nothing that
    this one has not: cores that meet compare the same two nodes again and again."""

    __slots__ = ("below", "entries", "number")

    def __init__(self, entries: tuple[Any, ...], below: int = 0) -> None:
        self.entries, self.below = entries, below
        self.number = next(_numbers)


class Parts:
    """What is known of many cores: the part of each, by number. Never changed in place.

    A tree whose leaves are parts. What is made from one shares with it all that is the same, so that cores that have
    met hold most of what they know once, and joining costs what differs.
    """

    __slots__ = ("_level", "_node")

    def __init__(self, node: _Node | None = None, level: int = 0) -> None:
        self._node, self._level = node, level

    def __bool__(self) -> bool:
        return self._node is not None

    def get(self, core: int, default: Part = ()) -> Part:
        """The part of a core."""
        shift = _BITS * self._level
        if core >> shift >= _FAN:
            return default
        node: Any = self._node
        while node is not None:
            node = node.entries[(core >> shift) % _FAN]
            if not shift:
                return default if node is None else node
            shift -= _BITS
        return default

    def items(self) -> Iterator[tuple[int, Part]]:
        """Each core with its part, ascending."""
        return _leaves(self._node, self._level, 0)

    def __iter__(self) -> Iterator[int]:
        return (core for core, _ in self.items())

    def raised(self, core: int, part: Part) -> Parts:
        """The same, with at least `part` of a core."""
        level = max(self._level, (max(core, 1).bit_length() - 1) // _BITS)
        node = self._at(level)
        new = _with(node, level, core, part)
        return self if new is node else Parts(new, level)

    def without(self, core: int) -> Parts:
        """The same without a core."""
        if self._node is None or not self.get(core):
            return self
        return Parts(_without(self._node, self._level, core), self._level)

    def joined(self, other: Parts) -> Parts:
        """The greater part of each core."""
        if other is self or not other:
            return self
        if not self:
            return other
        level = max(self._level, other._level)
        mine, theirs = self._at(level), other._at(level)
        assert mine is not None
        assert theirs is not None
        node = _union(mine, theirs, level)
        return self if node is mine else other if node is theirs else Parts(node, level)

    def _at(self, level: int) -> _Node | None:
        """The tree, with so many levels."""
        node = self._node
        if node is not None:
            for _ in range(level - self._level):
                node = _Node((node, *_NONE[1:]))
        return node


def _leaves(node: _Node | None, level: int, first: int) -> Iterator[tuple[int, Part]]:
    for i, entry in enumerate(() if node is None else node.entries):
        if entry is not None:
            number = (first << _BITS) + i
            if level:
                yield from _leaves(entry, level - 1, number)
            else:
                yield number, entry


def _greater(a: Part, b: Part) -> Part:
    part = tuple(map(max, a, b))
    return a if part == a else b if part == b else part


def _with(node: _Node | None, level: int, core: int, part: Part) -> _Node:
    at = (core >> _BITS * level) % _FAN
    entries = _NONE if node is None else node.entries
    entry = entries[at]
    if level:
        new: Any = _with(entry, level - 1, core, part)
    else:
        new = part if entry is None else _greater(entry, part)
    if node is not None and new is entry:
        return node
    return _Node((*entries[:at], new, *entries[at + 1 :]), 0 if node is None else node.below or node.number)


def _without(node: _Node, level: int, core: int) -> _Node | None:
    at = (core >> _BITS * level) % _FAN
    new = _without(node.entries[at], level - 1, core) if level else None
    left = (*node.entries[:at], new, *node.entries[at + 1 :])
    return None if left == _NONE else _Node(left)


def _union(a: _Node, b: _Node, level: int) -> _Node:
    """Of two nodes, one of them where the other has nothing that is new."""
    if a.below == b.number:
        return a
    if b.below == a.number:
        return b
    out: list[Any] | None = None
    theirs = True  # all that there is is in b
    for i, (x, y) in enumerate(zip(a.entries, b.entries)):
        if x is y:
            continue
        if y is None:
            theirs = False
            continue
        new = y if x is None else _union(x, y, level - 1) if level else _greater(x, y)
        if new is not x:
            if out is None:
                out = list(a.entries)
            out[i] = new
        if new is not y:
            theirs = False
    if out is None:
        a.below = b.number
        return a
    if theirs:
        b.below = a.number
        return b
    return _Node(tuple(out), b.number)


_NOBODY = Parts()


class Clock:
    """What is known to have completed: ``own`` on the core itself, ``far`` on others. Counts start at 1."""

    __slots__ = ("core", "far", "own")

    def __init__(self, core: int, own: list[int] | None = None, far: Parts = _NOBODY) -> None:
        self.core = core
        self.own = [0] * WIDTH if own is None else own
        self.far = far

    def copy(self) -> Clock:
        """An independent clock with the same knowledge."""
        return Clock(self.core, self.own[:], self.far)

    def join(self, other: Clock) -> None:
        """Know what `other` knows, too."""
        if other.core == self.core:
            self.own = list(map(max, self.own, other.own))
            self.far = self.far.joined(other.far)
            return
        far = other.far
        if mine := far.get(self.core):
            self.own = list(map(max, self.own, mine))
            far = far.without(self.core)
        self.far = self.far.joined(far).raised(other.core, tuple(other.own))

    def knows(self, core: int, component: int, count: int) -> bool:
        """True if the access number `count` of that component has completed before."""
        part = self.own if core == self.core else self.far.get(core, _NOTHING)
        return part[component] >= count


# Exact byte sets of tile regions: strided rows, fractals, windows (memory-model-and-sync 7).


class Footprint:
    """A set of bytes as disjoint runs [starts, ends), ascending. Equal regions share one object."""

    __slots__ = ("ends", "hi", "index", "lo", "starts")

    def __init__(self, starts: np.ndarray, ends: np.ndarray) -> None:
        self.starts, self.ends = starts, ends
        self.lo, self.hi = (int(starts[0]), int(ends[-1])) if len(starts) else (0, 0)
        self.index: slice | np.ndarray
        """Selects the bytes in an array that has one entry per byte of the buffer."""
        if len(starts) <= 1:
            self.index = slice(self.lo, self.hi)
        else:
            lengths = ends - starts
            first = np.repeat(starts - np.concatenate(([0], np.cumsum(lengths)[:-1])), lengths)
            self.index = first + np.arange(int(lengths.sum()))

    def __len__(self) -> int:
        """Number of bytes."""
        return int((self.ends - self.starts).sum())


@dataclass(frozen=True, slots=True)
class Region:
    """Elements [row, row + rows) x [col, col + cols) of a tile of type `spec` at byte `start` of its buffer."""

    spec: TileSpec
    start: int
    row: int
    col: int
    rows: int
    cols: int


@lru_cache(maxsize=8192)
def footprint(region: Region) -> Footprint:
    """The bytes of a region."""
    spec, start = region.spec, region.start
    whole = (region.row, region.col, region.rows, region.cols) == (0, 0, spec.rows, spec.cols)
    if region.rows <= 0 or region.cols <= 0:
        return _runs(np.empty(0, np.int64))
    if whole or not mapped(spec):
        return Footprint(np.array([start]), np.array([start + spec.nbytes]))
    places = offset_map(spec)[region.row : region.row + region.rows, region.col : region.col + region.cols]
    if spec.dtype.packed:
        return _runs(np.unique(places // 2) + start)
    size = spec.dtype.size
    found = _runs(np.sort(places, axis=None))
    return Footprint(found.starts * size + start, found.ends * size + start)


def mapped(spec: Any) -> bool:
    """True if elements have places by row and column; convolution tiles count as a whole."""
    return type(spec) is TileSpec


def _runs(places: np.ndarray) -> Footprint:
    """Runs of ascending places."""
    if not len(places):
        return Footprint(places, places)
    breaks = np.flatnonzero(np.diff(places) != 1)
    starts = places[np.concatenate(([0], breaks + 1))]
    ends = places[np.concatenate((breaks, [len(places) - 1]))] + 1
    return Footprint(starts, ends)


@lru_cache(maxsize=65536)
def meet(a: Footprint, b: Footprint) -> bool:
    """True if two footprints have a byte in common."""
    if a.hi <= b.lo or b.hi <= a.lo or not len(a.starts) or not len(b.starts):
        return False
    first = np.searchsorted(b.ends, a.starts, "right")
    return bool((np.searchsorted(b.starts, a.ends, "left") > first).any())


def common(a: Footprint, b: Footprint) -> np.ndarray:
    """The bytes two footprints share, ascending."""
    both = np.intersect1d(places_of(a), places_of(b), assume_unique=True)
    return both.astype(np.int64)


def places_of(a: Footprint) -> np.ndarray:
    """The bytes, ascending."""
    return np.arange(a.lo, a.hi) if isinstance(a.index, slice) else a.index


def rectangle(region: Region, places: np.ndarray) -> tuple[int, int, int, int] | None:
    """Smallest (row, end row, col, end col) of the region, relative to it, that holds the bytes `places`."""
    spec = region.spec
    if not mapped(spec) or not len(places):
        return None
    elements = places - region.start
    elements = np.concatenate((elements * 2, elements * 2 + 1)) if spec.dtype.packed else elements // spec.dtype.size
    window = offset_map(spec)[region.row : region.row + region.rows, region.col : region.col + region.cols]
    rows, cols = np.nonzero(np.isin(window, elements))
    if not len(rows):
        return None
    return int(rows.min()), int(rows.max()) + 1, int(cols.min()), int(cols.max()) + 1


@dataclass(slots=True, eq=False)
class Touch:
    """One access of an instruction to on-chip memory (``where`` is a Footprint) or to global memory (see `gm`)."""

    space: Any
    write: bool
    where: Any
    name: str  # of the tile or argument
    operand: str = ""  # of the instruction
    region: Region | None = None
    atomic: Any = None  # kind of atomic update: equal kinds do not race
    initial: Any = None  # footprint that becomes or has to be initialised, where that is less than all
    last: bool = False  # written when the instruction has read all its sources
    padding: Any = None  # the part beyond the valid region
    origin: tuple[int, int] = (0, 0)  # element (0, 0) of the tile in `region.spec`
    owner: Any = None  # the tile with its aliases, a `Group`
    settled: int = -1  # version of the space at which all was initialised that this reads, or writing changed nothing


@lru_cache(maxsize=8192)
def shifted(a: Footprint, by: int) -> Footprint:
    """The same bytes, so many further on."""
    return Footprint(a.starts + by, a.ends + by)


@lru_cache(maxsize=1024)
def union(a: Region, b: Region) -> Footprint:
    """The bytes of two regions."""
    return _runs(np.union1d(places_of(footprint(a)), places_of(footprint(b))))
