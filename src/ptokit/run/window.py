"""A window of a tile: the storage of its parent, seen from another corner (subset)."""

from __future__ import annotations

import numpy as np

from ptokit.types.enums import Layout
from ptokit.types.tile import TileSpec

from .fault import Fault
from .memory import View, widen
from .tile import Tile


class Window(Tile):
    """A tile operand whose element (r, c) is element (row + r, col + c) of its parent's storage."""

    __slots__ = ("col", "row")

    def __init__(self, parent: Tile, spec: TileSpec, row: int, col: int, vr: int, vc: int, name: str) -> None:
        super().__init__(parent.storage, spec, vr, vc, name, parent.address)
        outer: tuple[int, int] = (parent.row, parent.col) if isinstance(parent, Window) else (0, 0)
        self.row: int = outer[0] + row
        self.col: int = outer[1] + col

    def read(self, rows: int | None = None, cols: int | None = None) -> np.ndarray:
        rows, cols = self.region(rows, cols)
        return self.storage.read(self.row + rows, self.col + cols)[:, self.row :, self.col :]

    def read_as(self, dtype: np.dtype) -> np.ndarray:
        return widen(self.read(), dtype)

    def out(self, rows: int | None = None, cols: int | None = None) -> np.ndarray | None:
        rows, cols = self.region(rows, cols)
        self.storage.begin_patch()
        elements = self.storage.elements
        return None if elements is None else elements[:, self.row : self.row + rows, self.col : self.col + cols]

    def write(self, values: np.ndarray, rows: int | None = None, cols: int | None = None) -> None:
        rows, cols = self.region(rows, cols)
        typed = values if values.dtype == self.storage.element else values.astype(self.storage.element)
        self.storage.patch(np.broadcast_to(typed, (typed.shape[0], rows, cols)), self.row, self.col)

    def load(self, view: View, layout: Layout) -> None:
        self.check_extent(view, layout)
        values = view.load(layout)
        typed = values if values.dtype == self.storage.element else values.view(self.storage.element)
        self.storage.patch(typed, self.row, self.col)

    def patch(self, values: np.ndarray, row: int, col: int) -> None:
        self.storage.patch(values, self.row + row, self.col + col)

    def fill(self, row: int, rows: int, col: int, cols: int, bits: int) -> None:
        self.storage.fill(self.row + row, self.row + rows, self.col + col, self.col + cols, bits)

    def raw(self) -> np.ndarray:
        raise Fault("SS-1", f"window %{self.name} has no bytes of its own: its rows lie apart in the parent tile")

    def take(self, other: Tile, rows: int, cols: int) -> None:
        values = other.read(rows, cols)
        self.storage.patch(values.copy(), self.row, self.col)
