"""`TileSpec`: the type of a tile, with every layout parameter, and where its elements lie (types-and-layouts 2, 3, 6).

Two views of the same formula: `element_offset` for single coordinates or arrays of them, and `block_shape`/`block_axes`
to see a tile's storage as a strided array without an index per element.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ptokit.records import dataclass

from .dtypes import HALVES, DType, int4, s4
from .enums import BLayout, CompactMode, PadValue, SLayout, TileType

# `TileSpec`: the type of a tile, with every layout parameter (types-and-layouts 2 and 3).


DYNAMIC = -1
"""A valid dimension, shape or stride that is only known at run time."""

CUSTOM_PAD = 0x1_0000_0000
"""Pad values from here on are custom: the low 32 bits are the bits to write (types-and-layouts 4)."""


_ROWS, _ROW_MAJOR = SLayout.RowMajor, BLayout.RowMajor  # looked up once: this is asked for every transfer


class Box(NamedTuple):
    """Inner box (fractal) in elements."""

    rows: int
    cols: int


@dataclass(frozen=True, slots=True)
class TileSpec:
    """Type of a tile buffer. Sizes count elements; ``fractal`` is the box size in bytes (512, 1024, 32).

    ``valid_row``/``valid_col`` are `DYNAMIC` where only the run knows them. ``pad`` is a `PadValue` number or a
    custom value, ``CUSTOM_PAD | bits``.
    """

    loc: TileType
    dtype: DType
    rows: int
    cols: int
    valid_row: int
    valid_col: int
    blayout: BLayout = BLayout.RowMajor
    slayout: SLayout = SLayout.NoneBox
    fractal: int = 512
    pad: int = PadValue.Null
    compact: CompactMode = CompactMode.Null

    @property
    def boxed(self) -> bool:
        """True if the elements are stored in fractals."""
        return self.slayout is not SLayout.NoneBox

    @property
    def row_major(self) -> bool:
        """True if rows (of boxes, where there are boxes) lie one after the other."""
        return self.blayout is BLayout.RowMajor

    @property
    def takes_rows(self) -> bool:
        """True if a view that fits ND and DN alike counts as ND where it meets this tile, else DN."""
        inner = self.slayout
        return inner is _ROWS if inner else self.blayout is _ROW_MAJOR  # SLayout.NoneBox is 0

    @property
    def c0(self) -> int:
        """Elements per 32-byte block."""
        return self.dtype.c0

    @property
    def box(self) -> Box:
        """Inner box (types-and-layouts 3, table "Inner box"); (1, 1) without boxes.

        The hardware keeps accumulators in boxes of 16x16, whatever size the type says (device suites say 512).
        """
        if not self.boxed:
            return Box(1, 1)
        if self.fractal == 1024 or self.loc is TileType.Acc:
            return Box(16, 16)
        inner = 2 if self.fractal == 32 else self.dtype.c0
        return Box(16, inner) if self.slayout is SLayout.RowMajor else Box(inner, 16)

    @property
    def layout_name(self) -> str:
        """ND, DN, Nz, Zn, Zz or Nn."""
        if not self.boxed:
            return "ND" if self.row_major else "DN"
        outer = "Z" if self.row_major else "N"
        return outer + ("z" if self.slayout is SLayout.RowMajor else "n")

    @property
    def numel(self) -> int:
        """Number of elements of the physical tile, valid or not."""
        return self.rows * self.cols

    @property
    def nbytes(self) -> int:
        """Footprint in bytes: the static extents, not the valid region (memory-model-and-sync 4)."""
        return self.dtype.nbytes(self.numel)

    @property
    def dynamic(self) -> bool:
        """True if a valid dimension is only known at run time."""
        return DYNAMIC in (self.valid_row, self.valid_col)

    @property
    def _place(self) -> str:
        """Where it lies, as text has it: scales of MX formats in ``scaling``, where their type and box say which."""
        return TileType.Scaling.text if scales(self) is self.loc else self.loc.text

    @property
    def _element(self) -> str:
        """Its element type, as text has it: in L0A and L0B the assembler has the pair, and counts numbers."""
        return (_PAIR_OF.get(self.dtype, self.dtype) if self.loc in COUNTING_NUMBERS else self.dtype).text

    def with_valid(self, rows: int, cols: int) -> TileSpec:
        """The same tile with other valid dimensions."""
        return replace(self, valid_row=rows, valid_col=cols)

    def __str__(self) -> str:
        """Canonical short form of the `.pto` type (assembly 3.3)."""
        text = f"!pto.tile_buf<{self._place}, {self.rows}x{self.cols}x{self._element}"
        if self.valid_row != self.rows or self.valid_col != self.cols:
            rows, cols = ("?" if v == DYNAMIC else v for v in (self.valid_row, self.valid_col))
            text += f", valid={rows}x{cols}"
        if self.blayout is not _ROW_MAJOR:
            text += f", blayout={self.blayout.text}"
        if self.slayout:  # SLayout.NoneBox is 0
            text += f", slayout={self.slayout.text}"
        if self.fractal != 512:
            text += f", fractal={self.fractal}"
        if self.pad:
            text += f", pad={int(self.pad)}"
        if self.compact:
            text += f", compact={int(self.compact)}"
        return text + ">"


COUNTING_NUMBERS = (TileType.Left, TileType.Right)
_PAIR_OF = {number: pair for pair, number in HALVES.items()}


def declared(spec: TileSpec) -> TileSpec:
    """The tile that a type with these sizes declares: those of pairs in L0A and L0B count numbers."""
    pairs = spec.dtype in HALVES and spec.loc in COUNTING_NUMBERS
    return replace(spec, dtype=HALVES[spec.dtype]) if pairs else spec


def numbers_in(spec: TileSpec) -> tuple[int, int]:
    """Rows and columns of numbers for each row and column of elements; of int4 the valid ones are numbers already."""
    return (1, 1) if spec.dtype is int4 else (1, 2) if spec.takes_rows else (2, 1)


def as_numbers(spec: TileSpec) -> TileSpec:
    """A tile of pairs of 4-bit floats, or of int4 in half of its bytes, as one of packed numbers: the same bytes."""
    rows, cols = numbers_in(spec)
    valid_row = spec.valid_row if spec.valid_row == DYNAMIC else spec.valid_row * rows
    valid_col = spec.valid_col if spec.valid_col == DYNAMIC else spec.valid_col * cols
    if spec.dtype is int4:
        return replace(spec, dtype=s4, cols=2 * spec.cols)
    dtype = HALVES[spec.dtype]
    return replace(
        spec, dtype=dtype, rows=spec.rows * rows, cols=spec.cols * cols, valid_row=valid_row, valid_col=valid_col
    )


def scales(spec: TileSpec) -> TileType | None:
    """The area of MX scales for which a tile has the type and box; None if it is for no scales."""
    if spec.dtype.name != "e8m0" or spec.fractal != 32:
        return None
    found = {"Zz": TileType.ScaleLeft, "Nn": TileType.ScaleRight}
    return found.get(spec.layout_name) if spec.boxed else None


def tile(
    loc: TileType,
    dtype: DType,
    rows: int,
    cols: int,
    valid_row: int | None = None,
    valid_col: int | None = None,
    **layout: object,
) -> TileSpec:
    """A `TileSpec` whose valid region defaults to the whole tile."""
    vr = rows if valid_row is None else valid_row
    vc = cols if valid_col is None else valid_col
    return TileSpec(loc, dtype, rows, cols, vr, vc, **layout)  # type: ignore[arg-type]


# Where an element of a tile lives: (row, col) → element offset (types-and-layouts 6).


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

    Where rows (columns, if these lie one after the other) are as long as those of the parent, it is no larger than the
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
