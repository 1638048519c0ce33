"""What the cores of a launch issue, their state, and how what repeats is left out once all of them are in step.

Iterations of a loop that goes on evenly take the same time each, once pipes are full and the cores have found how they
share memory. Then all cores go forward together by as many iterations as the first has left, and everything that
is under way with them.
"""

from __future__ import annotations

from array import array
from collections import Counter, deque
from collections.abc import Hashable, Mapping
from dataclasses import field
from enum import IntEnum
from heapq import heapify
from typing import Any, NamedTuple

from ptokit.machine.signals import CoreId
from ptokit.records import dataclass
from ptokit.targets.base import Part
from ptokit.types.enums import Pipe

from .model import Cost, Memory

PIPES = (Pipe.S, Pipe.MTE2, Pipe.MTE1, Pipe.M, Pipe.V, Pipe.FIX, Pipe.MTE3)
SCALAR = 0
IN_BLOCK = 2
"""Mode of a signal between the cores of a block."""
EVERY = -1
"""Number of the pipe of a barrier on all of them."""
MEMORY = "memory"
"""Key of a barrier that is there for what other cores see of global memory."""


class NotPredicted(Exception):
    """Why no time is predicted."""


class What(IntEnum):
    """What an item of a core is."""

    WORK = 0
    SET = 1  # a flag
    WAIT = 2
    BARRIER = 3
    SIGNAL = 4  # to other cores
    AWAIT = 5
    MEET = 6
    POST = 7  # a slot of a pipe between cores is full or free
    SLOT = 8  # it is waited for
    GET = 9  # a buffer id
    RELEASE = 10
    NEXT = 11  # a block is over, and its cluster begins another
    TELL = 12  # signals in global memory
    HEAR = 13


@dataclass(eq=False, slots=True)
class Item:
    """What a core issues, the same object each time. ``place``: it comes with a number of its own, see `Issued`."""

    what: What
    pipe: int
    name: str
    line: int
    number: int = 0  # among the items of a launch
    cost: Cost | None = None
    key: Hashable = None
    reads: tuple[Hashable, ...] = ()  # of tiles, where no flags order them
    writes: tuple[Hashable, ...] = ()
    memory: str = ""  # the argument that it transfers
    place: bool = False
    mode: int = 0
    linked: bool = field(init=False)  # data or buffer ids order it, too

    def __post_init__(self) -> None:
        self.linked = bool(self.reads or self.writes) or self.what in (What.GET, What.RELEASE)

    @property
    def text(self) -> str:
        """Its name and line."""
        return f"{self.name} (line {self.line})"

    @property
    def flag(self) -> str:
        """What it waits for."""
        match self.what, self.key:
            case What.WAIT, (int(src), int(dst), int(event)):
                return f"flag {PIPES[src].name} to {PIPES[dst].name} EVENT_ID{event}"
            case What.WAIT, (_, _, str(unit)):
                return unit
            case What.AWAIT, event:
                return f"flag {event} between cores"
            case What.SLOT, _:
                return f"{self.name}, for a slot of the pipe between cores,"
            case What.GET, token:
                return f"buffer id {token}"
            case What.MEET, _:
                return "SYNCALL"
            case What.HEAR, _:
                return "the signal"
            case What.WORK, _:
                return "its tiles"
            case _:
                return ""


class Repeat(NamedTuple):
    """The last `items` of a core are issued so many `times` more; each time places have moved by `moves`."""

    items: int
    places: int
    times: int
    moves: tuple[int, ...]


class Issued:
    """The items of one core by number, and in `places`, for those that have one: a byte offset, or a slot's number.

    ``repeats``: by the number of items before it, what is issued again there. What is issued again may have some.
    """

    def __init__(self, core: CoreId) -> None:
        self.core = core
        self.items: array[int] = array("q")
        self.places: array[int] = array("q")
        self.repeats: dict[int, Repeat] = {}

    def __len__(self) -> int:
        return len(self.items)

    def follow(self, other: Issued) -> None:
        """Issue the items of another core afterwards."""
        before = len(self.items)
        self.repeats |= {before + at: repeat for at, repeat in other.repeats.items()}
        self.items.extend(other.items)
        self.places.extend(other.places)


@dataclass(eq=False)
class LaunchItems:
    """All that the cores of a launch issue. ``assumed``: instructions whose cost nobody has published."""

    items: list[Item]
    cores: list[Issued]
    ordered_by_data: bool
    executed: int = 0
    untimed: dict[str, int] | None = None  # names of orders that are not followed
    together: bool = False  # cores wait for each other, so that all of them run at once

    def place(self, part: Part) -> None:
        """Let blocks beyond the cores of a part follow others on the same core."""
        if self.together:
            self._place_clusters(part.cores)
            return
        pipes = {item.pipe for item in self.items if item.what is What.WORK}
        most = part.cores * (part.vector_cores if PIPES.index(Pipe.M) not in pipes else 1)
        for k, issued in enumerate(self.cores[most:]):
            self.cores[k % most].follow(issued)
        del self.cores[most:]

    def _place_clusters(self, most: int) -> None:
        """The same for clusters, unless blocks wait for each other, so that all of them run at once."""
        between = any(
            item.what is What.MEET or (item.what is What.SIGNAL and item.mode != IN_BLOCK) for item in self.items
        )
        blocks = sorted({issued.core.block for issued in self.cores})
        if between or len(blocks) <= most or len({issued.core.rank for issued in self.cores}) > 1:
            return
        order = {block: k for k, block in enumerate(blocks)}
        first: dict[tuple[int, str, int], Issued] = {}
        over: dict[int, Item] = {}
        for issued in sorted(self.cores, key=lambda one: order[one.core.block]):
            core, k = issued.core, order[issued.core.block]
            before = first.setdefault((k % most, core.kind, core.sub), issued)
            if before is not issued:
                if k not in over:
                    over[k] = Item(What.NEXT, SCALAR, "block", 0, len(self.items))
                    self.items.append(over[k])
                before.items.append(over[k].number)
                before.follow(issued)
        self.cores = [issued for issued in self.cores if order[issued.core.block] < most]


NOTHING = -1
AHEAD = 2048
"""Items that may be queued before the scalar unit is left alone for a while; no result depends on it."""
BEATS = 8
"""Cores are looked at after so many iterations each time."""
EVEN = 0.002
"""By how much two groups of iterations that follow each other may differ in the time they take."""


class Works:
    """Everything that was done: start, end, item, core, and the work that it waited for (`NOTHING`: none)."""

    def __init__(self) -> None:
        self.start, self.end = array("d"), array("d")
        self.item, self.core, self.after = array("q"), array("i"), array("q")

    def __len__(self) -> int:
        return len(self.start)


@dataclass(eq=False, slots=True)
class Again:
    """Items that are issued again: up to which, the first of their places, and how often that was. ``beats``: of each
    item that tells how fast they go on, the first time that it comes with them."""

    at: int
    repeat: Repeat
    first: int
    beats: dict[int, int]
    done: int = 0


class Core:
    """The state of a core."""

    def __init__(self, index: int, issued: Issued, start: float) -> None:
        self.index, self.issued, self.start = index, issued, start
        self.at = self.place = 0  # the next item, the next of its places
        self.clock = start  # of the scalar unit
        self.free = [start] * len(PIPES)
        self.done = [start] * len(PIPES)  # end of the last work on each pipe
        self.last = [NOTHING] * len(PIPES)
        self.cause: list[tuple[int, int] | None] = [None] * len(PIPES)  # (item waited at, work waited for)
        self.queues: list[deque[Any]] = [deque() for _ in PIPES]
        self.moving = [False] * len(PIPES)  # a transfer is under way
        self.moves = [NOTHING] * len(PIPES)  # the item that began it
        self.queued = 0
        self.waiting = False  # the scalar unit, for something
        self.ahead = AHEAD
        self.flags: dict[Hashable, deque[tuple[float, int]]] = {}
        self.busy = [0.0] * len(PIPES)
        self.scalar_cause = NOTHING
        self.arrived = False  # at a meeting
        self.writers: dict[Hashable, Done] = {}
        self.readers: dict[Hashable, list[Done]] = {}
        self.holders: dict[Hashable, dict[int, Done]] = {}  # of buffer ids, by pipe
        self.held: dict[tuple[Hashable, int], Done] = {}
        self.nest: list[Again] = []  # what is issued again now, the innermost last
        self.waits: dict[tuple[int, int], float] = {}  # cycles by pipe and item
        self.later = 0.0  # cycles that have been left out: its clocks are those of all less so much
        self.beats: dict[int, list[float]] = {}  # ends of works that come with each iteration, by item
        self.beats_of: dict[int, list[tuple[int, int]]] = {}  # of what is issued again: such items, and how often each

    def listen(self, items: list[Item]) -> None:
        """Note when works end that show how fast repeated items go on: on each pipe those that come least often."""
        issued = self.issued
        for at, repeat in issued.repeats.items():
            first = at - repeat.items
            inner = [(end - r.items, end) for end, r in issued.repeats.items() if first < end < at]
            within = {k for begin, end in inner for k in range(begin, end)}
            counts = Counter(issued.items[k] for k in range(first, at) if k not in within)
            often = {issued.items[k] for k in within}
            least: dict[int, tuple[int, int]] = {}
            for number, n in counts.items():
                item = items[number]
                if item.what is What.WORK and number not in often:
                    least[item.pipe] = min(least.get(item.pipe, (n, number)), (n, number))
            if least:
                self.beats_of[at] = [(number, times) for times, number in least.values()]
                self.beats |= {number: [] for number, _ in self.beats_of[at]}
                self.ahead = min(self.ahead, 3 * repeat.items + len(PIPES))

    def next_place(self) -> int:
        """The place that comes with the next item."""
        found = self.issued.places[self.place]
        for again in self.nest:
            k = self.place - again.first
            if k >= 0:
                found += again.done * again.repeat.moves[k]
        return found

    def content(self, at: int) -> Counter[int]:
        """How often each item comes in what is issued again before `at`."""
        issued = self.issued
        first = at - issued.repeats[at].items
        found = Counter(issued.items[first:at])
        for end, inner in issued.repeats.items():
            if first < end < at:
                for number, times in self.content(end).items():
                    found[number] += inner.times * times
        return found

    def _coming(self, at: int) -> dict[int, int]:
        """Numbers of the first beats that what is issued from now on gives."""
        found = {}
        for number, _ in self.beats_of.get(at, ()):
            queued = sum(entry[0].number == number for queue in self.queues for entry in queue)
            moving = sum(moves and of == number for moves, of in zip(self.moving, self.moves))
            found[number] = len(self.beats[number]) + queued + moving
        return found

    def forget(self) -> None:
        """Listen anew."""
        for again in self.nest:
            again.beats = {number: at - len(self.beats[number]) for number, at in again.beats.items()}
        for beats in self.beats.values():
            beats.clear()

    def again(self, at: int, repeat: Repeat) -> int:
        """Where the items go on that end before `at`: with those that are issued again, or after them."""
        if not self.nest or self.nest[-1].at != at:
            self.nest.append(Again(at, repeat, self.place - repeat.places, self._coming(at)))
        top = self.nest[-1]
        top.done += 1
        if top.done > repeat.times:
            self.nest.pop()
            return at
        self.place -= repeat.places
        return at - repeat.items

    @property
    def at_work(self) -> bool:
        """Something is queued or under way."""
        return bool(self.queued) or any(self.moving)

    def over(self, pipe: int) -> float:
        """When all that a pipe has begun has given its results."""
        return max(self.free[pipe], self.done[pipe])


@dataclass(eq=False, slots=True)
class Done:
    """Something that others may wait for, once it has an end."""

    end: float = -1.0
    work: int = NOTHING


@dataclass(eq=False)
class Steps:
    """What a core had done when it was looked at: beats, works, cycles by wait, and of L2 what it had, what it
    had not, and what it holds."""

    beats: int
    works: int
    waits: dict[tuple[int, int], float]
    bytes: tuple[int, int, int]


@dataclass(eq=False)
class Pace:
    """A core that goes on evenly: cycles that it has before it, those of an iteration, and what it had done when it was
    looked at, so many iterations ago."""

    core: Core
    again: Again
    time: float
    each: float
    iterations: float
    since: Steps


class Steady:
    """Leaves out iterations of all cores at a time. ``left_out``: executions and cycles of it, by item."""

    def __init__(
        self, cores: list[Core], memories: Mapping[int, Memory], works: Works, found: LaunchItems, heap: list[Any]
    ) -> None:
        self.cores, self.memories, self.works, self.items, self.heap = cores, memories, works, found.items, heap
        self.asked = False
        self.left_out: dict[int, tuple[int, float]] = {}
        self._steps: dict[tuple[int, int], list[Steps]] = {}  # by core and beat
        apart = (What.SIGNAL, What.AWAIT, What.MEET, What.POST, What.SLOT, What.NEXT, What.TELL, What.HEAR)
        if len(memories) == 1 and not any(item.what in apart for item in found.items):
            for core in cores:
                core.listen(self.items)

    def jump(self) -> None:
        """Leave out what all cores have before them, if all of them are in step."""
        self.asked = False
        chosen: list[Pace] = []
        for core in self.cores:
            if core.at == len(core.issued) and not core.at_work:
                continue
            paces = (self._pace(core, again) for again in core.nest)
            best = max((pace for pace in paces if pace is not None), key=lambda pace: pace.time, default=None)
            if best is None:
                return
            chosen.append(best)
        time = min((pace.time for pace in chosen), default=0.0)
        for pace in chosen[:1]:  # until L2 is full, which may change the pace
            memory = self.memories[pace.core.issued.core.rank]
            grown = (memory.used - pace.since.bytes[2]) / (pace.each * pace.iterations)
            if grown > 0 and not memory.full:
                time = min(time, (memory.room - memory.used) / grown)
        if not chosen or time < 4 * max(pace.each for pace in chosen):
            return
        later = {}
        for pace in chosen:
            core, count = pace.core, int(time / pace.each)
            self._account(pace, count, first=pace is chosen[0])
            self._touch(core, pace.again, count)
            pace.again.done += count
            core.later += count * pace.each
            later[core.index] = count * pace.each
            core.forget()
        self.heap[:] = [(begun + later.get(index, 0.0), index, *rest) for begun, index, *rest in self.heap]
        heapify(self.heap)
        self._steps.clear()
        for memory in self.memories.values():
            memory.shift(time)

    def _pace(self, core: Core, again: Again) -> Pace | None:
        """How a core goes on with what it issues again, if that has been even for a while: as its latest pipe does,
        since the others may run ahead until something is full."""
        pipes = [
            ((len(beats) - again.beats[number]) // times, -beats[-1], number, times)
            for number, times in core.beats_of.get(again.at, ())
            if (beats := core.beats[number])
        ]
        if not pipes or len(pipes) < len(core.beats_of[again.at]):
            return None
        *_, number, times = min(pipes)
        beats, left = core.beats[number], again.repeat.times - again.done
        steps = self._steps.setdefault((core.index, number), [])
        if not steps or steps[-1].beats < len(beats):
            memory = self.memories[core.issued.core.rank]
            of_l2 = memory.hit, memory.missed, memory.used
            steps.append(Steps(len(beats), len(self.works), dict(core.waits), of_l2))
        whole = len(beats) // times * times
        for since in steps:  # the earliest from which on it was even
            if since.beats < again.beats[number]:
                continue
            some = (whole - since.beats) // (2 * times) * times
            if some < BEATS or left < 2:
                break
            middle = whole - 1 - some
            later, before = beats[whole - 1] - beats[middle], beats[middle] - beats[middle - some]
            if later > 0 and abs(later - before) <= EVEN * later:
                each = (later + before) / (2 * some) * times
                return Pace(core, again, left * each, each, (len(beats) - since.beats) / times, since)
        return None

    def _account(self, pace: Pace, count: int, *, first: bool) -> None:
        """Count what is left out: iterations that take as long as those since a core was looked at.

        Pipes are at different places of an iteration then, so how long one is busy is taken from its instructions, and
        it waits for the rest.
        """
        core, since, works, share = pace.core, pace.since, self.works, count / pace.iterations
        took: dict[int, tuple[int, float, float]] = {}  # executions, cycles, and those not below the one before
        until = [0.0] * len(PIPES)
        for k in range(since.works, len(works)):
            if works.core[k] == core.index:
                number, start, end = works.item[k], works.start[k], works.end[k]
                pipe = self.items[number].pipe
                n, cycles, busy = took.get(number, (0, 0.0, 0.0))
                took[number] = n + 1, cycles + end - start, busy + max(0.0, end - max(start, until[pipe]))
                until[pipe] = max(until[pipe], end)
        added = [0.0] * len(PIPES)
        for number, times in core.content(pace.again.at).items():
            cost = self.items[number].cost
            if cost is not None:
                n, cycles, busy = took.get(number, (1, cost.alone, cost.alone))
                before, so_far = self.left_out.get(number, (0, 0.0))
                self.left_out[number] = before + count * times, so_far + count * times * cycles / n
                added[self.items[number].pipe] += times * busy / n
        waited = {wait: cycles - since.waits.get(wait, 0.0) for wait, cycles in core.waits.items()}
        for pipe, busy in enumerate(added):
            core.busy[pipe] += count * busy
            mine = {wait: cycles for wait, cycles in waited.items() if wait[0] == pipe and cycles}
            scale = share
            if pipe != SCALAR and mine:
                scale = count * max(0.0, pace.each - busy) / sum(mine.values())
            for wait, cycles in mine.items():
                core.waits[wait] += cycles * scale
        if first:  # the memory is that of all cores
            memory = self.memories[core.issued.core.rank]
            memory.hit += int((memory.hit - since.bytes[0]) * share)
            memory.missed += int((memory.missed - since.bytes[1]) * share)

    def _touch(self, core: Core, again: Again, count: int) -> None:
        """Let L2 hold what would have been moved last."""
        repeat, issued = again.repeat, core.issued
        memory = self.memories[core.issued.core.rank]
        placed = [item for code in issued.items[again.at - repeat.items : again.at] if (item := self.items[code]).place]
        size = sum(item.cost.nbytes for item in placed if item.cost is not None)
        if not size:
            return
        last = int(memory.room / len(self.cores) / size) + 1
        for done in range(again.done + max(1, count - last), again.done + count + 1):
            for k, item in enumerate(placed):
                assert item.cost is not None
                place = issued.places[again.first + k] + done * repeat.moves[k]
                memory.touch(item.cost, item.memory, place)
