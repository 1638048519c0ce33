"""Instructions: what they touch by their meanings and footprints, and what they order.

No instruction is known by name. What the table says of it is enough, or what it touches counts as open: all of a space.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import z3

from ptokit.isa.checks.tiles import pipe_on
from ptokit.isa.meaning.expressions import OWN, Count, Extent, Least, Sum, Up, leaves
from ptokit.isa.meaning.words import (
    Bursts,
    Contract,
    Fold,
    Gather,
    Lane,
    Move,
    Ordering,
    Python,
    Repeats,
    Scatter,
    Word,
)
from ptokit.isa.order.sync_rules import BUFFER_IDS, bad_pair, flag_pipes, held_pipe
from ptokit.isa.site import UNKNOWN, PtrInfo, ScalarInfo, Site, TileInfo, ViewInfo
from ptokit.isa.site import known as all_known
from ptokit.isa.table import Engine, Kind, Role, Sync, default_footprint
from ptokit.plan.steps import Step
from ptokit.types.enums import EVENT_ID_COUNT, AtomicType, Pipe, ScatterAtomicOp
from ptokit.types.values import Ptr, Scalar

from .claims import Fragment
from .numbers import DATA, Number, both, either, lifted, simple
from .places import Pointer, Space, Tile, Touch, View, bits_of, bytes_of_rows, identity, of_tile, of_view, space_of
from .report import Claim
from .state import FlagKey, State, older
from .walk import Walk

_OF_VALUES = frozenset((Kind.PTR, Kind.TILE, Kind.VIEW, Kind.SCALAR, Kind.RECORD, Kind.VREG, Kind.MASK))
"""Operands of functions that touch nothing beside them."""


_PLACES = {Kind.TILE: Tile, Kind.VIEW: View, Kind.PTR: Pointer}


class Instructions(Walk):
    """Goes through the steps that touch memory, or order pipes.

    ``in_scope``: inside a vector scope. ``keeps_registers``: the kernel sets registers that later copies read.
    """

    in_scope = False
    keeps_registers = False

    def capacity(self, space: Space) -> int:
        """The bytes of a buffer."""
        return next((size for loc, size in self.target.capacity.items() if space_of(loc) == space), 0)

    # --- single elements -----------------------------------------------------------------------------------------

    def on_load_scalar(self, step: Step, state: State) -> Any:
        pointer, index = self.operands(state, step)
        self._element(step, state, pointer, index, write=False)
        return self._open(step, 0, step.result)

    def on_store_scalar(self, step: Step, state: State) -> None:
        _, pointer, index = self.operands(state, step)
        self._element(step, state, pointer, index, write=True)

    def _element(self, step: Step, state: State, pointer: Any, index: Any, *, write: bool) -> None:
        if not isinstance(pointer, Pointer):
            raise Fragment("a pointer that is not followed", step)
        at = simple(lifted(pointer.at) + lifted(self.number(step, "index", index)) * pointer.size)
        touch = Touch(pointer.space, write, at, simple(lifted(at) + pointer.size), at)
        local = pointer.space[0] == "buffer"
        self._reach(step, state, touch)
        self._written(step, state, [touch], ())
        self.access(step, state, Pipe.V if local and self.in_scope else Pipe.S, [touch])

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

    # --- instructions --------------------------------------------------------------------------------------------

    def on_instruction(self, step: Step, state: State) -> Any:
        instr = step.instr
        assert instr is not None
        assert step.site is not None
        given = dict(zip(step.names, self.operands(state, step)))
        order = instr.order
        if order.between_cores or order.queued:
            raise Fragment(f"{instr.name} orders more than the pipes of a core", step)
        if order.only:
            return self._ordered(step, state, given)
        for operand in instr.operands:
            value, kind = given.get(operand.name), _PLACES.get(operand.kind)
            if isinstance(value, tuple) and any(isinstance(x, Tile | View | Pointer) for x in value):
                raise Fragment(f"{instr.name} of a list of places is not followed", step)
            if kind is not None and value is not None and not isinstance(value, kind):
                raise Fragment(f"operand {operand.name} of {instr.name} is not followed", step)
        site = self._site(step, state, given)
        if instr.engines and self.target.of(instr.engines) is Engine.SEVERAL_PIPES:
            self._hidden(step, state)
        if step.attrs.get("unit_flag"):
            self.leave_open(Claim.FLAGS, "unit flags are not followed", step)
        pipe = pipe_on(instr.pipe_of(site), site.core)
        touches = list(self._touches(step, state, site, given))
        self._written(step, state, touches, self._results(step, state, given))
        self._fill(step, state, site, given, touches)
        self.access(step, state, pipe, touches)
        state.values.update((result, self._made(step, k, result, given)) for k, result in enumerate(step.results))
        return [state]

    def _made(self, step: Step, k: int, result: Any, given: Mapping[str, Any]) -> Any:
        kind = result.type
        if isinstance(kind, Ptr):
            pointers = [x for x in given.values() if isinstance(x, Pointer)]
            return self.unknown_like((id(step), k), pointers[0]) if pointers else DATA
        return self._open(step, k, result) if isinstance(kind, Scalar) else DATA

    def _site(self, step: Step, state: State, given: Mapping[str, Any]) -> Site:
        """The site of an instruction with what is known here."""
        static = step.site
        assert static is not None
        infos = dict(static.operands)
        for name, value in given.items():
            info = infos.get(name)
            if isinstance(value, Tile):
                rows, cols = self.valid(state, value, step)
                sizes = [n if isinstance(n, int) else UNKNOWN for n in (rows, cols, value.at)]
                shown = info.name if isinstance(info, TileInfo) else name
                infos[name] = TileInfo(shown, value.spec, *sizes)
            elif isinstance(value, View) and isinstance(info, ViewInfo):
                shape, stride = (_five(n, fill) for n, fill in ((value.sizes, 1), (value.strides, UNKNOWN)))
                infos[name] = replace(info, shape=shape, stride=stride)
            elif isinstance(value, Pointer) and isinstance(info, PtrInfo):
                infos[name] = replace(info, addr=value.at if isinstance(value.at, int) else UNKNOWN)
            elif isinstance(value, int) and isinstance(info, ScalarInfo):
                infos[name] = replace(info, value=value)
        return replace(static, operands=infos, attrs=step.attrs)

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
        if isinstance(word, Gather | Scatter):
            self.leave_open(Claim.BOUNDS, f"data decides which elements {instr.name} takes", step)
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
        for name, pointer in pointers.items():
            for write in (False, True):
                touch = Touch(pointer.space, write, None, None)
                if not self._by_pointer(word, name, write=write):
                    continue
                self._reach(step, state, touch)
                yield touch

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
            touch = Touch(pointer.space, write, simple(low), simple(hi), simple(low), mask, loose=mask is None)
            if simple(z3.And(*some)) is not False:
                self._reach(step, state, touch)
                yield touch

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
            needed = self._needed(step, state, touch, results)
            mask = bits_of(needed)
            if mask is not None and not mask & ~state.written.get(touch.space, 0):
                continue
            if touch.lo is None:
                reason = f"what {step.name} reads by a pointer is not followed"
                self.leave_open(Claim.WRITTEN, reason, step)
            elif not self._filled(step, state, touch, results):
                text = f"{step.name} may read what nothing has written"
                self.suspect(Claim.WRITTEN, "UNINIT-READ", step, state.facts, text)

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
        if tile is None:
            return False
        sizes = [self.valid(state, tile, step), *results]
        for space, home, at, row, col, rows, cols in state.filled.values():
            if space == tile.space and home == tile.home:
                goals = [simple(lifted(x) == lifted(y)) for x, y in ((at, tile.at), (row, tile.row), (col, tile.col))]
                for k, most in enumerate((rows, cols)):
                    depend = both(*(lifted(size[k]) <= lifted(most) for size in sizes))
                    part = touch.part[k]
                    goals.append(either(depend, lifted(part) <= lifted(most)) if type(part) is int else depend)
                if all(self.solver.implied(state.facts, goal) for goal in goals):
                    return True
        return False

    def _fill(self, step: Step, state: State, site: Site, given: Mapping[str, Any], touches: Sequence[Touch]) -> None:
        """An instruction has written what it writes."""
        for touch in touches:
            if not touch.write or touch.space[0] == "argument":
                continue
            if (mask := bits_of(touch)) is not None:
                state.written[touch.space] = state.written.get(touch.space, 0) | mask
            tile = touch.tile
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

    # --- order ---------------------------------------------------------------------------------------------------

    def _ordered(self, step: Step, state: State, given: Mapping[str, Any]) -> list[State]:
        assert step.instr is not None
        assert step.site is not None
        does, core = step.instr.order.does, step.site.core or self.core
        if self.by_compiler or does is Sync.WITHIN:
            return [state]
        match does:
            case Sync.SET | Sync.WAIT:
                return self._flag(step, state, given, flag_pipes(step.attrs, core), core)
            case Sync.BARRIER:
                if held_pipe(step.attrs, core) is Pipe.ALL:
                    state.drained()
                return [state]
            case Sync.TAKE | Sync.RELEASE:
                pipe = held_pipe(step.attrs, core)
                number = given.get("buf", step.attrs.get("id"))
                return [state] if pipe in (None, Pipe.ALL) else self._token(step, state, pipe, number)
            case Sync.WORK:
                return [state]  # that it waits is not followed: pipes then count as unordered
        raise Fragment(f"{step.instr.name} is not followed", step)

    def _flag(self, step: Step, state: State, given: Mapping[str, Any], pipes: Any, core: str) -> list[State]:
        src, dst = pipes
        if src is None or dst is None:
            return [state]
        if (message := bad_pair(src, dst, core)) is not None:
            self.suspect(Claim.IDS, "FLAG-PIPE", step, state.facts, message)
            return [state]
        event = given.get("event")
        number = step.attrs.get("event_id", 0) if event is None else self.number(step, "event", event)
        text = f"event ids are 0..{EVENT_ID_COUNT - 1}"
        inside = simple(z3.And(lifted(number) >= 0, lifted(number) < EVENT_ID_COUNT))
        self.oblige(Claim.IDS, "FLAG-RANGE", step, state.facts, inside, text)
        assert step.instr is not None
        does = self._set if step.instr.order.does is Sync.SET else self._wait
        return [does(step, way, (src, dst, n)) for n, way in self._each(state, number, EVENT_ID_COUNT)]

    def _each(self, state: State, number: Number, count: int) -> Iterator[tuple[int, State]]:
        """The numbers that one may be, each with a state of its own."""
        if isinstance(number, int):
            if 0 <= number < count:
                yield number, state
            return
        for n in range(count):
            facts = (*state.facts, simple(number == n))
            if facts[-1] is not False and self.solver.possible(facts):
                way = state.copy()
                way.facts = facts
                yield n, way

    def _set(self, step: Step, state: State, key: FlagKey) -> State:
        src, dst, number = key
        flag = f"{src.text} to {dst.text}, id {number}"
        if key in state.flags:
            self.suspect(Claim.IDS, "FLAG-REUSE", step, state.facts, f"the flag {flag} is set again before a wait")
        if src.name in self.target.one_flag_per_id and any(
            k[0] is src and k[2] == number and k[1] is not dst for k in state.flags
        ):
            text = f"the flag {flag} is set while one of the same pipe and id is"
            self.suspect(Claim.IDS, "FLAG-ALIAS", step, state.facts, text)
        mine = dict(state.unknown[src])
        state.flags[key] = older(mine, state.flags[key]) if key in state.flags else mine
        return state

    def _wait(self, step: Step, state: State, key: FlagKey) -> State:
        src, dst, number = key
        ages = state.flags.pop(key, None)
        if ages is None:
            text = f"nothing before it sets the flag {src.text} to {dst.text}, id {number}"
            self.suspect(Claim.FLAGS, "DEADLOCK", step, state.facts, text)
        else:
            state.told(dst, ages)
        return state

    def _hidden(self, step: Step, state: State) -> None:
        """An instruction of several pipes uses a flag of id 0 itself."""
        if any(number == 0 for _, _, number in state.flags):
            self.suspect(Claim.IDS, "FLAG-REUSE", step, state.facts, f"{step.name} uses EVENT_ID0, which is set")

    def _token(self, step: Step, state: State, pipe: Any, number: Any) -> list[State]:
        number = self.number(step, "token", number)
        inside = simple(z3.And(lifted(number) >= 0, lifted(number) < BUFFER_IDS))
        self.oblige(Claim.IDS, "BUF-PROTOCOL", step, state.facts, inside, f"tokens are 0..{BUFFER_IDS - 1}")
        assert step.instr is not None
        does = self._take if step.instr.order.does is Sync.TAKE else self._release
        return [does(step, way, pipe, n) for n, way in self._each(state, number, BUFFER_IDS)]

    def _take(self, step: Step, state: State, pipe: Pipe, token: int) -> State:
        known = state.tokens.setdefault(token, {})
        if known.get(pipe, {}) is None:
            text = f"{pipe.text} takes token {token}, which it holds"
            self.suspect(Claim.FLAGS, "BUF-PROTOCOL", step, state.facts, text)
            return state
        for other, ages in known.items():
            if ages is None:
                text = f"{other.text} holds token {token}, and gives it back later"
                self.suspect(Claim.FLAGS, "DEADLOCK", step, state.facts, text)
            else:
                state.told(pipe, ages)
        known[pipe] = None
        return state

    def _release(self, step: Step, state: State, pipe: Pipe, token: int) -> State:
        known = state.tokens.get(token, {})
        if known.get(pipe, {}) is not None:
            text = f"{pipe.text} gives back token {token}, which it does not hold"
            self.suspect(Claim.FLAGS, "BUF-PROTOCOL", step, state.facts, text)
            return state
        known[pipe] = dict(state.unknown[pipe])
        return state


def _five(sizes: tuple[Number, ...], fill: Any) -> Any:
    return (*(fill for _ in range(5 - len(sizes))), *(n if isinstance(n, int) else UNKNOWN for n in sizes))[-5:]


def _atomic(site: Site) -> Any:
    """What makes two updates commute: the operation and the element type; None for plain stores."""
    kind = site.attrs.get("atomic")
    if isinstance(kind, AtomicType | ScatterAtomicOp) and kind.value:
        return kind.name.removeprefix("Atomic"), site.dst.dtype.name
    return None
