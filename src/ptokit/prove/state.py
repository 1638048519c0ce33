"""What holds at a place of a program: which flags are set, who holds tokens, how old is what a pipe may not know of.

An *access* is an instruction of the text, in the calls around it. For an access `a` in loops l1 .. ln and a pipe q, its
*ages* say which of its instances may not have completed when q goes on: ages[0] is 1 if there are any, and ages[i] is 1
plus the number of iterations of li that have begun since the oldest of them. Nothing is unknown where there are none.
They are finite (`ANY` above `OLDEST`) and only grow where states meet, so that loops end after a few rounds.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable, Mapping
from dataclasses import field
from typing import Any

import z3

from ptokit.records import dataclass
from ptokit.types.enums import Pipe

from .numbers import Number, both, either, key_of, negated
from .places import alike, merged

OLDEST, ANY = 5, 99
"""The greatest age that is counted, and what is more."""

PIPES = (Pipe.S, Pipe.V, Pipe.M, Pipe.MTE1, Pipe.MTE2, Pipe.MTE3, Pipe.FIX)

FlagKey = tuple[Pipe, Pipe, int]
Ages = tuple[int, ...]
Unknown = dict[int, Ages]
"""By access, of those with instances that may not have completed."""


@dataclass(slots=True)
class State:
    """One way in which control may have come here.

    ``values``: what is known of values; ``facts``: what holds of unknowns on this way. ``flags``: those that are set,
    with what their pipe did not know then. ``tokens``: by token and pipe, what the pipe did not know when it gave it
    back last, None while it holds it. ``unknown``: by pipe. ``cells``: valid regions of tiles. ``written``: by space,
    bytes that every way here has written, as bits; ``filled``: tiles at open places that are written as far as valid.
    ``popped``: pipes between cores with an entry that has been taken and not given back.
    """

    values: dict[Any, Any] = field(default_factory=dict)
    facts: tuple[Number, ...] = ()
    flags: dict[FlagKey, Unknown] = field(default_factory=dict)
    tokens: dict[int, dict[Pipe, Unknown | None]] = field(default_factory=dict)
    unknown: dict[Pipe, Unknown] = field(default_factory=lambda: {pipe: {} for pipe in PIPES})
    cells: dict[Any, tuple[Any, Number, Number]] = field(default_factory=dict)
    written: dict[Any, int] = field(default_factory=dict)
    filled: dict[Hashable, Any] = field(default_factory=dict)
    popped: frozenset[Any] = frozenset()

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
        )

    @property
    def signature(self) -> Hashable:
        """States with the same one are joined: the flags that are set, and the tokens with who holds them."""
        tokens = frozenset(
            (token, pipe, ages is None) for token, known in self.tokens.items() for pipe, ages in known.items()
        )
        return frozenset(self.flags), tokens, self.popped

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
    """What holds in both of two states with one signature; values and facts are those of `a`."""
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
    made.written = {space: a.written[space] & b.written[space] for space in a.written.keys() & b.written.keys()}
    made.filled = {key: tile for key, tile in a.filled.items() if key in b.filled}
    return made


LONG = 60
"""Facts of two ways that are still told apart when the ways meet."""


def met(states: list[State], unknown: Callable[[Any, Any], Number]) -> list[State]:
    """States where ways meet: those with one signature become one. ``unknown(key, like)`` makes an unknown number."""
    groups: dict[Hashable, State] = {}
    for state in states:
        signature = state.signature
        groups[signature] = _met(groups[signature], state, unknown) if signature in groups else state
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
    "and": both,
    "or": either,
    "not": negated,
    "number": z3.IntVal,
    "truth": z3.is_bool,
    "FloorDiv": operator.truediv,
    **{name: getattr(operator, name.lower()) for name in ("Add", "Sub", "Mod", "Eq", "Lt", "Gt")},
    "Mult": operator.mul,
    "NotEq": operator.ne,
    "LtE": operator.le,
    "GtE": operator.ge,
}
"""What makes conditions of assumptions (`condition`)."""
