"""Accesses by address: what vector instructions and DMA copies really read and write, byte by byte."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ptokit.machine.local_memory import Access, Elements, Lanes, LocalPointer, Rows, Span

from .footprints import Footprint
from .gm import Memory, Scattered

Axes = tuple[tuple[int, int], ...]
_NOTHING = Footprint(np.empty(0, np.int64), np.empty(0, np.int64))


def footprint_of(access: Access) -> Footprint:
    """The bytes of a buffer that an access by address touches, in the only block that runs."""
    match access:
        case Span(pointer, offset, nbytes):
            return _run(_start(pointer, offset), nbytes)
        case Lanes(pointer, offset, width, active):
            return _lanes(_start(pointer, offset), width, np.packbits(active[0]).tobytes())
        case Elements(pointer, offset, places, width, keep):
            kept = places[0] if keep is None else np.broadcast_to(places, np.broadcast(places, keep).shape)[0][keep[0]]
            return _elements(np.unique(kept + _start(pointer, offset)).tobytes(), width)
        case Rows(pointer, first, axes, nbytes):
            return rows(pointer.address + first, axes, nbytes)


def needed_of(access: Access) -> Footprint | None:
    """The bytes on which results depend, where those are fewer than all."""
    if not isinstance(access, Rows) or access.needed is None:
        return None
    axes, nbytes = access.needed
    return rows(access.pointer.address + access.first, tuple(axes), nbytes) if nbytes else _NOTHING


def in_global_memory(access: Rows, memory: Memory, origin: int) -> Scattered:
    """The granules of global memory that rows behind a pointer touch; ``origin``: bytes to the pointer's buffer."""
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
