"""A core under observation: its memory, its order, where findings go, and the pipes between cores."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from typing import Any

from ptokit.diagnostics import Note
from ptokit.ir.core import Op
from ptokit.ir.facts import instr_of
from ptokit.isa.checks.tile_types import buffer_name
from ptokit.machine.chunk import Chunk
from ptokit.machine.lanes import uniform
from ptokit.machine.observer import Moment, Observer
from ptokit.machine.pipes import Reserved
from ptokit.machine.signals import Event, Freed, Popped, Pushed, Ring, Waiting
from ptokit.machine.storage import Arena
from ptokit.machine.tiles import Tile
from ptokit.records import dataclass
from ptokit.targets import Target
from ptokit.types.enums import Pipe, TileType

from ..findings.addresses import PLACES, sharing
from ..findings.addresses import Ring as RingBytes
from ..findings.races import Draft, Findings
from ..memory.gm import Located, Producers
from ..memory.shadow import Group, Owners, Space
from ..simulation.clocks import Touch
from ..simulation.core import AwaitSlot, Core, FlagKey, Item, Loops, PostSlot, SetFlag, WaitFlag, Work
from ..simulation.queues import Simulation
from .vector_scopes import ScopeOrder

# A core under observation, as the checks see it: its memory, its order, and where findings and items go.


@dataclass
class Buffers:
    """On-chip memory of a core, or of the cores of a cluster: by arena, what is known of its bytes."""

    spaces: dict[int, Space] = field(default_factory=dict)
    owners: dict[int, Owners] = field(default_factory=dict)  # by space
    groups: dict[Op, Group] = field(default_factory=dict)  # tiles by what allocates them
    changes: int = 0  # how often bytes came to belong to another tile


@dataclass(slots=True)
class Prefetch:
    """A prefetch that nobody has waited for."""

    session: Any
    event: int
    work: Work
    touches: list[Touch]


@dataclass(slots=True)
class Moving:
    """A transfer to or from another device that nobody has waited for."""

    session: Any
    event: int
    work: Work


class ObservedCore(Observer):
    """What checks ask of the core whose step they look at."""

    machine: Chunk
    target: Target
    findings: Findings
    memories: dict[int, Located]
    simulation: Simulation
    in_order: bool
    here: Op  # the operation that is carried out
    flags: dict[Op, tuple[type[SetFlag | WaitFlag], str, Pipe, FlagKey]]
    core: Core
    buffers: Buffers
    scope_order: ScopeOrder
    prefetches: list[Prefetch]  # that nobody has waited for
    moving: list[Moving]
    producers: Producers

    @property
    def loops(self) -> Loops:
        """The loops around what the core executes now."""
        return self.machine.nest.loops

    def space_of(self, arena: Arena, loc: TileType, name: str) -> Space:
        """The shadow of an arena; ``name`` is that of an arena that is no buffer of the core."""
        space = self.buffers.spaces.get(id(arena))
        if space is None:
            name = buffer_name(loc) if self.machine.home(loc).holds(arena) else name
            space = self.buffers.spaces[id(arena)] = Space(name, arena.size)
        return space

    def report(self, rule: str, op: Op, key: Any, make: Callable[[], Draft]) -> None:
        """Record a finding at an operation; one of each ``key`` is kept as the example."""
        item = Item(op, op.name, Pipe.S, self.loops)
        unique = key if rule in PLACES else (op, key)
        self.findings.add(rule, unique, self.core, item, make)

    def tile_of(self, tile: Tile) -> Group | None:
        """The tile that one is, or is an alias of; None where it has just been popped from a pipe."""
        raise NotImplementedError

    def catch_up(self, pipe: Pipe) -> None:
        """What comes next on `pipe` is carried out at once: so has to be all that it comes after."""

    def push(self, item: Item) -> None:
        """The core has issued `item`."""
        raise NotImplementedError

    def instruction(self, moment: Moment, given: Mapping[str, Any]) -> Any:
        """Carry out and check an instruction; its result."""
        raise NotImplementedError


# Pipes between cores under observation: what is moved, which pipe waits for a slot, and who reads one that has been
# given back (compute-layout-irregular 3.2).


Given = Mapping[str, Any]


@dataclass(frozen=True)
class _Given:
    """A slot that a consumer has given back."""

    tile: Tile
    op: Op


class PipeWatch:
    """The pipes of a core that is watched."""

    def __init__(self, observer: ObservedCore) -> None:
        self.o = observer
        self.pipes = observer.machine.pipes
        self._tiles: dict[tuple[Ring, int], Tile] = {}  # popped and not yet freed
        self.given: dict[tuple[int, int], _Given] = {}  # freed, by the memory of a slot
        self._popped: set[Op] = set()  # what makes the tiles that are slots
        self._rings: list[RingBytes] = []
        self._ends = 0  # of pipes, whose rings are known

    @property
    def rings(self) -> list[RingBytes]:
        """Where the slots lie that this core pops from."""
        on_cube, opened = self.pipes.on_cube, self.pipes.opened
        space = buffer_name(TileType.Mat if on_cube else TileType.Vec)
        for end in opened[self._ends :]:
            ring, buffer = end.rings.get(not on_cube), end.buffers[not on_cube]
            if ring is None or buffer is None or (isinstance(buffer, Reserved) and buffer.apart):
                continue
            start, slots = int(uniform(buffer)), end.slots if end.memory is None else end.local_slots
            self._rings.append(RingBytes(ring.name, space, start, start + slots * end.slot_size))
        self._ends = len(opened)
        return self._rings

    @property
    def name(self) -> str:
        """The operation that is carried out."""
        instr = instr_of(self.o.here)
        assert instr is not None
        return instr.name

    def note(self, event: Event) -> None:
        """A wait for a pipe begins, or an entry has been moved or freed."""
        o, on_cube = self.o, self.pipes.on_cube
        match event:
            case Pushed(ring, k):
                ring.pushers[k] = o.here
                ring.pushers.pop(k - 4 * ring.slots, None)
                o.push(PostSlot(o.here, self.name, Pipe.FIX if on_cube else Pipe.MTE3, ring=ring, k=k))
            case Popped(end, ring, k, entry) if isinstance(entry, Tile) and end.memory is None:
                self._slot(entry)
                self._tiles[ring, k] = entry
                self.given.pop((id(entry.storage.arena), entry.storage.start), None)
            case Popped(entry=entry) if isinstance(entry, Tile):
                self._slot(entry)
            case Freed(end, ring, k):
                tile = self._tiles.pop((ring, k), None)
                if tile is not None:
                    self.given[id(tile.storage.arena), tile.storage.start] = _Given(tile, o.here)
                local = Pipe.MTE1 if on_cube else Pipe.V
                pipe = local if end.memory is None else Pipe.MTE2
                o.push(PostSlot(o.here, self.name, pipe, ring=ring, k=k, full=False))
            case Waiting():
                pipe = Pipe.S if o.in_order else self._waits_on(event)
                o.push(AwaitSlot(o.here, self.name, pipe, waiting=event))

    def _slot(self, tile: Tile) -> None:
        group = self.o.tile_of(tile)
        self._popped.add(self.o.here if group is None else group.op)

    def _waits_on(self, waiting: Waiting) -> Pipe:
        """The pipe that a wait holds, where it does not hold the scalar unit."""
        on_cube = self.pipes.on_cube
        if waiting.producing:
            return Pipe.FIX if on_cube else Pipe.MTE3
        if any(end.memory is not None for end in self.pipes.opened if waiting.ring in end.rings.values()):
            return Pipe.MTE2
        return Pipe.MTE1 if on_cube else Pipe.V

    def part(self, moment: Moment) -> Any:
        """An instruction that moves an entry stands where the operation on the pipe does."""
        o, step = self.o, moment.step
        assert step.instr is not None
        alike = {"alike": ("slot",)} if self.pipes.whole and not self.pipes.on_cube else {}  # all cores write the same
        attrs = {**step.attrs, **alike}
        named = replace(step, op=o.here, instr=replace(step.instr, name=self.name), attrs=attrs)
        inner = Moment(named, moment.machine, moment.operands)
        return o.instruction(inner, inner.given)

    def check(self, op: Op, name: str, reads: Sequence[Touch], writes: Sequence[Touch]) -> None:
        """PIPE-FREED: an instruction reads a tile whose slot has been given back. PIPE-RING: it touches another tile
        among the slots."""
        o, instr = self.o, instr_of(op)
        if not self.pipes.opened:
            return
        for ring in self.rings if instr is not None and instr.name not in OPERATIONS else ():
            for touch in (*reads, *writes):
                tile, where = touch.owner, touch.where
                if tile is None or tile.op in self._popped or touch.space.name != ring.space:
                    continue
                if touch.region is not None and where.lo < ring.end and ring.start < where.hi:
                    o.report("PIPE-RING", op, (tile.op, ring.name), partial(_inside, op, touch, ring))
        for (arena, start), given in self.given.items():
            end = start + given.tile.spec.nbytes
            for touch in reads:
                space = o.buffers.spaces.get(arena)
                if touch.owner is not None and touch.owner.op not in self._popped:
                    continue
                if touch.space is space and touch.where.lo < end and start < touch.where.hi:
                    o.report("PIPE-FREED", op, given.op, partial(_after, op, name, touch, given))


def _after(op: Op, name: str, touch: Touch, given: _Given) -> Draft:
    message = f"{name} reads {touch.name} after its slot has been freed"
    note = Note("it is freed here", given.op.location)
    return Draft(message, op.location, "free the slot after the last use of the tile", [note])


def _inside(op: Op, touch: Touch, ring: RingBytes) -> Draft:
    tile, region = touch.owner, touch.region
    assert region is not None
    start, end = max(region.start, ring.start), min(region.start + region.spec.nbytes, ring.end)
    message = sharing(tile.name, ring.shown, ring.space, start, end)
    notes = [Note(f"{tile.name} is used here", op.location)]
    return Draft(message, tile.op.location, "give the tile another address", notes)


def handle(o: ObservedCore, op: Op, given: Given, attrs: Given, run: Callable[[], Any]) -> Any:
    """An operation on pipes: what it does tells `PipeWatch`."""
    o.here = op
    return run()


def left_in(observer: ObservedCore, findings: Findings) -> None:
    """PIPE-LEFT: entries that have been pushed and never popped, by the time that a core's cluster has ended."""
    core, pipes = observer.core, observer.machine.pipes
    for ring in pipes.board.rings.values():
        pushed = ring.pushed.get(pipes.me, 0) if pipes.on_cube == ring.c2v else 0
        popped = min(ring.popped.values(), default=0)
        op = ring.pushers.get(popped)
        if pushed <= popped or op is None:
            continue

        def make(ring: Ring = ring, count: int = pushed - popped, op: Op = op) -> Draft:
            what = "this entry" if count == 1 else f"the last {count} entries"
            return Draft(
                f"{what} of {ring.name} {'is' if count == 1 else 'are'} never popped", op.location,
                "pop as often as is pushed",
            )  # fmt: skip

        findings.add("PIPE-LEFT", (op, ring.name), core, None, make)


OPERATIONS = (
    "reserve_buffer",
    "import_reserved_buffer",
    "initialize_l2g2l_pipe",
    "initialize_l2l_pipe",
    "declare_global",
    "set_quant_scalar",
    "set_quant_vector",
    "TPUSH",
    "TPOP",
    "TFREE",
    "TALLOC",
    *(f"{core}_initialize_pipe" for core in ("aic", "aiv")),
    *(f"{verb}_{core}" for verb in ("tpush_to", "tpop_from", "tfree_from", "talloc_to") for core in ("aic", "aiv")),
)
"""Names of the operations on pipes."""
