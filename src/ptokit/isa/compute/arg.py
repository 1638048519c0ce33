"""Arg reductions: the position of the extreme of each row or column (compute-reduce-matrix 3)."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from ptokit.diagnostics import Doubt, family
from ptokit.diagnostics.rules import need
from ptokit.targets import A2A3, A5
from ptokit.types.enums import BLayout, TileType

from ..checks.compiling import Message, is_dn1, is_nd, layout
from ..checks.tiles import assembler_rule, differ, small
from ..meaning.footprint import sentence
from ..meaning.words import Search
from ..operands import FB, FIRST_SOURCE, I6, I8, INT16_32, N4, F, names, types, types_of
from ..scratch import CMP_INP_01, on_a2a3
from ..site import Site, Size, TileInfo, known
from ..table import LEVEL2, Instr, Operand, Role, TextForm, dst, src, tmp
from .reduce_rules import CR_1, RR_1, columns_of_results, not_vec, row_reduction, rows_of_results, stated
from .vector_unit import SRC, vector

# Rules of the arg reductions (compute-reduce-matrix 3).


SOURCE = "compute-reduce-matrix 3"
rule = family(SOURCE)
INT_ANY = I8


def _destinations(o: Site) -> list[tuple[str, TileInfo]]:
    return [(n, o.operands[n]) for n in ("dst", "dst_val") if o.has(n)]  # type: ignore[misc]


@rule(
    "ARG-COM-01",
    "TCOLARGMAX(Tile(Vec, i32, 1, {64|32}), Tile(Vec, f32, 16, 64))",
    evidence="static_assert device assertion",
)
def _LAYOUT(o: Site) -> Message:
    """Vec tiles. Row forms: src ND, results ND or DN with one column. Column forms: results ND, one row, src's
    columns.
    """
    if not is_nd(o.src):
        return f"{layout(o, 'src')}; a row reduction reads ND tiles"
    for name, t in _destinations(o):
        if not is_nd(t) and not is_dn1(t):
            return f"{layout(o, name)}; a row reduction writes ND, or DN with one column"
    return not_vec(o) or next((m for name, _ in _destinations(o) if (m := rows_of_results(o, name))), None)


def _column_layout(o: Site) -> Message:
    if o.src.boxed or (o.target.is_device and not o.src.row_major):
        return f"{layout(o, 'src')}; a column reduction reads ND tiles"
    for name, t in _destinations(o):
        if not is_nd(t):
            return f"{layout(o, name)}; a column reduction writes ND tiles"
    doubts = (Doubt(f"{o:{name}} has {t.vr} valid rows") for name, t in _destinations(o) if t.vr != 1)
    columns = (columns_of_results(o, name) for name, _ in _destinations(o))
    return next((wrong for wrong in (not_vec(o), *columns, *doubts) if wrong), None)


def _not_empty(o: Site) -> Message:
    """The valid region of src is not empty."""
    if o.src.vr == 0 or o.src.vc == 0:
        return f"{o:src} has valid region {o.src.vr}x{o.src.vc}; there is nothing to reduce"
    return None


def _not_empty_rows(o: Site) -> Message:
    """Without rows nothing happens on the device; only a debug assertion wants some."""
    message = _not_empty(o)
    return Doubt(message) if message and o.src.vr == 0 and o.target.is_device else message


def _types(o: Site, *, column: bool = False) -> Message:
    """The source type has a form on the target; indices are i32 or u32 (value forms of 2-byte types: also i16,
    u16).
    """
    s, idx, valued, device = o.src.dtype, o.dst.dtype, o.has("dst_val"), o.target.is_device
    allowed = o.target.entry(o.instr.types)
    if s not in allowed or (valued and column and o.target.is_a(A5) and s.size == 1):
        return f"{o.target.name} has no {s} form; allowed: {names(allowed)}"
    if valued and o.dst_val.dtype is not s:
        return f"{o:dst_val} has element type {o.dst_val.dtype}, {o:src} has {s}"
    indices = types_of("i32 u32")
    if valued and s.size == 2:
        narrow = types_of("i16 u16")
        indices = narrow if column and device else indices | narrow
    if idx not in indices:
        return f"the index tile has element type {idx}; allowed here: {names(indices)}"
    return None


def _arg_stride(o: Site) -> Size:
    """Columns of tmp in which a2a3 keeps the candidates of src's valid columns, and their indices."""
    lanes, repeats = o.src.dtype.c0, -(-o.src.vc // (256 // o.src.dtype.size))
    return _blocks(2 * repeats, lanes) + _blocks(repeats, lanes)


def _own_tmp(o: Site) -> Message:
    """What both forms ask of tmp; on a5 nothing else."""
    t = o.tmp
    if t.loc is not TileType.Vec:
        return f"{o:tmp} lies in {t.loc.text}, not vec"
    if o.target.is_a(A2A3):
        return differ(o, "src", "tmp") or small(o, "tmp", 32)
    return None if t.row_major else f"{o:tmp} has blayout={o.word(BLayout.ColMajor)}"


def _same_region(o: Site) -> bool:
    """True if src and tmp state one valid region, open sizes included."""
    s, t = o.src.spec, o.tmp.spec
    return bool((s.valid_row, s.valid_col) == (t.valid_row, t.valid_col))


def _row_tmp(o: Site) -> Message:
    """ARG-COM-04 of row forms."""
    t, s = o.tmp, o.src
    if t is None or (wrong := _own_tmp(o)) or not o.target.is_a(A2A3) or _same_region(o):
        return None if t is None else wrong
    short = s.vc <= 256 // s.dtype.size
    if short and not t.boxed and not t.row_major:
        return (
            f"{o:tmp} is a column of {t.rows}x{t.cols}, valid in {t.vr}x{t.vc}; not {2 * s.vr} rows of one"
            if t.cols != 1 or t.vc != 1 or t.vr < 2 * s.vr
            else None
        )
    if not t.row_major or (short and t.boxed):
        return f"{layout(o, 'tmp')}; the assembler wants rows{', or one column' if short else ''}"
    if t.vr < s.vr or (not short and t.rows != s.rows):
        return f"{o:tmp} has {t.rows} rows, {t.vr} of them valid; {o:src} has {s.rows} and {s.vr}"
    need = 2 if short else _arg_stride(o)
    return f"{o:tmp} has {t.vc} valid columns, not {need}" if t.vc < need else None


def _column_tmp(o: Site) -> Message:
    """ARG-COM-04 of column forms."""
    t = o.tmp
    if t is None or (wrong := _own_tmp(o)) or not o.target.is_a(A2A3) or _same_region(o):
        return None if t is None else wrong
    if not t.row_major:
        return f"{o:tmp} has blayout={o.word(BLayout.ColMajor)}"
    need = _arg_stride(o)
    return f"{o:tmp} is valid in {t.vr}x{t.vc}, not 1x{need}" if t.vr < 1 or t.vc < need else None


_ASM = assembler_rule(
    "ARG-COM-04",
    "pto.tcolargmin ins(%a, %b : !pto.tile_buf<vec, 16x16xf32>, !pto.tile_buf<{vec|mat}, 1x8xf32>) "
    "outs(%c : !pto.tile_buf<vec, 1x16xi32>)",
    what="tmp is a vec tile. On a2a3 it has src's type and valid region, or room for the candidates and their indices.",
    source="PTOAS 2026-08 PTO.cpp verifyTRowArgTmpA2A3, verifyTColArgTmpA2A3",
)(_row_tmp)


def _blocks(count: Any, lanes: int) -> Any:
    return -(-count // lanes) * lanes


@rule(
    "ARG-A3-01",
    "TROWARGMAX(Tile(Vec, i32, 16, 1, ColMajor), Tile(Vec, f32, 16, 128), Tile(Vec, f32, 16, {16|8}))",
    evidence="device",
)
def ARG_A3_01(o: Site) -> Message:
    """tmp holds the candidates of a row."""
    if not o.has("tmp") or not known(o.src.vc, o.src.vr):
        return None
    lanes, width, cols = o.src.dtype.c0, 256 // o.src.dtype.size, o.src.vc
    first = -(-cols // width)
    second = -(-first // width)
    if cols <= width:
        need = 2 if o.has("dst_val") else 0
    elif cols <= width * width:
        need = _blocks(2 * first, lanes) + _blocks(first, lanes)
    else:
        need = max(_blocks(2 * first, lanes), _blocks(first, lanes) + _blocks(2 * second, lanes)) + 2
    if need and (o.tmp.cols < need or o.tmp.rows < o.src.vr):
        return f"{o:tmp} is {o.tmp.rows}x{o.tmp.cols}; {cols} columns need {o.src.vr}x{need}"
    return None


_TYPES = rule(
    "ARG-COM-03", "TROWARGMAX(Tile(Vec, {i32|f32}, 16, 1, ColMajor), Tile(Vec, f32, 16, 64))", evidence="static_assert"
)(_types)
_EMPTY = rule(
    "ARG-COM-02",
    "pto.trowargmax ins(%a, %t : !pto.tile_buf<vec, 16x64xf32{|, valid=16x0}>, !pto.tile_buf<vec, "
    "16x64xf32>) outs(%d : !pto.tile_buf<vec, 16x1xi32, blayout=col_major>)",
    evidence="device assertion",
)(_not_empty)

_INDICES = types_of("i32 u32")


def _asm_index(o: Site) -> Message:
    if o.dst.dtype not in _INDICES:
        return f"the index tile has element type {o.dst.dtype}, not i32 or ui32"
    return None


def _wide(o: Site) -> Message:
    return None if o.src.dtype.size in (1, 2, 4) else f"{o:src} has element type {o.src.dtype}, not of 1, 2 or 4 bytes"


ROW_RULES = (
    _LAYOUT,
    replace(_EMPTY, check=_not_empty_rows),
    _TYPES,
    _ASM,
    replace(RR_1, check=lambda o: row_reduction(o) or _asm_index(o)),
    ARG_A3_01,
    CMP_INP_01,
)
COLUMN_RULES = (
    replace(_LAYOUT, check=_column_layout),
    _EMPTY,
    replace(_TYPES, check=partial(_types, column=True)),
    replace(_ASM, check=_column_tmp),
    replace(CR_1, check=lambda o: stated(_column_layout(o)) or _not_empty(o) or _asm_index(o) or _wide(o)),
    rule(
        "ARG-A3-02",
        "TCOLARGMAX(Tile(Vec, i32, 1, 64), Tile(Vec, f32, 16, 64), Tile(Vec, f32, {2|1}, 64))",
        evidence="legal",
    )(
        """tmp has src's type and room for the candidates of a group of columns.

        Decision: A warning: the library does not check the size.
        """,
        "if known(src.vc)",
        need("tmp.dtype is src.dtype"),
        "group = 256 // src.dtype.size if src.vc >= 256 // src.dtype.size else _blocks(src.vc, src.c0)",
        "regions = 3 if src.dtype.size == 2 and (not dst_val is not None) else 2",
        "tmp.spec.numel >= regions * group",
        "{tmp} has {tmp.spec.numel} elements; {instr.name} needs {regions * group}",
    ),
    rule("ARG-A3-03", "TCOLARGMAX(Tile(Vec, i32, 1, 32), Tile(Vec, f16, {1032|2064}, 32))", evidence="legal")(
        """Column indices of 2-byte types pass through f16 on a2a3.

        Decision: The executor returns the exact index.
        """,
        "src.vr <= 2048 if src.dtype.size == 2 and dst_val is None",
        "{src} has {src.vr} rows; a2a3 rounds row indices above 2048",
    ),
    rule("ARG-A3-04", "TCOLARGMAX(Tile(Vec, i32, 1, 64), Tile(Vec, {f32|u32}, 16, 64))", evidence="legal")(
        """Column forms compare unsigned types as float bit patterns on a2a3.

        Decision: The executor compares unsigned.
        """,
        "src.dtype.kind != 'u'",
        "a2a3 compares {src.dtype} as float bit patterns: codes with the top bit set count as negative",
    ),
    rule("ARG-A5-01", "TCOLARGMAX(Tile(Vec, i32, 1, 64), Tile(Vec, i8, {1024|40000}, 64))", evidence="legal")(
        "Column indices of 1- and 2-byte types are kept in 16 bits on a5.",
        "src.vr <= 32767 if src.dtype.size <= 2",
        "{src} has {src.vr} rows; a5 keeps the index in 16 bits",
    ),
    CMP_INP_01,
)


# Arg reductions: the position of the extreme of each row or column (compute-reduce-matrix 3).


OPERANDS = (
    dst(),
    src(),
    tmp(optional=True, like=FIRST_SOURCE, needed=on_a2a3("src")),
    Operand("dst_val", Role.OUT, optional=True),
)
ROW_TYPES = types(N4, INT16_32 | FB, cpu=INT_ANY | FB, asm=F | types_of("i16 u16 i32 u32"))
COLUMN_TYPES = types(types_of("f16 f32 u16 u32"), I6 | FB, cpu=INT_ANY | FB, asm=F)


def arg_reduction(name: str, axis: str, op: str) -> Instr:
    """Index form ``OP(dst, src, tmp)``; the value form also writes the extremes to ``dst_val``, first in text."""
    rules, columns = (ROW_RULES, ROW_TYPES) if axis == "row" else (COLUMN_RULES, COLUMN_TYPES)
    word = Search(op, SRC, axis)
    return vector(
        name,
        sentence(word),
        OPERANDS,
        columns,
        word,
        common=rules,
        form=TextForm(orders={LEVEL2: "src tmp -> dst_val dst"}),
        source="compute-reduce-matrix 3",
        cpp=f"{name}(dst_val, dst, src, tmp) | {name}(dst, src, tmp)",
    )


TROWARGMAX = arg_reduction("TROWARGMAX", "row", "gt")
TROWARGMIN = arg_reduction("TROWARGMIN", "row", "lt")
TCOLARGMAX = arg_reduction("TCOLARGMAX", "column", "gt")
TCOLARGMIN = arg_reduction("TCOLARGMIN", "column", "lt")
