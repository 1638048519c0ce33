"""Rules of TMOV and TMOV_FP on every target, on cpu and on a2a3 (move-gather-scatter 7)."""

from __future__ import annotations

from ptokit.diagnostics import Doubt, define, family
from ptokit.diagnostics.finding import Change
from ptokit.diagnostics.rules import need, shared
from ptokit.targets import A5
from ptokit.types.enums import BLayout, CompactMode, SLayout  # noqa: F401

from ..meaning.matrices import first_part
from ..numerics.quant import QuantMode, move_mode  # noqa: F401
from ..site import Site, TileInfo
from .checks import (
    OPERAND_PAIRS,
    PAIRS,  # noqa: F401
    SIXTY_FOUR_BITS,  # noqa: F401
    Acc,
    Bias,
    Mat,
    Message,
    Scaling,
    Vec,
    acc_layouts,
    acc_types,
    arrow,  # noqa: F401
    blocks_overflow,
    columns_of_words,
    copies_bits,
    dual,
    form,  # noqa: F401
    is_conv,
    listed,  # noqa: F401
    operand_layout,
    optional,
    pair,
    parameter_tile,
    refused,
    relu,
    scratch,
    signedness,
    types,
    types_differ,
    word,
    words,
)
from .rules_a5 import A5_RULES
from .text_rules import ASSEMBLER_FP_RULES, ASSEMBLER_RULES

# Rules of TMOV and TMOV_FP on a2a3 (move-gather-scatter 7).


MOVES = "move-gather-scatter 7"
rule = family(MOVES)

_BIAS = frozenset({("i32", "i32"), ("f32", "f32"), ("f16", "f32")})
_ACC_PLAIN = {"f32": types("f16 bf16"), "i32": types("")}
_ACC_QUANT = {"f32": types("i8"), "i32": types("i8 u8 f16 i16")}
A23_ACC_TYPES = {"cast": _ACC_PLAIN, "scalar": _ACC_QUANT, "vector": _ACC_QUANT}


TMOV_A23_03 = rule(
    "TMOV-A23-03", "TMOV(Tile(Vec, {f16|f32}, 16, 16), Tile(Vec, f16, 16, 16))", evidence="static_assert assertion"
)(
    "vec to vec: equal element sizes and a valid region that is not empty.",
    "if pair(o) == (Vec, Vec)",
    "src.dtype.bits == dst.dtype.bits",
    "elements of {src} have {src.dtype.bits} bits, those of {dst} {dst.dtype.bits}",
    "t.vr >= 1 and t.vc >= 1 for t in (src, dst)",
    "the valid region is {t.vr}x{t.vc}; nothing would be moved",
)


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


# Rules of TMOV and TMOV_FP on every target, on cpu and on a2a3 (move-gather-scatter 7).


rule = family(MOVES)


@rule(
    "TMOV-COM-03",
    "TMOV(Tile(Mat, i8, 32, 32, ColMajor, slayout=SLayout.RowMajor), TileAcc(i32, 32, 32), "
    "Tile({Scaling|Mat}, u64, 1, 32))",
    evidence="static_assert",
    on="cpu",
)
def TMOV_COM_03(o: Site) -> Message:
    """Quantisation words of a vector form lie in a Scaling tile of 64-bit elements."""
    fp = words(o)
    return parameter_tile(o, fp) if fp is not None else None


@rule(
    "TMOV-COM-10",
    "TMOV(Tile(Vec, f32, {32, 32), Tile(Vec, f32, 32, 32|8, 8), Tile(Vec, u32, 8, 8}))",
    evidence="device",
    on="cpu",
)
def TMOV_COM_10(o: Site) -> Message:
    """A move that only copies keeps the element type; a bias may widen f16 or bf16 to f32.

    From vec to vec, devices copy the bits of elements of equal size; the simulator converts numbers.
    """
    if o.src.loc is Acc or scratch(o) is not None:
        return None
    if o.dst.loc is Bias and o.dst.dtype.name == "f32" and o.src.dtype.name in ("f16", "bf16"):
        return None
    wrong = types_differ(o)
    if not isinstance(wrong, str):
        return None
    if copies_bits(o):
        return Doubt(wrong), f"TCVT converts numbers, {o.instr.name} copies their bits"
    if (o.src.loc, o.dst.loc) == (Vec, Vec):
        name, other = ("pto.tmov", "pto.tcvt") if o.text else ("TMOV", "TCVT")
        return wrong, Change(f"write {other}, which converts", name, other)
    hint = f"give {o.dst.name} elements of {o.src.dtype}; TCVT converts in Vec tiles"
    return wrong, Change(hint, o.dst.dtype.name, o.src.dtype.name, of="dst")


def moved_region(o: Site) -> tuple[object, object]:
    """Rows and columns that are written logically, from (0, 0) of dst."""
    if o.src.loc is Acc:
        return first_part(optional(o, "mode"), o.src.vr, o.src.vc)
    return o.src.vr, o.src.vc


@rule(
    "TMOV-COM-13",
    "TMOV(Tile(Vec, f32, {64|16}, 32), TileAcc(f32, {64|32}, 32))",
    source="move-gather-scatter 4.4, 4.12",
    evidence="device",
)
def TMOV_COM_13(o: Site) -> Message:
    """What is moved fits into the destination."""
    if o.src.loc is not Acc and not (o.target.is_a(A5) and pair(o) == (Vec, Vec) and o.dst.boxed):
        return None
    if scratch(o) is not None:
        return None
    rows, cols = moved_region(o)
    if o.src.loc is Vec:
        cols = o.dst.vc
    if rows > o.dst.rows or cols > o.dst.cols:  # type: ignore[operator]
        return f"{rows}x{cols} elements are moved into a tile of {o.dst.rows}x{o.dst.cols}"
    return blocks_overflow(o, cols)  # type: ignore[arg-type]


unquantised = shared(
    "A quantisation word has an effect on the pair of types.",
    "move_mode(target, form(o), src.dtype, dst.dtype) is not QuantMode.NoQuant if src.loc is Acc and form(o) != 'cast'",
    "{src.dtype} to {dst.dtype} is not quantised on {target.name}; the {form(o)} word has no effect",
)


TMOV_COM_14 = rule(
    "TMOV-COM-14",
    "t = Tile(Vec, f32, 16, 16, ColMajor{|, valid_row=8}); TMOV(t, t)",
    targets=("a2a3", "a5"),
    source="move-gather-scatter 1.2, 4.2, 4.3",
    evidence="legal",
    on="a2a3",
)(
    """
    On the devices a vec tile that is not ND is moved as a whole.

    Decision: ptokit copies by row and column.
    """,
    "if pair(o) == (Vec, Vec) and src.layout_name == dst.layout_name and src.layout_name != 'ND'",
    "t.vr >= t.rows and t.vc >= t.cols for t in (src, dst)",
    "{t.layout_name} tile of {t.rows}x{t.cols} is valid in {t.vr}x{t.vc}; the kernel walks it as ND",
)


TMOV_COM_15 = rule(
    "TMOV-COM-15",
    "TMOV(TileRight(i8, {64|32}, {32|48}), Tile(Mat, i8, {64|32}, {32|48}, ColMajor, slayout=SLayout.RowMajor))",
    targets=("a2a3", "a5"),
    source="move-gather-scatter 4.7, 4.8",
    evidence="legal",
    on="a2a3",
)(
    "A Mat tile whose boxes are turned on the way to an operand buffer consists of whole squares.",
    "step = max(16, dst.c0)",
    "if pair(o) in OPERAND_PAIRS and src.boxed and src.slayout is not dst.slayout",
    "t.rows % step == 0 and t.cols % step == 0 for t in (src, dst)",
    "{t.rows}x{t.cols} of {t.dtype} is turned in squares of {step}x{step}",
)


LIBRARY = "TMovToLeft and TMovToRight of the library"


@rule(
    "TMOV-COM-19",
    """
        TMOV(TileLeft({f16, 32, 32|f32, 32, 24}), Tile(Mat, {f16, 32, 32, ColMajor, slayout=SLayout.RowMajor|f32, 32,
            24}))
    """,
    targets=("a2a3", "a5"),
    source=LIBRARY,
    evidence="device",
)
def TMOV_COM_19(o: Site) -> Message:
    """A plain Mat tile goes to an operand buffer in squares, all of them whole."""
    if pair(o) not in OPERAND_PAIRS or is_conv(o.src) or o.src.boxed or operand_layout(o.src, o.dst) is None:
        return None
    if o.target.is_a(A5) and (o.src.dtype.bits <= 8 or o.dst.compact is CompactMode.Normal):
        return None  # this path has no such condition
    step = max(16, o.dst.c0)
    if o.src.rows % step or o.src.cols % step:
        return f"{o:src} is {o.src.rows}x{o.src.cols} of {o.src.dtype}, which moves in squares of {step}x{step}"
    return None


@rule(
    "TMOV-COM-02",
    "t = Tile(Vec, {i8|f16}, 16, 32); TMOV(t, t{|, relu=ReluPreMode.NormalRelu})",
    evidence="static_assert",
    on="a2a3",
)
def TMOV_COM_02(o: Site) -> Message:
    """ReLU, quantisation and AccToVecMode need an accumulator as source."""
    if o.src.loc is Acc:
        return None
    asked = (
        "relu"
        if relu(o)
        else "a quantisation word"
        if word(o)
        else "quantisation words"
        if words(o)
        else f"mode {o.mode.name}"
        if optional(o, "mode") is not None
        else None
    )
    return f"{asked} needs an acc source, {o:src} is a {o.src.loc.text} tile" if asked else None


COMMON_RULES = (
    define(
        "TMOV-COM-01",
        "Source and destination are placed, and the source's valid region has been written.",
        why="Addresses are checked where tiles are allocated, initialisation by the sanitizer.",
        source=MOVES,
        reported_as="UNBOUND-TILE UNINIT-READ",
        evidence="device",
    ),
    TMOV_COM_02,
    TMOV_COM_03,
    TMOV_COM_10,
    rule(
        "TMOV-COM-11",
        "TMOV_FP(Tile(Mat, i8, 32, 32, ColMajor, slayout=SLayout.RowMajor), TileAcc(i32, 32, 32), "
        "Tile(Scaling, u64, 1, 32{|, valid_col=30}))",
        evidence="device",
        on="cpu",
    )(
        """There is a quantisation word for every column the fix-pipe processes.

        An Nz destination receives whole column blocks on the devices.
        """,
        lambda o: columns_of_words(o, o.src.vc),
    ),
    rule(
        "TMOV-COM-12",
        "TMOV(Tile(Mat, {i16|i8}, 32, 32, ColMajor, slayout=SLayout.RowMajor), TileAcc(i32, 32, 32), quant=0)",
        source="move-gather-scatter 6.1",
        evidence="device",
        on="a2a3",
    )(
        """Bit 46 of a quantisation word is set for an i8 destination and clear for u8.

        The bit selects the range, 200 would arrive as -56.
        """,
        lambda o: signedness(o, o.src.vc),
    ),
    TMOV_COM_13,
    TMOV_COM_14,
    TMOV_COM_15,
    rule(
        "TMOV-COM-18",
        "TMOV(TileRight(i8, 64, {32|96}), Tile(Mat, i8, 64, {32, ColMajor|96}, slayout=SLayout.RowMajor))",
        targets=("a2a3", "a5"),
        source=LIBRARY,
        evidence="legal",
    )(
        """A Mat tile that moves to an operand buffer has boxes: Nz, or Zn.

        The library does not look at the layout of the source beyond the direction of its boxes, and refuses none.

        Decision: ptokit takes the bytes as the library does: as Zn or Nz.
        """,
        need(
            "operand_layout(src, dst) == src.layout_name if pair(o) in OPERAND_PAIRS and not is_conv(src) and "
            "operand_layout(src, dst) is not None",
            "{src} is {src.layout_name}, and its bytes are taken as {operand_layout(src, dst)}: elements change places",
            hint="declare the Mat tile as Nz, with blayout={o.word(BLayout.ColMajor)} and "
            "slayout={o.word(SLayout.RowMajor)}: TLOAD makes it of ND",
        ),
    ),
    TMOV_COM_19,
    rule(
        "TMOV-COM-16",
        """
            TMOV(Tile(Right, f16, 32, 48, RowMajor, slayout=SLayout.ColMajor), ConvTile(Mat, f16, None,
                Layout.{FRACTAL_Z|NC1HWC0}, {(2, 3, 16, 16)|(1, 2, 4, 8, 16)}))
        """,
        what="A convolution tile moves as FRACTAL_Z to a right tile in Zn, whose valid region it covers.",
        source="move-gather-scatter 3; compute-layout-irregular 1.3",
        evidence="device",
    )(refused),
    rule(
        "TMOV-COM-17",
        "TMOV(Tile(Mat, {bf16|f32}, 32, 32, ColMajor, slayout=SLayout.RowMajor), TileAcc(f32, 32, 32), quant=0)",
        source="move-gather-scatter 5.2, 5.3",
        evidence="legal",
        on="cpu",
    )(unquantised),
)

# cpu -----------------------------------------------------------------------------------------------------------------


@rule(
    "TMOV-CPU-01",
    "TMOV(Tile(Vec, f32, 32, 32, valid_row=16), TileAcc(f32, 32, 32), "
    "mode=AccToVecMode.{DualModeSplitM|SingleModeVec0})",
    evidence="simulator",
)
def TMOV_CPU_01(o: Site) -> Message:
    """Source and destination have the same valid region on cpu.

    Decision: In a dual mode the destination may also be valid in one half, its convention on a5.
    """
    if scratch(o) is not None or is_conv(o.src):
        return None
    s, d = o.src, o.dst
    if dual(o) and (d.vr, d.vc) == first_part(optional(o, "mode"), s.vr, s.vc):
        return None
    if s.vr != d.vr or s.vc != d.vc:
        return f"{o:src} is valid in {s.vr}x{s.vc}, {o:dst} in {d.vr}x{d.vc}"
    return None


def unsupported(o: Site) -> Message:
    """FP8, FP4 and HiF8 tiles are not moved on cpu unless extended."""
    for name in ("src", "dst"):
        t = o.operands[name]
        assert isinstance(t, TileInfo)
        if not o.target.supports(t.dtype, extended=o.extended):
            return f"{o:{name}} has element type {t.dtype}, which cpu does not support"
    return None


CPU_RULES = (
    TMOV_CPU_01,
    rule(
        "TMOV-CPU-02",
        "t = Tile(Vec, {f32|e5m2}, 32, 32); TMOV(t, t)",
        source="move-gather-scatter 7; types-and-layouts T-01",
        evidence="simulator",
    )(unsupported),
)

_ISA = (*COMMON_RULES, *CPU_RULES, *A23_RULES, *A5_RULES)
MOVE_RULES = (*_ISA, *ASSEMBLER_RULES)
FP_RULES = (*_ISA, *ASSEMBLER_FP_RULES)
