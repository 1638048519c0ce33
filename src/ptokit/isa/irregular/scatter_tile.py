"""TSCATTER: elements to places in a tile, by index or by mask (compute-layout-irregular 2.4)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ptokit.types.enums import MaskAxis, MaskPattern

from ..machine import Machine, TileOperand
from ..meaning.words import Outside, Python, Scatter, Word
from ..site import Site
from ..table import Access, Instr, TextForm, dst, instruction, src
from .gather_text_rules import TSCATTER_AS_01
from .gather_tile import AXIS, MASK
from .scatter_tile_rules import RULES


def _scatter(
    m: Machine,
    dst: TileOperand,
    src: TileOperand,
    idx: TileOperand | None = None,
    *,
    mask: MaskPattern | None,
    axis: MaskAxis,
) -> None:
    rows, cols = (dst.spec.rows, dst.spec.cols) if m.target.is_device else (dst.vr, dst.vc)
    assert mask is not None
    x = src.read()
    out = np.zeros((len(x), rows, cols), x.dtype)
    if axis is MaskAxis.Col:
        out[:, mask.first : mask.first + mask.period * src.vr : mask.period, : src.vc] = x
    else:
        out[:, : src.vr, mask.first : mask.first + mask.period * src.vc : mask.period] = x
    dst.write(out, rows, cols)


def _meaning(o: Site) -> Word:
    """By index it is a scatter; a mask is left to Python."""
    if not o.has("idx"):
        return Python(_scatter)
    return Scatter(Outside.REFUSED if o.target.is_device else Outside.LEFT_OUT, "TSCAT-COM-04")


def _footprint(o: Site) -> Iterator[Access]:
    yield Access("src", False, o.src.vr, o.src.vc)
    if o.has("idx"):
        yield Access("idx", False, o.idx.vr, o.idx.vc)
    yield Access("dst", True, o.dst.rows, o.dst.cols)


TSCATTER = instruction(
    Instr(
        "TSCATTER",
        "tscatter",
        "dst = 0, then the elements of src at the places that an index tile names or a mask selects.",
        (dst(), src(), src("idx", optional=True)),
        (MASK, AXIS),
        form=TextForm("dps-comma"),
        rules=(*RULES, TSCATTER_AS_01),
        meaning=_meaning,
        footprint=_footprint,
        source="compute-layout-irregular 2.4",
    )
)
