"""Tiles of matrix products, each in the one layout that its buffer has."""

from __future__ import annotations

from typing import Any

from ptokit.types.dtypes import DType
from ptokit.types.enums import BLayout, SLayout, TileType

from .tiles import Tile
from .trace import current


def TileLeft(dtype: DType, rows: int, cols: int, valid_row: Any = None, valid_col: Any = None, **more: Any) -> Tile:
    """Left operand of a matrix product in L0A, in the layout of the kernel's target (types-and-layouts 7)."""
    blayout = current("TileLeft").target.left_blayout
    return Tile(TileType.Left, dtype, rows, cols, blayout, valid_row, valid_col, SLayout.RowMajor, **more)


def TileRight(dtype: DType, rows: int, cols: int, valid_row: Any = None, valid_col: Any = None, **more: Any) -> Tile:
    """Right operand of a matrix product in L0B."""
    return Tile(TileType.Right, dtype, rows, cols, BLayout.RowMajor, valid_row, valid_col, SLayout.ColMajor, **more)


def TileAcc(dtype: DType, rows: int, cols: int, valid_row: Any = None, valid_col: Any = None, **more: Any) -> Tile:
    """Accumulator of a matrix product in L0C."""
    return Tile(TileType.Acc, dtype, rows, cols, BLayout.ColMajor, valid_row, valid_col, SLayout.RowMajor, 1024, **more)


def TileLeftScale(
    dtype: DType, rows: int, cols: int, valid_row: Any = None, valid_col: Any = None, **more: Any
) -> Tile:
    """Block scales of a left operand (MX formats)."""
    return Tile(
        TileType.ScaleLeft, dtype, rows, cols, BLayout.RowMajor, valid_row, valid_col, SLayout.RowMajor, 32, **more
    )


def TileRightScale(
    dtype: DType, rows: int, cols: int, valid_row: Any = None, valid_col: Any = None, **more: Any
) -> Tile:
    """Block scales of a right operand (MX formats)."""
    return Tile(
        TileType.ScaleRight, dtype, rows, cols, BLayout.ColMajor, valid_row, valid_col, SLayout.ColMajor, 32, **more
    )
