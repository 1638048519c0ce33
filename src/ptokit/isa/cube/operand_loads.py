"""From L1 into the operands of a product: fractals as they are or turned, and the scales of block-scaled operands.

L1 holds a matrix in fractals, column blocks of 32 bytes side by side (``src_stride`` fractals apart), and L0A and L0B
hold fractals in the same way (``dst_stride`` apart): L0A the left operand, L0B the right one, turned. So the left
operand comes as it is, and the right one as it is if L1 holds it turned; ``transpose`` turns the matrix on its way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ptokit.records import dataclass
from ptokit.types.codecs import pack_nibbles, unpack_nibbles
from ptokit.types.dtypes import DTYPES, PACKED, DType
from ptokit.types.enums import Pipe

from ..machine import Machine
from ..table import Attr, Role
from .pointers import BLOCK, FRACTAL, ROWS, at, ceil, cube, numbers

ADDRESS_SHIFT = 4
"""Scales lie at a sixteenth of the address of what they scale."""


def element(dtype: DType) -> DType:
    """The type of single elements: of a pair of 4-bit numbers one of both."""
    return DTYPES[dtype.name.removesuffix("x2")] if dtype in PACKED.values() and dtype.size == 1 else dtype


@dataclass(frozen=True, slots=True)
class Blocks:
    """What is moved, in fractals: where it begins in L1, how much, strides, and the rows and bytes that matter."""

    row: int
    col: int
    rows: int
    cols: int
    src_stride: int
    dst_stride: int
    needed: tuple[int, int] | None = None  # rows, and bytes of a row; None: nobody says


def _move(m: Machine, src: Any, dst: Any, b: Blocks, turned: Any) -> None:
    """Move fractals; whole ones, of which results depend on some rows and columns only."""
    first = (b.col * b.src_stride + b.row) * FRACTAL
    axes = ((b.cols, b.src_stride * FRACTAL), (b.rows * ROWS, BLOCK))
    needed: Any = ((), 0)
    if b.needed is not None:
        whole = b.needed[1] // BLOCK
        needed = (((max(1, whole), b.src_stride * FRACTAL), (b.needed[0], BLOCK)), BLOCK if whole else b.needed[1])
    found = m.fetch(src, first, axes, BLOCK, needed=needed)
    if turned:
        found = _turned(found, element(src.dtype))
    elif b.cols > 1 and b.dst_stride < b.rows:
        for column in range(b.cols):  # later ones overwrite what they share with earlier ones
            m.deposit(dst, column * b.dst_stride * FRACTAL, ((b.rows * ROWS, BLOCK),), found[:, column])
        return
    columns, rows = found.shape[1], found.shape[2]
    m.deposit(dst, 0, ((columns, b.dst_stride * FRACTAL), (rows, BLOCK)), found)


def _turned(blocks: np.ndarray, dtype: DType) -> np.ndarray:
    """Column blocks (blocks, columns, rows, 32 bytes) of the transposed matrix."""
    lead = len(blocks)
    rows = blocks.transpose(0, 2, 1, 3).reshape(lead, blocks.shape[2], -1)
    if dtype.packed:
        turned = pack_nibbles(np.ascontiguousarray(unpack_nibbles(rows).transpose(0, 2, 1)))
    else:
        turned = np.ascontiguousarray(rows.view(dtype.storage).transpose(0, 2, 1)).view(np.uint8)
    return np.ascontiguousarray(turned.reshape(lead, turned.shape[1], -1, BLOCK).transpose(0, 2, 1, 3))


def shaped(dtype: DType, rows: int, inner: int, start: tuple[int, int], turned: Any) -> Blocks:
    """The fractals of an operand of `rows` and `inner` elements along K; of the right operand `rows` are its columns.

    Turned, L1 holds K rows, and both sizes are rounded up to squares of fractals. The start counts fractals; of 4-bit
    elements its column counts halves of them.
    """
    dtype = element(dtype)
    row, col = start[0], start[1] // 2 if dtype.packed else start[1]
    if not turned:
        stride, nbytes = ceil(rows, ROWS), dtype.nbytes(inner)
        return Blocks(row, col, stride, ceil(nbytes, BLOCK), stride, stride, (rows, nbytes))
    side = max(ROWS, dtype.c0)
    inner_up, rows_up = ceil(inner, side) * side, ceil(rows, side) * side
    columns = dtype.nbytes(rows_up) // BLOCK
    even = rows_up == ceil(rows, ROWS) * ROWS  # else products find rows elsewhere than this puts them
    needed = (inner, dtype.nbytes(rows)) if even else None
    return Blocks(row, col, inner_up // ROWS, columns, inner_up // ROWS, rows_up // ROWS, needed)


def _blocks(fields: Sequence[int]) -> Blocks:
    """Block counts from the fields of the hardware instruction."""
    row, col, rows, cols, src_stride, dst_stride = fields
    return Blocks(row, col, rows, cols, src_stride, dst_stride)


Shape = tuple[int, int, tuple[int, int]]
"""Rows, elements along K, and where they begin: row and column."""


def _by_shape_or_fields(
    side: str, of_shape: Callable[[Machine, Any, Any, Shape, Any], None], of_fields: Callable[..., None]
) -> Callable[..., None]:
    """A load that states a shape and its start, or the fields of the hardware."""

    def run(
        m: Machine,
        src: Any,
        dst: Any,
        first: Any,
        second: Any,
        row: Any,
        col: Any,
        *fields: Any,
        transpose: Any,
        types: Any,
    ) -> None:
        if first is None or second is None:
            of_fields(m, src, dst, fields, transpose)
            return
        rows, inner = (first, second) if side == "a" else (second, first)
        of_shape(m, src, dst, (rows, inner, (row or 0, col or 0)), transpose)

    return run


def _operand(m: Machine, src: Any, dst: Any, shape: Shape, transpose: Any) -> None:
    _move(m, src, dst, shaped(src.dtype, *shape, transpose), transpose)


def _operand_fields(m: Machine, src: Any, dst: Any, fields: Sequence[int], transpose: Any) -> None:
    _move(m, src, dst, _blocks(fields), transpose)


def _fields(m: Machine, src: Any, dst: Any, *fields: int, transpose: Any = None, types: Any) -> None:
    _move(m, src, dst, _blocks(fields), transpose)


def _four_bits(m: Machine, src: Any, dst: Any, *fields: int, types: Any) -> None:
    _move(m, src, dst, _blocks(fields[:-1]), fields[-1])


# --------------------------------------------------------------------- scales


def _scales(m: Machine, src: Any, dst: Any, *grid: int, types: Any) -> None:
    """Pieces of 32 bytes: 16 rows, or columns, with two groups along K each. ``dst``: where the scales lie."""
    x, y, x_count, y_count, src_stride, dst_stride = grid
    side = f"{dst.space.removesuffix(' scales')} scales"
    place = m.cast(m.address(dst), dst.dtype, side)
    row = y_count * BLOCK
    found = m.fetch(src, (x * src_stride + y) * BLOCK, ((x_count, src_stride * BLOCK),), row, needed=((), 0))
    m.deposit(place, 0, ((x_count, dst_stride * BLOCK),), found)


def scale_place(m: Machine, operand: Any) -> Any:
    """Where the scales of an operand lie."""
    return m.cast(m.address(operand) >> ADDRESS_SHIFT, operand.dtype, f"{operand.space} scales")


def _operand_scales(m: Machine, src: Any, dst: Any, shape: Shape, transpose: Any) -> None:
    rows, inner, start = shape
    pieces = ceil(ceil(inner, BLOCK), 2)
    _scales(m, src, scale_place(m, dst), *start, ceil(rows, ROWS), pieces, pieces, pieces, types=None)


def _scale_fields(m: Machine, src: Any, dst: Any, grid: Sequence[int], transpose: Any) -> None:
    _scales(m, src, scale_place(m, dst), *grid, types=None)


_TRANSPOSE = (Attr("transpose", bool, None, "transpose"),)
_STEPS = "m_start k_start m_step k_step src_stride dst_stride"
_MX_STEPS = "x_start y_start x_step y_step src_stride dst_stride"
for _side, _what, _shape in (("a", "left", "m k"), ("b", "right", "k n")):
    _ends = at("src", "l1"), at("dst", f"l0{_side}", Role.OUT)
    for _suffix, _moved, _steps, _run in (
        ("", f"the {_what} operand", _STEPS, _by_shape_or_fields(_side, _operand, _operand_fields)),
        ("_mx", f"scales of the {_what}", _MX_STEPS, _by_shape_or_fields(_side, _operand_scales, _scale_fields)),
    ):
        cube(
            f"mte_l1_l0{_side}{_suffix}",
            f"Copy {_moved} of a product from L1: a shape, and where it begins, or the fields of the hardware.",
            Pipe.MTE1,
            (*_ends, *numbers(f"{_shape} start_row start_col {_steps}", optional=True)),
            _run,
            _TRANSPOSE,
            forms=(
                f"src dst {_shape}",
                f"src dst {_shape} start_row start_col",
                f"src dst {_steps}",
            ),
        )
    cube(
        f"load_cbuf_to_c{_side}",
        f"Copy fractals of L1 to the {_what} operand.",
        Pipe.MTE1,
        (*_ends, *numbers(_STEPS)),
        _fields,
        _TRANSPOSE,
    )
    cube(
        f"load_cbuf_to_c{_side}_s4",
        f"Copy fractals of 4-bit elements of L1 to the {_what} operand.",
        Pipe.MTE1,
        (*_ends, *numbers(f"{_STEPS} transpose")),
        _four_bits,
    )
    cube(
        f"load_cbuf_to_c{_side}_mx",
        f"Copy scales of L1 to the {_what} operand.",
        Pipe.MTE1,
        (*_ends, *numbers(_MX_STEPS)),
        _scales,
    )
