"""Copies from tile to tile, of all of them or of windows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ptokit.isa.meaning.expressions import Axis as Coordinates
from ptokit.isa.meaning.expressions import Element, Extent, Index
from ptokit.isa.meaning.footprint import size_at
from ptokit.isa.meaning.words import Move
from ptokit.isa.site import Site
from ptokit.plan.steps import Step

from .code import Num
from .moves import Axis, Nest, address_of, copy, pads, source_axes, tile_axes, together
from .tiles import element, meets
from .values import Standing, Tile, View
from .views import Checked

if TYPE_CHECKING:
    from .function import Writer


Axes = tuple[list[Axis], list[Axis]]
"""Of rows and of columns, as `moves` has them."""

Corner = tuple[Num, Num]
"""The row and column where a window begins."""


def write(w: Writer, step: Step, site: Site, operands: dict[str, Any]) -> bool:
    """True if native code has been written for a copy."""
    move = site.instr.meaning_at(site)
    if not isinstance(move, Move) or not isinstance(move.value, Element) or move.combine:
        return False
    dst, src = operands.get(move.dst), operands.get(move.value.name)
    if not isinstance(dst, Tile) or not isinstance(src, Tile) or meets(dst, src):
        return False
    rows, cols = size_at(move.rows, site), size_at(move.cols, site)
    if not isinstance(rows, int) or not isinstance(cols, int):
        return False
    if pads(site, dst, move) or dst.spec.dtype.size != src.spec.dtype.size:
        return False
    if rows > min(dst.spec.rows, src.spec.rows) or cols > min(dst.spec.cols, src.spec.cols):
        return False
    begin, start = _corner(w, step, move.to), _corner(w, step, move.value.at)
    to = tile_axes(dst, rows, cols)
    own = _nests(to, tile_axes(src, rows, cols))
    if own is None or begin is None or start is None:
        return False
    checked = Checked(w)
    _inside(checked, dst, begin, (rows, cols))
    _inside(checked, src, start, (rows, cols))
    if "true" in checked.wrong:
        return False
    w.pending.flush()
    w.check(step)

    source = w.stands_for.get(src.start) or Standing(src, step[move.value.name], lambda: None)
    if begin == start == (0, 0) and (nests := _nests(to, source_axes(w, source.what, rows, cols))) is not None:

        def made() -> None:
            _copy(w, dst, source.what, (begin, start), nests)

        if w.stands(step, dst, source._replace(copy=made)):
            return True
    w.stands_for.pop(dst.start, None)
    w.settle(src)
    with w.unless(checked.any(), step, reads=False):
        _copy(w, dst, src, (begin, start), own)
    if begin == (0, 0):
        w.overwrite(dst, rows, cols)
    return True


def _nests(to: Axes | None, frm: Axes | None) -> tuple[Nest, Nest] | None:
    """The loops over rows and columns of both."""
    if to is None or frm is None:
        return None
    by_row, by_col = together(to[0], frm[0]), together(to[1], frm[1])
    return None if by_row is None or by_col is None else (by_row, by_col)


def _copy(w: Writer, dst: Tile, source: Tile | View, corners: tuple[Corner, Corner], nests: tuple[Nest, Nest]) -> None:
    begin, start = corners
    if isinstance(source, Tile):
        w.touch(source)
    frm = _address(w, source, start) if isinstance(source, Tile) else address_of(w, source)
    copy(w, _address(w, dst, begin), frm, dst.spec.dtype.size, *nests)


def _corner(w: Writer, step: Step, at: Index) -> Corner | None:
    """Where a window begins; None of what is no window."""
    found: list[Num] = []
    for axis, own in ((at.row, Coordinates(i=1, plus=at.row.plus)), (at.col, Coordinates(j=1, plus=at.col.plus))):
        if axis != own:
            return None
        match axis.plus:
            case int(number):
                found.append(number)
            case Extent(name, "value"):
                found.append(w.number(step[name]))
            case _:
                return None
    return found[0], found[1]


def _inside(checked: Checked, tile: Tile, corner: Corner, size: tuple[int, int]) -> None:
    """A window lies in its tile and begins with a box; Python sees to all others."""
    spec = tile.spec
    for at, n, limit, unit in zip(corner, size, (spec.rows, spec.cols), (spec.box.rows, spec.box.cols)):
        checked.need("sge", at, 0)
        checked.need("sle", at, limit - n)
        if spec.boxed and unit > 1:
            checked.need("eq", at % unit if isinstance(at, int) else checked.w.code.value(f"srem i64 {at}, {unit}"), 0)


def _address(w: Writer, tile: Tile, corner: Corner) -> str:
    start = address_of(w, tile)
    return w.code.at(start, w.code.mul(element(w, tile.spec, *corner), tile.spec.dtype.size))
