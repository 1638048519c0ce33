"""What the reference assembler refuses of elementwise instructions and expansions, and of their scratch tiles."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from ptokit.diagnostics import Rule, RuleDecorator, Scope, rule
from ptokit.diagnostics.rules import shared
from ptokit.targets import A2A3
from ptokit.types.enums import TileType
from ptokit.types.tile import DYNAMIC

from ..checks.compiling import DEVICES, Message, is_nd, layout
from ..checks.tiles import assembler_rule, differ, in_asm_types, precise, small, valid_differs, vec_rows
from ..operands import FB, I6, names, types_of
from ..site import UNKNOWN, Site, Size, TileInfo, known
from .reduce_rules import not_vec, writes_nothing

# What the reference assembler refuses of expansions by rows, beside element types (EW-1).


_PTO = "PTOAS 2026-08 PTO.cpp"
_ALL_ROWS = 30 * 256
"""Bytes of tmp from 256 rows on."""


def _of(functions: str) -> partial[RuleDecorator]:
    return partial(assembler_rule, source=f"{_PTO} {functions}")


def row_copy(o: Site) -> Message:
    """EW-1 of trowexpand: a dst of 0x0 valid elements says that there is nothing to do."""
    s, d = o.src, o.dst
    wrong = not_vec(o) or differ(o, "dst", "src") or in_asm_types(o)
    if wrong or not is_nd(d) or s.boxed:
        return wrong or f"{layout(o, 'src')}, {layout(o, 'dst')}; trowexpand reads plain tiles and writes rows"
    if writes_nothing(o):
        return None
    if s.vr != d.vr:
        return f"{o:src} has {s.vr} valid rows, {o:dst} has {d.vr}"
    return f"{o:src} is valid in {s.vr}x{s.vc}, {o:dst} in {d.vr}x{d.vc}" if 0 in (s.vr, s.vc, d.vr, d.vc) else None


def _of_one_row(o: Site, name: str) -> Message:
    """An operand that is not one value, or one block of 32 bytes, for each valid row of dst."""
    t = o.operands[name]
    assert isinstance(t, TileInfo)
    width = t.dtype.c0 if t.row_major else 1
    if t.vr != o.dst.vr:
        return f"{o:{name}} has {t.vr} valid rows, {o:dst} has {o.dst.vr}"
    return f"{o:{name}} has {t.vc} valid columns, not {width}" if t.vc != width else None


REXP_AS_01 = _of("TRowExpandAddOp")(
    "REXP-AS-01",
    "pto.trowexpandadd ins({%a, %b : !pto.tile_buf<vec, 16x64xf32>, !pto.tile_buf<vec, 16x1xf32, "
    "blayout=col_major>|%b, %a : !pto.tile_buf<vec, 16x1xf32, blayout=col_major>, !pto.tile_buf<vec, "
    "16x64xf32>}) outs(%d : !pto.tile_buf<vec, 16x64xf32>)",
)(
    "trowexpandadd: src0 is the matrix, in rows; src1 has a value or a block for each of its rows.",
    "src0.row_major",
    "{src0} is {layout_text(src0)}; {src0} must be the row_major matrix",
    lambda o: valid_differs(o, "dst", "src0"),
    lambda o: _of_one_row(o, "src1"),
)


def _forms(o: Site) -> Message:
    d, wrong = o.dst, None
    for matrix, vector in (("src0", "src1"), ("src1", "src0")):
        t = o.operands[matrix]
        assert isinstance(t, TileInfo)
        if valid_differs(o, "dst", matrix):
            continue
        found = _of_one_row(o, vector) if t.row_major else f"{layout(o, matrix)}; the matrix must be row_major"
        if found is None:
            return None
        wrong = wrong or found
    return wrong or f"neither source is valid in {o:dst}'s {d.vr}x{d.vc}"


REXP_AS_02 = _of("verifyTRowExpandReduceLikeOp")(
    "REXP-AS-02",
    "pto.trowexpandmax ins(%t, %a : !pto.tile_buf<vec, 16x64xf32>, !pto.tile_buf<vec, {16x1xf32|8x1xf32}, "
    "blayout=col_major>) outs(%t : !pto.tile_buf<vec, 16x64xf32>)",
    covered_by=("REXP-COM-11",),
)(
    "trowexpandmax, trowexpandmin, trowexpandexpdif: one source is the matrix, in rows and with dst's valid "
    "region, the other has a value or a block for each row. A dst of 0x0 valid elements says that there is "
    "nothing to do.",
    "dst.vr != 0 and dst.vc != 0 if not writes_nothing(o)",
    "{dst} is valid in {dst.vr}x{dst.vc}",
    lambda o: _forms(o) if not writes_nothing(o) else None,
)


def _column_vector(o: Site) -> bool:
    """True if the operand that is expanded is a column: the one whose partner has dst's valid region."""
    for matrix, vector in (("src0", o.src1), ("src1", o.src0)):
        if not valid_differs(o, "dst", matrix):
            return not vector.row_major and vector.vc in (1, UNKNOWN)
    return False


@_of("verifyTRowExpandImplicitTmpContract")(
    "REXP-AS-03",
    "pto.trowexpandmax ins(%a, %b, %c : !pto.tile_buf<vec, 16x64xf32>, !pto.tile_buf<vec, 16x1xf32, "
    "blayout=col_major>, !pto.tile_buf<{vec|mat}, 1x128xf32>) outs(%d : !pto.tile_buf<vec, 16x64xf32>)",
    targets=("a2a3",),
    covered_by=("REXP-A3-11",),
)
def REXP_AS_03(o: Site) -> Message:
    """With a tmp, a2a3 expands a column. The tmp lies in vec, has dst's type, and 256 bytes for every 8 valid rows of
    dst, 7680 from 256 rows on, 8192 where they are open.
    """
    t, rows = o.tmp, o.dst.spec.valid_row
    if t is None:
        return None
    if not _column_vector(o):
        return f"the operand that is expanded is no column, which the form with {o:tmp} takes"
    if t.loc is not TileType.Vec:
        return f"{o:tmp} lies in {t.loc.text}, not vec"
    need = 8192 if rows == DYNAMIC else -(-rows // 8) * 256 if rows < 256 else _ALL_ROWS
    return differ(o, "dst", "tmp") or small(o, "tmp", need)


REXP_AS_04 = _of("TRowExpandDivOp")(
    "REXP-AS-04",
    "pto.trowexpanddiv ins(%a, %b{, %t|} : !pto.tile_buf<vec, 16x64xf32>, !pto.tile_buf<vec, "
    "16x1xf32, blayout=col_major>{, !pto.tile_buf<vec, 16x64xf32>|}) outs(%d : !pto.tile_buf<vec, "
    "16x64xf32>) {precisionType = #pto<div_precision high_precision>}",
)(
    "trowexpanddiv of high precision has a tmp.",
    "tmp is not None if precise(o)",
    "high_precision without {tmp}",
)


def of_operation(name: str) -> tuple[Rule, ...]:
    """The assembler's rules of a row expansion with an operation."""
    match name.removeprefix("TROWEXPAND"):
        case "ADD":
            return (REXP_AS_01, REXP_AS_03)
        case "MAX" | "MIN":
            return (REXP_AS_02, REXP_AS_03)
        case "EXPDIF":
            return (REXP_AS_02,)
        case "DIV":
            return (REXP_AS_03, REXP_AS_04)
        case _:
            return (REXP_AS_03,)


# What the reference assembler asks of scratch tiles, and some more of elementwise instructions.


def _ceil(a: Size, b: int) -> Size:
    return (a + b - 1) // b


def _asm(id: str, targets: tuple[str, ...] = DEVICES, **more: Any) -> RuleDecorator:
    return rule(id, targets=targets, scope=Scope.ASSEMBLER, **{"source": "compute-elementwise 2.4", **more})


def _newer(id: str, function: str, **more: Any) -> RuleDecorator:
    return _asm(id, source=f"PTOAS 2026-08 PTO.cpp {function}", **more)


def _rows(o: Site) -> Message:
    return None if o.tmp.row_major else f"{o:tmp} has blayout=col_major; the assembler wants row_major"


_src_is_dst = shared(
    "tands tors txors: source and destination are different values.",
    "not same(t, dst) for t in data if name != 'dst'",
    "{t} and {dst} are the same value",
)


def _physical(o: Site, *names: str) -> Message:
    d = o.dst
    for name in names:
        t = o.operands.get(name)
        if isinstance(t, TileInfo) and (t.rows, t.cols) != (d.rows, d.cols):
            return f"{o:{name}} is {t.rows}x{t.cols}, {o:dst} is {d.rows}x{d.cols}; the assembler wants equal shapes"
    return None


@_asm(
    "EW-AS-03",
    example="pto.tprelu ins(%t, %t, %a : !pto.tile_buf<vec, 16x64xf32>, !pto.tile_buf<vec, 16x64xf32>, "
    "!pto.tile_buf<vec, 17x32xui8, valid={16x8|16x7}>) outs(%t : !pto.tile_buf<vec, 16x64xf32>)",
    on="a2a3",
)
def EW_AS_03(o: Site) -> Message:
    """tprelu: sources and dst have one shape; on a2a3, tmp is of 8-bit integers, has a row more than dst has valid
    ones, and a mask bit for each valid column.
    """
    t, d = o.tmp, o.dst
    if o.target.is_a(A2A3) and t is not None:
        if t.dtype.name not in ("u8", "i8"):
            return f"{o:tmp} has element type {t.dtype}; the assembler wants ui8"
        if not known(d.vr, d.vc):
            return f"{o:dst} has a dynamic valid region; with {o:tmp}, the assembler wants a static one"
        if t.rows <= d.vr or t.vc < _ceil(d.vc, 8):
            return (
                f"{o:tmp} is {t.rows}x{t.cols}, valid in {t.vc} columns; not {d.vr + 1} rows, {_ceil(d.vc, 8)} columns"
            )
        need = (d.vr + 1) * max(32, _ceil(_ceil(d.vc, 8), 32) * 32)
        if t.spec.nbytes < need:
            return f"{o:tmp} has {t.spec.nbytes} bytes, it needs {need}"
    return _physical(o, "src0", "src1")


def _remainder(o: Site, rows: int) -> Message:
    """``rows``: of tmp, on a2a3."""
    t, d = o.tmp, o.dst
    if t is None or (wrong := vec_rows(o, "tmp")) or not o.target.is_a(A2A3):
        return None if t is None else wrong
    if t.vr < rows or t.vc < d.vc:
        return f"{o:tmp} is valid in {t.vr}x{t.vc}; the assembler wants at least {rows}x{d.vc}"
    return differ(o, "dst", "tmp") or small(o, "tmp", rows * d.cols * d.dtype.size)


EW_AS_04 = _newer(
    "EW-AS-04",
    "TRemOp, TRemSOp",
    what=(
        "trem trems: tmp is a row-major vec tile; on a2a3 of dst's type, with room for its columns, in trem for "
        "two rows."
    ),
    example="pto.trem ins(%t, %t, %a : !pto.tile_buf<vec, 16x64xf32>, !pto.tile_buf<vec, 16x64xf32>, "
    "!pto.tile_buf<vec, {2x72xf32|1x72xf32}>) outs(%t : !pto.tile_buf<vec, 16x64xf32>)",
    on="a2a3",
)(partial(_remainder, rows=2))
EW_AS_04_SCALAR = replace(EW_AS_04, check=partial(_remainder, rows=1))


def _exclusive(o: Site, *, region: bool = True) -> Message:
    """``region``: tmp has the valid region of dst."""
    if o.tmp is None:
        return None
    wrong = differ(o, "dst", "tmp") or _rows(o) or (valid_differs(o, "dst", "tmp") if region else None)
    return wrong or small(o, "tmp", o.dst.spec.nbytes)


EW_AS_05 = _newer(
    "EW-AS-05",
    "TXorOp, TXorSOp",
    what="txor txors on a2a3: tmp is row-major, of dst's type and size, in txor with its valid region.",
    targets=("a2a3",),
    example="pto.txor ins(%t, %t, %a : !pto.tile_buf<vec, 16x64xi32>, !pto.tile_buf<vec, 16x64xi32>, "
    "!pto.tile_buf<vec, {16x64xi32|16x64xf32}>) outs(%t : !pto.tile_buf<vec, 16x64xi32>)",
)(_exclusive)
EW_AS_05_SCALAR = replace(EW_AS_05, check=partial(_exclusive, region=False))

EW_AS_06 = _newer(
    "EW-AS-06",
    "TRsqrtOp",
    example="pto.trsqrt ins(%t, %a : !pto.tile_buf<vec, 16x64xf32>, !pto.tile_buf<vec, {1x8xf32|1x8xf16}>) "
    "outs(%t : !pto.tile_buf<vec, 16x64xf32>)",
)(
    "trsqrt: tmp is a row-major vec tile of at least 32 bytes; high precision needs one.",
    "not precise(o) if tmp is None",
    "high_precision without {tmp}",
    lambda o: vec_rows(o, "tmp"),
    lambda o: small(o, "tmp", 32),
)


_POWERS = {"a2a3": I6 | types_of("f32"), "a5": I6 | types_of("f16 f32")}


@_newer(
    "EW-AS-11",
    "TPowOp, TPowSOp",
    example="pto.tpows ins(%t, %c2_i8, %t : !pto.tile_buf<vec, {16x32xf32|16x32xi8}>, {f32|i8}, !pto.tile_buf<vec, "
    "{16x32xf32|16x32xi8}>) outs(%t : !pto.tile_buf<vec, {16x32xf32|16x32xi8}>)",
    on="a2a3",
)
def EW_AS_11(o: Site) -> Message:
    """tpow tpows: integers and f32, on a5 f16, too; in high precision, which a2a3 does not have, floats. Integers have
    no tmp; that of floats is row-major, with dst's type and valid region, on a2a3 also its size.
    """
    exact = precise(o)
    if exact and o.target.is_a(A2A3):
        return "a2a3 has no high_precision"
    allowed = FB if exact else o.target.entry(_POWERS)
    if o.dst.dtype not in allowed:
        return f"{o:dst} has element type {o.dst.dtype}; allowed: {names(allowed)}"
    if o.tmp is None:
        return None
    if o.dst.dtype.is_integer:
        return f"a {o:tmp} with {o.dst.dtype}"
    wrong = differ(o, "dst", "tmp") or _rows(o) or valid_differs(o, "dst", "tmp")
    return wrong or (small(o, "tmp", o.dst.spec.nbytes) if o.target.is_a(A2A3) else None)


@_newer(
    "EW-AS-12",
    "TSelOp",
    example="pto.tsel ins(%a, %t, %t, %b : !pto.tile_buf<vec, 16x32xi8>, !pto.tile_buf<vec, 16x64xf32>, "
    "!pto.tile_buf<vec, 16x64xf32>, !pto.tile_buf<vec, {1x16xf32|1x16xf16}>) "
    "outs(%t : !pto.tile_buf<vec, 16x64xf32>)",
    on="a2a3",
)
def EW_AS_12(o: Site) -> Message:
    """tsel: tmp is a row-major vec tile; on a2a3 of 4-byte elements, with 16 bytes for 2-byte data and 8 for others."""
    t = o.tmp
    if t is None or (wrong := vec_rows(o, "tmp")) or not o.target.is_a(A2A3):
        return None if t is None else wrong
    if t.dtype.size != 4:
        return f"{o:tmp} has elements of {t.dtype.size} bytes, not 4"
    return small(o, "tmp", 16 if o.dst.dtype.size == 2 else 8)


EW_AS_13 = _newer(
    "EW-AS-13",
    "TSelSOp",
    targets=("a2a3",),
    example="pto.tsels ins(%a, %t, %b, %n : !pto.tile_buf<vec, 16x32xi8>, !pto.tile_buf<vec, 16x64xf32>, "
    "!pto.tile_buf<vec, {1x64xf32|1x32xf32}>, f32) outs(%t : !pto.tile_buf<vec, 16x64xf32>)",
)(
    "tsels on a2a3: tmp is row-major, of dst's type, with room for a row of src.",
    "if tmp is not None",
    lambda o: differ(o, "dst", "tmp"),
    _rows,
    lambda o: small(o, "tmp", o.src.cols * o.dst.dtype.size),
)

EW_AS_08 = _asm(
    "EW-AS-08",
    example="pto.taxpy ins(%a, %x : !pto.tile_buf<vec, 16x64xf16>, {f16|f32}) outs(%b : !pto.tile_buf<vec, 16x64xf32>)",
)(
    "taxpy: the scalar has src's element type; src and dst have one shape.",
    "scalar.type not in ('f16', 'bf16', 'f32', 'f64') if scalar.type != src.dtype.text",
    "the scalar has type {scalar.type}, {src} has {src.dtype}",
    lambda o: _physical(o, "src"),
)

EW_AS_01 = _asm(
    "EW-AS-01",
    example="""
        %c = arith.constant 3 : i32
        pto.tors ins(%a, %c : !pto.tile_buf<vec, 16x64xi32>, i32) outs(%{b|a} : !pto.tile_buf<vec, 16x64xi32>)
    """,
)(_src_is_dst)
EW_AS_02 = _asm(
    "EW-AS-02",
    what="trecip on a2a3: source and destination are different values.",
    targets=("a2a3",),
    example="pto.trecip ins(%a : !pto.tile_buf<vec, 16x64xf32>) outs(%{b|a} : !pto.tile_buf<vec, 16x64xf32>)",
)(_src_is_dst)

EW_AS_09 = _asm(
    "EW-AS-09",
    example="pto.taddc ins(%a, %b, %c : !pto.tile_buf<vec, 16x64xf32>, !pto.tile_buf<vec, 16x64xf32>, "
    "!pto.tile_buf<vec, {16x64xf32|16x128xf32}, valid=16x64>) outs(%d : !pto.tile_buf<vec, 16x64xf32>)",
)(
    "taddc taddsc: all tiles have one shape.",
    lambda o: _physical(o, "src0", "src1", "src2"),
)
