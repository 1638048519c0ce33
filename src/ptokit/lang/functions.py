"""Functions of a kernel that are no instructions: choices, tile storage, quantisation words, tiles in fixed layouts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ptokit.isa.numerics.quant import Word
from ptokit.types.dtypes import DType
from ptokit.types.enums import BLayout, Layout, SLayout, TileType
from ptokit.types.tensor import conv_tile
from ptokit.types.values import F32, I1, I64, INDEX
from ptokit.types.values import Scalar as ScalarType

from . import rules
from .rules import refusal
from .scalar import Scalar, binary, cast, common_type, integer, materialize, number, number_type, plain
from .tiles import Tile
from .trace import current

# Functions that choose between numbers or round them: minimum, maximum, cdiv, select.


def _extreme(name: str, what: str, choose: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    if number_type(a) is None and number_type(b) is None:
        return choose(plain(a), plain(b))
    if isinstance(a, Scalar) and isinstance(b, Scalar) and a.value is b.value:
        return a
    if common_type(a, b, what).is_float:
        return binary(f"arith.{name}imumf", what, a, b)
    return binary(f"arith.{name}si", what, a, b)


def minimum(a: Any, b: Any) -> Any:
    """The smaller of two numbers; NaN if one is."""
    return _extreme("min", "pto.minimum", min, a, b)


def maximum(a: Any, b: Any) -> Any:
    """The larger of two numbers; NaN if one is."""
    return _extreme("max", "pto.maximum", max, a, b)


def cdiv(a: Any, b: Any) -> Any:
    """Quotient of two integers, rounded up."""
    if number_type(a) is None and number_type(b) is None:
        return -(-plain(a) // plain(b))
    return integer("arith.ceildivsi", "pto.cdiv", a, b)


def select(condition: Any, a: Any, b: Any) -> Any:
    """`a` where the condition holds, else `b`; both are computed."""
    if number_type(condition) is None:
        return plain(a if condition else b)
    if number_type(condition) != I1:
        kind = number_type(condition)
        raise refusal(rules.SCALAR, f"pto.select needs a condition, not {kind}", hint="compare it: x != 0")
    type = _selected_type(a, b)
    operands = {"condition": materialize(condition, I1), "true": materialize(a, type), "false": materialize(b, type)}
    return number(current("pto.select").emit("arith.select", operands, results=[type]).result)


def _selected_type(a: Any, b: Any) -> ScalarType:
    if number_type(a) is not None or number_type(b) is not None:
        return common_type(a, b, "pto.select")
    return F32 if isinstance(plain(a), float) or isinstance(plain(b), float) else INDEX


# Functions with C++ names for what tiles do to their storage, and the queries of the running block.


def _tile(what: str, name: str, value: Any) -> Tile:
    if not isinstance(value, Tile):
        raise refusal(rules.KIND, f"{name} of {what} is a tile, not {value!r}")
    return value


def TASSIGN(tile: Tile, addr: Any) -> None:
    """Bind a tile to a byte address of its buffer. A tile can be bound again; the object then means the new place."""
    _tile("TASSIGN(tile, addr)", "tile", tile).assign(addr)


def TRESHAPE(dst: Tile, src: Tile) -> None:
    """Let `dst` see the bytes of `src` with its own shape, layout and valid region; see also `Tile.reshape`."""
    what = "TRESHAPE(dst, src)"
    dst, src = _tile(what, "dst", dst), _tile(what, "src", src)
    op = current("TRESHAPE").emit("pto.treshape", {"src": src.value}, results=[dst.seen_spec()], hint=dst.name)
    dst.take_storage(op.result)


def TSUBVIEW(dst: Tile, src: Tile, row: Any, col: Any) -> None:
    """Let `dst` begin at element (row, col) of `src`, with its own shape and valid region; see also `Tile.subview`.

    As in C++ this binds the address only, `dst` counts its elements by its own rows and columns. So it is the window of
    `src` there where both have lines of one length, or `dst` has a single one. A column (in col_major tiles: a row)
    beyond the line counts on in the next one.
    """
    what = "TSUBVIEW(dst, src, row, col)"
    dst, src = _tile(what, "dst", dst), _tile(what, "src", src)
    kept = ("loc", "dtype", "blayout", "slayout", "fractal", "pad", "compact")
    differs = [name for name in kept if getattr(dst.spec, name) != getattr(src.spec, name)]
    if differs:
        raise refusal(
            rules.TILE,
            f"a part of {src!r} differs from {dst!r} in {' and '.join(differs)}",
            hint="location, element type and layout of a window are those of its source",
        )
    dst.see_part(src, row, col)


def SET_VALIDSHAPE(tile: Tile, rows: Any, cols: Any) -> None:
    """Set both valid dimensions of a tile, in elements; see `Tile.set_valid`."""
    _tile("SET_VALIDSHAPE(tile, rows, cols)", "tile", tile).set_valid(rows, cols)


def _query(name: str) -> Any:
    return cast(number(current(name).emit(f"pto.{name}", results=[I64]).result), INDEX)


def get_block_idx() -> Scalar:
    """Index of the running block, 0 .. blocks - 1."""
    return _query("get_block_idx")


def get_block_num() -> Scalar:
    """Number of blocks of the launch."""
    return _query("get_block_num")


def get_subblock_idx() -> Scalar:
    """Index of the vector sub-core in its cluster."""
    return _query("get_subblock_idx")


def get_subblock_num() -> Scalar:
    """Number of vector sub-cores in a cluster."""
    return _query("get_subblock_num")


# Quantisation words of the fix-pipe, from what is in them.


def quant(scale: Any, zero: Any = 0, *, signed: bool = True, shift: Any = 1) -> Any:
    """The quantisation word of TSTORE, TMOV and TEXTRACT: ``pto.TSTORE(c, acc, pto.quant(0.125))``.

    | bits | field | counts for |
    |---|---|---|
    | 31..0 | ``scale`` as f32; of a word in a Scaling tile the upper 19 bits only | all but shifts |
    | 35..32 | ``shift`` - 1, with ``shift`` 1 to 16 | i32 to i16 |
    | 45..37 | ``zero``, 0 to 511, added after rounding | 8-bit results |
    | 46 | ``signed``: results are -128..127, else 0..255 | 8-bit results |

    The others are 0. A number gives an int. Arrays give an array of uint64, one word for each column, for a Scaling
    tile. Raises `DiagnosticError` (LANG-CALL) for a value that its field cannot hold, and for one that only a run
    knows. Source: load-store 6.2, move-gather-scatter 6.1.
    """
    if any(isinstance(value, Scalar) for value in (scale, zero, shift)):
        message = "the fields of a quantisation word are numbers that are known before the kernel runs"
        raise refusal(rules.CALL, message, hint="make the word outside of the kernel, and give it as an argument")
    try:
        words = Word.make(scale, zero, signed, shift)
    except (ValueError, TypeError, OverflowError) as error:
        raise refusal(rules.CALL, f"quant: {error}") from None
    return int(words) if words.ndim == 0 else np.ascontiguousarray(words)


# Tiles of matrix products, each in the one layout that its buffer has.


def TileLeft(dtype: DType, rows: int, cols: int, valid_row: Any = None, valid_col: Any = None, **more: Any) -> Tile:
    """Left operand of a matrix product in L0A, in the layout of the kernel's target (types-and-layouts 7)."""
    blayout = current("TileLeft").target.left_blayout
    return Tile(TileType.Left, dtype, rows, cols, blayout, valid_row, valid_col, SLayout.RowMajor, **more)


def TileRight(dtype: DType, rows: int, cols: int, valid_row: Any = None, valid_col: Any = None, **more: Any) -> Tile:
    """Right operand of a matrix product in L0B."""
    return Tile(TileType.Right, dtype, rows, cols, BLayout.RowMajor, valid_row, valid_col, SLayout.ColMajor, **more)


def TileAcc(dtype: DType, rows: int, cols: int, valid_row: Any = None, valid_col: Any = None, **more: Any) -> Tile:
    """Accumulator of a matrix product in L0C."""
    return Tile(TileType.Acc, dtype, rows, cols, BLayout.ColMajor, valid_row, valid_col, SLayout.RowMajor, 1024, **more)


def TileLeftScale(
    dtype: DType, rows: int, cols: int, valid_row: Any = None, valid_col: Any = None, **more: Any
) -> Tile:
    """Block scales of a left operand (MX formats)."""
    return Tile(
        TileType.ScaleLeft, dtype, rows, cols, BLayout.RowMajor, valid_row, valid_col, SLayout.RowMajor, 32, **more
    )


def TileRightScale(
    dtype: DType, rows: int, cols: int, valid_row: Any = None, valid_col: Any = None, **more: Any
) -> Tile:
    """Block scales of a right operand (MX formats)."""
    return Tile(
        TileType.ScaleRight, dtype, rows, cols, BLayout.ColMajor, valid_row, valid_col, SLayout.ColMajor, 32, **more
    )


# Convolution tiles: the C++ template ``ConvTile`` (types-and-layouts 8).


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
