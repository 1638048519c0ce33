"""Instructions: what they touch by their meanings and footprints, and what they order; branches and calls.

No instruction is known by name. What the table says of it is enough, or what it touches counts as open: all of a space.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import reduce
from typing import Any

import z3

from ptokit.isa.checks.tiles import pipe_on
from ptokit.isa.meaning.expressions import OWN, Stored
from ptokit.isa.meaning.words import Lane, Transfer
from ptokit.isa.order.sync_rules import BUFFER_IDS, bad_pair, flag_pipes, held_pipe, unit_flag
from ptokit.isa.site import UNKNOWN, PtrInfo, ScalarInfo, Site, TileInfo, ViewInfo
from ptokit.isa.table import Engine, Kind, Sync
from ptokit.plan.steps import Region, Step, walk
from ptokit.types.enums import EVENT_ID_COUNT, Pipe
from ptokit.types.values import Ptr, Scalar

from .claims import Fragment
from .cluster import PIPED
from .footprints import REGISTER
from .numbers import DATA, Number, both, is_number, is_truth, lifted, negated, same, simple
from .places import Lanes, Pointer, Tile, Touch, View, lane_by_lane, of_tile, of_view
from .ranges import said_of_element
from .report import Claim
from .signals import BETWEEN_CORES
from .state import DEEPEST, Body, Ended, Lefts, State, cycle_of, met, turned
from .waits import Queues
from .walk import GIVEN

_PLACES = {Kind.TILE: Tile, Kind.VIEW: View, Kind.PTR: Pointer}


class Instructions(Queues):
    """Goes through the steps that touch memory, order pipes or lead to others."""

    # --- single elements -----------------------------------------------------------------------------------------

    def on_load_scalar(self, step: Step, state: State) -> Any:
        pointer, index = self.operands(state, step)
        self._element(step, state, pointer, index, write=False)
        return said_of_element(self, step, state, pointer, self._open(step, 0, step.result))

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

    # --- instructions --------------------------------------------------------------------------------------------

    def on_instruction(self, step: Step, state: State) -> Any:
        instr = step.instr
        assert instr is not None
        assert step.site is not None
        given = dict(zip(step.names, self.operands(state, step)))
        order = instr.order
        piped = PIPED.get(getattr(instr.meaning_at(step.site), "run", None))
        if piped is not None or order.between_cores or order.queued:
            self.in_order(state)
        if piped is not None:
            getattr(self, f"_{piped}")(step, state, given)
            return [state]
        addresses = order.only and order.between_cores and order.does is None  # of flags, which it gives
        if (order.does in BETWEEN_CORES or addresses) and not order.queued:
            return self.between_cores(step, state, given)
        word = instr.meaning_at(step.site)
        if isinstance(word, Transfer) and not (order.queued or word.rows or word.fold):
            return self._transferred(step, state, given, word)
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
            self.hidden(step, state)
        if unit_flag(step.attrs) is not None:
            self.leave_open(Claim.FLAGS, "unit flags are not followed", step)
        pipe = pipe_on(instr.pipe_of(site), site.core)
        touches = list(self._touches(step, state, site, given))
        if self.waits(step, state, pipe, touches, lambda then: self._done(step, then, site, given, pipe, touches)):
            loaded = made = None
        else:
            loaded, made = self._done(step, state, site, given, pipe, touches)
        state.values.update((result, self._made(step, k, result, given)) for k, result in enumerate(step.results))
        state.values.update(self.made(step, state, site, given))
        if loaded is not None or made is not None:
            state.values.update(dict.fromkeys(step.results, loaded or made))
        return [state]

    def _done(
        self, step: Step, state: State, site: Site, given: Mapping[str, Any], pipe: Pipe, touches: Sequence[Touch]
    ) -> tuple[Lanes | None, Lanes | None]:
        """It is executed. What registers hold then that it loads or computes, if not all of it is written."""
        loaded = self._loaded(step, state, site, touches)
        read = touches if loaded is None else [touch for touch in touches if touch.write]
        self._written(step, state, read, self._results(step, state, given))
        made = self._computed(step, state, site, given) if self.partly else None
        self._fill(step, state, site, given, touches)
        self.access(step, state, pipe, touches)
        return loaded, made

    def _transferred(self, step: Step, state: State, given: Mapping[str, Any], word: Transfer) -> list[State]:
        """Global memory goes to another place there: it is loaded into tiles, and stored from these."""
        into, out = given[word.dst], given[word.src]
        tiles = [value for value in given.values() if isinstance(value, Tile)]
        if not (isinstance(into, View) and isinstance(out, View)):
            raise Fragment(f"what {step.name} copies is not followed", step)
        pairs = (Pipe.MTE2, False, out), (Pipe.MTE3, True, into)
        for (pipe, writes, view), (other, *_) in zip(pairs, pairs[::-1]):
            atomic = ("add", word.combine) if writes and word.combine else None
            staged = [of_tile(tile, not writes, tile.spec.rows, tile.spec.cols) for tile in tiles]
            self.access(step, state, pipe, [of_view(view, writes, atomic), *staged])
            state.told(other, dict(state.unknown[pipe]))
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

    # --- registers with lanes that nothing has written ---------------------------------------------------------------

    def _loaded(self, step: Step, state: State, site: Site, touches: Sequence[Touch]) -> Lanes | None:
        """What a load of bytes in their order leaves in a register if not all that it reads is written."""
        word = site.instr.meaning_at(site)
        read = [touch for touch in touches if not touch.write]
        if not (isinstance(word, Lane) and len(word.writes) == len(read) == len(touches) == 1) or word.mask:
            return None
        (write,), (touch,) = word.writes, read
        plain = isinstance(write.value, Stored) and write.value.at.col == OWN.col and write.value.span == REGISTER
        if (
            not plain
            or write.at != OWN
            or write.place is not None
            or write.where is not None
            or touch.space[0] != "buffer"
        ):
            return None
        if len(step.results) != 1 or self._is_written(step, state, touch, ()):
            return None
        ranges = [
            lifted(hi) - lifted(touch.lo)
            for lo, hi in self._ranges(state, touch)
            if self.solver.implied(state.facts, both(lifted(lo) <= lifted(touch.lo), lifted(touch.lo) <= lifted(hi)))
        ]
        if not ranges:
            return None
        self.partly = True
        most = reduce(lambda a, b: z3.If(a > b, a, b), ranges)
        return Lanes(simple(z3.If(most < REGISTER, most, z3.IntVal(REGISTER))))

    def _computed(self, step: Step, state: State, site: Site, given: Mapping[str, Any]) -> Lanes | None:
        """What an instruction leaves in a register that takes such registers lane by lane."""
        taken = [value for value in given.values() if isinstance(value, Lanes)]
        if not taken:
            return None
        word = site.instr.meaning_at(site)
        lanes = isinstance(word, Lane) and (word.lanes or getattr(site.operands.get(word.over), "lanes", 0))
        if isinstance(word, Lane) and lanes and not word.whole and all(map(lane_by_lane, word.writes)):
            active = self._active(word, given, lanes)
            some = (
                REGISTER
                if active is None or same(active, lanes)
                else simple(lifted(active) * max(word.width, REGISTER // lanes))
            )
            if all(self.solver.implied(state.facts, lifted(some) <= lifted(value.at)) for value in taken):
                return None
            if not any(isinstance(given.get(write.name), Pointer) for write in word.writes):
                return Lanes(simple(reduce(lambda a, b: z3.If(a < b, a, b), [lifted(value.at) for value in taken])))
        self.whole(step, state, taken)
        return None

    # --- order ---------------------------------------------------------------------------------------------------

    def _ordered(self, step: Step, state: State, given: Mapping[str, Any]) -> list[State]:
        assert step.instr is not None
        assert step.site is not None
        does, core = step.instr.order.does, step.site.core or self.core
        if self.by_compiler or does is Sync.WITHIN:
            return [state]
        if does not in (Sync.SET, Sync.WAIT):
            self.in_order(state)
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
        does = self.set_flag if step.instr.order.does is Sync.SET else self.wait_flag
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

    # --- blocks that branches lead to --------------------------------------------------------------------------------

    def region(self, region: Region, states: list[State]) -> list[State]:
        if len(region) == 1:
            return self.steps(region[0].steps, states)
        left = self._blocks(region, range(len(region)), [(0, state) for state in states])
        return [state for _, state in left]

    def _blocks(self, region: Region, order: Sequence[int], arrived: Lefts, head: int | None = None) -> Lefts:
        """States with the blocks that they lead to, none of `order` or its `head`, and None where the region ends.

        ``order``: the blocks that are gone through, in which only loops lead back; ``arrived``: where they begin.
        """
        left: Lefts = []
        waiting: dict[int | None, list[State]] = {}
        for to, state in arrived:
            waiting.setdefault(to, []).append(state)
        for n in order:
            for to, state in self._block(region, n, order, waiting.pop(n, []), repeats=n != head):
                if to in order and to != head:
                    waiting.setdefault(to, []).append(state)
                else:
                    left.append((to, state))
        for to in (to for to in waiting if to is not None):
            raise Fragment("branches that lead into the middle of a loop are not followed", region[to].steps[-1])
        return left

    def _block(self, region: Region, n: int, order: Sequence[int], states: list[State], *, repeats: bool) -> Lefts:
        """The states after a block, or after the loop that begins with it."""
        if not states:
            return []
        states = met(states, lambda key, like: self.unknown((id(region[n]), "met", key), like))
        cycle = cycle_of(region, n, order) if repeats else []
        if cycle:
            return self._cycled(region, n, cycle, states)
        *steps, last = region[n].steps
        if last.word != "branch":
            return [(None, state) for state in self.steps(region[n].steps, states)]
        return [left for state in self.steps(steps, states) for left in self._branched(region, last, state)]

    def _branched(self, region: Region, step: Step, state: State) -> Iterator[tuple[int | None, State]]:
        cases: list[Number] = []
        if step.operands:
            number = self.value(state, step.operands[0])
            if step.cases == (1,) and not is_number(number):
                cases = [number if is_truth(number) else self.unknown((id(step), "condition"), True)]
            else:
                number = self.number(step, "condition", number)
                cases = [simple(lifted(number) == case) for case in step.cases]
        facts = [tuple(map(negated, cases)), *((case,) for case in cases)]
        for way, added in zip(step.ways, facts):
            taken = self._way(state, *added)
            if taken is not None:
                handed = [self.value(state, operand) for operand in way.operands]
                self.whole(step, taken, handed)
                taken.values.update(zip(region[way.block].args, handed))
                yield way.block, taken

    def _cycled(self, region: Region, n: int, cycle: list[int], states: list[State]) -> Lefts:
        """A loop of blocks that begins with block `n`.

        One that asks at its beginning whether it goes on is gone through as if it asked before it and at each end.
        """
        asks, args, left = region[n].steps[-1], region[n].args, []
        first, cycle = turned(region, n, cycle)
        if first != n:
            asked = {*region[n].args, *(value for step in walk((region[n],)) for value in step.results)}
            later = dict.fromkeys(v for k in cycle[:-1] for step in walk((region[k],)) for v in step.values)
            args = (*region[first].args, *(value for value in later if value in asked))
            with self._ahead(asks, region[cycle[0]].steps[0]):
                found = self._block(region, n, cycle, states, repeats=False)
            left = [(to, state) for to, state in found if to != first]
            states = [state for to, state in found if to == first]
            states = met(states, lambda key, like: self.unknown((id(asks), "asked", key), like))
        inside = [step for k in cycle for step in walk((region[k],))]
        made = {*(v for step in inside for v in step.results), *(v for k in cycle for v in region[k].args)}
        outside = [step for k in range(len(region)) if k not in cycle for step in walk((region[k],))]
        used = dict.fromkeys(value for step in outside for value in step.values if value in made)

        def body(state: State) -> Iterator[Ended]:
            for to, each in self._blocks(region, cycle, [(first, state)], first):
                if to == first:
                    yield each, tuple(each.values.get(arg, DATA) for arg in args), None, {}
                else:
                    given = each.values.get(GIVEN, ())
                    kept = (*used, *(() if to is None else region[to].args))
                    yield each, None, to, {GIVEN: given} | {v: each.values[v] for v in kept if v in each.values}

        for state in states:
            values = [state.values.get(arg, DATA) for arg in args]
            left += self._repeated(asks, Body(args, values, body, inside), state)
        return left

    def function(self, name: str, state: State) -> list[State]:
        """The states after a function."""
        return self.region((plan := self.program.plan.functions[name]).body, self.steps(plan.first, [state]))

    def _repeated(self, step: Step, body: Body, state: State) -> Lefts:
        """The states after a loop that its end decides about, with what they lead to."""
        raise NotImplementedError

    @contextmanager
    def _ahead(self, step: Step, begins: Step) -> Iterator[None]:
        """What a loop does once before its first iteration: in the text it stands just before `begins`."""
        ahead = self._aheads.setdefault(id(step), Step(step.op, "ahead"))
        self._order[id(ahead)] = self._order[id(begins)] - 0.5
        self.frames.append(ahead)
        try:
            yield
        finally:
            self.frames.pop()

    # --- branches and calls ------------------------------------------------------------------------------------------

    def _inside(self, step: Step, region: Region, states: list[State]) -> list[State]:
        """The states after a step that goes through one of its regions."""
        ended = self.region(region, states)
        for state in ended:
            state.values.update(zip(step.results, state.values.pop(GIVEN, ())))
        return ended

    def on_region(self, step: Step, state: State) -> list[State]:
        return self._inside(step, step.regions[0], [state])

    def on_scope(self, step: Step, state: State) -> list[State]:
        outside, self.in_scope = self.in_scope, True
        try:
            return self._inside(step, step.regions[0], [state])
        finally:
            self.in_scope = outside

    def on_yield(self, step: Step, state: State) -> None:
        state.values[GIVEN] = tuple(self.operands(state, step))

    on_return = on_condition = on_yield

    def on_call(self, step: Step, state: State) -> list[State]:
        function = self.program.plan.functions.get(step.callee)
        depth = sum(isinstance(frame, Step) for frame in self.frames)
        if function is None or depth >= DEEPEST:
            raise Fragment(f"the call of {step.callee} is not followed", step)
        state.values.update(zip(function.function.params, self.operands(state, step)))
        self.frames.append(step)
        ended = self.function(step.callee, state)
        self.frames.pop()
        for each in ended:
            each.values.update(zip(step.results, each.values.pop(GIVEN, ())))
        return ended

    def on_if(self, step: Step, state: State) -> list[State]:
        condition = self.value(state, step.operands[0])
        if is_number(condition):
            condition = simple(lifted(condition) != 0)
        elif not is_truth(condition):
            condition = self.unknown((id(step), "condition"), True)
        if self.looks:
            self.choices_seen.setdefault((self.core, self.context, id(step)), []).append(condition)
        ended = []
        for k, fact in enumerate((condition, negated(condition))):
            way = self._way(state, fact)
            if way is not None:
                ended += self._inside(step, step.regions[k], [way]) if k < len(step.regions) else [way]
        return ended

    def _way(self, state: State, *facts: Number) -> State | None:
        """The state in which more holds; None where it cannot."""
        added = tuple(fact for fact in facts if fact is not True)
        if any(fact is False for fact in added):
            return None
        way = state.copy()
        way.facts = (*state.facts, *added)
        return way if not added or self.solver.possible(way.facts) else None

    def on_switch(self, step: Step, state: State) -> list[State]:
        number = self.number(step, "number", self.value(state, step.operands[0]))
        ended = []
        for k, region in enumerate(step.regions):
            facts = [number == step.cases[k - 1]] if k else [number != case for case in step.cases]
            way = self._way(state, *map(simple, facts))
            if way is not None:
                ended += self._inside(step, region, [way])
        return ended


def _five(sizes: tuple[Number, ...], fill: Any) -> Any:
    return (*(fill for _ in range(5 - len(sizes))), *(n if isinstance(n, int) else UNKNOWN for n in sizes))[-5:]
