"""Which way a program goes where it may part: all blocks that run together one way, or each lane of threads its own.

Whoever executes a plan asks the machine for a path where control flow parts. Blocks take one (`OnePath`). Of threads
each way is taken by the lanes that take it: they are the active ones meanwhile. What lanes compute that are not active
is never used; what a region hands on is put together by who was there (`kept`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import numpy as np

from ptokit.run.fault import Fault

Array = np.ndarray


class OnePath:
    """The path of blocks that run together, at a branch, in a loop, and between the blocks of a region.

    ``next``: the way or block that it takes.
    """

    def __init__(self, number: int | None = 0) -> None:
        self.next = number
        self.live = True

    def enter(self, way: int) -> bool:
        """True if it takes a way of a branch."""
        return way == self.next

    def leave(self) -> None:
        """What has parted is together again."""

    def kept(self, old: Any, new: Any) -> Any:
        """A value after what has just been done, which was `old` before; `old` is None if there was none."""
        return new

    def part(self, met: Any) -> None:
        """A loop goes on if `met` holds."""
        self.live = bool(met)

    def ended(self, old: Any, new: Any) -> Any:
        """A result of a loop, which is `new` for who has just left it."""
        return new

    def goes(self) -> bool:
        """True if a loop goes on."""
        return self.live

    def go(self, block: int) -> None:
        """On to a block of the region."""
        self.next = block

    def __iter__(self) -> Iterator[int]:
        """The blocks of a region, each as it comes next."""
        while self.next is not None:
            here, self.next = self.next, None
            yield here


class Counted(OnePath):
    """The path of blocks through a loop that counts."""

    def __init__(self, counts: Iterator[Any]) -> None:
        super().__init__()
        self.counts = counts

    def __iter__(self) -> Iterator[Any]:
        """The loop variable, by iteration."""
        return self.counts


class Lanes(Protocol):
    """Threads: which lanes are active."""

    active: Array


class LanePaths:
    """Lanes that part from those that were active, and come back."""

    def __init__(self, lanes: Lanes) -> None:
        self.lanes, self.outside = lanes, lanes.active

    def leave(self) -> None:
        """See `OnePath`."""
        self.lanes.active = self.outside

    def kept(self, old: Any, new: Any) -> Any:
        """See `OnePath`."""
        return new if old is None else merge(self.lanes.active, new, old)


class LaneWays(LanePaths):
    """The ways of a branch: the first where none of ``cases`` is chosen; without cases there is only one."""

    def __init__(self, lanes: Lanes, chosen: Array | None, cases: Sequence[int]) -> None:
        super().__init__(lanes)
        self.chosen, self.cases = chosen, cases

    def enter(self, way: int) -> bool:
        """See `OnePath`."""
        active = self.outside & self._met(way)
        if not active.any():
            return False
        self.lanes.active = active
        return True

    def _met(self, way: int) -> Array:
        chosen, cases = self.chosen, self.cases
        if chosen is None:
            return self.outside
        if chosen.dtype == np.bool_ and len(cases) == 1:
            return chosen if bool(cases[0]) == (way == 1) else ~chosen
        return np.equal(chosen, cases[way - 1]) if way else ~np.isin(chosen, list(cases))


class LaneCounts(LanePaths):
    """A loop that counts for each lane from its lower to its upper bound. Raises `Fault` RUN-STEP."""

    def __init__(self, lanes: Lanes, lower: Array, upper: Array, step: Array) -> None:
        super().__init__(lanes)
        self.bounds = lower, upper, step
        self.alike = len(lower) == len(upper) == len(step) == 1  # every lane does as many iterations
        positive = np.zeros(len(step), bool) if step.dtype == bool else step > 0  # true of i1 is -1
        if (lanes.active & ~positive).any():
            raise Fault("RUN-STEP", "the step of scf.for must be positive")

    def __iter__(self) -> Iterator[Array]:
        """The loop variable, by iteration."""
        now, upper, step = self.bounds
        to_go = now < upper
        while (live := self.outside & to_go).any():
            self.lanes.active = live
            yield now
            to_go = to_go & (_unsigned(upper) - _unsigned(now) > _unsigned(step))  # which may take one bit more
            now = now + step  # wraps where nothing is left to do
        self.leave()

    def kept(self, old: Any, new: Any) -> Any:
        """See `OnePath`."""
        return new if self.alike else merge(self.lanes.active, new, old)


class LaneRounds(LanePaths):
    """A loop that each lane leaves when its condition says so."""

    def __init__(self, lanes: Lanes) -> None:
        super().__init__(lanes)
        self.live = self.gone = lanes.active

    def part(self, met: Array) -> None:
        """See `OnePath`."""
        self.gone, self.live = self.live & ~met, self.live & met

    def ended(self, old: Any, new: Any) -> Any:
        """See `OnePath`."""
        return new if old is None else merge(self.gone, new, old)

    def goes(self) -> bool:
        """See `OnePath`."""
        goes = bool(self.live.any())
        self.lanes.active = self.live if goes else self.outside
        return goes


class LaneBlocks(LanePaths):
    """The blocks of a region: the first one in text that lanes are at goes on, so that lanes that part meet again."""

    def __init__(self, lanes: Lanes, count: int) -> None:
        super().__init__(lanes)
        self.count, self.at = count, np.where(self.outside, 0, count)

    def go(self, block: int) -> None:
        """See `OnePath`."""
        self.at = np.where(self.lanes.active, block, self.at)

    def __iter__(self) -> Iterator[int]:
        """See `OnePath`."""
        while (here := int(self.at.min())) < self.count:
            live = self.at == here
            self.lanes.active, self.at = live, np.where(live, self.count, self.at)
            yield here
        self.leave()


def merge(c: Array, a: Any, b: Any) -> Any:
    """The first where `c` holds, else the second; arrays, or objects that know how (`mixed`)."""
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return np.where(c[:, None] if a.ndim == 2 else c, a, b)
    return a.mixed(c, b)


def _unsigned(x: Array) -> Array:
    return x.view(f"u{x.dtype.itemsize}")
