"""Row and column expansions (compute-reduce-matrix 4 and 5)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from operator import add, mul, sub

from ptokit.targets import Target

from ..meaning.expressions import COLUMN, ROW, Axis, Element, Expr, Index, divide, exp, maximum, minimum
from ..meaning.sentence import sentence
from ..meaning.words import lane
from ..site import Site, TileInfo
from ..table import Attr, Instr, dst, src, tmp
from ..typesets import ASM_8, ASM_INT, ASM_N4, FB, I6, INT16_32, INT64, N4, F, Types, types, types_of
from ..unknown import known
from .expand_rules import (
    CEXP_A5_01,
    CEXP_AS_01,
    CEXP_COM_01,
    CEXP_COM_02,
    REXP_A3_10,
    REXP_A3_11,
    REXP_A5_01,
    REXP_A5_02,
    REXP_COM_01,
    REXP_COM_10,
    REXP_COM_11,
    REXP_COM_12,
)
from .expand_text_rules import of_operation, row_copy
from .overlap_rules import CMP_INP_01, CMP_INP_01_MATRIX
from .vector_rules import EW_1
from .words import SRC0, SRC1, computed

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
