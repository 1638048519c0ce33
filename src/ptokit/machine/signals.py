"""Flags that cores raise and wait for, rings of entries between cores, and where all of them meet.

A signal carries what its sender wants the receiver to know: nothing when only values count, clocks under the sanitizer.

One model for all targets: push k of a ring begins once slot k - slots is free, pop k once push k is done, by every
vector core that takes part. The libraries count free slots in groups; the order that results is the same or stricter.

Source: PTOAS of August 2026, fix-pipe pipes; pto-isa FixpipeParams.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Container, Hashable, Mapping, Sequence
from dataclasses import field
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from ptokit.diagnostics import Diagnostic, Location, Note, Severity
from ptokit.ir.core import Op
from ptokit.isa.exchange.core_pipes import Wait
from ptokit.records import dataclass
from ptokit.targets import Target
from ptokit.types.dtypes import DTYPES, DType
from ptokit.types.enums import SECOND_CORE, BLayout, ReluPreMode, SLayout

from .global_memory import Pointer, View

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


_LISTED = 16  # cores that a deadlock names


def deadlock(held: Sequence[tuple[Place, Op | None, str]], file: str | None) -> Diagnostic:
    """DEADLOCK: what every core that cannot go on waits for: where, and in words."""
    texts = [(f"{place_text(core)} waits here for {what}", op) for core, op, what in held]
    where = [Location(file) if op is None else op.location for _, op in texts]
    notes = tuple(Note(text, at) for (text, _), at in list(zip(texts, where))[1:_LISTED])
    hint = "`ptokit sanitize` shows what every pipe waits for"
    return Diagnostic("DEADLOCK", Severity.ERROR, f"deadlock: {texts[0][0]}", where[0], hint, notes)


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


MeetingKey = tuple[str, int]
"""Kind of the cores that meet ("" for all), and how many of them (0 for all)."""


@dataclass
class Rendezvous(Generic[T]):
    """All meetings of a launch. Cores of a device meet for the n-th time when each of them has arrived n times."""

    cores: Sequence[Place]
    _arrived: dict[tuple[int, MeetingKey, int], dict[int, T]] = field(default_factory=dict)  # by rank
    _times: dict[tuple[MeetingKey, int], int] = field(default_factory=dict)
    _members: dict[tuple[int, MeetingKey], list[int]] = field(default_factory=dict)

    def members(self, core: int, key: MeetingKey) -> list[int]:
        """The cores that meet, `core` among them."""
        rank = self.cores[core].rank
        found = self._members.get((rank, key))
        if found is None:
            kind, count = key
            found = [c.index for c in self.cores if c.rank == rank and (not kind or c.kind in (kind, ""))]
            found = self._members[rank, key] = found[:count] if count else found
        return found

    def arrive(self, core: int, key: MeetingKey, item: T) -> int:
        """A core arrives; returns for which time."""
        times = self._times[key, core] = self._times.get((key, core), 0) + 1
        self._arrived.setdefault((self.cores[core].rank, key, times), {})[core] = item
        return times

    def met(self, core: int, key: MeetingKey, times: int) -> dict[int, T] | None:
        """What the cores brought that `core` meets, by core, once all are there."""
        arrived = self._arrived[self.cores[core].rank, key, times]
        return arrived if len(arrived) >= len(self.members(core, key)) else None

    def missing(self, core: int, key: MeetingKey, times: int) -> list[int]:
        """Cores that have not arrived for that time, of those that `core` meets."""
        arrived = self._arrived[self.cores[core].rank, key, times]
        return [other for other in self.members(core, key) if other not in arrived]


# The rings of slots between the cores of a cluster: who has pushed, popped and freed how much (compute-layout-
# irregular 3.2).


RingKey = tuple[Hashable, ...]
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
    rings: dict[RingKey, Ring] = field(default_factory=dict)
    whole: set[int] = field(default_factory=set)  # sections in which a vector core has used a pipe without halves

    def ring(self, key: RingKey, name: str, c2v: bool, slots: int) -> Ring:
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
_GIVES = {"bf16": "bf16", "f16": "f16", "hif8": "hif8", "fp8": "e4m3", "req8": "i8", "b8": "i8"}
"""Element type of the result, by the first of these parts that is in the word of the quantisation."""

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
