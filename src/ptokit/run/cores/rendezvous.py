"""SYNCALL: cores that meet (memory-model-and-sync 5.5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Generic, TypeVar

from ptokit.records import dataclass

from .signals import Place

T = TypeVar("T")

Key = tuple[str, int]
"""Kind of the cores that meet ("" for all), and how many of them (0 for all)."""


@dataclass
class Rendezvous(Generic[T]):
    """All meetings of a launch. Cores of a device meet for the n-th time when each of them has arrived n times."""

    cores: Sequence[Place]
    _arrived: dict[tuple[int, Key, int], dict[int, T]] = field(default_factory=dict)  # by rank
    _times: dict[tuple[Key, int], int] = field(default_factory=dict)
    _members: dict[tuple[int, Key], list[int]] = field(default_factory=dict)

    def members(self, core: int, key: Key) -> list[int]:
        """The cores that meet, `core` among them."""
        rank = self.cores[core].rank
        found = self._members.get((rank, key))
        if found is None:
            kind, count = key
            found = [c.index for c in self.cores if c.rank == rank and (not kind or c.kind in (kind, ""))]
            found = self._members[rank, key] = found[:count] if count else found
        return found

    def arrive(self, core: int, key: Key, item: T) -> int:
        """A core arrives; returns for which time."""
        times = self._times[key, core] = self._times.get((key, core), 0) + 1
        self._arrived.setdefault((self.cores[core].rank, key, times), {})[core] = item
        return times

    def met(self, core: int, key: Key, times: int) -> dict[int, T] | None:
        """What the cores brought that `core` meets, by core, once all are there."""
        arrived = self._arrived[self.cores[core].rank, key, times]
        return arrived if len(arrived) >= len(self.members(core, key)) else None

    def missing(self, core: int, key: Key, times: int) -> list[int]:
        """Cores that have not arrived for that time, of those that `core` meets."""
        arrived = self._arrived[self.cores[core].rank, key, times]
        return [other for other in self.members(core, key) if other not in arrived]
