"""Order inside vector scopes: which loads and stores of common bytes nothing orders, and the barriers that do.

Registers give results in the order of the text, memory does not: a load may overtake a store before it, and a store a
load. What a store is computed from comes before it; what else touches its bytes takes a ``mem_bar`` between the two, of
the kind that orders them, in each of the iterations that lie between.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

from ptokit.ir.control import is_loop, is_scope
from ptokit.ir.core import Block, Op
from ptokit.ir.facts import instr_of
from ptokit.isa.order.sync import SCALAR, UNITS, Access, ordered_by
from ptokit.isa.table import Sync
from ptokit.prove.claims import Instance
from ptokit.prove.numbers import key_of
from ptokit.records import dataclass
from ptokit.sanitize.findings.source_text import Structure
from ptokit.types.enums import Pipe

from .dependences import FARTHEST, Dependence, Dependences, Path
from .placing import in_text

_ANY_AGE = FARTHEST + 1


_Access = tuple[Op, Access, Any]


@dataclass(frozen=True, eq=False)
class _Pair:
    """Two accesses of a scope that have to stay in order, of two classes.

    ``among``: all of the scope, with theirs and, where they touch one place, that.
    """

    dependence: Dependence
    kind: tuple[Access, Access]
    among: Sequence[_Access]


@dataclass(eq=False)
class InScope:
    """A ``mem_bar`` of a kind before an operation of a vector scope, and what would be out of order without it."""

    before: Op
    kind: str
    needed: Dependence


_Bar = tuple[Block, float, str]
"""A barrier: its block, where it is in that, and what it orders."""


def unordered(walk: Dependences, structure: Structure) -> list[_Pair]:
    """What the barriers of a program leave unordered inside its scopes."""
    bars = [
        (structure.block(op), float(structure.index(op)), op.attrs["kind"])
        for op in structure.ops
        if (instr := instr_of(op)) is not None and instr.order.does is Sync.WITHIN
    ]
    return [pair for pair in _pairs(walk, structure, bars) if not _ordered(pair, bars, structure)]


def placed(pairs: Sequence[_Pair], structure: Structure) -> list[InScope]:
    """The barriers that order these, without any that the others make superfluous."""
    bars: list[tuple[_Bar, Op]] = []

    def left(some: Iterable[tuple[_Bar, Op]]) -> _Pair | None:
        at = [bar for bar, _ in some]
        return next((pair for pair in pairs if not _ordered(pair, at, structure)), None)

    ends = {pair: _ends(pair, structure) for pair in pairs}
    for pair in sorted(pairs, key=lambda each: (ends[each][2], each.dependence.level is not None)):
        if not _ordered(pair, [bar for bar, _ in bars], structure):
            block, _, end = ends[pair]
            kind = "_".join(each.name for each in pair.kind)
            bars.append(((block, end - 0.5, kind), block.ops[end]))
    found = []
    for one in list(bars):
        need = left(bar for bar in bars if bar is not one)
        if need is None:
            bars.remove(one)
        else:
            found.append((one, need))
    return [InScope(before, kind, need.dependence) for ((_, _, kind), before), need in found if need is not None]


def _pairs(walk: Dependences, structure: Structure, bars: Sequence[_Bar]) -> Iterator[_Pair]:
    groups: dict[tuple[str, tuple[Op, ...], Op], list[int]] = {}
    for access, instances in walk.found.instances.items():
        path, core = walk.paths[access], next(iter(instances.values())).core
        scope = structure.outside(path[-1])
        if is_scope(scope):
            groups.setdefault((core, path[:-1], scope), []).append(access)
    for (core, _, scope), accesses in groups.items():
        outer = sum(is_loop(op) for op, _ in structure.chain(scope))

        def loops(one: Path, other: Path, outer: int = outer) -> list[Op]:
            """The loops of the scope around two accesses."""
            a, b = ([x for x, _ in structure.chain(path[-1]) if is_loop(x)][::-1] for path in (one, other))
            return [x for x, y in zip(a, b) if x is y][outer:]

        known = {x: list(_together(walk.found.instances[x].values())) for x in accesses}
        touches: dict[tuple[int, bool], set[Any]] = {}
        for x in accesses:
            for touch in (t for each in known[x] for t in each.touches):
                touches.setdefault((x, touch.write), set()).add(touch.identity)
        among = [
            (op, _class(op, write), next(iter(found)) if len(found) == 1 else None)
            for (x, write), found in sorted(touches.items(), key=lambda each: each[0])
            for op in walk.paths[x][-1:]
        ]
        for first, second in product(accesses, repeat=2):
            for writes in ((True, False), (False, True), (True, True)):
                classes = _class(walk.paths[first][-1], writes[0]), _class(walk.paths[second][-1], writes[1])
                if first == second or classes[0] is classes[1] or all(x in UNITS["S"] for x in classes):
                    continue  # one unit stores in order, and the scalar one does all in order
                one, other = walk.paths[first], walk.paths[second]
                ways = (one, other, (Pipe.V, Pipe.V), ("", ""), core, ())
                orders = [Dependence(*ways, None, 0), *(Dependence(*ways[:5], (x,), 0, 1) for x in loops(one, other))]
                if all(_ordered(_Pair(each, classes, among), bars, structure) for each in orders):
                    continue
                found: dict[object, Dependence] = {}
                for a, b in product(known[first], known[second]):
                    inner = len(a.loops) - outer
                    ages = (_ANY_AGE, *(1,) * outer, *(_ANY_AGE,) * max(inner, len(b.loops) - outer))
                    walk.depend(_only(a, writes[0]), _only(b, writes[1]), ages, found)
                for each in in_text(found.values(), structure):
                    if each.loop is None or scope in (op for op, _ in structure.chain(each.loop)):
                        yield _Pair(each, classes, among)


def _together(instances: Iterable[Instance]) -> Iterator[Instance]:
    """Instances that touch the same bytes as one; what is known of all of them is known of it."""
    groups: dict[object, list[Instance]] = {}
    for each in instances:
        groups.setdefault(tuple(touch.identity for touch in each.touches), []).append(each)
    for first, *others in groups.values():
        common = set(map(key_of, first.facts)).intersection(*(map(key_of, each.facts) for each in others))
        begun = (loop.k >= 0 for loop in first.loops)
        yield replace(first, facts=(*(fact for fact in first.facts if key_of(fact) in common), *begun))


def _class(op: Op, write: bool) -> Access:
    return UNITS["S" if op.name in SCALAR else "V"][write]


def _only(instance: Instance, write: bool) -> Instance:
    return replace(instance, touches=tuple(touch for touch in instance.touches if touch.write is write))


def _computed(second: Op, first: Op) -> bool:
    """True if an access is computed from another one."""
    pending, seen = list(second.values), set[Op]()
    while pending:
        owner = pending.pop().owner
        if owner is first:
            return True
        if isinstance(owner, Op) and owner not in seen:
            seen.add(owner)
            pending += owner.values
    return False


def _ends(pair: _Pair, structure: Structure) -> tuple[Block, int, int]:
    """The block in which a barrier orders two accesses, and their places there."""
    each = pair.dependence
    return _within(each.first[-1], each.second[-1], each.loop, structure)


def _within(first: Op, second: Op, loop: Op | None, structure: Structure) -> tuple[Block, int, int]:
    found = structure.common(first, second)
    assert found is not None
    a, b, block = found
    if loop is not None:
        block = loop.regions[0]
        chains = (structure.chain(op) for op in (first, second))
        a, b = (next(op for op, _ in chain if structure.block(op) is block) for chain in chains)
    return block, structure.index(a), structure.index(b)


def _ordered(pair: _Pair, bars: Sequence[_Bar], structure: Structure) -> bool:
    """True if barriers are between two accesses, on all ways from the first to the second."""
    each = pair.dependence
    if each.loop is not None:
        return _barred(each.first[-1], each.second[-1], pair.kind, each.loop, bars, structure)
    ends = [(each.first[-1], pair.kind[0]), (each.second[-1], pair.kind[1])]
    among = [x for x in pair.among if len(pair.among) <= MOST_CHAINED or x[:2] in ends]
    pending, seen = [x for x in among if x[:2] == ends[0]], set[tuple[Op, Access]]()
    while pending:  # what comes after the first comes, too, before what it is handed on to
        op, kind, place = pending.pop()
        for other, of, at in among:
            if (other, of) in seen or other is op or not _follows(op, other, structure):
                continue
            again = kind is of and kind in STORES and place is not None and place == at  # one unit stores in order
            if again or _computed(other, op) or _barred(op, other, (kind, of), None, bars, structure):
                if (other, of) == ends[1]:
                    return True
                seen.add((other, of))
                pending.append((other, of, at))
    return False


STORES = (Access.VST, Access.ST)

MOST_CHAINED = 64
"""Accesses of a scope among which chains of orders are followed."""


def _follows(op: Op, other: Op, structure: Structure) -> bool:
    _, start, end = _within(op, other, None, structure)
    return start < end


def _barred(
    first: Op, second: Op, wanted: tuple[Access, Access], loop: Op | None, bars: Sequence[_Bar], structure: Structure
) -> bool:
    """True if one barrier is between two accesses, on all ways from the first to the second."""
    block, start, end = _within(first, second, loop, structure)
    after, before = ({id(b): k for b, k in _below(op, block, structure)} for op in (first, second))
    for of, at, kind in bars:
        if wanted not in ordered_by(kind):
            continue
        if of is block:
            if (start < at < end) if loop is None else (at > start or at < end):
                return True
        elif at > after.get(id(of), float("inf")) or at < before.get(id(of), -1.0):
            return True
    return False


def _below(op: Op, block: Block, structure: Structure) -> Iterator[tuple[Block, int]]:
    """The blocks around an operation inside of `block`, and where in them it is."""
    for each, _ in structure.chain(op):
        if structure.block(each) is block:
            return
        yield structure.block(each), structure.index(each)
