"""Comparisons into packed masks, and selection by mask (compute-elementwise 3.5 and 5)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ptokit.types.enums import CmpMode

from ..machine import Machine, TileOperand
from ..numerics import arith
from ..numerics.scalars import element
from ..table import Attr, domain_footprint, dst, scalar, src, tmp
from ..typesets import ASM_8, ASM_16, ASM_I32_F, ASM_INT, FB, I8, I32_F32, INT16_32, N11, F, types, types_of
from .compare_rules import EW_A5_03, EW_A5_04, EW_AS_10, SCALAR_RULES, SELECT_RULES, TILE_RULES
from .scratch_rules import EW_11_SEL, EW_11_SELS
from .vector_rules import EW_07, EW_A5_01, EW_CPU_01
from .words import store, vector

COMPARISONS: dict[CmpMode, Callable[..., Any]] = {
    CmpMode.EQ: np.equal,
    CmpMode.NE: np.not_equal,
    CmpMode.LT: np.less,
    CmpMode.LE: np.less_equal,
    CmpMode.GT: np.greater,
    CmpMode.GE: np.greater_equal,
}


def _bytes(mask: TileOperand, rows: int, cols: int) -> np.ndarray:
    """The mask's storage as (blocks, rows, bytes per row), with room for rows x cols bits."""
    mask.region(rows, -(-cols // mask.spec.dtype.bits))
    raw = mask.raw()
    return raw.reshape(len(raw), mask.spec.rows, -1)


def write_mask(mask: TileOperand, bits: np.ndarray) -> None:
    """Store booleans (blocks, rows, cols): column c is bit c % 8 of byte c / 8 of its row."""
    packed = np.packbits(bits, axis=2, bitorder="little")
    _bytes(mask, *bits.shape[1:])[:, : packed.shape[1], : packed.shape[2]] = packed


def read_mask(mask: TileOperand, rows: int, cols: int) -> np.ndarray:
    """The first rows x cols bits of a mask, as booleans with a leading block axis."""
    packed = _bytes(mask, rows, cols)[:, :rows, : (cols + 7) // 8]
    return np.unpackbits(packed, axis=2, count=cols, bitorder="little").astype(bool)


def _compare(machine: Machine, dst: TileOperand, a: TileOperand, b: TileOperand, *, cmp: CmpMode, **_: Any) -> None:
    write_mask(dst, COMPARISONS[cmp](a.read(), b.read(a.vr, a.vc)))


def _compare_scalar(machine: Machine, dst: TileOperand, a: TileOperand, s: Any, *, cmp: CmpMode, **_: Any) -> None:
    write_mask(dst, COMPARISONS[cmp](a.read(), element(a.spec.dtype, s)))


def _choose(m: np.ndarray, a: Any, b: Any, out: np.ndarray | None = None) -> Any:
    return arith.give(np.where(m, a, b), out)


def _select(machine: Machine, dst: TileOperand, mask: TileOperand, a: TileOperand, b: TileOperand, *_: Any) -> None:
    rows, cols = dst.vr, dst.vc
    store(dst, _choose, read_mask(mask, rows, cols), a.read(rows, cols), b.read(rows, cols))


def _select_scalar(
    machine: Machine, dst: TileOperand, mask: TileOperand, a: TileOperand, tmp: TileOperand | None, s: Any
) -> None:
    rows, cols = dst.vr, dst.vc
    store(dst, _choose, read_mask(mask, rows, cols), a.read(rows, cols), element(dst.spec.dtype, s))


CMP_MODE = (Attr("cmp", CmpMode, CmpMode.EQ, "cmpMode", "cmp"),)
ASM_SELECT = (ASM_16 | ASM_I32_F, ASM_8 | ASM_16 | ASM_I32_F)

TCMP = vector(
    "TCMP",
    "bit (r,c) of dst = src0 cmp src1",
    (dst(), src("src0"), src("src1")),
    types(I32_F32 | F, N11, asm=(ASM_I32_F, ASM_INT | FB)),
    _compare,
    common=(*TILE_RULES, EW_A5_01),
    attrs=CMP_MODE,
    syntax="dps-attrs-in",
    form_of="src0",
)
TCMPS = vector(
    "TCMPS",
    "bit (r,c) of dst = src cmp scalar",
    (dst(), src(), scalar()),
    types(types_of("i16 u16 i32") | F, N11, asm=(ASM_16 | ASM_I32_F, ASM_INT | F)),
    _compare_scalar,
    common=(*SCALAR_RULES, EW_A5_01, EW_07),
    attrs=CMP_MODE,
    syntax="dps-attrs-in",
    form_of="src",
)
TSEL = vector(
    "TSEL",
    "dst = mask bit ? src0 : src1",
    (dst(), src("mask"), src("src0"), src("src1"), tmp(optional=True, supplied=True)),
    types(INT16_32 | FB, N11, asm=ASM_SELECT),
    _select,
    common=(*SELECT_RULES, EW_A5_03, EW_A5_04, EW_11_SEL, EW_A5_01, EW_CPU_01),
    footprint=domain_footprint,
)
TSELS = vector(
    "TSELS",
    "dst = mask bit ? src : scalar",
    (dst(), src("mask"), src(), tmp(optional=True, supplied=True), scalar()),
    types(INT16_32 | FB, I8 | F, asm=ASM_SELECT),
    _select_scalar,
    common=(*SELECT_RULES, EW_AS_10, EW_11_SELS, EW_A5_01),
    footprint=domain_footprint,
)
