"""Arguments of a launch on several devices that every rank has of its own."""

from __future__ import annotations

from enum import StrEnum

from ptokit.records import dataclass


class RankQuery(StrEnum):
    """What a rank knows of the launch."""

    RANK = "rank"
    """Its number, from 0."""
    RANKS = "ranks"
    """How many there are."""
    COMM = "comm"
    """The library's communication context: 132 numbers of 64 bits with the windows of all ranks."""


@dataclass(frozen=True)
class Peer:
    """The array that another rank has as the argument ``name``: of rank ``rank``, or so many ranks further on.

    Ranks are counted round.
    """

    name: str
    rank: int
    absolute: bool = False
