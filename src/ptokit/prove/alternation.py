"""What the cores of a cluster do on pipes and signals, one after the other: whether all of it comes to its end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import z3

from ptokit.plan.steps import Region, Step
from ptokit.run.program import Program

from .claims import Fragment, Loop
from .footprints import Footprints
from .numbers import Number, both, key_of, lifted, negated, renamed, simple
from .report import Claim
from .state import always, laid_out

MOST_TIMES = 16
"""Iterations of a loop of one core that are gone through one by one."""

MOST_FORKS = 64
"""Branches of one core that are gone through one way and the other."""


class Does(NamedTuple):
    """An operation on a pipe or with a signal, and which one."""

    step: Step
    does: str
    key: Any


class Repeats(NamedTuple):
    """A loop: the core, what is around and its step, and what it does in an iteration."""

    at: Any
    body: list[Any]


class Chooses(NamedTuple):
    """A branch: the core, what is around and its step, and what it does where its condition holds, and where not.

    ``at``: None where nothing is to be concluded from its condition.
    """

    at: Any
    arms: list[list[Any]]


class Alternation(Footprints):
    """Goes through what cores do on pipes and signals, each as far as the others let it."""

    rings: dict[Any, Any]
    piped: dict[Any, tuple[str, Any]]

    def __init__(self, program: Program, **options: Any) -> None:
        self.loops_seen: dict[Any, list[Loop]] = {}  # loops by core, what is around, and step
        self.choices_seen: dict[Any, list[Any]] = {}  # conditions of branches, likewise
        self._tokens: Mapping[Any, tuple[str, Any]] = {}  # what both cores do one after the other
        self._met: set[Any] = set()  # of these, what has been come to
        self._forks = 0
        super().__init__(program, **options)

    def seen(self, key: Any, loop: Loop | None, unknown: Loop, facts: Sequence[Number]) -> None:
        """Remember a loop that branches form, and come to where `facts` hold: that which runs as often as its bounds
        say, also where nothing leads to it, or one that runs an unknown number of times."""
        if loop is not None:
            around = [both(x.k >= 0, x.k < times_of(x)) for x in self.loops[:-1]]
            runs = (*self.assumed, *around, lifted(loop.lower) < lifted(loop.upper))
            loop = loop if self.solver.implied(runs, both(*facts)) else None
        self.loops_seen.setdefault(key, []).append(unknown if loop is None else loop)

    def alternate(self, tokens: Mapping[Any, tuple[str, Any]], counts: dict[Any, list[int]]) -> list[list[Any]]:
        """Go through all that the cores do on pipes and signals. ``tokens``: as `piped`; ``counts``: of signals, 0."""
        self._tokens, self._met, self._forks = tokens, set(), 0
        bodies: list[list[Any]] = []
        for core in dict.fromkeys(role.kind for role in self.program.cores.roles):
            self.core = core
            bodies.append(list(self._on_pipes(self.program.entry.name, ())))
        if self._met != tokens.keys():
            raise Fragment("operations on pipes in loops that a condition ends are not followed")
        counts |= {key: [0, 0] for key in self.rings}
        self._together(bodies[0], [*bodies, []][1], counts, self.assumed, ())
        for key, (_, ready) in counts.items():
            if ready and key in self.rings:
                self.suspect(Claim.FLAGS, "PIPE-LEFT", None, self.assumed, "entries of a pipe are never popped")
            elif ready:
                self.suspect(Claim.FLAGS, "XFLAG-UNMATCHED", None, self.assumed, "a signal is never waited for")
        return bodies

    def _on_pipes(self, name: str, context: tuple[int, ...]) -> Iterator[Any]:
        """What a core does on pipes in a function: operations, loops and branches."""
        yield from self._on_pipes_in(self.program.plan.functions[name].body, context)

    def _on_pipes_in(self, region: Region, context: tuple[int, ...]) -> Iterator[Any]:
        yield from self._on_blocks(region, range(len(region)), None, context)

    def _on_blocks(
        self, region: Region, order: Sequence[int], head: int | None, context: tuple[int, ...]
    ) -> Iterator[Any]:
        """What a core does in blocks that branches lead to. ``head``: with which an iteration of theirs begins.

        A loop that a branch may lead past counts how often it runs, which is not at all then (`control.Iterations`).
        """
        for n, begins, blocks in laid_out(region, order, head):
            if begins is not None:
                asks = id(region[n].steps[-1])
                below = list(self._on_blocks(region, blocks, begins, (*context, asks)))
                yield from [Repeats((self.core, context, asks), below)] if below else ()
                continue
            items = list(self._on_steps(region[n].steps, context))
            if items and not always(region, order, head, blocks):
                first = next((item.step for item in items if isinstance(item, Does)), region[n].steps[-1])
                raise Fragment("operations on pipes or signals in branches are not followed", first)
            yield from items

    def _on_steps(self, steps: Sequence[Step], context: tuple[int, ...]) -> Iterator[Any]:
        for step in steps:
            if step.core and step.core != self.core:
                continue
            inside = (*context, id(step)) if step.word in ("for", "while", "call") else context
            below = [list(self._on_pipes_in(inner, inside)) for inner in step.regions]
            if (self.core, context, id(step)) in self._tokens:
                self._met.add((self.core, context, id(step)))
                yield Does(step, *self._tokens[self.core, context, id(step)])
            elif step.word == "call":
                yield from self._on_pipes(step.callee, inside)
            elif step.word in ("for", "while") and below and below[-1] and not any(below[:-1]):
                yield Repeats((self.core, context, id(step)), below[-1])
            elif step.word == "if" and any(below):
                yield Chooses((self.core, context, id(step)), [*below, []][:2])
            elif step.word in ("region", "scope"):
                yield from (item for items in below for item in items)
            elif any(below):
                raise Fragment("operations on pipes or signals in branches are not followed", step)

    def _together(self, a: list[Any], b: list[Any], counts: dict[Any, list[int]], facts: Any, pairs: Any) -> None:
        """Go through what two cores do on pipes, each as far as the other lets it.

        Operations only wait for the other core, and nothing takes from a core what it may do: that there is one order
        in which all of them happen is enough for every order to come to the end. ``counts``: by pipe, slots that are
        taken and entries that are there. A loop of both is gone through once: its counts have to be as they were.
        """
        at = [0, 0]
        while at != [len(a), len(b)]:
            before = list(at)
            for side, items in enumerate((a, b)):
                while at[side] < len(items) and self._happens(items[at[side]], counts):
                    at[side] += 1
            if at != before:
                continue
            heads = [items[k] if k < len(items) else None for items, k in zip((a, b), at)]
            if self._both(heads[0], heads[1], counts, facts, pairs):
                at = [k + 1 for k in at]
                continue
            for side, head in enumerate(heads):
                if isinstance(head, Repeats | Chooses) and self._alone(head, side, counts, facts, pairs):
                    at[side] += 1
                    break
                times = self._times(head) if isinstance(head, Repeats) else None
                if isinstance(head, Repeats) and times is not None:
                    (a, b)[side][at[side] : at[side] + 1] = _each_time(head.body) * times
                    break
                if isinstance(head, Chooses):
                    self._each_arm(a[at[0] :], b[at[1] :], side, counts, facts, pairs)
                    return
            else:
                stuck = next((head.step for head in heads if isinstance(head, Does)), None)
                raise Fragment("one core may wait for what the other does not do, or does in a loop of its own", stuck)

    def _both(self, mine: Any, theirs: Any, counts: dict[Any, list[int]], facts: Any, pairs: Any) -> bool:
        """Do what both cores do next together: meet, or a loop that runs equally often."""
        if isinstance(mine, Does) and isinstance(theirs, Does):
            return mine[1:] == theirs[1:] and mine.does == "meet"
        if isinstance(mine, Repeats) and isinstance(theirs, Repeats):
            inside = self._equally_often(mine.at, theirs.at, facts, pairs)
            if inside is None:
                return False
            again = {key: list(count) for key, count in counts.items()}
            self._together(mine.body, theirs.body, again, *inside)
            if again != counts:
                raise Fragment("a loop leaves more in a pipe than it finds, which is not followed")
            return True
        return False

    def _each_arm(
        self, a: list[Any], b: list[Any], side: int, counts: dict[Any, list[int]], facts: Any, pairs: Any
    ) -> None:
        """Go on with each arm of the branch that one core does next; all have to leave the same."""
        head, *rest = (a, b)[side]
        self._forks += 1
        if self._forks > MOST_FORKS:
            why = f"operations on pipes or signals in branches that go more than {MOST_FORKS} ways are not followed"
            raise Fragment(why)
        conditions = {key_of(c): c for c in self.choices_seen.get(head.at, ())}
        condition = renamed(next(iter(conditions.values())), pairs if side else ()) if len(conditions) == 1 else True
        left = []
        for arm, fact in zip(head.arms, (condition, True if condition is True else negated(condition))):
            if self.solver.possible((*facts, fact)):
                left.append({key: list(count) for key, count in counts.items()})
                ways = [*arm, *rest]
                self._together(list(a) if side else ways, ways if side else list(b), left[-1], (*facts, fact), pairs)
        if any(counted != left[0] for counted in left):
            raise Fragment("a branch leaves more in a pipe than the other way does, which is not followed")
        counts.update(left[0] if left else {})

    def _times(self, head: Any) -> int | None:
        """How often a loop runs, if constants say so, and it is not often."""
        found = [simple(times_of(loop)) for loop in self.loops_seen.get(head.at, [])]
        alike = all(type(n) is int and n == found[0] for n in found)
        return found[0] if found and alike and found[0] <= MOST_TIMES else None

    def _alone(self, head: Any, side: int, counts: dict[Any, list[int]], facts: Any, pairs: Any) -> bool:
        """True if one core can go through a loop or branch alone, and leaves everything as it was."""
        for items in [head.body] if isinstance(head, Repeats) else head.arms:
            again = {key: list(count) for key, count in counts.items()}
            try:
                self._together([] if side else list(items), list(items) if side else [], again, facts, pairs)
            except Fragment:
                return False
            if again != counts:
                return False
        return True

    def _happens(self, item: Any, counts: dict[Any, list[int]]) -> bool:
        """Do an operation on a pipe, or with a signal; False if it has to wait, or is a loop or branch."""
        if not isinstance(item, Does):
            return False
        step, does, key = item
        if does == "give":
            for receiver in key:
                counts[receiver][1] += 1
            return True
        if does == "take":
            counts[key][1] -= (taken := counts[key][1] > 0)
            return taken
        if does == "meet":
            return False
        ring, count = self.rings[key], counts[key]
        if does == "push":
            if count[0] == ring.slots:
                return False
            count[:] = count[0] + 1, count[1] + 1
        elif does == "pop":
            if not count[1]:
                return False
            count[:] = count[0] - (ring.memory is not None), count[1] - 1
        elif ring.memory is None:
            if count[0] == count[1]:
                raise Fragment(f"{step.name} gives back what has not been taken", step)
            count[0] -= 1
        return True

    def _equally_often(self, mine: Any, theirs: Any, facts: Any, pairs: Any) -> Any:
        """What holds in an iteration of two loops that run equally often, and what the unknowns of the second are then;
        None where they may not."""
        found = None
        for x in self.loops_seen.get(mine, []):
            for y in self.loops_seen.get(theirs, []):
                often = [lifted(renamed(times_of(y), pairs)), times_of(x)]
                if not self.solver.implied(facts, often[0] == often[1]):
                    return None
                found = (*facts, x.k >= 0, x.k < often[1]), (*pairs, (y.k, x.k))
        return found


def _each_time(items: list[Any]) -> list[Any]:
    """What a loop does in one of several iterations: a branch may go another way in each."""
    made: list[Any] = []
    for item in items:
        if isinstance(item, Repeats):
            item = item._replace(body=_each_time(item.body))
        elif isinstance(item, Chooses):
            item = Chooses(None, [_each_time(arm) for arm in item.arms])
        made.append(item)
    return made


def times_of(loop: Loop) -> Any:
    """How often a loop runs."""
    low, high, step = map(lifted, (loop.lower, loop.upper, loop.by))
    return z3.If(low < high, (high - low + step - 1) / step, z3.IntVal(0))
