"""The rings of slots between the cores of a cluster: who has pushed, popped and freed how much
(compute-layout-irregular 3.2).

One model for all targets: push k of a ring begins once slot k - slots is free, pop k once push k is done, by every
vector core that takes part. The libraries count free slots in groups; the order that results is the same or stricter.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import field
from typing import Any

from ptokit.records import dataclass

Key = tuple[Hashable, ...]
"""What both ends of a ring have in common: a reserved buffer, a flag, or the id of a pipe; and the direction."""


@dataclass(eq=False)
class Ring:
    """One direction of a pipe. Counts are by number of the vector core, 0 for the cube core."""

    name: str
    c2v: bool  # from the cube core to the vector cores
    slots: int
    claimed: dict[int, int] = field(default_factory=dict)  # slots that a producer has taken
    pushed: dict[int, int] = field(default_factory=dict)
    popped: dict[int, int] = field(default_factory=dict)
    freed: dict[int, int] = field(default_factory=dict)
    pushers: dict[int, Any] = field(default_factory=dict)  # by number of the push: who has pushed, where that is asked

    def producers(self, lanes: tuple[int, ...]) -> tuple[int, ...]:
        """The cores that push, of those that take part."""
        return (0,) if self.c2v else lanes

    def consumers(self, lanes: tuple[int, ...]) -> tuple[int, ...]:
        """The cores that pop."""
        return lanes if self.c2v else (0,)

    def unready(self, k: int, lanes: tuple[int, ...]) -> tuple[int, ...]:
        """The producers that have not done push k."""
        return tuple(core for core in self.producers(lanes) if self.pushed.get(core, 0) <= k)

    def unfreed(self, k: int, lanes: tuple[int, ...]) -> tuple[int, ...]:
        """The consumers that have not freed the slot that push k needs."""
        return tuple(core for core in self.consumers(lanes) if self.freed.get(core, 0) + self.slots <= k)

    def who(self, cores: tuple[int, ...], *, producing: bool) -> str:
        """Cores of the ring in words: ``the cube core``, ``vector cores 0 and 1``."""
        if self.c2v == producing:
            return "the cube core"
        return f"vector core{'s' if len(cores) > 1 else ''} {' and '.join(map(str, cores))}"


def step(counts: dict[int, int], core: int) -> int:
    """Count one more for a core; what the count was."""
    before = counts.get(core, 0)
    counts[core] = before + 1
    return before


@dataclass
class Board:
    """All rings of a cluster. ``vectors``: how many vector cores it has. ``reserved``: base and bytes of the buffers
    that its functions reserve, by the kind of core and name."""

    vectors: int = 2
    reserved: Mapping[tuple[str, str], tuple[int | None, int]] = field(default_factory=dict)
    rings: dict[Key, Ring] = field(default_factory=dict)
    whole: set[int] = field(default_factory=set)  # sections in which a vector core has used a pipe without halves

    def ring(self, key: Key, name: str, c2v: bool, slots: int) -> Ring:
        """The ring that has this key in common: that of the end which was set up first."""
        key = (*key, c2v)
        found = self.rings.get(key)
        if found is None:
            found = self.rings[key] = Ring(name, c2v, slots)
        return found
