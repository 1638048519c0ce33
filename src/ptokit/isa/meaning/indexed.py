"""NumPy forms of gathers and scatters by an index tile."""

from __future__ import annotations

import numpy as np

from ..element_positions import flat, for_all_blocks, in_range
from ..machine import Machine, TileOperand


def gather_tile(m: Machine, dst: TileOperand, src: TileOperand, index: TileOperand, rule: str) -> None:
    """Elements of a tile; an index out of range is refused on devices, and gives 0 elsewhere."""
    if not (dst.vr and dst.vc):
        return
    places = index.read(dst.vr, dst.vc).astype(np.int64)
    values = flat(src)
    good = in_range(m, rule, places, values.shape[1], "index")
    values, where = for_all_blocks(values, np.where(good, places, 0).reshape(len(places), -1))
    found = np.take_along_axis(values, where, axis=1).reshape(-1, dst.vr, dst.vc)
    dst.write(np.where(good, found, np.zeros((), found.dtype)), dst.vr, dst.vc)


def scatter_tile(m: Machine, dst: TileOperand, src: TileOperand, index: TileOperand, rule: str) -> None:
    """0 everywhere in a tile, then elements at their places; one out of range is refused on devices, or left out."""
    rows, cols = dst.spec.rows, dst.spec.cols
    x, places = for_all_blocks(src.read(index.vr, index.vc), index.read().astype(np.int64))
    good = in_range(m, rule, places, rows * cols, "index")
    out = np.zeros((len(x), rows * cols), x.dtype)
    for block, (values, where, kept) in enumerate(zip(x, places, good)):
        out[block, where[kept]] = values[kept]  # of equal places the last one counts
    dst.write(out.reshape(len(x), rows, cols), rows, cols)
