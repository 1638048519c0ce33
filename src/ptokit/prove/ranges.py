"""In which ranges numbers lie: what arithmetic comes to, and ranges of arguments under which a proof succeeds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from typing import Any

import z3

from ptokit.plan.steps import Step, constant, without_form
from ptokit.types.codecs import width

from .numbers import Number, Solver, is_number, lifted, simple, symbols

Span = tuple[Any, Any]
"""The least and the greatest number that something may be; infinite where that is not known."""

_ANYTHING: Span = (-math.inf, math.inf)


def span(e: Number, known: Mapping[int, Span]) -> Span:
    """Between what a number lies, as its parts say; ``known``: of unknowns, and of other numbers."""
    if isinstance(e, int):
        return e, e
    if e.get_id() in known:
        return known[e.get_id()]
    if z3.is_int_value(e):
        return e.as_long(), e.as_long()
    parts = [span(part, known) for part in e.children() if z3.is_int(part)]
    kind = e.decl().kind()
    if kind == z3.Z3_OP_ITE:
        return min(low for low, _ in parts), max(high for _, high in parts)
    if kind == z3.Z3_OP_ADD:
        return sum(low for low, _ in parts), sum(high for _, high in parts)
    if kind == z3.Z3_OP_MUL:
        return reduce(_times, parts)
    if kind == z3.Z3_OP_IDIV and parts[1][0] >= 1:
        ends = [end // by if math.isfinite(end) else end for end in parts[0] for by in parts[1] if math.isfinite(by)]
        return min(*ends, 0), max(*ends, 0)
    if kind == z3.Z3_OP_MOD and parts[1][0] >= 1:
        return 0, parts[1][1] - 1
    return _ANYTHING


def _times(a: Span, b: Span) -> Span:
    ends = [x * y if x and y else 0 for x in a for y in b]
    return min(ends), max(ends)


def of_loops(loops: Iterable[Any], known: Mapping[int, Span]) -> dict[int, Span]:
    """Between what numbers lie inside of loops (`claims.Loop`), from the outside in."""
    found = dict(known)
    for loop in loops:
        (least, _), (_, most), (by, _) = (span(n, found) for n in (loop.lower, loop.upper, loop.by))
        found[loop.k.get_id()] = 0, max(0, most - least - 1) // max(1, by) if math.isfinite(most - least) else math.inf
        variable = simple(lifted(loop.lower) + lifted(loop.by) * loop.k)
        if not isinstance(variable, int):
            found[variable.get_id()] = least, most - 1
    return found


def largest(kind: Any) -> int:
    """The greatest argument of an integer type; none is 2**31 or more."""
    bits = 31 if kind.name == "index" else width(kind.name) - (0 if kind.name.startswith("u") else 1)
    return min(1 << 31, 1 << bits) - 1


def may_wrap(places: Iterable[tuple[str, int]]) -> bool:
    """True if one of some types, with lines, has so few bits that runs leave it."""
    return any(width(kind) < 64 for kind, _ in places)


def narrowed(
    known: dict[int, Span], numbers: Iterable[Any], facts: Sequence[Number], stated: Sequence[Number], solver: Solver
) -> None:
    """Lower what numbers are at most, by halves, as far as what is `stated` of them says."""
    said = symbols(stated)
    for number in numbers:
        if is_number(number) and number.get_id() in said:
            least, most = known[number.get_id()]
            while most > least and solver.implied((*facts, *stated), number <= most // 2):
                most //= 2
            known[number.get_id()] = least, most


def in_types(places: Iterable[tuple[str, int]]) -> tuple[str, ...]:
    """What is assumed of arithmetic, in words: by type, the lines in which it stays within that."""
    lines: dict[str, list[int]] = {}
    for kind, line in sorted(set(places)):
        lines.setdefault(kind, []).append(line)
    found = []
    for kind, each in lines.items():
        *first, last = map(str, each)
        where = f"lines {', '.join(first)} and {last}" if first else f"line {last}"
        found.append(f"{kind} arithmetic in {where} does not wrap")
    return tuple(found)


# Assumptions that suffice.


LARGEST_SIZE, MOST_SIZES, MOST_NUMBERS = 4096, 4, 8
"""The largest constant that sizes may be multiples of, how many of them, and of how many numbers limits are found."""


def proposed(
    broken: Sequence[Sequence[Number]], numbers: Mapping[str, Any], sizes: Sequence[int], assumed: Any, solver: Solver
) -> tuple[list[str], list[str]]:
    """Assumptions under which nothing is `broken`: numbers are positive, multiples of `sizes`, or no greater than this.

    The second ones of the pair are such that none can be left out, and limits are as great as they can be.
    """
    positive = {f"{name} > 0": number > 0 for name, number in numbers.items()}
    multiples = {f"{name} % {size} == 0": p % size == 0 for size in sizes for name, p in numbers.items()}

    def enough(*parts: Mapping[str, Any]) -> bool:
        facts = [fact for part in parts for fact in part.values()]
        return solver.possible((*assumed, *facts)) and all(solver.solve((*each, *facts)).none for each in broken)

    def limits(most: int, *parts: Mapping[str, Any]) -> dict[str, Any]:
        """The greatest values that numbers may have, one after the other; empty if no such values suffice."""

        def below(ends: Mapping[str, int]) -> dict[str, Any]:
            return {f"{name} <= {end}" if end else f"{name} == 0": numbers[name] <= end for name, end in ends.items()}

        ends = dict.fromkeys(numbers, most)
        if len(numbers) > MOST_NUMBERS or not enough(*parts, below(ends)):
            return {}
        for name in numbers:
            others = {other: end for other, end in ends.items() if other != name}
            if enough(*parts, below(others)):
                ends = others
                continue
            low, high = most, 2 * most + 1
            while enough(*parts, below({**others, name: high})):
                low, high = high, 2 * high + 1
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if enough(*parts, below({**others, name: middle})) else (low, middle)
            ends[name] = low
        return below(ends)

    kept = multiples
    if not enough(positive, multiples):
        for most, parts in ((1, (positive, {})), (LARGEST_SIZE, (positive, multiples)), (0, ({}, {}))):
            found = limits(most, *parts)
            if found:
                positive, kept = parts[0], {**parts[1], **found}
                break
        else:
            return [], []
    for text in [*kept]:
        fewer = {other: fact for other, fact in kept.items() if other != text}
        if enough(positive, fewer):
            kept = fewer
    return [*positive], [*kept]


def sizes_of(steps: Iterable[Step]) -> list[int]:
    """The constants that arguments may have to be multiples of: steps of loops, and sizes of slices."""
    found = {size for step in steps for size in _sizes(step) if 1 < size <= LARGEST_SIZE}
    return sorted(found, reverse=True)[:MOST_SIZES]


def _sizes(step: Step) -> Iterator[int]:
    given: tuple[Any, ...] = ()
    if step.word == "for":
        given = step.operands[2:3]
    elif step.word == "slice":
        given = step.operands[2]
    yield from (size for size in map(constant, map(without_form, given)) if type(size) is int)
