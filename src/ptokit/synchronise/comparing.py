"""Two versions of a program: what only one of them orders."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from difflib import SequenceMatcher
from typing import Any

from ptokit.ir.core import Function, Module, Op
from ptokit.ir.facts import constant_of, instr_of
from ptokit.isa.order.sync_rules import flag_pipes, held_pipe
from ptokit.isa.table import Sync
from ptokit.prove.claims import line_of
from ptokit.prove.report import Claim
from ptokit.prove.state import Ages
from ptokit.types.enums import Pipe

from .dependences import Dependence, Dependences, Path
from .matching import Labels, matched
from .report import SHOWN, Lost, OrderComparison, Stronger
from .signals import Crossing, Crossings

_ORDERING = (Sync.SET, Sync.WAIT, Sync.BARRIER, Sync.TAKE, Sync.RELEASE)

NEAREST = 12
"""What orders two instructions is looked for among so many waits and barriers, the closest before the second first."""

Walk = Callable[[type[Dependences], frozenset[Op]], Any]

Between = tuple[str, Path, Path]
"""Two instructions of a kind of core, "" where there is one, the earlier one first."""


class Relations(Dependences):
    """Which instructions are ordered, needed or not: what they touch is not asked."""

    def races(self) -> None:
        """Whether they meet is not asked."""


def relation(walk: Dependences) -> dict[Between, Ages]:
    """Of two instructions, which instances of the first may not be over when the second begins: as in `State`."""
    found: dict[Between, Ages] = {}
    for (access, _, other), ages in walk.found.unordered.items():
        core = next(iter(walk.found.instances[access].values())).core
        key = core if walk.program.cores.mixed else "", walk.paths[other], walk.paths[access]
        old = found.get(key)
        found[key] = ages if old is None else tuple(map(max, old, ages))
    return found


# Which instruction is which.


# What only one of two versions orders.


Key = tuple[str, Path, Path, int | None]
"""What tells a dependence from others of its program: `Between`, and which loop carries it."""


class Version:
    """One of two versions: all that has to be ordered in it, what is not, and which instructions are ordered.

    ``walk``: makes a walk of some kind without some operations. ``known``: as for `Labels`. ``gaps``: what is not
    followed. ``broken``: what may not hold of flags, with lines.
    """

    def __init__(self, module: Module, entry: Function, ops: Iterable[Op], walk: Walk, known: Any) -> None:
        self.walk, self.ops = walk, [op for op in ops if instr_of(op) is not None]
        self.ordering = [op for op in self.ops if orders(op) is not None]
        signals = [op for op in self.ops if _signals(op)]
        every, left = walk(Crossings, frozenset([*self.ordering, *signals])), walk(Crossings, frozenset())
        self.mixed, self.visited = every.program.cores.mixed, left.visited
        self.accesses = {core if self.mixed else "": paths for core, paths in every.accesses.items()}
        self.crossed, self.crossing = (
            {(each.cores, each.first, each.second, each.level): each for each in one.crossings.values()}
            for one in (every, left)
        )
        self.labels = Labels(module, entry, self.accesses, known)
        self.needed, self.open = (
            {(self._core(each), each.first, each.second, each.level): each for each in one.dependences}
            for one in (every, left)
        )
        self.relation = relation(left)
        self.broken = {each.text: line_of(each.step) for each in left.suspected()}
        gaps = [gap for one in (every, left) for gap in one.found.gaps if gap.claim is Claim.PIPES]
        self.gaps = list(dict.fromkeys(f"line {gap.line}: {gap.reason}" if gap.line else gap.reason for gap in gaps))
        self._without: dict[frozenset[Op], dict[Between, Ages]] = {}

    def _core(self, each: Dependence) -> str:
        return each.core if self.mixed else ""

    def cause(self, each: Dependence) -> tuple[str, str]:
        """What orders two instructions: its kind, and what it is with its line; "" if nothing alone does."""
        last = each.second[-1].location.line
        found: list[tuple[bool, bool, bool, int, Op]] = []
        for op in self.ordering:
            does, line = orders(op), op.location.line
            if does in (Sync.WAIT, Sync.BARRIER, Sync.TAKE):
                pipes = flag_pipes(op.attrs, each.core) if does is Sync.WAIT else each.pipes
                found.append((pipes != each.pipes, pipes[1] is not each.pipes[1], line > last, abs(last - line), op))
        nearest = [op for *_, op in sorted(found, key=lambda entry: entry[:4])[:NEAREST]]
        for op in nearest:
            if self._opens({op}, each):
                return _said(op, each.core)
        for op in nearest:  # where several order it, the first one that does so alone
            if not self._opens({*self.ordering} - {op, *self._sets(op, each.core)}, each):
                return _said(op, each.core)
        return "wait", ""

    def _sets(self, op: Op, core: str) -> set[Op]:
        """What sets the flag that an operation waits for, or another one between the same pipes."""
        sets = {other for other in self.ordering if orders(other) is Sync.SET} if orders(op) is Sync.WAIT else set()
        return {other for other in sets if flag_pipes(other.attrs, core) == flag_pipes(op.attrs, core)}

    def _opens(self, dropped: AbstractSet[Op], each: Dependence) -> bool:
        """True if nothing orders a dependence without some operations."""
        key = frozenset(dropped)
        if key not in self._without:
            self._without[key] = relation(self.walk(Relations, key))
        ages = self._without[key].get((self._core(each), each.first, each.second))
        return ages is not None and (each.level is None or ages[each.level + 1] > each.distance)


def _signals(op: Op) -> bool:
    """True for a signal between cores, or a wait for one."""
    instr = instr_of(op)
    return instr is not None and instr.order.does in (Sync.SIGNAL, Sync.AWAIT)


def orders(op: Op) -> Sync | None:
    """What an operation does to the pipes of its core, if that is all that it does."""
    instr = instr_of(op)
    only = instr is not None and instr.order.only and not instr.order.between_cores
    return instr.order.does if instr is not None and only and instr.order.does in _ORDERING else None


def dropped(a: Version, b: Version, core: str) -> list[Op]:
    """The flags, barriers and tokens of a version that are not in the other one; ids do not count where they differ."""

    def told(op: Op, ids: bool) -> Hashable:
        does = orders(op)
        if does not in (Sync.SET, Sync.WAIT):
            return op.name, does
        event = op.get("event")
        number = op.attrs.get("event_id") if event is None else constant_of(event)
        return does, *flag_pipes(op.attrs, core), number if ids else None

    one, other = ([told(op, True) for op in each.ops] for each in (a, b))
    matching = SequenceMatcher(None, one, other, autojunk=False)
    left, new = list[Op](), list[Hashable]()
    for what, start, end, first, last in matching.get_opcodes():
        if what != "equal":
            left += [op for op in a.ops[start:end] if orders(op) is not None]
            new += [told(op, False) for op in b.ops[first:last] if orders(op) is not None]
    found = []
    for op in left:
        if told(op, False) in new:
            new.remove(told(op, False))
        else:
            found.append(op)
    return found


def _flag(op: Op, core: str) -> str:
    """The flag that an operation sets or waits for, as findings say it."""
    src, dst = flag_pipes(op.attrs, core) if orders(op) in (Sync.SET, Sync.WAIT) else (None, None)
    return "token" if src is None or dst is None else f"the flag {src.text} to {dst.text}"


def _said(op: Op, core: str) -> tuple[str, str]:
    does, line = orders(op), op.location.line
    src, dst = flag_pipes(op.attrs, core) if does in (Sync.SET, Sync.WAIT) else (None, None)
    if does is Sync.BARRIER:
        held = held_pipe(op.attrs, core)
        what, text = "barrier", f"a barrier of {'all pipes' if held is None or held is Pipe.ALL else held.text}"
    elif src is None or dst is None:
        what, text = "buffer token", f"a buffer token that is {'taken' if does is Sync.TAKE else 'given back'}"
    else:
        what = "wait" if does is Sync.WAIT else "set"
        text = f"a {'wait for' if does is Sync.WAIT else 'set of'} {_flag(op, core)}"
    return what, f"{text} in line {line}"


def compared(made: OrderComparison, a: Version, b: Version) -> None:
    """Fill in a comparison."""
    there: dict[tuple[str, Path], Path] = {}
    for core in dict.fromkeys((*a.accesses, *b.accesses)):
        pairs = matched(a.labels, b.labels, core)
        there.update(((core, mine), theirs) for mine, theirs in pairs.items())
        known = set(pairs.values())
        for side, all_, has in ((0, a.accesses, set(pairs)), (1, b.accesses, known)):
            made.unmatched[side].extend("{} in line {}".format(*_named(p)) for p in all_.get(core, ()) if p not in has)
    back = {(core, theirs): mine for (core, mine), theirs in there.items()}
    needed, opened = (a.needed, b.needed), (a.open, b.open)
    ways = there, back
    for side, which, found in ((1, "B", made.lost), (0, "A", made.gained)):
        groups: dict[Hashable, list[tuple[Dependence, Dependence | None, str, str]]] = {}
        for key in sorted(opened[side], key=_where):
            each, other = opened[side][key], _over(key, ways[side])
            if other is None:
                continue  # an instruction has no counterpart, which is said
            before = needed[1 - side].get(other)
            if before is not None and other in opened[1 - side]:
                made.neither += side
            elif before is None:
                groups.setdefault((each.pipes, None), []).append((each, None, "wait", ""))
            else:
                what, by = (b, a)[side].cause(before)
                groups.setdefault((each.pipes, by), []).append((each, before, what, by))
        found += [_lost(which, group) for group in groups.values()]
    for side, which, found in ((1, "B", made.lost), (0, "A", made.gained)):
        found += _crossed(which, (a, b)[side], (b, a)[side], ways[side])
    over = {to for key in needed[0] if key not in opened[0] and (to := _over(key, there)) is not None}
    made.both = sum(to in needed[1] and to not in opened[1] for to in over)
    core = next(iter(a.accesses), "")
    gone = dropped(a, b, core)
    for text, line in b.broken.items():
        if text not in a.broken:
            had = [_said(op, core)[1] for op in gone if _flag(op, core) in text][:SHOWN]
            made.broken.append(f"{f'line {line}: ' if line else ''}{text}" + f"; A has {', '.join(had)}" * bool(had))
    made.unreached = [_said(op, core)[1] for op in gone if op not in a.visited]
    _stronger(made, (a, b), there, needed)


def _named(path: Path) -> tuple[str, int]:
    instr = instr_of(path[-1])
    return path[-1].name if instr is None else instr.name, path[-1].location.line


def _over(key: Key, way: Mapping[tuple[str, Path], Path]) -> Key | None:
    core, first, second, level = key
    one, other = way.get((core, first)), way.get((core, second))
    return None if one is None or other is None else (core, one, other, level)


def _where(key: Key) -> tuple[Any, ...]:
    core, first, second, level = key
    (_, here), (_, there) = _named(first), _named(second)
    return abs(there - here), here, there, core, -1 if level is None else level


def _crossed(which: str, weak: Version, other: Version, way: Mapping[tuple[str, Path], Path]) -> Iterator[Lost]:
    """What a version does not order between cores, and the other one does."""
    groups: dict[Hashable, list[tuple[Crossing, Crossing | None, str, str]]] = {}
    for (cores, first, second, level), each in weak.crossing.items():
        one, two = way.get((cores[0], first)), way.get((cores[1], second))
        if one is None or two is None:
            continue
        there = cores, one, two, level
        if there not in other.crossing:
            groups.setdefault((cores, each.pipes), []).append((each, other.crossed.get(there), "signal", ""))
    yield from (_lost(which, group) for group in groups.values())


def _lost(which: str, group: Sequence[tuple[Any, Any, str, str]]) -> Lost:
    each, before, what, by = group[0]
    lines, other = ((_named(x.first)[1], _named(x.second)[1]) if x else None for x in (each, before))
    assert lines is not None
    pipes = each.pipes[0].text, each.pipes[1].text
    return Lost(which, each.names, pipes, lines, other, each.level is not None, what, by, len(group) - 1)


def _stronger(made: OrderComparison, versions: Sequence[Version], there: Any, needed: Any) -> None:
    """Pairs that only one version orders, of those that no dependence is about."""
    about = [{key[:3] for key in each} for each in needed]
    back = {(core, theirs): mine for (core, mine), theirs in there.items()}
    for side, way in ((0, back), (1, there)):
        mine, weak = versions[side].relation, versions[1 - side]
        groups: dict[tuple[Pipe, Pipe], list[Between]] = {}
        for key, ages in weak.relation.items():
            core, first, second = key
            to = _over((*key, None), way)
            if to is None:
                continue
            pipes = weak.accesses[core][first][-1], weak.accesses[core][second][0]
            if pipes[0] is pipes[1] or key in about[1 - side] or to[:3] in about[side]:
                continue
            known = mine.get(to[:3])
            if known is None or (len(known) == len(ages) and any(x < y for x, y in zip(known, ages))):
                groups.setdefault(pipes, []).append(to[:3])
        for (p, q), pairs in groups.items():
            _, first, second = min(pairs, key=lambda pair: _where((*pair, None)))
            (one, here), (other, there_) = _named(first), _named(second)
            made.stronger.append(Stronger("AB"[side], (p.text, q.text), len(pairs), (one, other), (here, there_)))
