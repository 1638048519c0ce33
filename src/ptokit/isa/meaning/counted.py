"""Counts of lanes that loops over registers take their lanes from."""

from __future__ import annotations

from typing import Any

from ptokit.types.dtypes import i32

from .expressions import Const, Expr, Reinterpret, Scalar, leaves, less, select
from .words import Lane


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
