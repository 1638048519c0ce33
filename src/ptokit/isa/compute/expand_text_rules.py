"""What the reference assembler refuses of expansions by rows, beside element types (EW-1)."""

from __future__ import annotations

from functools import partial

from ptokit.diagnostics import Rule, RuleDecorator
from ptokit.types.enums import TileType
from ptokit.types.tile import DYNAMIC

from ..checks.assembler import assembler_rule
from ..checks.operands import Message, is_nd, layout
from ..checks.tiles import differ, in_asm_types, precise, small, valid_differs
from ..site import Site, TileInfo
from ..unknown import UNKNOWN
from .reduce_rules import not_vec, writes_nothing

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
    "REXP-AS-01", "trowexpandadd ins(%matrix, %vector)", "trowexpandadd ins(%vector, %matrix)"
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


REXP_AS_04 = _of("TRowExpandDivOp")("REXP-AS-04", "high_precision with tmp", "high_precision without tmp")(
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
