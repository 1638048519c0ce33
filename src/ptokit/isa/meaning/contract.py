"""NumPy forms of products (compute-reduce-matrix 9 to 12).

Sums are computed in float64 with the start and rounded once (mode ``exact``), in float32 (``fast``), or in float32 with
k in order (``ref``). Products of f16, bf16 and 8-bit floats are exact in float32, so the modes differ only in the sum.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ptokit.targets import A2A3
from ptokit.types.codecs import decode

from ..machine import Machine, TileOperand

GROUP = 32  # elements along K that share a scale
F32, F64 = np.dtype(np.float32), np.dtype(np.float64)


ROUNDING = "rounding of f32 operands"
"""Register that holds CAST_ROUND or CAST_RINT while f32 operands are rounded."""


def rounded(x: np.ndarray, m: Machine, mode: str) -> np.ndarray:
    """f32 values with fewer bits of mantissa; NaN is kept, a2a3 clears subnormals."""
    assert m.target.hf32_bits is not None
    drop = 23 - m.target.hf32_bits
    bits = x.view(np.uint32)
    sign, magnitude = bits & np.uint32(0x80000000), (bits & np.uint32(0x7FFFFFFF)).astype(np.int64)
    half = 1 << (drop - 1)
    tie = half if mode == "CAST_ROUND" else half - 1 + (magnitude >> drop & 1)
    result = np.where(magnitude > 0x7F800000, magnitude, (magnitude + tie) >> drop << drop)
    result = np.where(magnitude >= 0x7F800000, magnitude, result)
    if m.target.is_a(A2A3):
        result = np.where(magnitude < 0x00800000, 0, result)
    return (result.astype(np.uint32) | sign).view(np.float32)


def product(
    m: Machine,
    a: TileOperand,
    b: TileOperand,
    start: np.ndarray | None,
    rounding: str = "held",
    to: np.dtype | None = F32,
) -> np.ndarray:
    """``start + a @ b`` in the accumulator's type: (blocks or 1, M, N); K is the valid columns of a.

    ``rounding``: of f32 factors, as `words.Contract` has it. ``to``: the accumulator's type, if that is a float.
    """
    if a.spec.dtype.is_integer:
        total = _matmul(a, b, F64).astype(np.int64)  # exact: K <= 4095 and |a*b| <= 2^14
        return (total if start is None else total + start).astype(np.int32)
    mode = m.registers.get(ROUNDING) if rounding == "held" else rounding
    if a.spec.dtype.name == "f32" and mode and m.target.hf32_bits:
        left, right = (rounded(t.read(), m, mode).astype(np.float64) for t in (a, b))
        return total_of(m, left, right[:, : a.vc], start)
    if m.matmul_mode == "exact":
        total = _matmul(a, b, F64)
        return _plus(total, start).astype(to)
    if m.matmul_mode == "fast":
        return _plus(_matmul(a, b, F32), start)
    return _in_order(a.read_as(F64), b.read_as(F64), start)


def total_of(m: Machine, a: np.ndarray, b: np.ndarray, start: np.ndarray | None) -> np.ndarray:
    """``start + a @ b`` of float64 arrays, in float32; with k in order in the mode ``ref``."""
    if m.matmul_mode == "ref":
        return _in_order(a, b, start)
    return _plus(np.matmul(a, b), start).astype(np.float32)


def _matmul(a: TileOperand, b: TileOperand, dtype: np.dtype) -> np.ndarray:
    right = b.read_as(dtype)
    return np.matmul(a.read_as(dtype), right if b.vr == a.vc else right[:, : a.vc])


def _plus(total: np.ndarray, start: np.ndarray | None) -> np.ndarray:
    if start is None:
        return total
    if total.shape[0] < start.shape[0]:
        return total + start
    return np.add(total, start, out=total)


def _in_order(a: np.ndarray, b: np.ndarray, start: np.ndarray | None) -> np.ndarray:
    """Fused multiply-add over ascending k, each step rounded to float32; the start is added last."""
    blocks = max(a.shape[0], b.shape[0])
    total = np.zeros((blocks, a.shape[1], b.shape[2]), np.float32)
    for k in range(a.shape[2]):
        total = (a[:, :, k : k + 1] * b[:, k : k + 1, :] + total).astype(np.float32)
    return total if start is None else total + start


def _numbers(tile: TileOperand, rows: int, cols: int) -> np.ndarray:
    """The values of a region as float64, exactly."""
    values = tile.read(rows, cols)
    if tile.spec.dtype.value is None:
        values = decode(tile.spec.dtype, values)
    return values.astype(np.float64)


def scaled(lhs: TileOperand, lhs_scale: TileOperand, rhs: TileOperand, rhs_scale: TileOperand) -> Any:
    """Both operands times their scales, a power of two for each 32 elements along K: exact in float64."""
    rows, inner, cols = lhs.vr, lhs.vc, rhs.vc
    groups = -(-inner // GROUP)
    left = np.repeat(_numbers(lhs_scale, rows, groups), GROUP, axis=2)[:, :, :inner]
    right = np.repeat(_numbers(rhs_scale, groups, cols), GROUP, axis=1)[:, :inner]
    return _numbers(lhs, rows, inner) * left, _numbers(rhs, inner, cols) * right
