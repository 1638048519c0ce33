"""Row and column expansions (compute-reduce-matrix 4 and 5)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..machine import Machine, TileOperand
from ..numerics import approx, arith
from ..site import Site
from ..table import Access, Attr, Instr, dst, src, tmp
from ..typesets import ASM_8, ASM_INT, ASM_N4, FB, I6, INT16_32, INT64, N4, F, Types, types, types_of
from .expand_rules import (
    CEXP_A5_01,
    CEXP_AS_01,
    CEXP_COM_01,
    CEXP_COM_02,
    REXP_A3_10,
    REXP_A3_11,
    REXP_A5_01,
    REXP_A5_02,
    REXP_AS_01,
    REXP_COM_01,
    REXP_COM_10,
    REXP_COM_11,
    REXP_COM_12,
)
from .overlap_rules import CMP_INP_01, CMP_INP_01_MATRIX
from .vector_rules import EW_1
from .words import store, vector

BYTES = types_of("e4m3 e5m2 e8m0 hif8")

# Copies --------------------------------------------------------------------------------------------------------------


def _copy_column(machine: Machine, dst: TileOperand, src: TileOperand, **_: Any) -> None:
    store(dst, lambda v, out=None: arith.give(np.broadcast_to(v, (len(v), dst.vr, dst.vc)), out), src.read(dst.vr, 1))


def _copy_row(machine: Machine, dst: TileOperand, src: TileOperand, **_: Any) -> None:
    store(dst, lambda v, out=None: arith.give(np.broadcast_to(v, (len(v), dst.vr, dst.vc)), out), src.read(1, dst.vc))


def _column_0(o: Site) -> Iterator[Access]:
    yield Access("src", False, o.dst.vr, 1)
    yield Access("dst", True, o.dst.vr, o.dst.vc)


def _row_0(o: Site) -> Iterator[Access]:
    yield Access("src", False, 1, o.dst.vc)
    yield Access("dst", True, o.dst.vr, o.dst.vc)


ANY = types(I6 | FB, I6 | FB | INT64 | BYTES, asm=ASM_INT | FB)

TROWEXPAND = vector(
    "TROWEXPAND",
    "dst[i,j] = src[i,0]",
    (dst(), src()),
    ANY,
    _copy_column,
    common=(REXP_COM_01, REXP_A5_01, REXP_A5_02, EW_1, CMP_INP_01),
    footprint=_column_0,
    source="compute-reduce-matrix 4",
)
TCOLEXPAND = vector(
    "TCOLEXPAND",
    "dst[i,j] = src[0,j]",
    (dst(), src()),
    ANY,
    _copy_row,
    common=(CEXP_COM_01, CEXP_A5_01, EW_1, CMP_INP_01),
    footprint=_row_0,
    source="compute-reduce-matrix 5",
)

# With an operation ---------------------------------------------------------------------------------------------------


def exp_difference(a: Any, b: Any, out: np.ndarray | None = None) -> Any:
    """exp(a - b), the difference rounded to the element type."""
    return approx.exp(np.subtract(a, b), out)


def _is_matrix(t: TileOperand, dst: TileOperand) -> bool:
    return t.vr == dst.vr and t.vc == dst.vc


def _row_vector(v: TileOperand, dst: TileOperand) -> np.ndarray:
    """One value per row, or one 32-byte block per row repeated along it: element j mod block."""
    x = v.read()
    if v.vc == 1:
        return x
    return np.tile(x, (1, 1, -(-dst.vc // v.vc)))[:, :, : dst.vc]


def _row_operands(dst: TileOperand, a: TileOperand, b: TileOperand) -> tuple[np.ndarray, np.ndarray]:
    first = _is_matrix(a, dst) and not (_is_matrix(b, dst) and a.spec.cols < b.spec.cols)
    if first:
        return a.read(), _row_vector(b, dst)
    return _row_vector(a, dst), b.read()


def _column_operands(dst: TileOperand, a: TileOperand, b: TileOperand) -> tuple[np.ndarray, np.ndarray]:
    if _is_matrix(a, dst):
        return a.read(), b.read(1, dst.vc)
    return a.read(1, dst.vc), b.read()


def _expanded(fn: Callable[..., Any], operands: Callable[..., tuple[np.ndarray, np.ndarray]]) -> Callable[..., None]:
    def run(machine: Machine, dst: TileOperand, a: TileOperand, b: TileOperand, *_: Any, **__: Any) -> None:
        if dst.vr and dst.vc:
            store(dst, fn, *operands(dst, a, b))

    return run


ROW_ATTRS = (
    Attr("src1_col", int, None, "src1Col"),
    Attr("src0_eq_dst", bool, False, "src0eqdst"),
    Attr("high_precision", bool, False, "highPrecision"),
)


def row_expansion(name: str, fn: Callable[..., Any], summary: str, types: Types) -> Instr:
    """``dst = src0 op src1`` where one source has one value, or one block, per row."""
    add = name == "TROWEXPANDADD"  # its text form has neither tmp nor attributes
    return vector(
        name,
        summary,
        (dst(), src("src0"), src("src1"), tmp(optional=True)),
        types,
        _expanded(fn, _row_operands),
        REXP_COM_10,
        REXP_COM_11,
        REXP_COM_12,
        REXP_A3_10,
        REXP_A3_11,
        *([REXP_AS_01] if add else []),
        common=(EW_1, CMP_INP_01_MATRIX),
        attrs=() if add else ROW_ATTRS,
        source="compute-reduce-matrix 4",
    )


def column_expansion(name: str, fn: Callable[..., Any], summary: str, types: Types) -> Instr:
    """``dst = src0 op src1`` where one source has one row."""
    return vector(
        name,
        summary,
        (dst(), src("src0"), src("src1")),
        types,
        _expanded(fn, _column_operands),
        CEXP_COM_02,
        CEXP_AS_01,
        common=(EW_1, CMP_INP_01_MATRIX),
        source="compute-reduce-matrix 5",
    )


HOST = F | INT16_32
ARITHMETIC = types(N4, FB | I6, cpu=HOST, asm=(ASM_N4, ASM_N4 | ASM_8))
PRODUCT = types(N4, FB | I6, cpu=HOST | types_of("u8"), asm=(ASM_N4, ASM_N4 | ASM_8))
QUOTIENT = types(F, F | I6, cpu=HOST, asm=F)
EXPONENTIAL = types(F, F, cpu=F, asm=F)

OPERATIONS: dict[str, tuple[Callable[..., Any], str, Types]] = {
    "ADD": (np.add, "{0} + {1}", ARITHMETIC),
    "SUB": (np.subtract, "{0} - {1}", ARITHMETIC),
    "MUL": (np.multiply, "{0} * {1}", PRODUCT),
    "DIV": (arith.divide, "{0} / {1}", QUOTIENT),
    "MAX": (arith.maximum, "max({0}, {1})", ARITHMETIC),
    "MIN": (arith.minimum, "min({0}, {1})", ARITHMETIC),
    "EXPDIF": (exp_difference, "exp({0} - {1})", EXPONENTIAL),
}

for _suffix, (_fn, _formula, _types) in OPERATIONS.items():
    row_expansion(
        f"TROWEXPAND{_suffix}", _fn, f"dst[i,j] = {_formula.format('src0[i,j]', 'src1[i,0]')}, or swapped", _types
    )
    column_expansion(
        f"TCOLEXPAND{_suffix}", _fn, f"dst[i,j] = {_formula.format('src0[i,j]', 'src1[0,j]')}, or swapped", _types
    )
