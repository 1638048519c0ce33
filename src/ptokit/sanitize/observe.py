"""What is noted of each step of a core: values are as ever, and every step becomes an item of the simulation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from ptokit.ir.core import Op
from ptokit.isa.checks.tile_types import buffer_name
from ptokit.isa.checks.tiles import pipe_on
from ptokit.isa.meaning.words import Fold, Lane, Move
from ptokit.isa.site import Site, TileInfo, ViewInfo
from ptokit.isa.table import Engine, Instr
from ptokit.machine.chunk import Chunk
from ptokit.machine.global_memory import Pointer, View
from ptokit.machine.lanes import Fault, uniform
from ptokit.machine.local_memory import SPACES, Access, LocalPointer, Rows
from ptokit.machine.observer import Moment
from ptokit.machine.signals import Event
from ptokit.machine.storage import Storage
from ptokit.machine.tiles import Tile, infos
from ptokit.records import dataclass
from ptokit.targets import Target
from ptokit.types.enums import Pipe

from .checks import placement
from .checks.analysis import Watched
from .checks.core import Buffers, ObservedCore, PipeWatch
from .checks.engines import HANDLERS, check_prefetches
from .checks.flags import ProgramOrder, alias_pipes, synchronise, unit_flags
from .checks.placement import chosen, leaves_memory, leaves_shape, place, run_scatter, scattered, sliced, visited
from .checks.registers import Registers
from .checks.vector_scopes import ScopeOrder, Sources
from .findings.races import Draft, Findings
from .memory.gm import (
    Located,
    Producers,
    Scattered,
    accesses,
    atomic_kind,
    footprint_of,
    in_global_memory,
    needed_of,
    tile_touch,
)
from .memory.shadow import Group, Owners, Space
from .simulation.clocks import Touch, meet
from .simulation.core import Barrier, Core, FlagKey, Item, SetFlag, WaitFlag, Work
from .simulation.queues import Simulation

_REMEMBERED = 4096  # combinations of operands per core


INITIAL = 0xA5
"""Byte that on-chip memory starts with."""

REGIONS = {"EW-05": ("UNINIT-READ", "PAD-READ", "RACE-SELF"), "EW-10": ("RACE-SELF",)}
"""Rules about valid regions and overlaps, which forbid what memory shows: whether it does, the sanitizer finds."""


class CoreObserver(ObservedCore):
    """Watches one core at a time: what its program does becomes items of the simulation."""

    def __init__(
        self,
        target: Target,
        total: int,
        findings: Findings,
        memories: dict[int, Located],
        simulation: Simulation,
        deferred: dict[Op, Fault],
        sources: Sources,
        *,
        extended: bool,
        placed: bool,
        in_order: bool,
        waits_for_work: bool,
        also: frozenset[str] = frozenset(),
    ) -> None:
        self.machine = Chunk(target, 1, total, "exact", extended=extended, initial=INITIAL)
        self.machine.observer = self
        self.target, self.findings, self.memories, self.sources = target, findings, memories, sources
        self.placed, self.waits_for_work = placed, waits_for_work
        self.also = also
        self.in_order = in_order  # a core completes one instruction after the other
        self.instructions = 0
        self.simulation, self.deferred = simulation, deferred
        self.here: Op
        self._pipes: dict[Op, Pipe] = {}
        self.flags: dict[Op, tuple[type[SetFlag | WaitFlag], str, Pipe, FlagKey]] = {}  # with ids in the text

    def watch(self, core: Core, buffers: Buffers) -> None:
        """A core starts: new memory (shared in a cluster), flags and loops."""
        self.core, self.buffers = core, buffers
        self.order = ProgramOrder(core, self.findings, alias=alias_pipes(self.also, self.target))
        self.scope_order = ScopeOrder(self.sources, self.report)
        self.registers = Registers()
        self.pipes = PipeWatch(self)
        self._sequence = 0
        self.touched: list[Touch] = []  # by address, by the running instruction
        self._of_tile: dict[int, Group] = {}
        self._known: dict[Any, _Known] = {}
        self.producers = Producers(self._of_tile, self.memories)
        self._marked: set[int] = set()
        self.prefetches, self.moving = [], []

    def scope(self, machine: Chunk, *, begins: bool) -> None:
        if begins:
            self.scope_order.begin()
        else:
            self.scope_order.end()

    # --- tiles and views -----------------------------------------------------------------------------------------

    def make(self, moment: Moment) -> Any:
        step = moment.step
        if step.word == "slice":
            return sliced(step.op, *moment.operands)
        made = moment.run()
        self._bind(moment, made)
        return made

    def _bind(self, moment: Moment, made: Any) -> None:
        """Tiles that a step has made are aliases of the tile that it was given, if any."""
        for tile in made if isinstance(made, list) else [made]:
            if isinstance(tile, Tile):
                parent = next((o for o in moment.operands if isinstance(o, Tile)), None)
                self._bound(moment.op, tile, parent)

    def _bound(self, op: Op, tile: Tile, parent: Tile | None) -> None:
        """A tile has been made by `op`, as an alias or a new binding of `parent`."""
        group = self._of_tile.get(id(parent)) if parent is not None else None
        if group is None:
            groups = self.buffers.groups
            group = groups.setdefault(op, Group(len(groups) + 1, op, tile.name, tile.spec))
        tile.name = tile.name or group.name
        self._of_tile[id(tile)] = group
        if tile.home.serial not in self._marked:
            self._marked.add(tile.home.serial)
            self._mark(tile.home)

    def _mark(self, storage: Storage) -> None:
        """Fill what nobody has written of a tile of floats with NaN, so that results show it.

        That is what still holds the initial bytes: when accesses are checked tells nothing of when values are written.
        """
        element = storage.element
        if not np.issubdtype(element, np.inexact) and element.kind != "V":
            return
        start, end = storage.start, storage.start + storage.spec.nbytes
        storage.arena.settle(start, end, write=True)
        fresh = (storage.bytes[0].reshape(-1, element.itemsize) == INITIAL).all(axis=1)
        storage.bytes.view(element)[:, fresh] = np.nan

    def tile_of(self, tile: Tile) -> Group | None:
        return self._of_tile.get(id(tile))

    def _space(self, tile: Tile) -> Space:
        return self.space_of(tile.storage.arena, tile.spec.loc, f"tile {tile.name}")

    # --- instructions --------------------------------------------------------------------------------------------

    def push(self, item: Item) -> None:
        self._sequence += 1
        item.seq = self._sequence
        item.loops = self.loops
        if self.prefetches and isinstance(item, Work):
            check_prefetches(self, item)
        if self.order.issue(item):
            self.simulation.push(self.core, item)
        if self.in_order and isinstance(item, Work):
            self.simulation.push(self.core, Barrier(item.op, item.name, Pipe.ALL))

    def execute(self, moment: Moment) -> Any:
        step = moment.step
        flag = self.flags.get(step.op)
        if flag is not None:
            of, name, pipe, key = flag
            self.push(of(step.op, name, pipe, key=key))
            return None
        instr = step.instr
        self.here = step.op
        if instr is None:
            return self.element(moment)
        given = moment.given
        if instr.name in HANDLERS:
            self.instructions += 1
            return HANDLERS[instr.name](self, step.op, given, step.attrs, partial(unchecked, moment))
        if instr.order.only:
            assert step.site is not None
            synchronise(self, step.op, instr, step.site.core, given, step.attrs)
            return unchecked(moment)
        self.instructions += 1
        return self.instruction(moment, given)

    def instruction(self, moment: Moment, given: Mapping[str, Any]) -> Any:
        """An instruction: what it touches is worked out, then it runs, then it is issued."""
        op, instr, static = moment.op, moment.step.instr, moment.step.site
        assert instr is not None
        assert static is not None
        known = self._known_accesses(op, instr, static, given, moment.step.attrs)
        self.pipes.check(op, instr.name, known.reads, known.writes)
        result, in_memory = self._run(moment, instr, known, given)
        if result is not None:
            self._bind(moment, result)
        pipe = self._pipes.get(op)
        if pipe is None:
            pipe = self._pipes[op] = pipe_on(instr.pipe_of(static), static.core)
        touches = [*known.reads, *(t for t in in_memory if not t.write), *known.writes]
        touches += [t for t in in_memory if t.write]
        addressed = self.taken()
        if pipe is Pipe.V:
            self.scope_order.follow(op, self.loops, addressed, moment.operands, result)
        touches += addressed
        work = Work(op, instr.name, pipe, touches=touches, keep=self.waits_for_work)
        if pipe is Pipe.V:
            work.flow = self.registers.follow(moment, static, given, addressed)
        if not self.in_order:
            work.use = unit_flags(pipe, moment.step.attrs, touches)
        if self.target.of(instr.engines) is Engine.SEVERAL_PIPES:
            work.loops = self.loops
            self.order.hidden(work)
        if self.waits_for_work:
            self.producers.wrote(work, instr, given)
        self.push(work)
        return result

    def remark(self, rule: str, message: str) -> None:
        """A rule of warning severity that the values of the running instruction break."""
        op = self.here
        self.report(rule, op, message, partial(Draft, f"{op.name.removeprefix('pto.')}: {message}", op.location))

    def _site(self, instr: Instr, static: Site, given: Mapping[str, Any], attrs: Mapping[str, Any]) -> Site:
        found = {**static.operands, **infos(given, static.operands)}
        return Site(instr, self.target, found, attrs, self.machine.extended, static.text, static.core)

    def _known_accesses(
        self, op: Op, instr: Instr, static: Site, given: Mapping[str, Any], attrs: Mapping[str, Any]
    ) -> _Known:
        """What an instruction accesses. It depends on sizes and positions only, so one call tells it for the next."""
        key = (op, *map(_key, given.values()))
        known = self._known.get(key)
        if known is None:
            site = self._site(instr, static, given, attrs)
            touches: list[Touch] = []
            views = []
            for access in accesses(site):
                info = site.operands.get(access.operand)
                if isinstance(info, TileInfo):
                    tile = info.data if not access.sub else self.machine.on_sub_core(info.data, access.sub) or info.data
                    touch = tile_touch(site, access, info, self._space(tile))
                    if touch is not None:
                        touch.owner = self._of_tile.get(id(info.data))
                        touches.append(touch)
                elif isinstance(info, ViewInfo):
                    kind = atomic_kind(site) if access.write else None
                    views.append((access.operand, access.write, kind, access.along))
            known = _Known([t for t in touches if not t.write], [t for t in touches if t.write], views)
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            self._known[key] = known
            self._check_tiles(op, instr, site, touches)
        if self.placed and known.followed != self.buffers.changes:
            self._follow(op, known)
        return known

    def _check_tiles(self, op: Op, instr: Instr, site: Site, touches: list[Touch]) -> None:
        """Checks of places, for a new combination of operands."""
        for info in site.tiles:
            if self.placed and info.data.address is None:
                pops = self.sources.pops(self._of_tile.get(id(info.data)))
                self.report("UNBOUND-TILE", op, info.name, partial(placement.unbound, op, instr.name, info, pops))
        may = _in_place(instr.meaning_at(site), scratch=site.has("tmp"))
        for write in (t for t in touches if t.write):
            for read in (t for t in touches if not t.write and t.space is write.space):
                if meet(write.where, read.where) and not placement.allowed(write, read) and not may(write, read):
                    self.report(
                        "RACE-SELF",
                        op,
                        (write.name, read.name),
                        partial(placement.race_self, op, instr.name, write, read),
                    )

    def _follow(self, op: Op, known: _Known) -> None:
        """Whose bytes are read and written, in program order. A repetition finds the same until bytes change hands."""
        changes, quiet = self.buffers.changes, True
        followed = [(touch, touch.owner) for touch in (*known.reads, *known.writes) if touch.owner is not None]
        writes = [touch for touch, _ in followed if touch.write]
        for touch, group in followed:
            owners = self.buffers.owners.get(id(touch.space))
            if owners is None:
                owners = self.buffers.owners[id(touch.space)] = Owners()
            if touch.write:
                start = touch.where.lo if touch.region is None else touch.region.start
                self.buffers.changes += owners.write(group, touch.where, op, start)
                continue
            where = touch.where if touch.initial is None else touch.initial
            loss, other, changed = owners.read(group, where, op)
            quiet = quiet and loss is None and other is None
            if loss is not None:
                self.report(
                    "UB-OVERLAP", op, (loss.group.op, loss.by.op), partial(placement.lost, op, loss, touch.space.name)
                )
            elif other is not None:
                self.report("STALE-READ", op, (group.op, other.op), partial(placement.stale, op, group, other))
            if not any(placement.updates(write, touch) for write in writes):
                more, early = owners.used(group, touch.where)
                changed |= more
                for loss, at in early:
                    self.report(
                        "UB-OVERLAP",
                        at,
                        (loss.group.op, loss.by.op),
                        partial(placement.lost, at, loss, touch.space.name),
                    )
            self.buffers.changes += changed
        if quiet and changes == self.buffers.changes:
            known.followed = changes

    def threads(self, moment: Moment) -> Any:
        self.instructions += 1
        result = moment.run()
        op, single = moment.op, moment.step.word == "one_thread"
        pipe = Pipe.S if single else Pipe.V
        self.push(Work(op, op.name.removeprefix("pto."), pipe, touches=self._threads.touches()))
        return result

    def watch_threads(self, op: Op) -> Watched:
        self.here, self._threads = op, Watched(self, op)
        return self._threads

    def piped(self, machine: Chunk, event: Event) -> None:
        self.pipes.note(event)

    def part(self, moment: Moment) -> Any:
        return self.pipes.part(moment)

    def accessed(self, access: Access) -> None:
        touch = self._touched(access)
        if touch is not None:
            if isinstance(access, Rows) and access.combine is not None:
                touch.atomic = access.combine[0].capitalize(), access.combine[1].name
            self.touched.append(touch)

    def _touched(self, access: Access) -> Touch | None:
        """An access by address; None if there is nothing of it."""
        pointer = access.pointer
        if not isinstance(pointer, LocalPointer):
            assert isinstance(access, Rows)
            memory, origin = self.memories[id(pointer.buffer.whole)]
            return Touch(memory, access.write, in_global_memory(access, memory, origin), pointer.buffer.shown)
        where = footprint_of(access)
        if not len(where):
            return None
        loc = SPACES[pointer.space]
        arena = self.machine.memory_of(pointer, access.sub if isinstance(access, Rows) else 0)
        touch = Touch(self.space_of(arena, loc, buffer_name(loc)), access.write, where, "")
        touch.initial = needed_of(access)
        return touch

    def taken(self) -> list[Touch]:
        """The accesses by address since the last call: reads first, then writes."""
        if not self.touched:
            return []
        found, self.touched = sorted(self.touched, key=lambda touch: touch.write), []
        for touch in found if self.buffers.owners else ():
            owners = self.buffers.owners.get(id(touch.space)) if touch.write else None
            if owners is not None:
                self.buffers.changes += owners.release(touch.where)
        return found

    # --- global memory -------------------------------------------------------------------------------------------

    def _run(self, moment: Moment, instr: Instr, known: _Known, given: Mapping[str, Any]) -> tuple[Any, list[Touch]]:
        """Execute, unless a view leaves its memory; the accesses to global memory."""
        views = [(n, v) for n, v in given.items() if isinstance(v, View)]
        if not views:
            return self.checked(moment), []
        op, bad = moment.op, False
        tiles = {name: tile for name, _, _, tile in known.views}
        moved: dict[str, View | None] = {}
        for name, view in views:
            if view.buffer is None:
                bad = True
                self.report("GM-NULL", op, name, partial(placement.null, op, instr.name, name))
                continue
            view.buffer.chosen = []
            moved[name] = seen = visited(view, given.get(tiles.get(name, "")), self.target)
            if seen is None:
                continue
            if (message := leaves_memory(seen)) is not None:
                bad = True
                self.report("GM-OOB", op, name, partial(placement.outside, op, instr.name, view, message))
            elif (message := leaves_shape(view)) is not None:
                self.report("GM-SLICE", op, name, partial(placement.past_a_dimension, op, instr.name, view, message))
        result = None if bad else run_scatter(self, op, instr.name, views, partial(self.checked, moment))
        touches = (self._view_touch(moved.get(name), write, kind) for name, write, kind, _ in known.views)
        return result, [touch for each in touches for touch in each]

    def checked(self, moment: Moment) -> Any:
        """Carry an instruction out. What it breaks of `REGIONS` is kept for later."""
        try:
            return moment.run()
        except Fault as fault:
            if fault.rule not in REGIONS:
                raise
            self.deferred.setdefault(moment.op, fault)
            return unchecked(moment)

    def _view_touch(self, view: Any, write: bool, kind: Any) -> list[Touch]:
        if not isinstance(view, View) or view.buffer is None:
            return []
        memory, origin = self.memories[id(view.buffer.whole)]
        if seen := [c.elements.reshape(-1) for c in chosen(view)]:
            where = scattered(np.concatenate(seen), view, origin, memory.granule)
        else:
            where = place(view, origin, memory.granule)
        return [] if where is None else [Touch(memory, write, where, view.buffer.shown, atomic=kind)]

    def element(self, moment: Moment) -> Any:
        """A scalar load or store of one element."""
        result = moment.run()
        given, write = moment.given, moment.step.word == "store_scalar"
        pointer = given["ptr"]
        if isinstance(pointer, LocalPointer):
            touches = self.taken()
            self.scope_order.follow(self.here, self.loops, touches, result=result)
            self.push(Work(self.here, moment.step.word, self.unit(pointer), touches=touches))
            return result
        buffer = pointer.buffer
        memory, origin = self.memories[id(buffer.whole)]
        unit = pointer.dtype.size // memory.granule
        first = origin // memory.granule + int(uniform(pointer.offset + given["index"])) * unit
        where = Scattered(np.arange(first, first + unit))
        touch = Touch(memory, write, where, buffer.shown)
        self.push(Work(self.here, moment.step.word, Pipe.S, touches=[touch]))
        return result

    def unit(self, pointer: Pointer | LocalPointer) -> Pipe:
        """What carries out a scalar load or store: in a vector scope the vector thread accesses its buffer itself."""
        return Pipe.V if self.scope_order.open and isinstance(pointer, LocalPointer) else Pipe.S


def unchecked(moment: Moment) -> Any:
    """Carry an instruction out, whatever its rules say."""
    step = moment.step
    assert step.instr is not None
    assert step.instr.run is not None
    types = {"types": step.site.operands} if step.instr.typed and step.site is not None else {}
    moment.result = step.instr.run(moment.machine, *moment.operands, **step.attrs, **types)
    return moment.result


def _in_place(meaning: object, *, scratch: bool) -> Callable[[Touch, Touch], bool]:
    """How an instruction with this meaning may write over bytes that it reads, besides as one tile."""
    if isinstance(meaning, Lane) and any(write.packed for write in meaning.writes):
        return placement.row_of_bits
    if isinstance(meaning, Lane | Move):
        return placement.row_by_row
    if isinstance(meaning, Fold) and meaning.axis == "column" and not scratch:
        return placement.row_0
    return lambda write, read: False


@dataclass(slots=True)
class _Known:
    """What an instruction accesses with operands of certain sizes and places."""

    reads: list[Touch]  # of tiles
    writes: list[Touch]
    views: list[tuple[str, bool, Any, str]]  # operand, whether it is written, kind of atomic update, `Access.along`
    followed: int = -1  # `Buffers.changes` when repeating it would have changed and found nothing


def _key(operand: Any) -> Any:
    """What the accesses of an instruction depend on."""
    if isinstance(operand, Tile):
        return operand.name, operand.storage.serial, operand.vr, operand.vc, operand.address is None
    if isinstance(operand, View):
        return operand.dims, operand.stated_layout
    return operand if isinstance(operand, int) else None
