"""Rules of row and column reductions (compute-reduce-matrix 1 and 2)."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from ptokit.diagnostics import Doubt, Scope, family
from ptokit.diagnostics.rules import first, need
from ptokit.targets import A2A3
from ptokit.types.enums import BLayout, TileType

from ..checks.compiling import Message, is_dn1, is_nd, layout
from ..checks.tiles import assembler_rule, in_asm_types, in_types, small
from ..scratch import CMP_INP_01, CMP_INP_01_ROW_0
from ..site import Site, TileInfo, known

ROWS, COLUMNS = "compute-reduce-matrix 1", "compute-reduce-matrix 2"
rule = family(ROWS)


def not_vec(o: Site) -> Message:
    """Message if a destination or source is not a Vec tile."""
    for name, t in o.data_tiles:
        if t.loc is not TileType.Vec:
            return f"{o:{name}} is a {t.loc.text} tile; {o.instr.name} works on vec tiles"
    return None


# Rows ----------------------------------------------------------------------------------------------------------------


def _row_tiles(o: Site) -> Message:
    """src is a Vec ND tile; dst is Vec, ND or DN with one column."""
    if not is_nd(o.src):
        return f"{layout(o, 'src')}; a row reduction reads ND tiles"
    if not is_nd(o.dst) and not is_dn1(o.dst):
        return f"{layout(o, 'dst')}; a row reduction writes ND, or DN with one column"
    return not_vec(o)


_WIDER = {("f16", "f32"), ("bf16", "f32"), ("i16", "i32")}


def _row_types(o: Site) -> Message:
    """dst has the element type of src (cpu: TROWSUM may widen)."""
    s, d = o.src.dtype, o.dst.dtype
    return f"{o:src} has element type {s}, {o:dst} has {d}" if s is not d else None


def _row_sum_types(o: Site) -> Message:
    widens = not o.target.is_device and (o.src.dtype.name, o.dst.dtype.name) in _WIDER
    return None if widens else _row_types(o)


def _row_region(o: Site) -> Message:
    """The device reduces the valid rows of src, whatever dst's are; debug builds compare the two."""
    if writes_nothing(o) and o.src.vr == 0:
        return None  # as a vector core has that takes no part
    if o.src.vr == 0 or o.src.vc == 0:
        message = f"{o:src} has valid region {o.src.vr}x{o.src.vc}; there is nothing to reduce"
        return Doubt(message) if o.src.vr == 0 and o.target.is_device else message
    return rows_of_results(o, "dst")


def rows_of_results(o: Site, name: str) -> Message:
    """A result with other valid rows than src, of a row reduction: a doubt where the tile has those rows."""
    t = o.operands[name]
    assert isinstance(t, TileInfo)
    if t.vr == o.src.vr or not known(t.vr, o.src.vr):
        return None
    message = f"{o:{name}} has {t.vr} valid rows, {o:src} has {o.src.vr}"
    if o.target.is_device and o.src.vr <= t.rows:
        return Doubt(message)
    column = f"one number a row is a column: {t.cols}x1, {o.word(BLayout.ColMajor)}"
    return (message, column) if t.vr == 1 and t.cols > 1 else message


def columns_of_results(o: Site, name: str) -> Message:
    """A result with other valid columns than src, of a column reduction: a doubt where row 0 has those columns."""
    t = o.operands[name]
    assert isinstance(t, TileInfo)
    if t.vc == o.src.vc or not known(t.vc, o.src.vc):
        return None
    message = f"{o:{name}} has {t.vc} valid columns, {o:src} has {o.src.vc}"
    return Doubt(message) if o.target.is_device and o.src.vc <= t.cols else message


def _cpu_types(o: Site) -> Message:
    """TROWSUM on cpu: src and dst have equal rows; the simulator's type list."""
    return None if o.src.dtype is not o.dst.dtype else in_types(o)


_cpu_row_sum = first(
    "src.rows == dst.rows",
    "{src} has {src.rows} rows, {dst} has {dst.rows}; {instr.name} on cpu wants equal rows",
    _cpu_types,
)


@assembler_rule(
    "RRED-AS-01",
    "pto.trowprod ins(%a, %b : !pto.tile_buf<vec, 16x64xf32>, !pto.tile_buf<vec, {16x64xf32|16x64xf16}>) "
    "outs(%c : !pto.tile_buf<vec, 16x1xf32, blayout=col_major>)",
    source="PTOAS 2026-08 PTO.cpp verifyTRowReductionWithTmpCommon",
    on="a2a3",
)
def RRED_AS_01(o: Site) -> Message:
    """The tmp of a row reduction lies in vec; on a2a3 it has src's type and at least 32 bytes."""
    t = o.tmp
    if t is None or t.loc is not TileType.Vec:
        return t and f"{o:tmp} lies in {t.loc.text}, not vec"
    if not o.target.is_a(A2A3):
        return None
    if t.dtype is not o.src.dtype:
        return f"{o:tmp} has element type {t.dtype}, {o:src} has {o.src.dtype}"
    return small(o, "tmp", 32)


@rule(
    "RRED-A3-02",
    "TROWSUM(Tile(Vec, f32, 16, 1, ColMajor), Tile(Vec, f32, 16, {64|128}), Tile(Vec, f32, 16, {64|8}))",
    evidence="static_assert device",
)
def RRED_A3_02(o: Site) -> Message:
    """Float sums and extremes of more than one repeat need a tmp of valid rows x one repeat."""
    t, s = o.tmp, o.src
    lanes = 256 // s.dtype.size
    if t is None or not s.dtype.is_float or not s.vc > lanes:
        return None
    if t.cols < lanes or t.rows < s.vr:
        return f"{o:tmp} is {t.rows}x{t.cols}; {s.vc} columns of {s.dtype} need at least {s.vr}x{lanes}"
    if s.vc < 2 * lanes and s.cols < lanes:
        return f"{o:src} has {s.cols} columns per row; the library computes nothing below {lanes}"
    return None


def _columns_64(o: Site) -> Message:
    """64-bit reductions see at most 64 columns on a5."""
    if o.src.dtype.bits == 64 and o.src.vc > 64:
        return f"{o:src} has {o.src.vc} valid columns of {o.src.dtype}; a5 reduces the first 64"
    return None


def row_reduction(o: Site) -> Message:
    """Tiles and valid regions of a row reduction, as the assembler wants them."""
    return _row_tiles(o) or stated(_row_region(o)) or _one_column(o)


def stated(message: Message) -> Message:
    """The assembler refuses what is a doubt elsewhere."""
    return str(message) if isinstance(message, Doubt) else message


def writes_nothing(o: Site) -> bool:
    """True if dst is known to be empty in both directions, which reductions take for nothing to do."""
    return bool(o.dst.vr == 0 and o.dst.vc == 0)


def _one_column(o: Site) -> Message:
    return f"{o:dst} has {o.dst.vc} valid columns; the result has one" if o.dst.vc != 1 else None


RRED_COM_02 = rule(
    "RRED-COM-02",
    "TROWSUM(Tile(Vec, {f32|f16}, 16, {8|16}, valid_col={2|1}), Tile(Vec, f32, 16, 16), Tile(Vec, f32, 16, 16))",
    evidence="static_assert",
)(_row_types)


RRED_CPU_01 = rule(
    "RRED-CPU-01",
    "TROWSUM(Tile(Vec, f32, 16, 1, ColMajor), Tile(Vec, f32, {16|32}, 64{|, valid_row=16}))",
    evidence="static_assert",
)(_cpu_types)


@assembler_rule(
    "RR-1",
    "pto.trowargmax ins(%a, %b : !pto.tile_buf<vec, 16x16xf32>, !pto.tile_buf<vec, 16x16xf32>) "
    "outs(%c : !pto.tile_buf<vec, 16x8xi32, valid={16x1|16x2}>)",
    covered_by=("RRED-COM-01", "RRED-COM-02", "RRED-COM-03", "ARG-COM-01", "ARG-COM-02", "ARG-COM-03"),
    source="assembly 13.9; compute-reduce-matrix 1",
)
def RR_1(o: Site) -> Message:
    """A row reduction: vec ND to one valid column of ND or DN, of equal valid rows, of the reference assembler's
    types. A dst of 0x0 valid elements says that there is nothing to do.
    """
    region = None if writes_nothing(o) else stated(_row_region(o)) or _one_column(o)
    return _row_tiles(o) or region or _row_types(o) or in_asm_types(o)


RRED_COM_02_SUM = replace(RRED_COM_02, check=_row_sum_types)
RRED_CPU_01_SUM = replace(RRED_CPU_01, check=_cpu_row_sum)

ROW_RULES = (
    RRED_AS_01,
    rule(
        "RRED-COM-01",
        "TROWMAX(Tile(Vec, {i16|f16}, 16, 1, ColMajor), Tile(Vec, {i16|f16}, 16, {64|32, slayout=SLayout.ColMajor}))",
        evidence="static_assert",
        on="a2a3",
    )(_row_tiles),
    RRED_COM_02,
    rule(
        "RRED-COM-03",
        "TROWMAX(Tile(Vec, f32, {16|8}, 8, valid_col=1), Tile(Vec, f32, 16, 64))",
        what="The valid region of src is not empty, and dst has its valid rows.",
        why=(
            "The device reduces the valid rows of src; only a debug assertion compares dst's with them, and wants "
            "some. A dst that ends before those rows, or rows without columns, are errors."
        ),
        evidence="device assertion",
    )(_row_region),
    rule(
        "RRED-COM-04",
        "pto.trowsum ins(%a, %t : !pto.tile_buf<vec, 16x64xf32>, !pto.tile_buf<vec, 16x64xf32>) "
        "outs(%d : !pto.tile_buf<vec, 16x{1xf32, blayout=col_major|8xf32}>)",
        scope=Scope.ASSEMBLER,
    )(
        "dst has one valid column, or is empty in both directions.",
        lambda o: _one_column(o) if not writes_nothing(o) else None,
    ),
    RRED_CPU_01,
    rule(
        "RRED-A3-01",
        "TROWMAX(Tile(Vec, {i16|i64}, 16, 1, ColMajor), Tile(Vec, {i16|i64}, 16, 64))",
        what="The element type has a form on a2a3.",
        evidence="static_assert",
    )(in_types),
    rule(
        "RRED-A5-01",
        "TROWMAX(Tile(Vec, {f32|bf16}, 16, 1, ColMajor), Tile(Vec, {f32|bf16}, 16, 64))",
        what="The element type has a form on a5.",
        evidence="static_assert",
    )(in_types),
    rule("RRED-A5-02", "TROWMAX(Tile(Vec, i64, 16, 1, ColMajor), Tile(Vec, i64, 16, {64|68}))", evidence="device")(
        _columns_64
    ),
    RR_1,
    CMP_INP_01,
)
"""Rules of every row reduction."""

# Columns -------------------------------------------------------------------------------------------------------------


def _col_tiles(o: Site, *, widens: bool = True, marker: bool = False) -> Message:
    """``widens``: the simulator takes a wider float as dst. ``marker``: an empty dst says that nothing is to do."""
    for name, t in o.data_tiles:
        if not is_nd(t):
            return f"{layout(o, name)}; a column reduction works on ND tiles"
    s, d = o.src.dtype, o.dst.dtype
    wider = widens and not o.target.is_device and (s.name, d.name) in _WIDER and s.is_float
    if s is not d and not wider:
        return f"{o:src} has element type {s}, {o:dst} has {d}"
    return not_vec(o) or (None if marker and writes_nothing(o) else columns_of_results(o, "dst"))


CRED_COM_02 = rule(
    "CRED-COM-02",
    "pto.tcolmax ins(%a : !pto.tile_buf<vec, 16x64xf32, valid={16x64|0x64}>) outs(%d : !pto.tile_buf<vec, 1x64xf32>)",
    targets=("a5",),
    scope=Scope.ASSEMBLER,
    source=COLUMNS,
)(
    "src is not empty, unless dst is, in both directions: tcolsum tcolmax tcolmin on a5.",
    "writes_nothing(o) if src.vr == 0 or src.vc == 0",
    "{src} has valid region {src.vr}x{src.vc}; the assembler refuses it",
)


@rule(
    "CRED-COM-03",
    "pto.tcolsum ins(%a, %b {isBinary = {false|true}} : !pto.tile_buf<vec, 16x64xf32>, !pto.tile_buf<vec, "
    "7x64xf32>) outs(%c : !pto.tile_buf<vec, 1x64xf32>)",
    scope=Scope.ASSEMBLER,
    source="PTOAS 2026-08 PTO.cpp TColSumOp",
)
def CRED_COM_03(o: Site) -> Message:
    """tcolsum with a tmp says isBinary. The tmp is a vec ND tile of src's type; if isBinary is true, its rows are as
    long as src's valid ones and it has room for half of them.
    """
    t, s = o.tmp, o.src
    if t is None:
        return None
    if o.is_binary is None:
        return f"tcolsum has a {o:tmp} without isBinary"
    if not is_nd(t) or t.dtype is not s.dtype or t.loc is not TileType.Vec:
        return f"{layout(o, 'tmp')} of {t.dtype} in {t.loc.text}; it must be vec ND of {s.dtype}"
    if not o.is_binary:
        return None
    if not known(s.vr, s.vc):
        return (
            f"{o:src} has a dynamic valid region; with isBinary = true and a {o:tmp}, the assembler wants a static one"
        )
    if t.cols < s.vc:
        return f"{o:tmp} has {t.cols} columns, {o:src} {s.vc} valid ones"
    return small(o, "tmp", (s.vr + 1) // 2 * s.vc * s.dtype.size)


CRED_COM_04 = rule(
    "CRED-COM-04",
    "TCOLSUM(Tile(Vec, f32, 1, 64), Tile(Vec, f32, 16, 64), Tile(Vec, f32, {8|4}, 64), is_binary=True)",
    source=COLUMNS,
    evidence="device",
    on="a2a3",
)(
    "The tmp of a binary TCOLSUM has src's valid columns and half its valid rows.",
    "rows = max(1, (src.vr + 1) // 2)",
    "tmp.cols >= src.vc and tmp.rows >= rows if is_binary and known(src.vr, src.vc)",
    "{tmp} is {tmp.rows}x{tmp.cols}; the tree needs at least {rows}x{src.vc}",
)


CRED_COM_01 = rule(
    "CRED-COM-01",
    "TCOLMAX(Tile(Vec, f32, 1, {64|56}), Tile(Vec, f32, 16, 64))",
    what="src and dst are Vec ND tiles of one type with equal valid columns (cpu: floats may widen).",
    source=COLUMNS,
    evidence="static_assert device assertion",
    on="a2a3",
)(_col_tiles)

CR_1 = assembler_rule(
    "CR-1",
    "pto.tcolargmax ins(%a : !pto.tile_buf<vec, 16x64xf16>) "
    "outs(%b, %c : !pto.tile_buf<vec, 1x64xf16>, !pto.tile_buf<vec, {1x64xi32|1x64xui16}>)",
    covered_by=("CRED-COM-01", "ARG-COM-01", "ARG-COM-02", "ARG-COM-03"),
    source="assembly 13.9; compute-reduce-matrix 2",
)(
    "A column reduction: vec ND tiles with equal valid columns, of the reference assembler's types. A dst of 0x0 "
    "valid elements says that there is nothing to do.",
    lambda o: stated(_col_tiles(o, marker=True)),
    in_asm_types,
)

CRED_COM_01_ONE_TYPE = replace(CRED_COM_01, check=partial(_col_tiles, widens=False))

COLUMN_RULES = (
    CRED_COM_01,
    rule(
        "CRED-CPU-01",
        "TCOLMAX(Tile(Vec, f32, 1, 64), Tile(Vec, f32, 16, {|128, valid_col=}64))",
        source=COLUMNS,
        evidence="static_assert",
    )(
        "src and dst have equal columns on cpu; the simulator's type list.",
        need("src.cols == dst.cols", "; {instr.name} on cpu wants equal columns"),
        _cpu_types,
    ),
    rule(
        "CRED-A3-01",
        "TCOLMAX(Tile(Vec, {f32|bf16}, 1, 64), Tile(Vec, {f32|bf16}, 16, 64))",
        source=COLUMNS,
        evidence="static_assert",
    )(
        "The element type has a form on a2a3; tmp is a Vec ND tile.",
        "nd(tmp) and tmp.loc is Vec",
        "{tmp} is {layout_text(tmp)} in {tmp.loc.text}; it must be a vec ND tile",
        in_types,
    ),
    rule(
        "CRED-A5-01",
        "TCOLSUM(Tile(Vec, {f32|i64}, 1, 64), Tile(Vec, {f32|i64}, 16, 64), Tile(Vec, {f32|i64}, 16, 64), "
        "is_binary=True)",
        source=COLUMNS,
        evidence="static_assert device",
    )(
        "The element type has a form on a5; 64-bit types have at most 64 columns and no tmp.",
        "src.dtype.bits != 64 if tmp",
        "TCOLSUM with {tmp} has no {src.dtype} form",
        in_types,
        _columns_64,
    ),
    CR_1,
    CMP_INP_01_ROW_0,
)
"""Rules of every column reduction."""
