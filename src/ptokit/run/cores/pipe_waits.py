"""The end of a pipe that a core has, and what an observer is told of it: waits, and entries that have moved."""

from __future__ import annotations

from typing import Any, NamedTuple

from ptokit.isa.exchange.core_pipes import Wait
from ptokit.records import dataclass

from ..memory.global_memory import Pointer, View
from .pipe_epilogue import Epilogue
from .rings import Ring


@dataclass(eq=False)
class End:
    """One core's end of a pipe; sizes in bytes."""

    name: str
    rings: dict[bool, Ring]  # by whether they lead from the cube core to vector cores
    buffers: dict[bool, Any]  # the consumer's
    memory: Pointer | View | None
    slot_size: int
    slots: int
    local_slots: int
    both: bool
    epilogue: Epilogue | None


class Waiting:
    """A wait for a ring. ``count``: a ring's method that names the cores still to come."""

    def __init__(self, ring: Ring, k: int, lanes: tuple[int, ...], *, producing: bool, then: Wait) -> None:
        self.ring, self.k, self.lanes, self.producing, self.then = ring, k, lanes, producing, then

        self.strange = False  # a vector core waits for an entry that only others get

    @property
    def missing(self) -> tuple[int, ...]:
        """The cores that have to do something first."""
        if self.strange:
            return self.ring.producers(self.lanes)
        return (self.ring.unfreed if self.producing else self.ring.unready)(self.k, self.lanes)

    def __call__(self) -> Any:
        return False if self.missing else self.then()

    @property
    def why(self) -> str:
        """What is waited for, in words."""
        if self.strange:
            return f"entry {self.k} of {self.ring.name}, which leads to vector core 0 only, as nothing is halved"
        needed = (self.ring.consumers if self.producing else self.ring.producers)(self.lanes)
        cores = self.missing or needed  # all have come there in the order of the program: no order of pipes lets them
        who = f"{self.ring.who(cores, producing=not self.producing)} {'have' if len(cores) > 1 else 'has'} not"
        if self.producing:
            return f"a free slot of {self.ring.name}: {who} freed any of the {self.ring.slots}"
        return f"entry {self.k} of {self.ring.name}, which {who} pushed"


class Pushed(NamedTuple):
    """Push k of a ring is done."""

    ring: Ring
    k: int


class Popped(NamedTuple):
    """Pop k of a ring has given an entry."""

    end: End
    ring: Ring
    k: int
    entry: Any


class Freed(NamedTuple):
    """Slot k of a ring has been given back."""

    end: End
    ring: Ring
    k: int


Event = Waiting | Pushed | Popped | Freed
"""What an observer is told of pipes: a `Waiting` when it begins."""
