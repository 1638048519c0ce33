"""Which signals the cores of a cluster need, where they go and which ids they have.

A cube core and its vector cores share global memory, and run one beside the other. What has to be ordered are accesses
of both kinds that meet there. Loops that both go through equally often are taken to go in step: one iteration of the
cube core and one of a vector core work on the same data. There the core that writes comes before the one that reads;
what a later iteration overwrites waits for whoever reads it. Loops that are not in step are ordered as a whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

from ptokit.ir.control import is_loop, section_of
from ptokit.ir.core import Op
from ptokit.ir.facts import constant_of, instr_of
from ptokit.isa.order.sync_rules import flag_ids, reserved
from ptokit.isa.table import Sync
from ptokit.prove.alternation import times_of
from ptokit.prove.claims import Instance, Loop
from ptokit.prove.numbers import Number, both, either, lifted, renamed
from ptokit.prove.places import Touch, overlap
from ptokit.prove.signals import LIMIT
from ptokit.records import dataclass
from ptokit.sanitize.findings.source_text import Structure, cpp_statement, first_line, last_line
from ptokit.targets import Target
from ptokit.types.enums import SECOND_CORE, Pipe

from .dependences import FARTHEST, Dependences, Path
from .placing import NoPlace
from .report import Signalled, overtaking

UNDER_WAY = 4
"""So many iterations may be under way where nothing but the count of a signal bounds them."""

IDS_OF_PIPE = 4
"""So many ids of signals a pipe between cores has."""


@dataclass(frozen=True)
class Crossing:
    """The second of two accesses, of cores of different kinds, touches what the first one did, and one of them writes.

    ``cores``, ``pipes``, ``names``: of first and second; ``loops``: pairs of loops around them, the outermost first,
    that their cores go through in step; ``level``: which pair carries it, None within one iteration of all;
    ``distance``: over how many iterations of that at least; ``settled``: False if the order of the text decides which
    one is first.
    """

    first: Path
    second: Path
    cores: tuple[str, str]
    pipes: tuple[Pipe, Pipe]
    names: tuple[str, str]
    loops: tuple[tuple[Op, Op], ...]
    level: int | None
    distance: int
    bounded: bool
    settled: bool = True

    @property
    def turned(self) -> Crossing:
        """With the second as the first one."""
        a, b = self.first, self.second
        loops = tuple((y, x) for x, y in self.loops)
        turned = {name: getattr(self, name)[::-1] for name in ("cores", "pipes", "names")}
        return replace(self, first=b, second=a, loops=loops, **turned)


@dataclass(frozen=True, eq=False)
class _Met:
    """Two accesses that may meet: loops that are in step, what holds then, and other unknowns of the first."""

    first: Instance
    second: Instance
    pairs: list[tuple[Loop, Loop]]
    facts: list[Number]
    others: Sequence[tuple[Any, Any]]
    settled: bool


class Crossings(Dependences):
    """Collects what has to be ordered between pipes, and between the cores of a cluster."""

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self.crossings: dict[Any, Crossing] = {}
        self._meetings: dict[tuple[Path, Path], list[_Met]] = {}

    def block_races(self) -> None:
        """Of two accesses that meet in several ways the loops are in step that are so in all."""
        super().block_races()
        for found in self._meetings.values():
            pairs = min((met.pairs for met in found), key=len)
            for met in found:
                self._cross(met, met.pairs[: len(pairs)])

    def _block_race(self, a: Instance, s: Touch, b: Instance, t: Touch, *, inside: bool = False) -> None:
        if not inside or a.core == b.core:
            return
        if s.lo is None or t.lo is None:
            super()._block_race(a, s, b, t, inside=True)
            return
        if not s.write:
            a, s, b, t = b, t, a, s
        others = [pair for pair in self._others(a, keep=False) if not pair[0].eq(self.block)]
        facts = [*b.facts, *(renamed(f, others) for f in a.facts), overlap(s, t, others, self.solver, self.assumed)]
        facts += self.between(a, b, others, facts, True)
        if not self.solver.possible(facts):
            return
        pairs = list(self._in_step(a, b))
        while pairs and not t.write and self._comes_later(s, pairs, facts, others):
            pairs.pop()
        met = _Met(a, b, pairs, facts, others, settled=not t.write)
        self._meetings.setdefault((self.paths[a.access], self.paths[b.access]), []).append(met)

    def _in_step(self, a: Instance, b: Instance) -> Iterator[tuple[Loop, Loop]]:
        """Loops around two accesses that run equally often."""
        alike: list[tuple[Any, Any]] = []
        facts = [*self.assumed]
        for x, y in zip(a.loops, b.loops):
            if not self.solver.implied(facts, lifted(renamed(times_of(x), alike)) == times_of(y)):
                return
            alike.append((x.k, y.k))
            facts += [y.k >= 0, y.k < times_of(y)]
            yield x, y

    def _comes_later(self, s: Touch, pairs: Sequence[tuple[Loop, Loop]], facts: Sequence[Number], others: Any) -> bool:
        """True if an iteration may read what only later ones write, so that the loops are not in step."""
        names = {old.get_id(): new for old, new in others}
        now = [(names.get(x.k.get_id(), x.k), y.k) for x, y in pairs]
        later = [both(*(p == q for p, q in now[:i]), p > q) for i, (p, q) in enumerate(now)]
        known = (*facts, either(*later))
        if not self.solver.possible(known):
            return False
        there = [lifted(renamed(n, others)) for n in (s.lo, s.hi)]
        here = [lifted(renamed(n, [(x.k, y.k) for x, y in pairs])) for n in (s.lo, s.hi)]
        rest = [pair for pair in others if all(not pair[0].eq(x.k) for x, _ in pairs)]
        return not self.solver.implied(known, both(*(m == renamed(n, rest) for m, n in zip(there, here))))

    def _cross(self, met: _Met, pairs: Sequence[tuple[Loop, Loop]]) -> None:
        """Add what has to be ordered of two accesses: within one iteration, and where one is in an earlier one."""
        a, b, facts = met.first, met.second, met.facts
        names = {old.get_id(): new for old, new in met.others}
        now = [(names.get(x.k.get_id(), x.k), y.k) for x, y in pairs]
        common = bool(pairs) and pairs[-1][0].step is pairs[-1][1].step
        often = [times_of(y) < LIMIT for _, y in pairs]
        bounded = not pairs or (len(pairs) == 1 and self.solver.implied(self.assumed, often[0]))
        paths = self.paths[a.access], self.paths[b.access]
        loops = tuple((x.step.op, y.step.op) for x, y in pairs)
        names_of = a.step.name, b.step.name
        made = Crossing(*paths, (a.core, b.core), (a.pipe, b.pipe), names_of, loops, None, distance=0, bounded=bounded)
        if self.solver.possible((*facts, *(p == q for p, q in now))):
            self._add(replace(made, settled=met.settled and not common))
        for i, (p, q) in enumerate(now):
            same = [x == y for x, y in now[:i]]
            for ahead, each in ((q - p, made), (p - q, made.turned)):
                for distance in range(1, FARTHEST + 1):
                    apart = ahead == distance if distance < FARTHEST else ahead >= distance
                    if self.solver.possible((*facts, *same, apart)):
                        self._add(replace(each, level=i, distance=distance))
                        break

    def in_text(self, structure: Structure) -> Iterator[Crossing]:
        """What has to be ordered between cores, by the loops of a C++ text. Raises `NoPlace`."""
        for each in self.crossings.values():
            if not each.first[-1].in_cpp:
                yield each
                continue
            loops = []
            for x, y in each.loops:
                pair = _in_text(x, each.first, structure), _in_text(y, each.second, structure)
                if pair[0] is None or pair[1] is None:
                    raise NoPlace("the loop that this belongs to is not one of the text", x.location)
                loops.append((pair[0], pair[1]))
            yield replace(each, loops=tuple(loops))

    def _add(self, made: Crossing) -> None:
        key = made.first, made.second, made.loops, made.level
        known = self.crossings.get(key)
        if known is None or made.distance < known.distance:
            self.crossings[key] = made


def _in_text(loop: Op, path: Path, structure: Structure) -> Op | None:
    """The loop of a C++ text that a loop around an access comes from."""
    place = loop.location[1:3]
    around = (x for x, _ in structure.chain(path[-1]) if is_loop(x))
    return next((x for x in around if (s := cpp_statement(x)) is not None and s.start <= place <= s.end), None)


# Where signals go.


@dataclass(eq=False)
class Signal:
    """A signal: given after ``after`` by the first of ``cores``, waited for before ``before`` by the second.

    ``around``: None if it is waited for in the iteration that gives it, or outside of loops; else later iterations
    wait, and these are the loops of the two cores: before its own one the first core gives ``depth`` signals ahead, and
    after its own one the second waits for as many.
    """

    cores: tuple[str, str]
    pipes: tuple[Pipe, Pipe]
    after: Op
    before: Op
    around: tuple[Op, Op] | None = None
    depth: int = 0
    number: int = -1
    needed: Crossing | None = None
    bounds: bool = False  # nothing races without it, but more may be under way than a signal counts

    @property
    def place(self) -> Any:
        """What is equal for the same signal in another way to order a program."""
        return self.cores, self.pipes, self.after, self.before, self.around, self.depth


@dataclass(frozen=True, eq=False)
class _Span:
    """A crossing by the places of its ends among what its cores do in one iteration: tuples that grow with the text."""

    start: tuple[int, ...]
    end: tuple[int, ...]
    after: Op
    before: Op
    crossing: Crossing

    def orders(self, other: _Span) -> bool:
        """True if a signal for this one orders the other one, too."""
        return other.start <= self.start and self.end <= other.end


class Meeting:
    """Places signals between the cores of a cluster. ``target``: where a wait may hold all pipes of its core."""

    def __init__(self, crossings: Iterable[Crossing], structure: Structure, target: Target) -> None:
        self.crossings, self.structure, self.target = list(crossings), structure, target

    def ways(self) -> Iterator[list[Signal]]:
        """Ways to order all crossings, those with few signals and with as much under way as possible first."""
        seen = set()
        for outermost, by_text, merged in product((True, False), (False, True), (True, False)):
            made = self._placed(outermost, by_text, merged)
            key = tuple(signal.place for signal in made)
            if key not in seen and self.number(made) is None:
                seen.add(key)
                yield made
        if not seen:
            yield []

    def _placed(self, outermost: bool, by_text: bool, merged: bool) -> list[Signal]:
        forward: dict[Any, list[_Span]] = {}
        carried: dict[Any, list[_Span]] = {}
        for crossing in self.crossings:
            each = self._in_order(crossing, by_text) if crossing.level is None else crossing
            groups, pairs = (forward, each.loops) if each.level is None else (carried, each.loops[: each.level + 1])
            groups.setdefault((each.cores, self._pipes(each), pairs), []).append(self._span(each, pairs))
        now = {key: self._merged(key, spans, forward, merged) for key, spans in forward.items()}
        made = [
            Signal(cores, span.crossing.pipes, span.after, span.before, needed=span.crossing)
            for (cores, _, _), spans in now.items()
            for span in spans
        ]
        back: dict[Any, list[_Span]] = {}
        bounding = set()
        for key, spans in carried.items():
            left = [x for x in spans if not self._covered(x.crossing, now)]
            if left and not any(key[:2] == k[:2] and key[2] == k[2][: len(key[2])] != k[2] for k in carried):
                back[key] = left
        for key, spans in now.items():  # else more may be under way than a signal counts
            cores, pipes, pairs = key
            turned = cores[::-1], self._pipes(spans[0].crossing.turned), tuple((y, x) for x, y in pairs)
            if pairs and not all(x.crossing.bounded for x in spans) and all(k[::2] != turned[::2] for k in back):
                each = replace(spans[0].crossing.turned, level=len(pairs) - 1, distance=UNDER_WAY)
                back[turned] = [self._span(each, turned[2])]
                bounding.add(turned)
        for key, spans in back.items():
            cores, _, pairs = key
            last = max(spans, key=lambda span: span.start)
            first = min(spans, key=lambda span: span.end)
            depth = min(span.crossing.distance for span in spans)
            around = pairs[0] if outermost else pairs[-1]
            pipes = last.crossing.pipes[0], first.crossing.pipes[1]
            one = Signal(cores, pipes, last.after, first.before, around, depth, needed=last.crossing)
            made.append(replace(one, bounds=key in bounding))
        return made

    def _pipes(self, each: Crossing) -> tuple[Pipe, ...]:
        return each.pipes[:1] if self.target.waits_hold_core else each.pipes

    def _in_order(self, each: Crossing, by_text: bool) -> Crossing:
        """With what comes first as the first one."""
        if each.settled and not by_text:
            return each
        a, b = self._flat(each.first), self._flat(each.second)
        apart = next(((x, y) for x, y in zip(a, b) if x is not y), None)
        if apart is None or self.structure.block(apart[0]) is not self.structure.block(apart[1]):
            return each
        return each if self.structure.index(apart[0]) < self.structure.index(apart[1]) else each.turned

    def _merged(self, key: Any, spans: Sequence[_Span], forward: Any, merged: bool) -> list[_Span]:
        """The spans that no other one orders; ``merged``: one for several where no core would wait for itself."""
        cores, _, pairs = key
        back = tuple((y, x) for x, y in pairs)
        against = [x for k, others in forward.items() if (k[0], k[2]) == (cores[::-1], back) for x in others]
        found: list[_Span] = []
        for span in sorted(spans, key=lambda x: (x.start, x.end)):
            if any(other.orders(span) for other in found):
                continue
            found = [other for other in found if not span.orders(other)]
            if found and merged:
                one = replace(span, end=found[-1].end, before=found[-1].before)
                if not any(x.start >= one.end and x.end <= one.start for x in against):
                    found[-1] = one
                    continue
            found.append(span)
        return found

    def _covered(self, each: Crossing, now: Any) -> bool:
        """True if the signal of an iteration orders a crossing that a loop carries: pipes work in order."""
        spans = now.get((each.cores, self._pipes(each), each.loops), ())
        mine = self._span(each, each.loops)
        return any(mine.start <= x.start or mine.end >= x.end for x in spans)

    def _span(self, each: Crossing, pairs: Sequence[tuple[Op, Op]]) -> _Span:
        ends = []
        for path, core, side in zip((each.first, each.second), each.cores, (0, 1)):
            ends.append(self._end(path, core, pairs[-1][side] if pairs else None))
        (start, after), (end, before) = ends
        return _Span(start, end, after, before, each)

    def _end(self, path: Path, core: str, loop: Op | None) -> tuple[tuple[int, ...], Op]:
        """Where an access is among what its core does in an iteration, and the operation that holds it there."""
        flat = self._flat(path)
        begin = 0 if loop is None else flat.index(loop) + 1
        last = next((k for k in range(begin, len(flat)) if only_on(flat[k], core, self.structure)), begin)
        return tuple(map(self.structure.index, flat[begin : last + 1])), flat[last]

    def _flat(self, path: Path) -> list[Op]:
        """An instruction, after the calls and operations that it is in."""
        return [op for call in path for op, _ in self.structure.chain(call)[::-1]]

    def number(self, signals: Sequence[Signal]) -> Signal | None:
        """Give signals ids that nothing else has. One that gets none, or None.

        A pipe between cores has up to four, for two directions (pto-isa include/pto/npu/a5/TPush.hpp).
        """
        taken, pipes = set[int](), set[int]()
        for op in self.structure.ops:
            instr = instr_of(op)
            does = None if instr is None else instr.order.does
            if does in (Sync.SIGNAL, Sync.AWAIT):
                event = op.get("event")
                known = op.attrs.get("event_id", 0) if event is None else constant_of(event)
                taken |= set(range(SECOND_CORE)) if known is None else {known % SECOND_CORE}
            elif does is Sync.SLOT:
                pipes.add(op.attrs.get("id") or 0)
        taken |= {*range(IDS_OF_PIPE * (max(pipes, default=-1) + 1))}
        free = (k for k in range(min(SECOND_CORE, flag_ids(self.target))) if k not in taken)
        free = (k for k in free if reserved(k, self.target) is None)
        for signal in signals:
            signal.number = next(free, -1)
            if signal.number < 0:
                return signal
        return None


def only_on(op: Op, core: str, structure: Structure) -> bool:
    """True if only cores of a kind come to an operation."""
    function = structure.function(op)
    around = structure.chain(op)[1:]
    return (function is not None and function.core == core) or any(section_of(x) == core for x, _ in around)


UNCOUNTED = f"without it more signals may be under way than the {LIMIT} that are counted"
"""Why a signal is needed that orders nothing."""


def told(signal: Signal, structure: Structure) -> Signalled:
    """What the report says of a signal."""
    assert signal.needed is not None
    around = () if signal.around is None else tuple(map(first_line, signal.around))
    lines = last_line(signal.after, structure.following(signal.after)), first_line(signal.before)
    because = UNCOUNTED if signal.bounds else f"without it {overtaking(signal.needed)}"
    p, q = (pipe.text.removeprefix("PIPE_") for pipe in signal.pipes)
    return Signalled(signal.cores, (p, q), *lines, around, signal.depth, signal.number, because)
