"""Expressions of places: elements by index, lanes interleaved and by count."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ptokit.types.dtypes import DTYPES, i32

from ..machine import Machine, TileOperand
from .expressions import Const, Expr, Index, Place, Reinterpret, Scalar, equal, lane, leaves, less, select
from .words import Lane

# Elements of tiles by their place: what gathers, scatters and sorts have in common.


def for_all_blocks(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Both arrays for all blocks if one of them is."""
    blocks = max(len(x), len(y))
    first, second = (np.broadcast_to(a, (blocks, *a.shape[1:])) for a in (x, y))
    return first, second


def kind(tile: TileOperand) -> np.dtype:
    """The NumPy type of a tile's elements; that of the codes where there is none."""
    return tile.spec.dtype.value or tile.spec.dtype.storage


def flat(tile: TileOperand) -> np.ndarray:
    """All elements of the physical tile in the order of rows: (blocks or 1, elements)."""
    values = tile.read(tile.spec.rows, tile.spec.cols)
    return values.reshape(len(values), -1)


def in_range(m: Machine, rule: str, index: np.ndarray, size: int, what: str) -> np.ndarray:
    """True where an index is in [0, size). Refuses others on the devices; the simulator passes over them."""
    good: np.ndarray = (index >= 0) & (index < size)
    if not good.all() and m.target.is_device:
        block, row, col = (int(n) for n in np.argwhere(~good)[0])
        m.refuse(
            rule,
            f"{what} ({row}, {col}) is {int(index[block, row, col])}; there are {size}",
            block=block if len(index) > 1 else None,
        )
    return good


# Counts of lanes that loops over registers take their lanes from.


def rest(count: Scalar, lanes: int) -> Expr:
    """What is left of an unsigned count of lanes when those of a register are taken from it."""
    return Reinterpret(select(less(count, lanes), Const(0, count), count - lanes), i32)


def lanes_taken(meaning: Any) -> int:
    """The lanes that a meaning takes from a count, its operand, and gives the `rest` of; 0 if it takes none."""
    if not isinstance(meaning, Lane):
        return 0
    for write in meaning.writes:
        counts = {leaf for leaf in leaves(write.value) if isinstance(leaf, Scalar)}
        if any(write.value == rest(count, meaning.lanes) for count in counts):
            return meaning.lanes
    return 0


# Expressions of the interleaved lanes of two operands, and the way back.


_COUNT = DTYPES["u16"]


def interleaved(lanes: int, of: Callable[[str, Index], Expr], *names: str) -> tuple[Expr, Expr]:
    """The lanes of two operands, interleaved: the lower and the upper half of them. ``of``: a lane of an operand."""
    odd = equal(Place(_COUNT) & 1, 1)
    first, second = names
    lo, hi = (lane(over=2, plus=half * lanes) for half in (0, 1))
    return select(odd, of(second, lo), of(first, lo)), select(odd, of(second, hi), of(first, hi))


def split(lanes: int, of: Callable[[str, Index], Expr], *names: str) -> tuple[Expr, Expr]:
    """The even and the odd lanes of two operands, those of the first before those of the second."""
    low = less(Place(_COUNT), lanes // 2)
    first, second = names
    even, odd = (lane(2, start, cycle=lanes) for start in (0, 1))
    return select(low, of(first, even), of(second, even)), select(low, of(first, odd), of(second, odd))
