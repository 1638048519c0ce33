"""Matrices at pointers: where their elements lie, what a fix-pipe makes of them, reading and writing with NumPy."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from ptokit.records import dataclass
from ptokit.targets import A5, Target
from ptokit.types.codecs import decode, pack_nibbles, unpack_nibbles
from ptokit.types.dtypes import DType
from ptokit.types.enums import AccToVecMode

from ..machine import Combine, Machine, Row

Reader = Callable[[Machine, Mapping[str, Any]], np.ndarray]


@dataclass(frozen=True, slots=True)
class Matrix:
    """A matrix in memory: `rows` by `cols` elements of type `dtype` at pointer operand `pointer`, or `name`.

    Element (r, c) begins ``first + r // band * band_step + r % band * row + c // block * step`` bytes after it, and
    after that come the ``c % block`` elements before it. A `block` or `band` of 0 is all columns or rows. So rows in
    global memory have one block; fractals have blocks of 32 bytes in rows of 32 bytes; columns have blocks of one.

    ``turned``: words that name [i, j] mean row j and column i. ``needed``: the first rows and columns that results
    depend on, where whole fractals are moved. ``scales``: the matrix lies in the memory of the scales of the buffer, at
    the address of the pointer shifted to the right by so many bits. ``space``, ``address``: a place without a pointer.
    """

    name: str
    dtype: DType
    rows: int
    cols: int
    row: int
    block: int = 0
    step: int = 0
    band: int = 0
    band_step: int = 0
    first: int = 0
    turned: bool = False
    needed: tuple[int, int] | None = None
    scales: int | None = None
    pointer: str = ""
    space: str = ""
    address: int = 0

    @property
    def bands(self) -> int:
        """How many bands of rows there are; one without any row."""
        return self.rows // self.band if self.band and self.rows else 1

    def place(self, m: Machine, given: Mapping[str, Any]) -> Any:
        """The pointer."""
        if self.space:
            return m.cast(self.address, self.dtype, self.space)
        pointer = given[self.pointer or self.name]
        if self.scales is None:
            return pointer
        space = f"{pointer.space.removesuffix(' scales')} scales"
        return m.cast(m.address(pointer) >> self.scales, pointer.dtype, space)

    def parts(self, cols: int) -> Iterator[tuple[int, int, int]]:
        """First column, number of blocks and columns of each: of whole blocks, and of what is left of the last one."""
        block = self.block or max(cols, 1)
        whole, rest = divmod(cols, block)
        for first, blocks, width in ((0, whole, block), (whole * block, 1, rest)):
            if blocks and width:
                yield first, blocks, width

    def offset(self, col: int) -> int:
        """Bytes from the pointer to the first row of a block."""
        return self.first + (col // self.block * self.step if self.block else 0)


@dataclass(frozen=True, slots=True)
class FixPipe:
    """What becomes of an element of an accumulator on its way to memory: scale, ReLU, conversion, bound, in this order.

    ``mode`` is a word of the text (`numerics.quant`); `words` its parameter word, or one for each column. ``slopes``:
    of the ReLUs that have one. ``clip``: the bound above. ``nosat``, ``sat``: floats beyond the largest become
    infinite, or it; with `keep_nan` NaN stays. ``combine``: with what is in memory; None: as the control register says.
    ``halves``: both vector cores get one, of the rows (``split_m``) or columns; else core `sub` gets all.
    """

    mode: str = "no_convert"
    words: Matrix | int = 0
    relu: str = "no_relu"
    slopes: Matrix | float | None = None
    clip: float | None = None
    saturation: str | None = None
    keep_nan: bool = False
    combine: Combine | None = None
    halves: str = ""
    sub: int = 0


def reader(matrix: Matrix) -> Reader:
    """The function that reads the elements: (blocks or 1, rows, cols) in the type's NumPy dtype, or codes without one.

    What follows from the matrix alone is computed here and not at each call.
    """
    dtype, bands = matrix.dtype, matrix.bands
    rows = matrix.rows // bands
    nibbles = dtype.packed or dtype.bits == 4
    kind = dtype.value or dtype.storage
    parts: list[tuple[int, Any, int, Any, Any]] = []
    for first, blocks, width in matrix.parts(matrix.cols):
        begin, outer = matrix.offset(first), ((bands, matrix.band_step), (blocks, matrix.step))
        if width == 1 and matrix.row == dtype.size:  # columns without gaps
            parts.append((begin, outer, rows * dtype.size, None, (0, 1, 3, 2)))
        else:
            needed = _needed(matrix, first, blocks, width)
            parts.append((begin, (*outer, (rows, matrix.row)), dtype.nbytes(width), needed, (0, 1, 3, 2, 4)))

    def read(m: Machine, given: Mapping[str, Any]) -> np.ndarray:
        place, found = matrix.place(m, given), []
        for begin, axes, nbytes, needed, order in parts:
            raw = m.fetch(place, begin, axes, nbytes, needed=needed)
            values = (unpack_nibbles(raw) if nibbles else raw.view(kind)).transpose(order)
            found.append(values.reshape(len(raw), matrix.rows, math.prod(values.shape[3:])))
        if not found:
            found = [np.empty((1, matrix.rows, 0), kind)]
        values = np.concatenate(found, axis=2) if len(found) > 1 else found[0]
        return values.transpose(0, 2, 1) if matrix.turned else values

    return read


def _needed(matrix: Matrix, first: int, blocks: int, width: int) -> Any:
    """What results depend on of a part: rows, and whole blocks or the columns of one."""
    if matrix.needed is None:
        return None
    rows, cols = matrix.needed[0], matrix.needed[1] - first
    if rows <= 0 or cols <= 0:
        return (), 0
    whole = min(blocks, cols // width)
    return ((max(1, whole), matrix.step), (rows, matrix.row)), matrix.dtype.nbytes(width if whole else cols)


def write(
    m: Machine,
    matrix: Matrix,
    given: Mapping[str, Any],
    values: np.ndarray,
    *,
    combine: Combine | None = None,
    sub: int = 0,
) -> None:
    """Set the first rows and columns to values (blocks or 1, rows, cols), the first ones of each band first."""
    place, dtype, bands = matrix.place(m, given), matrix.dtype, matrix.bands
    lead, rows, cols = values.shape
    for first, blocks, width in matrix.parts(cols):
        part = values[:, :, first : first + blocks * width].reshape(lead, bands, rows // bands, blocks, width)
        outer = [(bands, matrix.band_step), (blocks, matrix.step)]
        if width == 1 and matrix.row == dtype.size:
            part = part[..., 0].transpose(0, 1, 3, 2)
        else:
            part, outer = part.transpose(0, 1, 3, 2, 4), [*outer, (rows // bands, matrix.row)]
        part = pack_nibbles(np.ascontiguousarray(part)) if dtype.packed else part
        _deposit(m, place, matrix.offset(first), outer, part, combine, sub)


def _deposit(
    m: Machine, place: Any, first: int, axes: list[Row], values: np.ndarray, combine: Combine | None, sub: int
) -> None:
    """Write rows; where those of one step of an axis overlap those of the next, step by step: later ones stay."""
    reach = values.shape[-1] * values.dtype.itemsize
    for k in reversed(range(len(axes))):
        count, stride = axes[k]
        if count > 1 and stride < reach:
            for n in range(count):
                rest = values.take(n, axis=k + 1)
                _deposit(m, place, first + n * stride, [*axes[:k], *axes[k + 1 :]], rest, combine, sub)
            return
        reach += (count - 1) * stride
    m.deposit(place, first, axes, values, combine=combine, sub=sub)


@dataclass(slots=True)
class Spec:
    """The type of a `Factor`."""

    dtype: DType


@dataclass(slots=True)
class Factor:
    """What has been read of a matrix, as products take tiles (`meaning.fold`)."""

    spec: Spec
    codes: np.ndarray  # (blocks or 1, rows, cols), in the type's value dtype, or codes where it has none
    vr: int
    vc: int

    @classmethod
    def of(cls, dtype: DType, codes: np.ndarray) -> Factor:
        """Elements of a type."""
        return cls(Spec(dtype), codes, *codes.shape[1:])

    def read(self, rows: int | None = None, cols: int | None = None) -> np.ndarray:
        """The values, or codes where the type has no NumPy dtype, of the first rows and columns."""
        return self.codes[:, :rows, :cols]

    def read_as(self, dtype: np.dtype) -> np.ndarray:
        """The values in a wider float dtype, exactly."""
        values = decode(self.spec.dtype, self.codes) if self.spec.dtype.value is None else self.codes
        return values.astype(dtype)


# What the fix-pipe writes of an accumulator to a tile (move-gather-scatter 4.12).


DUAL = (AccToVecMode.DualModeSplitM, AccToVecMode.DualModeSplitN)


def first_part(mode: AccToVecMode | None, rows: Any, cols: Any) -> tuple[Any, Any]:
    """Rows and columns that vector sub-core 0 receives of a result: half of it in the dual modes."""
    if mode is AccToVecMode.DualModeSplitM:
        return -(-rows // 2), cols
    if mode is AccToVecMode.DualModeSplitN:
        return rows, -(-cols // 2)
    return rows, cols


def column_block(tile: Any, target: Target) -> int:
    """Columns of one block that the fix-pipe writes to an Nz tile (`tile` is a TileSpec or TileInfo; 4.12)."""
    if target.is_a(A5) and tile.fractal == 1024:
        return 16 if tile.dtype.bits == 32 else 2 * int(tile.c0)
    return int(tile.c0)


def drained_columns(tile: Any, target: Target, cols: Any, mode: AccToVecMode | None) -> Any:
    """Columns that the fix-pipe writes when `cols` are asked for: in whole blocks where `tile` has boxes (4.12)."""
    if not target.is_device or not tile.boxed:
        return cols
    if mode in DUAL:
        block = 16 if mode is AccToVecMode.DualModeSplitM else 32
    else:
        block = 16 if tile.dtype.bits == 32 and tile.fractal == 1024 else int(tile.c0)
    return -(-cols // block) * block
