"""Rows and columns of a view as axes of its memory: what a copy goes through."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ptokit.types.dtypes import DType
from ptokit.types.enums import Layout
from ptokit.types.tensor import ROW_COL_AXES, Dims5, inner_channels, right_align


@lru_cache(maxsize=4096)
def five_dims(dims: tuple[int, ...], strides: tuple[int, ...]) -> tuple[Dims5, Dims5]:
    shape, stride = right_align(dims, strides)
    return tuple(shape), tuple(stride)  # type: ignore[return-value]


@lru_cache(maxsize=4096)
def reach(dims: tuple[int, ...], strides: tuple[int, ...]) -> tuple[int, int]:
    """Lowest and highest element, relative to the first, that a view touches."""
    low = sum((d - 1) * s for d, s in zip(dims, strides) if s < 0)
    high = sum((d - 1) * s for d, s in zip(dims, strides) if s > 0)
    return low, high


@lru_cache(maxsize=4096)
def row_col_axes(dims: tuple[int, ...], strides: tuple[int, ...], layout: Layout, dtype: DType) -> Any:
    """How to see a view as (rows, cols): axis sizes and strides in row-then-column order, and the two extents."""
    shape, stride = five_dims(dims, strides)
    row_axes, col_axes = ROW_COL_AXES[layout]
    rows = _merge([(shape[a], stride[a]) for a in row_axes])
    cols = _merge([*((shape[a], stride[a]) for a in col_axes), (inner_channels(dtype, layout), 1)])
    extent = (int(np.prod([n for n, _ in rows])), int(np.prod([n for n, _ in cols])))
    return rows, cols, extent


def _merge(axes: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Fewest axes that visit the same elements in the same order."""
    out: list[tuple[int, int]] = []
    for n, s in axes:
        if n == 1:
            continue
        if out and out[-1][1] == n * s:
            out[-1] = (out[-1][0] * n, s)
        else:
            out.append((n, s))
    return out or [(1, 1)]


def spread_to(values: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """`np.broadcast_to`, which costs as much as a small copy, where it is needed."""
    return values if values.shape == shape else np.broadcast_to(values, shape)


@lru_cache(maxsize=4096)
def disjoint(axes: tuple[tuple[int, int], ...], step: int, count: int) -> bool:
    """True if blocks `step` apart surely touch different elements; only then may they be stored in one go."""
    reach = 0
    for stride, n in sorted((abs(s), n) for n, s in (*axes, (count, step)) if n > 1):
        if stride <= reach:
            return False
        reach += stride * (n - 1)
    return True
