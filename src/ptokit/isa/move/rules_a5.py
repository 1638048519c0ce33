"""Rules of TMOV and TMOV_FP on a5 (move-gather-scatter 7)."""

from __future__ import annotations

from functools import partial

from ptokit.diagnostics import family
from ptokit.types.enums import BLayout

from ..site import Site, TileInfo, known
from .checks import (
    MX_SCALES,  # noqa: F401
    OPERAND_PAIRS,
    PAIRS,
    SIXTY_FOUR_BITS,  # noqa: F401
    Acc,
    Bias,
    Mat,
    Message,
    Vec,
    acc_layouts,
    acc_types,
    arrow,
    dual,  # noqa: F401
    form,  # noqa: F401
    home,  # noqa: F401
    is_conv,  # noqa: F401
    listed,
    nz_pitch,
    optional,  # noqa: F401
    pair,
    scratch,
    types,
    types_differ,
)

MOVES = "move-gather-scatter 7"
OPERAND_TYPES = types("i8 hif8 e5m2 e4m3 f16 bf16 f32 e2m1 e1m2 e2m1x2 e1m2x2")
REARRANGED_TYPES = types("f16 bf16 f32 i32 i8 u8 e4m3 e5m2 hif8 e2m1 e1m2 e2m1x2 e1m2x2")
EXPONENT_TYPES = types("u8 hif8 e8m0")
_PLAIN = {"f32": types("f16 bf16 f32"), "i32": types("i32")}
_QUANT = {"f32": types("i8 u8 hif8 f16 bf16 e4m3 f32"), "i32": types("i8 u8 f16 bf16")}
_QUANT_KIRIN9030 = {"f16": types("f16 i8 u8 i16"), "i32": types("i8 u8 f16 i16")}
ACC_TYPES = {
    "a5": {"cast": _PLAIN, "scalar": _QUANT, "vector": _QUANT},
    "kirin9030": {
        "cast": {"f16": types("f16"), "i32": types("i32")},
        "scalar": _QUANT_KIRIN9030,
        "vector": _QUANT_KIRIN9030,
    },
}
"""Element types of an accumulator and of where it goes, by form, of a5 and what is like it."""
_BIAS = {
    "a5": frozenset({("i32", "i32"), ("f32", "f32"), ("f16", "f32"), ("bf16", "f32")}),
    "kirin9030": frozenset({("i32", "i32"), ("f16", "f16")}),
}


_rule = family(MOVES, "TMOV-A5-")


@_rule(
    "00",
    "TMOV(Tile(Vec, f16, 16, 16, ColMajor{, slayout=SLayout.RowMajor|}), Tile(Vec, f16, 16, 16))",
    evidence="device",
)
def TMOV_A5_00(o: Site) -> Message:
    """The pair of buffers, and of layouts between vec tiles, is one that a5 moves.

    The library compiles other pairs to nothing.
    """
    if pair(o) not in o.target.entry(PAIRS):
        return f"{arrow(o)} is not a move of a5; the library compiles it to nothing"
    change = (o.src.layout_name, o.dst.layout_name)
    if pair(o) == (Vec, Vec) and scratch(o) is None and change[0] != change[1]:
        if change in (("ND", "Nz"), ("ND", "Zn")):
            return None
        hint = "; that takes a scratch tile" if change[1] == "Zz" else ""
        return f"a5 does not re-arrange {change[0]} to {change[1]} between vec tiles{hint}"
    if pair(o) == (Vec, Mat) and o.src.row_major and o.src.boxed:
        return f"{o:src} has layout {change[0]}; of vec to mat only ND and Nz sources are moved"
    return None


def _common(o: Site) -> bool:
    return pair(o) in OPERAND_PAIRS or pair(o) == (Vec, Mat)


TMOV_A5_05 = _rule(
    "05",
    "TMOV({TileLeft(f16, 32, 32), Tile(Mat, f16, 32, 32, ColMajor, "
    "slayout=SLayout.RowMajor|TileLeftScale(e8m0, 48, 16), "
    "Tile(Mat, e8m0, 48, 16, ColMajor, slayout=SLayout.ColMajor, fractal=32}))",
    evidence="static_assert",
)(
    "Scales keep type and layout: left Zz, right Nn.",
    "wanted = 'Zz' if home(dst) is ScaleLeft else 'Nn'",
    "if src.loc is Mat and home(dst) in MX_SCALES",
    "t.layout_name == wanted for t in (src, dst)",
    "{t} has layout {t.layout_name}; {arrow(o)} takes {wanted}",
    types_differ,
)


def _one_row(o: Site, unit: int) -> Message:
    if o.src.rows != 1:
        return f"{o:src} has {o.src.rows} rows; {arrow(o)} takes one"
    size = o.dst.cols * o.dst.dtype.size
    if size % unit or size > 4096:
        return f"{o.dst.cols} columns of {o.dst.dtype} are {size} bytes, not a multiple of {unit} up to 4096"
    return None


def _scales_of_templates(o: Site) -> bool:
    return o.target.templates and o.src.dtype is o.dst.dtype and o.dst.dtype.name == "f32"


TMOV_A5_S1 = _rule(
    "S1", "TMOV(Tile(Scaling, u64, 1, {64|116}), Tile(Mat, u64, 1, {64|116}))", evidence="static_assert"
)(
    "mat to scaling: 64-bit elements of one type, one row, a multiple of 128 bytes up to 4096.",
    "if src.loc is Mat and home(dst) is Scaling and not _scales_of_templates(o)",
    "src.dtype is dst.dtype and dst.dtype in SIXTY_FOUR_BITS",
    "{src.dtype} to {dst.dtype}; a scaling move takes u64 or i64 on both sides",
    partial(_one_row, unit=128),
)


def _from_acc(o: Site) -> bool:
    return pair(o) in ((Acc, Vec), (Acc, Mat))


def stride_bytes(d: TileInfo) -> int:
    """Bytes from one line (ND, DN) or column block (Nz) of an accumulator's destination to the next."""
    lines = d.rows * d.box.cols if d.layout_name == "Nz" else d.cols if d.row_major else d.rows
    return int(lines) * d.dtype.size


@_rule(
    "Z1",
    "TMOV(Tile(Vec, u8, 32, 64, slayout=SLayout.RowMajor, fractal=32), Tile(Vec, u8, 32, 64), "
    "tmp=Tile(Vec, u8, 1, {192|160}))",
    targets=("cpu", "a5"),
    source="move-gather-scatter 4.5",
    evidence="static_assert",
    on="cpu",
)
def TMOV_A5_Z1(o: Site) -> Message:
    """X to Zz: three vec tiles of u8, hif8 or e8m0, a packed ND source, a Zz destination, even groups, room in tmp.

    Decision: cpu does the same (D15). Group axis 1 needs 2 * (32 + boxes) bytes of tmp.
    """
    third = scratch(o)
    if third is None:
        return None
    s, d = o.src, o.dst
    for name, t in (("src", s), ("dst", d), ("tmp", third)):
        if t.dtype not in EXPONENT_TYPES or t.dtype is not s.dtype:
            return f"{o:{name}} has element type {t.dtype}; all three tiles have one of {listed(EXPONENT_TYPES)}"
    if pair(o) != (Vec, Vec) or third.loc is not Vec:
        return f"{arrow(o)} with a {third.loc.text} scratch tile; all three are vec tiles"
    if s.layout_name != "ND" or d.layout_name != "Zz":
        return (
            f"{s.layout_name} to {d.layout_name}; {o:src} is {o.word(BLayout.RowMajor)} without boxes, {o:dst} has "
            f"{o.word(BLayout.RowMajor)} boxes and rows"
        )
    if o.grp_axis not in (0, 1):
        return f"grp_axis is {o.grp_axis}, not 0 or 1"
    return _zz_columns(o, s, d) if o.grp_axis == 0 else _zz_rows(o, s, d, third)


def _zz_columns(o: Site, s: TileInfo, d: TileInfo) -> Message:
    if s.vr % 2 != 0 or s.vc % 16 != 0:
        return f"{o:src} is valid in {s.vr}x{s.vc}; rows must be even and columns a multiple of 16"
    if s.cols != s.vc and known(s.vc):
        return f"{o:src} has {s.cols} columns and {s.vc} valid ones; it must be packed"
    if s.vr * s.vc > d.spec.numel:
        return f"{s.vr}x{s.vc} exponents do not fit into {d.rows}x{d.cols}"
    return None


def _zz_rows(o: Site, s: TileInfo, d: TileInfo, third: TileInfo) -> Message:
    if d.vc % 2 != 0:
        return f"{o:dst} has {d.vc} valid columns; they must be even"
    if s.rows != 1 and s.cols != d.vc and known(d.vc):  # exponents in one row lie together
        return f"{o:src} has {s.cols} columns, {o:dst} {d.vc} valid ones; {o:src} must be packed"
    if not known(d.vr, d.vc):
        return None
    boxes = -(-d.vr // 16) * (d.vc // 2)
    if 32 * boxes > d.spec.numel:
        return f"{boxes} boxes of 32 exponents do not fit into {d.rows}x{d.cols}"
    if d.vr * d.vc > s.spec.numel:
        return f"{o:dst} is valid in {d.vr}x{d.vc}, {o:src} has {s.rows}x{s.cols}"
    need = 2 * (32 + boxes)
    return f"{o:tmp} has {third.spec.nbytes} bytes, {need} are needed" if third.spec.nbytes < need else None


def _rearranged(o: Site) -> str | None:
    """The layout an ND source takes between vec tiles."""
    if pair(o) == (Vec, Vec) and scratch(o) is None and o.src.layout_name == "ND" and o.dst.boxed:
        return str(o.dst.layout_name)
    return None


@_rule(
    "N1",
    "TMOV(Tile(Vec, {f16|u16}, 16, {16|32}, ColMajor, slayout=SLayout.RowMajor), Tile(Vec, {f16|u16}, 16, {16|32}))",
    source="move-gather-scatter 4.4",
    evidence="static_assert device",
)
def TMOV_A5_N1(o: Site) -> Message:
    """ND to Zn moves whole boxes of a packed source; ND to Nz and Zn have a list of types, and the result fits."""
    layout = _rearranged(o)
    if layout not in ("Nz", "Zn"):
        return None
    s, d = o.src, o.dst
    if s.dtype not in REARRANGED_TYPES:
        return f"element type {s.dtype} is not re-arranged to {layout}; {listed(REARRANGED_TYPES)} are"
    if layout == "Nz":
        blocks = -(-d.vc // d.c0)
        if blocks * nz_pitch(d.spec, d.vr) * d.c0 > d.spec.numel:
            return f"column blocks of {nz_pitch(d.spec, d.vr)} rows do not fit into {d.rows}x{d.cols}"
        return None
    if s.rows % s.c0 or s.cols % 16:
        return f"{o:src} is {s.rows}x{s.cols}; to Zn go multiples of {s.c0} rows and 16 columns"
    if s.cols != d.vc and known(d.vc):
        return f"{o:src} has {s.cols} columns, {o:dst} {d.vc} valid ones; {o:src} must be packed"
    if d.vr % d.c0 != 0 or d.vc % 16 != 0:
        return f"{o:dst} is valid in {d.vr}x{d.vc}; rests of {d.c0} rows or 16 columns are not moved"
    return None


TMOV_A5_N2 = _rule(
    "N2",
    "TMOV(Tile(Vec, f16, {16|32}, {16|32}, ColMajor{|, valid_row=16}, slayout=SLayout.RowMajor), "
    "Tile(Vec, f16, 16, {16|32}))",
    source="move-gather-scatter 4.4",
    evidence="legal",
)(
    "ND to Nz and X to Zz put boxes as far apart as the tile type says.",
    "nz_pitch(dst.spec, dst.vr) == dst.rows if _rearranged(o) == 'Nz'",
    "column blocks are written {nz_pitch(dst.spec, dst.vr)} rows apart, those of {dst} are {dst.rows} rows",
    "columns = src.vr if grp_axis == 0 else dst.vc",
    "columns == dst.cols if scratch(o) is not None and dst.layout_name == 'Zz'",
    "boxes are packed for {columns} columns, {dst} has {dst.cols}",
)


A5_RULES = (
    TMOV_A5_00,
    _rule(
        "01",
        "TMOV(TileLeft(f16, {32|16}, {32|16}), Tile(Mat, f16, 32, {32|16}, ColMajor, slayout=SLayout.RowMajor))",
        evidence="static_assert",
    )(
        "A mat source has the rows and columns of dst.",
        "(src.rows, src.cols) == (dst.rows, dst.cols) if src.loc is Mat and pair(o) in target.entry(PAIRS) and not "
        "is_conv(src)",
        "{src} is {src.rows}x{src.cols}, {dst} is {dst.rows}x{dst.cols}",
    ),
    _rule("02", "TMOV(Tile({Vec|Mat}, {bf16|e8m0}, 32, 32), Tile(Vec, {bf16|e8m0}, 32, 32))", evidence="static_assert")(
        """mat to left or right and vec to mat: one element type, of those the matrix unit reads.

        Decision: e8m0 moves only to the scale buffers (move-gather-scatter D7).
        """,
        "src.dtype in OPERAND_TYPES if _common(o)",
        "element type {src.dtype} does not go {arrow(o)}; {listed(OPERAND_TYPES)} do",
        lambda o: types_differ(o) if _common(o) else None,
    ),
    _rule(
        "03",
        "TMOV(TileLeft(f16, 32, 32), Tile(Mat, f16, 32, 32, ColMajor{, slayout=SLayout.RowMajor|}))",
        evidence="static_assert",
    )(
        "mat to left or right and vec to mat: src is Nz or row-major.",
        "src.layout_name == 'Nz' if _common(o) and not src.row_major",
        "{src} has layout {src.layout_name}; it must be Nz or {o.word(BLayout.RowMajor)}",
    ),
    _rule(
        "04",
        "TMOV({TileLeft|Tile}({|Left, }f16, 32, 32{|, slayout=SLayout.RowMajor}), "
        "Tile(Mat, f16, 32, 32, ColMajor, slayout=SLayout.RowMajor))",
        evidence="static_assert",
    )(
        "A left tile is Nz, a right tile Zn.",
        "wanted = 'Nz' if dst.loc is Left else 'Zn'",
        "dst.layout_name == wanted if pair(o) in OPERAND_PAIRS",
        "{dst} has layout {dst.layout_name}; a {dst.loc.text} tile of a5 is {wanted}",
    ),
    TMOV_A5_05,
    _rule(
        "B1", "TMOV(Tile(Bias, {f32|i32}, 1, {64|152}), Tile(Mat, {f16|i32}, 1, {64|152}))", evidence="static_assert"
    )(
        """mat to bias: i32 to i32, or f32, f16, bf16 to f32; one row, a multiple of 64 bytes up to 4096.

        Decision: bf16 is converted; the hardware's control bit is known for f16 only (D17).
        """,
        "kinds = (src.dtype.name, dst.dtype.name)",
        "kinds in target.entry(_BIAS) if pair(o) == (Mat, Bias)",
        "{kinds[0]} to {kinds[1]} has no bias move; {target.name} has "
        "{listed(f'{a} to {b}' for a, b in target.entry(_BIAS))}",
        lambda o: _one_row(o, 64) if pair(o) == (Mat, Bias) else None,
    ),
    TMOV_A5_S1,
    _rule(
        "A1",
        "TMOV(Tile(Vec, {i32|f32}, {64|48}, 64), TileAcc(i32, {64|48}, 64))",
        source="move-gather-scatter 5.4, 7",
        evidence="static_assert",
    )(
        "From acc: src Nz, dst ND, DN or Nz, and a pair of types of the table.",
        "if _from_acc(o)",
        lambda o: acc_layouts(o, ("ND", "DN", "Nz")),
        lambda o: acc_types(o, o.target.entry(ACC_TYPES)),
    ),
    _rule("A2", "TMOV(Tile(Vec, f32, {32|20}, 16{|, ColMajor}), TileAcc(f32, {32|20}, 16))", evidence="static_assert")(
        "From acc: lines of dst are a multiple of 32 bytes apart.",
        "stride_bytes(dst) % 32 == 0 and stride_bytes(dst) if _from_acc(o)",
        "lines of {dst} are {stride_bytes(dst)} bytes apart, not a multiple of 32",
    ),
    _rule(
        "A3",
        "TMOV(Tile(Mat, f16, 32, 32, ColMajor, slayout=SLayout.RowMajor), "
        "TileAcc(f32, 32, 32){|, mode=AccToVecMode.SingleModeVec0})",
        evidence="static_assert",
    )(
        "AccToVecMode goes with a vec destination.",
        "dst.loc is Vec if optional(o, 'mode') is not None and src.loc is Acc",
        "{optional(o, 'mode').name} sends to the vector cores, {dst} is a {dst.loc.text} tile",
    ),
    _rule(
        "A4",
        "TMOV(Tile(Vec, {f32|bf16}, 32, {32|64}), TileAcc(f32, 32, {32|64}), mode=AccToVecMode.DualModeSplitM)",
        evidence="static_assert",
    )(
        "Dual modes do not convert and do not write DN.",
        "if dual(o) and src.loc is Acc and form(o) == 'cast'",
        "src.dtype is dst.dtype",
        "{mode.name} does not convert {src.dtype} to {dst.dtype}",
        "dst.layout_name != 'DN'",
        "{mode.name} does not write a DN tile",
    ),
    _rule(
        "A5",
        "TMOV(Tile({Mat|Vec}, i8, 32, 32{, ColMajor, slayout=SLayout.RowMajor|}), TileAcc(i32, 32, 32), "
        "Tile(Scaling, u64, 1, 32), {70368744177664|mode=AccToVecMode.DualModeSplitM})",
        evidence="static_assert",
    )(
        "Quantisation goes with single modes.",
        "form(o) == 'cast' if dual(o) and src.loc is Acc",
        "{mode.name} does not quantise; single_mode_vec0 and single_mode_vec1 do",
    ),
    _rule(
        "A6",
        "TMOV(Tile(Vec, f32, {32|16}, {32|64}), TileAcc(f32, {32|16}, {32|64, valid_row=15}), "
        "mode=AccToVecMode.DualModeSplitM)",
        evidence="device",
    )(
        """A dual mode splits an even extent; DualModeSplitN of 4-byte elements a multiple of 32 columns.

        A destination in Nz receives whole boxes, which are even.

        Decision: The destination holds sub-core 0's part; what is valid in it may be the whole or that half.
        """,
        "if dual(o) and src.loc is Acc and dst.layout_name != 'Nz'",
        "src.vr % 2 == 0 if mode is AccToVecMode.DualModeSplitM",
        "{src.vr} rows cannot be split in two",
        "src.vc % 2 == 0 if mode is AccToVecMode.DualModeSplitN",
        "{src.vc} columns cannot be split in two",
        "src.vc % 32 == 0 if mode is AccToVecMode.DualModeSplitN and dst.dtype.size == 4",
        "{src.vc} columns of {dst.dtype} are split in two; they must be a multiple of 32",
    ),
    TMOV_A5_Z1,
    TMOV_A5_N1,
    TMOV_A5_N2,
)
