"""What holds at a place of a program: which flags are set, who holds tokens, how old is what a pipe may not know of.

An *access* is an instruction of the text, in the calls around it. For an access `a` in loops l1 .. ln and a pipe q, its
*ages* say which of its instances may not have completed when q goes on: ages[0] is 1 if there are any, and ages[i] is 1
plus the number of iterations of li that have begun since the oldest of them. Nothing is unknown where there are none.
They are finite (`ANY` above `OLDEST`) and only grow where states meet, so that loops end after a few rounds.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Any

import z3

from ptokit.ir.core import Value
from ptokit.ir.functions import OPERATORS
from ptokit.isa.scalar.arithmetic import ARITHMETIC
from ptokit.plan.steps import Data, Region, Step, constant, walk, without_form
from ptokit.records import dataclass
from ptokit.types.enums import Pipe

from .numbers import FAR, Number, both, either, is_number, key_of, lifted, negated, renamed, simple
from .places import Pointer, alike, certainly_apart, merged, rewritten

OLDEST, ANY = 5, 99
"""The greatest age that is counted, and what is more."""

PIPES = (Pipe.S, Pipe.V, Pipe.M, Pipe.MTE1, Pipe.MTE2, Pipe.MTE3, Pipe.FIX)

FlagKey = tuple[Pipe, Pipe, int]
Ages = tuple[int, ...]
Unknown = dict[int, Ages]
"""By access, of those with instances that may not have completed."""


@dataclass(frozen=True, eq=False, slots=True)
class Queued:
    """What a pipe does once it has waited for a flag that is set later in the text, or that wait. ``key``: what tells
    it from others; ``sets``, ``awaits``: its flag; ``frames``, ``facts``: loops and calls around it, and what holds."""

    key: Hashable
    run: Callable[[State], Any]
    frames: tuple[Any, ...]
    facts: tuple[Number, ...]
    sets: FlagKey | None = None
    awaits: FlagKey | None = None


@dataclass(slots=True)
class State:
    """One way in which control may have come here.

    ``values``: what is known of values; ``facts``: what holds of unknowns on this way. ``flags``: those that are set,
    with what their pipe did not know then. ``tokens``: by token and pipe, what the pipe did not know when it gave it
    back last, None while it holds it. ``unknown``: by pipe. ``cells``: valid regions of tiles. ``written``: by space,
    bytes that every way here has written, as bits; ``filled``: tiles at open places that are written as far as valid.
    ``held``: what writes tiles that are full of the elements of arrays, with these; within one iteration only.
    ``queued``: by pipe that waits for a flag which is set later in the text, that wait and what comes after it.
    ``popped``: the spaces of entries of pipes between cores that have been taken and not given back, oldest first.
    """

    values: dict[Any, Any] = field(default_factory=dict)
    facts: tuple[Number, ...] = ()
    flags: dict[FlagKey, Unknown] = field(default_factory=dict)
    tokens: dict[int, dict[Pipe, Unknown | None]] = field(default_factory=dict)
    unknown: dict[Pipe, Unknown] = field(default_factory=lambda: {pipe: {} for pipe in PIPES})
    cells: dict[Any, tuple[Any, Number, Number]] = field(default_factory=dict)
    written: dict[Any, int] = field(default_factory=dict)
    filled: dict[Hashable, Any] = field(default_factory=dict)
    popped: tuple[Any, ...] = ()
    held: tuple[tuple[Any, str], ...] = ()
    queued: dict[Pipe, tuple[Queued, ...]] = field(default_factory=dict)

    def copy(self) -> State:
        """An independent state."""
        return State(
            dict(self.values),
            self.facts,
            {key: dict(ages) for key, ages in self.flags.items()},
            {
                token: {pipe: None if ages is None else dict(ages) for pipe, ages in known.items()}
                for token, known in self.tokens.items()
            },
            {pipe: dict(ages) for pipe, ages in self.unknown.items()},
            dict(self.cells),
            dict(self.written),
            dict(self.filled),
            self.popped,
            self.held,
            dict(self.queued),
        )

    @property
    def signature(self) -> Hashable:
        """States with the same one are joined: the flags that are set, and the tokens with who holds them."""
        tokens = frozenset(
            (token, pipe, ages is None) for token, known in self.tokens.items() for pipe, ages in known.items()
        )
        queued = tuple((pipe, *(each.key for each in queue)) for pipe in PIPES if (queue := self.queued.get(pipe)))
        return frozenset(self.flags), tokens, self.popped, queued

    @property
    def ending(self) -> Hashable:
        """States with the same one are joined after a loop: of rotating flags it matters which one was set last."""
        return self.signature, frozenset(key for key, ages in self.flags.items() if ages)

    @property
    def order(self) -> Hashable:
        """Everything that a loop repeats until it stays."""
        return (
            self.signature,
            _frozen(self.unknown),
            _frozen(self.flags),
            tuple(
                (token, _frozen({p: a for p, a in known.items() if a is not None}))
                for token, known in self.tokens.items()
            ),
            frozenset(self.written.items()),
            frozenset(self.filled),
        )

    # --- what pipes know -----------------------------------------------------------------------------------------

    def everything(self) -> list[Unknown]:
        """Each set of ages: of pipes, flags and tokens."""
        released = [ages for known in self.tokens.values() for ages in known.values() if ages is not None]
        return [*self.unknown.values(), *self.flags.values(), *released]

    def issued(self, access: int, pipe: Pipe, depth: int) -> None:
        """A new instance of an access in `depth` loops begins: only its own pipe knows of it."""
        for ages in self.everything():
            if ages is not self.unknown[pipe]:
                old = ages.get(access, (0,) * (depth + 1))
                ages[access] = tuple(max(1, age) for age in old)

    def begun(self, levels: Callable[[int], int | None]) -> None:
        """An iteration begins of the loop that is number `levels(access)` around an access, None where it is not."""
        self.held = ()
        for ages in self.everything():
            for access, old in ages.items():
                level = levels(access)
                if level is not None:
                    age = old[level] + 1 if old[level] < OLDEST else ANY
                    ages[access] = (*old[:level], age, *old[level + 1 :])

    def told(self, pipe: Pipe, ages: Unknown) -> None:
        """A pipe waits for what does not know `ages` only. What the scalar unit has waited for, all later work has."""
        for each in PIPES if pipe is Pipe.S else (pipe,):
            mine = self.unknown[each]
            self.unknown[each] = {a: tuple(map(min, mine[a], ages[a])) for a in mine.keys() & ages.keys()}

    def overwritten(self, touches: Sequence[Any]) -> None:
        """Bytes are written: tiles that share some with them are not full of the elements of arrays any more."""
        for touch in touches if self.held else ():
            if touch.write:
                self.held = tuple((t, array) for t, array in self.held if t is touch or certainly_apart(t, touch))

    def drained(self) -> None:
        """All pipes wait for each other. What flags know then, everybody does."""
        for ages in self.everything():
            ages.clear()


def _frozen(ages: Mapping[Any, Unknown]) -> Hashable:
    return frozenset((key, frozenset(found.items())) for key, found in ages.items())


def older(a: Unknown, b: Unknown) -> Unknown:
    """What one of two does not know."""
    made = dict(a)
    for access, ages in b.items():
        old = made.get(access)
        made[access] = ages if old is None else tuple(map(max, old, ages))
    return made


def joined(a: State, b: State) -> State:
    """What holds in both of two states with one signature; values are those of `a`, facts those of both."""
    made = a.copy()
    made.unknown = {pipe: older(a.unknown[pipe], b.unknown[pipe]) for pipe in PIPES}
    made.flags = {key: older(ages, b.flags[key]) for key, ages in a.flags.items()}
    made.tokens = {
        token: {
            pipe: None if ages is None or (other := b.tokens[token][pipe]) is None else older(ages, other)
            for pipe, ages in known.items()
        }
        for token, known in a.tokens.items()
    }
    theirs = set(map(key_of, b.facts))
    made.facts = tuple(fact for fact in a.facts if key_of(fact) in theirs)
    made.written = {space: a.written[space] & b.written[space] for space in a.written.keys() & b.written.keys()}
    made.filled = {key: tile for key, tile in a.filled.items() if key in b.filled}
    made.held = tuple(pair for pair in a.held if pair in b.held)
    return made


LONG = 60
"""Facts of two ways that are still told apart when the ways meet."""


def met(states: list[State], unknown: Callable[[Any, Any], Number]) -> list[State]:
    """States where ways meet: those with one ending become one. ``unknown(key, like)`` makes an unknown number."""
    groups: dict[Hashable, State] = {}
    for state in states:
        key = state.ending
        groups[key] = _met(groups[key], state, unknown) if key in groups else state
    return list(groups.values())


def _met(a: State, b: State, unknown: Callable[[Any, Any], Number]) -> State:
    made = joined(a, b)
    mine, theirs = ({key_of(f): f for f in state.facts} for state in (a, b))
    common = [f for key, f in mine.items() if key in theirs]
    first = [f for key, f in mine.items() if key not in theirs]
    second = [f for key, f in theirs.items() if key not in mine]

    def number(key: Any, x: Number, y: Number) -> Number:
        one = unknown(key, x)
        first.append(one == x)
        second.append(one == y)
        return one

    made.values = {}
    for value in a.values:
        if value in b.values:
            made.values[value] = merged(a.values[value], b.values[value], number, (value,))
    made.cells = {}
    for cell, (spec, *mine_size) in a.cells.items():
        if cell in b.cells:
            pairs = zip(mine_size, b.cells[cell][1:])
            made.cells[cell] = (
                spec,
                *(x if alike(x, y) else number((cell, k), x, y) for k, (x, y) in enumerate(pairs)),
            )  # type: ignore[assignment]
    apart = len(first) + len(second)
    if first and second and apart < LONG:
        common.append(either(both(*first), both(*second)))
    made.facts = tuple(common)
    return made


# What assumptions say, of numbers that may be unknown.


WORDS: dict[str, Any] = {
    **OPERATORS,
    "and": both,
    "or": either,
    "not": negated,
    "number": z3.IntVal,
    "truth": z3.is_bool,
    "FloorDiv": operator.truediv,  # of integers, in z3
}
"""What makes conditions of assumptions (`condition`)."""


# Loops and branches.


Lefts = list[tuple[int | None, State]]
"""States with the block that each leads to, None at the end of a region."""

Ended = tuple[State, tuple[Any, ...] | None, int | None, Mapping[Any, Any]]
"""The end of an iteration: a state, with what the next one gets, or None in the last one; what that leads to, and the
values that are known after it."""


@dataclass(frozen=True, eq=False, slots=True)
class Body:
    """What a loop repeats. ``args``: what it carries, ``first`` at the beginning; ``steps``: all that is inside.

    ``run`` goes through an iteration, and gives its ends.
    """

    args: tuple[Value, ...]
    first: Sequence[Any]
    run: Callable[[State], Iterator[Ended]]
    steps: Sequence[Step]


@dataclass(frozen=True, slots=True)
class Growth:
    """How what a loop carries grows: by a number in each iteration; with ``floor`` it never is less than 0."""

    by: Number
    floor: bool = False

    def of(self, first: Any, times: Any) -> Any:
        """What is carried after so many iterations."""
        if isinstance(first, Pointer):
            return replace(first, at=simple(lifted(first.at) + lifted(self.by) * times))
        grown = lifted(first) + lifted(self.by) * times
        return simple(z3.If(grown > 0, grown, z3.IntVal(0)) if self.floor else grown)


@dataclass(frozen=True, eq=False, slots=True)
class Follows:
    """What a loop carries is what the iteration before, number ``k``, says."""

    value: Any
    k: Any

    def of(self, first: Any, times: Any) -> Any:
        """What is carried after so many iterations, at least one."""
        return rewritten(self.value, ((self.k, simple(lifted(times) - 1)),))


def growth(before: Any, after: Any, from_outside: Callable[[Any], bool]) -> Growth | None:
    """How something may grow that is `before` at the beginning of an iteration, `after` at its end.

    ``from_outside``: of a number, whether it is the same in all iterations.
    """
    if isinstance(before, Pointer) and isinstance(after, Pointer):
        before, after = before.at, after.at
    if not (is_number(before) and is_number(after)):
        return None
    by = lifted(z3.simplify(lifted(after) - before, som=True))
    if from_outside(by):
        return Growth(simple(by))
    if not isinstance(before, z3.ExprRef):
        return None
    least = simple(renamed(after, ((before, z3.IntVal(FAR)),)))
    return Growth(least - FAR, floor=True) if type(least) is int and least < FAR else None


def limits(number: Any, facts: Iterable[Number]) -> Iterator[Number]:
    """What comparisons in facts say that a number stays below."""
    todo, seen = list(facts), set()
    while todo:
        fact = todo.pop()
        if not isinstance(fact, z3.ExprRef) or fact.get_id() in seen:
            continue
        seen.add(fact.get_id())
        if z3.is_le(fact) or z3.is_lt(fact) or z3.is_ge(fact) or z3.is_gt(fact) or _equates(fact):
            a, b = fact.children()
            for apart in (a - b, b - a):
                for more in (0, 1):
                    yield simple(z3.simplify(number + apart + more, som=True))
        elif z3.is_bool(fact):
            todo += fact.children()


def side_by_side(ranges: Sequence[tuple[Any, Number, Number]]) -> list[tuple[Any, Number, Number]]:
    """Ranges of spaces, those joined that constants say meet."""
    found: list[tuple[Any, Number, Number]] = []
    left = list(ranges)
    while left:
        space, lo, hi = left.pop(0)
        while True:
            meets = [
                (x, below, above)
                for x in left
                if x[0] == space
                and all(type(n) is int and n >= 0 for n in (simple(lifted(hi) - x[1]), simple(lifted(x[2]) - lo)))
                and type(below := simple(lifted(x[1]) - lo)) is int
                and type(above := simple(lifted(x[2]) - hi)) is int
            ]
            if not meets:
                break
            (other, below, above), *_ = meets
            left = [x for x in left if x is not other]
            lo, hi = other[1] if below < 0 else lo, other[2] if above > 0 else hi
        found.append((space, lo, hi))
    return found


def _equates(fact: Any) -> bool:
    return bool(z3.is_eq(fact)) and isinstance(fact.children()[0], z3.ArithRef)


DEEPEST = 8
"""Calls within calls."""

MOST_CYCLE = 12
"""The longest period of what rotates in a loop that is followed."""


def period_of(steps: Iterable[Step]) -> int:
    """What numbers of iterations are taken modulo in a loop: rotating event ids and tiles repeat with it."""
    period = 1
    for step in steps:
        for cycle in _cycles(step):
            longer = math.lcm(period, cycle)
            period = longer if longer <= MOST_CYCLE else period
    return period


def _cycles(step: Step) -> Iterator[int]:
    by = constant(without_form(step.operands[1])) if len(step.operands) > 1 else None
    if step.word == "element" and isinstance(step["sizes"], Data) and len(step["sizes"].value) == 1:
        yield step["sizes"].value[0]
    elif isinstance(by, int) and not isinstance(by, bool) and 0 < by <= MOST_CYCLE:
        row = ARITHMETIC.get(step.op.name) if step.word == "compute" else None
        if row is not None and row.does == "fmod" and by > 1:
            yield by
        elif row is not None and row.does == "and" and by & (by + 1) == 0:
            yield by + 1


def resizes(functions: Mapping[str, Any], steps: Iterable[Step], depth: int = 0) -> bool:
    """True if steps, or what they call, change the valid region of a tile."""
    for step in steps:
        called = functions.get(step.callee) if step.word == "call" else None
        inside = called is not None and (depth > DEEPEST or resizes(functions, walk(called.body), depth + 1))
        if step.word == "set_valid" or inside:
            return True
    return False


def leads_to(region: Region, n: int) -> set[int]:
    """The blocks that may come after block `n`."""
    return {way.block for step in region[n].steps[-1:] for way in step.ways}


def before(region: Region, n: int) -> set[int]:
    """The blocks that lead to block `n`."""
    return {k for k in range(len(region)) if n in leads_to(region, k)}


def cycle_of(region: Region, n: int, order: Sequence[int]) -> list[int]:
    """The blocks of the loop that begins with block `n`, as they stand in `order`; none if others lead into it."""
    at = {k: place for place, k in enumerate(order)}
    todo = [k for k in before(region, n) if at.get(k, -1) >= at[n]]
    found = {n} if todo else set()
    while todo:
        k = todo.pop()
        if at.get(k, -1) < at[n]:
            return []
        if k not in found:
            found.add(k)
            todo += before(region, k)
    return [k for k in order if k in found]


def turned(region: Region, n: int, cycle: list[int]) -> tuple[int, list[int]]:
    """The block that iterations of a loop begin with, and its blocks in their order.

    Where block `n`, that it begins with, asks whether the loop goes on, it asks at the end of each iteration instead.
    """
    within = [to for to in leads_to(region, n) if to in cycle]
    asks = len(leads_to(region, n)) > 1 and len(within) == 1 and within[0] != n and before(region, within[0]) == {n}
    return (within[0], [*(k for k in cycle if k != n), n]) if asks else (n, cycle)


def laid_out(
    region: Region, order: Sequence[int], head: int | None = None
) -> Iterator[tuple[int, int | None, Sequence[int]]]:
    """Blocks and loops of blocks, in the order in which they are executed: the block that each begins with, that which
    iterations begin with, None for a block alone, and all of its blocks."""
    done: set[int] = set()
    for n in order:
        if n not in done:
            cycle = cycle_of(region, n, order) if n != head else []
            yield (n, *turned(region, n, cycle)) if cycle else (n, None, [n])
            done.update(cycle)


def laid(region: Region, order: Sequence[int], head: int | None = None) -> Iterator[int]:
    """Blocks in the order in which they are executed: those of a loop together, before what comes after it."""
    for n, first, blocks in laid_out(region, order, head):
        yield from [n] if first is None else laid(region, blocks, first)


def always(region: Region, order: Sequence[int], head: int | None, blocks: Sequence[int]) -> bool:
    """True if every way through blocks, from the first one to where they end or begin again, leads through some."""
    todo, seen = [order[0]], set(blocks)
    while todo:
        n = todo.pop()
        if n not in seen:
            seen.add(n)
            following = leads_to(region, n)
            if not following or any(to == head or to not in order for to in following):
                return False
            todo += following
    return True


def executed(region: Region) -> Iterator[Step]:
    """The steps of a region, and those inside of them, in the order of one iteration of all loops."""
    for n in laid(region, range(len(region))):
        for step in region[n].steps:
            yield step
            for inner in step.regions[::-1] if step.word == "while" else step.regions:
                yield from executed(inner)
