"""One core: what its scalar unit issues, its clocks, queues, flags, unit flags and slots.

Each unit of L0C has a flag. A product with a unit flag waits until those of its units are clear, and may set them; a
drain waits until they are set, and may clear them. Products that set no flag, or drains that clear none, leave it.

A core that pushes or pops knows what the cores at the other end had done when they filled or freed the slot. The waits
hold the scalar unit on a2a3, one pipe on a5.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ptokit.ir.core import Op
from ptokit.machine.signals import Ring, Waiting, place_text
from ptokit.records import dataclass
from ptokit.targets import Target
from ptokit.types.enums import Pipe

from .clocks import COMPONENTS, POSTED, WIDTH, Clock, Footprint, places_of

if TYPE_CHECKING:
    from .clocks import Touch


# What a core's scalar unit issues, in program order, as the order of pipes sees it.


Loops = tuple[tuple[str, Any], ...]
FlagKey = tuple[Pipe, Pipe, int]


@dataclass(slots=True, eq=False)
class Post:
    """A signal that has been given: ``clock``, what has completed by then. ``amount``: what it adds, or with ``fresh``
    the value that it sets. ``order``: its place among all, in the order of the launch."""

    core: int
    clock: Clock
    amount: int = 1
    fresh: bool = False
    order: int = 0


@dataclass(slots=True)
class Given:
    """All that have been given of a signal: those of each core. ``ordered``: each core gives one after the other.
    ``amount``: what each of them adds, None if that differs or some are set."""

    by_core: list[list[Post]]
    ordered: bool
    amount: int | None


@dataclass(slots=True, eq=False)
class Source:
    """A signal that is waited for: who gives it, once that is known, and which values end the wait."""

    given: Callable[[], Given]
    start: int
    holds: Callable[[int], bool]


OWN_FLAG = -1
"""Event id of the flags that instructions have inside; no program has it."""


@dataclass(slots=True, eq=False)
class Item:
    """One entry of a pipe's queue, or of the scalar unit's stream. ``pipe`` is the pipe that it holds up.

    ``seq`` counts in program order of the core; ``issue`` is what the scalar unit knew when it issued the item.
    """

    op: Op
    name: str
    pipe: Pipe
    loops: Loops = ()
    seq: int = 0
    issue: Clock | None = None


@dataclass(slots=True, eq=False)
class Work(Item):
    """An instruction that reads and writes memory."""

    touches: list[Touch] = field(default_factory=list)
    keep: bool = False  # somebody may wait for this very instruction
    done: Clock | None = None  # what is known when it has completed, if `keep`
    action: Callable[[], None] | None = None  # carries it out, where that may wait
    wakes: set[int] = field(default_factory=set)  # cores that wait for it
    clean: Any = None  # dcci: (memory or None for all, byte)
    use: Any = None  # of unit flags: see `units.Use`
    flow: Any = None  # what it makes of registers that may hold what nothing has written: see `registers.Flow`


@dataclass(slots=True, eq=False)
class Submit(Item):
    """The engine of a session gets a transfer to carry out."""

    session: Any = None
    work: Work | None = None


@dataclass(slots=True, eq=False)
class SetFlag(Item):
    """set_flag; ``pipe`` is the source."""

    key: FlagKey = (Pipe.S, Pipe.V, 0)


@dataclass(slots=True, eq=False)
class WaitFlag(Item):
    """wait_flag; ``pipe`` is the destination. ``source``: the set that ended it."""

    key: FlagKey = (Pipe.S, Pipe.V, 0)
    source: SetFlag | None = None


@dataclass(slots=True, eq=False)
class Barrier(Item):
    """pipe_barrier; PIPE_ALL holds up the scalar unit."""


@dataclass(slots=True, eq=False)
class WaitWork(Item):
    """The scalar unit waits for instructions (TSYNC of what they wrote, TWAIT of notifications); None: it is not
    known yet, because the signals do not have the value that ``reason`` tells."""

    works: tuple[Work, ...] | None = ()
    reason: Callable[[], str] | None = None  # what for, in words
    sources: list[Source] = field(default_factory=list)  # of signals that others may give, too


@dataclass(slots=True, eq=False)
class Meet(Item):
    """SYNCALL: kind of the cores that meet and how many of them; ``times``: which of their meetings it is."""

    key: tuple[str, int] = ("", 0)
    times: int = 0


@dataclass(slots=True, eq=False)
class GetToken(Item):
    """get_buf. It waits until everything in `after`, the gets of its token before it in the program, is released."""

    token: int = 0
    after: tuple[GetToken, ...] = ()
    released: Clock | None = None  # what is known once the token is given back


@dataclass(slots=True, eq=False)
class ReleaseToken(Item):
    """rls_buf: gives back what `taken` took."""

    token: int = 0
    taken: GetToken | None = None


@dataclass(slots=True, eq=False)
class Signal(Item):
    """sync.set: a flag between cores."""

    event: int = 0
    mode: int = 2


@dataclass(slots=True, eq=False)
class AwaitSignal(Item):
    """sync.wait. On a2a3 it holds up the scalar unit, on a5 one pipe."""

    event: int = 0


# Unit flags of the accumulator: products wait until what they write has been drained, drains until it has been made.


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


# One core: its clocks, queues and flags.


RECENT = 64
"""Items of a core that are remembered for a picture of what led to a race."""

ENGINE = "engine"
"""Kind of the transfer engines: each session is a core without a program."""

_NOTHING: deque[Item] = deque(maxlen=0)


def _promised(target: Target) -> dict[Pipe, bool]:
    """Whether the target completes the instructions of a pipe in order."""
    return {pipe: pipe.name in target.in_order for pipe in COMPONENTS}


class Core:
    """One core: its clocks, queues, and flags. ``kind`` is "vector", "cube" or ""."""

    def __init__(
        self,
        index: int,
        kind: str,
        block: int,
        sub: int,
        target: Target,
        *,
        profile: bool,
        waits: bool = False,
        started: bool = True,
        rank: int = -1,
    ) -> None:
        self.index, self.kind, self.block, self.sub, self.target = index, kind, block, sub, target
        self.rank = rank  # of its device, in a launch on several
        self._width = WIDTH + len(COMPONENTS) if waits else WIDTH  # with the waits of each pipe, where they matter
        self.ordered = dict.fromkeys(COMPONENTS, True) if not profile else _promised(target)
        self.ended = True  # False if the program stopped early
        self.over = False  # nothing is left to do
        self.cluster: list[Core] = [self]  # the cores that see its buffers
        self.recent: deque[Item] = deque(maxlen=RECENT)  # what it has processed last
        self.issuer: Core = self  # of a transfer engine: the core that submits to it
        # By core: the notifications that it has waited for; and signals that have ended a wait which others may end.
        self.heard: dict[int, deque[Work]] = {}
        self.doubted: dict[int, deque[tuple[Item, Item]]] = {}
        self._empty()
        if started:
            self.begin()

    def _empty(self) -> None:
        """Without clocks and queues: before it begins, and when it has ended."""
        self.waits: dict[Pipe, int] = {}  # waits for flags so far
        self.last_wait: dict[FlagKey, tuple[WaitFlag, int]] = {}  # the last of each flag, and its number on its pipe
        self.inherited: dict[Pipe, Clock] = {}  # the last issue that a pipe has joined
        self.flags: dict[FlagKey, deque[tuple[Clock, SetFlag]]] = {}
        self.units = UnitFlags()
        self.last_sync: dict[tuple[Pipe, Pipe], tuple[Item, Item]] = {}
        self.clocks: dict[Pipe, Clock] = {}
        self.queues: dict[Pipe, deque[Item]] = {}
        self.stream: deque[Item] = _NOTHING  # issued by nobody yet: the scalar unit is held up

    def begin(self) -> None:
        """The core's program starts."""
        self.clocks = {pipe: Clock(self.index, [0] * self._width) for pipe in COMPONENTS}
        self.issue = Clock(self.index, [0] * self._width)  # what later issues inherit; replaced, never changed
        self.counts = [0] * (POSTED + 1)
        self.queues = {pipe: deque() for pipe in COMPONENTS if pipe is not Pipe.S}
        self.stream = deque()

    def forget(self) -> None:
        """The core has ended and nothing of it is left to do: only the last items are kept."""
        self._empty()
        self.recent = deque(self.recent, RECENT // 4)
        self.over = True

    @property
    def place(self) -> str:
        """The core in words."""
        return f"the transfer engine of {self.issuer.place}" if self.kind == ENGINE else place_text(self)

    def completed(self, pipe: Pipe) -> Clock:
        """What is known once everything issued to `pipe` so far has completed; PIPE_ALL is all of them."""
        if pipe is Pipe.ALL:
            everything = self.clocks[Pipe.S].copy()
            for each in COMPONENTS:
                everything.join(self.completed(each))
            return everything
        clock = self.clocks[pipe].copy()
        clock.own[COMPONENTS[pipe]] = self.counts[COMPONENTS[pipe]]
        if pipe is Pipe.S:
            clock.own[POSTED] = self.counts[POSTED]
        return clock

    def learn(self, clock: Clock) -> None:
        """The scalar unit waited for something: whatever it issues later comes after."""
        self.clocks[Pipe.S].join(clock)
        self.issue = self.issue.copy()
        self.issue.join(clock)

    def overtakes(self, item: Item) -> bool:
        """True if something that stands before `item` in the program has not begun yet."""
        return any(queue and queue[0].seq < item.seq for queue in self.queues.values())

    @property
    def blocked(self) -> list[Item]:
        """The items that hold up the stream and the queues, the stream's first."""
        heads = [self.stream[0]] if self.stream else []
        return heads + [queue[0] for queue in self.queues.values() if queue]


# Slots of pipes between cores, as the queues see them: full, free, and waited for (compute-layout-irregular 3.2).


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


# What a core did shortly before a race was found: the part of its queues that a picture shows.


AROUND = 9
"""Items shown before the first access, and after it where the second comes much later."""

LONGEST = 26
"""Items shown at most before the second access."""


@dataclass(frozen=True, slots=True)
class Timeline:
    """Items of one core in the order of the simulation; None where some are left out."""

    core: str
    items: tuple[Item | None, ...]


def timelines(first: tuple[Core, Work], second: tuple[Core, Work]) -> tuple[Timeline, ...]:
    """For the core of two accesses, or for each of their cores."""
    (core_a, a), (core_b, b) = first, second
    if core_a is core_b:
        return (Timeline(core_a.place, _window(list(core_a.recent), [a, b])),)
    return tuple(Timeline(core.place, _window(list(core.recent), [work])) for core, work in (first, second))


def _window(items: list[Item], marked: list[Work]) -> tuple[Item | None, ...]:
    """The items around those of interest. One that runs right now is the last, one long gone stands before a gap."""
    out: list[Item | None] = []
    for work in marked:
        if work in items:
            continue
        if work.touches:
            items = [*items, work]
        else:
            out += [work, None] if items else [work]
    places = sorted(items.index(work) for work in marked if work in items)
    if not places:
        return (*out, *items[-AROUND:])
    start, stop = max(0, places[0] - AROUND), min(len(items), places[-1] + 3)
    if out:
        start = max(start, stop - LONGEST)
    if stop - start <= AROUND + LONGEST:
        return (*out, *items[start:stop])
    return (*out, *items[start : places[0] + AROUND], None, *items[stop - LONGEST : stop])
