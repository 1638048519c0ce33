"""Tiles, and windows of tiles."""

from __future__ import annotations

from dataclasses import replace
from math import prod

import numpy as np

from ptokit.types.enums import Layout, TileType
from ptokit.types.tensor import HIF4_PAIRS, SCALE_GROUPS
from ptokit.types.tile import TileSpec, element_offset, windowed

from .global_memory import View
from .lanes import Fault
from .storage import Storage

# A tile at run time: a type, a valid region, and the storage behind it.


class Tile:
    """A tile operand (see `ptokit.isa.machine.TileOperand`). ``vr`` x ``vc`` is the valid region in elements."""

    __slots__ = ("address", "name", "spec", "storage", "vc", "vr")

    row = col = 0  # where it begins in its `home`

    def __init__(
        self, storage: Storage, spec: TileSpec, vr: int, vc: int, name: str = "", address: int | None = None
    ) -> None:
        self.storage, self.spec, self.vr, self.vc, self.name, self.address = storage, spec, vr, vc, name, address

    @property
    def type(self) -> TileSpec:
        """What rules see; ``spec`` is what memory holds."""
        return self.spec

    @property
    def home(self) -> Storage:
        """The memory of the tile that this is a window of; its own otherwise."""
        return self.storage

    def in_boxes(self) -> Tile:
        """The same tile as the cube core sees an accumulator: of whole boxes, though it may have one row."""
        rows = self.spec.box.rows
        if self.spec.rows >= rows or self.spec.loc is not TileType.Acc:
            return self
        spec = replace(self.spec, rows=rows)
        storage = self.storage.arena.window(spec, self.storage.start)
        return Tile(storage, spec, self.vr, self.vc, self.name, self.address)

    def region(self, rows: int | None, cols: int | None) -> tuple[int, int]:
        """The region meant, default the valid region. Raises `Fault` RUN-REGION if the tile is smaller."""
        rows = self.vr if rows is None else rows
        cols = self.vc if cols is None else cols
        spec = self.spec
        if rows > spec.rows or cols > spec.cols:
            raise Fault(
                "RUN-REGION",
                f"{rows}x{cols} elements of {self.name or 'a tile'} are wanted, which has {spec.rows}x{spec.cols}",
                hint="give the operands of the instruction the same valid region",
            )
        return rows, cols

    def read(self, rows: int | None = None, cols: int | None = None) -> np.ndarray:
        """Values of [0, rows) x [0, cols), default the valid region; (blocks or 1, rows, cols), do not modify."""
        rows, cols = self.region(rows, cols)
        return self.storage.read(rows, cols)

    def read_as(self, dtype: np.dtype) -> np.ndarray:
        """The valid region exactly converted to a wider float dtype."""
        return self.storage.read_wide(self.vr, self.vc, dtype)

    def out(self, rows: int | None = None, cols: int | None = None) -> np.ndarray | None:
        """A writable array for the region, all of which is to be overwritten; None if the storage has boxes."""
        rows, cols = self.region(rows, cols)
        return self.storage.out(rows, cols)

    def write(self, values: np.ndarray, rows: int | None = None, cols: int | None = None) -> None:
        """Set the region; the array belongs to the tile afterwards."""
        rows, cols = self.region(rows, cols)
        self.storage.write(values, rows, cols)

    def load(self, view: View, layout: Layout) -> None:
        """Set the valid region to the 2-D view of global memory, bit for bit.

        Of a larger ND view, the first rows and columns are taken. Raises `Fault` if the view leaves its memory or is
        smaller than the valid region.
        """
        if not (self.vr and self.vc):
            return  # nothing is moved
        if layout in HIF4_PAIRS:
            view, layout = view.in_pairs(), HIF4_PAIRS[layout]
        rows, cols = view.extent(layout)
        if layout in (Layout.ND, Layout.DN) and rows >= self.vr and cols >= self.vc:
            view.check_bounds()
            self.storage.load(*self._first_lines(view, layout))
            return
        if layout in SCALE_GROUPS and (rows, cols) == self.in_groups(*SCALE_GROUPS[layout]):
            view.check_bounds()
            self.storage.load(view, layout, rows, cols)  # the last groups are moved as a whole
            return
        self.check_extent(view, layout)
        self.storage.load(view, layout, self.vr, self.vc)

    def _first_lines(self, view: View, layout: Layout) -> tuple[View, Layout, int, int]:
        """A view and the region that is set to it: the valid one, or all lines where the first ones are no view."""
        rows, cols = view.extent(layout)
        if (rows, cols) == (self.vr, self.vc):
            return view, layout, rows, cols
        sizes, (along, across) = list(view.shape), (4, 3) if layout is Layout.ND else (3, 4)
        sizes[along] = self.vc if layout is Layout.ND else self.vr
        count = self.vr if layout is Layout.ND else self.vc
        if prod(sizes[:3]) == 1:
            sizes[across] = count
        whole = View(view.buffer, view.offset, view.shape, view.stride, view.dtype, view.stated_layout)
        part = whole.partition((0,) * 5, tuple(sizes))
        return part, layout, *part.extent(layout)

    def in_groups(self, rows: int, cols: int) -> tuple[int, int]:
        """The rows and columns of the groups that the valid region begins."""
        return -(-self.vr // rows) * rows, -(-self.vc // cols) * cols

    def check_extent(self, view: View, layout: Layout) -> None:
        """Raises `Fault` if the view leaves its memory or is not as large as the valid region."""
        view.check_bounds()
        extent = view.extent(layout)
        if extent != (self.vr, self.vc):
            raise Fault(
                "LS-COM-09",
                f"the view is {extent[0]}x{extent[1]} as {layout.name}, the tile's valid region {self.vr}x{self.vc}",
            )

    def patch(self, values: np.ndarray, row: int, col: int) -> None:
        """Overwrite the region at (row, col) of the physical tile."""
        self.storage.patch(values, row, col)

    def fill(self, row: int, rows: int, col: int, cols: int, bits: int) -> None:
        """Set rows [row, rows) x cols [col, cols) of the physical tile to an element's bit pattern."""
        self.storage.fill(row, rows, col, cols, bits)

    def raw(self) -> np.ndarray:
        """The storage, bytes (blocks, nbytes), up to date and writable."""
        return self.storage.raw()

    def take(self, other: Tile, rows: int, cols: int) -> None:
        """Set the region to the same region of a tile of the same element type, bit for bit."""
        other.region(rows, cols)
        self.region(rows, cols)
        self.storage.take(other.storage, rows, cols)

    def __repr__(self) -> str:
        return f"<tile {self.name} {self.spec} valid {self.vr}x{self.vc}>"


# A window of a tile: a tile of its parent's type that begins further on in its parent's memory (subset, TSUBVIEW).


class Window(Tile):
    """A tile operand whose element (r, c) is element (row + r, col + c) of its parent.

    For memory it is as large as its parent (`windowed`): rows lie as far apart, and what an instruction does beyond the
    valid region it does there. ``type`` is what the text calls it; ``home`` and (``row``, ``col``) are the memory of
    the tile at the beginning of the chain and the place in it.
    """

    __slots__ = ("col", "home", "row", "type")

    home: Storage  # type: ignore[assignment]
    type: TileSpec  # type: ignore[assignment]

    def __init__(self, parent: Tile, type: TileSpec, row: int, col: int, vr: int, vc: int, name: str) -> None:
        spec = parent.spec
        elements = int(element_offset(spec, row, col))
        if spec.dtype.packed and elements % 2:
            raise Fault("SS-1", f"the window at ({row}, {col}) begins in the middle of a byte")
        start = spec.dtype.nbytes(elements)
        storage = parent.storage.arena.window(windowed(spec, type), parent.storage.start + start)
        address = None if parent.address is None else parent.address + start
        super().__init__(storage, windowed(spec, type), vr, vc, name, address)
        self.home, self.type = parent.home, type
        self.row, self.col = parent.row + row, parent.col + col
