"""TMATMUL and TGEMV: products of matrices, and of a row and a matrix (compute-reduce-matrix 9, 10)."""

from __future__ import annotations

from collections.abc import Iterable

from ptokit.diagnostics import Doubt, Rule, define, family
from ptokit.diagnostics.finding import Change
from ptokit.diagnostics.rules import shared
from ptokit.types.dtypes import DTYPES, DType
from ptokit.types.enums import AccPhase, BLayout, Pipe, TileType

from ..checks.compiling import Message
from ..meaning.expressions import OWN, ROW, Index
from ..meaning.expressions import ROW as ROW_VECTOR
from ..meaning.words import Contract
from ..site import Site, TileInfo
from ..table import TENSOR, Attr, Instr, Operand, TextForm, Together, dst, instruction, src
from . import matmul_text_rules
from .matmul_text_rules import GEMV, ROW_ACCUMULATE, ROW_BIAS

# Rules of the matrix product (compute-reduce-matrix 9).


rule = family("compute-reduce-matrix 9")

_T = DTYPES
_COMMON = {
    (_T["i32"], _T["i8"], _T["i8"]),
    (_T["f32"], _T["f16"], _T["f16"]),
    (_T["f32"], _T["bf16"], _T["bf16"]),
    (_T["f32"], _T["f32"], _T["f32"]),
}
_FP8 = {(_T["f32"], _T[a], _T[b]) for a in ("e4m3", "e5m2") for b in ("e4m3", "e5m2")}
TRIPLES: dict[str, set[tuple[DType, DType, DType]]] = {
    "cpu": _COMMON,
    "a2a3": _COMMON,
    "a5": _COMMON | _FP8 | {(_T["f32"], _T["hif8"], _T["hif8"])},
    "kirin9030": {(_T["f16"], _T["f16"], _T["f16"]), (_T["i32"], _T["i8"], _T["i8"])},
}
_NARROW = {(_T["f32"], _T[a], _T[b]) for a in ("f16", "bf16") for b in ("i8", "int4", "e4m3")}
TRIPLES["a6"] = TRIPLES["a5"] | _NARROW | {(_T["i32"], _T["i8"], _T["int4"])}
"""Legal (accumulator, left, right) element types by target."""

TOGETHER = Together(("dst", "lhs", "rhs"), TRIPLES)

LIMIT = 4095  # of M, K and N
_LOCS = {"lhs": TileType.Left, "rhs": TileType.Right, "dst": TileType.Acc, "acc": TileType.Acc}


@rule(
    "MAT-COM-01",
    "t = TileAcc(f32, 32, 16); TMATMUL_ACC(t, t, "
    "Tile({Left|Mat}, f16, 32, 64, slayout=SLayout.RowMajor), TileRight(f16, 64, 16))",
    evidence="static_assert",
    on="a2a3",
)
def LOCATIONS(o: Site) -> Message | bool:
    """The left operand is a Left tile, the right one Right, accumulators Acc."""
    for name, loc in _LOCS.items():
        tile = o.operands.get(name)
        if isinstance(tile, TileInfo) and tile.loc is not loc:
            make = "" if o.text else f"make it with pto.Tile{loc.name}, and bring its elements there with TMOV"
            message = f"{o:{name}} lives in {tile.loc.text}, it must be a {loc.text} tile"
            return (message, make) if make and name in ("lhs", "rhs") else message
    return False


@rule(
    "MAT-COM-02",
    "TMATMUL(TileAcc({f32|f16}, 32, 16), TileLeft(f16, 32, 64), TileRight(f16, 64, 16))",
    evidence="static_assert",
)
def TYPES(o: Site) -> Message | bool:
    """The element types of accumulator, left and right are a combination the cube unit has."""
    found = (o.dst.dtype, o.lhs.dtype, o.rhs.dtype)
    allowed = TRIPLES["a5"] if o.extended else o.target.entry(TRIPLES)
    if found in allowed:
        return False
    message = f"{found[0]} = {found[1]} x {found[2]} is not one of {_listed(allowed)}"
    for place, name in enumerate(("dst", "rhs", "lhs")):
        at = (0, 2, 1)[place]
        fits = [triple for triple in allowed if triple[:at] + triple[at + 1 :] == found[:at] + found[at + 1 :]]
        if len(fits) == 1:
            right = fits[0][at]
            hint = f"give {getattr(o, name).name} elements of {right}: {_shown(fits[0])}"
            shown = f"{o:{'' if o.text else '%'}{name}} holds {found[at]}; " if name == "dst" else ""
            return shown + message, Change(hint, found[at].name, right.name, of=name)
    same = [triple for triple in allowed if triple[0] == found[0]] or allowed
    return message, f"convert the elements before they are moved to left and right, to {_listed(same)}"


def _shown(triple: tuple[DType, DType, DType]) -> str:
    return f"{triple[0]} = {triple[1]} x {triple[2]}"


def _listed(triples: Iterable[tuple[DType, DType, DType]]) -> str:
    return ", ".join(sorted(map(_shown, triples)))


@rule(
    "MAT-COM-03",
    "TMATMUL(TileAcc(f32, 32, 16), TileLeft(f16, 32, 64), TileRight(f16, 64, {|64, valid_col=}16))",
    evidence="device document",
    covered_by=("MAT-COM-01",),
)
def SHAPES(o: Site) -> Message:
    """Tile shapes agree: MxK times KxN into MxN.

    Only documents say so: the cube unit takes M, K and N from the valid regions of left and right. A tile that is too
    small for them is an error.
    """
    a, b, c = o.lhs, o.rhs, o.dst
    if a.rows == c.rows and a.cols == b.rows and b.cols == c.cols:
        return None
    message = f"left is {a.rows}x{a.cols}, right {b.rows}x{b.cols}, accumulator {c.rows}x{c.cols}"
    small = a.vr > c.rows or a.vc > b.rows or b.vc > c.cols
    return Doubt(message) if o.target.is_device and not small else message


RANGE = rule(
    "MAT-COM-04",
    "TMATMUL(TileAcc(f32, 16, 16), TileLeft(f16, 16, {16|4112}), TileRight(f16, {16|4112}, 16))",
    evidence="device assertion",
)(
    "M, K and N lie in 1..4095.",
    "1 <= lhs.vr <= LIMIT",
    "M = {lhs.vr} is outside 1..{LIMIT}",
    "1 <= lhs.vc <= LIMIT",
    "K = {lhs.vc} is outside 1..{LIMIT}",
    "1 <= rhs.vc <= LIMIT",
    "N = {rhs.vc} is outside 1..{LIMIT}",
)


INNER = rule(
    "MAT-COM-05",
    "TMATMUL(TileAcc(f32, 32, 64), TileLeft(f16, 32, 48), TileRight(f16, 48, 64{|, valid_row=40}))",
    evidence="device",
    covered_by=("MAT-COM-01",),
)(
    """
    The right tile has at least K valid rows.

    The unit takes K from the left tile and would read rows that hold nothing.
    """,
    "rhs.vr >= lhs.vc",
    "the right tile has {rhs.vr} valid rows, the left one {lhs.vc} valid columns",
)


VALID = rule(
    "MAT-COM-05-L",
    "TMATMUL(TileAcc(f32, 32, 64{|, valid_row=16}), TileLeft(f16, 32, 48), TileRight(f16, 48, 64))",
    source="compute-reduce-matrix 9 (MAT-COM-05, lint)",
    evidence="legal",
)(
    """
    The accumulator's valid region is M x N and the right tile has exactly K valid rows.

    The unit looks at the operands only; a different valid region of the accumulator is usually a mistake.
    """,
    "rhs.vr <= lhs.vc and dst.vr == lhs.vr and dst.vc == rhs.vc",
    "valid regions: left {lhs.vr}x{lhs.vc}, right {rhs.vr}x{rhs.vc}, accumulator {dst.vr}x{dst.vc}",
)


@rule(
    "MAT-COM-06",
    "t = {TileAcc|Tile}({|Acc, }f32, 32, 16{|, fractal=1024}); "
    "TMATMUL_ACC(t, t, TileLeft(f16, 32, 64), TileRight(f16, 64, 16))",
    source="compute-reduce-matrix 9; types-and-layouts T-07",
    evidence="static_assert",
    covered_by=("MAT-COM-01",),
)
def LAYOUT(o: Site) -> tuple[str, str] | bool:
    """Right is Zn, the accumulator Nz with 1024-byte fractals, left Zz on A2/A3 and Nz on A5."""
    wanted = o.target.entry({"a5": ("Nz",), "a2a3": ("Zz",), "cpu": ("Nz", "Zz")})
    rows, columns, blocks = map(o.word, (BLayout.RowMajor, BLayout.ColMajor, o.target.left_blayout))
    fractal = None if o.target.templates else 1024
    for name, what, layouts, size, words, maker in (
        ("rhs", "a right tile", ("Zn",), 512, f"blayout={rows}, slayout={columns}, fractal=512", "TileRight"),
        ("dst", "an accumulator", ("Nz",), fractal, f"blayout={columns}, slayout={rows}, fractal=1024", "TileAcc"),
        ("lhs", "a left tile", wanted, None, f"blayout={blocks}, slayout={rows}", "TileLeft"),
    ):
        tile = o.operands[name]
        if not isinstance(tile, TileInfo):
            continue
        hint = f"declare it with {words}, as {maker} does in Python and C++" if o.text else f"make it with pto.{maker}"
        if tile.layout_name not in layouts:
            return f"{o:{name}} is {tile.layout_name}, {what} is {' or '.join(layouts)} on {o.target.name}", hint
        if size is not None and tile.fractal != size:
            return f"{o:{name}} has fractals of {tile.fractal} bytes, {what} of {size}", hint
    return False


def other_accumulator(o: Site) -> tuple[str, str] | None:
    """Message and hint of MAT-NPU-01 and MXM-A5-07."""
    if o.acc.origin != o.dst.origin:
        message = f"the input accumulator {o:%acc} is another tile than the result {o:%dst}"
        return message, f"{o.target.name} adds to what the result holds and reads no other tile: use one for both"
    return None


PADDING = define(
    "MAT-COM-07",
    "Padding inside the fractals of the operands may hold anything; the unit uses M, K and N.",
    source="compute-reduce-matrix 9",
    why="Every target allows it.",
    example="{left valid 10x16 in a 16x16 tile, NaN in rows 10..15|}",
    enforced=False,
    unrun="nothing breaks it",
)
SAME_ACC = rule(
    "MAT-NPU-01",
    "{t = TileAcc(f32, 32, 64); TMATMUL_ACC(t, t|TMATMUL_ACC(TileAcc(f32, 32, 64), "
    "TileAcc(f32, 32, 64)}, TileLeft(f16, 32, 48), TileRight(f16, 48, 64))",
    what="TMATMUL_ACC accumulates in place: the input accumulator is the result tile.",
    targets=("a2a3", "a5"),
    why="A2/A3 and A5 ignore the input operand and add to the result's buffer.",
    evidence="device",
)(other_accumulator)

ONE_ROW = rule(
    "MAT-A3-01",
    "TMATMUL(TileAcc(f32, {32|16}, 64{|, valid_row=1}), "
    "Tile(Left, f16, {32|16}, 48{|, valid_row=1}, slayout=SLayout.RowMajor), TileRight(f16, 48, 64))",
    evidence="legal",
)(
    """A product with M = 1 also writes rows 1..15 of the accumulator.

    The unit is issued with 16 rows; the rest are products of undefined rows of the left tile.
    """,
    lambda o: o.lhs.vr == 1 and o.dst.rows > 1 and "M = 1 overwrites rows 1..15 of the accumulator's fractal",
)


@rule(
    "MAT-COM-08",
    "TGEMV_BIAS(TileAcc(f32, 1, 32), TileLeft(f16, 1, 256), TileRight(f16, 256, 32), Tile(Bias, f32, {1|2}, 32))",
    evidence="static_assert",
)
def BIAS(o: Site) -> str | bool:
    """The bias is one row in the bias table, of the accumulator's type, with a value for each column."""
    t = o.bias
    if t.loc is not TileType.Bias:
        return f"{o:bias} lives in {t.loc.text}, it must be a bias tile"
    if t.dtype is not o.dst.dtype:
        return f"{o:bias} has element type {t.dtype}, the accumulator {o.dst.dtype}"
    if t.rows != 1 or not t.row_major or t.boxed:
        return f"{o:bias} is {t.layout_name} {t.rows}x{t.cols}, it must be one plain row"
    return t.vc < o.rhs.vc and f"{o:bias} has {t.vc} valid columns, the right tile {o.rhs.vc}"


PRODUCT = (LOCATIONS, TYPES, SHAPES, RANGE, INNER, LAYOUT, VALID, ONE_ROW)
ACCUMULATE = (*PRODUCT, SAME_ACC)
BIASED = (*PRODUCT, BIAS)


# TMATMUL, TMATMUL_ACC and TMATMUL_BIAS (compute-reduce-matrix 9).


PHASE = Attr("phase", AccPhase, AccPhase.Unspecified, "accPhase", "acc_phase")


def with_phase(name: str, operands: Iterable[Operand]) -> str:
    """How C++ calls a product: what it does with unit flags is a template argument."""
    return f"{name}<phase?>({', '.join(operand.name for operand in operands)})"


def contraction(start: str = "", at: Index = OWN) -> Contract:
    """``lhs @ rhs``, and what the sums start with."""
    return Contract("lhs", "rhs", start, at)


def _product(
    name: str, text: str, summary: str, rules: tuple[Rule, ...], meaning: Contract, source: int, *operands: Operand
) -> Instr:
    return instruction(
        Instr(
            name,
            text,
            summary,
            (dst(), *operands),
            (PHASE,),
            pipe=Pipe.M,
            cpp=with_phase(name, (dst(), *operands)),
            rules=rules,
            meaning=meaning,
            form=TextForm(carried=(TENSOR,)),
            together=TOGETHER,
            source=f"compute-reduce-matrix {source}",
        )
    )


_FACTORS = (src("lhs"), src("rhs"))

TMATMUL = _product(
    "TMATMUL",
    "tmatmul",
    "Matrix product of a left and a right tile into an accumulator.",
    (*PRODUCT, *matmul_text_rules.PRODUCT),
    contraction(),
    9,
    *_FACTORS,
)
TMATMUL_ACC = _product(
    "TMATMUL_ACC",
    "tmatmul.acc",
    "Matrix product added to an accumulator.",
    (*ACCUMULATE, *matmul_text_rules.ACCUMULATE),
    contraction("acc"),
    9,
    src("acc"),
    *_FACTORS,
)
TMATMUL_BIAS = _product(
    "TMATMUL_BIAS",
    "tmatmul.bias",
    "Matrix product plus a bias per column.",
    (*BIASED, *matmul_text_rules.BIAS),
    contraction("bias", ROW),
    9,
    *_FACTORS,
    src("bias"),
)


# Rules of TGEMV and its relatives (compute-reduce-matrix 10).


_rule = family("compute-reduce-matrix 10")


@_rule(
    "GEMV-COM-01",
    "TGEMV(TileAcc(f32, 1, 32), TileLeft(f16, 1, 256), TileRight(f16, {256|128}, 32))",
    evidence="device assertion",
)
def GEMV_SIZES(o: Site) -> Message:
    """The left tile has one valid row, K and N are in 1..4095, and the valid regions agree."""
    a, b, c = o.lhs, o.rhs, o.dst
    if a.vr != 1:
        return f"the left tile has {a.vr} valid rows; tgemv takes one"
    for name, size in (("K", b.vr), ("N", b.vc)):
        if size < 1 or size > LIMIT:
            return f"{name} = {size} is outside 1..{LIMIT}"
    if a.vc != b.vr or b.vc != c.vc or c.vr != 1:
        return f"valid regions: left {a.vr}x{a.vc}, right {b.vr}x{b.vc}, accumulator {c.vr}x{c.vc}"
    return None


row_of_blocks = shared(
    "The left tile has one row and whole fractals of 512 bytes.",
    "unit = 512 * 8 // lhs.dtype.bits",
    "lhs.rows == 1 and lhs.cols % unit == 0",
    "the left tile is {lhs.rows}x{lhs.cols}; it has one row and a multiple of {unit} columns",
)

ROW_PRODUCT = (
    LOCATIONS,
    TYPES,
    GEMV_SIZES,
    _rule(
        "GEMV-COM-02",
        "TGEMV(TileAcc(f32, {1, 32), TileLeft(f16, 1, 256), TileRight(f16, 256, 32|16, 16, valid_row=1), "
        "TileLeft(f16, 16, 64, valid_row=1), TileRight(f16, 64, 16}))",
        why="It is stored as a plain vector, on every target.",
        evidence="static_assert",
    )(row_of_blocks),
    LAYOUT,
)
ROW_PRODUCT_ACCUMULATED = (*ROW_PRODUCT, SAME_ACC)
ROW_PRODUCT_BIASED = (*ROW_PRODUCT, BIAS)


# TGEMV and its relatives: the product of a row and a matrix (compute-reduce-matrix 10).


TGEMV = _product(
    "TGEMV",
    "tgemv",
    "Product of one row and a matrix.",
    (*ROW_PRODUCT, *GEMV),
    contraction(),
    10,
    *_FACTORS,
)
TGEMV_ACC = _product(
    "TGEMV_ACC",
    "tgemv.acc",
    "Product of one row and a matrix, added to an accumulator.",
    (*ROW_PRODUCT_ACCUMULATED, *ROW_ACCUMULATE),
    contraction("acc"),
    10,
    src("acc"),
    *_FACTORS,
)
TGEMV_BIAS = _product(
    "TGEMV_BIAS",
    "tgemv.bias",
    "Product of one row and a matrix, plus a bias.",
    (*ROW_PRODUCT_BIASED, *ROW_BIAS),
    contraction("bias", ROW_VECTOR),
    10,
    *_FACTORS,
    src("bias"),
)
