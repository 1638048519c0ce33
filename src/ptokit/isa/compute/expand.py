"""Row and column expansions (compute-reduce-matrix 4 and 5)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from operator import add, mul, sub

from ptokit.diagnostics import Doubt, family
from ptokit.diagnostics.rules import shared
from ptokit.targets import A5, Target
from ptokit.types.enums import BLayout

from ..checks.compiling import Message, is_dn1, is_nd, layout
from ..checks.tiles import assembler_rule, in_types
from ..meaning.expressions import COLUMN, ROW, Axis, Element, Expr, Index, divide, exp, maximum, minimum
from ..meaning.footprint import sentence
from ..meaning.words import lane
from ..operands import ASM_8, ASM_INT, ASM_N4, FB, I6, INT16_32, INT64, N4, F, Types, types, types_of
from ..scratch import CMP_INP_01, CMP_INP_01_MATRIX
from ..site import Site, TileInfo, known
from ..table import Attr, Instr, dst, src, tmp
from .reduce_rules import not_vec
from .text_rules import of_operation, row_copy
from .vector_unit import EW_1, SRC0, SRC1, computed, equal_types

# Rules of row and column expansions (compute-reduce-matrix 4 and 5).


ROWS, COLUMNS = "compute-reduce-matrix 4", "compute-reduce-matrix 5"
rule = family(ROWS)
SCRATCH = (188416, 196608)  # UB bytes that the three-operand form overwrites on a2a3


@rule(
    "REXP-COM-01",
    "TROWEXPAND(Tile(Vec, f32, 16, 64), Tile(Vec, f32, {16|8}, 1, ColMajor))",
    evidence="static_assert device assertion",
)
def REXP_COM_01(o: Site) -> Message:
    """TROWEXPAND: Vec tiles of one type, dst ND, src without boxes, equal non-zero valid rows."""
    s, d = o.src, o.dst
    if not is_nd(d):
        return f"{layout(o, 'dst')}; TROWEXPAND writes ND tiles"
    if s.boxed:
        return f"{layout(o, 'src')}; TROWEXPAND reads tiles without boxes"
    if wrong := equal_types(o) or in_types(o) or not_vec(o):
        return wrong
    if d.vr > s.rows:
        return f"{o:src} has {s.rows} rows, {o:dst} has {d.vr} valid ones"
    if s.vr != d.vr:
        return Doubt(f"{o:src} has {s.vr} valid rows, {o:dst} has {d.vr}")
    if 0 in (s.vr, s.vc, d.vr, d.vc):
        return Doubt(f"{o:src} is valid in {s.vr}x{s.vc}, {o:dst} in {d.vr}x{d.vc}; nothing is expanded")
    return None


_columns_64 = shared(
    "TROWEXPAND of 64-bit types writes at most 64 columns on a5.",
    "dst.vc <= 64 if dst.dtype.bits == 64",
    "{dst} has {dst.vc} valid columns of {dst.dtype}; a5 writes the first 64",
)

REXP_A5_01 = rule(
    "REXP-A5-01", "TROWEXPAND(Tile(Vec, f32, 16, 64), Tile(Vec, f32, 16, {1, ColMajor|8}))", evidence="legal"
)(
    """TROWEXPAND on a5: src has one static valid column, or a dynamic count.

    Decision: A warning: with a dynamic count the same call compiles and uses column 0.
    """,
    "src.spec.valid_col in (1, -1)",
    "{src} has {src.spec.valid_col} static valid columns; TROWEXPAND on a5 needs 1",
)

REXP_A5_02 = rule(
    "REXP-A5-02", "TROWEXPAND(Tile(Vec, i64, 16, {64|68}), Tile(Vec, i64, 16, 1, ColMajor))", evidence="device"
)(_columns_64)

# Row forms with an operation -----------------------------------------------------------------------------------------


def _same_region(t: TileInfo, d: TileInfo) -> bool:
    return bool(t.vr == d.vr and t.vc == d.vc)


def _of_rows(t: TileInfo) -> bool:
    """One value per row (DN with one column) or one 32-byte block per row (ND)."""
    return (is_dn1(t) and bool(t.vc == 1)) or (is_nd(t) and t.cols == t.c0 and bool(t.vc == t.c0))


def _holds(t: TileInfo, d: TileInfo) -> bool:
    return bool(t.rows >= d.vr and t.cols >= d.vc)


def _as_the_library_reads(o: Site) -> bool:
    """True if the operands fit a form that the library takes them for, whatever it asserts of their valid regions.

    It takes src0 for the matrix where that has dst's valid region, and src1 otherwise.
    """
    a, b, d = o.src0, o.src1, o.dst
    matrix, vector = (a, b) if _same_region(a, d) else (b, a)
    return matrix.row_major and _holds(matrix, d) and _of_rows(vector) and bool(vector.rows >= d.vr)


def row_vector(o: Site) -> TileInfo | None:
    """The operand that is expanded, or None if the operands fit no form or sizes are unknown."""
    a, b, d = o.src0, o.src1, o.dst
    orders = ((a, b), (b, a)) if not a.cols < b.cols else ((b, a), (a, b))
    for matrix, vector in orders:
        if _same_region(matrix, d) and matrix.row_major and vector.vr == d.vr and _of_rows(vector):
            found: TileInfo = vector
            return found
    return None


REXP_COM_10 = rule(
    "REXP-COM-10",
    "t = Tile(Vec, {f32|u8}, {16|17}, 64); TROWEXPANDADD(t, t, Tile(Vec, {f32|u8}, {16|17}, 1, ColMajor))",
    evidence="static_assert",
    on="a2a3",
)(
    "Row expansion with an operation: one element type that the target has, dst row-major.",
    "dst.row_major",
    "{dst} is {layout_text(dst)}; {dst} must be {o.word(BLayout.RowMajor)}",
    equal_types,
    in_types,
)


@rule(
    "REXP-COM-11",
    "t = Tile(Vec, f32, 16, 64); TROWEXPANDSUB(t, t, Tile(Vec, f32, 16, {8|16}))",
    evidence="static_assert device assertion",
)
def REXP_COM_11(o: Site) -> Message:
    """One source is the matrix with dst's valid region, the other one value or one 32-byte block per row."""
    nothing = o.dst.vr == 0 and o.dst.vc == 0  # as a vector core has that takes no part
    sizes = (o.dst.vr, o.dst.vc, o.src0.vr, o.src0.vc, o.src1.vr, o.src1.vc)
    if nothing or not known(*sizes) or row_vector(o) is not None:
        return not_vec(o)
    c0, region = o.dst.c0, f"{o.dst.vr}x{o.dst.vc}"
    tiles = ", ".join(f"{layout(o, n)} valid {t.vr}x{t.vc}" for n, t in o.data_tiles if n != "dst")
    message = (
        f"{tiles}: one source must be {o.word(BLayout.RowMajor)} and valid in {region}, the other {o.dst.vr} rows "
        f"of one DN column, or of {c0} columns ({c0 * o.dst.dtype.size} bytes)"
    )
    hint = f"a column, one number a row, is {o.word(BLayout.ColMajor)} and has one column; row reductions write it so"
    return not_vec(o) or (Doubt(message) if _as_the_library_reads(o) else (message, hint))


@rule(
    "REXP-COM-12",
    "t = Tile(Vec, f32, 16, 64); TROWEXPANDMAX(t, t, Tile(Vec, f32, 16, {1, ColMajor|8}), Tile(Vec, f32, 1, 128))",
    evidence="static_assert",
    on="a2a3",
)
def REXP_COM_12(o: Site) -> Message:
    """With a tmp the expanded operand is DN with one column. The library for a5 ignores the tmp, and takes both."""
    v = row_vector(o) if o.has("tmp") and not o.target.is_a(A5) else None
    if v is not None and v.row_major:
        name = next(name for name, t in o.data_tiles if t is v)
        return f"{layout(o, name)}; with a tmp the expanded operand must be DN with one column"
    return None


REXP_A3_10 = rule(
    "REXP-A3-10",
    "TROWEXPANDSUB(Tile(Vec, f32, 16, 64, addr=0), Tile(Vec, f32, 16, 64, addr={4096|190016}), "
    "Tile(Vec, f32, 16, 1, ColMajor, addr=8192))",
    evidence="legal",
)(
    "The form without tmp overwrites UB bytes 188416..196607 on a2a3.",
    "v = row_vector(o)",
    "if tmp is None and v is not None and not v.row_major",
    "t.addr >= SCRATCH[1] or t.addr + t.spec.nbytes <= SCRATCH[0] for t in data",
    "{t} reaches into bytes {SCRATCH[0]}..{SCRATCH[1] - 1}, which {instr.name} overwrites",
)


REXP_A3_11 = rule(
    "REXP-A3-11",
    "t = Tile(Vec, f32, 16, 64); TROWEXPANDSUB(t, t, Tile(Vec, f32, 16, 1, ColMajor), Tile(Vec, f32, {16|8}, 8))",
    evidence="legal",
)(
    "tmp has 32 bytes for each row, rounded up to 8 rows; 7680 bytes from 256 rows on.",
    "need = (dst.vr + 7) // 8 * 8 * 32 if dst.vr < 256 else 7680",
    "tmp.spec.nbytes >= need if known(dst.vr)",
    "{tmp} has {tmp.spec.nbytes} bytes; {dst.vr} rows need {need}",
)


# Columns -------------------------------------------------------------------------------------------------------------


@rule(
    "CEXP-COM-01",
    "TCOLEXPAND(Tile(Vec, f32, 16, 64), Tile(Vec, f32, 1, {64|56}))",
    source=COLUMNS,
    evidence="static_assert device assertion",
)
def CEXP_COM_01(o: Site) -> Message:
    """TCOLEXPAND: Vec ND tiles of one type with equal valid columns; a5 needs a non-empty src."""
    for name, t in o.data_tiles:
        if not is_nd(t):
            return f"{layout(o, name)}; TCOLEXPAND works on ND tiles"
    if wrong := equal_types(o) or in_types(o) or not_vec(o):
        return wrong
    if o.dst.vc > o.src.cols:
        return f"{o:src} has {o.src.cols} columns, {o:dst} has {o.dst.vc} valid ones"
    if o.src.vc != o.dst.vc:
        return Doubt(f"{o:src} has {o.src.vc} valid columns, {o:dst} has {o.dst.vc}")
    if o.target.is_a(A5) and (o.src.vr == 0 or o.src.vc == 0):
        return Doubt(f"{o:src} has valid region {o.src.vr}x{o.src.vc}; a5 asserts that there is a row")
    return None


@rule(
    "CEXP-COM-02",
    "t = Tile(Vec, f32, 16, 64); TCOLEXPANDADD(t, {t, |}Tile(Vec, f32, 1, 64){|, t})",
    source=COLUMNS,
    evidence="static_assert device assertion",
    on="cpu",
)
def CEXP_COM_02(o: Site) -> Message:
    """Column expansion with an operation: row-major tiles of one type, dst's valid columns, a matrix with its
    region.
    """
    for name, t in o.data_tiles:
        if not t.row_major:
            return f"{layout(o, name)}; {o.instr.name} works on {o.word(BLayout.RowMajor)} tiles"
    a, b, d = o.src0, o.src1, o.dst
    if wrong := equal_types(o) or in_types(o) or not_vec(o):
        return wrong
    for name, t in (("src0", a), ("src1", b)):
        if d.vc > t.cols:
            return f"{o:{name}} has {t.cols} columns, {o:dst} has {d.vc} valid ones"
    if known(a.vr, b.vr, d.vr) and a.vr != d.vr:
        if not o.target.is_device:
            return f"{o:src0} has {a.vr} valid rows, {o:dst} has {d.vr}; on cpu {o:src0} is the matrix"
        if b.vr != d.vr:
            return f"{o:src0} has {a.vr} and {o:src1} {b.vr} valid rows; one of them must have {o:dst}'s {d.vr}"
    elif a.vc != d.vc and b.vr == 1 and d.vr != 1:
        return f"{o:src0} has {a.vc} valid columns, {o:dst} has {d.vc}: the library takes {o:src1} for the matrix"
    for name, t in (("src0", a), ("src1", b)):
        if t.vc != d.vc:
            return Doubt(f"{o:{name}} has {t.vc} valid columns, {o:dst} has {d.vc}")
    return None


CEXP_AS_01 = assembler_rule(
    "CEXP-AS-01",
    "pto.tcolexpandmul ins(%a, %t : !pto.tile_buf<vec, {16x32xi32|1x32xi32}>, !pto.tile_buf<vec, 16x32xi32>) "
    "outs(%t : !pto.tile_buf<vec, 16x32xi32>)",
    source=COLUMNS,
)(
    "Column expansion in text: src0 has dst's shape.",
    "(src0.rows, src0.cols) == (dst.rows, dst.cols)",
    "{src0} is {src0.rows}x{src0.cols}, {dst} is {dst.rows}x{dst.cols}; {src0} is the matrix",
)

CEXP_A5_01 = rule(
    "CEXP-A5-01",
    "TCOLEXPAND(Tile(Vec, i64, 16, {64|68}), Tile(Vec, i64, 1, {64|68}))",
    what="TCOLEXPAND of 64-bit types writes at most 64 columns on a5.",
    source=COLUMNS,
    evidence="device",
)(_columns_64)


# Row and column expansions (compute-reduce-matrix 4 and 5).


BYTES = types_of("e4m3 e5m2 e8m0 hif8")

# Copies --------------------------------------------------------------------------------------------------------------

ANY = types(I6 | FB, I6 | FB | INT64 | BYTES, asm=ASM_INT | FB)

TROWEXPAND = computed(
    "TROWEXPAND",
    Element("src", COLUMN),
    (dst(), src()),
    ANY,
    common=(REXP_COM_01, REXP_A5_01, REXP_A5_02, replace(EW_1, check=row_copy), CMP_INP_01),
    source="compute-reduce-matrix 4",
)
TCOLEXPAND = computed(
    "TCOLEXPAND",
    Element("src", ROW),
    (dst(), src()),
    ANY,
    common=(CEXP_COM_01, CEXP_A5_01, EW_1, CMP_INP_01),
    source="compute-reduce-matrix 5",
)

# With an operation ---------------------------------------------------------------------------------------------------


Operation = Callable[[Expr, Expr], Expr]
OF_ROW, OF_COLUMN = Element("src1", COLUMN), Element("src1", ROW)


def exp_difference(a: Expr, b: Expr) -> Expr:
    """exp(a - b), the difference rounded to the element type."""
    return exp(a - b)


def _is_matrix(t: TileInfo, d: TileInfo) -> bool:
    return t.vr == d.vr and t.vc == d.vc


def _by_rows(fn: Operation) -> Callable[[Site], Expr | None]:
    """One source has a value for each row, or one 32-byte block that is repeated along it."""

    def choose(o: Site) -> Expr | None:
        a, b, d = o.src0, o.src1, o.dst
        if not known(a.vr, a.vc, b.vr, b.vc, d.vr, d.vc):
            return None
        if _is_matrix(a, d):
            return fn(SRC0, Element("src1", _row_vector(b, o.target)))
        return fn(Element("src0", _row_vector(a, o.target)), SRC1)

    return choose


def _row_vector(v: TileInfo, target: Target) -> Index:
    """Of a block the library repeats all elements, the assembler's template only the first."""
    return COLUMN if v.vc == 1 or target.templates else Index(Axis(i=1), Axis(j=1, cycle=v.vc))  # type: ignore[arg-type]


def _by_columns(fn: Operation) -> Callable[[Site], Expr | None]:
    """The expression where one of the sources has one row, which is used for every row."""

    def choose(o: Site) -> Expr | None:
        a, b, d = o.src0, o.src1, o.dst
        if not known(a.vr, a.vc, b.vr, b.vc, d.vr, d.vc):
            return None
        return fn(SRC0, Element("src1", ROW)) if _is_matrix(a, d) else fn(Element("src0", ROW), SRC1)

    return choose


ROW_ATTRS = (
    Attr("src1_col", int, None, "src1Col"),
    Attr("src0_eq_dst", bool, False, "src0eqdst"),
    Attr("high_precision", bool, False, "highPrecision"),
)


def row_expansion(name: str, fn: Operation, types: Types) -> Instr:
    """``dst = src0 op src1`` where one source has one value, or one block, per row."""
    plain = name == "TROWEXPANDADD"  # its text form has neither tmp nor attributes
    return computed(
        name,
        _by_rows(fn),
        (dst(), src("src0"), src("src1"), tmp(optional=True)),
        types,
        REXP_COM_10,
        REXP_COM_11,
        REXP_COM_12,
        REXP_A3_10,
        REXP_A3_11,
        *of_operation(name),
        common=(EW_1, CMP_INP_01_MATRIX),
        attrs=() if plain else ROW_ATTRS,
        summary=f"{sentence(lane(fn(SRC0, OF_ROW)))}, or swapped",
        source="compute-reduce-matrix 4",
        cpp=f"{name}(dst, src0, src1, tmp?)" + " without src1_col src0_eq_dst high_precision" * (not plain),
    )


def column_expansion(name: str, fn: Operation, types: Types) -> Instr:
    """``dst = src0 op src1`` where one source has one row."""
    return computed(
        name,
        _by_columns(fn),
        (dst(), src("src0"), src("src1")),
        types,
        CEXP_COM_02,
        CEXP_AS_01,
        common=(EW_1, CMP_INP_01_MATRIX),
        summary=f"{sentence(lane(fn(SRC0, OF_COLUMN)))}, or swapped",
        source="compute-reduce-matrix 5",
    )


HOST = F | INT16_32
ARITHMETIC = types(N4, FB | I6, cpu=HOST, asm=(ASM_N4, ASM_N4 | ASM_8))
PRODUCT = types(N4, FB | I6, cpu=HOST | types_of("u8"), asm=(ASM_N4, ASM_N4 | ASM_8))
QUOTIENT = types(F, F | I6, cpu=HOST, asm=(F, ASM_N4 | ASM_8))
EXPONENTIAL = types(F, F, cpu=F, asm=F)

OPERATIONS: dict[str, tuple[Operation, Types]] = {
    "ADD": (add, ARITHMETIC),
    "SUB": (sub, ARITHMETIC),
    "MUL": (mul, PRODUCT),
    "DIV": (divide, QUOTIENT),
    "MAX": (maximum, ARITHMETIC),
    "MIN": (minimum, ARITHMETIC),
    "EXPDIF": (exp_difference, EXPONENTIAL),
}

for _suffix, (_fn, _types) in OPERATIONS.items():
    row_expansion(f"TROWEXPAND{_suffix}", _fn, _types)
    column_expansion(f"TCOLEXPAND{_suffix}", _fn, _types)
