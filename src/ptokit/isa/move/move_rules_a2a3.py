"""Rules of TMOV and TMOV_FP on a2a3 (move-gather-scatter 7)."""

from __future__ import annotations

from ptokit.diagnostics import family
from ptokit.types.enums import STPhase

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


@rule("TMOV-A23-02", "mat to left", "vec to mat")
def TMOV_A23_02(o: Site) -> Message:
    """a2a3 moves mat to left, right, bias and scaling, vec to vec of one layout, and acc to mat."""
    if scratch(o) is not None:
        return "the form with a scratch tile exists on a5 only"
    if pair(o) not in o.target.entry(PAIRS) and pair(o) != (Acc, Vec):
        return f"{arrow(o)} is not a move of a2a3; it has {listed(f'{a.text} to {b.text}' for a, b in PAIRS['a2a3'])}"
    if pair(o) == (Vec, Vec) and o.src.layout_name != o.dst.layout_name:
        return f"a2a3 does not re-arrange {o.src.layout_name} to {o.dst.layout_name} between vec tiles"
    return None


@rule("TMOV-A23-01", "64x96 both", "64x96 into 96x96")
def TMOV_A23_01(o: Site) -> Message:
    """Source and destination of a plain move have the same rows and columns."""
    if form(o) != "cast" or relu(o) or is_conv(o.src) or pair(o) not in o.target.entry(PAIRS):
        return None
    if (o.src.rows, o.src.cols) != (o.dst.rows, o.dst.cols):
        return f"{o:src} is {o.src.rows}x{o.src.cols}, {o:dst} is {o.dst.rows}x{o.dst.cols}"
    return None


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


@rule("TMOV-A23-B1", "f16 to f32", "bf16 to f32")
def TMOV_A23_B1(o: Site) -> Message:
    """mat to bias moves i32 to i32, f32 to f32 or f16 to f32."""
    kinds = (o.src.dtype.name, o.dst.dtype.name)
    if pair(o) == (Mat, Bias) and kinds not in _BIAS:
        return f"{kinds[0]} to {kinds[1]} has no bias move; a2a3 has i32 to i32, f32 to f32, f16 to f32"
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


@rule("TMOV-A23-S1", "u64 1x32", "u64 1x20")
def TMOV_A23_S1(o: Site) -> Message:
    """mat to scaling: 64-bit elements of one type, one row, a multiple of 128 bytes.

    Decision: i64 is taken as well as u64 (move-gather-scatter D6).
    """
    if pair(o) != (Mat, Scaling):
        return None
    if o.src.dtype is not o.dst.dtype or o.dst.dtype not in SIXTY_FOUR_BITS:
        return f"{o.src.dtype} to {o.dst.dtype}; a scaling move takes u64 or i64 on both sides"
    return one_row_of(o, Scaling, o.src, 128)


def acc_to_mat(o: Site) -> Message:
    """acc to mat: both Nz, dst with fractal 512 and rows of whole 32-byte blocks, src f32 or i32."""
    if pair(o) != (Acc, Mat):
        return None
    if o.dst.cols * o.dst.dtype.size % 32:
        return f"a row of {o:dst} has {o.dst.cols * o.dst.dtype.size} bytes, not a multiple of 32"
    return acc_layouts(o, ("Nz",)) or (
        f"{o:dst} has fractal={o.dst.fractal}, not 512" if o.dst.fractal != 512 else None
    )


def acc_types_allowed(o: Site) -> Message:
    """acc to mat: plain f32 to f16 or bf16; quantised f32 to i8, i32 to i8, u8, f16 or i16."""
    return acc_types(o, A23_ACC_TYPES) if pair(o) == (Acc, Mat) else None


@rule("TMOV-A23-A3", "acc to mat", "acc to vec")
def TMOV_A23_A3(o: Site) -> Message:
    """a2a3 has no move from acc to vec, no AccToVecMode and no phase."""
    if pair(o) == (Acc, Vec):
        return "a2a3 does not move acc to vec"
    if optional(o, "mode") is not None:
        return f"a2a3 has no AccToVecMode, {o.mode.name} is given"
    phase = optional(o, "phase")
    return f"a2a3 has no phase, {phase.name} is given" if phase not in (None, STPhase.Unspecified) else None


@rule("TMOV-A23-B2", "f32 1x64", "f32 1x40")
def TMOV_A23_B2(o: Site) -> Message:
    """mat to bias: one row, whose source is a multiple of 64 bytes."""
    return one_row_of(o, Bias, o.src, 64)


A23_RULES = (
    TMOV_A23_02,
    TMOV_A23_A3,
    TMOV_A23_01,
    TMOV_A23_03,
    TMOV_A23_B1,
    TMOV_A23_B2,
    TMOV_A23_S1,
    rule("TMOV-A23-A1", "dst col_major, row_major, fractal=512", "dst row_major, none_box")(acc_to_mat),
    rule("TMOV-A23-A2", "f32 to f16", "f32 to f32", source="move-gather-scatter 5.4")(acc_types_allowed),
)
