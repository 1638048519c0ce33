"""The machine that a program runs on while it is watched: values as ever, and every operation reported."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from ptokit.ir.core import Op
from ptokit.isa.cores import pipe_on
from ptokit.isa.order.event_tags import class_pipe
from ptokit.isa.order.sync_rules import BUFFER_IDS, bad_pair, out_of_range, reserved
from ptokit.isa.placement import buffer_name
from ptokit.isa.site import RegisterInfo, Site, TileInfo, ViewInfo
from ptokit.isa.table import Instr
from ptokit.run.calls import infos
from ptokit.run.fault import Fault
from ptokit.run.lanes import uniform
from ptokit.run.local import LocalPointer
from ptokit.run.memory import Pointer
from ptokit.run.storage import Arena, Storage
from ptokit.run.tile import Tile
from ptokit.targets import Target
from ptokit.types.enums import Pipe, TileType

from . import placement
from .alias import run_scatter
from .clocks import COMPONENTS
from .cross_core import HANDLERS, Transfer, check_transfers
from .events import (
    AwaitSignal,
    Barrier,
    FlagKey,
    GetToken,
    Item,
    Loops,
    ReleaseToken,
    SetFlag,
    Signal,
    WaitFlag,
    WaitWork,
    Work,
)
from .findings import Draft, Findings
from .flags import ProgramOrder
from .footprints import Touch, meet
from .gm import Located, Scattered
from .owners import Group, Owners
from .producers import Producers
from .queues import Core, Simulation
from .shadow import Space
from .threads import ObservedThreads
from .touches import accesses, atomic_kind, tile_touch
from .vector_scopes import Within
from .views import ObservedView, place, scattered

_REMEMBERED = 4096  # combinations of operands per core


@dataclass
class Buffers:
    """On-chip memory of a core, or of the cores of a cluster: by arena, what is known of its bytes."""

    spaces: dict[int, Space] = field(default_factory=dict)
    owners: dict[int, Owners] = field(default_factory=dict)  # by space
    groups: dict[Op, Group] = field(default_factory=dict)  # tiles by what allocates them
    changes: int = 0  # how often bytes came to belong to another tile


class Observer(ObservedThreads):
    """A chunk of one block that reports what it executes."""

    initial = 0xA5

    def __init__(
        self,
        target: Target,
        total: int,
        findings: Findings,
        memories: dict[int, Located],
        simulation: Simulation,
        deferred: dict[Op, Fault],
        *,
        extended: bool,
        placed: bool,
        in_order: bool,
        waits_for_work: bool,
        also: frozenset[str] = frozenset(),
    ) -> None:
        super().__init__(target, 1, total, "exact", extended=extended)
        self.findings, self.memories = findings, memories
        self.placed, self.waits_for_work = placed, waits_for_work
        self.also = also
        self.in_order = in_order  # a core completes one instruction after the other
        self.instructions = 0
        self.simulation, self.deferred = simulation, deferred
        self.here: Op
        self.within: Within
        self.in_scope = False  # the scalar access at `here` is in a vector scope
        self._pipes: dict[Op, Pipe] = {}
        self._flags: dict[Op, tuple[type[SetFlag | WaitFlag], str, Pipe, FlagKey]] = {}  # with ids in the text

    def watch(self, core: Core, buffers: Buffers) -> None:
        """A core starts: new memory (shared in a cluster), flags and loops."""
        self.core, self.buffers = core, buffers
        self.order = ProgramOrder(core, self.findings, alias=self._alias_pipes())
        self.loops: Loops = ()
        self._calls: list[Loops] = [()]
        self._sequence = 0
        self.touched = []
        self._of_tile: dict[int, Group] = {}
        self._known: dict[Any, _Known] = {}
        self.producers = Producers(self._of_tile, self.memories)
        self._marked: set[int] = set()
        self.transfers: list[Transfer] = []  # that nobody has waited for

    def _alias_pipes(self) -> frozenset[str]:
        """The source pipes for which FLAG-ALIAS is looked at."""
        every = frozenset(pipe.name for pipe in COMPONENTS)
        return every if "FLAG-ALIAS" in self.also else self.target.one_flag_per_id

    # --- loops and tiles -----------------------------------------------------------------------------------------

    def enter(self) -> None:
        """A function of the program is called: its loops are nested in those around the call."""
        self._calls.append(self.loops)

    def back(self) -> None:
        """It has returned."""
        self.loops = self._calls.pop()

    def _outside(self, level: int) -> int:
        """Number of loops around that at nesting depth `level` of the running function."""
        return len(self._calls[-1]) + level - 1

    def iteration(self, level: int, name: str, value: Any) -> None:
        """An iteration of the loop at nesting depth `level` begins."""
        self.loops = (*self.loops[: self._outside(level)], (name, value))

    def again(self, level: int) -> None:
        """The next iteration of a loop that does not count."""
        outside = self._outside(level)
        count = self.loops[outside][1] + 1 if len(self.loops) > outside else 1
        self.loops = (*self.loops[:outside], ("iteration", count))

    def leave(self, level: int) -> None:
        """A loop has ended."""
        self.loops = self.loops[: self._outside(level)]

    def bound(self, op: Op, tile: Tile, parent: Tile | None) -> None:
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
        fresh = (storage.bytes[0].reshape(-1, element.itemsize) == self.initial).all(axis=1)
        storage.bytes.view(element)[:, fresh] = np.nan

    def _space(self, tile: Tile) -> Space:
        return self.space_of(tile.storage.arena, tile.spec.loc, f"tile %{tile.name}")

    def space_of(self, arena: Arena, loc: TileType, name: str) -> Space:
        """The shadow of an arena; ``name`` is that of an arena that is no buffer of the core."""
        space = self.buffers.spaces.get(id(arena))
        if space is None:
            name = buffer_name(loc) if self.home(loc).holds(arena) else name
            space = self.buffers.spaces[id(arena)] = Space(name, arena.size)
        return space

    # --- instructions --------------------------------------------------------------------------------------------

    def push(self, item: Item) -> None:
        self._sequence += 1
        item.seq = self._sequence
        item.loops = self.loops
        if self.transfers and isinstance(item, Work):
            check_transfers(self, item)
        if self.order.issue(item):
            self.simulation.push(self.core, item)
        if self.in_order and isinstance(item, Work):
            self.simulation.push(self.core, Barrier(item.op, item.name, Pipe.ALL))

    def instruction(
        self,
        op: Op,
        instr: Instr,
        static: Site,
        names: tuple[str, ...],
        operands: tuple[Any, ...],
        attrs: Mapping[str, Any],
        run: Callable[..., Any],
    ) -> Any:
        """An instruction: what it touches is worked out, then it runs, then it is issued."""
        self.instructions += 1
        self.here = op
        given = dict(zip(names, operands))
        known = self._known_accesses(op, instr, static, given, attrs)
        self.pipes.check(op, instr.name, known.reads)
        result, in_memory = self._run(op, instr, known, given, run, operands)
        pipe = self._pipes.get(op)
        if pipe is None:
            pipe = self._pipes[op] = pipe_on(instr.pipe_of(static), static.core)
        touches = [*known.reads, *(t for t in in_memory if not t.write), *known.writes]
        touches += [t for t in in_memory if t.write]
        addressed = self.taken() if self.touched else []
        if pipe is Pipe.V:
            self.within.follow(op, self.loops, addressed)
        touches += addressed
        work = Work(op, instr.name, pipe, touches=touches, keep=self.waits_for_work)
        if self.target.is_among(instr.composite):
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
        registers = {name: info for name, info in static.operands.items() if isinstance(info, RegisterInfo)}
        return Site(instr, self.target, {**infos(given), **registers}, attrs, self.extended, static.text, static.core)

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
                    tile = info.data if not access.sub else self.on_sub_core(info.data, access.sub) or info.data
                    touch = tile_touch(site, access, info, self._space(tile))
                    if touch is not None:
                        touches.append(touch)
                elif isinstance(info, ViewInfo):
                    views.append((access.operand, access.write, atomic_kind(site) if access.write else None))
            known = _Known([t for t in touches if not t.write], [t for t in touches if t.write], views)
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            self._known[key] = known
            self._check_tiles(op, instr, site, touches)
        if self.placed and known.followed != self.buffers.changes:
            self._follow(op, given, known)
        return known

    def _check_tiles(self, op: Op, instr: Instr, site: Site, touches: list[Touch]) -> None:
        """Checks of places, for a new combination of operands."""
        for info in site.tiles:
            if self.placed and info.data.address is None:
                self.report("UNBOUND-TILE", op, info.name, partial(placement.unbound, op, instr.name, info))
        for write in (t for t in touches if t.write):
            for read in (t for t in touches if not t.write and t.space is write.space):
                if meet(write.where, read.where) and not placement.allowed(write, read):
                    self.report(
                        "RACE-SELF",
                        op,
                        (write.name, read.name),
                        partial(placement.race_self, op, instr.name, write, read),
                    )

    def _follow(self, op: Op, given: Mapping[str, Any], known: _Known) -> None:
        """Whose bytes are read and written, in program order. A repetition finds the same until bytes change hands."""
        changes, quiet = self.buffers.changes, True
        followed = [(touch, group) for touch in (*known.reads, *known.writes) if (group := self._group(given, touch))]
        writes = [touch for touch, _ in followed if touch.write]
        for touch, group in followed:
            owners = self.buffers.owners.get(id(touch.space))
            if owners is None:
                owners = self.buffers.owners[id(touch.space)] = Owners(len(touch.space.state))
            if touch.write:
                start = touch.where.lo if touch.region is None else touch.region.start
                self.buffers.changes += owners.write(group, touch.where, op, start)
                continue
            where = touch.where if touch.initial is None else touch.initial
            loss, other, changed = owners.read(group, where, op)
            quiet = quiet and loss is None and other is None
            if loss is not None:
                self.report("UB-OVERLAP", op, (loss.group.op, loss.by.op), partial(placement.lost, op, loss))
            elif other is not None:
                self.report("STALE-READ", op, (group.op, other.op), partial(placement.stale, op, group, other))
            if not any(placement.updates(write, touch) for write in writes):
                more, early = owners.used(group, touch.where)
                changed |= more
                for loss, at in early:
                    self.report("UB-OVERLAP", at, (loss.group.op, loss.by.op), partial(placement.lost, at, loss))
            self.buffers.changes += changed
        if quiet and changes == self.buffers.changes:
            known.followed = changes

    def taken(self) -> list[Touch]:
        found = super().taken()
        for touch in found if self.buffers.owners else ():
            owners = self.buffers.owners.get(id(touch.space)) if touch.write else None
            if owners is not None:
                self.buffers.changes += owners.release(touch.where)
        return found

    def _group(self, given: Mapping[str, Any], touch: Touch) -> Group | None:
        """The tile, with its aliases, that an access of an instruction is to."""
        return self._of_tile.get(id(given.get(touch.operand)))

    def report(self, rule: str, op: Op, key: Any, make: Callable[[], Draft]) -> None:
        item = Item(op, op.name, Pipe.S, self.loops)
        unique = key if rule == "UB-OVERLAP" else (op, key)
        self.findings.add(rule, unique, self.core, item, make)

    # --- global memory -------------------------------------------------------------------------------------------

    def _run(
        self,
        op: Op,
        instr: Instr,
        known: _Known,
        given: Mapping[str, Any],
        run: Callable[..., Any],
        operands: tuple[Any, ...],
    ) -> tuple[Any, list[Touch]]:
        """Execute, unless a view leaves its memory; the accesses to global memory."""
        views = [(n, v) for n, v in given.items() if isinstance(v, ObservedView)]
        if not views:
            return run(self, *operands), []
        bad = False
        for name, view in views:
            view.seen.clear()
            if view.buffer is None:
                bad = True
                self.report("GM-NULL", op, name, partial(placement.null, op, instr.name, name))
            elif (message := view.leaves_memory) is not None:
                bad = True
                self.report("GM-OOB", op, name, partial(placement.outside, op, instr.name, view, message))
        result = None if bad else run_scatter(self, op, instr.name, views, partial(run, self, *operands))
        return result, [t for name, write, kind in known.views for t in self._view_touch(given[name], write, kind)]

    def _view_touch(self, view: Any, write: bool, kind: Any) -> list[Touch]:
        if not isinstance(view, ObservedView) or view.buffer is None:
            return []
        memory, origin = self.memories[id(view.buffer)]
        if view.seen:
            where = scattered(np.concatenate([s.reshape(-1) for s in view.seen]), view, origin, memory.granule)
        else:
            where = place(view if view.clipped is None else view.clipped, origin, memory.granule)
        return [] if where is None else [Touch(memory, write, where, memory.name, atomic=kind)]

    def load_scalar(self, pointer: Pointer | LocalPointer, index: Any) -> Any:
        value = super().load_scalar(pointer, index)
        self._scalar_access(pointer, index, write=False)
        return value

    def store_scalar(self, value: Any, pointer: Pointer | LocalPointer, index: Any) -> None:
        super().store_scalar(value, pointer, index)
        self._scalar_access(pointer, index, write=True)

    def unit(self, pointer: Pointer | LocalPointer) -> Pipe:
        """What carries out a scalar load or store: in a vector scope the vector thread accesses its buffer itself."""
        return Pipe.V if self.in_scope and isinstance(pointer, LocalPointer) else Pipe.S

    def _scalar_access(self, pointer: Pointer | LocalPointer, index: Any, *, write: bool) -> None:
        name = "store_scalar" if write else "load_scalar"
        if isinstance(pointer, LocalPointer):
            self.push(Work(self.here, name, self.unit(pointer), touches=self.taken()))
            return
        buffer = pointer.buffer
        assert buffer is not None
        memory, origin = self.memories[id(buffer)]
        unit = pointer.dtype.size // memory.granule
        first = origin // memory.granule + int(uniform(pointer.offset + index)) * unit
        where = Scattered(np.arange(first, first + unit))
        touch = Touch(memory, write, where, memory.name)
        self.push(Work(self.here, name, Pipe.S, touches=[touch]))

    def between(
        self, op: Op, instr: Instr, operands: Mapping[str, Any], attrs: Mapping[str, Any], run: Callable[[], Any]
    ) -> Any:
        """An instruction that has to do with other cores or engines."""
        self.instructions += 1
        return HANDLERS[instr.name](self, op, operands, attrs, run)

    # --- synchronisation -----------------------------------------------------------------------------------------

    def synchronise(
        self, op: Op, instr: Instr, kind: str, operands: Mapping[str, Any], attrs: Mapping[str, Any]
    ) -> None:
        """A flag, barrier, token or signal."""
        if instr.name == "mem_bar":
            self.within.barrier(attrs["kind"])
        if self.in_order and not instr.between_cores:
            return
        known = self._flags.get(op)
        if known is not None:
            of, name, pipe, key = known
            self.push(of(op, name, pipe, key=key))
            return
        item = self._item(op, instr.name, kind, operands, attrs)
        if item is not None:
            self.push(item)
        if isinstance(item, SetFlag | WaitFlag) and operands.get("event") is None:
            self._flags[op] = type(item), item.name, item.pipe, item.key

    def _item(self, op: Op, name: str, kind: str, operands: Mapping[str, Any], attrs: Mapping[str, Any]) -> Item | None:
        event = operands.get("event")
        number = attrs.get("event_id", 0) if event is None else int(uniform(event))
        match name:
            case "set_flag" | "wait_flag" | "set_flag_dyn" | "wait_flag_dyn":
                return self._flag(op, name.removesuffix("_dyn"), attrs["src_pipe"], attrs["dst_pipe"], number, kind)
            case "record_event" | "wait_event":
                src, dst = class_pipe(attrs["src_op"], kind), class_pipe(attrs["dst_op"], kind)
                flag = "set_flag" if name == "record_event" else "wait_flag"
                return self._flag(op, flag, src, dst, number, kind)
            case "pipe_barrier":
                return Barrier(op, name, attrs["pipe"])
            case "barrier_sync":
                pipe = class_pipe(attrs["op"], kind)
                return None if pipe is None else Barrier(op, name, pipe)
            case "get_buf" | "rls_buf" | "get_buf_dyn" | "rls_buf_dyn":
                pipe = class_pipe(attrs["op"], kind)
                if pipe is None or pipe is Pipe.ALL:
                    return None
                token = int(uniform(operands["buf"])) if "buf" in operands else attrs["id"]
                if not 0 <= token < BUFFER_IDS:
                    message = f"{name}: token {token} is outside 0..{BUFFER_IDS - 1}"
                    self.report("BUF-PROTOCOL", op, token, partial(Draft, message, op.location))
                    return None
                return (GetToken if name.startswith("get_buf") else ReleaseToken)(op, name, pipe, token=token)
            case "sync.set" | "set_cross_block" | "set_intra_block":
                self._check_reserved(op, name, number)
                mode = attrs.get("ffts_mode")
                return Signal(op, name, attrs["pipe"], event=number, mode=2 if mode is None else mode)
            case "sync.wait" | "wait_cross_block" | "wait_intra_block":
                self._check_reserved(op, name, number)
                return AwaitSignal(op, name, attrs["pipe"], event=number)
            case "TSYNC":
                return WaitWork(op, name, Pipe.S, works=self.producers.of(operands["events"]))
            case _:
                return None

    def _check_reserved(self, op: Op, name: str, number: int) -> None:
        message = reserved(number, self.target)
        if message is not None:
            self.report("XFLAG-RESERVED", op, number, lambda: Draft(f"{name}: {message}", op.location))

    def _flag(self, op: Op, name: str, src: Pipe | None, dst: Pipe | None, number: int, kind: str) -> Item | None:
        """A set or a wait; one with a wrong id or pipe is reported and ignored."""
        for rule, message in (("FLAG-RANGE", out_of_range(number)), ("FLAG-PIPE", bad_pair(src, dst, kind))):
            if message is not None:
                self.report(rule, op, number, partial(Draft, f"{name}: {message}", op.location))
                return None
        if src is None or dst is None:
            return None
        if name == "set_flag":
            return SetFlag(op, name, src, key=(src, dst, number))
        return WaitFlag(op, name, dst, key=(src, dst, number))


@dataclass(slots=True)
class _Known:
    """What an instruction accesses with operands of certain sizes and places."""

    reads: list[Touch]  # of tiles
    writes: list[Touch]
    views: list[tuple[str, bool, Any]]  # (operand, whether it is written, kind of atomic update)
    followed: int = -1  # `Buffers.changes` when repeating it would have changed and found nothing


def _key(operand: Any) -> Any:
    """What the accesses of an instruction depend on."""
    if isinstance(operand, Tile):
        return operand.name, operand.storage.serial, operand.vr, operand.vc, operand.address is None
    if isinstance(operand, ObservedView):
        return operand.dims, operand.stated_layout
    return operand if isinstance(operand, int) else None
