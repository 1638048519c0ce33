"""What TINSERT reads and writes (compute-layout-irregular 1.4)."""

from __future__ import annotations

from collections.abc import Iterator

from ptokit.targets import A2A3, A5

from ..site import Site
from ..table import Access
from .extract_footprint import position
from .move_facts import (
    Acc,
    Mat,
    Vec,
    is_line,
    pair,
    up,
)
from .move_footprint import acc_footprint, access, line_footprint


def insert_footprint(o: Site) -> Iterator[Access]:
    """The window; accumulators come with all their rows, Nz and Zn transfers in whole blocks."""
    s, d = o.src, o.dst
    to = position(o)
    if s.loc is Acc:
        yield from acc_footprint(o, s.vr, s.vc, (0, 0), to)
        return
    rows, cols = s.vr, s.vc
    if o.target.is_a(A5) and pair(o) == (Vec, Mat):
        if s.layout_name == "ND" and (d.boxed or is_line(s, d)):
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
