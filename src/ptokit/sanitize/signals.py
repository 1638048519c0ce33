"""Flags between cores that carry what their senders know, and who stands behind signals in global memory
(memory-model-and-sync 5.5, 6 rule 8)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ptokit.run.signals import Semaphores

from .clocks import Clock
from .events import AwaitSignal, Signal, Work
from .footprints import Touch

if TYPE_CHECKING:
    from .queues import Core

Arrival = tuple[Clock, Signal]


class Hub:
    """The semaphores of a launch, as the queues see them. ``overflow`` is called for a signal beyond their limit."""

    def __init__(
        self, cores: Sequence[Core] = (), overflow: Callable[[Core, Signal], None] = lambda core, signal: None
    ) -> None:
        def beyond(core: object, arrival: Arrival) -> None:
            overflow(core, arrival[1])  # type: ignore[arg-type]

        target = cores[0].target.name if cores else ""
        self._semaphores: Semaphores[Arrival] = Semaphores(cores, target, beyond)

    @property
    def delivered(self) -> set[int]:
        """Cores that received something since it was last looked at."""
        return self._semaphores.delivered

    def send(self, core: Core, item: Signal, clock: Clock) -> None:
        """`core` signals; ``clock``: what has completed by then."""
        self._semaphores.send(core, item.event, item.mode, (clock, item))

    def take(self, core: Core, item: AwaitSignal) -> Clock | None:
        """Consume one count; what its senders knew, or None if there is none."""
        parts = self._semaphores.take(core.index, item.event)
        if parts is None:
            return None
        clocks = [clock for clock, _ in parts.values()]
        joined = clocks[0].copy()
        for clock in clocks[1:]:
            joined.join(clock)
        return joined

    def left(self) -> list[tuple[int, Signal]]:
        """(core, signal) for every count that nobody consumed, also of a rendezvous that never came about."""
        return [(index, item) for index, (_, item) in self._semaphores.left()]


@dataclass
class Signals:
    """Who gave the signals in global memory the values they have: by granule, the last notification of each core."""

    _given: dict[tuple[int, int], dict[int, Work]] = field(default_factory=dict)

    def give(self, touch: Touch, core: int, work: Work, *, fresh: bool) -> None:
        """`work` sets signals (``fresh``), or adds to them."""
        for granule in touch.where.places().reshape(-1).tolist():
            key = (id(touch.space), granule)
            if fresh:
                self._given[key] = {core: work}
            else:
                self._given.setdefault(key, {})[core] = work

    def behind(self, touch: Touch) -> tuple[Work, ...]:
        """The notifications behind the values that are there."""
        found: dict[Work, None] = {}
        for granule in touch.where.places().reshape(-1).tolist():
            found.update(dict.fromkeys(self._given.get((id(touch.space), granule), {}).values()))
        return tuple(found)
