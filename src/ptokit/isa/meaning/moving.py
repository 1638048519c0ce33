"""NumPy forms of moves: regions of tiles set and filled, whatever their storage is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ptokit.targets import Target
from ptokit.types.codecs import pack_nibbles, unpack_nibbles
from ptokit.types.enums import Layout, TileType
from ptokit.types.layout import offset_map
from ptokit.types.tile import TileSpec

from ..machine import TileOperand, ViewOperand


def put(tile: TileOperand, values: np.ndarray, row: int = 0, col: int = 0) -> None:
    """Set the region at (row, col) to values (blocks or 1, r, c) that may belong to another tile."""
    if row or col:
        tile.patch(values, row, col)
    else:
        tile.write(values.copy() if tile.spec.boxed or tile.spec.dtype.packed else values, *values.shape[1:])


def as_kind(tile: TileOperand, values: np.ndarray) -> np.ndarray:
    """Elements of another type of the same width as those of the tile, bits unchanged."""
    kind = tile.spec.dtype.value or tile.spec.dtype.storage
    return values if values.dtype == kind else values.view(kind)


def fill(tile: TileOperand, row: int, end_row: int, col: int, end_col: int, bits: int) -> None:
    """Fill a region with one storage unit's bits; two different 4-bit halves alternate as the elements lie."""
    if not tile.spec.dtype.packed:
        tile.fill(row, end_row, col, end_col, bits)
    elif row < end_row and col < end_col:
        odd = offset_map(replace(tile.spec, valid_row=-1, valid_col=-1))[row:end_row, col:end_col] % 2 == 1
        tile.patch(np.where(odd, bits >> 4, bits & 0xF).astype(np.uint8)[None], row, col)


def lines(view: ViewOperand, tile: TileOperand, target: Target) -> tuple[ViewOperand, int, int]:
    """A view as a transfer visits it, and the rows and columns of the tile that it moves.

    Of vec tiles devices move all lines of the view, each as long as the valid region.
    """
    layout = view.layout_for(tile.spec.takes_rows)
    if target.templates and tile.spec.loc is TileType.Vec and tile.spec.layout_name == "Nz":
        return view.with_layout(Layout.NZ), tile.vr, tile.vc
    if not by_lines(tile.spec, layout, target) or 0 in (tile.vr, tile.vc):
        return view, tile.vr, tile.vc
    rows, cols = view.extent(layout)
    if (rows, cols) == (tile.vr, tile.vc):
        return view, rows, cols
    gaps = target.transfers_state_gaps
    if layout is Layout.ND:
        return view.with_lines(4, tile.vc, gaps=gaps), rows, tile.vc
    return view.with_lines(3, tile.vr, gaps=gaps), tile.vr, cols


def by_lines(spec: Any, layout: Layout | None, target: Target) -> bool:
    """True if transfers between the tile and a view of this layout move lines of the view."""
    if not target.is_device or not isinstance(spec, TileSpec) or spec.loc is not TileType.Vec or spec.boxed:
        return False
    return layout is (Layout.ND if spec.row_major else Layout.DN)


def store(
    view: ViewOperand, values: np.ndarray, row_major: bool, blocks: int, combine: Callable[..., Any] | None
) -> None:
    """Write values of the width of the view's elements, or combine them with those that are there."""
    layout = view.layout_for(row_major)
    kind = view.dtype.value or view.dtype.storage
    values = values if values.dtype == kind else values.view(kind)
    if combine is None:
        view.store(values, layout)
    else:
        view.update(values, layout, combine, blocks)


def window(tile: TileOperand, row: int, col: int, rows: int, cols: int) -> np.ndarray:
    """Values of [row, row + rows) x [col, col + cols) of the physical tile; not to be modified."""
    values = tile.read(row + rows, col + cols)
    return values[:, row:, col:] if row or col else values


def stored(tile: TileOperand) -> np.ndarray:
    """A copy of the elements' codes as they lie in memory: (blocks, rows * cols)."""
    raw = tile.raw()
    return unpack_nibbles(raw) if tile.spec.dtype.packed else raw.view(tile.spec.dtype.storage).copy()


def store_at(tile: TileOperand, offsets: Any, codes: np.ndarray) -> None:
    """Set the elements at `offsets` (an array or slice, in elements) to codes (blocks or 1, *offsets.shape)."""
    raw = tile.raw()
    if tile.spec.dtype.packed:
        elements = unpack_nibbles(raw)
        elements[:, offsets] = codes
        raw[...] = pack_nibbles(elements)
    else:
        raw.view(tile.spec.dtype.storage)[:, offsets] = codes


def codes_of(values: np.ndarray, tile: TileOperand) -> np.ndarray:
    """Values of the tile's type as codes of its storage type."""
    return values.view(tile.spec.dtype.storage) if values.dtype != tile.spec.dtype.storage else values
