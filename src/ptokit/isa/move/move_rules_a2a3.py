"""Rules of TMOV and TMOV_FP on a2a3 (move-gather-scatter 7)."""

from __future__ import annotations

from ptokit.diagnostics import family
from ptokit.diagnostics.conditions import shared

from ..site import Site, TileInfo
from .fractal_z import is_conv
from .move_checks import Message, acc_layouts, acc_types, listed
from .move_facts import (
    PAIRS,
    SIXTY_FOUR_BITS,
    Acc,
    Bias,
    Mat,
    Scaling,
    Vec,
    arrow,
    form,
    optional,
    pair,
    relu,
    scratch,
    types,
)

MOVES = "move-gather-scatter 7"
rule = family(MOVES)

_BIAS = frozenset({("i32", "i32"), ("f32", "f32"), ("f16", "f32")})
_ACC_PLAIN = {"f32": types("f16 bf16"), "i32": types("")}
_ACC_QUANT = {"f32": types("i8"), "i32": types("i8 u8 f16 i16")}
A23_ACC_TYPES = {"cast": _ACC_PLAIN, "scalar": _ACC_QUANT, "vector": _ACC_QUANT}


@rule("TMOV-A23-03", "f16 to f16, valid=1x16", "f16 to f32")
def TMOV_A23_03(o: Site) -> Message:
    """vec to vec: equal element sizes and a valid region that is not empty."""
    if pair(o) != (Vec, Vec):
        return None
    if o.src.dtype.bits != o.dst.dtype.bits:
        return f"elements of {o:src} have {o.src.dtype.bits} bits, those of {o:dst} {o.dst.dtype.bits}"
    for t in (o.src, o.dst):
        if t.vr < 1 or t.vc < 1:
            return f"the valid region is {t.vr}x{t.vc}; nothing would be moved"
    return None


def one_row_of(o: Site, target: object, measured: TileInfo, unit: int, limit: int | None = None) -> Message:
    """A one-row tile whose bytes come in units."""
    if pair(o) != (Mat, target):
        return None
    if o.src.rows != 1:
        return f"{o:src} has {o.src.rows} rows; a {measured.loc.text} move takes one"
    size = measured.cols * measured.dtype.size
    if size % unit:
        return f"{measured.cols} columns of {measured.dtype} are {size} bytes, not a multiple of {unit}"
    if limit is not None and size > limit:
        return f"{measured.cols} columns of {measured.dtype} are {size} bytes, more than {limit}"
    return None


acc_to_mat = shared(
    "acc to mat: both Nz, dst with fractal 512 and rows of whole 32-byte blocks, src f32 or i32.",
    "dst.cols * dst.dtype.size % 32 == 0 if pair(o) == (Acc, Mat)",
    "a row of {dst} has {dst.cols * dst.dtype.size} bytes, not a multiple of 32",
    lambda o: acc_layouts(o, ("Nz",)) if pair(o) == (Acc, Mat) else None,
    "dst.fractal == 512 if pair(o) == (Acc, Mat)",
    "{dst} has fractal={dst.fractal}, not 512",
)


def acc_types_allowed(o: Site) -> Message:
    """acc to mat: plain f32 to f16 or bf16; quantised f32 to i8, i32 to i8, u8, f16 or i16."""
    return acc_types(o, A23_ACC_TYPES) if pair(o) == (Acc, Mat) else None


A23_RULES = (
    rule(
        "TMOV-A23-02", "TMOV(Tile({Vec|Mat}, f32, {32|64}, 32), Tile(Vec, f32, {32|64}, 32))", evidence="static_assert"
    )(
        "a2a3 moves mat to left, right, bias and scaling, vec to vec of one layout, and acc to mat.",
        "scratch(o) is None",
        "the form with a scratch tile exists on a5 only",
        "pair(o) == (Acc, Vec) if pair(o) not in target.entry(PAIRS)",
        "{arrow(o)} is not a move of a2a3; it has {listed((f'{a.text} to {b.text}' for a, b in PAIRS['a2a3']))}",
        "src.layout_name == dst.layout_name if pair(o) == (Vec, Vec)",
        "a2a3 does not re-arrange {src.layout_name} to {dst.layout_name} between vec tiles",
    ),
    rule("TMOV-A23-A3", "TMOV(Tile(Vec, f32, 32, 32), {Tile|TileAcc}({Vec, |}f32, 32, 32))", evidence="static_assert")(
        "a2a3 has no move from acc to vec, no AccToVecMode and no phase.",
        "pair(o) != (Acc, Vec)",
        "a2a3 does not move acc to vec",
        "optional(o, 'mode') is None",
        "a2a3 has no AccToVecMode, {mode.name} is given",
        "optional(o, 'phase') in (None, STPhase.Unspecified)",
        "a2a3 has no phase, {optional(o, 'phase').name} is given",
    ),
    rule("TMOV-A23-01", "TMOV(Tile(Vec, f32, 32, {32|8}), Tile(Vec, f32, {32|16}, {32|8}))", evidence="static_assert")(
        "Source and destination of a plain move have the same rows and columns.",
        "(src.rows, src.cols) == (dst.rows, dst.cols) if form(o) == 'cast' and not relu(o) and not is_conv(src) and "
        "pair(o) in target.entry(PAIRS)",
        "{src} is {src.rows}x{src.cols}, {dst} is {dst.rows}x{dst.cols}",
    ),
    TMOV_A23_03,
    rule("TMOV-A23-B1", "TMOV(Tile(Bias, f32, 1, 64), Tile(Mat, {f16|bf16}, 1, 64))", evidence="static_assert device")(
        "mat to bias moves i32 to i32, f32 to f32 or f16 to f32.",
        "kinds = (src.dtype.name, dst.dtype.name)",
        "kinds in _BIAS if pair(o) == (Mat, Bias)",
        "{kinds[0]} to {kinds[1]} has no bias move; a2a3 has i32 to i32, f32 to f32, f16 to f32",
    ),
    rule("TMOV-A23-B2", "TMOV(Tile(Bias, f32, {1|2}, 16), Tile(Mat, f32, {1|2}, 16))", evidence="static_assert")(
        "mat to bias: one row, whose source is a multiple of 64 bytes.",
        lambda o: one_row_of(o, Bias, o.src, 64),
    ),
    rule("TMOV-A23-S1", "TMOV(Tile(Scaling, u64, 1, {32|20}), Tile(Mat, u64, 1, {32|20}))", evidence="static_assert")(
        """mat to scaling: 64-bit elements of one type, one row, a multiple of 128 bytes.

        Decision: i64 is taken as well as u64 (move-gather-scatter D6).
        """,
        "src.dtype is dst.dtype and dst.dtype in SIXTY_FOUR_BITS if pair(o) == (Mat, Scaling)",
        "{src.dtype} to {dst.dtype}; a scaling move takes u64 or i64 on both sides",
        lambda o: one_row_of(o, Scaling, o.src, 128) if pair(o) == (Mat, Scaling) else None,
    ),
    rule(
        "TMOV-A23-A1",
        "TMOV(Tile(Mat, f16, 32, 32, ColMajor, slayout=SLayout.RowMajor{|, fractal=1024}), TileAcc(f32, 32, 32))",
        evidence="static_assert",
    )(acc_to_mat),
    rule(
        "TMOV-A23-A2",
        "TMOV(Tile(Mat, {f16|f32}, 32, 32, ColMajor, slayout=SLayout.RowMajor), TileAcc(f32, 32, 32))",
        source="move-gather-scatter 5.4",
        evidence="static_assert",
    )(acc_types_allowed),
)
