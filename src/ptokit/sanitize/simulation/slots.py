"""Slots of pipes between cores, as the queues see them: full, free, and waited for
(compute-layout-irregular 3.2).

A core that pushes or pops knows what the cores at the other end had done when they filled or freed the slot. The waits
hold the scalar unit on a2a3, one pipe on a5.
"""

from __future__ import annotations

from ptokit.machine.rings import Ring, Waiting
from ptokit.records import dataclass

from .clocks import Clock
from .core import Core
from .events import AwaitSignal, Signal


@dataclass(slots=True, eq=False)
class AwaitSlot(AwaitSignal):
    """A push waits until slot k is free, a pop until it is full."""

    waiting: Waiting | None = None


@dataclass(slots=True, eq=False)
class PostSlot(Signal):
    """Slot k of a ring is full, or free again."""

    ring: Ring | None = None
    k: int = 0
    full: bool = True


class Posts:
    """The clocks of the cores that filled or freed slots."""

    def __init__(self) -> None:
        self._known: dict[tuple[Ring, bool], dict[int, dict[int, Clock]]] = {}

    def post(self, core: Core, item: PostSlot, clock: Clock) -> None:
        """A core fills or frees a slot."""
        assert item.ring is not None
        by_number = self._known.setdefault((item.ring, item.full), {})
        by_number.setdefault(item.k, {})[core.sub if core.kind == "vector" else 0] = clock
        by_number.pop(item.k - 4 * item.ring.slots, None)

    def take(self, core: Core, item: AwaitSlot) -> Clock | None:
        """What is known to a core that has waited; None if it has to wait."""
        waiting = item.waiting
        assert waiting is not None
        ring, lanes, k = waiting.ring, waiting.lanes, waiting.k
        if waiting.producing:
            k -= ring.slots
            needed = ring.consumers(lanes)
            if k < 0:
                return Clock(core.index, [0] * len(core.issue.own))
        else:
            needed = ring.producers(lanes)
        known = self._known.get((ring, not waiting.producing), {}).get(k, {})
        if any(number not in known for number in needed):
            return None
        joined = known[needed[0]].copy()
        for number in needed[1:]:
            joined.join(known[number])
        return joined
