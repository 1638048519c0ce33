"""Loops, and what a whole kernel comes to.

The first iteration of a loop is gone through apart from the later ones, and those by their number modulo the period of
what rotates in the body. They are repeated until what is known at their beginning stays. What a loop carries is
followed exactly where it takes few values, as ``first + k * step`` where it only grows, or not at all.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import z3

from ptokit.plan.steps import Step, walk

from .claims import Fragment, Loop, last_of
from .instructions import Instructions
from .numbers import (
    STOPS,
    Exhausted,
    Number,
    is_number,
    is_truth,
    key_of,
    lifted,
    negated,
    renamed,
    same,
    simple,
    symbols,
)
from .places import Pointer, identity, keeps, known, numbers_of, rewritten
from .report import STOPPED, Claim
from .state import (
    MOST_CYCLE,
    Body,
    Ended,
    Follows,
    Growth,
    Lefts,
    State,
    executed,
    growth,
    joined,
    limits,
    met,
    period_of,
    resizes,
    side_by_side,
)
from .walk import GIVEN

MOST_ROUNDS, MOST_HEADS = 400, 40


class _Again(Exception):
    """A number that a loop carries has to be followed otherwise."""


class Control(Instructions):
    """Goes through whole kernels."""

    def prove(self) -> None:
        """Go through the kernel, and find out what may not hold. What is not followed leaves every claim open, and what
        has not been decided at Ctrl-C is open too."""
        self.undecided, self.exhausted = list(Claim), False
        try:
            self.delayed(self._run)
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
        self.number_steps(s for f in plan.functions.values() for s in (*f.first, *executed(f.body)))
        if self.program.cores.mixed and self.by_compiler:
            raise Fragment("cube and vector cores of a cluster without flags are not followed")
        self.keeps_registers = any(keeps(step) for function in plan.functions.values() for step in function.walk())
        if self.program.cores.mixed and self.program.cores.whole and self.vectors > 1:
            raise Fragment("what vector core 0 of a cluster runs alone is not followed")
        for core in dict.fromkeys(role.kind for role in self.program.cores.roles):
            self.core = core
            for state in self.function(self.program.entry.name, self.start()):
                self.ended(state)
        self.together()
        self.undecided = [Claim.PIPES, Claim.BLOCKS]
        if not self.by_compiler:
            self.races()
        self.undecided = [Claim.BLOCKS]
        self.block_races()
        self.undecided = []

    # --- loops ---------------------------------------------------------------------------------------------------

    def _repeated(self, step: Step, body: Body, state: State) -> Lefts:
        """The states after a loop that its end decides about, with what they lead to."""
        times = self.unknown((id(step), "times"))
        k = self.unknown((id(step), "iteration"))
        self.homes.pop(k.get_id(), None)
        return Iterations(self, Loop(step, k, 0, times, 1), state, body, asks=True).ended()

    def on_while(self, step: Step, state: State) -> list[State]:
        """It asks before its first iteration, and at the end of each."""
        (asking,), (repeated, *_) = step.regions

        def asked(states: list[State], values: Sequence[Any]) -> Iterator[tuple[State, tuple[Any, ...], bool]]:
            for each in states:
                each.values.update(zip(asking.args, values))
            for each in self.steps(asking.steps, states):
                condition, *given = each.values.pop(GIVEN)
                condition = condition if is_truth(condition) else self.unknown((id(step), "condition"), True)
                for goes_on in (True, False):
                    way = self._way(each, condition if goes_on else negated(condition))
                    if way is not None:
                        yield way, tuple(given), goes_on

        def body(begun: State) -> Iterator[Ended]:
            for each in self.region(step.regions[1], [begun]):
                for way, given, goes_on in asked([each], each.values.pop(GIVEN)):
                    yield way, given if goes_on else None, None, dict(zip(step.results, given))

        inside = [inner for region in step.regions for inner in walk(region)]
        ended = []
        with self._ahead(step, step):
            found = list(asked([state], self.operands(state, step)))
        for way, given, goes_on in found:
            if goes_on:
                ended += [x for _, x in self._repeated(step, Body(repeated.args, given, body, inside), way)]
            else:
                way.values.update(zip(step.results, given))
                ended.append(way)
        return met(ended, lambda key, like: self.unknown((id(step), "ended", key), like))

    def on_for(self, step: Step, state: State) -> list[State]:
        lower, upper, by, *first = self.operands(state, step)
        lower, upper, by = (self.number(step, k, n) for k, n in enumerate((lower, upper, by)))
        if not self.solver.implied(state.facts, lifted(by) > 0):
            raise Fragment("the step of a loop may not be positive", step)
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
            variable, *args = step.regions[0][0].args
            more = simple(lifted(lower) + lifted(by) * (k + 1) < lifted(upper))

            def body(begun: State) -> Iterator[Ended]:
                begun.values[variable] = simple(lifted(lower) + lifted(by) * k)
                for each in self.region(step.regions[0], [begun]):
                    given = tuple(each.values.pop(GIVEN, ()))
                    following, last = self._way(each, more), self._way(each, negated(more))
                    if following is not None:
                        yield following, given, None, {}
                    if last is not None:
                        yield last, None, None, dict(zip(step.results, given))

            inside = list(walk(step.regions[0]))
            ended += [x for _, x in Iterations(self, around, some, Body(tuple(args), first, body, inside)).ended()]
            self.counted_up(none, ended, simple(lifted(lower) < lifted(upper)))
        return met(ended, lambda key, like: self.unknown((id(step), "ended", key), like))


class Iterations:
    """A loop that runs at least once, from one state.

    ``modes``, by what is carried: "value" follows the values that it takes, `Growth` and `Follows` say what it is,
    "open" and "later" find out, None is not followed. ``asks``: the number of iterations is an unknown of its own; what
    is known at the end of one is known when the next one begins. ``counts``: what is carried that decides how often the
    loop runs, and what it stays below.
    """

    def __init__(self, walk: Control, loop: Loop, state: State, body: Body, *, asks: bool = False) -> None:
        self.walk, self.loop, self.state, self.body, self.asks = walk, loop, state, walk.counting(body, state), asks
        self.asking, self.repeats = loop, asks
        self.carried, self.first, self.modes = self.body.args, list(self.body.first), list[Any]()
        self.left: list[list[Any]] = []  # by what is carried, the modes that have not been tried
        self._untried("open", "value", "later") if asks else self._untried("value", "open", "later")
        self.counts: tuple[int, Number] | None = None
        self.settled, self.countable, self.twice = False, True, same(last_of(loop), 1)
        self.period = period_of(body.steps)
        self.cycled = False
        self.havoc = resizes(walk.program.plan.functions, body.steps)

    def ended(self) -> Lefts:
        """The states after the loop, with what they lead to. How it goes on is found out before anything is judged."""
        walk = self.walk
        outer, key = walk.looks, (walk.core, walk.context, id(self.loop.step))
        while True:
            before = walk.found.copy()
            walk.frames.append(self.loop)
            try:
                self._recall(walk.loops_known.pop(key, None))
                decided = self.settled or not (self.asks or any(mode in ("open", "later") for mode in self.modes))
                walk.looks = outer and decided
                ended = self._fixpoint()
                if not (self._lengthened() or self._counted()):
                    self.settled = True
                    if decided or not outer:
                        walk.loops_known[key] = self.modes, self.left, self.counts
                        if self.repeats and outer:
                            walk.seen(key, self.loop if self.counts else None, self.asking, self.state.facts)
                        return ended
            except _Again:
                pass
            finally:
                walk.frames.pop()
                walk.looks = outer
            walk.found = before

    def _fixpoint(self) -> Lefts:
        loop = self.loop
        self.after: dict[Any, set[Any]] = {}
        self.always: set[Any] | None = None  # ranges that every iteration has written at its end
        self.heads: dict[Any, tuple[State, bool, int, tuple[Any, ...]]] = {}
        self.todo, self.thrice = list[Any](), False  # thrice: an iteration that is not the first goes on
        self.ends: list[tuple[tuple[Number, ...], bool]] = []
        exits: dict[Any, tuple[int | None, State]] = {}
        every: dict[Any, Any] = {}
        start = self.state.copy()
        start.facts = ()
        self._arrive(start, True, 0, tuple(x if mode == "value" else None for x, mode in zip(self.first, self.modes)))
        for _ in range(MOST_ROUNDS):
            if not self.todo:
                break
            state, is_first, rest, values = self.heads[self.todo.pop(0)]
            begun = self._begin(state, is_first, rest, values)
            if begun is None:
                continue
            for each, handed, to, results in self.body.run(begun):
                if self.counts is not None and not self._decides(*self.counts, each.facts, handed is not None):
                    self.loop, self.counts, self.asks, self.countable = self.asking, None, True, False
                    raise _Again
                ranges = {key for key, entry in each.filled.items() if len(entry) == 3}
                self.always = ranges if self.always is None else self.always & ranges
                self.ends.append((each.facts, handed is not None))
                if handed is None:
                    self._leave(each, to, results, exits)
                    every |= each.filled
                    continue
                given = self._handed(each, handed, values, is_first)
                each.values, each.facts = {}, self._still(each) if self.asks else ()
                each.filled = self._kept(each, ((loop.k, loop.k - 1),))
                self._arrive(each, False, (rest + 1) % self.period, given)
        else:
            raise Fragment("the loop does not come to rest", loop.step)
        for _, state in exits.values():
            self._add_up(state, every)
        return list(exits.values())

    def _arrive(self, state: State, is_first: bool, rest: int, values: tuple[Any, ...]) -> None:
        """An iteration may begin in a state."""
        key = is_first, rest, state.signature, identity(values)
        old = self.heads.get(key)
        if old is not None:
            new = joined(old[0], state)
            if new.order == old[0].order and len(new.facts) == len(old[0].facts):
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
        facts = [loop.k == 0] if is_first else [loop.k >= 1]
        if not is_first and self.period > 1:
            facts.append(loop.k % self.period == rest)
        facts.append(lifted(simple(lifted(loop.lower) + lifted(loop.by) * loop.k)) < lifted(loop.upper))
        begun.facts = (*self.state.facts, *facts, *state.facts)
        for j, (arg, value) in enumerate(zip(self.carried, values)):
            mode, first = self.modes[j], self.first[j]
            if mode == "value":
                begun.values[arg] = value
            elif isinstance(mode, Growth) or (isinstance(mode, Follows) and not is_first):
                begun.values[arg] = mode.of(first, loop.k)
            elif is_first:
                begun.values[arg] = first
            else:
                begun.values[arg] = unknown = walk.unknown_like((id(loop.step), "carried", j), first)
                if mode == "open" and is_number(unknown) and not (walk.looks or self.asks):
                    begun.facts = (*begun.facts, lifted(unknown) >= 0)  # to find how it grows, which is asked later
        levels, me = walk.levels, loop.k.get_id()
        begun.begun(lambda access: levels[access].index(me) + 1 if me in levels[access] else None)
        return begun if walk.solver.possible(begun.facts) else None

    def _still(self, state: State) -> tuple[Number, ...]:
        """What is known at the end of an iteration as the next one says it."""
        k, outer = self.loop.k, set(map(key_of, self.state.facts))
        inner = [fact for fact in state.facts if key_of(fact) not in outer and self._from_outside(fact, True)]
        return tuple(simple(renamed(fact, ((k, k - 1),))) for fact in inner)

    def _cells(self, when: str) -> dict[Any, Any]:
        """The valid regions that tiles have when an iteration begins, or after the loop."""
        if not self.havoc:
            return dict(self.state.cells)
        step, some = id(self.loop.step), self.walk.unknown
        cells = self.state.cells.items()
        return {cell: (spec, *(some(((step, when, cell), k)) for k in range(2))) for cell, (spec, *_) in cells}

    def _handed(self, state: State, given: Sequence[Any], before: Sequence[Any], is_first: bool) -> tuple[Any, ...]:
        """What the next iteration gets."""
        handed, self.thrice, again = list[Any](), self.thrice or not is_first, False
        for j, value in enumerate(given):
            mode = self.modes[j]
            if again and mode != "open":
                continue
            wrong = self.walk.carries(self.loop.step, self.first[j], value, mode, self.left[j])
            wrong |= mode == "value" and not known(value)
            if wrong or (isinstance(mode, Growth | Follows) and not self._grows(state, j, mode, value)):
                self._try(j)
                raise _Again
            if mode == "open" and (not is_first or self.twice):
                unknown = self.walk.unknown_like((id(self.loop.step), "carried", j), self.first[j])
                self._try(j, growth(self.first[j] if is_first else unknown, value, self._from_outside))
                again = True
            if mode == "later" and (not is_first or self.twice) and "open" not in self.modes:
                self._try(j, self._said(state, j, value))
                raise _Again
            handed.append(value if mode == "value" else None)
        if again:
            raise _Again
        self.after.setdefault(identity(tuple(before)), set()).add(identity(made := tuple(handed)))
        if len(self.after) > MOST_CYCLE:
            for j in (j for j, mode in enumerate(self.modes) if mode == "value"):
                self._try(j)
            raise _Again
        return made

    def _untried(self, *modes: str) -> None:
        """Try modes from the first one on, wherever they fit."""
        self.left = [[mode for mode in modes if mode != "value" or known(x)] for x in self.first]
        self.modes = [left.pop(0) for left in self.left]

    def _try(self, j: int, found: Growth | Follows | None = None) -> None:
        """Follow what is carried in a mode that has been found, or in the next one."""
        self.modes[j] = found or (self.left[j].pop(0) if self.left[j] else None)

    def _said(self, state: State, j: int, value: Any) -> Growth | Follows | None:
        """How what is carried goes on where each iteration says it anew."""
        if not self._from_outside(value, True):
            return None
        k = self.loop.k
        found = growth(rewritten(value, ((k, k - 1),)), value, self._from_outside)
        return found if found and self._grows(state, j, found, value) else Follows(value, k)

    def _grows(self, state: State, j: int, mode: Growth | Follows, value: Any) -> bool:
        """True if what is carried is as its mode says in the next iteration, too, and in the first one."""
        first = self.first[j]
        then = mode.of(first, self.loop.k + 1)
        pairs = [(then, value)]
        if isinstance(value, Pointer) and isinstance(then, Pointer):
            if (value.space, value.size) != (then.space, then.size):
                return False
            pairs = [(then.at, value.at)]
        elif isinstance(mode, Growth):
            pairs.append((mode.of(first, z3.IntVal(0)), first))
        return all(
            is_number(x) and is_number(y) and self.walk.solver.implied(state.facts, lifted(x) == lifted(y))
            for x, y in pairs
        )

    def _lengthened(self) -> bool:
        """True if the loop begins anew: two iterations are all, or the period has to agree with a cycle of values."""
        if not (self.twice or self.thrice) and ("open" in self.modes or "later" in self.modes):
            self.twice = True
            return True
        if self.cycled or "value" not in self.modes:
            return False
        self.cycled = True
        seen: list[Any] = []
        at = identity(tuple(x if mode == "value" else None for x, mode in zip(self.first, self.modes)))
        while at not in seen and len(self.after.get(at, ())) == 1:
            seen.append(at)
            (at,) = self.after[at]
        period = math.lcm(self.period, len(seen))
        if len(seen) < 2 or at != seen[0] or period == self.period or period > MOST_CYCLE:
            return False
        self.period = period
        return True

    def _recall(self, known_loop: tuple[Any, Any, Any] | None) -> None:
        """Begin with what was found out about the loop when it was gone through from another state."""
        if known_loop is not None:
            modes, left, counts = known_loop
            if all(mode != "value" or known(x) for mode, x in zip(modes, self.first)):
                self.modes, self.left = list(modes), list(map(list, left))
                self.settled = counts is None or self._count(*counts)

    def _counted(self) -> bool:
        """True if a number that grows decides how often the loop runs: it is known then, and the loop begins anew."""
        for j, mode in enumerate(self.modes if self.asks and self.countable else ()):
            if isinstance(mode, Growth) and is_number(self.first[j]):
                after = mode.of(self.first[j], self.loop.k + 1)
                for upper in limits(after, (fact for facts, _ in self.ends for fact in facts)):
                    if all(self._decides(j, upper, *end) for end in self.ends) and self._count(j, upper):
                        upper, first, by = self.loop.upper, self.loop.lower, self.loop.by
                        if known((first, upper, by)) and upper - first <= MOST_CYCLE * by:
                            self._untried("value", "open", "later")
                            self.counts = None
                        return True
        return False

    def _count(self, j: int, upper: Number) -> bool:
        """Take what is carried for the number of the iteration, if it may be; `_decides` is to hold at all ends."""
        mode, first, facts = self.modes[j], self.first[j], self.state.facts
        if not (isinstance(mode, Growth) and not mode.floor and is_number(first) and self._from_outside(upper)):
            return False
        below = lifted(first) < lifted(upper)
        if not all(self.walk.solver.implied(facts, goal) for goal in (lifted(mode.by) > 0, below)):
            return False
        self.loop = Loop(self.loop.step, self.loop.k, first, upper, mode.by)
        self.counts, self.asks = (j, upper), False
        return True

    def _decides(self, j: int, upper: Number, facts: Sequence[Number], goes_on: bool) -> bool:
        """True if the loop certainly goes on, or not, as what is carried says, which is below its end before that."""
        if not isinstance(mode := self.modes[j], Growth):
            return False
        now, after = (lifted(mode.of(self.first[j], self.loop.k + k)) for k in (0, 1))
        return self.walk.solver.implied((*facts, now < lifted(upper)), (after < lifted(upper)) == goes_on)

    def _leave(self, state: State, to: int | None, results: Mapping[Any, Any], exits: dict[Any, Any]) -> None:
        """The loop ends after an iteration."""
        left = state.copy()
        left.values, left.facts, left.held = dict(self.state.values), self.state.facts, ()
        left.cells = self._cells("left")
        left.filled = self._kept(state, ())
        for value, result in results.items():
            left.values[value] = self._at_end(value, result)
        key = to, left.ending, tuple(identity(left.values[value]) for value in results)
        exits[key] = to, joined(exits[key][1], left) if key in exits else left

    def _at_end(self, key: Any, value: Any) -> Any:
        """A value of the last iteration as it is known after the loop."""
        if isinstance(value, tuple):
            return tuple(self._at_end((key, k), part) for k, part in enumerate(value))
        if known(value) or self._from_outside(value):
            return value
        if self._from_outside(value, True):
            return rewritten(value, ((self.loop.k, lifted(last_of(self.loop))),))
        return self.walk.unknown_like((id(self.loop.step), "result", key), value)

    def _from_outside(self, value: Any, counted: bool = False) -> bool:
        """True if a value has no unknown of the iteration in it; ``counted``: but its number."""
        depth = len(self.walk.loops)
        inside = [n for n in symbols(numbers_of(value)) if len(self.walk.homes.get(n, (None,) * depth)) >= depth]
        mine = {self.loop.k.get_id()} if counted else set()
        return all(n in self._outer or n in mine for n in inside)

    def _add_up(self, state: State, every: dict[Any, Any]) -> None:
        """What every iteration writes side by side is one range after the loop."""
        k, last = self.loop.k, lifted(last_of(self.loop))
        facts, always = (*state.facts, k >= 0, k < last), self.always or ()
        found = [entry for key, entry in every.items() if key in always]
        counted = [e for e in found if k.get_id() in symbols(e[1:2]) and self._from_outside(e[1:], True)]
        for space, lo, hi in side_by_side(counted):
            following = lifted(renamed(lo, ((k, k + 1),)))
            if self.walk.solver.implied(facts, z3.And(lifted(lo) <= following, following <= lifted(hi))):
                entry = space, simple(renamed(lo, ((k, z3.IntVal(0)),))), simple(renamed(hi, ((k, last),)))
                _, begin, end = entry
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
        walk = self.walk
        fixed = (*walk.params.values(), walk.block, walk.sub, walk.total, *(x.k for x in walk.loops[:-1]))
        return {s.get_id() for s in fixed if isinstance(s, z3.ExprRef)}
