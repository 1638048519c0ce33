"""In which ranges numbers lie: what arithmetic comes to, and ranges of arguments under which a proof succeeds."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial, reduce
from itertools import product
from typing import Any

import z3

from ptokit.isa.meaning.expressions import OWN, Element
from ptokit.isa.meaning.words import Gather, Move, Scatter
from ptokit.isa.site import Site, TileInfo, ViewInfo
from ptokit.plan.steps import Step, constant, without_form
from ptokit.types.codecs import width
from ptokit.types.enums import Layout
from ptokit.types.values import Scalar

from .numbers import Number, Solver, both, is_number, lifted, renamed, same, simple, symbols
from .places import Tile, View, alike, branches
from .report import Claim

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


# Indices: what is assumed of the elements of arrays, and of what they choose from.


BY_DATA = "data decides which elements"
"""How a reason begins that leaves open what is taken of a table, and not how large arrays have to be."""


def sized(gaps: Iterable[Any]) -> bool:
    """True if it is known how large arrays have to be, in spite of what is open (`claims.Gap`)."""
    return all(gap.claim is not Claim.BOUNDS or gap.reason.startswith(BY_DATA) for gap in gaps)


def element_of(array: str) -> Any:
    """Any element of an array, as a number."""
    return z3.Int(f"{array}#")


def zeros_keep(prover: Any, values: Mapping[str, Any], blocks: int) -> bool:
    """True if arrays of zeros keep what is assumed of their elements, for some arguments."""
    pairs = [*_given(prover, values, blocks), *((element_of(array), z3.IntVal(0)) for array in prover.elements_are)]
    return all(simple(renamed(said, pairs)) is True for every in prover.elements_are.values() for said in every)


def elements_needed(prover: Any, name: str, size: int, values: Mapping[str, Any], blocks: int) -> int | None:
    """How many elements an array has to hold for some arguments; None where that is open."""
    pairs, most = _given(prover, values, blocks), 0
    for argument, end, _ in prover.found.needs.values():
        if argument == name:
            number = simple(renamed(lifted(end), pairs))
            if not isinstance(number, int):
                return None
            most = max(most, -(-number // max(1, size)))
    return most


def _given(prover: Any, values: Mapping[str, Any], blocks: int) -> list[tuple[Any, Any]]:
    """Parameters and the number of blocks with what they are."""
    pairs = [(symbol, lifted(values[name])) for name, symbol in prover.params.items()]
    return pairs if isinstance(prover.total, int) else [*pairs, (prover.total, lifted(blocks))]


def said_of_element(walk: Any, step: Step, state: Any, pointer: Any, number: Any) -> Any:
    """A number that is loaded: what is assumed of the elements of its array holds of it."""
    array = pointer.space[1]
    dtype = next((p.dtype for p in walk.program.params if p.name == array), None)
    if walk.shared or array not in walk.elements_are or dtype is None or pointer.size != dtype.size:
        return number
    aligned = simple(lifted(pointer.at) % dtype.size == 0)
    if dtype.kind == "i" and step.result.type == Scalar(dtype.text) and walk.solver.implied(state.facts, aligned):
        walk.relied[array] = step
        pair = [(element_of(array), number)]
        state.facts += tuple(simple(renamed(said, pair)) for said in walk.elements_are[array])
    return number


_LAYOUTS = (Layout.ND, Layout.DN, Layout.NZ)


def loaded_from(site: Site, given: Mapping[str, Any], params: Iterable[Any]) -> str:
    """The array of whose elements a copy of a view, in any layout, makes a whole tile, bits unchanged; else empty."""
    for name, view in given.items():
        info = site.operands.get(name)
        if not (isinstance(view, View) and isinstance(info, ViewInfo)):
            continue
        layouts = _LAYOUTS if info.layout is None else (info.layout,)
        sites = [replace(site, operands={**site.operands, name: replace(info, layout=each)}) for each in layouts]
        words = [w for each in sites if isinstance(w := each.instr.meaning_at(each), Move)]
        if len(words) == len(sites) and all((w.value, w.to, w.combine) == (Element(name), OWN, "") for w in words):
            tile, made = given.get(words[0].dst), site.operands.get(words[0].dst)
            dtype = next((param.dtype for param in params if param.name == view.space[1]), None)
            if not (isinstance(tile, Tile) and isinstance(made, TileInfo) and type(view.base) is int) or dtype is None:
                return ""
            whole = (made.vr, made.vc) == (tile.spec.rows, tile.spec.cols) and tile.spec is tile.home
            plain = dtype is tile.spec.dtype and dtype is info.dtype and view.size == dtype.size
            return str(view.space[1]) if whole and plain and view.base % dtype.size == 0 else ""
    return ""


def chosen_by_indices(walk: Any, step: Step, state: Any, word: Gather | Scatter, given: Any, wanted: Any) -> None:
    """Indices that are elements of an array have to lie in their table, by what is assumed of them.

    ``wanted``: the columns that are gathered.
    """
    array = next((array for touch, array in state.held if alike(touch.tile, given.get(word.index))), "")
    size = _choices(word, given, wanted)
    if size is None or not array or walk.shared or walk.program.cores.mixed or not walk.by_compiler:
        walk.leave_open(Claim.BOUNDS, f"{BY_DATA} {step.name} takes", step)
        return
    walk.relied[array], element = step, element_of(array)
    text = f"an element of {array} may choose what lies outside of the table of {step.name}"
    facts = (*state.facts, *walk.elements_are[array])
    walk.oblige(Claim.BOUNDS, word.rule, step, facts, both(element >= 0, element < size), text)


def _choices(word: Gather | Scatter, given: Mapping[str, Any], wanted: Any) -> Number | None:
    """How many indices there are: elements of a tile, or rows of a view that are as long as what is ``wanted``."""
    table = given.get(word.src if isinstance(word, Gather) else word.dst)
    if isinstance(table, Tile):
        return table.spec.rows * table.spec.cols
    if not (isinstance(word, Gather) and word.rows and isinstance(table, View) and len(table.sizes) == 2):
        return None
    dense = same(table.sizes[1], table.strides[0]) and table.strides[1] == 1
    return table.sizes[0] if dense and same(table.sizes[1], wanted) else None


# Assumptions that suffice.


MOST_ROUNDS = 4
"""How often assumptions are looked for anew, after those that were found have turned out not to be enough."""


def sufficient(first: Any, proved: Callable[..., Any]) -> tuple[str, ...]:
    """Assumptions under which everything is proved, none of them superfluous, and all accesses still happen.

    ``first``: what was found without them (`control.Control`); ``proved``: finds what holds with some.
    """

    def left(*texts: str) -> Any:
        """What may not hold then; None where assumptions do not help."""
        again = proved(*texts)
        if again.undecided and not again.exhausted:
            raise KeyboardInterrupt
        if any(again.reasons(claim) for claim in Claim):
            return again.broken(first.stated) or None
        return None if again.reached != first.reached or (first.wraps and may_wrap(again.found.wide)) else []

    broken = first.broken(first.stated)
    if broken is None:
        return ()
    for _ in range(MOST_ROUNDS):
        positive, others = first.proposals(broken)
        texts = [*positive, *others]
        more = left(*texts) if texts else None
        if more is None:
            return ()
        if not more:
            break
        broken += more
    else:
        return ()
    if others and positive and left(*others) == []:
        return tuple(others)
    for text in positive:
        fewer = [other for other in texts if other != text]
        texts = fewer if fewer and left(*fewer) == [] else texts
    return tuple(texts)


LARGEST_NUMBER = 1 << 31
LARGEST_SIZE, MOST_SIZES, MOST_NUMBERS = 4096, 4, 8
"""The largest constant that sizes may be multiples of, how many of them, and of how many numbers limits are found."""


def proposed(
    broken: Sequence[Sequence[Number]],
    numbers: Mapping[str, Any],
    sizes: Sequence[int],
    last: Mapping[int, Number],
    assumed: Any,
    solver: Solver,
) -> tuple[list[str], list[str]]:
    """Assumptions under which nothing is `broken`: numbers are positive, multiples of `sizes`, or not too large.

    The second ones of the pair are such that none can be left out, and limits are as great as they can be. ``numbers``:
    by name, arguments and ``blocks``; ``last``: by unknown, the greatest number that it may be, which is made of those.
    """
    relations = partial(_related, broken, numbers, last, assumed, solver)
    numbers = {name: number for name, number in numbers.items() if number.get_id() not in symbols(last.values())}
    positive = {f"{name} > 0": number > 0 for name, number in numbers.items()}
    multiples = {f"{name} % {size} == 0": p % size == 0 for size in sizes for name, p in numbers.items()}

    def enough(*parts: Mapping[str, Any]) -> bool:
        facts = [fact for part in parts for fact in part.values()]
        return solver.possible((*assumed, *facts)) and all(solver.solve((*each, *facts)).none for each in broken)

    def below(ends: Mapping[str, int]) -> dict[str, Any]:
        return {f"{name} <= {end}" if end else f"{name} == 0": numbers[name] <= end for name, end in ends.items()}

    def limits(most: int, *parts: Mapping[str, Any]) -> dict[str, Any]:
        """The greatest values that numbers may have, one after the other; empty if no such values suffice."""
        ends = dict.fromkeys(numbers, most)
        if len(numbers) > MOST_NUMBERS or not enough(*parts, below(ends)):
            return {}
        for name in numbers:
            others = {other: end for other, end in ends.items() if other != name}
            if enough(*parts, below(others)):
                ends = others
            else:
                ends[name] = greatest(name, most, *parts, below(others))
        return below(ends)

    def greatest(name: str, low: int, *parts: Mapping[str, Any]) -> int:
        """What a number may be at most, if it may be as much as this."""
        high = 2 * low + 1
        while high < LARGEST_NUMBER and enough(*parts, below({name: high})):
            low, high = high, 2 * high + 1
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if enough(*parts, below({name: middle})) else (low, middle)
        return low

    kept = multiples
    said = relations()
    ways: list[tuple[dict[str, Any], dict[str, Any]]]
    ways = [({}, said), (positive, multiples), (positive, said), (positive, multiples | said)]
    for first, others in ways:
        if others and enough(first, others):
            positive, kept = first, others
            break
    if not enough(positive, kept):
        for most, parts in ((1, (positive, {})), (LARGEST_SIZE, (positive, multiples)), (0, ({}, {}))):
            found = limits(most, *parts)
            if found:
                positive, kept = parts[0], {**parts[1], **found}
                break
        else:
            return [], []
    for text in sorted(kept, key=lambda text: (text not in multiples, "== 0" not in text, -len(text))):
        fewer = {other: fact for other, fact in kept.items() if other != text}
        name, _, end = text.partition(" <= ") if "<=" in text else text.partition(" == ")
        if enough(positive, fewer):
            kept = fewer
        elif name in numbers and end.isdigit():
            kept = fewer | below({name: greatest(name, int(end), positive, fewer)})
    return [*positive], [*kept]


MOST_RELATIONS, MOST_TIMES = 24, 1 << 12
"""How many comparisons of arguments are tried, and the most iterations of a loop whose last one is looked for."""


def _related(
    broken: Sequence[Sequence[Number]],
    numbers: Mapping[str, Any],
    last: Mapping[int, Number],
    assumed: Any,
    solver: Solver,
) -> dict[str, Any]:
    """What arguments have to be to each other so that what is `broken` holds in the last iteration, and so in all."""
    names = {number.get_id(): name for name, number in numbers.items() if name.isidentifier()}
    found: dict[str, Any] = {}

    def add(text: str, condition: Any) -> None:
        useful = text and text not in found and len(found) < MOST_RELATIONS and not solver.implied(assumed, condition)
        if useful and solver.possible((*assumed, condition)):
            found[text] = condition

    for *facts, wrong in broken:
        for demand in _demands(wrong, False):
            for way in map(lifted, [*branches(demand)] or [demand]):
                worst = _worst(way, facts, names, last, solver)
                if worst is not None:
                    add(_below(worst, names), simple(worst <= 0))
                    continue
                ends, limits = (symbols(x).keys() & names.keys() for x in ([way], facts[len(assumed) :]))
                for a, b in product(sorted(limits - ends), sorted(ends)):
                    one, other = numbers[names[a]], numbers[names[b]]
                    add(f"{names[a]} <= {names[b]}", one <= other)
    return found


def _demands(e: Any, holds: bool = True) -> Iterator[Any]:
    """Numbers that have to be 0 or less if a condition is to hold, or is not to."""
    if z3.is_not(e):
        yield from _demands(e.children()[0], not holds)
    elif z3.is_and(e) or z3.is_or(e):
        for part in e.children():
            yield from _demands(part, holds)
    elif z3.is_le(e) or z3.is_lt(e) or z3.is_ge(e) or z3.is_gt(e):
        a, b = e.children() if z3.is_le(e) or z3.is_lt(e) else e.children()[::-1]
        strict = z3.is_lt(e) or z3.is_gt(e)
        yield z3.simplify(a - b + int(strict) if holds else b - a + int(not strict), som=True)


def _worst(
    e: Any, facts: Sequence[Number], names: Mapping[int, str], last: Mapping[int, Number], solver: Solver
) -> Any:
    """The most that a number may be, in numbers that have names; None where that is not found."""
    for number, unknown in symbols([e]).items():
        if number not in names and not z3.is_int(unknown):
            return None
        if number not in names:
            none, one = (simple(renamed(e, [(unknown, z3.IntVal(n))])) for n in (0, 1))
            factor = simple(z3.simplify(lifted(one) - lifted(none), som=True))
            if not isinstance(factor, int):
                return None
            end: Number | None = last.get(number) if factor > 0 else 0
            if end is None:
                end = 1
                while end < MOST_TIMES and not solver.implied(facts, unknown <= end):
                    end *= 2
                low = end // 2
                while end - low > 1:
                    middle = (low + end) // 2
                    low, end = (low, middle) if solver.implied(facts, unknown <= middle) else (middle, end)
            if not solver.implied(facts, both(unknown <= end, unknown >= 0)):
                return None
            e = z3.simplify(lifted(none) + factor * lifted(end), som=True)
    return e


def _below(e: Any, names: Mapping[int, str]) -> str:
    """That a sum is 0 or less, as an assumption says it: ``8*k + 8 <= n``; empty where it cannot."""
    least, terms = 0, dict[str, int]()
    for term in e.children() if z3.is_add(e) else [e]:
        if z3.is_int_value(term):
            least += term.as_long()
            continue
        first, *rest = term.children() if z3.is_mul(term) else [term]
        factor, rest = (first.as_long(), rest) if z3.is_int_value(first) else (1, [first, *rest])
        parts = [_written(part, names) for part in rest]
        if not all(parts):
            return ""
        terms["*".join(f"({part})" if " " in part else part for part in parts)] = factor
    if not terms:
        return ""
    common = math.gcd(*terms.values())
    least = -(-least // common)
    sides = [
        [f"{sign * n // common}*{text}" if abs(n) != common else text for text, n in terms.items() if sign * n > 0]
        for sign in (1, -1)
    ]
    if not sides[0]:
        return f"{' + '.join(sides[1])} {'> 0' if least == 1 else f'>= {least}'}"
    if not sides[1] and len(terms) == 1 and (quotient := re.fullmatch(r"\(([^()]+) // (\d+)\)", sides[0][0])):
        whole, by = quotient.groups()
        return f"{whole} <= {int(by) * (1 - least) - 1}"
    if not sides[1]:
        return f"{' + '.join(sides[0])} {f'<= {-least}' if least else '== 0'}"
    sides[least < 0] += [str(abs(least))] if least else []
    return " <= ".join(map(" + ".join, sides))


def _written(e: Any, names: Mapping[int, str]) -> str:
    """A name, or the quotient or the rest of a sum of names, as Python writes it."""
    if e.get_id() in names:
        return names[e.get_id()]
    kind = e.decl().kind()
    if kind in (z3.Z3_OP_IDIV, z3.Z3_OP_MOD) and z3.is_int_value(e.children()[1]):
        whole, by = e.children()
        text = _written(whole, names)
        return text and f"{text} {'//' if kind == z3.Z3_OP_IDIV else '%'} {by}"
    return ""


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
