"""NumPy forms of the folds: arrays (blocks, rows, columns) along an axis that is kept with length 1.

Orders are those of `orders.Order`. NumPy's own sums have no stated order; where one of its functions happens to add in
the stated one it is used, and the tests compare it with the order written out.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from ptokit.types.dtypes import DType

from ..numerics import arith
from .orders import Op, Order, Stage, combined, of_repeats

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
