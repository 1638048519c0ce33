"""Values that differ between blocks, who goes which way, and rules that are broken at run time.

A scalar is a Python number while all blocks of a chunk agree, to the bit. `Line` is base + step * i for block i of the
chunk, the usual case (an offset computed from the block index); anything else is an array of shape (blocks,): bool,
int64, or the float type of the scalar. A NaN that is not the result of arithmetic is a NumPy number, for its bits.

Whoever executes a plan asks the machine for a path where control flow parts. Blocks take one (`OnePath`). Of threads
each way is taken by the lanes that take it: they are the active ones meanwhile. What lanes compute that are not active
is never used; what a region hands on is put together by who was there (`kept`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import numpy as np

from ptokit.types.codecs import wrap

# Errors while a program runs; the launcher adds place, block and loop indices.


class Fault(Exception):
    """A rule broken at run time. ``block`` is the position in the chunk, where one block alone is to blame."""

    def __init__(self, rule: str, message: str, *, hint: str | None = None, block: int | None = None) -> None:
        self.rule, self.message, self.hint, self.block = rule, message, hint, block
        super().__init__(message)


def outside(
    access: str, start: int, nbytes: int, memory: str, size: int, *, show: str = "#x", block: int | None = None
) -> Fault:
    """The fault of an access that leaves a memory of `size` bytes (PTR-A5-02).

    ``access``, ``memory``: how to call them, for example "rows in" and "UB"; ``show``: how places are written;
    ``block``: as for `Fault`.
    """
    said = f"{access} bytes [{start:{show}}, {start + nbytes:{show}}) of {memory}, which has {size:{show}} bytes"
    if 0 <= start < size:
        hint = f"{size - start} bytes are left from there on, and it takes {nbytes}; sizes and strides count bytes"
    else:
        past = f"{start - size} bytes past the end" if start > size else "at the end"
        what = past if start >= size else f"{-start} bytes before the first one"
        hint = f"it begins {what}; castptr takes a number of bytes, a pointer + n moves by n elements"
    return Fault("PTR-A5-02", said, hint=hint, block=block)


# Scalars that differ from block to block.


class Diverge(Exception):
    """Blocks of a chunk would take different paths; ``keys`` (blocks,) tells which belong together."""

    def __init__(self, keys: np.ndarray) -> None:
        self.keys = bits(keys)
        super().__init__("blocks take different paths")


class Line:
    """An arithmetic progression over the blocks of a chunk, step != 0."""

    __slots__ = ("base", "count", "step")
    __array_ufunc__ = None  # arrays defer to the reflected operators

    def __init__(self, base: int, step: int, count: int) -> None:
        self.base, self.step, self.count = base, step, count

    def array(self) -> np.ndarray:
        """The values as an int64 array of shape (blocks,)."""
        return np.arange(self.count, dtype=np.int64) * wrap(self.step, 64) + wrap(self.base, 64)

    def __add__(self, other: Any) -> Any:
        if isinstance(other, int):
            return Line(self.base + other, self.step, self.count)
        if isinstance(other, Line):
            return _line(self.base + other.base, self.step + other.step, self.count)
        return lift(self.array() + other)

    __radd__ = __add__

    def __neg__(self) -> Line:
        return Line(-self.base, -self.step, self.count)

    def __sub__(self, other: Any) -> Any:
        return self + (-other)

    def __rsub__(self, other: Any) -> Any:
        return (-self) + other

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, int):
            return _line(self.base * other, self.step * other, self.count)
        return lift(self.array() * lanes(other))

    __rmul__ = __mul__

    def __floordiv__(self, other: Any) -> Any:
        return lift(self.array() // lanes(other))

    def __mod__(self, other: Any) -> Any:
        return lift(self.array() % lanes(other))

    def __repr__(self) -> str:
        return f"{self.base}+{self.step}*i"


def _line(base: int, step: int, count: int) -> Any:
    return Line(base, step, count) if step else wrap(base, 64)


def lanes(x: Any) -> Any:
    """A `Line` as an array; other scalars as they are."""
    return x.array() if isinstance(x, Line) else x


def bits(x: np.ndarray) -> np.ndarray:
    """Numbers as integers that are equal only for the same bits: floats as their patterns."""
    return x if x.dtype.kind in "iub" else x.view(f"u{x.dtype.itemsize}")


def plain(x: Any) -> Any:
    """An element of an array as a Python number, integers in the signed range of their width; a NaN as it is."""
    if x.dtype.kind == "u":
        return int(x.view(f"i{x.dtype.itemsize}"))
    if x.dtype.kind in "ib":
        return x.item()
    return x if x != x else float(x)


def lift(x: Any) -> Any:
    """The simplest form of a scalar: a number if all blocks agree, a `Line` if they are evenly spaced."""
    if not isinstance(x, np.ndarray):
        return x
    if x.ndim == 0:
        return plain(x[()])
    same = bits(x)
    if (same == same[0]).all():
        return plain(x[0])
    if x.dtype.kind in "iu":
        if x.dtype != np.int64:
            x = x.view(f"i{x.dtype.itemsize}").astype(np.int64)
        step = int(x[1]) - int(x[0])
        if (np.diff(x) == step).all() and int(x[0]) + step * (len(x) - 1) == int(x[-1]):
            return Line(int(x[0]), step, len(x))
    return x


def uniform(x: Any) -> Any:
    """The one value of a scalar. Raises `Diverge` if the blocks disagree."""
    if isinstance(x, Line):
        raise Diverge(x.array())
    if isinstance(x, np.ndarray):
        x = lift(x)
        if isinstance(x, (Line, np.ndarray)):
            raise Diverge(lanes(x))
    return x


def truth(x: Any) -> bool:
    """A condition. Raises `Diverge` if the blocks disagree."""
    return bool(uniform(x))


def spread(x: Any) -> Any:
    """A scalar operand of a tile instruction: a number, or an array of shape (blocks, 1, 1)."""
    x = lanes(x)
    return x.reshape(-1, 1, 1) if isinstance(x, np.ndarray) and x.ndim == 1 else x


def column(x: Any) -> Any:
    """A scalar operand of a vector instruction: a number, or an array of shape (blocks, 1)."""
    x = lanes(x)
    return x.reshape(-1, 1) if isinstance(x, np.ndarray) and x.ndim == 1 else x


def settled(x: Any) -> Any:
    """A scalar result of a vector instruction, a number or an array of shape (blocks, 1), in its simplest form."""
    return lift(x.reshape(-1)) if isinstance(x, np.ndarray) else x


def extremes(x: Any) -> tuple[int, int]:
    """Smallest and largest value over the blocks."""
    if isinstance(x, Line):
        last = x.base + x.step * (x.count - 1)
        return (x.base, last) if x.step > 0 else (last, x.base)
    if isinstance(x, np.ndarray):
        return int(x.min()), int(x.max())
    return x, x


# Which way a program goes where it may part: all blocks that run together one way, or each lane of threads its own.


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
            raise Fault("RUN-STEP", "the step of a loop must be positive")

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
