"""Row and column reductions (compute-reduce-matrix 1 and 2).

Float sums and products of rows, and all of them on cpu, are accumulated in binary64 and rounded once (class P2).
Those of columns on devices are rounded at every step, in the library's order. Integers wrap.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ptokit.diagnostics import Rule
from ptokit.targets import A5

from ..meaning.expressions import Convert
from ..meaning.sentence import sentence
from ..meaning.words import Fold, Order
from ..operands import FIRST_SOURCE
from ..scratch import of_trees, on_a2a3
from ..site import Site
from ..table import Attr, Instr, TextForm, dst, src, tmp
from ..typesets import ASM_8, ASM_N4, BF16, FB, I8, INT16_32, INT64, N4, Types, types
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
from .words import SRC, vector


def _fold(op: str, axis: str) -> Callable[[Site], Fold]:
    """i16 is widened first where the destination is wider, so that the sum does not wrap.

    The libraries for devices fold columns row by row, or as a tree, in the type of the elements.
    """
    summing = op in ("add", "mul")
    order = Order.TWO_ACCUMULATORS if (op, axis) == ("add", "row") else Order.FORWARD

    def choose(o: Site) -> Fold:
        widened = o.src.dtype is not o.dst.dtype and o.src.dtype.is_integer
        value = Convert(SRC, "dst") if widened else SRC
        if summing and o.src.dtype.is_float:
            if axis == "column" and o.target.is_device:
                return Fold(op, value, axis, None, _in_type(o))
            return Fold(op, value, axis, "f64", order)
        return Fold(op, value, axis)

    return choose


def _in_type(o: Site) -> Order:
    """The order in which a library for a device folds columns of floats, each step rounded (TColSum.hpp)."""
    if not o.attrs.get("is_binary"):
        return Order.ROUNDED
    return Order.TREE_ODD_LAST if o.target.is_a(A5) else Order.TREE_ODD_FIRST


def row_reduction(name: str, op: str, types: Types, *rules: Rule) -> Instr:
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
)
TROWPROD = row_reduction("TROWPROD", "mul", types(N4, N4, asm=ASM_N4))
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
)
TCOLPROD = column_reduction(
    "TCOLPROD",
    "mul",
    types(N4, FB | INT16_32, asm=(ASM_N4, ASM_N4 | BF16)),
    CRED_COM_01_ONE_TYPE,
)
TCOLMAX = column_reduction(
    "TCOLMAX",
    "max",
    types(N4, FB | I8, cpu=FB | ASM_8, asm=COLUMN_ASM),
    CRED_COM_02,
)
TCOLMIN = column_reduction("TCOLMIN", "min", types(N4, FB | I8, asm=COLUMN_ASM), CRED_COM_02)
