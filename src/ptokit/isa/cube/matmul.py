"""TMATMUL, TMATMUL_ACC and TMATMUL_BIAS (compute-reduce-matrix 9).

Sums are computed in float64 with the seed and rounded once (mode ``exact``), in float32 (``fast``), or in float32 with
k in order (``ref``). Products of f16, bf16 and 8-bit floats are exact in float32, so the modes differ only in the sum.
"""

from __future__ import annotations

import numpy as np

from ptokit.targets import A2A3
from ptokit.types.enums import Pipe

from ..machine import Machine, TileOperand
from ..table import Instr, dst, instruction, src
from . import matmul_text_rules
from .matmul_rules import ACCUMULATE, BIASED, PRODUCT

F32, F64 = np.dtype(np.float32), np.dtype(np.float64)


ROUNDING = "rounding of f32 operands"
"""Register that holds CAST_ROUND or CAST_RINT while f32 operands are rounded."""


def rounded(x: np.ndarray, m: Machine) -> np.ndarray:
    """f32 values with fewer bits of mantissa, in the mode that is set; NaN is kept, a2a3 clears subnormals."""
    assert m.target.hf32_bits is not None
    drop = 23 - m.target.hf32_bits
    bits = x.view(np.uint32)
    sign, magnitude = bits & np.uint32(0x80000000), (bits & np.uint32(0x7FFFFFFF)).astype(np.int64)
    half = 1 << (drop - 1)
    tie = half if m.registers.get(ROUNDING) == "CAST_ROUND" else half - 1 + (magnitude >> drop & 1)
    result = np.where(magnitude > 0x7F800000, magnitude, (magnitude + tie) >> drop << drop)
    result = np.where(magnitude >= 0x7F800000, magnitude, result)
    if m.target.is_a(A2A3):
        result = np.where(magnitude < 0x00800000, 0, result)
    return (result.astype(np.uint32) | sign).view(np.float32)


def product(m: Machine, a: TileOperand, b: TileOperand, seed: np.ndarray | None) -> np.ndarray:
    """``seed + a @ b`` in the accumulator's type: (blocks or 1, M, N); K is the valid columns of a."""
    if a.spec.dtype.is_integer:
        total = _matmul(a, b, F64).astype(np.int64)  # exact: K <= 4095 and |a*b| <= 2^14
        return (total if seed is None else total + seed).astype(np.int32)
    if a.spec.dtype.name == "f32" and m.registers.get(ROUNDING) and m.target.hf32_bits:
        left, right = (rounded(t.read(), m).astype(np.float64) for t in (a, b))
        return total_of(m, left, right[:, : a.vc], seed)
    if m.matmul_mode == "exact":
        total = _matmul(a, b, F64)
        return _plus(total, seed).astype(np.float32)
    if m.matmul_mode == "fast":
        return _plus(_matmul(a, b, F32), seed)
    return _in_order(a.read_as(F64), b.read_as(F64), seed)


def total_of(m: Machine, a: np.ndarray, b: np.ndarray, seed: np.ndarray | None) -> np.ndarray:
    """``seed + a @ b`` of float64 arrays, in float32; with k in order in the mode ``ref``."""
    if m.matmul_mode == "ref":
        return _in_order(a, b, seed)
    return _plus(np.matmul(a, b), seed).astype(np.float32)


def _matmul(a: TileOperand, b: TileOperand, dtype: np.dtype) -> np.ndarray:
    right = b.read_as(dtype)
    return np.matmul(a.read_as(dtype), right if b.vr == a.vc else right[:, : a.vc])


def _plus(total: np.ndarray, seed: np.ndarray | None) -> np.ndarray:
    if seed is None:
        return total
    if total.shape[0] < seed.shape[0]:
        return total + seed
    return np.add(total, seed, out=total)


def _in_order(a: np.ndarray, b: np.ndarray, seed: np.ndarray | None) -> np.ndarray:
    """Fused multiply-add over ascending k, each step rounded to float32; the seed is added last."""
    blocks = max(a.shape[0], b.shape[0])
    total = np.zeros((blocks, a.shape[1], b.shape[2]), np.float32)
    for k in range(a.shape[2]):
        total = (a[:, :, k : k + 1] * b[:, k : k + 1, :] + total).astype(np.float32)
    return total if seed is None else total + seed


def tmatmul(m: Machine, dst: TileOperand, lhs: TileOperand, rhs: TileOperand) -> None:
    """``dst = lhs @ rhs``; the old accumulator is ignored."""
    dst.write(product(m, lhs, rhs, None), lhs.vr, rhs.vc)


def tmatmul_acc(m: Machine, dst: TileOperand, acc: TileOperand, lhs: TileOperand, rhs: TileOperand) -> None:
    """``dst = acc + lhs @ rhs``."""
    dst.write(product(m, lhs, rhs, acc.read(lhs.vr, rhs.vc)), lhs.vr, rhs.vc)


def tmatmul_bias(m: Machine, dst: TileOperand, lhs: TileOperand, rhs: TileOperand, bias: TileOperand) -> None:
    """``dst = lhs @ rhs + bias``, the one row of bias in every row."""
    dst.write(product(m, lhs, rhs, bias.read(1, rhs.vc)), lhs.vr, rhs.vc)


TMATMUL = instruction(
    Instr(
        "TMATMUL",
        "tmatmul",
        "Matrix product of a left and a right tile into an accumulator.",
        (dst(), src("lhs"), src("rhs")),
        pipe=Pipe.M,
        rules=(*PRODUCT, *matmul_text_rules.PRODUCT),
        run=tmatmul,
        tensor=True,
        source="compute-reduce-matrix 9",
    )
)
TMATMUL_ACC = instruction(
    Instr(
        "TMATMUL_ACC",
        "tmatmul.acc",
        "Matrix product added to an accumulator.",
        (dst(), src("acc"), src("lhs"), src("rhs")),
        pipe=Pipe.M,
        rules=(*ACCUMULATE, *matmul_text_rules.ACCUMULATE),
        run=tmatmul_acc,
        tensor=True,
        source="compute-reduce-matrix 9",
    )
)
TMATMUL_BIAS = instruction(
    Instr(
        "TMATMUL_BIAS",
        "tmatmul.bias",
        "Matrix product plus a bias per column.",
        (dst(), src("lhs"), src("rhs"), src("bias")),
        pipe=Pipe.M,
        rules=(*BIASED, *matmul_text_rules.BIAS),
        run=tmatmul_bias,
        tensor=True,
        source="compute-reduce-matrix 9",
    )
)
