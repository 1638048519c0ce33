"""Values of the reductions (vector-path 6.7). Lanes that are not active contribute nothing.

Float sums are accumulated in f64 and rounded once: the order on hardware is a tree of which the shape is not published.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ptokit.isa.numerics.rounding import narrow
from ptokit.types.dtypes import DType, from_numpy

from ...numerics import arith
from ..lanes import VREG_BYTES, Predicate, active

GROUPS = 8
"""32-byte groups of a register."""


def _front(values: np.ndarray, count: int) -> np.ndarray:
    """The values in the first lanes of a register of `count` lanes, zeros behind them."""
    out = np.zeros((len(values), count), values.dtype)
    out[:, : values.shape[1]] = values
    return out


def _sums(x: np.ndarray, on: np.ndarray | None, to: DType) -> np.ndarray:
    """Sums over the last axis in type `to`."""
    if on is not None:
        x = np.where(on, x, x.dtype.type(0))
    if to.is_integer:
        assert to.value is not None
        return x.sum(axis=-1, dtype=to.value)
    return narrow(x.sum(axis=-1, dtype=np.float64), to)


def _own(x: np.ndarray) -> DType:
    found = from_numpy(x.dtype)
    assert found is not None, x.dtype
    return found


def total(x: np.ndarray, mask: Predicate, to: DType) -> np.ndarray:
    """vcadd: the sum in lane 0 of a register of `to`, which is wider for 8- and 16-bit integers."""
    sums = _sums(x, active(mask, x.dtype.itemsize), to)
    return _front(sums[:, None], VREG_BYTES // to.size)


def _grouped(x: np.ndarray) -> np.ndarray:
    return x.reshape(len(x), GROUPS, -1)


def group_sums(x: np.ndarray, mask: Predicate) -> np.ndarray:
    """vcgadd: the sum of group g in lane g (C-12)."""
    on = active(mask, x.dtype.itemsize)
    return _front(_sums(_grouped(x), None if on is None else _grouped(on), _own(x)), x.shape[1])


def pair_sums(x: np.ndarray, mask: Predicate) -> np.ndarray:
    """vcpadd: x[2i] + x[2i+1] in lane i (C-11)."""
    on = active(mask, x.dtype.itemsize)
    x = x if on is None else np.where(on, x, x.dtype.type(0))
    return _front(x[:, ::2] + x[:, 1::2], x.shape[1])


def prefix_sums(x: np.ndarray, mask: Predicate) -> np.ndarray:
    """vcpadd as the texts have it: lane i holds the sum of the active lanes 0..i, rounded once (C-11)."""
    on = active(mask, x.dtype.itemsize)
    x = x if on is None else np.where(on, x, x.dtype.type(0))
    return narrow(np.cumsum(x, axis=1, dtype=np.float64), _own(x))


Fold = Callable[[np.ndarray, np.ndarray], np.ndarray]


def _limit(dtype: np.dtype, high: bool) -> np.generic:
    """What a maximum (`high` false) or minimum of nothing is."""
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return dtype.type(info.max if high else info.min)
    return dtype.type(np.inf if high else -np.inf)


def _filled(x: np.ndarray, on: np.ndarray | None, fold: Fold) -> np.ndarray:
    return x if on is None else np.where(on, x, _limit(x.dtype, fold is arith.minimum))


def group_extremes(x: np.ndarray, mask: Predicate, fold: Fold) -> np.ndarray:
    """vcgmax and vcgmin (`fold` is `arith.maximum` or `minimum`): the extremum of group g in lane g."""
    groups = _grouped(_filled(x, active(mask, x.dtype.itemsize), fold))
    while groups.shape[2] > 1:  # halving keeps NaN and signed zeros as the fold has them
        half = groups.shape[2] // 2
        groups = fold(groups[:, :, :half], groups[:, :, half:])
    return _front(groups[:, :, 0], x.shape[1])


def extreme(x: np.ndarray, mask: Predicate, fold: Fold) -> np.ndarray:
    """vcmax and vcmin: lane 0 the extremum, lane 1 the index of its first occurrence as an integer's bits (C-13).

    The first NaN is the extremum if there is one; +0 and -0 are equal. Without active lanes the index is 0.
    """
    on = active(mask, x.dtype.itemsize)
    filled = _filled(x, on, fold)
    keys = filled if filled.dtype.kind in "iu" else filled.astype(np.float32)
    first = (np.argmax if fold is arith.maximum else np.argmin)(keys, axis=1)
    if on is not None:  # an active lane may hold the value that stands for the inactive ones
        value = np.take_along_axis(filled, first[:, None], axis=1)
        first = np.argmax(on & ((filled == value) | (filled != filled)), axis=1)
    out = _front(np.take_along_axis(filled, first[:, None], axis=1), x.shape[1])
    out.view(f"u{x.dtype.itemsize}")[:, 1] = first
    return out
