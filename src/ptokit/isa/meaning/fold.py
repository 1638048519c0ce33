"""NumPy forms of the folds: arrays (blocks, rows, columns) along an axis that is kept with length 1.

Orders are those of `words.Order`. NumPy's own sums have no stated order; where one of its functions happens to add in
the stated one it is used, and the tests compare it with the order written out.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from ptokit.types.dtypes import DType

from ..numerics import arith
from ..numerics.rounding import narrow
from .words import Order

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


def _rounded(ufunc: np.ufunc) -> Reduction:
    def apply(x: np.ndarray, axis: int) -> np.ndarray:
        return ufunc.accumulate(x, axis=axis).take([-1], axis=axis)  # reduce would go by the order of the memory

    return apply


def _tree(odd: int) -> Reduction:
    """``odd``: the sum that the last one of an odd number is added to, 0 or -1."""

    def apply(x: np.ndarray, axis: int) -> np.ndarray:
        x = np.moveaxis(x, axis, 0)
        if len(x) == 1:
            x = x + x.dtype.type(0) if odd else x
        while len(x) > 1:
            sums = x[:-1:2] + x[1::2]
            if len(x) % 2:
                sums[odd] = sums[odd] + x[-1]
            x = sums
        return np.moveaxis(x, 0, axis)

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
    ("add", Order.PAIRWISE): lambda x, axis: x.astype(np.float64).sum(axis=axis, keepdims=True),
    ("add", Order.FORWARD): _forward(np.add),
    ("mul", Order.FORWARD): _forward(np.multiply),
    ("add", Order.ROUNDED): _rounded(np.add),
    ("mul", Order.ROUNDED): _rounded(np.multiply),
    ("add", Order.TREE_ODD_FIRST): _tree(0),
    ("add", Order.TREE_ODD_LAST): _tree(-1),
}
"""By primitive and order. `FORWARD`, `TWO_ACCUMULATORS` and `PAIRWISE` accumulate floats in float64."""


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
    fold, none = FOLDS[op, Order.ANY if exact else Order.PAIRWISE], nothing(op, kind.value)

    def numbers(x: np.ndarray, on: np.ndarray | None) -> np.ndarray:
        if on is not None:
            x = np.where(on, x, none)
        out = fold(x.reshape(len(x), groups, -1), 2)[:, :, 0]
        return out if exact else narrow(out, kind)

    return numbers


def nothing(op: str, kind: np.dtype) -> Any:
    """What a fold of no elements gives."""
    if op == "add":
        return kind.type(0)
    if kind.kind in "iu":
        return kind.type(np.iinfo(kind).max if op == "min" else np.iinfo(kind).min)
    return kind.type(np.inf if op == "min" else -np.inf)
