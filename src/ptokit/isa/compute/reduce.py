"""Row and column reductions, and positions of extremes (compute-reduce-matrix 1 to 3).

Sums and products of floats are rounded at every step on devices, in the order of the libraries; on cpu they are made in
binary64 and rounded once (class P2). Integers wrap.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from ptokit.diagnostics import Doubt, Rule, family
from ptokit.diagnostics.rules import need
from ptokit.targets import A2A3, A5
from ptokit.types.dtypes import f32
from ptokit.types.enums import BLayout, TileType

from ..checks.compiling import Message, is_dn1, is_nd, layout
from ..checks.tiles import assembler_rule, differ, small
from ..meaning.expressions import Convert
from ..meaning.footprint import sentence
from ..meaning.primitives import Order, Stage
from ..meaning.words import Fold, Search
from ..operands import (
    ASM_8,
    ASM_N4,
    BF16,
    FB,
    FIRST_SOURCE,
    I6,
    I8,
    INT16_32,
    INT64,
    N4,
    F,
    Types,
    names,
    types,
    types_of,
)
from ..scratch import CMP_INP_01, of_trees, on_a2a3
from ..site import Site, Size, TileInfo, known
from ..table import LEVEL2, Attr, Instr, Operand, Role, TextForm, dst, src, tmp
from . import reduce_rules as rules
from .vector_unit import SRC, vector

REPEAT, BLOCK = 256, 32
"""Bytes that a vector instruction reads at once: eight blocks."""


def _fold(op: str, axis: str) -> Callable[[Site], Fold]:
    """i16 is widened first where the destination is wider, so that the sum does not wrap."""

    def choose(o: Site) -> Fold:
        widened = o.src.dtype is not o.dst.dtype and o.src.dtype.is_integer
        value = Convert(SRC, "dst") if widened else SRC
        if op not in ("add", "mul") or not o.src.dtype.is_float:
            return Fold(op, value, axis)
        if o.target.is_device:
            return Fold(op, value, axis, _stages[op, axis](o))
        order = Order.TWO_ACCUMULATORS if (op, axis) == ("add", "row") else Order.FORWARD
        return Fold(op, value, axis, (Stage(order, accumulator="f64"),))

    return choose


def _sum_of_row(o: Site) -> tuple[Stage, ...]:
    """What the libraries for devices do to a row of floats (TRowReduce.hpp, TRowSum.hpp).

    a5: vcadd of each register, added to an accumulator. a2a3: repeats are added to one, whose lanes vcadd adds; some
    shapes have a form of their own.
    """
    lanes = REPEAT // o.src.dtype.size
    if o.target.is_a(A5):
        return Stage(Order.NEIGHBOURS, lanes), Stage(Order.FORWARD)
    special = _BY_SHAPE.get((o.src.rows, o.src.cols)) if _whole_f32(o) else None
    return special or (Stage(Order.TREE_OF_REPEATS, lanes, across=True), Stage(Order.NEIGHBOURS, lanes))


def _whole_f32(o: Site) -> bool:
    """True if src is f32 and wholly valid by its type, and dst a DN tile."""
    src, dst = o.src.spec, o.dst.spec
    whole = (src.valid_row, src.valid_col) == (src.rows, src.cols)
    return bool(o.src.dtype is f32 and whole and is_dn1(o.dst) and dst.valid_col == 1)


_EIGHT = Stage(Order.NEIGHBOURS, 8)
_BLOCKS = Stage(Order.NEIGHBOURS, 8, across=True)
_BY_SHAPE = {
    (64, 128): (_EIGHT, _BLOCKS, _EIGHT),
    (32, 256): (_EIGHT, _BLOCKS, _EIGHT),
    (16, 512): (_EIGHT, _EIGHT, _EIGHT),
    (8, 1024): (_EIGHT, _EIGHT, _BLOCKS, _EIGHT),
}
"""vcgadd adds the eight elements of a block, vadd blocks side by side (TRowReduceOps.hpp)."""


def _product_of_row(o: Site) -> tuple[Stage, ...]:
    """a5: lanes of registers, then half by half. a2a3: lanes of blocks, then one by one, f16 in f32 (TRowProd.hpp)."""
    if o.target.is_a(A5):
        lanes = REPEAT // o.src.dtype.size
        return Stage(Order.FROM_FIRST, lanes, across=True), Stage(Order.HALVES, lanes)
    blocks = Stage(Order.FROM_FIRST, BLOCK // o.src.dtype.size, across=True)
    return blocks, Stage(Order.FROM_FIRST, accumulator=f32)


def _column(o: Site) -> tuple[Stage, ...]:
    """Row by row, on a5 two rows at a time (TColReduceOps.hpp); the assembler's templates take one after the other."""
    return (Stage(Order.PAIRS if o.target.is_a(A5) and not o.target.templates else Order.FROM_FIRST),)


def _sum_of_column(o: Site) -> tuple[Stage, ...]:
    """As `_column`, or as a tree of rows (TColSum.hpp)."""
    if not o.attrs.get("is_binary"):
        return _column(o)
    return (Stage(Order.TREE_ODD_LAST if o.target.is_a(A5) else Order.TREE_ODD_FIRST),)


_stages: dict[tuple[str, str], Callable[[Site], tuple[Stage, ...]]] = {
    ("add", "row"): _sum_of_row,
    ("mul", "row"): _product_of_row,
    ("add", "column"): _sum_of_column,
    ("mul", "column"): _column,
}


_ROUNDED = "On a2a3 and a5 each operation on floats is rounded to the element type, on cpu only the result. "
ORDER_OF_SUMS = (
    f"{_ROUNDED}a5: vcadd of each 256 bytes, added to +0 from left to right. a2a3: pieces of 256 bytes are added as a "
    "tree (an odd one to the first sum, in later levels to the last; a shorter one to the first), then vcadd; f32 of "
    "64x128, 32x256, 16x512 and 8x1024, wholly valid by their type, into a col_major column have trees of eights. "
    "vcadd adds neighbours, then neighbours of the sums, with +0 for lanes beyond the row: the vendor's documentation "
    "has this order. Open: f16 sums beyond 65504, which are 65504 there and infinite here."
)
ORDER_OF_PRODUCTS = (
    f"{_ROUNDED}a5: lanes of 256 bytes, then the lower half by the upper one until one is left. a2a3: lanes of 32 "
    "bytes, then from left to right, those of f16 in f32."
)
ORDER_OF_COLUMNS = (
    f"{_ROUNDED}a2a3: row by row. a5: row 0, then two rows at a time, x[0] + (x[1] + x[2]) + …; in a module of one "
    "kind of core row by row, as the assembler's template has it."
)
ORDER_OF_TREES = "isBinary adds neighbouring rows; an odd last row goes to the first sum on a2a3, to the last on a5."


def row_reduction(name: str, op: str, types: Types, *own: Rule, decision: str = "") -> Instr:
    """A reduction of each row into column 0 of dst."""
    return vector(
        name,
        sentence(Fold(op, SRC, "row")),
        (dst(), src(), tmp(optional=True, like=FIRST_SOURCE, needed=on_a2a3("src"))),
        types,
        _fold(op, "row"),
        *own,
        common=rules.ROW_RULES,
        source="compute-reduce-matrix 1",
        decision=decision,
        cpp=f"{name}(dst, src, tmp)",
    )


def column_reduction(name: str, op: str, types: Types, *own: Rule, note: str = "", **more: Any) -> Instr:
    """A reduction of each column into row 0 of dst."""
    return vector(
        name,
        sentence(Fold(op, SRC, "column")) + note,
        more.pop("operands", (dst(), src())),
        types,
        _fold(op, "column"),
        *own,
        common=rules.COLUMN_RULES,
        source="compute-reduce-matrix 2",
        **more,
    )


ROW_EXTREME = types(N4, N4 | ASM_8 | INT64, asm=ASM_N4)
COLUMN_ASM = (ASM_N4, ASM_N4 | BF16 | ASM_8)

TROWSUM = row_reduction(
    "TROWSUM",
    "add",
    types(N4, N4 | INT64, cpu=N4 | BF16, asm=ASM_N4),
    rules.RRED_COM_02_SUM,
    rules.RRED_CPU_01_SUM,
    rules.RRED_A3_02,
    decision=ORDER_OF_SUMS,
)
TROWPROD = row_reduction("TROWPROD", "mul", types(N4, N4, asm=ASM_N4), decision=ORDER_OF_PRODUCTS)
TROWMAX = row_reduction("TROWMAX", "max", ROW_EXTREME, rules.RRED_A3_02)
TROWMIN = row_reduction("TROWMIN", "min", ROW_EXTREME, rules.RRED_A3_02)
TCOLSUM = column_reduction(
    "TCOLSUM",
    "add",
    types(N4, FB | I8, cpu=FB, asm=COLUMN_ASM),
    rules.CRED_COM_02,
    rules.CRED_COM_03,
    rules.CRED_COM_04,
    operands=(dst(), src(), tmp(optional=True, needed=of_trees)),
    attrs=(Attr("is_binary", bool, None, "isBinary"),),
    form=TextForm("dps-attrs-in"),
    note="; isBinary adds as a tree",
    decision=f"{ORDER_OF_COLUMNS} {ORDER_OF_TREES}",
    cpp="TCOLSUM(dst, src, tmp, is_binary) | TCOLSUM(dst, src)",
)
TCOLPROD = column_reduction(
    "TCOLPROD",
    "mul",
    types(N4, FB | INT16_32, asm=(ASM_N4, ASM_N4 | BF16)),
    rules.CRED_COM_01_ONE_TYPE,
    decision=ORDER_OF_COLUMNS,
)
TCOLMAX = column_reduction(
    "TCOLMAX",
    "max",
    types(N4, FB | I8, cpu=FB | ASM_8, asm=COLUMN_ASM),
    rules.CRED_COM_02,
)
TCOLMIN = column_reduction("TCOLMIN", "min", types(N4, FB | I8, asm=COLUMN_ASM), rules.CRED_COM_02)


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
    return rules.not_vec(o) or next((m for name, _ in _destinations(o) if (m := rules.rows_of_results(o, name))), None)


def _column_layout(o: Site) -> Message:
    if o.src.boxed or (o.target.is_device and not o.src.row_major):
        return f"{layout(o, 'src')}; a column reduction reads ND tiles"
    for name, t in _destinations(o):
        if not is_nd(t):
            return f"{layout(o, name)}; a column reduction writes ND tiles"
    doubts = (Doubt(f"{o:{name}} has {t.vr} valid rows") for name, t in _destinations(o) if t.vr != 1)
    columns = (rules.columns_of_results(o, name) for name, _ in _destinations(o))
    return next((wrong for wrong in (rules.not_vec(o), *columns, *doubts) if wrong), None)


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


ARG_ROW_RULES = (
    _LAYOUT,
    replace(_EMPTY, check=_not_empty_rows),
    _TYPES,
    _ASM,
    replace(rules.RR_1, check=lambda o: rules.row_reduction(o) or _asm_index(o)),
    ARG_A3_01,
    CMP_INP_01,
)
ARG_COLUMN_RULES = (
    replace(_LAYOUT, check=_column_layout),
    _EMPTY,
    replace(_TYPES, check=partial(_types, column=True)),
    replace(_ASM, check=_column_tmp),
    replace(rules.CR_1, check=lambda o: rules.stated(_column_layout(o)) or _not_empty(o) or _asm_index(o) or _wide(o)),
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
    common, columns = (ARG_ROW_RULES, ROW_TYPES) if axis == "row" else (ARG_COLUMN_RULES, COLUMN_TYPES)
    word = Search(op, SRC, axis)
    return vector(
        name,
        sentence(word),
        OPERANDS,
        columns,
        word,
        common=common,
        form=TextForm(orders={LEVEL2: "src tmp -> dst_val dst"}),
        source="compute-reduce-matrix 3",
        cpp=f"{name}(dst_val, dst, src, tmp) | {name}(dst, src, tmp)",
    )


TROWARGMAX = arg_reduction("TROWARGMAX", "row", "gt")
TROWARGMIN = arg_reduction("TROWARGMIN", "row", "lt")
TCOLARGMAX = arg_reduction("TCOLARGMAX", "column", "gt")
TCOLARGMIN = arg_reduction("TCOLARGMIN", "column", "lt")
