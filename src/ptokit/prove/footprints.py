"""What an instruction touches and writes, by its meaning and its footprint, where sizes and places may be unknown.

No instruction is known by name. What the table says of it is enough, or what it touches counts as open: all of a space.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import z3

from ptokit.isa.meaning.expressions import (
    OWN,
    Apply,
    Const,
    Count,
    Expr,
    Extent,
    Fetched,
    Least,
    Place,
    Reinterpret,
    Scalar,
    Stored,
    Sum,
    Up,
    leaves,
    type_of,
)
from ptokit.isa.meaning.words import (
    Bursts,
    Contract,
    Fold,
    Gather,
    Lane,
    Move,
    Ordering,
    Outside,
    Python,
    Repeats,
    Scatter,
    Word,
    Write,
)
from ptokit.isa.site import UNKNOWN, Site
from ptokit.isa.site import known as all_known
from ptokit.isa.table import Kind, Role, default_footprint
from ptokit.plan.steps import Step
from ptokit.types.enums import AtomicType, ScatterAtomicOp

from .claims import Fragment
from .numbers import DATA, Number, both, computed, either, is_number, lifted, same, simple
from .places import (
    Pointer,
    Space,
    Tile,
    Touch,
    View,
    at_places,
    bits_of,
    bytes_of_rows,
    identity,
    laid_out,
    of_tile,
    of_view,
    runs_of,
    space_of,
)
from .ranges import chosen_by_indices, loaded_from
from .report import Claim
from .state import State
from .walk import Walk

REGISTER = 256
"""Bytes of a vector register."""

_OF_VALUES = frozenset((Kind.PTR, Kind.TILE, Kind.VIEW, Kind.SCALAR, Kind.RECORD, Kind.VREG, Kind.MASK))
"""Operands of functions that touch nothing beside them."""


class Footprints(Walk):
    """Says what the instructions of a kernel touch.

    ``in_scope``: inside a vector scope. ``keeps_registers``: the kernel sets registers that later copies read.
    """

    in_scope = False
    keeps_registers = False

    def capacity(self, space: Space) -> int:
        """The bytes of a buffer."""
        return next((size for loc, size in self.target.capacity.items() if space_of(loc) == space), 0)

    def _reach(self, step: Step, state: State, touch: Touch) -> None:
        """Bytes that are touched by a pointer have to lie in their space."""
        if touch.lo is None:
            self.leave_open(Claim.BOUNDS, f"what {step.name} touches by a pointer is not followed", step)
        elif touch.space[0] == "argument":
            self.need_bytes(step, touch.space, touch.lo, touch.hi, state.facts)
        else:
            size = self.capacity(touch.space)
            good = simple(z3.And(lifted(touch.lo) >= 0, lifted(touch.hi) <= size))
            self.oblige(Claim.BOUNDS, "UB-CAPACITY", step, state.facts, good, "an access may leave its buffer")

    # --- what is touched -----------------------------------------------------------------------------------------

    def _touches(self, step: Step, state: State, site: Site, given: Mapping[str, Any]) -> Iterator[Touch]:
        instr = site.instr
        word = instr.meaning_at(site)
        if isinstance(word, Ordering):
            raise Fragment(f"{instr.name} is not followed", step)
        if isinstance(word, Python) and any(
            o.kind not in _OF_VALUES and o.kind is not Kind.PTR for o in instr.operands
        ):
            self.leave_open(Claim.BOUNDS, f"what {instr.name} touches is not followed", step)
        if isinstance(word, Gather | Scatter) and word.outside is Outside.REFUSED:
            wanted = self.valid(state, given[word.dst], step)[1] if isinstance(given[word.dst], Tile) else None
            chosen_by_indices(self, step, state, word, given, wanted)
        surely = self._surely_all(site, word, given)
        try:
            found = list(instr.footprint(site))
        except (TypeError, AttributeError, KeyError, AssertionError):
            found, surely = list(default_footprint(site)), False
        for access in found:
            value = given.get(access.operand)
            atomic = _atomic(site) if access.write else None
            if access.sub:
                raise Fragment(f"{instr.name} writes into the buffer of another core", step)
            if isinstance(value, Tile):
                sizes: tuple[Any, Any] = (access.rows, access.cols) if surely else (UNKNOWN, UNKNOWN)
                if surely and all_known(access.rows) and access.rows < 0:
                    sizes = self.valid(state, value, step)
                rows, cols = sizes
                yield of_tile(value, access.write, rows, cols, access.row, access.col)
            elif isinstance(value, View):
                yield of_view(value, access.write, atomic)
        pointers = {name: value for name, value in given.items() if isinstance(value, Pointer)}
        if isinstance(word, Bursts) and (exact := list(self._bursts(step, state, word, given))):
            yield from exact
            return
        if isinstance(word, Lane) and pointers and (exact := self._by_lanes(step, state, word, site, given)):
            yield from exact
            return
        for name, pointer in pointers.items():
            for write in (False, True):
                touch = Touch(pointer.space, write, None, None)
                if not self._by_pointer(word, name, write=write):
                    continue
                self._reach(step, state, touch)
                yield touch

    # --- registers -----------------------------------------------------------------------------------------------

    def _by_lanes(self, step: Step, state: State, word: Lane, site: Site, given: Mapping[str, Any]) -> list[Touch]:
        """What loads and stores of registers touch; empty where data may decide it."""
        found: list[Touch] = []
        lanes = word.lanes or getattr(site.operands.get(word.over), "lanes", 0)
        for write in word.writes:
            if write.where is not None or not lanes:
                return []
            for leaf in leaves(write.value):
                pointer = given.get(getattr(leaf, "name", ""))
                if not isinstance(pointer, Pointer):
                    continue
                if isinstance(leaf, Stored):
                    at = self._after(step, pointer, leaf.offset, given, leaf.unit)
                    found.append(Touch(pointer.space, False, at, simple(lifted(at) + leaf.span), at))
                elif isinstance(leaf, Fetched) and leaf.where is None:
                    size = leaf.dtype.size
                    laid = laid_out(leaf.place, lanes // leaf.run, leaf.run * size, leaf.unit or size, given)
                    if laid is None:
                        return []
                    found.append(at_places(self._after(step, pointer, leaf.offset, given), pointer, laid, write=False))
                else:
                    return []
        for write in word.writes:
            pointer = given.get(write.name)
            if isinstance(pointer, Pointer):
                size = _size(write, site)
                if not size:
                    return []
                if write.place is not None:
                    laid = laid_out(write.place, lanes // write.run, write.run * size, write.unit or size, given)
                    if laid is None or write.packed:
                        return []
                    made = at_places(self._after(step, pointer, write.offset, given), pointer, laid, write=True)
                    self._reach(step, state, made)
                    if self._active(word, given, lanes) != lanes:
                        made = replace(made, mask=None, loose=True)
                    found.append(made)
                    continue
                at = self._after(step, pointer, write.offset, given, write.unit)
                whole = -(-lanes // 8) if write.packed else lanes * size
                active = self._active(word, given, lanes)
                few = None if active is None or write.packed else simple(lifted(active) * size)
                exact: Number = whole if active is not None and same(active, lanes) else few
                self._reach(step, state, Touch(pointer.space, True, at, simple(lifted(at) + whole), at))
                end = simple(lifted(at) + (whole if exact is None else exact))
                found.append(Touch(pointer.space, True, at, end, at, loose=exact is None or write.packed))
        for touch in found:
            if not touch.write:
                self._reach(step, state, touch)
        return found

    def _after(self, step: Step, pointer: Pointer, name: str, given: Mapping[str, Any], unit: int = 0) -> Number:
        """The first byte of an access at a pointer and an offset, the operand of that name."""
        if given.get(name) is None:
            return pointer.at
        offset = self.number(step, ("offset", name), given[name])
        return simple(lifted(pointer.at) + lifted(offset) * (unit or pointer.size))

    @staticmethod
    def _active(word: Lane, given: Mapping[str, Any], lanes: int) -> Any:
        """How many lanes, from the first one on, are let through; None where that is open."""
        mask = given.get(word.mask) if word.mask else None
        if mask is None:
            return lanes
        if not isinstance(mask, tuple):
            return None
        count, width = mask
        return count if width == (word.width or REGISTER // lanes) else None

    def made(self, step: Step, state: State, site: Site, given: Mapping[str, Any]) -> dict[Any, Any]:
        """Results that are followed: predicates whose first lanes are active, as how many of them and bytes of a lane,
        and numbers made of numbers."""
        word = site.instr.meaning_at(site)
        found: dict[Any, Any] = {}
        if not isinstance(word, Lane) or word.mask or not word.lanes:
            return found
        results = dict(zip((o.name for o in site.instr.returned), step.results))
        for write in word.writes:
            if write.name not in results or write.place is not None or write.where is not None:
                continue
            if not write.packed:
                number = self._evaluated(write.value, state, given)
                if number is not DATA:
                    found[results[write.name]] = number
                continue
            count = self._first_lanes(write.value, word.lanes, state, given)
            if count is not DATA and REGISTER % word.lanes == 0:
                found[results[write.name]] = (count, REGISTER // word.lanes)
        return found

    def _first_lanes(self, value: Expr, lanes: int, state: State, given: Mapping[str, Any]) -> Number:
        """How many lanes a condition lets through, if those are the first ones."""
        match value:
            case Apply("ge", (Place(), Const(0))):
                return lanes
            case Apply("lt", (Place(), bound)):
                number = self._evaluated(bound, state, given)
                if number is DATA or not self.solver.implied(state.facts, lifted(number) >= 0):
                    return DATA
                return computed("arith.minsi", (number, lanes), {}, None, lambda goal: False)
        return DATA

    def _evaluated(self, value: Expr, state: State, given: Mapping[str, Any]) -> Number:
        """A number made of numbers that are not negative, so that it does not matter how their bits are read."""
        match value:
            case Const(int(known)):
                return known
            case Scalar(name):
                number = given.get(name)
                whole = is_number(number) and self.solver.implied(state.facts, lifted(number) >= 0)
                return number if whole else DATA
            case Reinterpret(inner):
                number = self._evaluated(inner, state, given)
                whole = number is not DATA and self.solver.implied(state.facts, lifted(number) >= 0)
                return number if whole else DATA
            case Apply("select", (Apply("lt", (a, b)), c, d)):
                parts = [self._evaluated(e, state, given) for e in (a, b, c, d)]
                if any(p is DATA for p in parts):
                    return DATA
                low, high, one, other = map(lifted, parts)
                return simple(z3.If(low < high, one, other))
            case Apply("add" | "sub" | "mul" as op, (a, b)):
                x, y = (self._evaluated(e, state, given) for e in (a, b))
                name = {"add": "arith.addi", "sub": "arith.subi", "mul": "arith.muli"}[op]
                return DATA if x is DATA or y is DATA else computed(name, (x, y), {}, None, lambda goal: False)
        return DATA

    def _surely_all(self, site: Site, word: Word | None, given: Mapping[str, Any]) -> bool:
        """False where sizes that are open may decide more of a footprint than the sizes in it."""
        if word is not None and site.instr.footprint.__name__ == "derived_footprint":
            return True
        open_scalar = any(isinstance(x, z3.ExprRef) for x in given.values())
        return not open_scalar and all(all_known(t.vr, t.vc) for t in site.tiles)

    @staticmethod
    def _by_pointer(word: Word | None, name: str, *, write: bool) -> bool:
        """True if what is at a pointer may be read, or written."""
        match word:
            case Lane():
                written = any(w.name == name for w in word.writes)
                read = any(getattr(leaf, "name", "") == name for w in word.writes for leaf in leaves(w.value))
                return written if write else read or not written
            case Bursts() | Repeats():
                return (name == word.dst) is write
            case Move() | Contract():
                return (name == word.dst) is write
        return True

    def _bursts(self, step: Step, state: State, word: Bursts, given: Mapping[str, Any]) -> Iterator[Touch]:
        """The rows that a DMA copy moves, from the first byte to the last one; nothing where they are not followed."""
        if word.loops and self.keeps_registers:
            return
        axes = [tuple(self._count(step, n, given) for n in axis) for axis in word.axes]
        groups = given.get(word.groups) if word.groups else None
        if groups:
            numbers = [self.number(step, ("group", k), n) for k, n in enumerate(groups)]
            axes += [(numbers[k], numbers[k + 2], numbers[k + 1]) for k in range(0, len(numbers), 3)]
        length = self._count(step, word.length, given)
        for name, write in ((word.src, False), (word.dst, True)):
            pointer = given.get(name)
            if not isinstance(pointer, Pointer):
                raise Fragment("a pointer that is not followed", step)
            lo = lifted(pointer.at) + (lifted(self._count(step, word.before, given)) if write else 0)
            hi = lo + lifted(length)
            low = lo
            for count, to, source in axes:
                stride = lifted(to if write else source)
                span = (lifted(count) - 1) * stride
                low, hi = low + z3.If(span < 0, span, z3.IntVal(0)), hi + z3.If(span > 0, span, z3.IntVal(0))
            some = [lifted(n) > 0 for n in (length, *(count for count, *_ in axes))]
            strides = [(count, to if write else source) for count, to, source in axes]
            mask = bytes_of_rows(length, strides)
            loose = mask is None and not self._side_by_side(state, length, strides)
            touch = Touch(pointer.space, write, simple(low), simple(hi), simple(low), mask, loose=loose)
            if simple(z3.And(*some)) is not False:
                self._reach(step, state, touch)
                yield touch

    def _side_by_side(self, state: State, length: Number, axes: Sequence[tuple[Number, Number]]) -> bool:
        """True if rows certainly follow each other without gaps, the innermost axis being the last one."""
        size = length
        for count, stride in reversed(axes):
            alone = simple(lifted(count) == 1)
            if alone is not True and not self.solver.implied(state.facts, lifted(stride) == lifted(size)):
                return False
            size = simple(lifted(size) * lifted(count))
        some = both(lifted(length) >= 0, *(lifted(count) >= 1 for count, _ in axes))
        return self.solver.implied(state.facts, some)

    def _count(self, step: Step, count: Count, given: Mapping[str, Any], state: State | None = None) -> Number:
        """A size in terms of the operands."""
        match count:
            case Extent(name, "vr" | "vc" as what) if state is not None:
                return self.valid(state, given.get(name), step)[what == "vc"]
            case Extent(name, "rows" | "cols" as what) if isinstance(given.get(name), Tile):
                return getattr(given[name].spec, what)
            case Extent(name, "value"):
                value = given.get(name)
                return 0 if value is None else self.number(step, ("count", name), value)
            case Sum(names, times):
                parts = [lifted(self._count(step, Extent(name, "value"), given, state)) for name in names]
                return simple(z3.Sum(z3.IntVal(0), *parts) * times)
            case Least(sizes):
                least, *rest = [lifted(self._count(step, size, given, state)) for size in sizes]
                for size in rest:
                    least = z3.If(size < least, size, least)
                return simple(least)
            case Up(size, step_):
                return simple((lifted(self._count(step, size, given, state)) + step_ - 1) / step_ * step_)
            case int():
                return count
        return self.unknown((id(step), "count", repr(count)))

    # --- initialisation ------------------------------------------------------------------------------------------

    def _results(self, step: Step, state: State, given: Mapping[str, Any]) -> list[tuple[Number, Number]]:
        """The valid regions of what an instruction makes: results depend on no more of what it reads."""
        assert step.instr is not None
        made = [given.get(o.name) for o in step.instr.operands if o.role in (Role.OUT, Role.INOUT)]
        return [self.valid(state, tile, step) for tile in made if isinstance(tile, Tile)]

    def _written(self, step: Step, state: State, touches: Sequence[Touch], results: Sequence[Any]) -> None:
        """What is read on the chip has to be written."""
        for touch in touches:
            if touch.write or touch.space[0] == "argument":
                continue
            if touch.lo is None:
                reason = f"what {step.name} reads by a pointer is not followed"
                self.leave_open(Claim.WRITTEN, reason, step)
            elif not self._is_written(step, state, touch, results):
                text = f"{step.name} may read what nothing has written"
                self.suspect(Claim.WRITTEN, "UNINIT-READ", step, state.facts, text)

    def _is_written(self, step: Step, state: State, touch: Touch, results: Sequence[Any]) -> bool:
        mask = bits_of(self._needed(step, state, touch, results))
        known = mask is not None and not mask & ~state.written.get(touch.space, 0)
        return known or self._filled(step, state, touch, results)

    @staticmethod
    def _ranges(state: State, touch: Touch) -> Iterator[tuple[Number, Number]]:
        """The bytes that are written of the space of a touch, from one on and below another."""
        yield from runs_of(state.written.get(touch.space, 0))
        for entry in state.filled.values():
            if entry[0] == touch.space and len(entry) == 3:
                yield entry[1:]

    def _needed(self, step: Step, state: State, touch: Touch, results: Sequence[Any]) -> Touch:
        """The part of what is read that results depend on."""
        tile = touch.tile
        if tile is None or touch.mask is None:
            return touch
        rows, cols, row, col = touch.part
        sizes = [self.valid(state, tile, step), *results]
        if not all(type(n) is int for size in sizes for n in size):
            return touch
        most = [max(size[k] for size in sizes) for k in range(2)]
        return of_tile(tile, False, min(rows, max(0, most[0] - row)), min(cols, max(0, most[1] - col)), row, col)

    def _filled(self, step: Step, state: State, touch: Touch, results: Sequence[Any]) -> bool:
        """True if the tile that is read is filled as far as results depend on it."""
        tile = touch.tile
        for lo, hi in self._ranges(state, touch):
            inside = both(lifted(lo) <= lifted(touch.lo), lifted(touch.hi) <= lifted(hi))
            if self.solver.implied(state.facts, inside):
                return True
        if tile is None:
            return False
        sizes = [self.valid(state, tile, step), *results]
        for entry in state.filled.values():
            if len(entry) == 3:
                continue
            space, home, at, row, col, rows, cols = entry
            if space == tile.space and home == tile.home:
                goals = [simple(lifted(x) == lifted(y)) for x, y in ((at, tile.at), (row, tile.row), (col, tile.col))]
                for k, most in enumerate((rows, cols)):
                    depend = both(*(lifted(size[k]) <= lifted(most) for size in sizes))
                    depend = either(depend, lifted(most) >= (tile.home.rows, tile.home.cols)[k])  # all that there is
                    part = touch.part[k]
                    goals.append(either(depend, lifted(part) <= lifted(most)) if type(part) is int else depend)
                if all(self.solver.implied(state.facts, goal) for goal in goals):
                    return True
        return False

    def _fill(self, step: Step, state: State, site: Site, given: Mapping[str, Any], touches: Sequence[Touch]) -> None:
        """An instruction has written what it writes."""
        if self.elements_are and (array := loaded_from(site, given, self.program.params)) in self.elements_are:
            state.held += tuple((t, array) for t in touches if t.write and t.tile is not None)
        for touch in touches:
            if not touch.write or touch.space[0] == "argument":
                continue
            if (mask := bits_of(touch)) is not None:
                state.written[touch.space] = state.written.get(touch.space, 0) | mask
            tile = touch.tile
            if tile is None and mask is None and not touch.loose and touch.mask is None and touch.lo is not None:
                bounds = touch.space, touch.lo, touch.hi
                state.filled[identity(bounds)] = bounds
            size = None if tile is None else self._extent(step, state, site, given, tile)
            if tile is not None and size is not None:
                entry = tile.space, tile.home, tile.at, tile.row, tile.col, *size
                state.filled[identity(entry)] = entry

    def _extent(self, step: Step, state: State, site: Site, given: Mapping[str, Any], tile: Tile) -> Any:
        """The rows and columns from the first element on that are written of a tile; None where the table does not
        say."""
        name = next((name for name, value in given.items() if value is tile), "")
        word = site.instr.meaning_at(site)
        match word:
            case None | Python() if site.instr.footprint.__name__ == "derived_footprint":
                return self.valid(state, tile, step)
            case Lane(over=over, whole=False):
                writes = [w for w in word.writes if w.name == name]
                if len(word.writes) == 1 and len(writes) == 1 and not writes[0].packed and writes[0].where is None:
                    rows, cols = self.valid(state, given.get(over), step)
                    (write,) = writes
                    rows = rows if write.rows is None else self._count(step, write.rows, given, state)
                    return rows, cols if write.cols is None else self._count(step, write.cols, given, state)
            case Move(dst=dst, to=to, rows=rows, cols=cols) if dst == name and to == OWN:
                return self._count(step, rows, given, state), self._count(step, cols, given, state)
            case Contract(dst=dst) if dst == name:
                return self.valid(state, given[word.left], step)[0], self.valid(state, given[word.right], step)[1]
            case Fold(dst=dst, axis=axis) if dst == name:
                rows, cols = self.valid(state, given[word.over], step)
                return (rows, 1) if axis == "row" else (1, cols)
        return None


def _atomic(site: Site) -> Any:
    """What makes two updates commute: the operation and the element type; None for plain stores."""
    kind = site.attrs.get("atomic")
    if isinstance(kind, AtomicType | ScatterAtomicOp) and kind.value:
        return kind.name.removeprefix("Atomic"), site.dst.dtype.name
    return None


def _size(write: Write, site: Site) -> int:
    """The bytes of an element that a write stores, 0 if the table does not say."""
    types = {name: kind for name, info in site.operands.items() if (kind := getattr(info, "dtype", None)) is not None}
    try:
        kind = type_of(write.value, types)
    except (KeyError, TypeError):
        return 0
    return 1 if isinstance(kind, str) else kind.size
