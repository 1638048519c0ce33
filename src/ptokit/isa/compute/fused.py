"""Instructions with three sources, or that read their destination (compute-elementwise 3.3)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..machine import Machine, TileOperand
from ..numerics import arith
from ..numerics.scalars import element
from ..table import domain_footprint, dst, inout, scalar, src
from ..typesets import FB, N4, N11, F, types
from .overlap_rules import EW_10, EW_10_CHAIN
from .scratch_rules import EW_AS_08, EW_AS_09
from .vector_rules import EW_01, EW_02, EW_03, EW_05, EW_06_WIDENING, EW_08_OF_SRC, EW_1, EW_1_EQUAL, EW_CPU_01
from .words import accumulate, store, tiles_semantics, vector

TMULADDDST = accumulate("TMULADDDST", arith.mul_add, "dst = src0 * src1 + dst", types(F, F))


def _fused(a: Any, b: Any, d: Any, out: np.ndarray | None = None) -> Any:
    return arith.mul_add(a, d, b, out)


def _fused_relu(a: Any, b: Any, d: Any, out: np.ndarray | None = None) -> Any:
    return arith.mul_add_relu(a, d, b, out)


TFUSEDMULADD = accumulate("TFUSEDMULADD", _fused, "dst = src0 * dst + src1", types(F, F))
TFUSEDMULADDRELU = accumulate("TFUSEDMULADDRELU", _fused_relu, "dst = max(src0 * dst + src1, 0)", types(F, F))

# TAXPY ---------------------------------------------------------------------------------------------------------------


def _axpy(machine: Machine, dst: TileOperand, src: TileOperand, scalar: Any, **_: Any) -> None:
    a, s = src.read(dst.vr, dst.vc), element(src.spec.dtype, scalar)
    if src.spec.dtype is not dst.spec.dtype:  # both factors are widened before the product
        a, s = a.astype(np.float32), np.float32(s)
    store(dst, arith.mul_add, a, s, dst.read())


TAXPY = vector(
    "TAXPY",
    "dst = src * scalar + dst",
    (inout(), src(), scalar()),
    types(F, F, asm=(F, FB), bf16=False),
    _axpy,
    EW_AS_08,
    common=(EW_01, EW_02, EW_03, EW_05, EW_06_WIDENING, EW_08_OF_SRC, EW_10, EW_1_EQUAL),
    footprint=domain_footprint,
)

# Chains of two operations ---------------------------------------------------------------------------------------------
# The library has them on cpu only; the assembler expands them into the two operations they are made of.

CHAIN = types(N4, N11, cpu=N4 | FB)

TADDC = vector(
    "TADDC",
    "dst = (src0 + src1) + src2",
    (dst(), src("src0"), src("src1"), src("src2")),
    CHAIN,
    tiles_semantics(arith.add_add, 3),
    EW_1,
    EW_10_CHAIN,
    EW_CPU_01,
    EW_AS_09,
    footprint=domain_footprint,
)
TSUBC = vector(
    "TSUBC",
    "dst = (src0 - src1) + src2",
    (dst(), src("src0"), src("src1"), src("src2")),
    CHAIN,
    tiles_semantics(arith.sub_add, 3),
    EW_1,
    EW_10_CHAIN,
    EW_CPU_01,
    footprint=domain_footprint,
)


def _chain(fn: Callable[..., Any]) -> Callable[..., None]:
    def run(machine: Machine, dst: TileOperand, a: TileOperand, scalar: Any, b: TileOperand, **_: Any) -> None:
        x, y = a.read(dst.vr, dst.vc), b.read(dst.vr, dst.vc)
        store(dst, fn, x, element(a.spec.dtype, scalar), y)

    return run


TADDSC = vector(
    "TADDSC",
    "dst = (src0 + scalar) + src1",
    (dst(), src("src0"), scalar(), src("src1")),
    CHAIN,
    _chain(arith.add_add),
    EW_1,
    EW_10_CHAIN,
    EW_CPU_01,
    EW_AS_09,
    footprint=domain_footprint,
)
TSUBSC = vector(
    "TSUBSC",
    "dst = (src0 - scalar) + src1",
    (dst(), src("src0"), scalar(), src("src1")),
    CHAIN,
    _chain(arith.sub_add),
    EW_1,
    EW_10_CHAIN,
    EW_CPU_01,
    footprint=domain_footprint,
)
