"""Arguments of a launch on several devices that every rank has of its own."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Any

from ptokit.records import dataclass

MOST_RANKS = 64
"""Windows that a communication context names."""


class RankQuery(StrEnum):
    """What a rank knows of the launch."""

    RANK = "rank"
    """Its number, from 0."""
    RANKS = "ranks"
    """How many there are."""
    COMM = "comm"
    """The library's communication context: 132 numbers of 64 bits with the windows of all ranks."""


@dataclass(frozen=True)
class Each:
    """Something that every rank has of its own: ``of(rank)`` makes it."""

    of: Callable[[int], Any]


@dataclass(frozen=True)
class Peer:
    """The array that another rank has as the argument ``name``: of the rank ``rank`` further on, or of rank ``rank``.

    Behind the last rank comes the first.
    """

    name: str
    rank: int
    absolute: bool = False
