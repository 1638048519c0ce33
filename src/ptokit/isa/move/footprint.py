"""What TMOV, TEXTRACT and TINSERT read and write, beyond the valid regions too.

Regions are rows and columns of the tile types. Where a path addresses memory in its own way the smallest rectangle
that covers its bytes is given.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ptokit.targets import A2A3, A5
from ptokit.types.enums import AccToVecMode, CompactMode, TileType
from ptokit.types.tensor import ConvSpec

from ..meaning.matrices import DUAL, column_block, drained_columns, first_part
from ..site import UNKNOWN, ScalarInfo, Site, Size, TileInfo, known, least
from ..table import Access
from .checks import (
    IN_LINES,
    MX_SCALES,
    Acc,
    Bias,
    Mat,
    Scaling,
    Vec,
    home,
    is_line,
    nz_pitch,
    optional,
    pair,
    scratch,
    up,
    words,
)

# What the movement instructions read and write, beyond the valid regions too (move-gather-scatter 4.12, end).


def access(operand: str, write: bool, rows: Size, cols: Size, row: Size = 0, col: Size = 0) -> Access:
    """An `Access` whose sizes the caller may not know yet."""
    return Access(operand, write, rows, cols, row, col)  # type: ignore[arg-type]


def both(rows: Size, cols: Size) -> Iterator[Access]:
    """The same region of source and destination."""
    yield access("src", False, rows, cols)
    yield access("dst", True, rows, cols)


def move_footprint(o: Site) -> Iterator[Access]:
    """TMOV and TMOV_FP: reads first."""
    source, target = o.src.loc, home(o.dst)
    if source is Acc:
        yield from acc_footprint(o, o.src.vr, o.src.vc, whole=True)
    elif scratch(o) is not None:
        yield from _zz(o)
    elif not o.target.is_device:
        yield from both(o.src.vr, o.src.vc)
    elif target in (Bias, Scaling):
        yield access("src", False, 1, o.src.cols)
        yield access("dst", True, 1, o.dst.cols)
    elif source is Mat:
        yield from both(*operand_extent(o))
    elif target is Mat:
        yield from vec_to_mat_footprint(o)
    else:
        yield from _vec(o)


def operand_extent(o: Site) -> tuple[Size, Size]:
    """Rows and columns that go into an operand buffer: all, or for compact tiles the valid ones rounded up (4.7)."""
    d: TileInfo = o.dst
    if d.compact is not CompactMode.Normal:
        return d.rows, d.cols
    if home(d) in MX_SCALES:
        return (up(d.vr, 16), d.vc) if home(d) is TileType.ScaleLeft else (d.vr, up(d.vc, 16))
    turned = o.target.is_device and o.src.slayout is not d.slayout
    step = max(16, d.c0) if turned else 16
    rows, cols = (step, step if turned else d.c0) if d.loc is TileType.Left else (step if turned else d.c0, step)
    return least(up(d.vr, rows), d.rows), least(up(d.vc, cols), d.cols)


def _vec(o: Site) -> Iterator[Access]:
    """Vec to Vec: whole 32-byte blocks on a2a3, exact on a5; ND to Nz goes by the source's rows (4.2 to 4.4)."""
    s, d = o.src, o.dst
    rows, cols = least(s.vr, d.vr), least(s.vc, d.vc)
    if o.target.is_a(A2A3):
        yield from both(rows, least(up(cols, s.c0), d.cols))
    elif s.layout_name == "ND" and d.layout_name == "Nz":
        yield access("src", False, s.vr, d.vc)
        exact = nz_pitch(d.spec, d.vr)
        if known(exact) and exact == d.rows:
            yield access("dst", True, s.vr, d.vc)
        else:
            yield access("dst", True, d.rows, d.cols)
    elif s.layout_name == "ND" and d.layout_name == "Zn":
        yield access("src", False, d.vr, d.vc)
        packed = known(d.vc) and d.vc == d.cols
        yield access("dst", True, d.vr if packed else d.rows, d.cols)
    else:
        yield from both(rows, cols)


def _zz(o: Site) -> Iterator[Access]:
    """X to Zz: whole boxes, the cleared rows of the source, and the scratch tile (4.5)."""
    s, d = o.src, o.dst
    if o.grp_axis == 0:
        yield access("src", False, s.vr, s.vc)
        yield from _boxes(d, s.vc, s.vr)
        return
    rows = up(d.vr, 16)
    yield access("src", False, d.vr, d.vc)
    yield from _boxes(d, rows, d.vc)
    if o.target.is_a(A5):
        third = "tmp" if o.has("tmp") else "fp"
        yield access("src", True, least(rows, s.rows) - d.vr, d.vc, d.vr)
        yield access(third, True, o.operands[third].rows, o.operands[third].cols)  # type: ignore[union-attr]


def _boxes(d: TileInfo, rows: Size, cols: Size) -> Iterator[Access]:
    """Rows of boxes of a Zz tile, packed for `cols` columns."""
    if known(cols) and cols == d.cols:
        yield access("dst", True, least(rows, d.rows), cols)
    else:
        lines = up(rows * cols, 16 * d.cols) // d.cols
        yield access("dst", True, least(lines, d.rows), d.cols)


def vec_to_mat_footprint(o: Site, at: tuple[Any, Any] = (0, 0)) -> Iterator[Access]:
    """Vec to Mat from (row, col) `at`: whole blocks; an ND source is read and written as one line (4.6)."""
    s, d = o.src, o.dst
    if s.layout_name == "Nz":
        rows, cols = up(d.vr, 16), up(d.vc, s.c0)
        agree = d.layout_name == "Nz" and known(rows) and rows == d.rows and (s.fractal, d.fractal) == (512, 512)
        if not agree or at != (0, 0):
            yield access("src", False, s.rows, s.cols)
            yield access("dst", True, d.rows, d.cols)
        else:
            yield from both(least(rows, s.rows), least(cols, d.cols))
        return
    first, total = at[0] * s.vc + at[1], d.vr * d.vc
    row = first // s.cols
    yield access("src", False, least(up(first + total, s.cols) // s.cols, s.rows) - row, s.cols, row)
    yield from line_footprint(d, 0, total)


def line_footprint(d: TileInfo, first: Size, count: Size) -> Iterator[Access]:
    """Consecutive elements of the destination, in its lines of memory."""
    pitch = d.cols if d.row_major else d.rows
    line, limit = first // pitch, d.rows if d.row_major else d.cols
    lines = least(up(first + count, pitch) // pitch, limit) - line
    if d.boxed:
        yield access("dst", True, d.rows, d.cols)
    elif d.row_major:
        yield access("dst", True, lines, pitch, line)
    else:
        yield access("dst", True, pitch, lines, 0, line)


def _second_core(mode: AccToVecMode, rows: Size, cols: Size, to: tuple[Any, Any]) -> Iterator[Access]:
    """What goes to vector sub-core 1."""
    if mode in DUAL:
        r, c = first_part(mode, rows, cols)
        rows, cols = (rows - r, cols) if mode is AccToVecMode.DualModeSplitM else (rows, cols - c)
    yield Access("dst", True, rows, cols, to[0], to[1], sub=1)  # type: ignore[arg-type]


def acc_footprint(
    o: Site, rows: Size, cols: Size, at: tuple[Any, Any] = (0, 0), to: tuple[Any, Any] = (0, 0), *, whole: bool = False
) -> Iterator[Access]:
    """A region of an accumulator, from (row, col) `at` to `to`: an Nz destination receives whole column blocks, and of
    a `whole` accumulator all its rows (4.12)."""
    d: TileInfo = o.dst
    mode = optional(o, "mode")
    yield access("src", False, rows, cols, *at)
    fp = words(o)
    if fp is not None:
        yield access("fp", False, 1, least(drained_columns(d, o.target, cols, mode), fp.cols), 0, at[1])
    boxed = o.target.is_device and d.layout_name == "Nz"
    if boxed:
        rows = least(o.src.rows if whole else rows, d.rows - to[0])
        cols = least(drained_columns(d, o.target, cols, mode), d.cols - to[1])
    if mode in DUAL or mode is AccToVecMode.SingleModeVec1:
        yield from _second_core(mode, rows, cols, to)
    rows, cols = first_part(mode, rows, cols)
    if mode is AccToVecMode.SingleModeVec1:
        return
    if boxed and column_block(d, o.target) != d.box.cols:  # blocks run across the boxes of the type
        rows, cols, to = d.rows, d.cols, (0, 0)
    yield access("dst", True, rows, cols, *to)


# What TEXTRACT reads and writes (compute-layout-irregular 1.3).


def position(o: Site, row: str = "row", col: str = "col") -> tuple[Any, Any]:
    """Constant indices of a window, UNKNOWN otherwise."""
    infos = (o.operands[row], o.operands[col])
    values = [i.value if isinstance(i, ScalarInfo) else UNKNOWN for i in infos]
    return values[0], values[1]


def extract_footprint(o: Site) -> Iterator[Access]:
    """The window, and what arrives: whole operand tiles, whole column blocks of accumulators."""
    s, d = o.src, o.dst
    at = position(o)
    if s.loc is Acc:
        if optional(o, "mode") in DUAL:
            yield from acc_footprint(o, s.vr, s.vc, at)
        else:
            yield from acc_footprint(o, d.vr, d.vc, at)
        return
    if o.target.is_a(A5) and pair(o) == (Vec, Mat):
        yield from vec_to_mat_footprint(o, at)
        return
    rows, cols = operand_extent(o) if o.target.is_device and s.loc is Mat else (d.vr, d.vc)
    if isinstance(s.spec, ConvSpec):
        yield access("src", False, s.rows, s.cols)
    else:
        yield access("src", False, rows, cols, *at)
    yield access("dst", True, rows, cols)


def pair_footprint(o: Site) -> Iterator[Access]:
    """Both windows, then both destinations."""
    for k in "01":
        d: TileInfo = o.operands[f"dst{k}"]  # type: ignore[assignment]
        yield access("src", False, d.vr, d.vc, *position(o, f"row{k}", f"col{k}"))
    for k in "01":
        d = o.operands[f"dst{k}"]  # type: ignore[assignment]
        yield access(f"dst{k}", True, d.vr, d.vc)


# What TINSERT reads and writes (compute-layout-irregular 1.4).


def insert_footprint(o: Site) -> Iterator[Access]:
    """The window; accumulators come with all their rows, Nz and Zn transfers in whole blocks."""
    s, d = o.src, o.dst
    to = position(o)
    if s.loc is Acc:
        yield from acc_footprint(o, s.vr, s.vc, (0, 0), to, whole=True)
        return
    rows, cols = s.vr, s.vc
    if o.target.is_a(A5) and pair(o) == (Vec, Mat):
        if s.layout_name in IN_LINES and (d.boxed or is_line(s, d)):
            span = up(rows * cols, d.c0) if is_line(s, d) else (rows - 1) * d.cols + cols
            yield access("src", False, s.rows, s.cols)
            yield from line_footprint(d, to[0] * d.cols + to[1], span)
            return
        if d.layout_name == "Nz":
            cols = up(cols, d.c0)
            rows = up(rows, 16) if o.split is not None else rows
        elif d.layout_name == "Zn":
            rows = up(rows, d.c0)
    elif o.target.is_a(A2A3) and pair(o) == (Vec, Vec):
        cols = up(cols, d.c0)
    yield access("src", False, rows, cols)
    yield access("dst", True, rows, cols, *to)
