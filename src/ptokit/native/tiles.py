"""Tiles: where they lie and what part of them is valid."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ptokit.ir.core import Op
from ptokit.isa.checks.placement import broken_placement
from ptokit.isa.unknown import known
from ptokit.types.layout import element_offset, windowed
from ptokit.types.tile import DYNAMIC, TileSpec

from .code import Num
from .values import NotNativeError, Tile
from .views import Checked

if TYPE_CHECKING:
    from .function import Writer


def fixed(w: Writer, op: Op) -> None:
    """A tile whose address and valid region are fixed, before the function begins."""
    spec = w.settled.get(op.result, op.result.type)
    assert isinstance(spec, TileSpec)
    address = w.facts.size(op.get("addr"))
    if op.result in w.carried_tiles and op.get("addr") is None:
        raise NotNativeError(op.name, "a loop hands the tile to its next turn, which allocates another one")
    if not spec.dynamic and (op.get("addr") is None or known(address)):
        _place(w, op, None if op.get("addr") is None else int(address), None)  # type: ignore[arg-type]


def alloc_tile(w: Writer, op: Op) -> None:
    spec = w.settled.get(op.result, op.result.type)
    assert isinstance(spec, TileSpec)
    given = op.get("addr")
    address = None if given is None else w.number(given)
    if not spec.dynamic and (address is None or isinstance(address, int)):
        return  # at the top of the function
    shape = None
    if spec.dynamic:
        shape = w.code.slot("[2 x i64]", 16)
        rows = w.number(op["valid_row"]) if spec.valid_row == DYNAMIC else spec.valid_row
        cols = w.number(op["valid_col"]) if spec.valid_col == DYNAMIC else spec.valid_col
        _set_valid(w, op, spec, shape, rows, cols)
    _place(w, op, address, shape)


def _place(w: Writer, op: Op, address: Num | None, shape: str | None) -> None:
    type = op.result.type
    assert isinstance(type, TileSpec)
    spec = w.settled.get(op.result, type)
    if address is None:
        start: Num = w.module.area(op, spec.nbytes)
    else:
        start = at_address(w, op, spec, address)
    w.set(op.result, Tile(start, spec, shape, address, op.result.name, stated=type))


def at_address(w: Writer, op: Op, spec: TileSpec, address: Num) -> Num:
    """Where a tile at an address of its buffer begins in the memory of the thread."""
    base = w.module.space(spec.loc)
    if isinstance(address, int):
        if any(True for _ in broken_placement(spec, address, w.target)):
            raise NotNativeError(op.name, "the tile does not fit at its address")
        return base + address
    checked = Checked(w)
    checked.need("sge", address, 0)
    checked.need("sle", address, w.target.capacity[spec.loc] - spec.nbytes)
    checked.need("eq", w.code.value(f"srem i64 {address}, {w.target.alignment}"), 0)
    w.refuse_if(checked.any(), op)
    return w.code.add(base, address)


def declare_tile(w: Writer, op: Op) -> None:
    spec = op.result.type
    assert isinstance(spec, TileSpec)
    shape = None
    if spec.dynamic:
        shape = w.code.slot("[2 x i64]", 16)
        w.code.store("i64", spec.rows if spec.valid_row == DYNAMIC else spec.valid_row, shape)
        w.code.store("i64", spec.cols if spec.valid_col == DYNAMIC else spec.valid_col, w.code.at(shape, 8))
    _place(w, op, None, shape)


def _set_valid(w: Writer, op: Op, spec: TileSpec, shape: str, rows: Num, cols: Num) -> None:
    checked = Checked(w)
    for n, limit in ((rows, spec.rows), (cols, spec.cols)):
        checked.need("sge", n, 0)
        checked.need("sle", n, limit)
    w.refuse_if(checked.any(), op)
    w.code.store("i64", rows, shape)
    w.code.store("i64", cols, w.code.at(shape, 8))


def set_validshape(w: Writer, op: Op) -> None:
    w.pending.flush()
    tile = w.get(op["tile"])
    if tile.shape is None:
        raise NotNativeError(op.name, "the type of the tile fixes its valid region")
    _set_valid(w, op, tile.type, tile.shape, w.number(op["valid_row"]), w.number(op["valid_col"]))


def tassign(w: Writer, op: Op) -> None:
    w.pending.flush()
    tile, address = w.get(op["tile"]), w.number(op["addr"])
    start = at_address(w, op, tile.spec, address)
    spec = tile.type if tile.parent is None else tile.spec
    shape = _copied(w, *valid(w, tile)) if spec.dynamic else None
    found = Tile(start, spec, shape, address, tile.name, stated=tile.type)
    w.set(op.result, found)


def treshape(w: Writer, op: Op) -> None:
    """treshape and bitcast: the same bytes as another type."""
    w.pending.flush()
    source, spec = w.get(op["src"]), op.result.type
    assert isinstance(spec, TileSpec)
    shape = None
    if spec.dynamic:
        rows, cols = valid(w, source)
        if (source.type.rows, source.type.cols) != (spec.rows, spec.cols):
            rows, cols = spec.rows, spec.cols
        shape = _copied(
            w,
            rows if spec.valid_row == DYNAMIC else spec.valid_row,
            cols if spec.valid_col == DYNAMIC else spec.valid_col,
        )
    w.set(op.result, Tile(source.start, spec, shape, source.address, op.result.name))


def subset(w: Writer, op: Op) -> None:
    """subset and subview: a window of a tile."""
    w.pending.flush()
    source, type = w.get(op["source"]), op.result.type
    assert isinstance(type, TileSpec)
    parent, memory = source.type, source.spec
    row, col = (w.number(v) for v in op.group("offsets"))
    if parent.dtype.packed:
        raise NotNativeError(op.name, "of a tile of 4-bit elements")
    checked = Checked(w)
    for at, limit, unit in (
        (row, parent.rows - type.rows, parent.box.rows),
        (col, parent.cols - type.cols, parent.box.cols),
    ):
        checked.need("sge", at, 0)
        checked.need("sle", at, limit)
        if unit > 1:
            checked.need("eq", at % unit if isinstance(at, int) else w.code.value(f"srem i64 {at}, {unit}"), 0)
    w.refuse_if(checked.any(), op)
    elements = element(w, memory, row, col)
    moved = w.code.mul(elements, memory.dtype.size)
    spec = windowed(memory, type)
    shape = None
    if type.dynamic:
        rows, cols = valid(w, source)
        given = op.get("valid_row"), op.get("valid_col")
        vr = w.code.sub(rows, row) if given[0] is None else w.number(given[0])
        vc = w.code.sub(cols, col) if given[1] is None else w.number(given[1])
        vr = _clipped(w, vr, type.rows) if type.valid_row == DYNAMIC else type.valid_row
        vc = _clipped(w, vc, type.cols) if type.valid_col == DYNAMIC else type.valid_col
        shape = _copied(w, vr, vc)
    address = None if source.address is None else w.code.add(source.address, moved)
    start = w.code.add(source.start, moved)
    w.set(op.result, Tile(start, spec, shape, address, op.result.name, source, row, col, type))


def element(w: Writer, spec: TileSpec, row: Num, col: Num) -> Num:
    """The offset of an element at the corner of a box."""
    code = w.code
    if not spec.boxed:
        pitch = (spec.cols, 1) if spec.row_major else (1, spec.rows)
        return code.add(code.mul(row, pitch[0]), code.mul(col, pitch[1]))
    if spec.rows == 1:
        return code.add(row, col)
    if isinstance(row, int) and isinstance(col, int):
        return int(element_offset(spec, row, col))
    ir, ic = spec.box
    per_row, per_col = (spec.cols, ir) if spec.row_major else (ic, spec.rows)
    # Whole boxes: a row of boxes has cols * ir elements, a column of them rows * ic.
    return code.add(code.mul(row, per_row), code.mul(col, per_col))


def _copied(w: Writer, rows: Num, cols: Num) -> str:
    shape = w.code.slot("[2 x i64]", 16)
    w.code.store("i64", rows, shape)
    w.code.store("i64", cols, w.code.at(shape, 8))
    return shape


def _least(w: Writer, n: Num, limit: int) -> Num:
    return min(n, limit) if isinstance(n, int) else w.code.value(f"call i64 @llvm.smin.i64(i64 {n}, i64 {limit})")


def _clipped(w: Writer, n: Num, limit: int) -> Num:
    n = _least(w, n, limit)
    return max(n, 0) if isinstance(n, int) else w.code.value(f"call i64 @llvm.smax.i64(i64 {n}, i64 0)")


def valid(w: Writer, tile: Tile) -> tuple[Num, Num]:
    """Rows and columns of the valid region."""
    spec = tile.spec
    if tile.shape is None:
        return spec.valid_row, spec.valid_col
    rows: Num = spec.valid_row
    cols: Num = spec.valid_col
    if rows == DYNAMIC:
        rows = w.code.load("i64", tile.shape)
    if cols == DYNAMIC:
        cols = w.code.load("i64", w.code.at(tile.shape, 8))
    return rows, cols


def meets(a: Tile, b: Tile) -> bool:
    """True if two tiles may share bytes."""
    x, y = a.span, b.span
    return x is None or y is None or (x[0] < y[1] and y[0] < x[1])


METHODS: dict[str, Callable[[Writer, Op], None]] = {
    "pto.alloc_tile": alloc_tile,
    "pto.declare_tile": declare_tile,
    "pto.tassign": tassign,
    "pto.treshape": treshape,
    "pto.bitcast": treshape,
    "pto.subset": subset,
    "pto.subview": subset,
    "pto.set_validshape": set_validshape,
}
