"""From L1 into the operands of a product: fractals as they are or turned, and the scales of block-scaled operands.

L1 holds a matrix in fractals, column blocks of 32 bytes side by side (``src_stride`` fractals apart), and L0A and L0B
hold fractals in the same way (``dst_stride`` apart): L0A the left operand, L0B the right one, turned. So the left
operand comes as it is, and the right one as it is if L1 holds it turned; ``transpose`` turns the matrix on its way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ptokit.records import dataclass
from ptokit.types.dtypes import DTYPES, DType
from ptokit.types.enums import Pipe

from ..meaning.matrices import Matrix
from ..meaning.words import Meaning, Move
from ..site import Site
from ..table import Attr, Role, TextForm
from .pointers import BLOCK, FRACTAL, ROWS, at, ceil, cube, element, given, in_fractals, moved, numbers

ADDRESS_SHIFT = 4
"""Scales lie at a sixteenth of the address of what they scale."""

_BYTE = DTYPES["u8"]


@dataclass(frozen=True, slots=True)
class Blocks:
    """What is moved, in fractals: where it begins in L1, how much, strides, and the rows and columns that matter."""

    row: int
    col: int
    rows: int
    cols: int
    src_stride: int
    dst_stride: int
    needed: tuple[int, int] = (0, 0)  # in elements; none: nobody says


def _move(b: Blocks, dtype: DType, turned: Any) -> Move:
    """Move fractals; whole ones, of which results depend on some rows and columns only."""
    kind = element(dtype) if turned else _BYTE
    needed = b.needed if turned else (b.needed[0], element(dtype).nbytes(b.needed[1]))
    rows, cols = b.rows * ROWS, b.cols * kind.c0
    first = (b.col * b.src_stride + b.row) * FRACTAL
    src = in_fractals("src", kind, rows, cols, b.src_stride * ROWS, first=first, needed=needed, turned=bool(turned))
    shape = (cols, rows) if turned else (rows, cols)
    return moved(src, in_fractals("dst", kind, *shape, b.dst_stride * ROWS))


def shaped(dtype: DType, rows: int, inner: int, start: tuple[int, int], turned: Any) -> Blocks:
    """The fractals of an operand of `rows` and `inner` elements along K; of the right operand `rows` are its columns.

    Turned, L1 holds K rows, and both sizes are rounded up to squares of fractals. The start counts fractals; of 4-bit
    elements its column counts halves of them.
    """
    dtype = element(dtype)
    row, col = start[0], start[1] // 2 if dtype.packed else start[1]
    if not turned:
        stride = ceil(rows, ROWS)
        return Blocks(row, col, stride, ceil(dtype.nbytes(inner), BLOCK), stride, stride, (rows, inner))
    side = max(ROWS, dtype.c0)
    inner_up, rows_up = ceil(inner, side) * side, ceil(rows, side) * side
    columns = dtype.nbytes(rows_up) // BLOCK
    even = rows_up == ceil(rows, ROWS) * ROWS  # else products find rows elsewhere than this puts them
    needed = (inner, rows) if even else (0, 0)
    return Blocks(row, col, inner_up // ROWS, columns, inner_up // ROWS, rows_up // ROWS, needed)


def _scales(shift: int, x: int, y: int, x_count: int, y_count: int, src_stride: int, dst_stride: int) -> Move:
    """Pieces of 32 bytes: 16 rows, or columns, with two groups along K each."""
    cols, first = y_count * BLOCK, (x * src_stride + y) * BLOCK
    src = Matrix("src", _BYTE, x_count, cols, src_stride * BLOCK, first=first, needed=(0, 0))
    return moved(src, Matrix("dst", _BYTE, x_count, cols, dst_stride * BLOCK, scales=shift))


def _operand(o: Site, rows: int, inner: int, start: tuple[int, int]) -> Move:
    return _move(shaped(o.src.dtype, rows, inner, start, o.transpose), o.src.dtype, o.transpose)


def _operand_scales(o: Site, rows: int, inner: int, start: tuple[int, int]) -> Move:
    pieces = ceil(ceil(inner, BLOCK), 2)
    return _scales(ADDRESS_SHIFT, *start, ceil(rows, ROWS), pieces, pieces, pieces)


def _fields(o: Site, fields: Sequence[int]) -> Move:
    *blocks, turned = fields if len(fields) > len(_STEPS.split()) else (*fields, o.transpose)
    return _move(Blocks(*blocks), o.src.dtype, turned)


def _load(sizes: str, of_shape: Callable[..., Move], steps: str, of_fields: Callable[..., Move]) -> Meaning:
    """A load that states a shape and its start, or the fields of the hardware; ``sizes``: rows, and those along K."""

    def meaning(o: Site) -> Move | None:
        by_shape = o.has(sizes.split()[0])
        found = given(o, f"{sizes} start_row start_col" if by_shape else steps)
        if found is None:
            return None
        return of_shape(o, *found[:2], (found[2] or 0, found[3] or 0)) if by_shape else of_fields(o, found)

    return meaning


_TRANSPOSE = (Attr("transpose", bool, None, "transpose"),)
_STEPS = "m_start k_start m_step k_step src_stride dst_stride"
_MX_STEPS = "x_start y_start x_step y_step src_stride dst_stride"


def _known(steps: str, of_fields: Callable[..., Move]) -> Meaning:
    """A load with the fields of the hardware."""
    return lambda o: None if (found := given(o, steps)) is None else of_fields(o, found)


for _side, _what, _shape, _sizes in (("a", "left", "m k", "m k"), ("b", "right", "k n", "n k")):
    _ends = at("src", "l1"), at("dst", f"l0{_side}", Role.OUT)
    for _suffix, _moved, _steps, _of_shape, _of_fields in (
        ("", f"the {_what} operand", _STEPS, _operand, _fields),
        ("_mx", f"scales of the {_what}", _MX_STEPS, _operand_scales, lambda o, found: _scales(ADDRESS_SHIFT, *found)),
    ):
        cube(
            f"mte_l1_l0{_side}{_suffix}",
            f"Copy {_moved} of a product from L1: a shape, and where it begins, or the fields of the hardware.",
            Pipe.MTE1,
            (*_ends, *numbers(f"{_shape} start_row start_col {_steps}", optional=True)),
            _load(_sizes, _of_shape, _steps, _of_fields),
            _TRANSPOSE,
            form=TextForm(
                "micro",
                choices=(
                    f"src dst {_shape}",
                    f"src dst {_shape} start_row start_col",
                    f"src dst {_steps}",
                ),
            ),
        )
    for _suffix, _elements, _steps, _of_fields, _attrs in (
        ("", "fractals", _STEPS, _fields, _TRANSPOSE),
        ("_s4", "fractals of 4-bit elements", f"{_STEPS} transpose", _fields, ()),
        ("_mx", "scales", _MX_STEPS, lambda o, found: _scales(0, *found), ()),
    ):
        cube(
            f"load_cbuf_to_c{_side}{_suffix}",
            f"Copy {_elements} of L1 to the {_what} operand.",
            Pipe.MTE1,
            (*_ends, *numbers(_steps)),
            _known(_steps, _of_fields),
            _attrs,
        )
