"""Control flow: branches, loops and calls, and what a whole kernel comes to.

The first iteration of a loop is gone through apart from the later ones, and those by their number modulo the period of
what rotates in the body. They are repeated until what is known at their beginning stays. A number that a loop carries
follows it exactly where it takes few values, as ``first + k * step`` where it only grows by a constant, or not at all.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import z3

from ptokit.ir.core import Value
from ptokit.isa.meaning.words import Keep, Lane
from ptokit.isa.scalar.arithmetic import ARITHMETIC
from ptokit.plan.steps import Data, Region, Step, constant, walk, without_form

from .claims import RING, Fragment, Loop, last_of
from .instructions import Instructions
from .numbers import DATA, STOPS, Exhausted, Number, is_number, is_truth, lifted, negated, renamed, simple, symbols
from .places import Pointer, Tile, identity, known, numbers_of
from .report import STOPPED, Claim
from .state import State, joined, met
from .walk import GIVEN

MOST_ROUNDS = 400
MOST_HEADS = 40
MOST_CYCLE = 12
"""The longest period of what rotates in a loop that is followed."""

DEEPEST = 8
"""Calls within calls."""


class _Again(Exception):
    """A number that a loop carries has to be followed otherwise."""


class Control(Instructions):
    """Goes through whole kernels."""

    def prove(self) -> None:
        """Go through the kernel, and find out what may not hold. What is not followed leaves every claim open, and what
        has not been decided at Ctrl-C is open too."""
        self.undecided, self.exhausted = list(Claim), False
        try:
            self._run()
        except (*STOPS, Exhausted) as stop:
            self.exhausted = isinstance(stop, Exhausted)
            for claim in self.undecided:
                self.leave_open(claim, str(stop) if self.exhausted else STOPPED)
        except Fragment as fragment:
            self.undecided = []
            for claim in Claim:
                self.leave_open(claim, fragment.reason, fragment.step)

    def _run(self) -> None:
        plan = self.program.plan
        self.number_steps(step for function in plan.functions.values() for step in function.walk())
        if self.program.cores.mixed and self.by_compiler:
            raise Fragment("cube and vector cores of a cluster without flags are not followed")
        self.keeps_registers = any(_keeps(step) for function in plan.functions.values() for step in function.walk())
        if self.program.cores.mixed and self.program.cores.whole:
            raise Fragment("what vector core 0 of a cluster runs alone is not followed")
        for core in dict.fromkeys(role.kind for role in self.program.cores.roles):
            self.core = core
            for state in self.function(self.program.entry.name, self.start()):
                for src, dst, number in state.flags:
                    text = f"the flag {src.text} to {dst.text}, id {number}, is still set at the end"
                    self.suspect(Claim.FLAGS, "FLAG-UNMATCHED", None, state.facts, text)
        if self.program.cores.mixed:
            self.cluster()
        self.undecided = [Claim.PIPES, Claim.BLOCKS]
        if not self.by_compiler:
            self.races()
        self.undecided = [Claim.BLOCKS]
        self.block_races()
        self.undecided = []

    def function(self, name: str, state: State) -> list[State]:
        """The states after a function."""
        function = self.program.plan.functions[name]
        return self.region(function.body, self.steps(function.first, [state]))

    def region(self, region: Region, states: list[State]) -> list[State]:
        """The states at the end of a region."""
        if len(region) != 1:
            raise Fragment("branches between blocks are not followed", region[0].steps[-1] if region[0].steps else None)
        return self.steps(region[0].steps, states)

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

    on_return = on_yield

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

    # --- loops ---------------------------------------------------------------------------------------------------

    def on_for(self, step: Step, state: State) -> list[State]:
        lower, upper, by, *first = self.operands(state, step)
        lower, upper, by = (self.number(step, k, n) for k, n in enumerate((lower, upper, by)))
        if not self.solver.implied(state.facts, lifted(by) > 0):
            raise Fragment("the step of a loop may not be positive", step)
        if len(step.regions[0]) != 1:
            raise Fragment("branches between blocks are not followed", step)
        ended = []
        none = self._way(state, simple(lifted(lower) >= lifted(upper)))
        if none is not None:
            none.values.update(zip(step.results, first))
            ended.append(none)
        some = self._way(state, simple(lifted(lower) < lifted(upper)))
        if some is not None:
            k = self.unknown((id(step), "iteration"))
            self.homes.pop(k.get_id(), None)
            around = Loop(step, k, lower, upper, by)
            self.loops_seen.setdefault((self.core, self.context, id(step)), []).append(around)
            ended += _Iterations(self, around, some, first).ended()
        return met(ended, lambda key, like: self.unknown((id(step), "ended", key), like))

    def resizes(self, region: Region, depth: int = 0) -> bool:
        """True if a region, or what it calls, changes the valid region of a tile."""
        for step in walk(region):
            if step.word == "set_valid":
                return True
            called = self.program.plan.functions.get(step.callee) if step.word == "call" else None
            if called is not None and (depth > DEEPEST or self.resizes(called.body, depth + 1)):
                return True
        return False


class _Iterations:
    """A loop that runs at least once, from one state.

    ``modes``, by what is carried: "value" follows the values that it takes, a number is how much it grows in each
    iteration, None is not followed.
    """

    def __init__(self, walk: Control, loop: Loop, state: State, first: list[Any]) -> None:
        self.walk, self.loop, self.state, self.first = walk, loop, state, first
        (block,) = loop.step.regions[0]
        self.block, (self.variable, *self.carried) = block, block.args
        self.modes: list[Any] = ["value" if known(x) else self._growth(j) for j, x in enumerate(first)]
        self.period = _period(walk.program.plan.functions, loop.step)
        self.cycled = False
        self.havoc = walk.resizes(loop.step.regions[0])

    def ended(self) -> list[State]:
        """The states after the loop."""
        while True:
            before = self.walk.found.copy()
            self.walk.frames.append(self.loop)
            try:
                ended = self._fixpoint()
                if not self._lengthened():
                    return ended
            except _Again:
                pass
            finally:
                self.walk.frames.pop()
            self.walk.found = before

    def _fixpoint(self) -> list[State]:
        walk, loop = self.walk, self.loop
        self.after: dict[Any, set[Any]] = {}
        self.always: set[Any] | None = None  # ranges that every iteration has written at its end
        self.heads: dict[Any, tuple[State, bool, int, tuple[Any, ...]]] = {}
        self.todo: list[Any] = []
        exits: dict[Any, State] = {}
        every: dict[Any, Any] = {}
        start = self.state.copy()
        self._arrive(start, True, 0, tuple(x if mode == "value" else None for x, mode in zip(self.first, self.modes)))
        for _ in range(MOST_ROUNDS):
            if not self.todo:
                break
            state, is_first, rest, values = self.heads[self.todo.pop(0)]
            begun = self._begin(state, is_first, rest, values)
            if begun is None:
                continue
            for each in walk.steps(self.block.steps, [begun]):
                given = tuple(each.values.pop(GIVEN, ()))
                ranges = {key for key, entry in each.filled.items() if len(entry) == 3}
                self.always = ranges if self.always is None else self.always & ranges
                handed = self._handed(given, values)
                more = simple(lifted(loop.lower) + lifted(loop.by) * (loop.k + 1) < lifted(loop.upper))
                following = walk._way(each, more)
                if following is not None:
                    following.values, following.facts = {}, ()
                    following.filled = self._kept(each, ((loop.k, loop.k - 1),))
                    self._arrive(following, False, (rest + 1) % self.period, handed)
                last = walk._way(each, negated(more))
                if last is not None:
                    self._leave(last, given, exits)
                    every |= each.filled
        else:
            raise Fragment("the loop does not come to rest", loop.step)
        for state in exits.values():
            self._add_up(state, every)
        return list(exits.values())

    def _arrive(self, state: State, is_first: bool, rest: int, values: tuple[Any, ...]) -> None:
        """An iteration may begin in a state."""
        key = is_first, rest, state.signature, identity(values)
        old = self.heads.get(key)
        if old is not None:
            new = joined(old[0], state)
            if new.order == old[0].order:
                return
            state = new
        self.heads[key] = state, is_first, rest, values
        if key not in self.todo:
            self.todo.append(key)
        if len(self.heads) > MOST_HEADS:
            raise Fragment("flags may be set in too many ways when an iteration begins", self.loop.step)

    def _begin(self, state: State, is_first: bool, rest: int, values: tuple[Any, ...]) -> State | None:
        loop, walk = self.loop, self.walk
        begun = state.copy()
        begun.values = dict(self.state.values)
        begun.cells = self._cells("begun")
        number = simple(lifted(loop.lower) + lifted(loop.by) * loop.k)
        facts = [loop.k == 0] if is_first else [loop.k >= 1]
        if not is_first and self.period > 1:
            facts.append(loop.k % self.period == rest)
        facts.append(lifted(number) < lifted(loop.upper))
        begun.facts = (*self.state.facts, *facts)
        begun.values[self.variable] = number
        for j, (arg, value) in enumerate(zip(self.carried, values)):
            mode, first = self.modes[j], self.first[j]
            if mode == "value":
                begun.values[arg] = value
            elif is_first:
                begun.values[arg] = first
            elif mode is None:
                begun.values[arg] = walk.unknown_like((id(loop.step), "carried", j), first)
            else:
                begun.values[arg] = _grown(first, mode, loop.k)
        levels = walk.levels
        me = loop.k.get_id()
        begun.begun(lambda access: levels[access].index(me) + 1 if me in levels[access] else None)
        return begun if walk.solver.possible(begun.facts) else None

    def _cells(self, when: str) -> dict[Any, Any]:
        """The valid regions that tiles have when an iteration begins, or after the loop."""
        if not self.havoc:
            return dict(self.state.cells)
        made = {}
        for cell, (spec, *_) in self.state.cells.items():
            key = id(self.loop.step), when, cell
            made[cell] = (spec, *(self.walk.unknown((key, k)) for k in range(2)))
        return made

    def _handed(self, given: tuple[Any, ...], before: tuple[Any, ...]) -> tuple[Any, ...]:
        """What the next iteration gets."""
        handed = []
        for j, value in enumerate(given):
            if isinstance(value, Tile) and value.space[0] == RING:
                raise Fragment("a loop that carries an entry of a pipe is not followed", self.loop.step)
            if self.modes[j] == "value":
                if not known(value):
                    self.modes[j] = self._growth(j)
                    raise _Again
                handed.append(value)
            else:
                handed.append(None)
        made = tuple(handed)
        self.after.setdefault(identity(before), set()).add(identity(made))
        if len(self.after) > MOST_CYCLE:
            self.modes = [self._growth(j) if mode == "value" else mode for j, mode in enumerate(self.modes)]
            raise _Again
        return made

    def _lengthened(self) -> bool:
        """True if the values that are carried form a cycle, with which the period of the loop has to agree."""
        if self.cycled or "value" not in self.modes:
            return False
        self.cycled = True
        seen: list[Any] = []
        at = identity(tuple(x if mode == "value" else None for x, mode in zip(self.first, self.modes)))
        while at not in seen and len(self.after.get(at, ())) == 1:
            seen.append(at)
            (at,) = self.after[at]
        if len(seen) < 2 or at != seen[0] or self.period % len(seen) == 0:
            return False
        period = math.lcm(self.period, len(seen))
        if period > MOST_CYCLE:
            return False
        self.period = period
        return True

    def _leave(self, state: State, given: tuple[Any, ...], exits: dict[Any, State]) -> None:
        """The loop ends after an iteration."""
        loop, walk = self.loop, self.walk
        left = state.copy()
        left.values, left.facts = dict(self.state.values), self.state.facts
        left.cells = self._cells("left")
        left.filled = self._kept(state, ())
        for j, (result, value) in enumerate(zip(loop.step.results, given)):
            mode = self.modes[j]
            if isinstance(mode, int):
                value = _grown(self.first[j], mode, lifted(last_of(loop)) + 1)
            elif not known(value) and not self._from_outside(value):
                value = walk.unknown_like((id(loop.step), "result", j), value)
            left.values[result] = value
        key = left.signature, tuple(identity(left.values[result]) for result in loop.step.results)
        exits[key] = joined(exits[key], left) if key in exits else left

    def _from_outside(self, value: Any, counted: bool = False) -> bool:
        """True if a value has no unknown of the iteration in it; ``counted``: but its number."""
        depth = len(self.walk.loops)
        inside = [n for n in symbols(numbers_of(value)) if len(self.walk.homes.get(n, (None,) * depth)) >= depth]
        mine = {self.loop.k.get_id()} if counted else set()
        return all(n in self._outer or n in mine for n in inside)

    def _add_up(self, state: State, every: dict[Any, Any]) -> None:
        """What every iteration writes side by side is one range after the loop."""
        k, loop = self.loop.k, self.loop
        for key in [key for key in every if key in (self.always or ())]:
            space, lo, hi = every[key]
            if (
                not isinstance(lo, z3.ExprRef)
                or k.get_id() not in symbols((lo,))
                or not self._from_outside((lo, hi), True)
            ):
                continue
            step = simple(renamed(lo, ((k, k + 1),)) - lo)
            size = simple(lifted(hi) - lo)
            if type(step) is int and type(size) is int and 0 < step <= size:
                begin = simple(renamed(lo, ((k, z3.IntVal(0)),)))
                end = simple(renamed(lo, ((k, lifted(last_of(loop))),)) + size)
                entry = space, begin, end
                if type(begin) is int and type(end) is int and 0 <= begin < end:
                    state.written[space] = state.written.get(space, 0) | ((1 << end - begin) - 1) << begin
                state.filled[identity(entry)] = entry

    def _kept(self, state: State, pairs: Any) -> dict[Any, Any]:
        """Tiles that are filled at the end of an iteration, whose places have a meaning after it.

        ``pairs``: what the number of the iteration is in the next one, where there is one.
        """
        kept = {}
        for entry in state.filled.values():
            made = tuple(renamed(n, pairs) if is_number(n) else n for n in entry) if pairs else entry
            names = symbols(numbers_of(entry))
            if self._from_outside(entry, bool(pairs)) and (pairs or self.loop.k.get_id() not in names):
                kept[identity(made)] = made
        return kept

    @property
    def _outer(self) -> set[int]:
        fixed = (*self.walk.params.values(), self.walk.block, self.walk.total, *(x.k for x in self.walk.loops[:-1]))
        return {s.get_id() for s in fixed if isinstance(s, z3.ExprRef)}

    def _growth(self, j: int) -> int | None:
        """By how much what is carried grows in each iteration, where that is a constant."""
        last = next((step for step in self.block.steps if step.word == "yield"), None)
        handed = None if last is None else without_form(last.operands[j])
        mine = self.carried[j]
        if handed is mine:
            return 0
        maker = next((step for step in self.block.steps if handed in step.results), None)
        if not isinstance(handed, Value) or maker is None or len(maker.operands) != 2:
            return None
        one, other = map(without_form, maker.operands)
        by = constant(other)
        if one is not mine or not isinstance(by, int):
            return None
        does = "add" if maker.word == "advance" else _does(maker)
        return by if does == "add" else -by if does == "sub" else None


def _does(step: Step) -> str:
    row = ARITHMETIC.get(step.op.name) if step.word == "compute" else None
    return "" if row is None else row.does


def _grown(first: Any, growth: int, times: Any) -> Any:
    if growth == 0:
        return first
    if isinstance(first, Pointer):
        return replace(first, at=simple(lifted(first.at) + growth * first.size * times))
    return simple(lifted(first) + growth * times) if is_number(first) else DATA


def _period(functions: Any, step: Step) -> int:
    """What numbers of iterations are taken modulo in a loop: rotating event ids and tiles repeat with it."""
    period = 1
    for inner in walk(step.regions[0]):
        for cycle in _cycles(inner):
            longer = math.lcm(period, cycle)
            period = longer if longer <= MOST_CYCLE else period
    return period


def _cycles(step: Step) -> Iterator[int]:
    by = constant(without_form(step.operands[1])) if len(step.operands) > 1 else None
    if step.word == "element" and isinstance(step["sizes"], Data) and len(step["sizes"].value) == 1:
        yield step["sizes"].value[0]
    elif isinstance(by, int) and not isinstance(by, bool) and 0 < by <= MOST_CYCLE:
        does = _does(step)
        if does == "fmod" and by > 1:
            yield by
        elif does == "and" and by & (by + 1) == 0:
            yield by + 1


def _keeps(step: Step) -> bool:
    """True if an instruction sets a register of the machine, or may do so."""
    if step.instr is None or step.site is None or step.instr.order.only:
        return False
    word = step.instr.meaning_at(step.site)
    return isinstance(word, Keep) or (isinstance(word, Lane) and bool(word.keeps))
