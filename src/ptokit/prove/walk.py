"""The steps of a plan on numbers that may be unknown: what each makes of the states that reach it.

A word of a plan is a method here, as it is one of the machine. What is not followed is a `Fragment`, with its place.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import z3

from ptokit.ir.core import Value
from ptokit.ir.functions import alias, condition, elements_in, named
from ptokit.ir.launch import MOST_RANKS
from ptokit.isa.scalar.arithmetic import ARITHMETIC
from ptokit.machine.local_memory import SPACES
from ptokit.machine.words import slot_bytes
from ptokit.plan.steps import Data, Step, without_form
from ptokit.run.program import Program
from ptokit.types.codecs import width
from ptokit.types.tile import DYNAMIC, TileSpec
from ptokit.types.values import MemRef, PartitionView, Ptr, Scalar, TensorView

from .claims import Claims, Fragment, Loop, line_of
from .numbers import DATA, Number, both, computed, either, is_number, is_truth, lifted, simple
from .places import Lanes, Pointer, Space, Tile, Tiles, View, space_of
from .ranges import element_of, largest, narrowed
from .report import Claim
from .state import WORDS, State, met

GIVEN = "given"
"""In the values of a state: what the last yield or return hands on."""

MOST_STATES = 48
MOST_STEPS = 60_000


class Walk(Claims):
    """Goes through the steps of one kernel for one kind of core."""

    def __init__(self, program: Program, *, by_compiler: bool, blocks: int | None, assume: Sequence[str] = ()) -> None:
        """``by_compiler``: the order of pipes is the compiler's. ``blocks``: None for any number of them.

        Raises `ValueError` for an assumption that says nothing, or if they hold for no arguments.
        """
        super().__init__(program.target)
        self.program, self.core, self.by_compiler = program, program.cores.roles[0].kind, by_compiler
        self.total: Number = z3.Int("blocks#") if blocks is None else blocks
        self.block: Number = z3.Int("block#")
        self.spans |= {n.get_id(): (0, 65535) for n in (self.block, self.total) if not isinstance(n, int)}
        self.vectors = 1 if program.plan.on_one_core else program.cores.vectors
        self.sub: Number = z3.Int("sub#") if program.cores.mixed and self.vectors > 1 else 0
        self.frames: list[Loop | Step] = []  # loops and calls around what is gone through
        self.homes: dict[int, tuple[Any, ...]] = {}  # by unknown: the loops in whose iterations it has one value
        self.params: dict[str, Any] = {}
        self.asserted: dict[int, str] = {}  # what the kernel itself assumes
        self.kept: list[Any] = []
        self._names: dict[Any, Any] = {}
        self.loops_known: dict[Any, Any] = {}  # by core, what is around and step: how a loop goes on
        self._aheads: dict[int, Step] = {}  # by step of a loop, what it does before its first iteration
        self._steps, self.partly = 0, False  # partly: a register has lanes that nothing has written
        self.stated: tuple[Any, ...] = ()
        self.shared: dict[str, str] = {}  # by array, the one that it is
        self.windows: dict[str, tuple[str, int]] = {}  # by array, the one that it is of the rank so much further on
        numbers = []
        for text in assume:
            pair = alias(text, program.entry)
            if pair is None:
                numbers.append(text)
                continue
            if pair[2]:
                self.windows[pair[0]] = pair[1:]
                continue
            one, other = sorted((self.array(name) for name in pair[:2]), key=named(program.entry).index)
            self.shared |= {name: one for name in named(program.entry) if one != other == self.array(name)}
        self.start()
        self.rank, self.ranks = (self.params.get(name, z3.Int(name)) for name in ("rank", "ranks"))
        if self.windows:
            self.params |= {"rank": self.rank, "ranks": self.ranks}
            self.spans |= {number.get_id(): (0, MOST_RANKS) for number in (self.rank, self.ranks)}
            self.stated += (self.rank >= 0, self.rank < self.ranks, self.ranks <= MOST_RANKS)
        names = {"blocks": lifted(self.total), "rank": self.rank, "ranks": self.ranks, **self.params}
        for text in numbers:
            arrays = {name: element_of(name) for name in elements_in(text, program.entry)}
            said = (lifted(condition(text, names | arrays, WORDS)),)
            self.stated += () if arrays else said
            self.elements_are |= {name: self.elements_are.get(name, ()) + said for name in arrays}
        if self.stated and self.solver.solve((*self.assumed, *self.stated), model=True).none:
            raise ValueError(f"there are no arguments for which {' and '.join(assume)}")
        narrowed(self.spans, self.params.values(), self.assumed, self.stated, self.solver)

    # --- unknowns ------------------------------------------------------------------------------------------------

    @property
    def loops(self) -> tuple[Loop, ...]:
        """The loops around what is gone through now."""
        return tuple(frame for frame in self.frames if isinstance(frame, Loop))

    @property
    def context(self) -> tuple[int, ...]:
        """The calls and loops around, as a key."""
        return tuple(id(frame.step if isinstance(frame, Loop) else frame) for frame in self.frames)

    def unknown(self, key: Any, like: Any = 0) -> Any:
        """The number, or the condition like `like`, that something has here: one for each key and place in loops."""
        full = self.core, self.context, key, is_truth(like)
        made = self._names.get(full)
        if made is None:
            name = f"u#{len(self._names)}"  # which no parameter is called
            made = self._names[full] = z3.Bool(name) if is_truth(like) else z3.Int(name)
            self.homes[made.get_id()] = tuple(loop.k for loop in self.loops)
        return made

    def number(self, step: Step, slot: Any, value: Any) -> Number:
        """A number as it is, or where data decides it an unknown one."""
        return value if is_number(value) else self.unknown((id(step), slot))

    def unknown_like(self, key: Any, value: Any) -> Any:
        """A value of the same kind that nothing is known about."""
        if is_number(value) or is_truth(value):
            return self.unknown(key, value)
        if isinstance(value, Pointer | Lanes):
            return replace(value, at=self.unknown((key, "at")))
        if isinstance(value, View):
            places = tuple(self.unknown((key, "offset", k)) for k in range(len(value.offsets)))
            return replace(
                value, offsets=places, sizes=tuple(self.unknown((key, "size", k)) for k in range(len(places)))
            )
        return DATA

    def valid(self, state: State, tile: Any, step: Step) -> tuple[Number, Number]:
        """The valid rows and columns of a tile."""
        cell = state.cells.get(tile.cell) if isinstance(tile, Tile) else None
        if cell is None:
            raise Fragment("the valid region of a tile is not followed", step)
        return cell[1:]

    # --- values --------------------------------------------------------------------------------------------------

    def array(self, name: str) -> str:
        """The first argument that is the same array."""
        return self.shared.get(name, name)

    def value(self, state: State, operand: Any) -> Any:
        """What an operand is in a state."""
        operand = without_form(operand)
        if isinstance(operand, tuple):
            return tuple(self.value(state, part) for part in operand)
        if isinstance(operand, Data):
            return DATA if isinstance(operand.value, float) else operand.value
        return state.values.get(operand, DATA) if isinstance(operand, Value) else operand

    def operands(self, state: State, step: Step) -> list[Any]:
        return [self.value(state, operand) for operand in step.operands]

    def start(self) -> State:
        """The state in which a kernel begins: arguments that are not negative, and arrays that do not overlap."""
        state = State()
        facts: list[Any] = [] if isinstance(self.total, int) else [self.total >= 1, self.total <= 65535]
        facts += [self.block >= 0, self.block < self.total]
        if isinstance(self.sub, z3.ExprRef) and self.core == "vector":
            facts += [self.sub >= 0, self.sub < self.vectors]
        for k, param in enumerate(self.program.entry.params):
            name, kind = param.name or f"argument {k}", param.type
            if isinstance(kind, Scalar):
                if kind.is_integer and kind.name != "i1":
                    number = self.params[name] = z3.Int(name)
                    facts += [number >= 0, number <= largest(kind)]
                    self.spans.setdefault(number.get_id(), (0, largest(kind)))
                    state.values[param] = number
                elif kind.name == "i1":
                    state.values[param] = self.params[name] = z3.Bool(name)
            elif isinstance(kind, Ptr):
                space = ("argument", self.array(name)) if (kind.space or "gm") == "gm" else None
                if space is not None:
                    state.values[param] = Pointer(space, 0, max(1, kind.dtype.size))
            elif isinstance(kind, MemRef | TensorView | PartitionView):
                state.values[param] = self._argument(name, kind)
        state.facts = self.assumed = (*facts, *self.stated)
        return state

    def _argument(self, name: str, kind: MemRef | TensorView | PartitionView) -> Any:
        dims = kind.dims
        if any(d == DYNAMIC or d < 0 for d in dims):
            return DATA
        strides: list[int] = []
        below = 1
        for d in reversed(dims):
            strides.insert(0, strides[0] * below if strides else 1)
            below = int(d)
        if isinstance(kind, MemRef):
            strides = list(kind.strides_of(dims))
        size = max(1, kind.dtype.size)
        view = View(("argument", self.array(name)), 0, size, tuple(dims), tuple(strides), (0,) * len(dims), tuple(dims))
        self.need(None, view, ())
        return view

    # --- steps ---------------------------------------------------------------------------------------------------

    def steps(self, steps: Sequence[Step], states: list[State]) -> list[State]:
        """Go through steps that follow each other."""
        for step in steps:
            if not states:
                return states
            found = []
            for state in states:
                found += self.step(step, state)
            if len(found) > 1:
                found = met(found, lambda key, like: self.unknown((id(step), "met", key), like))  # noqa: B023
            if len(found) > MOST_STATES:
                raise Fragment(f"flags may be set in more than {MOST_STATES} ways", step)
            states = found
        return states

    def step(self, step: Step, state: State) -> list[State]:
        """The states after one step."""
        self._steps += 1
        if self._steps > MOST_STEPS:
            raise Fragment("the program is too long", step)
        if step.core and self.core and step.core.removeprefix("first_") != self.core:
            state.values.update(dict.fromkeys(step.results, 0))
            return [state]
        if self.partly and step.word != "instruction":
            self.whole(step, state, self.operands(state, step))
        does = getattr(self, f"on_{step.word}", None)
        if does is None:
            raise Fragment(f"{step.op.name} is not followed", step)
        made = does(step, state)
        if isinstance(made, list):
            return made
        if made is not None:
            state.values[step.result] = made
        return [state]

    def whole(self, step: Step, state: State, given: Iterable[Any]) -> None:
        """What is handed on has to be written: that is followed from instruction to instruction only."""
        if any(isinstance(value, Lanes) for value in given):
            text = f"{step.name} may use lanes that nothing has written"
            self.suspect(Claim.WRITTEN, "UNINIT-READ", step, state.facts, text)

    # --- numbers -------------------------------------------------------------------------------------------------

    def on_compute(self, step: Step, state: State) -> Any:
        given = self.operands(state, step)
        if len(step.results) != 1 or step.op.name not in ARITHMETIC:
            state.values.update((result, self._open(step, k, result)) for k, result in enumerate(step.results))
            return [state]
        kind = step.result.type
        made = computed(step.op.name, given, step.op.attrs, kind, lambda goal: self.solver.implied(state.facts, goal))
        made = self.within(step, made, kind, state.facts) if is_number(made) else made
        return self._open(step, 0, step.result) if made is DATA else made

    def _open(self, step: Step, k: int, result: Value) -> Any:
        """A result that is not followed."""
        kind = result.type
        if not (isinstance(kind, Scalar) and kind.is_integer):
            return DATA
        made, half = self.unknown((id(step), k), kind.name != "i1" and 0), 1 << width(kind.name) - 1
        self.spans[made.get_id()] = -half, half - 1
        return made

    def on_parameter(self, step: Step, state: State) -> None:
        """It is there from the start."""

    def on_block_idx(self, step: Step, state: State) -> Any:
        return self.block

    def on_total(self, step: Step, state: State) -> Any:
        return self.total

    def on_subblock(self, step: Step, state: State) -> Any:
        return self.sub if self.core == "vector" else 0

    def on_subblocks(self, step: Step, state: State) -> Any:
        return self.program.cores.vectors

    def on_claim(self, step: Step, state: State) -> None:
        """cf.assert: an assumption that the kernel carries, since the run stops where it does not hold."""
        condition = self.value(state, step.operands[0])
        if condition is DATA:
            condition = self.unknown((id(step), "claim"), True)
        if condition is False or (condition is not True and not self.solver.possible((*state.facts, condition))):
            raise Fragment("what is asserted never holds here", step)
        if condition is not True:
            state.facts = (*state.facts, condition)
            self.asserted.setdefault(id(step), f"{self.value(state, step.operands[1])} (line {line_of(step)})")

    # --- views and pointers --------------------------------------------------------------------------------------

    def on_view(self, step: Step, state: State) -> Any:
        pointer, shape, strides, dtype = self.operands(state, step)[:4]
        if not isinstance(pointer, Pointer):
            raise Fragment("a view of a pointer that is not followed", step)
        shape = tuple(self.number(step, ("shape", k), n) for k, n in enumerate(shape))
        strides = tuple(self.number(step, ("stride", k), n) for k, n in enumerate(strides))
        signs = both(*(simple(lifted(n) >= 0) for n in (*shape, *strides)))
        self.oblige(Claim.BOUNDS, "GM-OOB", step, state.facts, signs, "a view may have a negative size or stride")
        state.facts = (*state.facts, signs) if signs is not True else state.facts
        view = View(pointer.space, pointer.at, max(1, dtype.size), shape, strides, (0,) * len(shape), shape)
        self.need(step, view, state.facts)
        return view

    def on_slice(self, step: Step, state: State) -> Any:
        view, offsets, sizes = self.operands(state, step)[:3]
        if not isinstance(view, View):
            raise Fragment("a slice of a view that is not followed", step)
        if "packed" in step.names:
            raise Fragment("slices of packed elements are not followed", step)
        offsets = tuple(self.number(step, ("offset", k), n) for k, n in enumerate(offsets))
        sizes = tuple(self.number(step, ("size", k), n) for k, n in enumerate(sizes))
        some = both(*(simple(lifted(n) > 0) for n in sizes))
        past = [either(lifted(o) < 0, lifted(o) + lifted(n) > lifted(m)) for o, n, m in zip(offsets, sizes, view.sizes)]
        negative = either(*(lifted(n) < 0 for n in sizes))
        wrong = either(negative, both(some, either(*past)))
        good = simple(z3.Not(lifted(wrong)))
        self.oblige(Claim.BOUNDS, "GM-OOB", step, state.facts, good, "a slice may leave its view")
        moved = tuple(simple(lifted(a) + lifted(b)) for a, b in zip(view.offsets, offsets))
        return replace(view, offsets=moved, sizes=sizes)

    def on_dim(self, step: Step, state: State) -> Any:
        view, k = self.operands(state, step)
        return view.sizes[k] if isinstance(view, View) and isinstance(k, int) else self.unknown(id(step))

    def on_stride(self, step: Step, state: State) -> Any:
        view, k = self.operands(state, step)
        return view.strides[k] if isinstance(view, View) and isinstance(k, int) else self.unknown(id(step))

    def on_first_element(self, step: Step, state: State) -> Any:
        view = self.value(state, step.operands[0])
        if not isinstance(view, View):
            raise Fragment("a view that is not followed", step)
        return Pointer(view.space, view.first, view.size)

    def on_advance(self, step: Step, state: State) -> Any:
        pointer, by = self.operands(state, step)
        if not isinstance(pointer, Pointer):
            raise Fragment("a pointer that is not followed", step)
        return replace(pointer, at=simple(lifted(pointer.at) + lifted(self.number(step, "by", by)) * pointer.size))

    def on_cast(self, step: Step, state: State) -> Any:
        value, dtype, space = self.operands(state, step)
        if isinstance(value, Pointer):
            return replace(value, size=max(1, dtype.size))
        if space == "gm":
            raise Fragment("a pointer to global memory made of a number", step)
        return Pointer(buffer_of(space), self.number(step, "at", value), max(1, dtype.size))

    def on_number_of(self, step: Step, state: State) -> Any:
        pointer = self.value(state, step.operands[0])
        local = isinstance(pointer, Pointer) and pointer.space[0] == "buffer"
        return pointer.at if local else self.unknown(id(step))

    def on_address_in_gm(self, step: Step, state: State) -> Any:
        return self.unknown(id(step))

    def on_first_byte(self, step: Step, state: State) -> Any:
        tile, dtype = self.operands(state, step)[:2]
        if not isinstance(tile, Tile) or tile.space[0] != "buffer" or not (tile.row == 0 and tile.col == 0):
            raise Fragment("the address of a tile that is not followed", step)
        return Pointer(tile.space, tile.at, max(1, dtype.size))

    # --- tiles ---------------------------------------------------------------------------------------------------

    def on_tile(self, step: Step, state: State) -> Any:
        site, spec, rows, cols, _, address = self.operands(state, step)
        return self._tile(step, state, 0, site, spec, (rows, cols), address)

    def _tile(self, step: Step, state: State, k: int, site: Any, spec: TileSpec, valid: Any, address: Any) -> Tile:
        cell = id(step), k
        self._resized(step, state, cell, spec, valid)
        if address is None:
            return Tile(spec, ("tile", (id(step), k) if site is None else site), 0, spec, 0, 0, cell)
        at = self.number(step, ("address", k), address)
        end = self.target.capacity.get(spec.loc, 0)
        if end:
            good = both(lifted(at) >= 0, lifted(at) + spec.nbytes <= end)
            self.oblige(Claim.BOUNDS, "UB-CAPACITY", step, state.facts, good, "a tile may leave its buffer")
        aligned = simple(lifted(at) % self.target.alignment == 0)
        self.oblige(Claim.BOUNDS, "ADDR-ALIGN", step, state.facts, aligned, "a tile may lie between aligned addresses")
        return Tile(spec, space_of(spec.loc), at, spec, 0, 0, cell)

    def on_tiles(self, step: Step, state: State) -> Any:
        sites, spec, rows, cols, _, address = self.operands(state, step)
        made = []
        for k, site in enumerate(sites):
            at = None if address is None else simple(lifted(self.number(step, "base", address)) + k * slot_bytes(spec))
            made.append(self._tile(step, state, k, site, spec, (rows, cols), at))
        return Tiles(tuple(made))

    def on_element(self, step: Step, state: State) -> Any:
        several, indices = self.operands(state, step)[:2]
        if not isinstance(several, Tiles):
            return self._open(step, 0, step.result)
        index = self.number(step, "index", indices[0])
        if isinstance(index, int):
            return several.items[index] if 0 <= index < len(several.items) else several.items[0]
        ways = []
        for k, tile in enumerate(several.items):
            facts = (*state.facts, simple(index == k))
            if self.solver.possible(facts):
                way = state.copy()
                way.facts = facts
                way.values[step.result] = tile
                ways.append(way)
        return ways

    def on_alias(self, step: Step, state: State) -> Any:
        tile, spec, _ = self.operands(state, step)
        return self._seen(step, state, tile, spec)

    def on_numbers(self, step: Step, state: State) -> Any:
        raise Fragment("tiles of pairs of numbers are not followed", step)

    def _seen(self, step: Step, state: State, tile: Any, spec: TileSpec) -> Tile:
        if not isinstance(tile, Tile) or tile.row != 0 or tile.col != 0:
            raise Fragment("an alias of a window is not followed", step)
        same_size = (tile.spec.rows, tile.spec.cols) == (spec.rows, spec.cols)
        vr, vc = self.valid(state, tile, step) if same_size else (spec.rows, spec.cols)
        rows = vr if spec.valid_row == DYNAMIC else spec.valid_row
        cols = vc if spec.valid_col == DYNAMIC else spec.valid_col
        cell = id(step), 0
        state.cells[cell] = (spec, rows, cols)
        return Tile(spec, tile.space, tile.at, spec, 0, 0, cell)

    def on_window(self, step: Step, state: State) -> Any:
        tile, offsets, spec, _, valid = self.operands(state, step)
        if not isinstance(tile, Tile):
            raise Fragment("a window of a tile that is not followed", step)
        starts = [self.number(step, ("offset", k), offset) for k, offset in enumerate(offsets)]
        sizes = []
        stated = ((spec.valid_row, spec.rows), (spec.valid_col, spec.cols))
        for k, (own, physical) in enumerate(stated):
            if own == DYNAMIC:
                left = simple(lifted(self.valid(state, tile, step)[k]) - lifted(starts[k]))
                size = left if valid[k] is None else self.number(step, ("valid", k), valid[k])
                size = computed("arith.minsi", (size, physical), {}, None, lambda goal: False)
                own = computed("arith.maxsi", (size, 0), {}, None, lambda goal: False)
            sizes.append(own)
        whole = (tile.spec.rows, tile.spec.cols)
        inside = [both(lifted(o) >= 0, lifted(o) + lifted(n) <= m) for o, n, m in zip(starts, sizes, whole)]
        self.oblige(Claim.BOUNDS, "SS-1", step, state.facts, both(*inside), "a window may leave its tile")
        cell = id(step), 0
        state.cells[cell] = (spec, *sizes)  # type: ignore[assignment]
        row, col = (simple(lifted(a) + lifted(b)) for a, b in zip((tile.row, tile.col), starts))
        return Tile(spec, tile.space, tile.at, tile.home, row, col, cell)

    def on_rebind(self, step: Step, state: State) -> Any:
        tile, address = self.operands(state, step)
        if not isinstance(tile, Tile) or tile.row != 0 or tile.col != 0:
            raise Fragment("a tile that is not followed gets an address", step)
        return self._tile(step, state, 0, None, tile.spec, self.valid(state, tile, step), address)

    def on_set_valid(self, step: Step, state: State) -> Any:
        tile, rows, cols = self.operands(state, step)
        if not isinstance(tile, Tile):
            raise Fragment("the valid region of a tile that is not followed", step)
        self._resized(step, state, tile.cell, tile.spec, (rows, cols))
        return [state]

    def _resized(self, step: Step, state: State, cell: Any, spec: TileSpec, valid: Sequence[Any]) -> None:
        """A tile gets a valid region, which has to lie in it."""
        rows, cols = (self.number(step, ("valid", cell[1], k), size) for k, size in enumerate(valid))
        limits = [(rows, spec.rows), (cols, spec.cols)]
        inside = both(*(part for size, most in limits for part in (lifted(size) >= 0, lifted(size) <= most)))
        self.oblige(Claim.BOUNDS, "TILE-01", step, state.facts, inside, "a valid region may leave its tile")
        state.facts = (*state.facts, inside) if inside is not True else state.facts
        state.cells[cell] = (spec, rows, cols)

    def on_valid(self, step: Step, state: State) -> Any:
        tile = self.value(state, step.operands[0])
        state.values.update(zip(step.results, self.valid(state, tile, step)))
        return [state]

    def on_valid_rows(self, step: Step, state: State) -> Any:
        return self.valid(state, self.value(state, step.operands[0]), step)[0]

    def on_valid_cols(self, step: Step, state: State) -> Any:
        return self.valid(state, self.value(state, step.operands[0]), step)[1]

    # --- arrays of the scalar unit, whose items are not followed ----------------------------------------------------

    def on_several(self, step: Step, state: State) -> Any:
        return DATA

    on_record = on_several

    def on_field(self, step: Step, state: State) -> Any:
        return self._open(step, 0, step.result)

    def on_set_element(self, step: Step, state: State) -> None:
        """Its items are not followed."""

    on_set_field = on_set_element


def buffer_of(space: str) -> Space:
    """The buffer that a pointer's space is."""
    return space_of(SPACES[space])
