"""Convolution tiles: the C++ template ``ConvTile`` (types-and-layouts 8)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ptokit.types.dtypes import DType
from ptokit.types.enums import Layout, TileType
from ptokit.types.tensor import conv_tile

from . import rules
from .tiles import Tile
from .where import refusal


def ConvTile(
    loc: TileType, dtype: DType, buffer_bytes: int | None, layout: Layout, shape: Sequence[int], *, addr: Any = None
) -> Tile:
    """A tile of 1 to 6 dimensions for convolutions; parameters in the order of the C++ template.

    ``layout``: NC1HWC0, NDC1HWC0, FRACTAL_Z or FRACTAL_Z_3D; ``shape``: outermost first, in elements, stored densely;
    ``buffer_bytes``: bytes of the buffer, None for as many as the shape needs. As a tile it has one row: ``numpy()``
    gives it flat. Raises `DiagnosticError` (LANG-TILE).
    """
    try:
        if not isinstance(dtype, DType) or not isinstance(layout, Layout):
            raise ValueError(f"{dtype!r} and {layout!r} are not an element type and a layout")
        if not all(isinstance(n, int) and n > 0 for n in shape):
            raise ValueError(f"the sizes {tuple(shape)!r} are not all positive integers")
        spec = conv_tile(TileType(loc), dtype, layout, tuple(shape), buffer_bytes=buffer_bytes)
    except (ValueError, TypeError) as wrong:
        raise refusal(rules.TILE, f"ConvTile: {wrong}") from None
    tile = Tile.__new__(Tile)
    tile._allocate(spec, [None, None], addr)
    return tile
