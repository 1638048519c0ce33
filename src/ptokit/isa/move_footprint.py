"""What the movement instructions read and write, beyond the valid regions too (move-gather-scatter 4.12, end).

Regions are rows and columns of the tile types. Where a path addresses memory in its own way the smallest rectangle
that covers its bytes is given.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ptokit.types.enums import CompactMode, TileType

from .move_facts import (
    DUAL,
    MX_SCALES,
    Acc,
    Bias,
    Mat,
    Scaling,
    first_part,
    least,
    moved_columns,
    nz_pitch,
    optional,
    pair,
    scratch,
    up,
    words,
)
from .site import Site, TileInfo
from .table import Access
from .unknown import Size, known


def access(operand: str, write: bool, rows: Size, cols: Size, row: Size = 0, col: Size = 0) -> Access:
    """An `Access` whose sizes the caller may not know yet."""
    return Access(operand, write, rows, cols, row, col)  # type: ignore[arg-type]


def both(rows: Size, cols: Size) -> Iterator[Access]:
    """The same region of source and destination."""
    yield access("src", False, rows, cols)
    yield access("dst", True, rows, cols)


def move_footprint(o: Site) -> Iterator[Access]:
    """TMOV and TMOV_FP: reads first."""
    source, target = pair(o)
    if source is Acc:
        yield from acc_footprint(o, o.src.vr, o.src.vc)
    elif scratch(o) is not None:
        yield from _zz(o)
    elif o.target.name == "cpu":
        yield from both(o.src.vr, o.src.vc)
    elif target in (Bias, Scaling):
        yield access("src", False, 1, o.src.cols)
        yield access("dst", True, 1, o.dst.cols)
    elif source is Mat:
        yield from both(*operand_extent(o))
    elif target is Mat:
        yield from _vec_to_mat(o)
    else:
        yield from _vec(o)


def operand_extent(o: Site) -> tuple[Size, Size]:
    """Rows and columns that go into an operand buffer: all, or for compact tiles the valid ones rounded up (4.7)."""
    d: TileInfo = o.dst
    if d.compact is not CompactMode.Normal:
        return d.rows, d.cols
    if d.loc in MX_SCALES:
        return (up(d.vr, 16), d.cols) if d.loc is TileType.ScaleLeft else (d.rows, up(d.vc, 16))
    turned = o.target.name != "cpu" and o.src.slayout is not d.slayout
    step = max(16, d.c0) if turned else 16
    rows, cols = (step, step if turned else d.c0) if d.loc is TileType.Left else (step if turned else d.c0, step)
    return least(up(d.vr, rows), d.rows), least(up(d.vc, cols), d.cols)


def _vec(o: Site) -> Iterator[Access]:
    """Vec to Vec: whole 32-byte blocks on a2a3, exact on a5; ND to Nz goes by the source's rows (4.2 to 4.4)."""
    s, d = o.src, o.dst
    rows, cols = least(s.vr, d.vr), least(s.vc, d.vc)
    if o.target.name == "a2a3":
        yield from both(rows, least(up(cols, s.c0), d.cols))
    elif s.layout_name == "ND" and d.layout_name == "Nz":
        yield access("src", False, s.vr, d.vc)
        exact = nz_pitch(d.spec, d.vr)
        if known(exact) and exact == d.rows:
            yield access("dst", True, s.vr, d.vc)
        else:
            yield access("dst", True, d.rows, d.cols)
    else:
        yield from both(rows, cols)


def _zz(o: Site) -> Iterator[Access]:
    """X to Zz: whole boxes, the cleared rows of the source, and the scratch tile (4.5)."""
    s, d = o.src, o.dst
    third = "tmp" if o.has("tmp") else "fp"
    if o.grp_axis == 0:
        yield access("src", False, s.vr, s.vc)
        yield access("dst", True, d.vr, d.vc)
        return
    rows = up(d.vr, 16)
    yield access("src", False, d.vr, d.vc)
    yield access("dst", True, least(rows, d.rows), d.vc)
    if o.target.name == "a5":
        yield access("src", True, least(rows, s.rows) - d.vr, d.vc, d.vr)
        yield access(third, True, o.operands[third].rows, o.operands[third].cols)  # type: ignore[union-attr]


def _vec_to_mat(o: Site) -> Iterator[Access]:
    """Vec to Mat: whole blocks; an ND source is read and written as one line of elements (4.6)."""
    s, d = o.src, o.dst
    if s.layout_name == "Nz":
        yield from both(least(up(d.vr, 16), d.rows), least(up(d.vc, d.c0), d.cols))
        return
    total = d.vr * d.vc
    yield access("src", False, least(up(total, s.cols) // s.cols, s.rows), s.cols)
    if d.boxed:
        yield access("dst", True, d.rows, d.cols)
    elif d.row_major:
        yield access("dst", True, least(up(total, d.cols) // d.cols, d.rows), d.cols)
    else:
        yield access("dst", True, d.rows, least(up(total, d.rows) // d.rows, d.cols))


def acc_footprint(
    o: Site, rows: Size, cols: Size, at: tuple[Any, Any] = (0, 0), to: tuple[Any, Any] = (0, 0)
) -> Iterator[Access]:
    """A region of an accumulator, from (row, col) `at` to `to`: an Nz destination receives whole column blocks, and of
    a whole accumulator all its rows (4.12)."""
    d: TileInfo = o.dst
    mode = optional(o, "mode")
    yield access("src", False, rows, cols, *at)
    fp = words(o)
    if fp is not None:
        yield access("fp", False, 1, least(moved_columns(o, cols), fp.cols), 0, at[1])
    rows, cols = first_part(mode, rows, cols)
    if o.target.name != "cpu" and d.layout_name == "Nz":
        cols = least(moved_columns(o, cols), d.cols - to[1])
        if mode not in DUAL and known(rows, o.src.vr) and rows == o.src.vr:
            rows = least(o.src.rows, d.rows - to[0])
    yield access("dst", True, rows, cols, *to)
