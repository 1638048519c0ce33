"""What TEXTRACT reads and writes (compute-layout-irregular 1.3)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ptokit.targets import A5
from ptokit.types.conv import ConvSpec

from ..meaning.drains import DUAL
from ..site import ScalarInfo, Site, TileInfo
from ..table import Access
from ..unknown import UNKNOWN
from .move_facts import (
    Acc,
    Mat,
    Vec,
    optional,
    pair,
)
from .move_footprint import acc_footprint, access, operand_extent, vec_to_mat_footprint


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
