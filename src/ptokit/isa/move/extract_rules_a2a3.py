"""Rules of TEXTRACT on a2a3 (compute-layout-irregular 1.3)."""

from __future__ import annotations

from typing import Any

from ptokit.diagnostics import family
from ptokit.diagnostics.conditions import shared
from ptokit.types.enums import CompactMode

from ..site import Site, TileInfo
from .extract_checks import operand_window
from .extract_footprint import position
from .fractal_z import is_conv
from .move_checks import Message, listed
from .move_facts import (
    OPERAND_PAIRS,
    Left,
    Vec,
    arrow,
    pair,
    types,
)

MAT_TYPES = types("i8 f16 bf16 f32")
VEC_TYPES = types("i8 u8 i16 u16 i32 u32 f16 bf16 f32")
PAIR_TYPES = types("i8 f16 bf16 f32 i32")


_rule = family("compute-layout-irregular 1.3", "EXTR-A23-")


def _operand(o: Site, left: bool, wanted: str) -> Message:
    if pair(o) not in OPERAND_PAIRS or (o.dst.loc is Left) is not left or is_conv(o.src):
        return None
    if o.dst.layout_name != wanted:
        return f"{o:dst} has layout {o.dst.layout_name}; a {o.dst.loc.text} tile of a2a3 is {wanted}"
    return operand_window(o, *position(o))


vec_types = shared(
    "vec to vec: integers of 8 to 32 bits, f16, bf16, f32.",
    "dst.dtype in VEC_TYPES if pair(o) == (Vec, Vec)",
    "element type {dst.dtype} is not moved between vec tiles; {listed(VEC_TYPES)} are",
)


def vec_nd(o: Site, small: TileInfo, big: TileInfo) -> Message:
    """ND windows between vec tiles: `small` is the window, `big` the tile it lies in."""
    if pair(o) != (Vec, Vec) or small.layout_name != "ND" or big.layout_name != "ND" or single(small):
        return None
    size, col = small.dtype.size, position(o)[1]
    if small.rows > big.rows or small.cols > big.cols:
        return f"a window of {small.rows}x{small.cols} is larger than the tile of {big.rows}x{big.cols}"
    for t in (small, big):
        if t.cols * size % 32:
            return f"rows of {t.cols * size} bytes are no whole 32-byte blocks"
    return _row_bytes(small) or (f"col {col} of {small.dtype} is not at 32 bytes" if col * size % 32 != 0 else None)


def vec_nz(o: Site, small: TileInfo, big: TileInfo) -> Message:
    """Nz windows between vec tiles."""
    if pair(o) != (Vec, Vec) or small.layout_name != "Nz" or big.layout_name != "Nz" or single(small):
        return None
    row, col = position(o)
    for t in (small, big):
        if t.rows % 16 or t.cols % t.c0:
            return f"{t.rows}x{t.cols} of {t.dtype} are no whole boxes of 16x{t.c0}"
    if row % 16 != 0 or col % small.c0 != 0:
        return f"({row}, {col}) is not a corner of a box of 16x{small.c0}"
    return _row_bytes(small)


def single(t: TileInfo) -> bool:
    """True for a tile that is statically valid in one element."""
    return (t.spec.valid_row, t.spec.valid_col) == (1, 1)


def _row_bytes(t: TileInfo) -> Message:
    return f"{t.vc} columns of {t.dtype} are an odd number of bytes" if t.vc * t.dtype.size % 2 != 0 else None


@_rule(
    "07",
    "TEXTRACT2(Tile(Vec, f16, 16, 32, ColMajor, slayout=SLayout.RowMajor, "
    "compact=CompactMode.{Null|RowPlusOne}), Tile(Vec, f16, 16, 16, ColMajor, slayout=SLayout.RowMajor), "
    "Tile(Vec, f16, 32, 64), 0, 0, 16, 48)",
    evidence="static_assert",
)
def EXTR_A23_07(o: Site) -> Message:
    """Two windows: i8, f16, bf16, f32 or i32; whole column blocks, rows of src of 32 bytes, no row_plus_one."""
    if o.src.dtype not in PAIR_TYPES:
        return f"element type {o.src.dtype} has no form with two windows; {listed(PAIR_TYPES)} have"
    if o.src.cols * o.src.dtype.size % 32:
        return f"rows of {o:src} of {o.src.cols * o.src.dtype.size} bytes are no whole 32-byte blocks"
    for name in ("dst0", "dst1"):
        d: Any = o.operands[name]
        if d.cols % d.c0:
            return f"{o:{name}} has {d.cols} columns, not a multiple of {d.c0}"
        if d.compact is CompactMode.RowPlusOne:
            return f"{o:{name}} has compact=row_plus_one"
    return None


A23_RULES = (
    _rule(
        "01",
        "TEXTRACT(Tile(Left, {i8|u8}, 16, 32, slayout=SLayout.RowMajor), "
        "Tile(Mat, {i8|u8}, 32, 32, ColMajor, slayout=SLayout.RowMajor), row=0, col=0)",
        evidence="static_assert",
    )(
        "mat to left or right: i8, f16, bf16 or f32.",
        "dst.dtype in MAT_TYPES if pair(o) in OPERAND_PAIRS",
        "element type {dst.dtype} is not extracted {arrow(o)}; {listed(MAT_TYPES)} are",
    ),
    _rule(
        "02",
        "TEXTRACT(Tile(Left, f16, 1, 256, slayout=SLayout.RowMajor), Tile(Mat, f16, 1, 512), row=0, col={256|128})",
        evidence="static_assert",
    )(
        "mat to left: dst Zz, src Nz or Zn, indices and sizes of whole boxes; from one row, of whole fractals.",
        lambda o: _operand(o, True, "Zz"),
    ),
    _rule(
        "03",
        "TEXTRACT(TileRight(i8, 64, 32), Tile(Mat, i8, 96, 96, slayout=SLayout.ColMajor), row={32|16}, col={16|0})",
        evidence="static_assert",
    )(
        "mat to right: dst Zn, src Nz or Zn, indices and sizes of whole boxes.",
        lambda o: _operand(o, False, "Zn"),
    ),
    _rule("04", "t = Tile(Vec, {u16|u64}, 8, {16|4}); TEXTRACT(t, t, row=0, col=0)", evidence="static_assert")(
        vec_types
    ),
    _rule(
        "05", "TEXTRACT(Tile(Vec, f16, 6, 32), Tile(Vec, f16, 11, 64), row=4, col={16|10})", evidence="static_assert"
    )(
        "vec ND: dst not larger than src, rows and col at 32 bytes, rows of an even number of bytes.",
        lambda o: vec_nd(o, o.dst, o.src),
    ),
    _rule(
        "06",
        "TEXTRACT(Tile(Vec, f16, {16|8}, 16, ColMajor, slayout=SLayout.RowMajor), "
        "Tile(Vec, f16, 48, 48, ColMajor, slayout=SLayout.RowMajor), row=0, col=0)",
        evidence="static_assert",
    )(
        "vec Nz: whole boxes, indices at their corners, rows of an even number of bytes.",
        lambda o: vec_nz(o, o.dst, o.src),
    ),
)
A23_PAIR_RULES = (EXTR_A23_07,)
