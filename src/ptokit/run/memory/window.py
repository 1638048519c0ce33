"""A window of a tile: a tile of its parent's type that begins further on in its parent's memory (subset, TSUBVIEW)."""

from __future__ import annotations

from ptokit.types.tile import TileSpec, element_offset, windowed

from ..fault import Fault
from .storage import Storage
from .tile import Tile


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
