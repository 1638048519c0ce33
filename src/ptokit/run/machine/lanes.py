"""Scalars that differ from block to block.

A scalar is a Python number while all blocks of a chunk agree, to the bit. `Line` is base + step * i for block i of the
chunk, the usual case (an offset computed from the block index); anything else is an array of shape (blocks,): bool,
int64, or the float type of the scalar. A NaN that is not the result of arithmetic is a NumPy number, for its bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ptokit.types.codecs import wrap


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
