"""A discrete-event run of what cores issue: pipes in order, flags, signals, and one memory that all cores share.

An item begins when its pipe, the scalar unit that issues it and everything that it waits for are there. Within a core
that is worked out in any order. Transfers through global memory are begun in the order of time, since how fast one is
depends on those under way: one that is found later cannot begin earlier, because it waits for one that has begun.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection, Hashable, Sequence
from heapq import heappop, heappush
from math import gcd
from typing import Any

import numpy as np

from ptokit.machine.signals import Rendezvous, Semaphores
from ptokit.records import dataclass
from ptokit.targets import Target
from ptokit.targets.base import Part

from .model import GRANULE, Memory
from .state import AHEAD, BEATS, NOTHING, PIPES, SCALAR, Core, Done, Item, LaunchItems, Steady, What, Works


@dataclass(eq=False)
class Run:
    """What came of a run. ``waits``: cycles by (core, pipe, item at which it waited; -1: for the scalar unit)."""

    cores: list[Core]
    works: Works
    waits: dict[tuple[int, int, int], float]
    left_out: dict[int, tuple[int, float]]  # executions and cycles that repeat others, by item
    memories: list[Memory]  # of each device
    end: float
    stuck: list[tuple[int, Item]]

    @property
    def counts(self) -> Counter[int]:
        """How often each item was executed, what was left out counted."""
        counts = Counter(self.works.item)
        for number, (times, _) in self.left_out.items():
            counts[number] += times
        return counts

    @property
    def repeated(self) -> int:
        """Executions that were left out."""
        return sum(times for times, _ in self.left_out.values())

    def critical_path(self, items: Sequence[Item]) -> list[tuple[str, str, int, float]]:
        """What the end waited for, back to the beginning: pipe, name, line and cycles, the longest first."""
        works = self.works
        at = max(range(len(works)), key=works.end.__getitem__, default=NOTHING)
        sums: dict[tuple[str, str, int], float] = {}
        while at != NOTHING:
            item = items[works.item[at]]
            key = PIPES[item.pipe].name, item.name, item.line
            sums[key] = sums.get(key, 0.0) + works.end[at] - works.start[at]
            at = works.after[at]
        return sorted(((*key, cycles) for key, cycles in sums.items()), key=lambda entry: (-entry[3], entry[2]))

    @property
    def hit(self) -> int:
        """Bytes that L2 had."""
        return sum(memory.hit for memory in self.memories)

    @property
    def missed(self) -> int:
        """Bytes that it had not."""
        return sum(memory.missed for memory in self.memories)


WORK, SET, WAIT = What.WORK, What.SET, What.WAIT
QUEUED = range(1, len(PIPES))
ALL = (1 << len(PIPES)) - 2
"""All pipes but the scalar unit, as bits."""


class Engine:
    """Runs the cores of a launch on a part. ``without``: numbers of waits that are left out."""

    def __init__(
        self,
        found: LaunchItems,
        part: Part,
        target: Target,
        *,
        starts: bool = True,
        warm: bool = False,
        without: Collection[int] = (),
    ) -> None:
        self.items, self.part, self.without = found.items, part, frozenset(without)
        places = [issued.core for issued in found.cores]
        self._numbers = {place.index: k for k, place in enumerate(places)}
        self.semaphores: Semaphores[tuple[float, int]] = Semaphores(sorted(places, key=lambda p: p.index), target)
        self.meetings: Rendezvous[tuple[float, int]] = Rendezvous(sorted(places, key=lambda p: p.index))
        self.holds = target.waits_hold_core
        self.ended: dict[int, dict[int, tuple[float, int]]] = {}  # blocks whose cluster has another one to come
        self.posts: dict[Hashable, tuple[float, int]] = {}
        granule = _granule(found)
        self.memories = {place.rank: Memory(part, warm, granule) for place in places}
        self.works = Works()
        self._heap: list[tuple[float, int, int, Any, float]] = []  # what begins a transfer: time, core, pipe
        blocks = sorted({place.block for place in places})
        spread = part.starts(len(blocks)) if starts and not warm else [0.0] * len(blocks)
        begin = dict(zip(blocks, spread))
        self.cores = [Core(k, issued, begin[issued.core.block]) for k, issued in enumerate(found.cores)]
        self.steady = Steady(self.cores, self.memories, self.works, found, self._heap)
        self._of_block: dict[int, list[Core]] = {}
        for core in self.cores:
            self._of_block.setdefault(core.issued.core.block, []).append(core)
        self._awake: list[Core] = []
        self._issue_cost = float(part.issue)
        self._signal = part.signal_us * part.clock * 1000
        self._times: dict[int, int] = {}

    def run(self) -> Run:
        """Until nothing can go on."""
        for core in self.cores:
            self._advance(core)
        while True:
            self._wake()
            if not self._heap and not self._further():
                break
            begun, index, pipe, entry, start = heappop(self._heap)
            core = self.cores[index]
            item, _, place, done = entry
            cost = item.cost
            memory = item.memory if item.place else (item.number, core.index, len(self.works))
            end = self.memories[core.issued.core.rank].transfer(begun, cost, memory, place)
            core.moving[pipe] = False
            self._finish(core, pipe, item, start, end - core.later, done)
            self._advance(core, 1 << pipe if done is None else ALL)
            if self.steady.asked:
                self.steady.jump()
        stuck = []
        for core in self.cores:
            heads = [queue[0][0] for queue in core.queues if queue]
            if core.at < len(core.issued):
                heads.insert(0, self.items[core.issued.items[core.at]])
            stuck += [(core.index, item) for item in heads[:1]]
        end = max((max(core.clock, *core.free, *core.done) + core.later for core in self.cores), default=0.0)
        waits = {(core.index, *key): cycles for core in self.cores for key, cycles in core.waits.items()}
        return Run(self.cores, self.works, waits, self.steady.left_out, list(self.memories.values()), end, stuck)

    def _further(self) -> bool:
        """Let cores issue more where what they wait for may be far ahead; True if something is under way then."""
        for core in self.cores:
            if core.ahead < AHEAD:
                core.ahead = AHEAD
                self._advance(core)
        self._wake()
        return bool(self._heap)

    def _wake(self) -> None:
        """Cores that signals, slots and meetings may let go on."""
        while self._awake or self.semaphores.delivered:
            told = [self.cores[self._numbers[index]] for index in sorted(self.semaphores.delivered)]
            self.semaphores.delivered.clear()
            woken, self._awake = self._awake, []
            for core in dict.fromkeys([*told, *woken]):
                self._advance(core)

    # --- a core --------------------------------------------------------------------------------------------------

    def _advance(self, core: Core, todo: int = ALL) -> None:
        """Do everything of a core that can be done. ``todo``: pipes, as bits, whose first item may begin now."""
        queues, flags, moving = core.queues, core.flags, core.moving
        while True:
            # While a transfer is under way there will be another time to issue, for many items at once.
            if core.waiting or 2 * core.queued < core.ahead or True not in moving:
                todo |= self._issue(core)
            todo &= ALL
            if not todo:
                return
            for pipe in QUEUED:
                if not todo >> pipe & 1:
                    continue
                todo &= ~(1 << pipe)
                queue = queues[pipe]
                begun = 0
                while queue and not moving[pipe]:
                    entry = queue[0]
                    item, issued, _, done = entry
                    what = item.what
                    if what is WORK:
                        if not self._work(core, pipe, entry):
                            break
                        if done is not None and not moving[pipe]:
                            todo = ALL
                    elif what is WAIT:
                        waiting = flags.get(item.key)
                        if not waiting:
                            break
                        self._raise(core, pipe, item, waiting.popleft())
                    elif what is SET:
                        over = max(core.free[pipe], core.done[pipe], issued)
                        waiting = flags.get(item.key)
                        if waiting is None:
                            waiting = flags[item.key] = deque()
                        waiting.append((over, core.last[pipe]))
                        todo |= 1 << item.key[1]  # type: ignore[index]
                    elif not self._begin(core, pipe, entry):
                        break
                    elif done is not None:
                        todo = ALL
                    queue.popleft()
                    begun += 1
                core.queued -= begun

    def _issue(self, core: Core) -> int:
        """Issue until the scalar unit has to wait; the pipes that have something new then, as bits."""
        codes, items, queues = core.issued.items, self.items, core.queues
        at, limit, repeats, cost = core.at, len(codes), core.issued.repeats, self._issue_cost
        left, pipes = core.ahead - core.queued, 0
        core.waiting = False
        while at < limit and left > 0:
            item = items[codes[at]]
            place = core.next_place() if item.place else 0
            pipe = item.pipe
            if pipe <= SCALAR or (item.what is What.AWAIT and self.holds) or item.what is What.MEET:
                core.at = at
                core.queued = core.ahead - left
                if not self._scalar(core, item):
                    core.waiting = True
                    break
                if item.what is SET:
                    pipes |= 1 << item.key[1]  # type: ignore[index]
            else:
                core.clock += cost
                done = self._done(core, item) if item.linked else None
                queues[pipe].append((item, core.clock, place, done))
                left -= 1
                pipes |= 1 << pipe
            core.place += item.place
            at += 1
            if at in repeats:
                at = core.again(at, repeats[at])
        core.at = at
        core.queued = core.ahead - left
        return pipes

    def _done(self, core: Core, item: Item) -> Any:
        """What an item waits for, and what others wait for with it: data, where no flags order them; buffer ids."""
        if item.what in (What.GET, What.RELEASE):
            mine = Done()
            if item.what is What.RELEASE:
                core.held[item.key, item.pipe] = core.holders.setdefault(item.key, {})[item.pipe] = mine
                return mine, ()
            others = core.holders.setdefault(item.key, {})
            return mine, tuple(done for pipe, done in others.items() if pipe != item.pipe)
        mine, before = Done(), []
        for tile in (*item.reads, *item.writes):
            if tile in core.writers:
                before.append(core.writers[tile])
        for tile in item.writes:
            before += core.readers.pop(tile, [])
        for tile in item.writes:
            core.writers[tile] = mine
        for tile in item.reads:
            if tile not in item.writes:
                core.readers.setdefault(tile, []).append(mine)
        return mine, tuple(dict.fromkeys(before))

    def _scalar(self, core: Core, item: Item) -> bool:
        """An item of the scalar unit; False if it has to wait."""
        clock = core.clock + self._issue_cost
        match item.what:
            case What.WORK:
                assert item.cost is not None
                end = core.clock + max(item.cost.cycles, self._issue_cost)
                self._finish(core, SCALAR, item, core.clock, end, None)
                core.clock = end
                return True
            case What.BARRIER:
                if core.at_work:
                    return False
                last = max(range(1, len(PIPES)), key=core.over)
                self._hold(core, item, clock, (core.over(last), core.last[last]))
            case What.SET:
                core.flags.setdefault(item.key, deque()).append((clock, core.last[SCALAR]))
            case What.WAIT:
                waiting = core.flags.get(item.key)
                if not waiting:
                    return False
                self._hold(core, item, clock, waiting.popleft())
            case What.SIGNAL:
                if core.at_work:
                    return False
                self._send(core, item, max(clock, *core.free, *core.done), core.last[SCALAR])
            case What.AWAIT:
                told = self.semaphores.take(core.issued.core.index, _event(item))
                if told is None:
                    return False
                self._hold(core, item, clock, max(told.values()))
            case What.MEET:
                return self._meet(core, item, clock)
            case What.TELL:
                self.posts[core.next_place()] = clock + self._signal, core.last[SCALAR]
                self._awake += [other for other in self.cores if other is not core]
            case What.HEAR:
                heard = self.posts.get(core.next_place())
                if heard is None:
                    return False
                self._hold(core, item, clock, heard)
            case What.NEXT:
                if core.at_work:
                    return False
                last = max(range(len(PIPES)), key=core.over)
                ends = self.ended.setdefault(item.number, {})
                cluster = self._of_block[core.issued.core.block]
                if core.index not in ends:
                    ends[core.index] = max(clock, core.over(last)), core.last[last]
                    self._awake += [other for other in cluster if other is not core]
                if len(ends) < len(cluster):
                    return False
                self._hold(core, item, clock, max(ends.values()))
            case _:
                pass
        core.clock = max(core.clock, clock)
        return True

    def _meet(self, core: Core, item: Item, clock: float) -> bool:
        index, key = core.issued.core.index, item.key
        if not core.arrived:
            if core.at_work:
                return False
            last = max(range(len(PIPES)), key=core.over)
            self._times[index] = self.meetings.arrive(index, key, (max(clock, core.over(last)), core.last[last]))  # type: ignore[arg-type]
            core.arrived = True
            self._awake += [self.cores[self._numbers[k]] for k in self.meetings.members(index, key)]  # type: ignore[arg-type]
        met = self.meetings.met(index, key, self._times[index])  # type: ignore[arg-type]
        if met is None:
            return False
        core.arrived = False
        self._hold(core, item, clock, max(met.values()))
        return True

    def _hold(self, core: Core, item: Item, clock: float, known: tuple[float, int]) -> None:
        """The scalar unit goes on once something is known; so do the instructions that it issues then."""
        when, work = known
        if item.number in self.without:
            when = 0.0
        if when > clock:
            key = SCALAR, item.number
            core.waits[key] = core.waits.get(key, 0.0) + when - clock
            core.scalar_cause = work
        core.clock = max(clock, when)
        core.free[SCALAR] = core.clock

    def _begin(self, core: Core, pipe: int, entry: Any) -> bool:
        """Begin what is first in the queue of a pipe, no work and no flag; False if it has to wait."""
        item, issued, place, done = entry
        match item.what:
            case What.SIGNAL:
                self._send(core, item, max(core.over(pipe), issued), core.last[pipe])
            case What.AWAIT:
                told = self.semaphores.take(core.issued.core.index, _event(item))
                if told is None:
                    return False
                self._raise(core, pipe, item, max(told.values()))
            case What.POST:
                ring, full, sub = item.key
                self.posts[ring, full, place, sub] = max(core.over(pipe), issued), core.last[pipe]
                self._awake += [other for other in self._of_block[core.issued.core.block] if other is not core]
            case What.SLOT:
                ring, full, needed = item.key
                posted = [self.posts.get((ring, full, place, sub)) for sub in needed]
                known = [post for post in posted if post is not None]
                if len(known) < len(posted):
                    return False
                self._raise(core, pipe, item, max(known))
            case What.GET | What.RELEASE:
                mine, before = done
                if any(other.end < 0 for other in before):
                    return False
                for other in before:
                    self._raise(core, pipe, item, (other.end, other.work))
                mine.end, mine.work = max(core.over(pipe), issued), core.last[pipe]
            case _:  # a barrier of one pipe, which is in order: its last result has to be there
                core.free[pipe] = core.over(pipe)
        return True

    def _raise(self, core: Core, pipe: int, item: Item, known: tuple[float, int]) -> None:
        """What comes next on the pipe begins later."""
        when, work = known
        if when > core.free[pipe] and item.number not in self.without:
            core.free[pipe] = when
            core.cause[pipe] = item.number, work

    def _work(self, core: Core, pipe: int, entry: Any) -> bool:
        item, issued, _, done = entry
        start, cause = core.free[pipe], core.cause[pipe]
        if done is not None:
            _, before = done
            for other in before:
                if other.end < 0:
                    return False
                if other.end > start:
                    start, cause = other.end, (item.number, other.work)
        if issued > start:
            start, cause = issued, (NOTHING, core.scalar_cause)
        core.cause[pipe] = cause
        cost = item.cost
        if cost.nbytes:
            core.moving[pipe] = True
            core.moves[pipe] = item.number
            heappush(self._heap, (start + cost.cycles + core.later, core.index, pipe, entry, start))
            return True
        self._finish(core, pipe, item, start, start + cost.cycles, done)
        return True

    def _finish(self, core: Core, pipe: int, item: Item, start: float, end: float, done: Any) -> None:
        works, idle = self.works, start - core.done[pipe]
        assert item.cost is not None
        cause = core.cause[pipe]
        number = len(works.start)
        if idle > 0 and pipe != SCALAR:
            key = pipe, cause[0] if cause is not None else NOTHING
            core.waits[key] = core.waits.get(key, 0.0) + idle
        works.start.append(start + core.later)
        works.end.append(end + core.later)
        works.item.append(item.number)
        works.core.append(core.index)
        works.after.append(cause[1] if cause is not None and idle > 0 else core.last[pipe])
        core.cause[pipe] = None
        core.busy[pipe] += end - start if idle >= 0 else max(0.0, end - core.done[pipe])
        core.free[pipe] = end - item.cost.latency
        core.done[pipe] = max(end, core.done[pipe])
        core.last[pipe] = number
        if done is not None:
            done[0].end, done[0].work = end, number
        beats = core.beats.get(item.number)
        if beats is not None:
            beats.append(end)
            if len(beats) % BEATS == 0:
                self.steady.asked = True

    def _send(self, core: Core, item: Item, when: float, work: int) -> None:
        self.semaphores.send(core.issued.core, _event(item), item.mode, (when, work))


def _granule(found: LaunchItems) -> int:
    """The largest number of bytes that divides where transfers without gaps begin and what they move."""
    packed = [item.cost is not None and item.cost.packed and item.cost.nbytes >= GRANULE for item in found.items]
    sizes = [item.cost.nbytes for item, is_one in zip(found.items, packed) if is_one and item.cost is not None]
    if not any(packed):
        return GRANULE
    size = gcd(*sizes)
    placed = np.array([item.place for item in found.items])
    chosen = np.array(packed)
    for issued in found.cores:
        codes, places = np.frombuffer(issued.items, np.int64), np.frombuffer(issued.places, np.int64)
        with_place = np.flatnonzero(placed[codes])
        mine = chosen[codes[with_place]]
        size = gcd(size, int(np.gcd.reduce(places[mine], initial=0)))
        for at, repeat in issued.repeats.items():
            first, last = np.searchsorted(with_place, (at - repeat.items, at))
            moves = np.array(repeat.moves, np.int64)
            size = gcd(size, int(np.gcd.reduce(moves[mine[first:last]], initial=0)))
    return size


def _event(item: Item) -> int:
    assert isinstance(item.key, int)
    return item.key


def run(
    found: LaunchItems,
    part: Part,
    target: Target,
    *,
    starts: bool = True,
    warm: bool = False,
    without: Sequence[int] = (),
) -> Run:
    """Run what the cores of a launch issue. ``starts``: cores start one after the other, as measured. ``warm``: the
    same launch has just ended, so that they start at once, and L2 holds what fits of the arguments."""
    return Engine(found, part, target, starts=starts, warm=warm, without=without).run()
