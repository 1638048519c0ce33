"""What each core issues, followed without computing what tiles hold.

Steps that give numbers, views or tiles are carried out, and what lets cores wait for each other. Instructions on tiles
are only noted: what they cost follows from their operands' sizes.
"""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import field
from enum import IntEnum
from itertools import pairwise
from typing import Any, NamedTuple

from ptokit.ir.core import Op
from ptokit.isa.meaning.words import Unrun
from ptokit.isa.order.core_sync import CORE_KINDS
from ptokit.isa.order.sync_rules import flag_pipes, held_pipe
from ptokit.isa.table import Kind, Sync
from ptokit.machine.chunk import Chunk
from ptokit.machine.global_memory import Pointer, View
from ptokit.machine.lanes import uniform
from ptokit.machine.loops import Even
from ptokit.machine.observer import Moment, Observer
from ptokit.machine.signals import CoreId, Event, Freed, Pushed, Ring, Waiting
from ptokit.machine.tiles import Tile
from ptokit.records import dataclass
from ptokit.targets.base import ASSUMED, Part
from ptokit.types.enums import Pipe

from .model import Cost, Costs

PIPES = (Pipe.S, Pipe.MTE2, Pipe.MTE1, Pipe.M, Pipe.V, Pipe.FIX, Pipe.MTE3)
_NUMBER = {pipe: k for k, pipe in enumerate(PIPES)} | {
    Pipe.MTE4: 1,
    Pipe.MTE2_L1A: 1,
    Pipe.MTE2_L1B: 1,
    Pipe.MTE5: 6,
    Pipe.V2: 4,
}
SCALAR = 0
IN_BLOCK = 2
"""Mode of a signal between the cores of a block."""
EVERY = -1
"""Number of the pipe of a barrier on all of them."""


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
        most = part.cores * (part.vector_cores if _NUMBER[Pipe.M] not in pipes else 1)
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


_WHATS = {Sync.BARRIER: What.BARRIER, Sync.TAKE: What.GET, Sync.RELEASE: What.RELEASE}


class NeedsValues(Exception):
    """A number that decides what happens comes from memory that the kernel writes; the message says which."""


class Follower(Observer):
    """Notes what the cores of a launch issue."""

    def __init__(
        self, costs: Costs, written: frozenset[str], *, by_data: bool, values: bool = False, complete: bool = False
    ) -> None:
        self.costs, self.written, self.by_data, self.values = costs, written, by_data, values
        self.complete = complete or values  # every iteration is followed
        self._tests: list[list[int]] = []  # what iterations have compared, of each loop around
        self.found = LaunchItems([], [], by_data, untimed={})
        self._cores: dict[int, Issued] = {}
        self._now: tuple[Any, Any, Any] = (None, None, None)  # a core, its block, and what is its
        self._known: dict[Any, Item] = {}
        self._items: dict[Any, Item] = {}
        self.needs: NeedsValues | None = None
        self._fixed: dict[Op, Item] = {}  # flags whose ids are in the text
        self._here: dict[Chunk, tuple[Op, str]] = {}  # what a core does between cores
        self._rings: dict[int, Ring] = {}

    # --- cores and items -----------------------------------------------------------------------------------------

    def _core(self, machine: Chunk) -> Issued:
        if machine is self._now[0] and machine.block_idx is self._now[1]:
            return self._now[2]
        found = self._core_of(machine)
        self._now = machine, machine.block_idx, found
        return found

    def _core_of(self, machine: Chunk) -> Issued:
        streams = machine.semaphores is not None
        number = machine.number if streams else machine.block_number(0)
        found = self._cores.get(number)
        if found is None:
            if machine.semaphores is not None:
                place = machine.semaphores.cores[number]
                core = CoreId(number, place.kind, place.block, place.sub, place.rank)
                self.found.together = True
            else:
                core = CoreId(number, "", number, -1)
            found = self._cores[number] = Issued(core)
            self.found.cores.append(found)
        return found

    def _item(self, same: Hashable, what: What, pipe: int, name: str, line: int, **more: Any) -> Item:
        item = self._items.get(same)
        if item is None:
            item = self._items[same] = Item(what, pipe, name, line, len(self.found.items), **more)
            self.found.items.append(item)
        return item

    def _push(self, machine: Chunk, item: Item, place: int = 0) -> None:
        core = self._core(machine)
        core.items.append(item.number)
        if item.place:
            core.places.append(place)

    def _order(self, moment: Moment, what: What, pipe: Pipe | None, key: Hashable, mode: int = 0) -> None:
        if pipe is None:
            return
        number = EVERY if pipe is Pipe.ALL else _NUMBER.get(pipe, SCALAR)
        op = moment.op
        item = self._item(
            (op, what, number, key, mode), what, number, moment.name, op.location.line, key=key, mode=mode
        )
        self._push(moment.machine, item)
        if moment.instr is not None and moment.instr.order.only and not {"event", "buf"} & set(moment.step.names):
            self._fixed[op] = item

    # --- loops ---------------------------------------------------------------------------------------------------

    def compared(self, machine: Chunk, first: Any, second: Any) -> None:
        if self._tests:
            self._tests[-1].append(int(uniform(first)) - int(uniform(second)))

    def iterations(self, machine: Chunk, loop: Even, counts: Iterable[Any]) -> Iterator[Any]:
        """Those that show how the others go on, and the last."""
        counts = counts if isinstance(counts, range) else list(counts)
        if self.complete or machine.semaphores is not None or len(counts) < SHORTEST:
            yield from counts
            return
        core = self._core(machine)
        seen: list[tuple[int, int, list[int]]] = []  # of each iteration where it ends, and its tests
        at = 0
        begin = len(core.items), len(core.places), list[int]()
        while at < len(counts):
            self._tests.append([])
            yield counts[at]
            tests = self._tests.pop()
            if self._tests:
                self._tests[-1] += tests
            at += 1
            seen.append((len(core.items), len(core.places), tests))
            for period in (loop.period, 2 * loop.period, 4 * loop.period):
                left = (len(counts) - 1 - at) // period
                if left < LEAST or len(seen) < 3 * period:
                    break
                found = _going_on(core, [begin, *seen][-3 * period - 1 :], period, left)
                if found is not None:
                    core.repeats[len(core.items)] = found
                    at += found.times * period
                    begin, seen = (len(core.items), len(core.places), []), []
                    break

    # --- steps ---------------------------------------------------------------------------------------------------

    def execute(self, moment: Moment) -> Any:
        instr, item = moment.instr, self._fixed.get(moment.op)
        self.found.executed += 1
        if item is not None:
            self._core(moment.machine).items.append(item.number)
            return None
        if instr is None:
            return self._element(moment)
        if instr.order.only or instr.order.between_cores:
            return self._ordering(moment)
        tiles = any(isinstance(value, Tile | View) for value in moment.operands)
        if not tiles and (instr.produces or isinstance(instr.meaning, Unrun)):
            return moment.run()
        self._work(moment)
        if self.values:
            return moment.run()
        if instr.produces:
            if any(operand.kind is Kind.SCALAR for operand in instr.produces):
                self._refuse(f"{moment.name} in line {moment.location.line} gives a number that only the run knows")
            return moment.run()
        return None

    def _element(self, moment: Moment) -> Any:
        given = moment.given
        pointer, write = given["ptr"], "value" in given
        local = not isinstance(pointer, Pointer)
        if not self.values and not write:
            line = moment.location.line
            if local:
                self._refuse(f"line {line} reads a number from on-chip memory")
            if pointer.buffer is not None and pointer.buffer.name in self.written:
                self._refuse(f"line {line} reads a number of {pointer.buffer.name}, which the kernel writes")
        part = self.costs.part
        cost = Cost(Pipe.S, float(part.issue if write else part.scalar_load), part.scalar_load.evidence)
        name, line = moment.step.word, moment.location.line
        self._push(moment.machine, self._item((moment.op, name), What.WORK, SCALAR, name, line, cost=cost))
        return None if write and not self.values else moment.run()

    def _refuse(self, why: str) -> None:
        self.needs = NeedsValues(why)
        raise self.needs

    def part(self, moment: Moment) -> Any:
        self._work(moment, self._here[moment.machine])
        return moment.run() if self.values else None

    def threads(self, moment: Moment) -> Any:
        self.found.executed += 1
        name = moment.op.name.removeprefix("pto.")
        cost = Cost(Pipe.V, 1100.0, ASSUMED)  # a launch of threads in the vendor's simulator, whatever they do
        self._push(moment.machine, self._item((moment.op, name), What.WORK, 4, name, moment.location.line, cost=cost))
        return moment.run() if self.values else None

    def _work(self, moment: Moment, of: tuple[Op, str] | None = None) -> None:
        """Note an instruction; ``of``: the operation between cores that it is a part of."""
        step, operands = moment.step, moment.operands
        op, name = (step.op, step.name) if of is None else of
        key = (op, step.name, *map(_key, operands))
        item = self._known.get(key)
        if item is None:
            item = self._known[key] = self._new(moment, key, name, op.location.line)
        place = 0
        if item.place:
            assert item.cost is not None
            view = moment.given[item.cost.view]
            place = int(uniform(view.offset)) * (1 if view.dtype.packed else view.dtype.size)
        self._push(moment.machine, item, place)

    def _new(self, moment: Moment, key: Hashable, name: str, line: int) -> Item:
        given, written = moment.given, moment.written
        cost = self.costs.of(moment.step, given, written)
        memory, placed = "", False
        if cost.view:
            buffer = given[cost.view].buffer
            given[cost.view].check_bounds()
            memory, placed = "" if buffer is None else buffer.name, buffer is not None
        reads: list[Hashable] = []
        writes: list[Hashable] = []
        if self.by_data:
            for operand, value in given.items():
                if isinstance(value, Tile):
                    home = value.home
                    (writes if operand in written else reads).append((value.spec.loc, home.start, id(home.arena)))
                    if operand in written and operand in moment.read:
                        reads.append(writes[-1])
        more: dict[str, Any] = {"cost": cost, "memory": memory, "place": placed}
        more |= {"reads": tuple(reads), "writes": tuple(writes)}
        return self._item(key, What.WORK, _NUMBER[cost.pipe], name, line, **more)

    # --- order ---------------------------------------------------------------------------------------------------

    def _ordering(self, moment: Moment) -> Any:
        step, instr = moment.step, moment.instr
        assert instr is not None
        assert step.site is not None
        kind, attrs = step.site.core, step.attrs
        event = moment.given.get("event")
        number = attrs.get("event_id", 0) if event is None else int(uniform(event))
        self._here[moment.machine] = moment.op, instr.name
        does = instr.order.does
        if does in (Sync.SET, Sync.WAIT):
            if not self.by_data:
                self._flag(moment, does is Sync.SET, *flag_pipes(attrs, kind), number)
        elif does in (Sync.BARRIER, Sync.TAKE, Sync.RELEASE):
            if not self.by_data:
                token = int(uniform(moment.given["buf"])) if "buf" in moment.given else attrs.get("id")
                self._order(moment, _WHATS[does], held_pipe(attrs, kind), token)
        elif not self.by_data or instr.order.between_cores:
            match does:
                case Sync.SIGNAL:
                    mode = attrs.get("ffts_mode")
                    self._order(moment, What.SIGNAL, attrs["pipe"], number, IN_BLOCK if mode is None else mode)
                case Sync.AWAIT:
                    self._order(moment, What.AWAIT, attrs["pipe"], number)
                case Sync.MEET:
                    used = moment.given.get("used")
                    count = 0 if used is None else int(uniform(used))
                    self._order(moment, What.MEET, Pipe.S, (CORE_KINDS[attrs["core_type"]], count))
                case None if instr.order.only or instr.order.waits:
                    assert self.found.untimed is not None
                    self.found.untimed[instr.name] = self.found.untimed.get(instr.name, 0) + 1
        if self.values or instr.order.waits or instr.produces or instr.order.between_cores:
            return moment.run()
        return None

    def _flag(self, moment: Moment, sets: bool, src: Pipe | None, dst: Pipe | None, number: int) -> None:
        if src is None or dst is None:
            return
        self._order(moment, What.SET if sets else What.WAIT, src if sets else dst, (_NUMBER[src], _NUMBER[dst], number))

    def piped(self, machine: Chunk, event: Event) -> None:
        op, name = self._here[machine]
        on_cube = machine.pipes.on_cube
        match event:
            case Pushed(ring, k):
                self._slot(op, name, machine, What.POST, Pipe.FIX if on_cube else Pipe.MTE3, ring, True, k)
            case Freed(end, ring, k):
                local = Pipe.MTE1 if on_cube else Pipe.V
                pipe = local if end.memory is None else Pipe.MTE2
                self._slot(op, name, machine, What.POST, pipe, ring, False, k)
            case Waiting():
                ring, lanes, producing = event.ring, event.lanes, event.producing
                through_memory = any(
                    end.memory is not None for end in machine.pipes.opened if ring in end.rings.values()
                )
                local = Pipe.MTE2 if through_memory else Pipe.MTE1 if on_cube else Pipe.V
                pipe = (Pipe.FIX if on_cube else Pipe.MTE3) if producing else local
                needed = ring.consumers(lanes) if producing else ring.producers(lanes)
                k = event.k - (ring.slots if producing else 0)
                if k >= 0:
                    self._slot(op, name, machine, What.SLOT, pipe, ring, not producing, k, needed)

    def _slot(
        self,
        op: Op,
        name: str,
        machine: Chunk,
        what: What,
        pipe: Pipe,
        ring: Ring,
        full: bool,
        k: int,
        needed: tuple[int, ...] = (),
    ) -> None:
        key = (id(ring), full, needed if what is What.SLOT else machine.subblock)
        self._rings[id(ring)] = ring  # keep it, so that its id stays its own
        number = _NUMBER[pipe]
        item = self._item((op, what, number, key), what, number, name, op.location.line, key=key, place=True)
        self._push(machine, item, k)


SHORTEST, LEAST = 12, 3
"""A loop with fewer iterations is followed in full; fewer are not left out."""


def _going_on(core: Issued, seen: list[tuple[int, int, list[int]]], period: int, left: int) -> Repeat | None:
    """How often the last `period` iterations are issued again, at most `left` times, if three such groups are alike."""
    marks = [seen[k * period] for k in range(4)]
    codes = [core.items[a[0] : b[0]] for a, b in pairwise(marks)]
    if not codes[0] == codes[1] == codes[2] or not codes[0] or len(core.items) in core.repeats:
        return None
    places = [core.places[a[1] : b[1]] for a, b in pairwise(marks)]
    moves = tuple(b - a for a, b in zip(places[1], places[2]))
    if moves != tuple(b - a for a, b in zip(places[0], places[1])):
        return None
    inner = [
        [(at - a[0], repeat) for at, repeat in core.repeats.items() if a[0] < at < b[0]] for a, b in pairwise(marks)
    ]
    if not inner[0] == inner[1] == inner[2]:
        return None
    for k in range(period):
        first, second, third = (seen[1 + k + n * period][2] for n in range(3))
        if not len(first) == len(second) == len(third):
            return None
        for a, b, c in zip(first, second, third):
            if c - b != b - a:
                return None
            if c != b:
                left = min(left, _before_zero(c, c - b))
    return Repeat(len(codes[2]), len(places[2]), left, moves) if left >= LEAST else None


def _before_zero(value: int, move: int) -> int:
    """How often a number can move without becoming 0 or changing its sign."""
    if value == 0:
        return 0
    return (abs(value) - 1) // abs(move) if (value > 0) != (move > 0) else 1 << 62


def _key(value: Any) -> Any:
    """What the cost of an instruction depends on, and which tile it is."""
    if isinstance(value, Tile):
        return value.storage.serial, value.vr, value.vc
    if isinstance(value, View):
        return value.dims, value.strides, value.stated_layout, id(value.buffer)
    return None
