"""Flags between cores as counting semaphores (memory-model-and-sync 5.5)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .clocks import Clock
from .events import AwaitSignal, Signal

if TYPE_CHECKING:
    from .queues import Core

LIMIT = 15
"""Largest count of a semaphore: it has four bits."""

ALL_CORES, VECTOR_CORES, CLUSTER = 0, 1, 2
"""Modes of a signal: all cores of one kind; the vector cores of a cluster; between the cube and its vector cores."""

SECOND_CORE = 16
"""On a5, id + 16 names flag id of the second vector core."""

Arrival = tuple[Clock, Signal]


@dataclass
class Hub:
    """Semaphores by (receiving core, id). A rendezvous counts for a receiver once every sender has contributed."""

    cores: Sequence[Core] = ()
    overflow: Callable[[Core, Signal], None] = lambda core, signal: None
    delivered: set[int] = field(default_factory=set)  # cores that received something since it was last looked at
    _counts: dict[tuple[int, int], deque[Arrival]] = field(default_factory=dict)
    _partial: dict[tuple[int, ...], dict[int, deque[Arrival]]] = field(default_factory=dict)

    def send(self, core: Core, item: Signal, clock: Clock) -> None:
        """`core` signals; ``clock``: what has completed by then."""
        arrival = (clock, item)
        if item.mode == ALL_CORES:
            same = [c.index for c in self.cores if c.kind == core.kind]
            self._meet((ALL_CORES, item.event, min(same)), core, arrival, same, same)
            return
        cluster = [c for c in self.cores if c.block == core.block]
        vectors = [c.index for c in cluster if c.kind == "vector"]
        if item.mode == VECTOR_CORES:
            self._meet((VECTOR_CORES, item.event, core.block), core, arrival, vectors, vectors)
        elif core.target.name == "a5":
            self._to_one(core, arrival, cluster)
        elif core.kind == "cube":
            for index in vectors:
                self._deliver(index, item.event, arrival, core)
        else:
            cubes = [c.index for c in cluster if c.kind == "cube"]
            self._meet((CLUSTER, item.event, core.block), core, arrival, vectors, cubes)

    def _to_one(self, core: Core, arrival: Arrival, cluster: list[Core]) -> None:
        """a5: the id names one receiver."""
        event = arrival[1].event
        if core.kind == "cube":
            sub, event = divmod(event, SECOND_CORE)
            receivers = [c for c in cluster if c.kind == "vector" and max(c.sub, 0) == sub]
        else:
            event += SECOND_CORE * max(core.sub, 0)
            receivers = [c for c in cluster if c.kind == "cube"]
        for receiver in receivers:
            self._deliver(receiver.index, event, arrival, core)
        if not receivers:
            self._partial.setdefault((CLUSTER, event, core.block), {}).setdefault(core.index, deque()).append(arrival)

    def _meet(
        self, key: tuple[int, ...], core: Core, arrival: Arrival, senders: Sequence[int], receivers: Sequence[int]
    ) -> None:
        """A contribution to a rendezvous of `senders`; when it is complete the receivers' counts go up."""
        waiting = self._partial.setdefault(key, {})
        waiting.setdefault(core.index, deque()).append(arrival)
        if not receivers or any(not waiting.get(index) for index in senders):
            return
        parts = [waiting[index].popleft() for index in senders]
        joined = parts[0][0].copy()
        for clock, _ in parts[1:]:
            joined.join(clock)
        own = {index: part[1] for index, part in zip(senders, parts)}
        for index in receivers:
            self._deliver(index, arrival[1].event, (joined, own.get(index, arrival[1])), core)

    def _deliver(self, index: int, event: int, arrival: Arrival, core: Core) -> None:
        count = self._counts.setdefault((index, event), deque())
        count.append(arrival)
        if len(count) > LIMIT:
            self.overflow(core, arrival[1])
        self.delivered.add(index)

    def take(self, core: Core, item: AwaitSignal) -> Clock | None:
        """Consume one count; None if there is none."""
        count = self._counts.get((core.index, item.event))
        return count.popleft()[0] if count else None

    def left(self) -> list[tuple[int, Signal]]:
        """(core, signal) for every count that nobody consumed, also of a rendezvous that never came about."""
        out = [(index, signal) for (index, _), count in self._counts.items() for _, signal in count]
        for waiting in self._partial.values():
            out += [(index, signal) for index, parts in waiting.items() for _, signal in parts]
        return out
