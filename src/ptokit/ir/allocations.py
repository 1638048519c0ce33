"""Types of tiles, allocations and scratch tiles as the assembler asks, and whether tiles fit their buffers."""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from ptokit.diagnostics import Diagnostic, Diagnostics, Doubt, Note, Scope, Severity, define
from ptokit.isa.checks.tile_types import broken_placement, buffer_name, capacity_rule, doubtful_placement
from ptokit.isa.site import UNKNOWN, Size
from ptokit.isa.table import BY_TEXT, Role
from ptokit.targets import Target
from ptokit.types.dtypes import DTYPES, PACKED
from ptokit.types.enums import CompactMode, SLayout, TileType
from ptokit.types.tile import DYNAMIC, Box, TileSpec
from ptokit.types.values import MultiTile

from .control import is_loop
from .core import Block, Function, Op, Value
from .facts import Facts, instr_of
from .structure_checks import Marks, Survey
from .views import Breach, Breaches, alloc_tile, tassign

# What the reference assembler asks of types of tiles, of allocations, and of scratch tiles by level.


def _rule(id: str, what: str, function: str, example: str = "", **more: Any) -> None:
    more = {"source": f"PTOAS 2026-08 {function}", "example": example, **more}
    define(id, what, scope=Scope.ASSEMBLER, **more)


_rule(
    "TL-1",
    "A tile has at least one row and column, a valid region inside them, and boxes of 32, 512 or 1024 bytes.",
    "PTOTypeDefs.cpp TileBufType",
    "%t = pto.alloc_tile : !pto.tile_buf<vec, 16x16xf32, fractal={32|16}>",
    on="a2a3",
)
_rule(
    "AL-7",
    "A constant address of a tile is not negative and a multiple of 32 bytes; of 512 in left, right and acc.",
    "PTO.cpp verifyConstantLocalAddress",
    """
        func.func @k() {
          %a = arith.constant 64 : i64 %t = pto.alloc_tile addr = %a : !pto.tile_buf<{vec|acc}, 16x16xf32>
          return
        }
    """,
    covered_by=("ADDR-ALIGN",),
    on="a2a3",
)
_rule(
    "AL-8",
    "Rows (columns, if col_major) of a tile without boxes are whole blocks of 32 bytes, 16 of pairs of 4-bit "
    "floats; those of a tile with boxes are whole boxes, but for the rows of vec tiles, of scales, and of one "
    "row.",
    "PTO.cpp verifyTileBufLayoutConstraints",
    "%t = pto.alloc_tile : !pto.tile_buf<vec, {7x8xf32|7x7xf32}>",
    why="Without --rules assembler the rules of tiles (TILE-05 and others) say it.",
    on="a2a3",
)
_rule(
    "AM-1",
    "Several tiles of one type: valid sizes are given where the type leaves them open, and only there; elements "
    "of 8 bits are integers, the tiles are no row longer in memory, and their addresses are the assembler's own.",
    "PTO.cpp AllocMultiTileOp",
    "%m = pto.alloc_multi_tile : !pto.multi_tile_buf<!pto.tile_buf<vec, 16x16xf32{|, compact=2}>, count=2>",
    evidence="ptokit",
    on="a2a3",
)
_rule(
    "LV-3",
    "At level 3 the program gives the scratch tiles that its instructions need.",
    "PTOMaterializeImplicitTmp.cpp",
    "// ptokit check --level 3 --rules assembler\n"
    "%z = arith.constant 0 : i64\n"
    "%y = arith.constant 4096 : i64\n"
    "%a = pto.alloc_tile addr = %z : !pto.tile_buf<vec, 16x16xi16>\n"
    "%t = pto.alloc_tile addr = %y : !pto.tile_buf<vec, 16x16xi16>\n"
    "pto.txor ins(%a, %a{, %t|} : !pto.tile_buf<vec, 16x16xi16>, !pto.tile_buf<vec, 16x16xi16>{, "
    "!pto.tile_buf<vec, 16x16xi16>|}) outs(%a : !pto.tile_buf<vec, 16x16xi16>)",
    why="At levels 1 and 2 the assembler makes and places them.",
    evidence="ptokit",
    on="a2a3",
)
_rule(
    "LV-4",
    "The assembler makes a scratch tile that is left out as large as an operand whose type states its valid region.",
    "PTOMaterializeImplicitTmp.cpp",
    """
        func.func @f(%n: index) {
          %a = pto.alloc_tile {|valid_row = %n valid_col = %n }: !pto.tile_buf<vec, 16x32xf32{|, valid=?x?}>
          %p = pto.alloc_tile : !pto.tile_buf<vec, 32x1xf32, blayout=col_major, valid=16x1>
          %d = pto.alloc_tile {|valid_row = %n valid_col = %n }: !pto.tile_buf<vec, 16x32xi8{|, valid=?x?}>
          pto.tquant ins(%a, %p : !pto.tile_buf<vec, 16x32xf32{|, valid=?x?}>,
            !pto.tile_buf<vec, 32x1xf32, blayout=col_major, valid=16x1>)
            outs(%d : !pto.tile_buf<vec, 16x32xi8{|, valid=?x?}>) {quant_type = #pto<quant_type INT8_SYM>}
          return
        }
    """,
    on="a2a3",
)

ALLOCATIONS = frozenset(("pto.alloc_tile", "pto.alloc_multi_tile"))
_SMALL = frozenset((*(DTYPES[n] for n in ("e4m3", "e5m2", "e8m0", "hif8")), *PACKED.values())) - {PACKED["f64"]}
_PAIRS_OF_4 = frozenset(PACKED[n] for n in ("e2m1x2", "e1m2x2"))
_OPERANDS = (TileType.Left, TileType.Right, TileType.Acc)
_PLANNED = "pto.multi_buffer_addrs"


def wrong_type(spec: TileSpec) -> str | None:
    """What breaks TL-1, the rules of a tile type; None if nothing does."""
    if spec.rows <= 0 or spec.cols <= 0:
        return f"a tile of {spec.rows}x{spec.cols}"
    if spec.valid_row > spec.rows or spec.valid_col > spec.cols:
        return f"a valid region of {spec.valid_row}x{spec.valid_col} in {spec.rows}x{spec.cols}"
    return f"boxes of {spec.fractal} bytes" if spec.fractal not in (32, 512, 1024) else None


def wrong_layout(spec: TileSpec) -> str | None:
    """What breaks AL-8, the layout of an allocated tile; None if nothing does."""
    size = spec.dtype.size
    if not spec.boxed:
        count, what = (spec.cols, "row") if spec.row_major else (spec.rows, "column")
        block = 16 if spec.dtype in _PAIRS_OF_4 else 32
        return f"a {what} has {count * size} bytes, no multiple of {block}" if count * size % block else None
    box = spec.box
    if spec.dtype.bits == 4 and spec.fractal == 512:  # operands of products: the text has pairs, a byte each
        box = Box(16, 32) if spec.slayout is SLayout.RowMajor else Box(32, 16)
    free = spec.loc is TileType.Vec or spec.fractal == 32 or spec.rows == 1
    if not free and spec.rows % box.rows:
        return f"{spec.rows} rows with boxes of {box.rows}"
    return f"{spec.cols} columns with boxes of {box.cols}" if spec.cols % box.cols else None


def tile_of(op: Op) -> TileSpec | None:
    """The type of the tiles that an operation allocates."""
    made = op.results[0].type if op.results else None
    made = made.slot if isinstance(made, MultiTile) else made
    return made if isinstance(made, TileSpec) else None


def _constant(value: Value | None, facts: Facts) -> Size:
    """The number that `value` is, if it is a constant itself: the assembler folds nothing here."""
    is_one = value is not None and isinstance(value.owner, Op) and value.owner.name == "arith.constant"
    return facts.size(value) if is_one else UNKNOWN


def _address(op: Op, facts: Facts, spec: TileSpec | None) -> Breaches:
    at, unit = _constant(op.get("addr"), facts), 512 if spec is not None and spec.loc in _OPERANDS else 32
    if at < 0:
        yield Breach("AL-7", f"the address is {at}")
    elif at % unit != 0:
        yield Breach("AL-7", f"the address {at} is no multiple of {unit} bytes")


def _one(op: Op, facts: Facts) -> Breaches:
    yield from alloc_tile(op, facts)
    yield from _address(op, facts, tile_of(op))


def _several(op: Op, facts: Facts) -> Breaches:
    spec = tile_of(op)
    if spec is None:
        return
    yield from _address(op, facts, spec)
    if spec.dtype in _SMALL:
        yield Breach("AM-1", Doubt(f"the tiles hold {spec.dtype}"))
    if spec.compact is CompactMode.RowPlusOne:
        yield Breach("AM-1", "the tiles are a row longer in memory than their type says, and would overlap")
    if _PLANNED in op.attrs:
        yield Breach("AM-1", Doubt(f"{_PLANNED} is written by the assembler itself"))
    for name, stated in (("valid_row", spec.valid_row), ("valid_col", spec.valid_col)):
        if (op.get(name) is None) == (stated == DYNAMIC):
            yield Breach("AM-1", f"{name} is {'missing' if stated == DYNAMIC else 'given'}, the type has {stated}")


def _rebound(op: Op, facts: Facts) -> Breaches:
    yield from tassign(op, facts)
    spec = op["tile"].type
    yield from _address(op, facts, spec if isinstance(spec, TileSpec) else None)


CHECKS: dict[str, Callable[[Op, Facts], Breaches]] = {
    "pto.alloc_tile": _one,
    "pto.alloc_multi_tile": _several,
    "pto.tassign": _rebound,
}
"""By operation; those of `ir.views` included."""


def check_scratch(survey: Survey, facts: Facts, target: Target, level: int | None, found: Diagnostics) -> None:
    """Report LV-3, where level 3 is asked for, and LV-4, where the program places no tiles."""
    placed = any(op.get("addr") is not None for op in survey.named("pto.alloc_tile"))
    if level is None and placed:
        return  # kernels ship that place their tiles and leave out scratch tiles
    for op in survey.ops:
        instr = instr_of(op)
        scratch = next((o for o in instr.operands if o.role is Role.SCRATCH and o.needed), None) if instr else None
        if instr is None or scratch is None or scratch.needed is None or op.get(scratch.name) is not None:
            continue
        site = facts.site(op, target, text=True)
        assert site is not None
        if not all(isinstance(v.type, TileSpec) for v in op.values if v.type is not None and _is_data(op, instr, v)):
            continue
        like = scratch.needed(site)
        if like is None:
            continue
        if level == 3:
            found.broken("LV-3", f"{instr.text} has no {scratch.name}", op.location, hint="give it a scratch tile")
        elif like and site.operands[like].spec.dynamic:  # type: ignore[union-attr]
            message = f"{instr.text} has no {scratch.name}, and {like} an open valid region"
            found.broken("LV-4", message, op.location, hint="give it a scratch tile, or state the valid region")


def _is_data(op: Op, instr: Any, value: Value) -> bool:
    return any(op.get(name) is value for name in instr.data_names)


# Do the tiles fit their buffers? Addresses where the program gives them, live ranges where it does not.


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
        unneeded = {op: without for op in survey.ops if (without := _unneeded(op, facts, target))}
        ranges = live_ranges(survey.function, unneeded)
        _peak(ranges, automatic, target, marks.found)


def _unneeded(op: Op, facts: Facts, target: Target) -> list[Value]:
    """Scratch tiles that the target does without, so that they take no room."""
    instr = instr_of(op)
    scratch = [o for o in instr.spared if op.get(o.name) is not None] if instr is not None and instr.spared else []
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
    are no use, of operations that have any.
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
            inner = [*loops, (now, _last(op, now))] if op.regions and is_loop(op) else loops
            without = unneeded.get(op, ())
            for value in op.values:
                if without and value in without:
                    continue
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
