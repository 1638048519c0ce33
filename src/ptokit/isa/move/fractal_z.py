"""Convolution weights as the right operand of a product: FRACTAL_Z tiles seen as a matrix (compute-layout-irregular
1.3, types-and-layouts 8).

The rows are filter positions and channels, the columns the filters; C0 rows lie together.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ptokit.types.conv import ConvSpec
from ptokit.types.enums import Layout

from ..machine import TileOperand
from ..meaning.moving import stored
from ..numerics.rounding import as_values
from ..site import Site, TileInfo
from .move_checks import Message, outside
from .move_facts import (
    Mat,
    Right,
    pair,
)


def is_conv(t: TileInfo) -> bool:
    """True for a convolution tile."""
    return isinstance(t.spec, ConvSpec)


def extent(spec: ConvSpec) -> tuple[int, int]:
    """Rows and columns of the matrix; dimensions are (C1HW, N/16, 16, C0) or (C1, H, W, N, C0)."""
    filters = spec.dims[1] * spec.dims[2] if len(spec.dims) == 4 else spec.dims[3]
    return spec.numel // filters, filters


def weights(tile: TileOperand, row: int, col: int, rows: int, cols: int) -> np.ndarray:
    """The window [row, row + rows) x [col, col + cols) of the matrix."""
    assert isinstance(tile.spec, ConvSpec)
    c0, filters = tile.spec.dims[-1], extent(tile.spec)[1]
    k, n = row + np.arange(rows)[:, None], col + np.arange(cols)[None, :]
    return as_values(stored(tile)[:, (k // c0 * filters + n) * c0 + k % c0], tile.spec.dtype)


def refused(o: Site, at: tuple[Any, Any] = (0, 0)) -> Message:
    """What keeps the window of a convolution tile at `at` from being moved; None for other sources."""
    spec = o.src.spec
    if not isinstance(spec, ConvSpec):
        return None
    if pair(o) != (Mat, Right) or o.dst.layout_name != "Zn":
        return f"a convolution tile goes to a right tile in Zn, not to {o.dst.loc.text} {o.dst.layout_name}"
    if spec.layout not in (Layout.FRACTAL_Z, Layout.FRACTAL_Z_3D) or len(spec.dims) not in (4, 5):
        return f"{o:src} is a convolution tile of layout {spec.layout.name}; FRACTAL_Z is moved"
    if min(spec.dims) < 1:
        return f"{o:src} is a convolution tile of {'x'.join(map(str, spec.dims))} elements"
    return outside(at, (o.dst.vr, o.dst.vc), extent(spec))
