"""What an instruction has read or written of memory by address, as its machine tells an observer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from ptokit.isa.machine import Combine

from .pointers import LocalPointer


class Span(NamedTuple):
    """Bytes in one run, from `offset` elements behind a pointer on."""

    pointer: LocalPointer
    offset: Any
    nbytes: int
    write: bool


class Lanes(NamedTuple):
    """Elements of `width` bytes in one run, of which only those are accessed where `active`, (1, n), is true."""

    pointer: LocalPointer
    offset: Any
    width: int
    active: np.ndarray
    write: bool


class Elements(NamedTuple):
    """Elements of `width` bytes at `places`, (1, n), bytes behind pointer + offset elements, where `keep` is true."""

    pointer: LocalPointer
    offset: Any
    places: np.ndarray
    width: int
    keep: np.ndarray | None
    write: bool


class Rows(NamedTuple):
    """Rows of `nbytes` bytes, from `first` bytes behind a pointer on; axes are (count, stride in bytes).

    ``needed``: the rows on which results depend, where those are fewer. ``combine``: the operation and element type of
    an update. ``sub``: number of the vector core of the cluster whose buffer it is.
    """

    pointer: Any  # also to global memory
    first: int
    axes: tuple[tuple[int, int], ...]
    nbytes: int
    write: bool
    needed: tuple[Sequence[tuple[int, int]], int] | None = None
    combine: Combine | None = None
    sub: int = 0


Access = Span | Lanes | Elements | Rows


class AccessListener(Protocol):
    """Who is told of accesses to memory by address."""

    def accessed(self, access: Access) -> None:
        """The running instruction has read or written on-chip memory by address."""

    def remark(self, rule: str, message: str) -> None:
        """What the running instruction does breaks a rule of warning severity."""
