"""Expressions of the lanes of two operands by turns, and the way back."""

from __future__ import annotations

from collections.abc import Callable

from ptokit.types.dtypes import DTYPES

from .expressions import Expr, Index, Place, equal, lane, less, select

_COUNT = DTYPES["u16"]


def by_turns(lanes: int, of: Callable[[str, Index], Expr], *names: str) -> tuple[Expr, Expr]:
    """The lanes of two operands by turns: the lower and the upper half of them. ``of``: a lane of an operand."""
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
