"""Pipes between the cube and vector cores of a cluster: what goes through them, and whether all of it does.

A pipe orders its slots itself: a push waits for a free one, a pop for an entry. What is left to show is that an entry
is used between its pop and its free only, that nothing else lies among the slots, and that all cores come to their end.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ptokit.isa.exchange import core_pipes
from ptokit.isa.site import UNKNOWN
from ptokit.plan.steps import Step, without_form
from ptokit.records import dataclass
from ptokit.run.program import Program
from ptokit.types.enums import Direction, Pipe, TileType
from ptokit.types.enums import TileSplitAxis as Split
from ptokit.types.tile import DYNAMIC, TileSpec

from .alternation import Alternation
from .claims import RING, Fragment
from .numbers import DATA, Number, both, either, lifted, simple
from .places import Pointer, Space, Tile, Touch, View, identity, of_tile, space_of
from .report import Claim
from .state import State

PIPED: dict[Any, str] = {
    core_pipes.reserve: "reserve",
    core_pipes.import_reserved: "reserve",
    core_pipes.initialize: "open_by_id",
    core_pipes.initialize_through_memory: "open_value",
    core_pipes.initialize_local: "open_value",
    core_pipes.push_to: "push",
    core_pipes.push: "push",
    core_pipes.pop_from: "pop",
    core_pipes.pop: "pop",
    core_pipes.free_from: "free",
    core_pipes.free: "free",
}
"""What goes through operations on pipes between cores, by what runs them."""


@dataclass(frozen=True, slots=True)
class Reserved:
    """The address of slots in a core's buffer, None where they lie apart from everything."""

    kind: str
    name: str
    base: int | None
    size: int


@dataclass(frozen=True, eq=False, slots=True)
class Ring:
    """A pipe between cores in one direction: ``size`` bytes in each of `slots` slots of the buffer of the consumer, and
    where ``memory`` says in global memory. ``buffer``: a number, or what is reserved."""

    key: Any
    to_vector: bool
    slots: int
    size: int
    local: int
    memory: Any
    buffer: Any

    @property
    def consumer(self) -> str:
        """The kind of core that takes entries out."""
        return "vector" if self.to_vector else "cube"

    @property
    def base(self) -> Any:
        """Where its slots begin in the consumer's buffer; None where that is apart from everything."""
        return self.buffer.base if isinstance(self.buffer, Reserved) else self.buffer or 0


@dataclass(frozen=True, eq=False, slots=True)
class Ends:
    """A pipe between cores: what goes to the vector cores, and what to the cube core."""

    to_vector: Ring | None
    to_cube: Ring | None


@dataclass(frozen=True, slots=True)
class Passed:
    """What is pushed or popped: a tile with so much of it valid, halved for the vector cores as ``split`` says.

    ``size``: bytes of a slot that it takes.
    """

    step: Step
    spec: TileSpec
    valid: tuple[Number, Number]
    split: int
    size: int


class Cluster(Alternation):
    """Goes through operations on pipes between cores.

    ``rings``: pipes between cores, by key; ``piped``: by core, calls and loops around and step, what an operation
    on one does; ``passed``: by key, what is pushed into it (True), and what is popped (False).
    """

    def __init__(self, program: Program, **options: Any) -> None:
        self.rings: dict[Any, Ring] = {}
        self.piped: dict[Any, tuple[str, Any]] = {}
        self.passed: dict[tuple[Any, bool], dict[int, Passed]] = {}
        self.unplaced: set[Any] = set()
        self._ids: dict[Any, Ends] = {}
        self._takes: dict[Space, tuple[int, ...]] = {}  # by space of an entry, the loops and calls around what pops it
        super().__init__(program, **options)

    # --- pipes between cores -------------------------------------------------------------------------------------

    def access(self, step: Step, state: State, pipe: Pipe, touches: Sequence[Touch]) -> None:
        for touch in touches:
            if touch.space[0] == RING and touch.space not in state.popped:
                text = f"{step.name} touches an entry of a pipe that has been given back"
                self.suspect(Claim.PIPES, "PIPE-FREED", step, state.facts, text)
        super().access(step, state, pipe, touches)

    def carries(self, step: Step, first: Any, value: Any, mode: Any, others: Sequence[Any]) -> bool:
        """True if a loop has to follow the values of what it carries: a tile, or one array and then another.

        ``mode``: how it follows it now; ``others``: how else it may (`control.Iterations`).
        """
        if isinstance(value, Tile) and value.space[0] == RING:
            raise Fragment("a loop that carries an entry of a pipe is not followed", step)
        now, then = (self.unknown_like((id(step), "carries"), each) for each in (first, value))
        changes = identity(now) != identity(then)
        if mode == "open" and "value" in others and (now is DATA or changes):
            return True
        if isinstance(first, Pointer | View) and changes and mode in (None, "open", "later"):
            raise Fragment("a loop that carries one array and then another is not followed", step)
        return False

    def _reserve(self, step: Step, state: State, given: Mapping[str, Any]) -> None:
        name, location = step.attrs["name"], step.attrs.get("location")
        peer = "cube" if self.core == "vector" else "vector"
        kind = peer if location is None else "vector" if location == "vec" else "cube"
        base, size = self.program.cores.reserved.get((kind, name), (None, 0))
        state.values[step.result] = Reserved(kind, name, base, size)

    def _open_by_id(self, step: Step, state: State, given: Mapping[str, Any]) -> None:
        if given.get("gm_slot_tensor") is not None:
            raise Fragment("a pipe of tensors is not followed", step)
        number = step.attrs.get("id") or 0
        buffers = given.get("c2v_consumer_buf"), given.get("v2c_consumer_buf")
        self._ids[self.core, number] = self._ends(step, state, ("id", number), given.get("gm_slot_buffer"), *buffers)

    def _open_value(self, step: Step, state: State, given: Mapping[str, Any]) -> None:
        way = step.attrs["dir_mask"]
        buffers = (given.get("local"), given.get("peer")) if way != Direction.DIR_V2C else (None, given.get("local"))
        base = step.attrs.get("flag_base")
        if base is None and not any(isinstance(b, Reserved) for b in buffers):
            raise Fragment("a pipe without a flag_base is not followed", step)
        state.values[step.result] = self._ends(step, state, ("flag", base), given.get("gm"), *buffers)

    def _ends(self, step: Step, state: State, key: Any, memory: Any, c2v: Any, v2c: Any) -> Ends:
        ways = Direction(step.attrs["dir_mask"])
        if (
            ways not in core_pipes.SLOTS
            or step.attrs.get("acc_push_epilogue") is not None
            or not isinstance(memory, Pointer | None)
        ):
            raise Fragment("a pipe of tensors or with an epilogue is not followed", step)
        rings: list[Ring | None] = [None, None]
        for k, (way, buffer) in enumerate(((Direction.DIR_C2V, c2v), (Direction.DIR_V2C, v2c))):
            if ways & way:
                rings[k] = self._ring(step, state, (*key, k), memory, buffer, to_vector=not k)
        return Ends(*rings)

    def _ring(self, step: Step, state: State, key: Any, memory: Any, buffer: Any, *, to_vector: bool) -> Ring:
        if isinstance(buffer, Reserved):
            key = "buffer", buffer.kind, buffer.name
        ways = step.attrs["dir_mask"]
        slots, size = step.attrs.get("slot_num") or core_pipes.SLOTS[ways], step.attrs["slot_size"]
        if memory is not None and ways == Direction.DIR_BOTH and not to_vector:  # after those to the vector cores
            memory = replace(memory, at=simple(lifted(memory.at) + slots * size))
        local = slots if memory is None else step.attrs.get("local_slot_num") or slots
        if memory is not None and self.target.pipes_are_local and step.instr is not None and "id" in step.attrs:
            memory, local = None, slots
        made = Ring(key, to_vector, slots, size, local, memory, buffer)
        old = self.rings.setdefault(key, made)
        alike = (old.to_vector, old.slots, old.size, old.local) == (made.to_vector, slots, size, local)
        places = (made.buffer, old.buffer, *(r.memory and (r.memory.space, r.memory.at) for r in (made, old)))
        if (
            self.loops
            or not alike
            or identity(places[0]) != identity(places[1])
            or identity(places[2]) != identity(places[3])
        ):
            raise Fragment("a pipe that is set up in several ways is not followed", step)
        if isinstance(buffer, Reserved) and buffer.size < local * size:
            raise Fragment("the slots of a pipe need more than is reserved", step)
        if not isinstance(made.base, int | None):
            raise Fragment("the place of a pipe is open", step)
        if memory is not None:
            self._reach(step, state, self._in_memory(made, write=True))
        return made

    def _in_memory(self, ring: Ring, *, write: bool) -> Touch:
        """All slots of a pipe in global memory."""
        lo = ring.memory.at
        end = simple(lifted(lo) + ring.slots * ring.size)
        return Touch(ring.memory.space, write, lo, end, lo, atomic=(RING, ring.key), loose=True)

    def _of(self, step: Step, state: State, given: Mapping[str, Any], does: str) -> Ring:
        """The pipe of an operation, which is remembered."""
        ends = given["pipe"] if "pipe" in given else self._ids.get((self.core, step.attrs.get("id") or 0))
        if not isinstance(ends, Ends) or given.get("aiv_subblockid") is not None:
            raise Fragment(f"the pipe of {step.name} is not followed", step)
        ring = ends.to_vector if (self.core == "cube") is (does == "push") else ends.to_cube
        if ring is None:
            raise Fragment(f"{step.name} uses the wrong end of a pipe", step)
        if step.attrs["split"] == Split.TILE_NO_SPLIT and self.target.pipes_are_local and self.vectors > 1:
            raise Fragment("a pipe to one of two vector cores is not followed", step)
        if self.piped.setdefault((self.core, self.context, id(step)), (does, ring.key)) != (does, ring.key):
            raise Fragment(f"{step.name} uses several pipes", step)
        return ring

    def _pass(self, step: Step, ring: Ring, spec: TileSpec, valid: tuple[Number, Number], *, pushed: bool) -> None:
        halves = 2 if step.attrs["split"] else 1
        size = spec.nbytes * halves if pushed and not ring.to_vector else spec.nbytes
        if pushed and ring.to_vector and ring.memory is None:
            size //= halves
        if size > ring.size:
            raise Fragment("a tile that is larger than a slot is not followed", step)
        found = self.passed.setdefault((ring.key, pushed), {})
        if id(step) in found and identity(found[id(step)].valid) != identity(valid):
            raise Fragment("entries of a pipe with several valid regions are not followed", step)
        found[id(step)] = Passed(step, spec, valid, step.attrs["split"], size)

    def _push(self, step: Step, state: State, given: Mapping[str, Any]) -> None:
        ring, tile = self._of(step, state, given, "push"), given["tile"]
        wanted, pipe = (TileType.Acc, Pipe.FIX) if self.core == "cube" else (TileType.Vec, Pipe.MTE3)
        if not isinstance(tile, Tile) or tile.spec.loc is not wanted:
            raise Fragment(f"what {step.name} pushes is not followed", step)
        valid = self.valid(state, tile, step)
        rows, cols = (n if isinstance(n, int) else UNKNOWN for n in valid)
        touches = [of_tile(tile, False, rows, cols)]
        self._written(step, state, touches, ())
        if ring.memory is not None:
            touches.append(self._in_memory(ring, write=True))
        self._pass(step, ring, tile.spec, valid, pushed=True)
        self.access(step, state, pipe, touches)

    def _pop(self, step: Step, state: State, given: Mapping[str, Any]) -> None:
        ring = self._of(step, state, given, "pop")
        tile, cell = given.get("tile"), (id(step), 0)
        if isinstance(tile, Tile) and tile.space[0] in ("tile", RING):
            spec, valid = tile.spec, self.valid(state, tile, step)
            result = without_form(step["tile"])
            if tile.space[0] == "tile":
                self.unplaced.add(tile.space)
        elif tile is None and step.results and isinstance(step.result.type, TileSpec):
            result, spec = step.result, step.result.type
            stated = ((spec.valid_row, "valid_row", spec.rows), (spec.valid_col, "valid_col", spec.cols))
            sizes = (own if own != DYNAMIC else given.get(name, None) or most for own, name, most in stated)
            valid = tuple(self.number(step, k, n) for k, n in enumerate(sizes))
        else:
            raise Fragment(f"what {step.name} pops is not followed", step)
        self._pass(step, ring, spec, valid, pushed=False)
        around = {id(loop.step) for loop in self.loops}
        site = (RING, ring.key, *(call for call in self.context if call not in around), id(step))
        if ring.memory is not None:  # any entry may be copied to where another one was
            site = RING, ring.key
        if ring.memory is None and site in state.popped:
            raise Fragment("a pipe with several entries that are taken at once in one place is not followed", step)
        if isinstance(tile, Tile) and tile.space != site and self._takes.get(tile.space, self.context) != self.context:
            raise Fragment("a tile that takes entries in a loop and outside of it is not followed", step)
        self._takes[site] = self.context
        made = Tile(spec, site, 0, spec, 0, 0, cell)
        state.cells[cell] = (spec, *valid)
        state.popped = (*(entry for entry in state.popped if entry != site), site)
        state.filled = {key: entry for key, entry in state.filled.items() if entry[0] != site}
        touches = [Touch(made.space, True, 0, ring.size)]
        if ring.memory is not None:
            touches.append(self._in_memory(ring, write=False))
        self.access(step, state, self._taking(ring), touches)
        entry = made.space, spec, 0, 0, 0, *valid
        state.filled[identity(entry)] = entry
        state.values[result] = made

    def _taking(self, ring: Ring) -> Pipe:
        """The pipe that takes entries, and gives them back."""
        if ring.memory is not None:
            return Pipe.MTE2
        return Pipe.MTE1 if self.core == "cube" else Pipe.V

    def _free(self, step: Step, state: State, given: Mapping[str, Any]) -> None:
        ring = self._of(step, state, given, "free")
        if ring.memory is None:  # a copy has been free since it was loaded
            oldest = next((entry for entry in state.popped if entry[1] == ring.key), None)
            if oldest is None:
                raise Fragment(f"{step.name} gives back what has not been taken", step)
            self.access(step, state, self._taking(ring), [Touch(oldest, True, 0, ring.size)])
            state.popped = tuple(entry for entry in state.popped if entry is not oldest)

    # --- the cores of a cluster ----------------------------------------------------------------------------------

    def cluster(self) -> None:
        """What the cores of a cluster do together: pipes balance, and pass on what is there."""
        for key, ring in self.rings.items():
            self._among_slots(ring)
            self._handed_on(ring, *(self.passed.get((key, pushed), {}).values() for pushed in (True, False)))
        for found in self.found.instances.values():
            for instance in found.values():
                if any(touch.space in self.unplaced for touch in instance.touches):
                    raise Fragment("a tile is used that has not been popped yet", instance.step)
                if any(_foreign(instance.core, touch) for touch in instance.touches):
                    raise Fragment("a core that touches the buffer of another one is not followed", instance.step)
        self.alternate(self.piped, {})

    def _among_slots(self, ring: Ring) -> None:
        """No other tile of the consumer may lie where the slots are."""
        if ring.base is None:
            return
        space = space_of(TileType.Vec if ring.to_vector else TileType.Mat)
        end = ring.base + ring.local * ring.size
        used = max((x.size for way in (True, False) for x in self.passed.get((ring.key, way), {}).values()), default=0)
        others = [
            r for r in self.rings.values() if r is not ring and r.to_vector == ring.to_vector and r.base is not None
        ]
        if any(r.base < end and ring.base < r.base + r.local * r.size for r in others) or end > self.capacity(space):
            raise Fragment("the slots of a pipe lie among those of another one, or outside of their buffer")
        for found in self.found.instances.values():
            for a in found.values():
                for touch in a.touches if a.core == ring.consumer else ():
                    if touch.space == space:
                        meet = touch.lo is None or either(
                            *(
                                both(lifted(touch.lo) < at + used, lifted(touch.hi) > at)
                                for at in range(ring.base, end, ring.size)
                            )
                        )
                        if meet is not False and (meet is True or self.solver.possible((*a.facts, meet))):
                            raise Fragment(f"{a.step.name} may touch the slots of a pipe", a.step)

    def _handed_on(self, ring: Ring, pushed: Iterable[Passed], popped: Iterable[Passed]) -> None:
        """What is popped has been pushed, all of it."""
        for into in pushed:
            for out in popped:
                wide = [2 if into.split == way else 1 for way in (Split.TILE_UP_DOWN, Split.TILE_LEFT_RIGHT)]
                halves = [(n, m * f) if ring.to_vector else (n * f, m) for n, m, f in zip(into.valid, out.valid, wide)]
                kinds = into.spec.dtype is out.spec.dtype
                whole = out.valid == (out.spec.rows, out.spec.cols) and into.valid == (into.spec.rows, into.spec.cols)
                if (
                    into.split != out.split
                    or into.split > Split.TILE_LEFT_RIGHT
                    or not kinds
                    or not whole
                    or any(n != m for n, m in halves)
                ):
                    self.leave_open(Claim.WRITTEN, "an entry of a pipe that is not pushed as it is popped", out.step)


def _foreign(core: str, touch: Touch) -> bool:
    """True of the unified buffer for a cube core, and of another buffer for a vector core."""
    if touch.tile is not None:
        return (touch.tile.spec.loc is TileType.Vec) is (core == "cube")
    return touch.space[0] == "buffer" and (touch.space == space_of(TileType.Vec)) is (core == "cube")
