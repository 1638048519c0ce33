"""Elements of tiles by their place: what gathers, scatters and sorts have in common."""

from __future__ import annotations

import numpy as np

from .machine import Machine, TileOperand


def for_all_blocks(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Both arrays for all blocks if one of them is."""
    blocks = max(len(x), len(y))
    first, second = (np.broadcast_to(a, (blocks, *a.shape[1:])) for a in (x, y))
    return first, second


def kind(tile: TileOperand) -> np.dtype:
    """The NumPy type of a tile's elements; that of the codes where there is none."""
    return tile.spec.dtype.value or tile.spec.dtype.storage


def flat(tile: TileOperand) -> np.ndarray:
    """All elements of the physical tile in the order of rows: (blocks or 1, elements)."""
    values = tile.read(tile.spec.rows, tile.spec.cols)
    return values.reshape(len(values), -1)


def in_range(m: Machine, rule: str, index: np.ndarray, size: int, what: str) -> np.ndarray:
    """True where an index is in [0, size). Refuses others on the devices; the simulator passes over them."""
    good: np.ndarray = (index >= 0) & (index < size)
    if not good.all() and m.target.is_device:
        block, row, col = (int(n) for n in np.argwhere(~good)[0])
        m.refuse(
            rule,
            f"{what} ({row}, {col}) is {int(index[block, row, col])}; there are {size}",
            block=block if len(index) > 1 else None,
        )
    return good
