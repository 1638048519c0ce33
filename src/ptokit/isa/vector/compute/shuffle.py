"""Values of the operations that move whole lanes (vector-path 6.5, 6.8); bits never change."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..lanes import VREG_BYTES, Predicate, active


def _pair(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    blocks = max(len(a), len(b))
    return np.broadcast_to(a, (blocks, a.shape[1])), np.broadcast_to(b, (blocks, b.shape[1]))


def permute(x: np.ndarray, index: np.ndarray) -> np.ndarray:
    """vselr and vperm: lane i is x[index[i] mod N]."""
    x, index = _pair(x, index)
    return np.take_along_axis(x, index.astype(np.intp) & (x.shape[1] - 1), axis=1)


def squeeze(x: np.ndarray, mask: Predicate) -> tuple[np.ndarray, Any]:
    """vsqz: the active lanes first, zeros behind; and how many they are, per block (blocks or 1, 1)."""
    count = x.shape[1]
    on = active(mask, x.dtype.itemsize)
    if on is None:
        return x, np.full((1, 1), count)
    x, on = _pair(x, on)
    order = np.argsort(~on, axis=1, kind="stable")
    kept = on.sum(axis=1, keepdims=True)
    packed = np.take_along_axis(x, order, axis=1)
    return np.where(np.arange(count) < kept, packed, x.dtype.type(0)), kept


def ranks(mask: Predicate, dtype: np.dtype) -> tuple[np.ndarray, Any]:
    """vusqz: how many lanes below lane i are active (C-16); and how many are active at all."""
    count = VREG_BYTES // dtype.itemsize
    on = active(mask, dtype.itemsize)
    if on is None:
        on = np.ones((1, count), np.bool_)
    upto = np.cumsum(on, axis=1)
    return (upto - on).astype(dtype), upto[:, -1:]


def window(a: np.ndarray, b: np.ndarray | None, amount: Any) -> np.ndarray:
    """vslide: lane i is a[i - amount], and below that the end of `b`; vshift: the same with zeros for `b`.

    Lanes that neither register reaches are 0.
    """
    count = a.shape[1]
    zeros = np.zeros((1, count), a.dtype)
    blocks = max(len(v) for v in (a, b, amount) if isinstance(v, np.ndarray))
    parts = [np.broadcast_to(v, (blocks, count)) for v in (zeros if b is None else b, a, zeros)]
    index = count - np.asarray(amount).reshape(-1, 1).astype(np.int64) + np.arange(count)
    index = np.where((index < 0) | (index >= 2 * count), 2 * count, index)
    return np.take_along_axis(np.concatenate(parts, axis=1), np.broadcast_to(index, (blocks, count)), axis=1)
