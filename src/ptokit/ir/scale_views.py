"""Slices of scales: two-dimensional views that hold them in groups of 16 x 2, as scaling tiles do.

The reference gives a view of scales that states no layout the one of the mat tiles that take its slices, and makes
a packed tensor of whole groups of each slice.
"""

from __future__ import annotations

from typing import NamedTuple

from ptokit.types.enums import BLayout, Layout, SLayout, TileType
from ptokit.types.tensor import SCALE_GROUPS, Dims5, base_shape_2d, tile_shape_2d
from ptokit.types.tile import DYNAMIC, TileSpec
from ptokit.types.values import PartitionView

from .core import Function, Op, Value

_VIEW = "pto.make_tensor_view"


class Packed(NamedTuple):
    """Sizes and strides in elements, and the layout of groups."""

    dims: Dims5
    strides: Dims5
    layout: Layout


def packed_slice(op: Op, function: Function) -> Packed | None:
    """What a partition_view of scales in groups of 16 x 2 gives; None for all others."""
    of = op.result.type
    source = op["source"].owner
    if not isinstance(of, PartitionView) or of.dtype.name != "e8m0" or len(of.dims) != 2 or DYNAMIC in of.dims:
        return None
    if not isinstance(source, Op) or source.name != _VIEW:
        return None
    layout = source.attrs.get("layout") or _of_tiles(op["source"], function)
    if layout not in SCALE_GROUPS:
        return None
    rows, cols = (-(-n // unit) * unit for n, unit in zip(of.dims, SCALE_GROUPS[layout]))
    return Packed(tile_shape_2d(of.dtype, rows, cols, layout), base_shape_2d(of.dtype, rows, cols, layout), layout)


def _of_tiles(view: Value, function: Function) -> Layout | None:
    """The one layout that all tiles loaded from slices of a view ask for."""
    if function.body is None:
        return None
    slices: set[Value] = {view}
    wanted: set[Layout] = set()
    for op in function.body.walk():
        if op.name == "pto.partition_view" and op["source"] in slices:
            slices.add(op.result)
        else:
            tile = op["dst"] if op.name == "pto.tload" and op["src"] in slices else None
            tile = op["src"] if op.name == "pto.tstore" and op["dst"] in slices else tile
            found = None if tile is None else _asked(tile.type)
            wanted |= set() if found is None else {found}
    return wanted.pop() if len(wanted) == 1 else None


def _asked(tile: object) -> Layout | None:
    if not isinstance(tile, TileSpec):
        return None
    if tile.loc is TileType.Vec:
        return Layout.ND  # or DN: no layout of scales
    if tile.loc is not TileType.Mat or tile.dtype.name != "e8m0":
        return None
    match (tile.blayout, tile.slayout):
        case (BLayout.RowMajor, SLayout.RowMajor) if tile.rows != 1:
            return Layout.MX_A_ZZ
        case (BLayout.ColMajor, SLayout.ColMajor):
            return Layout.MX_B_NN
    return None
