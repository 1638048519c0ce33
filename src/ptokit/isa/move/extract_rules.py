"""Rules of TEXTRACT (compute-layout-irregular 1.3)."""

from __future__ import annotations

from typing import Any

from ptokit.diagnostics import family
from ptokit.diagnostics.rules import need, shared
from ptokit.targets import A2A3, A5
from ptokit.types.enums import AccToVecMode

from ..site import Site, TileInfo
from .checks import (
    MX_SCALES,
    OPERAND_PAIRS,
    Acc,
    Left,
    Mat,
    Message,
    ScaleLeft,
    Vec,
    acc_types,
    arrow,
    bad_index,
    blocks_overflow,
    columns_of_words,
    dual,
    form,
    is_conv,
    listed,
    nz_pitch,  # noqa: F401
    operand_window,
    outside,
    pair,
    pair_of_layouts,
    parameter_tile,
    refused,
    relu,
    signedness,
    types,
    types_differ,
    word,
    words,
)
from .footprint import operand_extent, position
from .rules import A23_ACC_TYPES, acc_to_mat, unsupported
from .rules_a5 import ACC_TYPES
from .text_rules import EXTRACT_TEXT_RULES

# Rules of TEXTRACT on a2a3 (compute-layout-irregular 1.3).


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


EXTR_A23_07 = _rule(
    "07",
    "TEXTRACT2(Tile(Vec, f16, 16, 32, ColMajor, slayout=SLayout.RowMajor, "
    "compact=CompactMode.{Null|RowPlusOne}), Tile(Vec, f16, 16, 16, ColMajor, slayout=SLayout.RowMajor), "
    "Tile(Vec, f16, 32, 64), 0, 0, 16, 48)",
    evidence="static_assert",
)(
    "Two windows: i8, f16, bf16, f32 or i32; whole column blocks, rows of src of 32 bytes, no row_plus_one.",
    "src.dtype in PAIR_TYPES",
    "element type {src.dtype} has no form with two windows; {listed(PAIR_TYPES)} have",
    "src.cols * src.dtype.size % 32 == 0",
    "rows of {src} of {src.cols * src.dtype.size} bytes are no whole 32-byte blocks",
    "t.cols % t.c0 == 0 for t in (dst0, dst1)",
    "{t} has {t.cols} columns, not a multiple of {t.c0}",
    "t.compact is not CompactMode.RowPlusOne for t in (dst0, dst1)",
    "{t} has compact=row_plus_one",
)


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


# Rules of TEXTRACT on a5 (compute-layout-irregular 1.3).


A5_MAT_TYPES = types("i8 hif8 e5m2 e4m3 f16 bf16 f32 e2m1 e1m2 e2m1x2 e1m2x2 hif4")
SCALE_TYPES = {"a5": types("e8m0"), "a6": types("e8m0 u8")}
A5_VEC_TYPES = types("i8 u8 i16 u16 i32 u32 f16 bf16 f32 hif8 e4m3 e5m2 e8m0 e2m1 e1m2 e2m1x2 e1m2x2")


_rule = family("compute-layout-irregular 1.3", "EXTR-", targets=("a5",))


@_rule(
    "A5-02",
    "TEXTRACT(TileLeft(f16, 16, 16), Tile(Mat, f16, 48, 32, ColMajor, slayout=SLayout.RowMajor), row=16, col={16|8})",
    evidence="static_assert",
)
def EXTR_A5_02(o: Site) -> Message:
    """mat to left: dst Nz; to right: dst Zn; src Nz or Zn, whole boxes. Scales: Zz to left, Nn to right."""
    if is_conv(o.src):
        return None
    if o.dst.loc in MX_SCALES and o.src.loc is Mat:
        wanted = "Zz" if o.dst.loc is ScaleLeft else "Nn"
        wrong = next((t for t in (o.src, o.dst) if t.layout_name != wanted), None)
        return f"layout {wrong.layout_name}; {arrow(o)} takes {wanted} on both sides" if wrong is not None else None
    if pair(o) not in OPERAND_PAIRS:
        return None
    wanted = "Nz" if o.dst.loc is Left else "Zn"
    if o.dst.layout_name != wanted:
        return f"{o:dst} has layout {o.dst.layout_name}; a {o.dst.loc.text} tile of a5 is {wanted}"
    return operand_window(o, *position(o))


@_rule("A5-03", "t = Tile(Vec, {i16|u64}, 8, {16|4}); TEXTRACT(t, t, row=0, col=0)", evidence="static_assert")
def EXTR_A5_03(o: Site) -> Message:
    """vec to vec: integers of 8 to 32 bits, f16, bf16, f32, 8-bit floats, fp4; fp4 in whole 32-byte blocks.

    Decision: What the manual or the header lists is taken; they differ in integers and small floats (D-16).
    """
    if pair(o) != (Vec, Vec):
        return None
    if o.dst.dtype not in A5_VEC_TYPES:
        return f"element type {o.dst.dtype} is not extracted between vec tiles; {listed(A5_VEC_TYPES)} are"
    if not o.dst.dtype.packed or o.dst.layout_name != "ND":
        return None
    for what, name, n in (
        ("columns of ", "src", o.src.cols),
        ("columns of ", "dst", o.dst.cols),
        ("valid columns of ", "dst", o.dst.vc),
        ("", "col", position(o)[1]),
    ):
        if n % 64 != 0:
            return f"{what}{o:{name}}: {n} elements of {o.dst.dtype} are no whole 32-byte blocks"
    return None


def dual_split(o: Site) -> Message:
    """Conditions of the dual modes (move-gather-scatter 4.12)."""
    if not dual(o):
        return None
    if form(o) != "cast" or o.src.dtype is not o.dst.dtype:
        return f"{o.mode.name} does not convert or quantise"
    if o.mode is AccToVecMode.DualModeSplitM:
        return f"{o.src.vr} rows cannot be split in two" if o.src.vr % 2 != 0 else None
    step = 32 if o.dst.dtype.size == 4 else 2
    return f"{o.src.vc} columns are split in two; they must be a multiple of {step}" if o.src.vc % step != 0 else None


EXTR_PAIR_03 = _rule(
    "PAIR-03",
    "TEXTRACT2(Tile(Vec, f16, 16, 32, ColMajor, slayout=SLayout.RowMajor{|, "
    "compact=CompactMode.RowPlusOne}), Tile(Vec, f16, 16, 16, ColMajor, slayout=SLayout.RowMajor), "
    "Tile(Vec, f16, 32, 64), 0, 0, 16, 48)",
    evidence="static_assert",
)(
    "Two windows on a5: types that go between vec tiles, and room for column blocks of whole boxes.",
    "src.dtype in A5_VEC_TYPES",
    "element type {src.dtype} has no form with two windows; {listed(A5_VEC_TYPES)} have",
    "-(-t.vc // t.c0) * nz_pitch(t.spec, t.vr) * t.c0 <= t.spec.numel for t in (dst0, dst1)",
    "{t}: column blocks of {nz_pitch(t.spec, t.vr)} rows do not fit into {t.rows}x{t.cols}",
)


A5_RULES = (
    _rule(
        "A5-01",
        "TEXTRACT(TileLeft({e4m3|u8}, 16, 32), Tile(Mat, {e4m3|u8}, 32, 32, ColMajor, slayout=SLayout.RowMajor), "
        "row=0, col=0)",
        evidence="static_assert",
    )(
        "From mat, and vec to mat: 8-bit floats, i8, f16, bf16, f32, fp4.",
        "allowed = A5_MAT_TYPES | target.entry(SCALE_TYPES) if dst.loc in MX_SCALES else A5_MAT_TYPES",
        "dst.dtype in allowed if src.loc is Mat or pair(o) == (Vec, Mat)",
        "element type {dst.dtype} is not extracted {arrow(o)}; {listed(allowed)} are",
    ),
    EXTR_A5_02,
    EXTR_A5_03,
    _rule(
        "A5-04",
        "TEXTRACT(Tile(Vec, f16, 16, 64, ColMajor, valid_col=16, slayout=SLayout.RowMajor), "
        "Tile(Vec, f16, 48, {96|48}, ColMajor, slayout=SLayout.RowMajor), row=0, col=0)",
        evidence="static_assert",
    )(
        "vec Nz: dst has no more columns than src.",
        "dst.cols <= src.cols if pair(o) == (Vec, Vec) and dst.layout_name == 'Nz'",
        "{dst} has {dst.cols} columns, {src} {src.cols}",
    ),
    _rule(
        "A5-05",
        "TEXTRACT(Tile(Vec, {f32|f16}, 32, 64), TileAcc(f32, 32, 64), row=0, col=0, mode=AccToVecMode.DualModeSplitM)",
        evidence="static_assert",
    )(
        """acc to vec: dst ND, rows a multiple of 32 bytes; dual modes split evenly and do not convert.

        Decision: A check of the header admits Nz, its transfer writes ND: refused (D-26).
        """,
        "dst.layout_name == 'ND' if pair(o) == (Acc, Vec)",
        "{dst} has layout {dst.layout_name}; an accumulator's window is written as ND",
        "dst.cols * dst.dtype.size % 32 == 0 if pair(o) == (Acc, Vec)",
        "a row of {dst} has {dst.cols * dst.dtype.size} bytes, not a multiple of 32",
        lambda o: dual_split(o) if pair(o) == (Acc, Vec) else None,
    ),
    _rule(
        "A5-06",
        "TEXTRACT(Tile({Mat|Vec}, f16, 16, 16, ColMajor, slayout=SLayout.RowMajor), Tile(Vec, f16, 48, 48), "
        "row=0, col=0)",
        evidence="static_assert",
    )(
        "vec to vec keeps the layout.",
        "layouts = (src.layout_name, dst.layout_name)",
        "set(layouts) != {'ND', 'Nz'} if pair(o) == (Vec, Vec)",
        "{layouts[0]} to {layouts[1]}; TEXTRACT with one destination keeps the layout",
    ),
)
A5_PAIR_RULES = (EXTR_PAIR_03,)


# Rules of TEXTRACT on every target and on cpu (compute-layout-irregular 1.3, assembly 13.9).


EXTRACTS = "compute-layout-irregular 1.3"


_rule = family(EXTRACTS)


_CPU = {"targets": ("cpu",)}


@_rule(
    "EXTR-COM-02",
    "TEXTRACT(Tile(Vec, f16, 6, 32), Tile(Vec, f16, 11, 64), row={0|6}, col=0)",
    evidence="device assertion",
    on="cpu",
)
def EXTR_COM_02(o: Site) -> Message:
    """The window lies in the source: what arrives in operand buffers from mat, the valid region of dst elsewhere."""
    s, d = o.src, o.dst
    row, col = position(o)
    if is_conv(s):
        return None
    if not o.target.is_device:
        size = (s.vr, s.vc) if dual(o) and s.loc is Acc else (d.vr, d.vc)
        return outside((row, col), size, (s.vr, s.vc))
    size = operand_extent(o) if s.loc is Mat else (d.vr, d.vc)
    return outside((row, col), size, (s.rows, s.cols))


def quantised(o: Site, cols: Any, first: Any, to: Any = 0) -> Message:
    """Types, words and form of a move out of an accumulator: columns [first, first + cols) to column `to` of dst."""
    if o.src.loc is not Acc:
        asked = "relu" if relu(o) else "a quantisation word" if word(o) else "quantisation words" if words(o) else None
        return f"{asked} needs an acc source, {o:src} is a {o.src.loc.text} tile" if asked else None
    fp = words(o)
    wrong = parameter_tile(o, fp) if fp is not None else None
    if o.target.is_a(A2A3) and pair(o) == (Acc, Mat):
        wrong = wrong or acc_to_mat(o) or acc_types(o, A23_ACC_TYPES)
    elif o.target.is_a(A5):
        wrong = wrong or acc_types(o, o.target.entry(ACC_TYPES))
    wrong = wrong or columns_of_words(o, cols, first) or signedness(o, cols, first)
    return wrong or blocks_overflow(o, cols, to)


COMMON_RULES = (
    _rule(
        "EXTR-COM-01",
        "TEXTRACT(Tile(Vec, f16, 6, 32), Tile(Vec, f16, 11, 64), row={0|-1}, col=0)",
        evidence="device",
        on="cpu",
    )(
        "Indices are 0 to 65535.",
        lambda o: bad_index(o, "row"),
        lambda o: bad_index(o, "col"),
    ),
    EXTR_COM_02,
    _rule(
        "EXTR-COM-03",
        "TEXTRACT(Tile(Vec, {u16|f32}, 8, {16|8}), Tile(Vec, {u16|f16}, 8, 16), row=0, col=0)",
        evidence="static_assert",
        on="a2a3",
    )(
        "Only accumulators are converted.",
        lambda o: types_differ(o) if o.src.loc is not Acc else None,
    ),
    _rule(
        "EXTR-COM-04",
        "TEXTRACT_FP(Tile(Mat, i8, 16, 32, ColMajor, slayout=SLayout.RowMajor), TileAcc(i32, 32, 96), "
        "Tile({Scaling|Vec}, u64, 1, 32), 0, 0)",
        source="move-gather-scatter 5.4, 6.1",
        evidence="device",
        on="cpu",
    )(
        "From acc: a pair of types that a move has, words of the right sign for every column; otherwise no words.",
        lambda o: quantised(o, o.dst.vc, position(o)[1]),
    ),
    _rule(
        "EXTR-COM-05",
        "TEXTRACT(Tile(Vec, f16, 16, 16, ColMajor{, slayout=SLayout.RowMajor|}), "
        "Tile(Vec, f16, 48, 48, ColMajor{, slayout=SLayout.RowMajor|}), row=0, col=0)",
        evidence="static_assert",
        on="a2a3",
    )(
        """The pair of buffers and layouts is one that the target extracts between.

        Decision: cpu extracts between all tiles. Of convolution tiles, FRACTAL_Z goes to right tiles on every target.
        """,
        lambda o: refused(o, position(o)) if is_conv(o.src) else None,
        lambda o: pair_of_layouts(o) if o.target.is_device else None,
    ),
)
CPU_RULES = (
    _rule(
        "EXTR-CPU-02",
        "TEXTRACT(Tile(Left, {f16|e4m3}, 16, {16|32}, ColMajor, slayout=SLayout.RowMajor), "
        "Tile(Mat, {f16|e4m3}, 16, {16|32}, ColMajor, slayout=SLayout.RowMajor), row=0, col=0)",
        source="types-and-layouts T-01",
        **_CPU,
        evidence="simulator",
    )(unsupported),
)


@_rule(
    "EXTR-PAIR-01",
    "TEXTRACT2(Tile(Vec, f16, 16, 32, ColMajor, slayout=SLayout.RowMajor), "
    "Tile(Vec, f16, 16, 16, ColMajor, slayout=SLayout.RowMajor), Tile(Vec, f16, 32, 64), 0, 0, 16, {48|49})",
    evidence="device",
    on="a2a3",
)
def EXTR_PAIR_01(o: Site) -> Message:
    """Both windows lie in the source."""
    for k in "01":
        for name in (f"row{k}", f"col{k}"):
            if wrong := bad_index(o, name):
                return wrong
        at, d = position(o, f"row{k}", f"col{k}"), o.operands[f"dst{k}"]
        if wrong := outside(at, (d.vr, d.vc), (o.src.rows, o.src.cols)):  # type: ignore[union-attr]
            return f"window {k}: {wrong}"
    return None


EXTR_PAIR_02 = _rule(
    "EXTR-PAIR-02",
    "TEXTRACT2(Tile(Vec, f16, 16, 32, ColMajor, slayout=SLayout.RowMajor), "
    "Tile(Vec, {f16|bf16}, 16, 16, ColMajor, slayout=SLayout.RowMajor), Tile(Vec, f16, 32, 64), 0, 0, 16, 48)",
    evidence="static_assert",
    on="a2a3",
)(
    "Two windows: vec ND to vec Nz of one type.",
    "src.layout_name == 'ND' and src.loc is Vec",
    "{src} is a {src.loc.text} tile in {src.layout_name}, not vec ND",
    "t.loc is Vec and t.layout_name == 'Nz' for t in (dst0, dst1)",
    "{t} is a {t.loc.text} tile in {t.layout_name}, not vec Nz",
    need("t.dtype is src.dtype for t in (dst0, dst1)"),
)


EXTRACT_RULES = (*COMMON_RULES, *CPU_RULES, *A23_RULES, *A5_RULES, *EXTRACT_TEXT_RULES)
EXTRACT_FP_RULES = (*COMMON_RULES, *CPU_RULES, *A23_RULES, *A5_RULES)
PAIR_RULES = (
    _rule(
        "EXTR-CPU-01",
        "TEXTRACT{(Tile(Vec, f16, 16, 16, ColMajor, slayout=SLayout.RowMajor)|2(Tile(Vec, f16, 16, 16, ColMajor, "
        "slayout=SLayout.RowMajor), Tile(Vec, f16, 16, 16, ColMajor, slayout=SLayout.RowMajor)}, "
        "Tile(Vec, f16, 32, 64), 0, 0{|, 16, 48})",
        decision="Extended mode runs it; AccToVecMode and the scalar word have their effect on cpu too.",
        **_CPU,
        evidence="static_assert",
    )(
        "The form with two destinations exists on the devices only.",
        "extended",
        "cpu has no TEXTRACT with two destinations",
    ),
    EXTR_PAIR_01,
    EXTR_PAIR_02,
    *A23_PAIR_RULES,
    *A5_PAIR_RULES,
)
