"""Unit flags of the accumulator: products wait until what they write has been drained, drains until it has been made.

Each unit of L0C has a flag. A product with a unit flag waits until those of its units are clear, and may set them; a
drain waits until they are set, and may clear them. Products that set no flag, or drains that clear none, leave it.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ptokit.records import dataclass

from ..memory.footprints import Footprint, places_of
from .clocks import Clock
from .events import Work

UNIT = 1024
"""Bytes: a box of 16x16 elements."""


@dataclass(frozen=True, slots=True)
class Use:
    """How an instruction uses unit flags: it waits until those of the units are set, or else clear, and perhaps changes
    them."""

    units: tuple[int, ...]
    until_set: bool
    changes: bool


@lru_cache(maxsize=8192)
def units_of(where: Footprint) -> tuple[int, ...]:
    """The units that bytes of L0C lie in."""
    return tuple(np.unique(places_of(where) // UNIT).tolist())


class UnitFlags:
    """The flags of one core."""

    def __init__(self) -> None:
        self.setters: dict[int, Work] = {}  # by unit, of those that are set
        self._changed: dict[int, Clock] = {}  # what had completed when it was set or cleared last

    def missing(self, use: Use) -> list[int]:
        """The units whose flags hold an instruction up."""
        return [unit for unit in use.units if (unit in self.setters) is not use.until_set]

    def known(self, use: Use) -> list[Clock]:
        """What is known to an instruction that has waited."""
        return list({id(c): c for unit in use.units if (c := self._changed.get(unit)) is not None}.values())

    def over(self, work: Work, use: Use, clock: Clock) -> None:
        """An instruction has completed; ``clock``: with all that is known then."""
        if not use.changes:
            return
        for unit in use.units:
            self._changed[unit] = clock
            if use.until_set:
                del self.setters[unit]
            else:
                self.setters[unit] = work
