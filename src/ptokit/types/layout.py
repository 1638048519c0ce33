"""Where an element of a tile lives: (row, col) → element offset (types-and-layouts 6).

Two views of the same formula: `element_offset` for single coordinates or arrays of them, and `block_shape`/`block_axes`
to see a tile's storage as a strided array without an index per element.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from .tile import TileSpec


def element_offset(spec: TileSpec, row: Any, col: Any) -> Any:
    """Element offset of (row, col) from the tile's base; accepts integers or integer arrays.

    The unit is elements (nibbles for packed 4-bit types). Source: types-and-layouts 6.
    """
    if not spec.boxed:
        return row * spec.cols + col if spec.row_major else col * spec.rows + row
    ir, ic = spec.box
    if spec.rows == 1 and spec.slayout.name == "RowMajor":
        return col + row  # one row is stored contiguously (GEMV operands, reduce-matrix GEMV-COM-02)
    br, r, bc, c = row // ir, row % ir, col // ic, col % ic
    inside = r * ic + c if spec.slayout.name == "RowMajor" else c * ir + r
    if spec.row_major:
        return br * spec.cols * ir + bc * ir * ic + inside
    return bc * spec.rows * ic + br * ir * ic + inside


@lru_cache(maxsize=4096)
def windowed(parent: TileSpec, window: TileSpec) -> TileSpec:
    """The type for memory of a window of a tile: as large as its parent, from whose corner rows are counted.

    Where rows (columns, if these lie one behind the other) are as long as those of the parent, it is no larger than the
    window, as the assembler declares it. Source: assembler, resolution of tile views.
    """
    same = parent.cols == window.cols if parent.row_major else parent.rows == window.rows
    return replace(window, rows=window.rows if same else parent.rows, cols=window.cols if same else parent.cols)


@lru_cache(maxsize=512)
def offset_map(spec: TileSpec) -> np.ndarray:
    """Offsets of all elements as an int64 array of shape (rows, cols); do not modify it."""
    r = np.arange(spec.rows, dtype=np.int64)[:, None]
    c = np.arange(spec.cols, dtype=np.int64)[None, :]
    out = np.broadcast_to(element_offset(spec, r, c), (spec.rows, spec.cols))
    out = np.ascontiguousarray(out)
    out.flags.writeable = False
    return out


def regular(spec: TileSpec) -> bool:
    """True if the storage is a dense array of whole boxes, so that `block_shape` describes it."""
    ir, ic = spec.box
    return not spec.dtype.packed and spec.rows % ir == 0 and spec.cols % ic == 0 and not (spec.boxed and spec.rows == 1)


@lru_cache(maxsize=512)
def block_shape(spec: TileSpec) -> tuple[tuple[int, int, int, int], tuple[int, int, int, int]]:
    """Storage of a `regular` tile as a 4-D array.

    Returns ``(shape, axes)``: reshaping the storage to ``shape`` and transposing by ``axes`` gives the array
    [block row, row in box, block col, col in box], which reshapes to (rows, cols).
    """
    ir, ic = spec.box
    rows, cols = spec.rows // ir, spec.cols // ic
    inner_row_major = spec.slayout.name != "ColMajor"
    if not spec.boxed:
        return (
            ((spec.rows, 1, spec.cols, 1), (0, 1, 2, 3))
            if spec.row_major
            else ((spec.cols, 1, spec.rows, 1), (2, 1, 0, 3))
        )
    outer = (rows, cols) if spec.row_major else (cols, rows)
    inner = (ir, ic) if inner_row_major else (ic, ir)
    br, bc = (0, 1) if spec.row_major else (1, 0)
    r, c = (2, 3) if inner_row_major else (3, 2)
    return (*outer, *inner), (br, r, bc, c)
