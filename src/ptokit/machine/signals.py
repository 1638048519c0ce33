"""Flags that cores raise and wait for, and where all of them meet.

A signal carries what its sender wants the receiver to know: nothing when only values count, clocks under the sanitizer.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Container, Sequence
from dataclasses import field
from typing import Generic, Protocol, TypeVar

from ptokit.records import dataclass
from ptokit.targets import Target
from ptokit.types.enums import SECOND_CORE

# Flags between cores as counting semaphores (memory-model-and-sync 5.5).


LIMIT = 15
"""Largest count of a semaphore: it has four bits."""

ALL_CORES, VECTOR_CORES, CLUSTER = 0, 1, 2
"""Modes of a signal: all cores of one kind; the vector cores of a cluster; between the cube and its vector cores."""

T = TypeVar("T")


class Place(Protocol):
    """A core: its number, kind, block, number among the vector cores of its cluster (-1: none), and the rank of its
    device (-1: there is one device)."""

    @property
    def index(self) -> int: ...
    @property
    def kind(self) -> str: ...
    @property
    def block(self) -> int: ...
    @property
    def sub(self) -> int: ...
    @property
    def rank(self) -> int: ...


@dataclass(frozen=True)
class CoreId:
    """A core without anything else."""

    index: int
    kind: str
    block: int
    sub: int
    rank: int = -1


def block_text(rank: int, block: int) -> str:
    """A block in words; ``rank``: that of its device, -1 where there is one."""
    return f"block {block}" if rank < 0 else f"rank {rank}, block {block}"


def place_text(core: Place) -> str:
    """A core in words."""
    where = block_text(core.rank, core.block)
    if core.sub < 0 or not core.kind:
        return where
    return f"{where}, {core.kind} core" + (f" {core.sub}" if core.kind == "vector" else "")


class Parts(dict[int, T]):
    """What arrived, by sender. ``together``: what whoever received it first has made of all of it."""

    __slots__ = ("together",)

    def __init__(self, parts: dict[int, T]) -> None:
        super().__init__(parts)
        self.together: T | None = None


@dataclass
class Semaphores(Generic[T]):
    """Semaphores by (receiving core, id). A rendezvous counts for a receiver once every sender has contributed.

    The cores of a device signal each other only.
    """

    cores: Sequence[Place]
    target: Target | None
    overflow: Callable[[Place, T], None] = lambda core, item: None
    delivered: set[int] = field(default_factory=set)  # cores that received something since it was last looked at
    _counts: dict[tuple[int, int], deque[Parts[T]]] = field(default_factory=dict)
    _partial: dict[tuple[int, ...], dict[int, deque[T]]] = field(default_factory=dict)
    _there: dict[tuple[int, ...], int] = field(default_factory=dict)  # how many have contributed
    _owed: dict[tuple[int, int], int] = field(default_factory=dict)
    _of_kind: dict[tuple[int, str], list[int]] = field(default_factory=dict)  # by rank
    _of_block: dict[tuple[int, int], list[Place]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for core in self.cores:
            self._of_kind.setdefault((core.rank, core.kind), []).append(core.index)
            self._of_block.setdefault((core.rank, core.block), []).append(core)

    def send(self, core: Place, event: int, mode: int, item: T) -> None:
        """`core` signals."""
        if mode == ALL_CORES:
            same = self._of_kind[core.rank, core.kind]
            self._meet((ALL_CORES, event, same[0]), core, event, item, same, same)
            return
        cluster = self._of_block[core.rank, core.block]
        vectors = [c.index for c in cluster if c.kind == "vector"]
        if mode == VECTOR_CORES:
            self._meet((VECTOR_CORES, event, cluster[0].index), core, event, item, vectors, vectors)
        elif self.target is not None and not self.target.waits_hold_core:
            self._to_one(core, event, item, cluster)
        elif core.kind == "cube":
            if not vectors:
                self._keep((CLUSTER, event, cluster[0].index), core, item)
            for index in vectors:
                self._deliver(index, event, Parts({core.index: item}), core)
        else:
            cubes = [c.index for c in cluster if c.kind == "cube"]
            self._meet((CLUSTER, event, cluster[0].index), core, event, item, vectors, cubes)

    def _to_one(self, core: Place, event: int, item: T, cluster: list[Place]) -> None:
        """a5: the id names one receiver."""
        if core.kind == "cube":
            sub, event = divmod(event, SECOND_CORE)
            receivers = [c for c in cluster if c.kind == "vector" and max(c.sub, 0) == sub]
        else:
            event += SECOND_CORE * max(core.sub, 0)
            receivers = [c for c in cluster if c.kind == "cube"]
        for receiver in receivers:
            self._deliver(receiver.index, event, Parts({core.index: item}), core)
        if not receivers:
            self._keep((CLUSTER, event, cluster[0].index), core, item)

    def _keep(self, key: tuple[int, ...], core: Place, item: T) -> None:
        items = self._partial.setdefault(key, {}).setdefault(core.index, deque())
        if not items:
            self._there[key] = self._there.get(key, 0) + 1
        items.append(item)

    def _meet(
        self, key: tuple[int, ...], core: Place, event: int, item: T, senders: Sequence[int], receivers: Sequence[int]
    ) -> None:
        """A contribution to a rendezvous of `senders`; when it is complete the receivers' counts go up."""
        self._keep(key, core, item)
        waiting = self._partial[key]
        if not receivers or self._there[key] < len(senders) or any(not waiting.get(index) for index in senders):
            return
        parts = Parts({index: waiting[index].popleft() for index in senders})
        self._there[key] = sum(map(bool, waiting.values()))
        for index in receivers:
            self._deliver(index, event, parts, core)

    def _deliver(self, index: int, event: int, parts: Parts[T], core: Place) -> None:
        if self._owed.get((index, event)):
            self._owed[index, event] -= 1
            return
        count = self._counts.setdefault((index, event), deque())
        count.append(parts)
        if len(count) > LIMIT:
            self.overflow(core, parts[core.index])
        self.delivered.add(index)

    def take(self, core: int, event: int) -> Parts[T] | None:
        """Consume one count; None if there is none."""
        count = self._counts.get((core, self.own(core, event)))
        return count.popleft() if count else None

    def owe(self, core: int, event: int) -> None:
        """Go on without a count; the next signal makes up for it."""
        key = core, self.own(core, event)
        self._owed[key] = self._owed.get(key, 0) + 1

    def own(self, core: int, event: int) -> int:
        """The id as the core counts it: the second vector core of a5 may wait by the id that the cube raises for it."""
        single = self.target is not None and not self.target.waits_hold_core
        return event % SECOND_CORE if single and self.cores[core].kind == "vector" else event

    def owed(self) -> list[tuple[int, int]]:
        """(core, id) of every count that a core went on without and that never came."""
        return [key for key, n in self._owed.items() if n]

    def left(self, over: Container[int]) -> list[tuple[int, T]]:
        """(core, signal) for every count that nobody can consume any more, also of a rendezvous that never came about.

        ``over``: the cores that do nothing any more.
        """
        out = []
        for (receiver, _), count in self._counts.items():
            if receiver in over:
                out += [(receiver, parts.get(receiver, next(iter(parts.values())))) for parts in count]
        for (mode, _, where), waiting in self._partial.items():
            first = self.cores[where]
            joined = self._of_kind[first.rank, first.kind]
            if mode != ALL_CORES:
                joined = [c.index for c in self._of_block[first.rank, first.block]]
            if all(index in over for index in joined if not waiting.get(index)):
                out += [(index, item) for index, items in waiting.items() for item in items]
        return out


# SYNCALL: cores that meet (memory-model-and-sync 5.5).


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
