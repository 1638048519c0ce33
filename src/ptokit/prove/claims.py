"""What is claimed of a kernel, what has to hold for it, and whether the solver finds that it does.

Nothing here calls a kernel wrong: what may not hold is suspected, with arguments where the solver has some, and only a
run shows it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from typing import Any

import z3

from ptokit.plan.steps import Step
from ptokit.records import dataclass
from ptokit.run.program import Program
from ptokit.targets import Target
from ptokit.types.codecs import width
from ptokit.types.enums import Pipe

from .numbers import DATA, FAR, Number, Solver, both, is_long, key_of, lifted, negated, renamed, same, simple, symbols
from .places import Space, Touch, View, branches, certainly_apart, in_words, overlap, without_remainders
from .ranges import Span, of_loops, proposed, sizes_of, span
from .report import Claim
from .state import ANY, Ages, State

MOST_BLOCKS = 65_535

_MENDED = (Claim.BOUNDS, Claim.WRITTEN)
"""Claims that assumptions about sizes may save."""

RING = "ring"
"""In the space, and among what commutes, of the slots of a pipe between cores: the pipe orders them itself."""


class Fragment(Exception):
    """Something that is not followed, at a step."""

    def __init__(self, reason: str, step: Step | None = None) -> None:
        super().__init__(reason)
        self.reason, self.step = reason, step


@dataclass(frozen=True)
class Suspect:
    """Something that may not hold: the rule that a run would report, and what the unknowns are then."""

    claim: Claim
    rule: str
    text: str
    step: Step | None
    facts: tuple[Number, ...]
    model: Any = None


@dataclass(frozen=True)
class Gap:
    """Why a claim is not decided, and where."""

    claim: Claim
    reason: str
    line: int = 0


@dataclass(frozen=True, eq=False, slots=True)
class Loop:
    """A loop that is gone through: ``k`` is the number of the iteration, from 0."""

    step: Step
    k: Any
    lower: Number
    upper: Number
    by: Number


@dataclass(frozen=True, eq=False, slots=True)
class Instance:
    """An access as it happens on one way: what holds then, and what it touches. ``core``: the kind that does it."""

    access: int
    core: str
    step: Step
    pipe: Pipe
    touches: tuple[Touch, ...]
    facts: tuple[Number, ...]
    loops: tuple[Loop, ...]


@dataclass
class Found:
    """What has been recorded so far; a loop that starts again drops what it had added."""

    suspects: dict[Any, Suspect] = field(default_factory=dict)
    gaps: dict[Gap, None] = field(default_factory=dict)
    instances: dict[int, dict[Any, Instance]] = field(default_factory=dict)
    unordered: dict[tuple[int, Any, int], Ages] = field(default_factory=dict)
    needs: dict[Any, tuple[str, Number, Step | None]] = field(default_factory=dict)
    wide: dict[tuple[str, int], None] = field(default_factory=dict)  # types that may be too small, and lines

    def copy(self) -> Found:
        """What there is now."""
        instances = {access: dict(found) for access, found in self.instances.items()}
        flat = dict(self.unordered), dict(self.needs), dict(self.wide)
        return Found(dict(self.suspects), dict(self.gaps), instances, *flat)


def line_of(step: Step | None) -> int:
    """The line of a step, 0 without one."""
    return 0 if step is None else step.op.location.line


class Claims:
    """What has to hold of a kernel."""

    assumed: tuple[Number, ...]
    stated: tuple[Number, ...]
    homes: dict[int, tuple[Any, ...]]
    params: dict[str, Any]
    block: Number
    total: Number
    program: Program
    core: str
    sub: Number  # of the vector core of a cluster
    vectors: int  # how many a cluster has
    wraps = False  # True if arithmetic does what its type does, and is not assumed to stay within that
    looks = True  # at what may not hold; False while it is found out how a loop goes on

    def __init__(self, target: Target) -> None:
        self.target, self.solver, self.found = target, Solver(), Found()
        self.places: dict[int, tuple[float, ...]] = {}  # by access, where it stands in the text, calls in place
        self.levels: dict[int, tuple[int, ...]] = {}  # by access, the loops around it
        self._accesses: dict[Any, int] = {}
        self._order: dict[int, float] = {}
        self.spans: dict[int, Span] = {}  # by unknown, between what it lies
        self.elements_are: dict[str, tuple[Any, ...]] = {}  # by array, what is assumed of each element
        self.late, self.overtaken = False, set[tuple[int, int]]()  # accesses after others that come later in the text
        self.relied: dict[str, Step] = {}  # arrays whose elements have to stay so

    @property
    def loops(self) -> tuple[Loop, ...]:
        """The loops around what is gone through now."""
        raise NotImplementedError

    @property
    def context(self) -> tuple[int, ...]:
        """The calls and loops around, as a key."""
        raise NotImplementedError

    # --- obligations ---------------------------------------------------------------------------------------------

    def oblige(
        self, claim: Claim, rule: str, step: Step | None, facts: Sequence[Number], good: Number, text: str
    ) -> None:
        """`good` has to hold where the facts do."""
        if good is not True:
            self.suspect(claim, rule, step, (*facts, negated(good)), text)

    def suspect(self, claim: Claim, rule: str, step: Step | None, facts: Sequence[Number], text: str) -> None:
        """`rule` is broken if the facts can hold."""
        key = claim, rule, line_of(step), text
        if not self.looks or key in self.found.suspects or any(fact is False for fact in facts):
            return
        answer = self.solver.solve(facts, model=True)
        if not answer.none:
            self.found.suspects[key] = Suspect(claim, rule, text, step, tuple(facts), answer.model)

    def leave_open(self, claim: Claim, reason: str, step: Step | None = None) -> None:
        """A claim is not decided."""
        self.found.gaps[Gap(claim, reason, line_of(step))] = None

    # --- numbers stay within their types -------------------------------------------------------------------------

    def within(self, step: Step, made: Number, kind: Any, facts: Sequence[Number]) -> Number:
        """A result as its type has it. Where it may be too large, that it is not is assumed, but with ``wraps``."""
        half = 1 << width(kind.name) - 1
        least, most = span(made, of_loops(self.loops, self.spans))
        if (-half <= least and most < half) or not self.looks:
            return made
        fits = both(lifted(made) >= -half, lifted(made) < half)
        if self.solver.implied(facts, fits):
            return made
        if self.wraps:
            return simple((lifted(made) + half) % (2 * half) - half)
        if fits is False or not self.solver.possible((*facts, fits)):
            return DATA
        self.found.wide[kind.name, line_of(step)] = None
        return made

    # --- what arrays have to hold --------------------------------------------------------------------------------

    def need(self, step: Step | None, view: View, facts: Sequence[Number]) -> None:
        """A view of an argument has to lie in it."""
        self.need_bytes(step, view.space, view.base, view.end(view.shape), facts)

    def need_bytes(self, step: Step | None, space: Space, lo: Number, hi: Number, facts: Sequence[Number]) -> None:
        """An argument has to hold the bytes before `hi`; none may lie before its first one."""
        self.oblige(Claim.BOUNDS, "GM-OOB", step, facts, simple(lifted(lo) >= 0), "an access may lie before its array")
        allowed = {s.get_id() for s in (*self.params.values(), self.total) if isinstance(s, z3.ExprRef)}
        for most in sorted(self._furthest(hi), key=is_long) if self.looks else ():
            if not symbols([most]).keys() - allowed and self.solver.implied(facts, lifted(hi) <= lifted(most)):
                plain = self._plain(most, facts)
                self.found.needs[space[1], key_of(plain)] = (space[1], plain, step)
                return
        reason = f"how far {space[1]} is accessed depends on more than arguments and the number of blocks"
        self.leave_open(Claim.BOUNDS, reason, step)

    def _plain(self, most: Number, facts: Sequence[Number]) -> Number:
        """A multiple of the only unknown of a number, and a constant, that is certainly no less; else the number."""
        found = list(symbols([most]).values())
        if len(found) != 1 or not is_long(most):
            return most
        near, far = (simple(renamed(most, [(found[0], z3.IntVal(at))])) for at in (FAR, 2 * FAR))
        if not (type(near) is int and type(far) is int) or (far - near) % FAR:
            return most
        slope = (far - near) // FAR
        line = simple(slope * found[0] + (near - slope * FAR))
        return line if self.solver.implied(facts, lifted(most) <= line) else most

    def _furthest(self, hi: Number) -> Iterator[Number]:
        """What a number may be at most: in the last block and iterations, or where a loop ends that blocks share."""
        second = [(self.sub, z3.IntVal(self.vectors - 1))] if isinstance(self.sub, z3.ExprRef) else []
        last = hi = simple(renamed(hi, second))
        for loop in self.loops[::-1]:
            last = simple(renamed(last, [(loop.k, lifted(last_of(loop)))]))
        yield from without_remainders(hi)
        yield simple(renamed(last, [(self.block, lifted(self.total) - 1)]))
        for loop in self.loops:
            if same(loop.lower, self.block):
                shared = simple(renamed(hi, [(loop.k, z3.IntVal(0)), (self.block, lifted(loop.upper) - 1)]))
                for inner in self.loops[::-1]:
                    if inner is not loop:
                        shared = simple(renamed(shared, [(inner.k, lifted(last_of(inner)))]))
                yield shared
        yield from branches(hi)

    # --- accesses ------------------------------------------------------------------------------------------------

    def access(self, step: Step, state: State, pipe: Pipe, touches: Sequence[Touch]) -> None:
        """An instruction begins: what it touches must not be touched by what may not have completed."""
        calls = tuple(number for number in self.context if number not in {id(loop.step) for loop in self.loops})
        access = self._accesses.setdefault((self.core, calls, id(step)), len(self._accesses))
        self.places[access] = (*(self._order.get(call, 0) for call in calls), self._order.get(id(step), 0))
        self.levels[access] = tuple(loop.k.get_id() for loop in self.loops)
        instance = Instance(access, self.core, step, pipe, tuple(touches), state.facts, self.loops)
        key = tuple(t.identity for t in touches), tuple(map(key_of, state.facts))
        self.found.instances.setdefault(access, {}).setdefault(key, instance)
        for other, ages in state.unknown[pipe].items():
            triple = access, key, other
            old = self.found.unordered.get(triple)
            self.found.unordered[triple] = ages if old is None else tuple(map(max, old, ages))
            if self.late:
                self.overtaken.add((access, other))
        state.overwritten(touches)
        if pipe is not Pipe.S or any(t.write for t in touches):  # reads of the scalar unit are over when it goes on
            state.issued(access, pipe, len(self.loops))

    def number_steps(self, steps: Iterable[Step]) -> None:
        """Remember the order of the text."""
        self._order = {id(step): k for k, step in enumerate(steps)}

    # --- races ---------------------------------------------------------------------------------------------------

    def races(self) -> None:
        """Look at all pairs of accesses of different pipes that nothing orders."""
        for (access, key, other), ages in self.found.unordered.items():
            b = self.found.instances[access][key]
            for a in self.found.instances[other].values():
                if a.pipe is not b.pipe:
                    self._race(a, b, ages)

    def _race(self, a: Instance, b: Instance, ages: Ages) -> None:
        pairs = [(s, t) for s in a.touches for t in b.touches if _conflict(s, t) and not certainly_apart(s, t)]
        if not pairs:
            return
        if any(s.space[0] == "argument" and s.lo is None for s, _ in pairs):
            self.leave_open(Claim.PIPES, f"what {a.step.name} touches of an array is not followed", a.step)
        others = self._others(a, keep=True)
        facts = [*b.facts, *(renamed(f, others) for f in a.facts), *self._apart(a, b, ages, others)]
        for s, t in pairs:
            rule = f"RACE-{_SHORT[s.write, t.write]}"
            text = f"{b.step.name} on {b.pipe.text} and {a.step.name} on {a.pipe.text} in line {line_of(a.step)}"
            condition = overlap(s, t, others, self.solver, self.assumed)
            self.suspect(Claim.PIPES, rule, b.step, (*facts, condition), text)

    def _others(self, a: Instance, *, keep: bool) -> list[tuple[Any, Any]]:
        """Names for the unknowns of another instance; ``keep``: of the same core, which has one value of some."""
        numbers = [*a.facts, *(n for touch in a.touches for n in touch.numbers)]
        numbers += [n for loop in a.loops for n in (loop.k, loop.lower, loop.upper, loop.by)]
        fixed = {s.get_id() for s in (*self.params.values(), self.total) if isinstance(s, z3.ExprRef)}
        fixed |= {s.get_id() for s in (self.block, self.sub) if keep and isinstance(s, z3.ExprRef)}
        found = symbols(numbers).items()
        return [(s, _other(s)) for number, s in found if number not in fixed and not (keep and self._once(number))]

    def _once(self, number: int) -> bool:
        return self.homes.get(number, (None,)) == ()

    def _apart(self, a: Instance, b: Instance, ages: Ages, others: Sequence[tuple[Any, Any]]) -> Iterator[Any]:
        """What is known of the iterations of an earlier instance, a, and a later one."""
        names = {old.get_id(): new for old, new in others}
        common = []
        for x, y in zip(a.loops, b.loops):
            if x.step is not y.step or not x.k.eq(y.k):
                break
            common.append(x)
        alike = [names[loop.k.get_id()] == loop.k for loop in common]
        earlier = [both(*alike[:i], names[loop.k.get_id()] < loop.k) for i, loop in enumerate(common)]
        if self.places[a.access] < self.places[b.access] or (b.access, a.access) in self.overtaken:
            earlier.append(both(*alike))  # in one iteration of all of them a comes first
        if common:
            yield z3.Or(*map(lifted, earlier))
        for i, loop in enumerate(common):
            age = ages[i + 1]
            if age < ANY:
                then = names[loop.k.get_id()]
                lower, upper, by = (lifted(renamed(n, others)) for n in (loop.lower, loop.upper, loop.by))
                ended = z3.And(loop.k <= age - 1, lower + by * (then + (age - 1 - loop.k)) >= upper)
                yield z3.If(lifted(both(*alike[:i])), loop.k - then <= age - 1, ended)
        around = [loop.k for loop in common]
        for old, new in others:
            home = self.homes.get(old.get_id())
            if home is not None and len(home) <= len(around) and all(x.eq(y) for x, y in zip(home, around)):
                yield z3.Implies(lifted(both(*alike[: len(home)])), old == new)

    # --- blocks --------------------------------------------------------------------------------------------------

    def block_races(self) -> None:
        """Look at all pairs of accesses of two blocks, and of two cores of a cluster, to one argument."""
        seen: dict[Any, tuple[Instance, Touch]] = {}
        for instance in (x for found in self.found.instances.values() for x in found.values()):
            for touch in instance.touches:
                if touch.space[0] == "argument":
                    key = id(instance.step), touch.identity, tuple(map(key_of, instance.facts))
                    seen.setdefault(key, (instance, touch))
        every = list(seen.values())
        for instance, touch in every:
            if touch.write and touch.space[1] in self.relied:
                reason = f"{touch.space[1]} is written, and indices are taken to be what it holds at first"
                self.leave_open(Claim.BOUNDS, reason, instance.step)
        for i, (a, s) in enumerate(every):
            for b, t in every[i:]:
                if s.space == t.space and _conflict(s, t, anywhere=True):
                    self._block_race(a, s, b, t)
                apart = a.core != b.core or (b.core == "vector" and isinstance(self.sub, z3.ExprRef))
                if apart and s.space == t.space and _conflict(s, t):
                    self._block_race(a, s, b, t, inside=True)

    def _block_race(self, a: Instance, s: Touch, b: Instance, t: Touch, *, inside: bool = False) -> None:
        """``inside``: of two cores of one block."""
        if s.lo is None or t.lo is None:
            which = a if s.lo is None else b
            self.leave_open(Claim.BLOCKS, f"what {which.step.name} touches of {s.space[1]} is not followed", which.step)
            return
        others = self._others(a, keep=False)
        if inside:
            others = [pair for pair in others if not pair[0].eq(self.block)]
        mine = self.sub if inside else self.block
        other = next((new for old, new in others if isinstance(mine, z3.ExprRef) and old.eq(mine)), None)
        facts = [*b.facts, *(renamed(f, others) for f in a.facts)]
        if not inside:
            other = _other(self.block) if other is None else other
            facts += [other >= 0, other < self.total, other != self.block]
        elif a.core == b.core:
            facts.append(mine != (_other(mine) if other is None else other))
        facts.append(overlap(s, t, others, self.solver, self.assumed))
        facts += self.between(a, b, others, facts, inside)
        where = "core of the block" if inside else "block"
        text = f"{b.step.name} and {a.step.name} in line {line_of(a.step)} of another {where}"
        self.suspect(Claim.BLOCKS, f"RACE-XCORE-{_SHORT[s.write, t.write]}", b.step, facts, text)

    def between(self, a: Instance, b: Instance, others: Any, facts: Sequence[Number], inside: bool) -> list[Number]:
        """What holds if no signal orders two accesses of several cores."""
        raise NotImplementedError

    # --- what comes of it -------------------------------------------------------------------------------------------

    def suspects(self) -> list[Suspect]:
        """What may not hold, what there are arguments for first."""
        return sorted(self.found.suspects.values(), key=lambda s: s.model is None)

    def reasons(self, claim: Claim) -> list[tuple[str, int]]:
        """Why a claim is open, each with its line; empty if it is proved."""
        found = [(s.text, line_of(s.step)) for s in self.found.suspects.values() if s.claim is claim]
        found += [(gap.reason, gap.line) for gap in self.found.gaps if gap.claim is claim]
        every = [(s.claim, s.rule) for s in self.found.suspects.values()]
        views = any(of is Claim.BOUNDS for of, _ in every)
        protocol = any(of is Claim.IDS or rule == "BUF-PROTOCOL" for of, rule in every)
        cores = self.program.cores.mixed and any(of is Claim.PIPES for of, _ in every)
        for claims, may_not, what in (
            ((Claim.BLOCKS, Claim.PIPES), views, "no slice leaves its view"),
            ((Claim.FLAGS, Claim.PIPES), protocol, "no flag is set twice and ids are in range"),
            ((Claim.BLOCKS,), cores, "no two pipes of a core race"),  # else cores may meet in the slots of a pipe
        ):
            if not found and claim in claims and may_not:
                found.append((f"it holds only if {what}, which is open or refuted", 0))
        return found

    def needs(self) -> tuple[str, ...]:
        """What arrays have to hold, in words."""
        sizes = {p.name or f"argument {k}": p for k, p in enumerate(self.program.params)}
        found: dict[tuple[str, str], str] = {}  # of numbers that are known only the greatest counts
        for name, end, _ in self.found.needs.values():
            dtype = sizes[name].dtype if name in sizes else None
            count = in_words(end, 1 if dtype is None else max(1, dtype.size))
            key = (name, "" if count.isdecimal() else count)
            found[key] = max(found.get(key, ""), count, key=lambda text: (len(text), text))
        return tuple(f"{name} of {count} elements" for (name, _), count in found.items())

    def broken(self, known: Sequence[Any]) -> list[list[Number]] | None:
        """What may not hold of bounds, without assumptions that are not `known`; None if these cannot mend all."""
        suspects, more = self.found.suspects.values(), set(map(key_of, self.stated)) - set(map(key_of, known))
        if not suspects or self.found.gaps or any(s.claim not in _MENDED for s in suspects):
            return None
        return [[f for f in s.facts if key_of(f) not in more] for s in suspects if s.claim is not Claim.WRITTEN]

    def proposals(self, broken: Sequence[Sequence[Number]]) -> tuple[list[str], list[str]]:
        """Assumptions that may suffice for what is `broken` (`ranges.proposed`)."""
        sizes = sizes_of(step for function in self.program.plan.functions.values() for step in function.walk())
        numbers = {name: p for name, p in self.params.items() if isinstance(p, z3.ArithRef)}
        last: dict[int, Number] = {}
        if not isinstance(self.total, int):
            numbers, last = {"blocks": self.total} | numbers, {self.block.get_id(): self.total - 1}
        return proposed(broken, numbers, sizes, last, self.assumed, self.solver)

    @property
    def reached(self) -> set[int]:
        """The steps that touch memory in some launch."""
        return {line_of(each.step) for found in self.found.instances.values() for each in found.values()}

    # --- arguments -----------------------------------------------------------------------------------------------

    def arguments(self, suspect: Suspect) -> Iterator[tuple[dict[str, Any], int]]:
        """Arguments and numbers of blocks for which a suspicion may come true, small ones."""
        numbers = [p for p in self.params.values() if isinstance(p, z3.ArithRef)]
        if isinstance(self.total, z3.ExprRef):
            numbers.append(self.total)
        most = 1
        model = None
        while model is None and most < (MOST_BLOCKS << 16 if self.wraps else MOST_BLOCKS):
            limits = [n <= most for n in numbers]
            model = self.solver.solve((*suspect.facts, *limits), model=True).model
            most *= 4
        model = suspect.model if model is None else self._least(suspect.facts, numbers, model)
        if model is not None:
            values = {name: _valued(model, symbol) for name, symbol in self.params.items()}
            blocks = self.total if isinstance(self.total, int) else _valued(model, self.total)
            yield values, min(max(1, blocks), MOST_BLOCKS)

    def _least(self, facts: Sequence[Number], numbers: Sequence[Any], model: Any) -> Any:
        """A model with the least numbers, the first ones first: it does not depend on what z3 has seen before."""
        settled: list[Number] = []
        for number in numbers:
            low, high = 0, _valued(model, number)
            while low < high:
                middle = (low + high) // 2
                found = self.solver.solve((*facts, *settled, number <= middle), model=True).model
                if found is None:
                    low = middle + 1
                else:
                    model, high = found, _valued(found, number)
            settled.append(number == high)
        return self.solver.solve((*facts, *settled), model=True).model or model


_SHORT = {(True, False): "RAW", (False, True): "WAR", (True, True): "WAW", (False, False): "RAR"}


def _conflict(s: Touch, t: Touch, *, anywhere: bool = False) -> bool:
    """True if one of them writes and they do not commute; ``anywhere``: slots of a pipe are those of one block."""
    commute = s.atomic is not None and s.atomic == t.atomic and not (anywhere and s.atomic[0] == RING)
    return (s.write or t.write) and s.space == t.space and not commute


def _other(symbol: Any) -> Any:
    make = z3.Bool if z3.is_bool(symbol) else z3.Int
    return make(f"{symbol.decl().name()}'")


def last_of(loop: Loop) -> Any:
    """The number of the last iteration of a loop that runs."""
    lower, upper, by = map(lifted, (loop.lower, loop.upper, loop.by))
    return simple((upper - lower + by - 1) / by - 1)


def _valued(model: Any, symbol: Any) -> Any:
    value = model.eval(symbol, model_completion=True)
    return z3.is_true(value) if z3.is_bool(value) else value.as_long()
