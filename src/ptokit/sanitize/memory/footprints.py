"""Exact byte sets of tile regions: strided rows, fractals, windows (memory-model-and-sync 7)."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ptokit.records import dataclass
from ptokit.types.tile import TileSpec, offset_map


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
