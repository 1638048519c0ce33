"""Rules of TEXTRACT on a5 (compute-layout-irregular 1.3)."""

from __future__ import annotations

from typing import Any

from ptokit.diagnostics import family
from ptokit.types.enums import AccToVecMode

from ..site import Site
from .extract_checks import operand_window
from .extract_footprint import position
from .fractal_z import is_conv
from .move_checks import Message, listed
from .move_facts import (
    MX_SCALES,
    OPERAND_PAIRS,
    Acc,
    Left,
    Mat,
    ScaleLeft,
    Vec,
    arrow,
    dual,
    form,
    nz_pitch,
    pair,
    types,
)

MAT_TYPES = types("i8 hif8 e5m2 e4m3 f16 bf16 f32 e2m1 e1m2 e2m1x2 e1m2x2")
VEC_TYPES = types("i8 u8 i16 u16 i32 u32 f16 bf16 f32 hif8 e4m3 e5m2 e8m0 e2m1 e1m2 e2m1x2 e1m2x2")


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
    if o.dst.dtype not in VEC_TYPES:
        return f"element type {o.dst.dtype} is not extracted between vec tiles; {listed(VEC_TYPES)} are"
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


@_rule(
    "PAIR-03",
    "TEXTRACT2(Tile(Vec, f16, 16, 32, ColMajor, slayout=SLayout.RowMajor{|, "
    "compact=CompactMode.RowPlusOne}), Tile(Vec, f16, 16, 16, ColMajor, slayout=SLayout.RowMajor), "
    "Tile(Vec, f16, 32, 64), 0, 0, 16, 48)",
    evidence="static_assert",
)
def EXTR_PAIR_03(o: Site) -> Message:
    """Two windows on a5: types that go between vec tiles, and room for column blocks of whole boxes."""
    if o.src.dtype not in VEC_TYPES:
        return f"element type {o.src.dtype} has no form with two windows; {listed(VEC_TYPES)} have"
    for name in ("dst0", "dst1"):
        d: Any = o.operands[name]
        pitch = nz_pitch(d.spec, d.vr)
        if -(-d.vc // d.c0) * pitch * d.c0 > d.spec.numel:
            return f"{o:{name}}: column blocks of {pitch} rows do not fit into {d.rows}x{d.cols}"
    return None


A5_RULES = (
    _rule(
        "A5-01",
        "TEXTRACT(TileLeft({e4m3|u8}, 16, 32), Tile(Mat, {e4m3|u8}, 32, 32, ColMajor, slayout=SLayout.RowMajor), "
        "row=0, col=0)",
        evidence="static_assert",
    )(
        "From mat, and vec to mat: 8-bit floats, i8, f16, bf16, f32, fp4.",
        "allowed = types('e8m0') | MAT_TYPES if dst.loc in MX_SCALES else MAT_TYPES",
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
