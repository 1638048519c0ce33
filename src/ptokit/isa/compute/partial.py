"""Operations on sources that cover different parts of dst, and sums of neighbours (compute-reduce-matrix 6 and 7)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..machine import Machine, TileOperand
from ..meaning.words import Python
from ..numerics import arith
from ..table import Instr, dst, src
from ..typesets import ASM_8, ASM_N4, BF16, FB, I8, INT64, N4, F, Types, types
from .overlap_rules import CMP_INP_01, CMP_INP_01_MATRIX
from .partial_rules import ARG_RULES, PAIR_RULES, PART_RULES
from .vector_rules import EW_1
from .words import vector


def _common(a: TileOperand, b: TileOperand) -> tuple[int, int]:
    """Rows and columns that both sources cover."""
    return min(a.vr, b.vr), min(a.vc, b.vc)


def store(tile: TileOperand, fn: Callable[..., Any], *operands: Any) -> None:
    """Set dst's valid region to ``fn(*operands)``, in place where the storage is an array."""
    out = tile.out(tile.vr, tile.vc)
    if out is None:
        tile.write(fn(*operands), tile.vr, tile.vc)
    else:
        fn(*operands, out=out)


def _merge(dst: TileOperand, a: TileOperand, b: TileOperand, both: np.ndarray) -> None:
    """Copy the source that covers dst, and put `both` where the sources meet."""
    full = a if (a.vr, a.vc) == (dst.vr, dst.vc) else b

    def apply(x: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        merged = x.copy() if out is None else arith.give(x, out)
        merged[:, : both.shape[1], : both.shape[2]] = both
        return merged

    store(dst, apply, np.broadcast_to(full.read(), (len(both), dst.vr, dst.vc)))


def _combine(fn: Callable[..., Any]) -> Callable[..., None]:
    def run(machine: Machine, dst: TileOperand, a: TileOperand, b: TileOperand, **_: Any) -> None:
        rows, cols = _common(a, b)
        _merge(dst, a, b, fn(a.read(rows, cols), b.read(rows, cols)))

    return run


def _choose(better: Callable[..., Any]) -> Callable[..., None]:
    def run(
        machine: Machine,
        dst: TileOperand,
        a: TileOperand,
        b: TileOperand,
        dsti: TileOperand,
        ai: TileOperand,
        bi: TileOperand,
        **_: Any,
    ) -> None:
        rows, cols = _common(a, b)
        x, y, xi, yi = (t.read(rows, cols) for t in (a, b, ai, bi))
        # equal keys: the devices keep src0, the simulator src1
        second = ~better(x, y) if not machine.target.is_device else better(y, x)
        values, indices = np.where(second, y, x), np.where(second, yi, xi)
        _merge(dst, a, b, values)
        _merge(dsti, ai, bi, indices)

    return run


SUMS = types(N4, FB | I8, cpu=N4 | BF16 | ASM_8, asm=(ASM_N4, ASM_N4 | BF16 | ASM_8))
PRODUCTS = types(N4, (FB | I8) - INT64, cpu=N4 | BF16 | ASM_8, asm=(ASM_N4, ASM_N4 | BF16 | ASM_8))


def partial_operation(name: str, fn: Callable[..., Any], summary: str, types: Types) -> Instr:
    """``src0 op src1`` where both sources are valid, a copy of the one that is elsewhere."""
    return vector(
        name,
        summary,
        (dst(), src("src0"), src("src1")),
        types,
        Python(_combine(fn)),
        common=(*PART_RULES, EW_1, CMP_INP_01_MATRIX),
        source="compute-reduce-matrix 6",
    )


def partial_choice(name: str, better: Callable[..., Any], summary: str) -> Instr:
    """The better of two values with its index."""
    return vector(
        name,
        summary,
        (dst(), src("src0"), src("src1"), dst("dsti"), src("src0i"), src("src1i")),
        types(F, F, cpu=F),
        Python(_choose(better)),
        common=(*PART_RULES, *ARG_RULES, CMP_INP_01_MATRIX),
        source="compute-reduce-matrix 6",
    )


TPARTADD = partial_operation("TPARTADD", np.add, "dst = src0 + src1 where both are valid, else the valid one", SUMS)
TPARTMUL = partial_operation(
    "TPARTMUL", np.multiply, "dst = src0 * src1 where both are valid, else the valid one", PRODUCTS
)
TPARTMAX = partial_operation("TPARTMAX", arith.maximum, "dst = max(src0, src1), or the valid one", SUMS)
TPARTMIN = partial_operation("TPARTMIN", arith.minimum, "dst = min(src0, src1), or the valid one", SUMS)
TPARTARGMAX = partial_choice("TPARTARGMAX", np.greater, "dst, dsti = larger value and its index")
TPARTARGMIN = partial_choice("TPARTARGMIN", np.less, "dst, dsti = smaller value and its index")


def _pair_sums(machine: Machine, dst: TileOperand, src: TileOperand, **_: Any) -> None:
    """An odd last element is paired with 0 and the upper half becomes 0; the simulator clears the whole tile."""
    x = src.read(dst.vr, dst.vc)
    pairs, on_cpu = dst.vc // 2, not machine.target.is_device
    rows, cols = (dst.spec.rows, dst.spec.cols) if on_cpu else (dst.vr, dst.vc)
    result = np.zeros((len(x), rows, cols), x.dtype)
    np.add(x[:, :, 0 : 2 * pairs : 2], x[:, :, 1 : 2 * pairs : 2], out=result[:, : dst.vr, :pairs])
    if dst.vc % 2:
        result[:, : dst.vr, pairs] = x[:, :, -1]
    dst.write(result, rows, cols)


TPairReduceSum = vector(
    "TPairReduceSum",
    "dst[i,k] = src[i,2k] + src[i,2k+1]",
    (dst(), src()),
    types(F, F, cpu=F),
    Python(_pair_sums),
    common=(*PAIR_RULES, CMP_INP_01),
    cpp="TPAIRREDUCESUM",
    source="compute-reduce-matrix 7",
)
