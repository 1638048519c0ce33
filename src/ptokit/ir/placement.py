"""Do the tiles fit their buffers? Addresses where the program gives them, live ranges where it does not."""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache

from ptokit.diagnostics import Diagnostic, Diagnostics, Note, Severity
from ptokit.isa.checks.tile_types import broken_placement, buffer_name, capacity_rule, doubtful_placement
from ptokit.isa.table import BY_TEXT
from ptokit.targets import Target
from ptokit.types.enums import TileType
from ptokit.types.tile import TileSpec

from .control import is_loop
from .core import Block, Function, Op, Value
from .facts import Facts, instr_of
from .marks import Marks
from .survey import Survey


def check_placement(survey: Survey, facts: Facts, target: Target, marks: Marks) -> None:
    """Capacity and alignment of placed tiles; the most bytes alive at once for the others."""
    automatic: list[Op] = []
    scales = _scales(survey)
    for op in survey.ops:
        if op.name not in ("pto.alloc_tile", "pto.tassign") or not op.results:
            continue
        spec = op.result.type
        if not isinstance(spec, TileSpec):
            continue
        address = facts.size(op.get("addr"))
        if op.result in scales:
            spec = replace(spec, loc=scales[op.result])
        elif op.get("addr") is None:
            automatic.append(op)
        if op.get("addr") is None:
            address = 0
        result = op.result.shown
        for rule, message in broken_placement(spec, address, target):
            of_type = (rule, message) in broken_placement(spec, 0, target)
            found = Diagnostic(rule, Severity.ERROR, f"{result}: {message}", op.location)
            marks.report(found, op, f"%{op.result.name}" if of_type else "addr", type=of_type)
        doubt = doubtful_placement(spec, address, target)
        if doubt is not None and op.get("addr") is not None:
            marks.report(Diagnostic("UB-USER", Severity.WARNING, f"{result}: {doubt}", op.location), op, "addr")
    if automatic:
        unneeded = {op: _unneeded(op, facts, target) for op in survey.ops}
        ranges = live_ranges(survey.function, unneeded)
        _peak(ranges, automatic, target, marks.found)


def _unneeded(op: Op, facts: Facts, target: Target) -> list[Value]:
    """Scratch tiles that the target does without, so that they take no room."""
    instr = instr_of(op)
    scratch = [o for o in instr.operands if o.needed is not None and op.get(o.name) is not None] if instr else []
    site = facts.site(op, target) if scratch else None
    return [op[o.name] for o in scratch if site is not None and o.needed is not None and o.needed(site) is None]


def _scales(survey: Survey) -> dict[Value, TileType]:
    """Where the scale tiles of block-scaled products lie: not in the buffer of quantisation words."""
    out: dict[Value, TileType] = {}
    for op in survey.ops if any(map(_places, survey.names)) else ():
        for name, place in _places(op.name):
            value = op.get(name)
            if value is not None:
                out[value] = place
    return out


@cache
def _places(name: str) -> tuple[tuple[str, TileType], ...]:
    """Operands of an operation that say where their tile lies."""
    instr = BY_TEXT.get(name.removeprefix("pto."))
    return () if instr is None else tuple((o.name, o.place) for o in instr.operands if o.place is not None)


def _peak(ranges: dict[Value, tuple[int, int]], tiles: list[Op], target: Target, found: Diagnostics) -> None:
    """Report a buffer whose tiles, alive at the same time, need more than there is."""
    by_space: dict[TileType, list[tuple[int, int, Op]]] = defaultdict(list)
    for op in tiles:
        spec = op.result.type
        if isinstance(spec, TileSpec) and op.result in ranges and spec.nbytes <= target.capacity[spec.loc]:
            by_space[spec.loc].append((*ranges[op.result], op))
    for loc, live in by_space.items():
        most, start = _most(live)
        capacity = target.capacity[loc]
        if most > capacity:
            best = [op for first, last, op in live if first <= start <= last]
            largest = sorted(best, key=_bytes, reverse=True)
            notes = [Note(f"{op.result.shown}: {_bytes(op)} bytes", op.location) for op in largest[:4]]
            found.error(
                capacity_rule(loc),
                f"tiles in use at the same time need {most} bytes of {buffer_name(loc)}, "
                f"which has {capacity} on {target.name}",
                best[-1].location,
                hint="use smaller tiles, or reuse one tile for values that are not needed together",
                notes=notes,
            )


def _most(live: list[tuple[int, int, Op]]) -> tuple[int, int]:
    """The most bytes alive at once, and the first beginning of a live range at which they are."""
    ends = sorted((last, _bytes(op)) for _, last, op in live)
    alive: dict[int, int] = {}
    size = ended = 0
    for start, more in sorted((first, _bytes(op)) for first, _, op in live):
        while ended < len(ends) and ends[ended][0] < start:
            size -= ends[ended][1]
            ended += 1
        size += more
        alive[start] = size
    start = max((first for first, _, _ in live), key=alive.__getitem__)
    return alive[start], start


def _bytes(op: Op) -> int:
    spec = op.result.type
    assert isinstance(spec, TileSpec)
    return spec.nbytes


def live_ranges(function: Function, unneeded: Mapping[Op, Sequence[Value]]) -> dict[Value, tuple[int, int]]:
    """First and last operation, in text order, that uses each tile; a use inside a loop lasts as long as the loop.

    Values that share storage (treshape, bitcast, subset, tassign) count as their source. ``unneeded``: operands that
    are no use.
    """
    assert function.body is not None
    origin: dict[Value, Value] = {}
    defined_in: dict[Value, int] = {}
    ranges: dict[Value, tuple[int, int]] = {}
    counter = 0

    starts: dict[Block, int] = {}
    back: list[tuple[int, int]] = []  # loops that branches make: their first and last operation

    def visit(region: Block, loops: list[tuple[int, int]], depth: int) -> None:
        nonlocal counter
        for block in region.blocks:
            starts[block] = counter + 1
            operations(block, loops, depth)

    def operations(block: Block, loops: list[tuple[int, int]], depth: int) -> None:
        nonlocal counter
        for op in block.ops:
            counter += 1
            now = counter
            instr = instr_of(op)
            rebound = op.name == "pto.tassign" or (instr is not None and instr.alias)
            if rebound and op.results and op.values:
                origin[op.result] = origin.get(op.values[0], op.values[0])
            for result in op.results:
                if isinstance(result.type, TileSpec):
                    defined_in.setdefault(result, depth)
            inner = [*loops, (now, _last(op, now))] if is_loop(op) else loops
            for value in (v for v in op.values if v not in unneeded[op]):
                root = origin.get(value, value)
                if not isinstance(root.type, TileSpec):
                    continue
                level = defined_in.get(root, 0)
                first, last = loops[level] if level < len(loops) else (now, now)
                have = ranges.get(root)
                ranges[root] = (first, last) if have is None else (min(have[0], first), max(have[1], last))
            for region in op.regions:
                visit(region, inner, len(inner))
            back.extend((starts[to], now) for to in op.successors if to in starts)

    visit(function.body, [], 0)
    return {value: _prolonged(span, loops) for value, span in ranges.items()} if (loops := _joined(back)) else ranges


def _joined(loops: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Loops that overlap as one."""
    out: list[tuple[int, int]] = []
    for first, last in sorted(loops):
        if out and first <= out[-1][1]:
            out[-1] = (out[-1][0], max(out[-1][1], last))
        else:
            out.append((first, last))
    return out


def _prolonged(span: tuple[int, int], loops: list[tuple[int, int]]) -> tuple[int, int]:
    """A value that is used in a loop and was there before lives to the loop's end."""
    k = bisect_right(loops, (span[1], sys.maxsize)) - 1
    if k >= 0 and span[0] < loops[k][0] <= span[1] <= loops[k][1]:
        return span[0], loops[k][1]
    return span


def _last(op: Op, start: int) -> int:
    return start + sum(1 for region in op.regions for _ in region.walk())
