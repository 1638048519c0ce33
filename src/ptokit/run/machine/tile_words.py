"""What a machine does about tiles: memory for them, other names and windows, valid regions."""

from __future__ import annotations

from typing import Any

from ptokit.isa.checks.tile_types import SLOPES, broken_placement
from ptokit.targets import Target
from ptokit.types.dtypes import DType
from ptokit.types.enums import TileType
from ptokit.types.tile import DYNAMIC, TileSpec, numbers_in

from ..fault import Fault
from ..memory.bursts import Bursts
from ..memory.pointers import LocalPointer
from ..memory.storage import Arena, Storage
from ..memory.tile import Tile
from ..memory.window import Window
from .lanes import uniform


class TileWords(Bursts):
    """The part of a chunk that has its buffers."""

    target: Target

    def __init__(self, initial: int = 0) -> None:
        self.initial = initial  # byte that on-chip memory starts with
        self._sites: dict[int, Arena] = {}
        self._storages: dict[int, Storage] = {}
        self._spaces: dict[TileType, Arena] = {}

    def home(self, loc: TileType) -> TileWords:
        """The core whose memory a buffer is."""
        raise NotImplementedError

    # --- tiles ---------------------------------------------------------------------------------------------------

    def site(self, number: int, spec: TileSpec) -> Storage:
        """Storage of an allocation without an address: a space of its own."""
        return self.home(spec.loc).own_site(number, spec)

    def own_site(self, number: int, spec: TileSpec) -> Storage:
        """`site`, in this core's own memory."""
        storage = self._storages.get(number)
        if storage is None:
            storage = self._storages[number] = self._arena(number, spec.nbytes).window(spec, 0)
        return storage

    def apart(self, number: int, size: int) -> Arena:
        """Memory of this core's own for what has that number."""
        return self._arena(number, size)

    def _arena(self, number: int, size: int) -> Arena:
        arena = self._sites.get(number)
        if arena is None:
            arena = self._sites[number] = Arena(self.blocks, size, self.initial)
        return arena

    def own_space(self, loc: TileType) -> Arena:
        """A buffer in this core's own memory."""
        arena = self._spaces.get(loc)
        if arena is None:
            size = self.target.capacity[loc] + (SLOPES if loc is TileType.Scaling else 0)
            arena = self._spaces[loc] = Arena(self.blocks, size, self.initial)
        return arena

    def adopt(self, loc: TileType, arena: Arena) -> None:
        """Let a buffer be memory that another has made."""
        self._spaces[loc] = arena

    def space(self, loc: TileType) -> Arena:
        """The buffer that the running core knows under this name."""
        return self.home(loc).own_space(loc)

    def at(self, address: Any, spec: TileSpec) -> Storage:
        """Storage of a tile at a byte address of its buffer. Raises `Fault` if it does not fit."""
        address = uniform(address)
        for rule, message in broken_placement(spec, address, self.target):
            raise Fault(rule, message)
        return self.space(spec.loc).window(spec, address)

    def tile(self, site: int | None, spec: TileSpec, rows: Any, cols: Any, name: str, address: int | None) -> Tile:
        """A tile at an address of its buffer, or else in memory of its own.

        ``site`` is a number for that memory; without one it is new each time: the tile outlives the turn of its loop.
        ``rows`` and ``cols``: the valid sizes. Raises `Fault` if the tile does not fit.
        """
        if address is not None:
            storage = self.at(address, spec)
        elif site is None:
            storage = Arena(self.blocks, spec.nbytes).window(spec, 0)
        else:
            storage = self.site(site, spec)
        vr = valid_size(rows, spec.rows, "row", "TILE-01")
        vc = valid_size(cols, spec.cols, "column", "TILE-01")
        return Tile(storage, spec, vr, vc, name, address)

    def tiles(
        self, sites: tuple[int, ...], spec: TileSpec, rows: Any, cols: Any, name: str, base: int | None
    ) -> list[Tile]:
        """Several tiles of one type, one behind the other from an address on, or each in memory of its own."""
        slots = [None if base is None else base + k * slot_bytes(spec) for k in range(len(sites))]
        return [self.tile(site, spec, rows, cols, name, slot) for site, slot in zip(sites, slots)]

    def rebind(self, tile: Tile, address: Any) -> Tile:
        """TASSIGN: the same tile type and valid region at another address."""
        storage = self.at(address, tile.type)
        return Tile(storage, tile.type, tile.vr, tile.vc, tile.name, uniform(address))

    def bind_scales(self, scales: Tile, scaled: Tile) -> None:
        """TGET_SCALE_ADDR. Raises `Fault` if the tile does not fit there."""
        if scaled.address is not None and self.target.capacity.get(scales.spec.loc, 0):
            scales.address = scaled.address // 16
            scales.storage = self.at(scales.address, scales.spec)

    def alias(self, tile: Tile, spec: TileSpec, name: str) -> Tile:
        """TRESHAPE and bitcast: the bytes from the tile's first one on as another type.

        A valid dimension that the type leaves open is that of the source where the sizes agree, else all of it.
        """
        storage = tile.storage.arena.window(spec, tile.storage.start)
        same = (tile.type.rows, tile.type.cols) == (spec.rows, spec.cols)
        vr, vc = (tile.vr, tile.vc) if same else (spec.rows, spec.cols)
        vr = vr if spec.valid_row == DYNAMIC else spec.valid_row
        vc = vc if spec.valid_col == DYNAMIC else spec.valid_col
        return Tile(storage, spec, vr, vc, name, tile.address)

    def numbers(self, tile: Tile, spec: TileSpec) -> Tile:
        """A tile of pairs of 4-bit floats as one of numbers."""
        storage = tile.storage.arena.window(spec, tile.storage.start)
        rows, cols = numbers_in(tile.type)
        return Tile(storage, spec, tile.vr * rows, tile.vc * cols, tile.name, tile.address)

    def window(
        self, tile: Tile, offsets: tuple[Any, Any], spec: TileSpec, name: str, valid: tuple[Any, Any] = (None, None)
    ) -> Tile:
        """subset and subview: a window of a tile. Raises `Fault` if its valid region leaves the tile.

        ``valid``: the valid sizes where the type leaves them open; None: what is left of the tile's.
        """
        row, col = (uniform(o) for o in offsets)
        parent, box = tile.type, tile.type.box
        vr, vc = spec.valid_row, spec.valid_col
        if vr == DYNAMIC:
            vr = max(0, min(spec.rows, tile.vr - row if valid[0] is None else uniform(valid[0])))
        if vc == DYNAMIC:
            vc = max(0, min(spec.cols, tile.vc - col if valid[1] is None else uniform(valid[1])))
        if not (0 <= row <= parent.rows - vr and 0 <= col <= parent.cols - vc):
            raise Fault(
                "SS-1",
                f"the valid {vr}x{vc} of the window at ({row}, {col}) leave the {parent.rows}x{parent.cols} tile",
            )
        if row % box.rows or col % box.cols:
            raise Fault("SS-1", f"the window at ({row}, {col}) begins inside a box of {box.rows}x{box.cols}")
        return Window(tile, spec, row, col, vr, vc, name)

    @staticmethod
    def first_byte(tile: Tile, dtype: DType, space: str) -> LocalPointer:
        """tile_buf_addr: a pointer to a tile, in its own memory if it has no address."""
        if tile.address is None:
            return LocalPointer(space, tile.storage.start, dtype, tile.storage.arena)
        return LocalPointer(space, tile.address, dtype)

    def set_valid(self, tile: Tile, rows: Any, cols: Any) -> None:
        """set_validshape, in place."""
        tile.vr = valid_size(rows, tile.type.rows, "row", "VS-3")
        tile.vc = valid_size(cols, tile.type.cols, "column", "VS-3")

    @staticmethod
    def valid(tile: Tile) -> tuple[int, int]:
        """The valid rows and columns."""
        return tile.vr, tile.vc

    @staticmethod
    def valid_rows(tile: Tile) -> int:
        """The valid rows."""
        return tile.vr

    @staticmethod
    def valid_cols(tile: Tile) -> int:
        """The valid columns."""
        return tile.vc


_CUBE = (TileType.Left, TileType.Right, TileType.Acc)


def slot_bytes(spec: TileSpec) -> int:
    """Bytes from one of several tiles to the next: whole 512 in the buffers of the cube unit, whole 32 elsewhere."""
    unit = 512 if spec.loc in _CUBE else 32
    return -(-spec.nbytes // unit) * unit


def valid_size(value: Any, limit: int, what: str, rule: str) -> int:
    """A run-time valid dimension; negative ones and those beyond the tile are faults."""
    size = uniform(value)
    if not 0 <= size <= limit:
        raise Fault(rule, f"valid {what} count {size} is outside 0..{limit}")
    return int(size)
