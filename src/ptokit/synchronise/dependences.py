"""Which accesses of different pipes have to be ordered, and whether flags do it.

The first is the prover's walk, which looks for races and for nothing else. What it takes for granted is that no access
leaves its view, its array or its buffer, and that numbers do not wrap: both are for `ptokit prove`, and no flag changes
them. The second is the same walk, or `Order`, which knows the dependences already and is quick.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import product
from typing import Any

from ptokit.ir.control import decides, is_call, is_loop
from ptokit.ir.core import Block, Function, Op
from ptokit.plan.steps import Step
from ptokit.prove.alternation import times_of
from ptokit.prove.claims import Instance, Loop, Suspect
from ptokit.prove.control import Control
from ptokit.prove.numbers import Number, both, key_of, lifted, renamed, simple
from ptokit.prove.places import Touch, View, certainly_apart, overlap
from ptokit.prove.report import OF_PIPES, Claim
from ptokit.prove.state import ANY, OLDEST, Ages, FlagKey, State, Unknown, older
from ptokit.records import dataclass
from ptokit.types.enums import EVENT_ID_COUNT, Pipe

FARTHEST = 4
"""The greatest distance that is told from greater ones: so many iterations may be under way at once."""

Path = tuple[Op, ...]
"""The calls around an instruction, the outermost first, and the instruction."""


@dataclass(frozen=True)
class Dependence:
    """The second of two instructions touches what the first one did, on another pipe, and one of them writes.

    ``loops``: those around both; ``level``: which of them carries it, None within one iteration of all; ``distance``:
    over how many iterations of that one at least, `FARTHEST` for so many or more.
    """

    first: Path
    second: Path
    pipes: tuple[Pipe, Pipe]
    names: tuple[str, str]
    core: str
    loops: tuple[Op, ...]
    level: int | None
    distance: int

    @property
    def loop(self) -> Op | None:
        """The loop that carries it."""
        return None if self.level is None else self.loops[self.level]


class Pipes(Control):
    """Goes through a kernel, and looks only at its flags and at the order of its pipes.

    ``dropped``: operations that are taken to do nothing; ``claims``: what is looked at; ``in_clusters``: of blocks only
    how the cube core and a vector core of one are ordered; ``visited``: instructions that some launch comes to;
    ``granted``: what is assumed, since no flag changes it.
    """

    dropped: frozenset[Op] = frozenset()
    claims: tuple[Claim, ...] = (*OF_PIPES, Claim.BLOCKS)
    in_clusters = True

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self.visited: set[Op] = set()
        self.granted: dict[str, None] = {}

    def on_instruction(self, step: Step, state: State) -> Any:
        self.visited.add(step.op)
        return [state] if step.op in self.dropped else super().on_instruction(step, state)

    def suspect(self, claim: Claim, rule: str, step: Step | None, facts: Sequence[Number], text: str) -> None:
        if claim in self.claims:
            super().suspect(claim, rule, step, facts, text)

    def need(self, step: Step | None, view: View, facts: Sequence[Number]) -> None:
        """How large arrays are is not asked."""

    def need_bytes(self, step: Step | None, space: Any, lo: Number, hi: Number, facts: Sequence[Number]) -> None:
        """How large arrays are is not asked."""

    def _written(self, step: Step, state: State, touches: Sequence[Touch], results: Sequence[Any]) -> None:
        """What has been written is not followed."""

    def _fill(self, step: Step, state: State, site: Any, given: Any, touches: Sequence[Touch]) -> None:
        """What has been written is not followed."""

    def _loaded(self, step: Step, state: State, site: Any, touches: Sequence[Touch]) -> None:
        """What has been written is not followed."""

    def unpaired(self, step: Step) -> None:
        if not self.in_clusters:
            super().unpaired(step)
        self.granted["what this rank waits for comes from other ranks"] = None

    def block_races(self) -> None:
        """Flags and signals of a cluster order no two blocks, but a flag may order what a signal tells other blocks."""
        if self.program.cores.mixed or not self.in_clusters:
            super().block_races()

    def _block_race(self, a: Instance, s: Touch, b: Instance, t: Touch, *, inside: bool = False) -> None:
        if not self.in_clusters or (inside and a.core != b.core):
            super()._block_race(a, s, b, t, inside=inside)

    def _rank_race(self, *given: Any) -> None:
        if not self.in_clusters:
            super()._rank_race(*given)

    def broken_pipes(self) -> list[tuple[str, int]]:
        """What may not hold of flags and pipes, each with its line; empty if all of it does."""
        found = [(s.text, 0 if s.step is None else s.step.op.location.line) for s in self.suspected()]
        return found + [(gap.reason, gap.line) for gap in self.found.gaps if gap.claim in self.claims]

    def suspected(self) -> Iterator[Suspect]:
        """What may not hold of what is looked at."""
        return (s for s in self.found.suspects.values() if s.claim in self.claims)


class Dependences(Pipes):
    """Collects what nothing orders so far, and what a race would be; with how far apart in iterations it lies."""

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self.paths: dict[int, Path] = {}
        self.accesses: dict[str, dict[Path, tuple[Pipe, ...]]] = {}  # by core; a transfer has two pipes
        self.used: set[tuple[str, Pipe, Pipe, int]] = set()  # flags that the program has, by core
        self.dependences: list[Dependence] = []
        self.certain: set[Op] = set()  # loops that run at least once, whatever the arguments are
        self.single: set[Op] = set()  # at most once
        self._feasible: dict[Any, bool] = {}

    def access(self, step: Step, state: State, pipe: Pipe, touches: Sequence[Touch]) -> None:
        super().access(step, state, pipe, touches)
        calls = [frame for frame in self.frames if not isinstance(frame, Loop)]
        path = (*(frame.op for frame in calls if frame.word == "call"), step.op)
        self.paths[self._accesses[self.core, tuple(map(id, calls)), id(step)]] = path
        known = self.accesses.setdefault(self.core, {})
        known[path] = tuple(dict.fromkeys((*known.get(path, ()), pipe)))

    def set_flag(self, step: Step, state: State, key: FlagKey) -> State:
        self.used.add((self.core, *key))
        return super().set_flag(step, state, key)

    def races(self) -> None:
        """Not what races, but all that has to be ordered."""
        found: dict[Any, Dependence] = {}
        for (access, key, other), ages in self.found.unordered.items():
            b = self.found.instances[access][key]
            for a in self.found.instances[other].values():
                if a.pipe is not b.pipe:
                    self.depend(a, b, ages, found)
        self.dependences = list(found.values())
        for loops in self.loops_seen.values():
            if all(self.solver.implied(self.assumed, lifted(x.lower) < lifted(x.upper)) for x in loops):
                self.certain.add(loops[0].step.op)
            if all(self.solver.implied(self.assumed, lifted(times_of(x)) <= 1) for x in loops):
                self.single.add(loops[0].step.op)

    def depend(self, a: Instance, b: Instance, ages: Ages, found: dict[Any, Dependence]) -> None:
        """Add the dependences of two accesses, where they are not older than `ages`."""
        pairs = [(s, t) for s, t in product(a.touches, b.touches) if self._meet(s, t)]
        if not pairs:
            return
        common = [x for x, y in zip(a.loops, b.loops) if x.step is y.step and x.k.eq(y.k)]
        others = self._others(a, keep=True)
        names = {old.get_id(): new for old, new in others}
        facts = [*b.facts, *(renamed(f, others) for f in a.facts), *self._homes(common, others, names)]
        first, second = self.paths[a.access], self.paths[b.access]
        after = self.places[a.access] < self.places[b.access] or (b.access, a.access) in self.overtaken
        levels: list[int | None] = [None] if after else []
        for s, t in pairs:
            meet = overlap(s, t, others, self.solver, self.assumed)
            for level in (*levels, *range(len(common))):
                key = first, second, a.core, level
                known = found.get(key)
                most = 0 if level is None else min(FARTHEST, ages[level + 1] - 1)  # flags order what is older
                for distance in range(level is not None, most + 1):
                    if known is not None and distance >= known.distance:
                        break
                    if self._can(facts, meet, self._apart_by(common, names, level, distance)):
                        loops, name = tuple(x.step.op for x in common), (a.step.name, b.step.name)
                        pipes = a.pipe, b.pipe
                        found[key] = Dependence(first, second, pipes, name, a.core, loops, level, distance)
                        break

    @staticmethod
    def _meet(s: Touch, t: Touch) -> bool:
        commute = s.atomic is not None and s.atomic == t.atomic
        return (s.write or t.write) and s.space == t.space and not commute and not certainly_apart(s, t)

    def _homes(self, common: Sequence[Loop], others: Any, names: Any) -> Iterator[Number]:
        """Unknowns that have one value in an iteration are equal in two accesses of the same one."""
        import z3

        around = [loop.k for loop in common]
        alike = [names[loop.k.get_id()] == loop.k for loop in common]
        for old, new in others:
            home = self.homes.get(old.get_id())
            if home is not None and len(home) <= len(around) and all(x.eq(y) for x, y in zip(home, around)):
                yield z3.Implies(lifted(both(*alike[: len(home)])), old == new)

    @staticmethod
    def _apart_by(common: Sequence[Loop], names: Any, level: int | None, distance: int) -> Number:
        """How many iterations of a loop lie between two accesses."""
        same = [names[loop.k.get_id()] == loop.k for loop in (common if level is None else common[:level])]
        if level is None:
            return both(*same)
        k = common[level].k
        then = names[k.get_id()]
        return both(*same, then == k - distance if distance < FARTHEST else then <= k - distance)

    def _can(self, facts: Sequence[Number], meet: Number, apart: Number) -> bool:
        """True unless two accesses certainly do not meet so; asked once where the bytes do not decide."""
        if meet is not True:
            return self.solver.possible((*facts, meet, apart))
        key = tuple(map(key_of, facts)), key_of(simple(apart))
        if key not in self._feasible:
            self._feasible[key] = self.solver.possible((*facts, apart))
        return self._feasible[key]


# Flags, and what of them suffices: the ages of the prover without values, for a program whose dependences are known.


@dataclass(eq=False)
class Flag:
    """A flag: set after ``after``, waited for before ``before``, both in ``block``.

    ``home``: the innermost loop around that. ``around``: None if it is waited for in the iteration that sets it; else
    later iterations wait, and this is the loop before which it is set first, and waited for last after it.
    ``depth``: how many ids it rotates through with the iterations of its home, from ``number`` on.
    ``at_once``: for want of ids it is set where it is waited for, which orders more. ``needed``: a dependence that
    nothing else orders. ``told``: of the last wait its source is told before it is "set", or set first ("prime"), by a
    flag in the other direction with the id ``answer``.
    """

    pipes: tuple[Pipe, Pipe]
    core: str
    block: Block
    after: Op
    before: Op
    home: Op | None = None
    around: Op | None = None
    depth: int = 1
    number: int = -1
    at_once: bool = False
    needed: Dependence | None = None
    told: frozenset[str] = frozenset()
    answer: int = -1


@dataclass(eq=False)
class Barrier:
    """A barrier of all pipes before an operation, where no flag will do, and why."""

    before: Op
    why: str


@dataclass
class Placed:
    """The flags, barriers and signals (`signals.Signal`) that order a program.

    ``widened``: what orders more for want of ids, in words.
    """

    flags: list[Flag] = field(default_factory=list)
    barriers: list[Barrier] = field(default_factory=list)
    widened: list[str] = field(default_factory=list)
    signals: list[Any] = field(default_factory=list)


class Unordered(Exception):
    """A dependence that nothing orders."""

    def __init__(self, dependence: Dependence) -> None:
        super().__init__(dependence)
        self.dependence = dependence


@dataclass(eq=False)
class _Node:
    """An operation: what it does to ages. ``access``: its number, or -1; ``depth``: of loops around it."""

    op: Op
    access: int = -1
    pipes: tuple[Pipe, ...] = ()
    depth: int = 0
    regions: list[list[_Node]] = field(default_factory=list)
    loops: bool = False
    certain: bool = False
    inside: list[int] = field(default_factory=list)


class _Ages:
    """What pipes may not know to be complete, and what flags carried on their way."""

    def __init__(self, pipes: Iterable[Pipe]) -> None:
        self.unknown: dict[Pipe, Unknown] = {pipe: {} for pipe in pipes}
        self.flags: dict[int, list[Unknown]] = {}

    def copy(self) -> _Ages:
        made = _Ages(())
        made.unknown = {pipe: dict(ages) for pipe, ages in self.unknown.items()}
        made.flags = {key: list(map(dict, queue)) for key, queue in self.flags.items()}
        return made

    def everything(self) -> Iterator[Unknown]:
        yield from self.unknown.values()
        for queue in self.flags.values():
            yield from queue

    def join(self, other: _Ages) -> _Ages:
        made = _Ages(())
        made.unknown = {pipe: older(ages, other.unknown[pipe]) for pipe, ages in self.unknown.items()}
        made.flags = {k: [older(a, b) for a, b in zip(queue, other.flags[k])] for k, queue in self.flags.items()}
        return made

    def same(self, other: _Ages) -> bool:
        return self.unknown == other.unknown and self.flags == other.flags


class Order:
    """Whether flags order all dependences of one kind of core.

    ``accesses``: their pipes; ``certain``: loops that run at least once.
    """

    def __init__(
        self,
        functions: Mapping[str, Function],
        entry: Function,
        accesses: Mapping[Path, tuple[Pipe, ...]],
        dependences: Sequence[Dependence],
        certain: set[Op],
    ) -> None:
        self.functions, self.accesses, self.certain = functions, accesses, certain
        self.numbers = {path: k for k, path in enumerate(accesses)}
        self.checks: dict[int, list[tuple[int, int, int, Dependence]]] = {}
        self.sources: set[int] = set()
        for each in dependences:
            a, b = self.numbers[each.first], self.numbers[each.second]
            level = -1 if each.level is None else each.level
            self.checks.setdefault(b, []).append((a, level, each.distance, each))
            self.sources.add(a)
        self.ends = {op for each in dependences for op in (*each.first, *each.second)}
        self.pipes = [*dict.fromkeys((*(pipe for pipes in accesses.values() for pipe in pipes), Pipe.S))]
        self.whole = True  # False where control flow is not followed here
        self.nodes = self._nodes(entry.body, (), 0) if entry.body is not None else []

    def _nodes(self, region: Block, calls: Path, depth: int) -> list[_Node]:
        if region.more:
            self.whole = False
        return [node for block in region.blocks for op in block.ops for node in self._node(op, calls, depth)]

    def _node(self, op: Op, calls: Path, depth: int) -> Iterator[_Node]:
        number = self.numbers.get((*calls, op), -1)
        node = _Node(op, number, self.accesses.get((*calls, op), ()), depth)
        callee = self.functions.get(op.attrs["callee"]) if is_call(op) else None
        if callee is not None and callee.body is not None and len(calls) < EVENT_ID_COUNT:
            node.regions = [self._nodes(callee.body, (*calls, op), depth)]
        elif op.regions:
            node.loops = is_loop(op)
            node.certain = op in self.certain
            node.regions = [self._nodes(region, calls, depth + node.loops) for region in op.regions]
            if node.loops and len(op.regions) > 1:
                node.regions = [[*node.regions[0], *node.regions[1]]]
        node.inside = [k for region in node.regions for inner in region for k in inner.inside]
        node.inside += [number] * (number in self.sources)
        yield node

    def check(self, flags: Sequence[Flag], barriers: Sequence[Barrier] = ()) -> None:
        """Raises `Unordered` for the first dependence that these do not order."""
        before: dict[Op, list[tuple[str, int]]] = {}
        after: dict[Op, list[tuple[str, int]]] = {}
        self.flags = flags
        for k, flag in enumerate(flags):
            if flag.at_once:
                before.setdefault(flag.before, []).append(("set", k))
            else:
                after.setdefault(flag.after, []).append(("set", k))
            before.setdefault(flag.before, []).append(("wait", k))
        for k, flag in enumerate(flags):
            if flag.around is not None:
                before.setdefault(flag.around, []).insert(0, ("prime", k))
                after.setdefault(flag.around, []).append(("drain", k))
        for barrier in barriers:
            before.setdefault(barrier.before, []).append(("barrier", 0))
        self.before, self.after = before, after
        state = _Ages(self.pipes)
        state.flags = {k: [] for k in range(len(flags))}
        self._go(self.nodes, state)

    def _go(self, nodes: Sequence[_Node], state: _Ages) -> _Ages:
        for node in nodes:
            for verb, k in self.before.get(node.op, ()):
                self._do(verb, k, state)
            if node.access >= 0:
                self._access(node, state)
            if node.loops:
                state = self._loop(node, state)
            elif len(node.regions) > 1:
                ways = [self._go(region, state.copy()) for region in node.regions]
                state = ways[0]
                for way in ways[1:]:
                    state = state.join(way)
            elif node.regions:
                left = self._go(node.regions[0], state.copy())
                state = state.join(left) if decides(node.op) else left
            for verb, k in self.after.get(node.op, ()):
                self._do(verb, k, state)
        return state

    def _loop(self, node: _Node, entry: _Ages) -> _Ages:
        head = entry
        while True:
            begun = head.copy()
            for ages in begun.everything():
                for k in node.inside:
                    old = ages.get(k)
                    if old is not None:
                        age = old[node.depth + 1]
                        age = age + 1 if age < OLDEST else ANY
                        ages[k] = (*old[: node.depth + 1], age, *old[node.depth + 2 :])
            end = self._go(node.regions[0], begun)
            joined = entry.join(end)
            if joined.same(head):
                return end if node.certain else joined
            head = joined

    def _access(self, node: _Node, state: _Ages) -> None:
        number = node.access
        for pipe, then in zip(node.pipes, (*node.pipes[1:], node.pipes[0])):
            own = state.unknown[pipe]
            for a, level, distance, dependence in self.checks.get(number, ()):
                ages = own.get(a)
                late = ages is not None and (level < 0 or ages[level + 1] > distance)
                if late and pipe is dependence.pipes[1]:
                    raise Unordered(dependence)
            if number in self.sources:
                for other in state.everything():
                    if other is not own:
                        old = other.get(number, (0,) * (node.depth + 1))
                        other[number] = tuple([age or 1 for age in old])
            if then is not pipe:
                self._told(state, then, dict(own))

    def _do(self, verb: str, k: int, state: _Ages) -> None:
        if verb == "barrier":
            for ages in state.everything():
                ages.clear()
            return
        flag = self.flags[k]
        p, q = flag.pipes
        if verb == "set":
            state.flags[k].append(dict(state.unknown[p]))
        elif verb == "prime":
            state.flags[k] = [dict(state.unknown[p]) for _ in range(flag.depth)]
        elif verb == "drain":
            for ages in state.flags[k]:
                self._told(state, q, ages)
            state.flags[k] = []
        else:
            self._told(state, q, state.flags[k].pop(0))

    def _told(self, state: _Ages, pipe: Pipe, ages: Unknown) -> None:
        for each in self.pipes if pipe is Pipe.S else (pipe,):
            mine = state.unknown[each]
            state.unknown[each] = {a: tuple(map(min, mine[a], ages[a])) for a in mine.keys() & ages.keys()}


def suffices(order: Order, flags: Sequence[Flag], barriers: Sequence[Barrier] = ()) -> Dependence | None:
    """None if these order everything, else a dependence that they do not."""
    try:
        order.check(flags, barriers)
    except Unordered as found:
        return found.dependence
    return None
