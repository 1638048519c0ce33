"""NumPy forms of folds and products (compute-reduce-matrix 1, 2, 9 to 12).

Orders are those of `orders.Order`. NumPy's own sums have no stated order; where one of its functions happens to add in
the stated one it is used, and the tests compare it with the order written out.

Sums are computed in float64 with the start and rounded once (mode ``exact``), in float32 (``fast``), or in float32 with
k in order (``ref``). Products of f16, bf16 and 8-bit floats are exact in float32, so the modes differ only in the sum.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from ptokit.targets import A2A3
from ptokit.types import codecs
from ptokit.types.codecs import decode
from ptokit.types.dtypes import DTYPES, DType, hif4

from ..machine import Machine, TileOperand
from ..numerics import arith
from .primitives import Op, Order, Stage, combined, of_repeats

# NumPy forms of the folds: arrays (blocks, rows, columns) along an axis that is kept with length 1.


Reduction = Callable[[np.ndarray, int], np.ndarray]

_PIECE = 8192  # elements that einsum converts at once; it adds longer rows piece by piece


def two_accumulators(x: np.ndarray) -> np.ndarray:
    """Sums of rows in float64, (blocks, rows, columns) to (blocks, rows): `Order.TWO_ACCUMULATORS` written out."""
    x = x.astype(np.float64)
    count = x.shape[2]
    whole = count - count % 8
    acc = np.zeros((*x.shape[:2], 2))
    for i in range(0, whole, 8):
        a, b, c, d = (x[:, :, i + k : i + k + 2] for k in (0, 2, 4, 6))
        acc = ((a + b) + (c + d)) + acc
    for i in range(whole, count, 2):
        acc[:, :, : count - i] += x[:, :, i : i + 2]
    return acc[:, :, 0] + acc[:, :, 1]


@cache
def _einsum_agrees() -> bool:
    """True if this NumPy adds rows in that order, as all builds do whose basic vectors have two lanes."""
    x = (np.arange(3 * 29) % 7 * 10.0 ** (np.arange(3 * 29) % 5 * 8 - 16)).reshape(1, 3, 29)
    x = np.where(np.arange(29) % 3 == 1, -x, x)
    return bool((np.einsum("brc->br", x) == two_accumulators(x)).all())


def _row_sums(x: np.ndarray, axis: int) -> np.ndarray:
    assert axis == 2
    if not _einsum_agrees():
        return two_accumulators(x)[:, :, None]
    if x.dtype not in (np.float32, np.float16):  # bf16 is unknown to einsum
        x = x.astype(np.float32)
    if x.shape[2] > _PIECE:
        x = x.astype(np.float64)
    elif x.strides[2] != x.itemsize:
        x = np.ascontiguousarray(x)
    return np.einsum("brc->br", x, dtype=np.float64)[:, :, None]


def _forward(ufunc: np.ufunc) -> Reduction:
    def apply(x: np.ndarray, axis: int) -> np.ndarray:
        if axis == 1 and ufunc is np.add and (x.shape[2] == 1 or x.strides[1] < x.strides[2]):
            x = np.add.accumulate(x, axis=1, dtype=np.float64)[:, -1:]  # reduce would go by the order of the memory
            return x + 0.0  # sums start with +0
        return ufunc.reduce(x, axis=axis, dtype=np.float64, keepdims=True)

    return apply


def _wrapping(ufunc: np.ufunc) -> Reduction:
    return lambda x, axis: ufunc.reduce(x, axis=axis, dtype=x.dtype, keepdims=True)


def _extreme(ufunc: np.ufunc, zero: float) -> Reduction:
    """Maximum or minimum: NaN propagates, `zero` is the zero that wins over the other."""

    def fold(x: np.ndarray, axis: int) -> np.ndarray:
        return ufunc.reduce(x, axis=axis, keepdims=True)

    def apply(x: np.ndarray, axis: int) -> np.ndarray:
        if arith.is_integer(x):
            return fold(x, axis)
        if x.dtype.itemsize == 2:
            keys = arith.sort_key(x)
            r = arith.sort_key(fold(keys, axis)).view(x.dtype)
            if arith.has_nan(keys, x.dtype):
                r = np.where(np.isnan(x).any(axis=axis, keepdims=True), x.dtype.type(np.nan), r)
            return r
        r = fold(x, axis)
        if not r.all():
            wins = ((x == 0) & (np.signbit(x) == np.signbit(zero))).any(axis=axis, keepdims=True)
            r = np.where(r == 0, np.where(wins, np.float32(zero), np.float32(-zero)), r)
        return r

    return apply


FOLDS: dict[tuple[str, Order], Reduction] = {
    ("add", Order.ANY): _wrapping(np.add),
    ("mul", Order.ANY): _wrapping(np.multiply),
    ("max", Order.ANY): _extreme(np.maximum, 0.0),
    ("min", Order.ANY): _extreme(np.minimum, -0.0),
    ("add", Order.TWO_ACCUMULATORS): _row_sums,
    ("add", Order.FORWARD): _forward(np.add),
    ("mul", Order.FORWARD): _forward(np.multiply),
}
"""By primitive and order: what is exact in every order, and sums and products of floats in float64."""


# Rounded at every step -----------------------------------------------------------------------------------------------


def reduction(op: str, stages: tuple[Stage, ...]) -> Reduction:
    """The fold of a row or column, by stages."""
    first = stages[0]
    if len(stages) == 1 and (first.accumulator == "f64" or first.order is Order.ANY):
        return FOLDS[op, first.order]
    return lambda x, axis: staged(op, stages, x, axis)


def staged(op: str, stages: tuple[Stage, ...], x: np.ndarray, axis: int) -> np.ndarray:
    """Floats folded along an axis, which is kept with length 1; f32, of 16-bit types, too, rounded as they ask for."""
    steps, exact = _STEPS[op, x.dtype.name], _EXACT[op]
    x = np.moveaxis(x.astype(np.float32, copy=False), axis, 0)
    for stage in stages:
        x = _stage(op, stage, x, exact if stage.accumulator is not None else steps)
    return np.moveaxis(x, 0, axis)


def _stage(op: str, stage: Stage, x: np.ndarray, step: Op) -> np.ndarray:
    """One stage along the first axis."""
    run = stage.run or len(x)
    if stage.across:
        whole, left = divmod(len(x), run)
        if whole == 0:
            return x
        runs, rest = x[: whole * run].reshape(whole, run, *x.shape[1:]), x[whole * run :]
        if stage.order is Order.TREE_OF_REPEATS:
            return of_repeats(runs, step, _filled(rest, run, -0.0) if left else None)
        out: np.ndarray = combined(stage.order, runs, step)
        if left:
            out = np.concatenate([step(out[:left], rest), out[left:]])
        return out
    neutral = np.float32(_START[op])
    if stage.order is Order.NEIGHBOURS:
        return _neighbours(x, run, step, neutral)
    if len(x) < run:
        x = _filled(x, run, neutral)
    return combined(stage.order, x, step, neutral)[None]  # type: ignore[no-any-return]


def _neighbours(x: np.ndarray, run: int, step: Op, neutral: np.float32) -> np.ndarray:
    """Every run added up at once, level by level."""
    lanes = 1
    while lanes < min(run, len(x)):
        lanes *= 2
    x = _filled(x, -(-len(x) // lanes) * lanes, neutral)
    for _ in range(lanes.bit_length() - 1):
        x = step(x[::2], x[1::2])
    return step(x, neutral) if lanes < run else x


def _filled(x: np.ndarray, count: int, value: float | np.float32) -> np.ndarray:
    """`count` elements along the first axis."""
    if len(x) == count:
        return x
    more = np.full((count - len(x), *x.shape[1:]), value, np.float32)
    return np.concatenate([x, more])


_START = {"add": 0.0, "mul": 1.0}


def _nearest_f16(x: np.ndarray) -> np.ndarray:
    """Sums of two halves, rounded to halves in place: those below the normal numbers are exact."""
    _nearest(x, 13)
    large = np.abs(x) >= 65536
    if large.any():
        x[large] = np.copysign(np.float32(np.inf), x[large])
    return x


def _nearest(x: np.ndarray, bits: int) -> np.ndarray:
    """Numbers rounded in place, ties to even, without their last bits; those of a NaN are 0."""
    image = x.view(np.uint32)
    image += (image >> np.uint32(bits)) & np.uint32(1)
    image += np.uint32((1 << bits - 1) - 1)
    image &= np.uint32(-1 << bits & 0xFFFFFFFF)
    return x


def _by_cast(kind: Any) -> Callable[[np.ndarray], np.ndarray]:
    return lambda x: x.astype(kind).astype(np.float32)


def _step(ufunc: np.ufunc, near: Callable[[np.ndarray], np.ndarray]) -> Op:
    return lambda a, b: near(ufunc(a, b))


_EXACT: dict[str, Op] = {"add": np.add, "mul": np.multiply}
_STEPS: dict[tuple[str, str], Op] = {
    ("add", "float32"): np.add,
    ("mul", "float32"): np.multiply,
    ("add", "float16"): _step(np.add, _nearest_f16),
    ("mul", "float16"): _step(np.multiply, _by_cast(np.float16)),
    ("add", "bfloat16"): _step(np.add, lambda x: _nearest(x, 16)),
    ("mul", "bfloat16"): _step(np.multiply, lambda x: _nearest(x, 16)),
}
"""One operation on f32, rounded to the type of the elements."""


def first_extreme(x: np.ndarray, axis: int, largest: bool) -> np.ndarray:
    """Positions that a `Search` finds: the first extreme, and a NaN only at position 0, where nothing replaces it."""
    if not arith.is_integer(x):
        x = x.astype(np.float32)
        loses = np.float32(-np.inf if largest else np.inf)
        first = np.isnan(np.take(x, [0], axis))
        x = np.where(np.isnan(x), loses, x)
        found = (np.argmax if largest else np.argmin)(x, axis=axis, keepdims=True)
        return np.where(first, 0, found)
    return (np.argmax if largest else np.argmin)(x, axis=axis, keepdims=True)


Folding = Callable[[np.ndarray, np.ndarray | None], np.ndarray]


def folding(op: str, kind: DType | str, groups: int) -> Folding:
    """What folds the lanes (blocks or 1, lanes) of each group to one: `expressions.Folded`. ``kind``: of the lanes."""
    if not isinstance(kind, DType):
        whole = np.logical_and.reduce if op == "and" else np.logical_or.reduce

        def conditions(x: np.ndarray, on: np.ndarray | None) -> np.ndarray:
            kept = x if on is None else (x | ~on if op == "and" else x & on)
            return whole(kept.reshape(len(kept), groups, -1), axis=2)

        return conditions
    assert kind.value is not None
    exact = kind.is_integer or op != "add"
    fold, none = reduction(op, (Stage() if exact else Stage(Order.NEIGHBOURS),)), nothing(op, kind.value)

    def numbers(x: np.ndarray, on: np.ndarray | None) -> np.ndarray:
        if on is not None:
            x = np.where(on, x, none)
        out = fold(x.reshape(len(x), groups, -1), 2)[:, :, 0]
        return out if exact else out.astype(kind.value)

    return numbers


def nothing(op: str, kind: np.dtype) -> Any:
    """What a fold of no elements gives."""
    if op == "add":
        return kind.type(0)
    if kind.kind in "iu":
        return kind.type(np.iinfo(kind).max if op == "min" else np.iinfo(kind).min)
    return kind.type(np.inf if op == "min" else -np.inf)


# NumPy forms of products (compute-reduce-matrix 9 to 12).


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
    """Both operands times their scales: a power of two for each 32 elements along K, or those of HiFloat4.

    Operands of 16 bits have no scales, whatever the operand for them holds.
    """
    rows, inner, cols = lhs.vr, lhs.vc, rhs.vc
    left = _scales(lhs, lhs_scale, rows, inner, 2)
    right = _scales(rhs, rhs_scale, cols, inner, 1)
    return _numbers(lhs, rows, inner) * left, _numbers(rhs, inner, cols) * right


def _scales(tile: TileOperand, scale: TileOperand, lines: int, inner: int, axis: int) -> Any:
    """Those of single elements; ``axis``: that of K."""
    dtype = tile.spec.dtype
    if dtype.bits == 16:
        return 1
    groups = -(-inner // codecs.GROUP) * codecs.BYTES if dtype is hif4 else -(-inner // GROUP)
    shape = (lines, groups) if axis == 2 else (groups, lines)
    if dtype is hif4:
        codes = scale.read(*shape).view(np.uint8)
        found = codecs.scales(codes if axis == 2 else codes.swapaxes(1, 2))
        return (found if axis == 2 else found.swapaxes(1, 2)).take(range(inner), axis=axis)
    values = decode(DTYPES["e8m0"], scale.read(*shape).view(np.uint8)).astype(np.float64)
    return np.repeat(values, GROUP, axis=axis).take(range(inner), axis=axis)
