"""What each core issues, followed without computing what tiles hold.

Steps that give numbers, views or tiles are carried out, and what lets cores wait for each other. Instructions on tiles
are only noted: what they cost follows from their operands' sizes.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from functools import partial
from itertools import pairwise
from typing import Any

from ptokit.ir.core import Op
from ptokit.ir.facts import instr_of
from ptokit.ir.launch import with_reached
from ptokit.isa.meaning.words import Transfer, Unrun
from ptokit.isa.order.core_sync import COMPARE, CORE_KINDS, elements, signal_values
from ptokit.isa.order.sync_rules import flag_pipes, held_pipe, unit_flag
from ptokit.isa.table import Kind, Sync
from ptokit.machine.chunk import Chunk
from ptokit.machine.global_memory import Pointer, View
from ptokit.machine.lanes import uniform
from ptokit.machine.local_memory import LocalPointer
from ptokit.machine.loops import Even
from ptokit.machine.observer import Moment, Observer
from ptokit.machine.signals import CoreId, Event, Freed, Pushed, Ring, Waiting
from ptokit.machine.tiles import Tile
from ptokit.run.program import Program
from ptokit.targets.base import ASSUMED
from ptokit.types.enums import Pipe, TileType

from .model import Cost, Costs
from .state import EVERY, IN_BLOCK, MEMORY, PIPES, SCALAR, Issued, Item, LaunchItems, Repeat, What

_NUMBER = {pipe: k for k, pipe in enumerate(PIPES)} | {
    Pipe.MTE4: 1,
    Pipe.MTE2_L1A: 1,
    Pipe.MTE2_L1B: 1,
    Pipe.MTE5: 6,
    Pipe.V2: 4,
}
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
        self._raised: dict[int, set[Hashable]] = {}  # unit flags, by core, as far as it has issued
        self._here: dict[Chunk, tuple[Op, str]] = {}  # what a core does between cores
        self._rings: dict[int, Ring] = {}
        self._told = 0  # how often signals have been set
        self._signals: dict[Hashable, list[tuple[int, int]]] = {}  # what each was then, and first
        self._heard: dict[tuple[int, Hashable], int] = {}  # the last of these that a core has waited for

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
            place = _place(moment.given[item.cost.view])
        changes = unit_flag(step.attrs)
        if changes is None or item.cost is None:
            self._push(moment.machine, item, place)
            return
        self._unit(moment, item, place, changes)

    def _unit(self, moment: Moment, item: Item, place: int, changes: bool) -> None:
        """A product that waits until its accumulator has been drained, or a drain that waits for the product."""
        at = next((_start(v) for v in moment.given.values() if isinstance(v, Tile | LocalPointer) and _in_l0c(v)), None)
        own, other = (Pipe.FIX, Pipe.M) if item.pipe == _NUMBER[Pipe.FIX] else (Pipe.M, Pipe.FIX)
        into, back = ((_NUMBER[a], _NUMBER[b], f"unit flags of L0C byte {at}") for a, b in ((other, own), (own, other)))
        raised = self._raised.setdefault(self._core(moment.machine).core.index, set())
        if into in raised:
            self._order(moment, What.WAIT, own, into)
            if changes:
                raised.discard(into)
            else:
                self._order(moment, What.SET, own, into)
        self._push(moment.machine, item, place)
        if changes:
            raised.add(back)
            self._order(moment, What.SET, own, back)

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
        elif does is Sync.SEEN and attrs.get("scope") not in (None, "local_memory"):
            self._order(moment, What.BARRIER, Pipe.ALL, MEMORY)
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
                case None if isinstance(word := instr.meaning_at(step.site), Transfer):
                    self._copy(moment, word)
                case None if instr.order.only or instr.order.waits:
                    assert self.found.untimed is not None
                    self.found.untimed[instr.name] = self.found.untimed.get(instr.name, 0) + 1
        if does is Sync.TELL:
            return self._tell(moment)
        if does is Sync.HEAR:
            moment.machine.when_over = partial(self._hear, moment)
        if self.values or instr.order.waits or instr.produces or instr.order.between_cores:
            return moment.run()
        return None

    def _copy(self, moment: Moment, word: Transfer) -> None:
        """Global memory goes through tiles of this core to other global memory: load by load, then store by store."""
        op, line, tiles = moment.op, moment.location.line, ("between devices", moment.op)
        for name, write in ((word.src, False), (word.dst, True)):
            among = moment.given[name]
            for k, view in enumerate((among,) if isinstance(among, View) else among):
                cost = self.costs.between(view, write=write)
                key = op, name, k, _key(view)
                link: dict[str, Any] = {"writes" if write else "reads": (), "reads" if write else "writes": (tiles,)}
                memory = "" if view.buffer is None else view.buffer.name
                number = _NUMBER[cost.pipe]
                item = self._item(
                    key, What.WORK, number, moment.name, line, cost=cost, memory=memory, place=True, **link
                )
                self._push(moment.machine, item, _place(view))

    def _tell(self, moment: Moment) -> Any:
        """Signals are set. All pipes are drained afterwards, none before."""
        signal = moment.given["signal"]
        before = signal_values(signal).reshape(-1).tolist()
        result = moment.run()
        self._told += 1
        for word, old, new in zip(_words(signal), before, signal_values(signal).reshape(-1).tolist()):
            self._signals.setdefault(word, [(0, old)]).append((self._told, new))
        self._between(moment, What.TELL, self._told)
        self._order(moment, What.BARRIER, Pipe.ALL, MEMORY)
        return result

    def _hear(self, moment: Moment, _: Any) -> None:
        """A wait for signals is over: for the first that let it go on, and for those before them."""
        signal, compares = moment.given["signal"], COMPARE[moment.step.attrs["cmp"]]
        core = self._core(moment.machine).core.index
        for word in _words(signal):
            told = self._signals.get(word, [])
            heard = self._heard.get((core, word), 0)
            held = (k for k in range(heard, len(told)) if compares(told[k][1], moment.given["value"]))
            last = next(held, len(told) - 1)
            for number, _ in told[heard + 1 : last + 1]:
                self._between(moment, What.HEAR, number)
            self._heard[core, word] = max(heard, last)

    def _between(self, moment: Moment, what: What, number: int) -> None:
        line = moment.location.line
        item = self._item((moment.op, what), what, SCALAR, moment.name, line, place=True)
        self._push(moment.machine, item, number)

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


def _in_l0c(value: Tile | LocalPointer) -> bool:
    return (value.spec.loc is TileType.Acc) if isinstance(value, Tile) else value.space == "l0c"


def _start(value: Tile | LocalPointer) -> Any:
    return value.home.start if isinstance(value, Tile) else uniform(value.address)


def _place(view: View) -> int:
    return int(uniform(view.offset)) * (1 if view.dtype.packed else view.dtype.size)


def _words(signal: View) -> list[Hashable]:
    """The signals of a tensor by their bytes, which several arguments may show."""
    assert signal.buffer is not None
    first = signal.buffer.mem.ctypes.data + int(uniform(signal.offset)) * signal.dtype.size
    return [first + at * signal.dtype.size for at in elements(signal).reshape(-1).tolist()]


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


def has_flags(program: Program) -> bool:
    """True if the program orders its pipes itself; where it does not, data does."""
    functions = with_reached(program.module, program.entry).functions
    ops = (op for function in functions if function.body is not None for op in function.body.walk())
    found = (instr_of(op) for op in ops)
    return any(i is not None and i.order.only and i.order.does not in (Sync.WITHIN, Sync.SEEN) for i in found)
