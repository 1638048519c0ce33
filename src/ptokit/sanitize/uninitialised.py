"""Arguments that start uninitialised."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ptokit.types.dtypes import DType


class Uninitialised(np.ndarray):
    """An array whose contents the kernel must not rely on. Made by `uninit`."""


def uninit(shape: int | Sequence[int], dtype: DType) -> Uninitialised:
    """An output-only argument: global memory of `shape` elements that starts uninitialised (filled with 0xA5 bytes)."""
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    if dtype.packed:
        sizes = (*sizes[:-1], (sizes[-1] + 1) // 2)
    kind = np.dtype(dtype.value or dtype.storage)
    raw = np.full((int(np.prod(sizes)) * kind.itemsize,), 0xA5, np.uint8)
    return raw.view(kind).reshape(sizes).view(Uninitialised)
