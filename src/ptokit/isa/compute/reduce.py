"""Row and column reductions (compute-reduce-matrix 1 and 2).

Sums and products of floats are rounded at every step on devices, in the order of the libraries; on cpu they are made in
binary64 and rounded once (class P2). Integers wrap.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ptokit.diagnostics import Rule
from ptokit.targets import A5
from ptokit.types.dtypes import f32

from ..checks.compiling import is_dn1
from ..meaning.expressions import Convert
from ..meaning.footprint import sentence
from ..meaning.orders import Order, Stage
from ..meaning.words import Fold
from ..operands import ASM_8, ASM_N4, BF16, FB, FIRST_SOURCE, I8, INT16_32, INT64, N4, Types, types
from ..scratch import of_trees, on_a2a3
from ..site import Site
from ..table import Attr, Instr, TextForm, dst, src, tmp
from .reduce_rules import (
    COLUMN_RULES,
    CRED_COM_01_ONE_TYPE,
    CRED_COM_02,
    CRED_COM_03,
    CRED_COM_04,
    ROW_RULES,
    RRED_A3_02,
    RRED_COM_02_SUM,
    RRED_CPU_01_SUM,
)
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


def row_reduction(name: str, op: str, types: Types, *rules: Rule, decision: str = "") -> Instr:
    """A reduction of each row into column 0 of dst."""
    return vector(
        name,
        sentence(Fold(op, SRC, "row")),
        (dst(), src(), tmp(optional=True, like=FIRST_SOURCE, needed=on_a2a3("src"))),
        types,
        _fold(op, "row"),
        *rules,
        common=ROW_RULES,
        source="compute-reduce-matrix 1",
        decision=decision,
        cpp=f"{name}(dst, src, tmp)",
    )


def column_reduction(name: str, op: str, types: Types, *rules: Rule, note: str = "", **more: Any) -> Instr:
    """A reduction of each column into row 0 of dst."""
    return vector(
        name,
        sentence(Fold(op, SRC, "column")) + note,
        more.pop("operands", (dst(), src())),
        types,
        _fold(op, "column"),
        *rules,
        common=COLUMN_RULES,
        source="compute-reduce-matrix 2",
        **more,
    )


ROW_EXTREME = types(N4, N4 | ASM_8 | INT64, asm=ASM_N4)
COLUMN_ASM = (ASM_N4, ASM_N4 | BF16 | ASM_8)

TROWSUM = row_reduction(
    "TROWSUM",
    "add",
    types(N4, N4 | INT64, cpu=N4 | BF16, asm=ASM_N4),
    RRED_COM_02_SUM,
    RRED_CPU_01_SUM,
    RRED_A3_02,
    decision=ORDER_OF_SUMS,
)
TROWPROD = row_reduction("TROWPROD", "mul", types(N4, N4, asm=ASM_N4), decision=ORDER_OF_PRODUCTS)
TROWMAX = row_reduction("TROWMAX", "max", ROW_EXTREME, RRED_A3_02)
TROWMIN = row_reduction("TROWMIN", "min", ROW_EXTREME, RRED_A3_02)
TCOLSUM = column_reduction(
    "TCOLSUM",
    "add",
    types(N4, FB | I8, cpu=FB, asm=COLUMN_ASM),
    CRED_COM_02,
    CRED_COM_03,
    CRED_COM_04,
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
    CRED_COM_01_ONE_TYPE,
    decision=ORDER_OF_COLUMNS,
)
TCOLMAX = column_reduction(
    "TCOLMAX",
    "max",
    types(N4, FB | I8, cpu=FB | ASM_8, asm=COLUMN_ASM),
    CRED_COM_02,
)
TCOLMIN = column_reduction("TCOLMIN", "min", types(N4, FB | I8, asm=COLUMN_ASM), CRED_COM_02)
