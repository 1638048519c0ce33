"""What semantics functions are given: the run-time operands, as protocols.

Every array has a leading axis of length ``blocks``: the blocks that run together. Scalars are Python numbers where all
blocks agree and arrays of shape (blocks, 1, 1) where they do not. Arrays that are read must not be modified, and an
array handed to ``write`` belongs to the tile afterwards.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from ptokit.targets import Target
from ptokit.types.dtypes import DType
from ptokit.types.enums import Layout
from ptokit.types.tile import TileSpec


class TileOperand(Protocol):
    """A tile at run time. Shapes are (blocks, rows, cols); sizes count elements."""

    spec: TileSpec
    vr: int  # valid rows
    vc: int  # valid columns

    def read(self, rows: int | None = None, cols: int | None = None) -> np.ndarray:
        """Values of the region [0, rows) x [0, cols), default the valid region, in ``spec.dtype.value``.

        Types without a NumPy dtype (hif8, fp4, int4) give their codes as uint8, one element each.
        """

    def read_as(self, dtype: np.dtype) -> np.ndarray:
        """Values of the valid region, exactly converted to a wider float dtype (cached)."""

    def out(self, rows: int | None = None, cols: int | None = None) -> np.ndarray | None:
        """A writable array for the region, all of which the caller overwrites; None if storage has boxes."""

    def write(self, values: np.ndarray, rows: int | None = None, cols: int | None = None) -> None:
        """Set the region to `values` (broadcast over blocks if its first axis is 1)."""

    def raw(self) -> np.ndarray:
        """The tile's storage, bytes of shape (blocks, nbytes), up to date and writable."""

    def take(self, other: TileOperand, rows: int, cols: int) -> None:
        """Set the region to the same region of a tile of the same dtype, bit for bit, without conversion."""


class ViewOperand(Protocol):
    """A GlobalTensor or partition view at run time; 5-D, sizes and strides in elements."""

    dtype: DType
    shape: tuple[int, int, int, int, int]
    stride: tuple[int, int, int, int, int]
    layout: Layout

    def load(self, rows: int, cols: int) -> np.ndarray:
        """The first rows x cols elements of the 2-D view of types-and-layouts 9.1, as stored."""

    def store(self, values: np.ndarray) -> None:
        """Write values of shape (blocks, rows, cols) to the 2-D view; blocks in ascending order."""


class Machine(Protocol):
    """The running chunk of blocks."""

    target: Target
    blocks: int
    matmul_mode: str  # "exact", "fast" or "ref"


Scalar = Any
