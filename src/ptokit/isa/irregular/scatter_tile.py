"""TSCATTER: elements to places in a tile, by index or by mask (compute-layout-irregular 2.4)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ptokit.types.enums import MaskAxis, MaskPattern

from ..element_positions import alike, in_range
from ..machine import Machine, TileOperand
from ..site import Site
from ..table import Access, Instr, dst, instruction, src
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
    rows, cols = (dst.vr, dst.vc) if idx is None and not m.target.is_device else (dst.spec.rows, dst.spec.cols)
    if idx is None:
        assert mask is not None
        x = src.read()
        out = np.zeros((len(x), rows, cols), x.dtype)
        if axis is MaskAxis.Col:
            out[:, mask.first : mask.first + mask.period * src.vr : mask.period, : src.vc] = x
        else:
            out[:, : src.vr, mask.first : mask.first + mask.period * src.vc : mask.period] = x
    else:
        x, places = alike(src.read(idx.vr, idx.vc), idx.read().astype(np.int64))
        good = in_range(m, "TSCAT-COM-04", places, rows * cols, "index")
        out = np.zeros((len(x), rows * cols), x.dtype)
        for block, (values, where, kept) in enumerate(zip(x, places, good)):
            out[block, where[kept]] = values[kept]  # of equal places the last one counts
        out = out.reshape(len(x), rows, cols)
    dst.write(out, rows, cols)


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
        syntax="dps-comma",
        rules=(*RULES, TSCATTER_AS_01),
        run=_scatter,
        footprint=_footprint,
        source="compute-layout-irregular 2.4",
    )
)
