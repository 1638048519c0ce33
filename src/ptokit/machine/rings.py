"""Rings of entries between cores: who has written and read how many, and who waits.

One model for all targets: push k of a ring begins once slot k - slots is free, pop k once push k is done, by every
vector core that takes part. The libraries count free slots in groups; the order that results is the same or stricter.

Source: PTOAS of August 2026, fix-pipe pipes; pto-isa FixpipeParams.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping
from dataclasses import field
from typing import Any, NamedTuple

import numpy as np

from ptokit.isa.exchange.core_pipes import Wait
from ptokit.records import dataclass
from ptokit.types.dtypes import DTYPES, DType
from ptokit.types.enums import BLayout, ReluPreMode, SLayout

from .global_memory import Pointer, View

# The rings of slots between the cores of a cluster: who has pushed, popped and freed how much (compute-layout-
# irregular 3.2).


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


# What the fix-pipe does to an accumulator that is pushed into a pipe, as an initialize op states it.


_PAIR = re.compile(r"(\w+)\s*=\s*(\w+)")
_LAYOUTS = {
    "nz2nd": (BLayout.RowMajor, SLayout.NoneBox),
    "nz2dn": (BLayout.ColMajor, SLayout.NoneBox),
    "nz2nz": (BLayout.ColMajor, SLayout.RowMajor),
}
_GIVES = {"f16": "f16", "bf16": "bf16", "hif8": "hif8", "fp8": "e4m3", "req8": "i8", "b8": "i8"}
"""Element type of the result, by a part of the word of the quantisation."""

_SIGNED = 1 << 46


@dataclass
class Epilogue:
    """Layout of the slots, quantisation and relu; and the word or tile of words that was set last."""

    blayout: BLayout
    slayout: SLayout
    quant: str
    relu: ReluPreMode
    words: Any = None

    def applied(self, source: DType) -> tuple[DType, dict[str, Any]]:
        """Element type of a slot, and what the instruction that fills it is given."""
        name = next((gives for part, gives in _GIVES.items() if part in self.quant.replace("f322", "_")), None)
        dtype = source if name is None else DTYPES[name]
        given: dict[str, Any] = {"relu": self.relu}
        if self.quant.endswith("_vec"):
            given["fp"] = self.words
        elif self.quant.endswith("_scalar"):
            scale = 1.0 if self.words is None else self.words
            given["quant"] = int(np.float32(scale).view(np.uint32)) | (_SIGNED if dtype.signed else 0)
        return dtype, given


def epilogue_of(text: Any) -> Epilogue | None:
    """The epilogue that an attribute spells; None for none."""
    words = dict(_PAIR.findall(str(text or "")))
    if not words:
        return None
    blayout, slayout = _LAYOUTS[words.get("layout", "nz2nd")]
    relu = ReluPreMode.NormalRelu if words.get("relu", "no_relu") != "no_relu" else ReluPreMode.NoRelu
    return Epilogue(blayout, slayout, words.get("quant", "no_convert"), relu)


# The end of a pipe that a core has, and what an observer is told of it: waits, and entries that have moved.


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
