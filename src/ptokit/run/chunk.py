"""The blocks that run together: their tiles, buffers and indices. Compiled programs call its methods."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np

from ptokit.isa.placement import broken_placement
from ptokit.targets import Target
from ptokit.types.enums import TileType
from ptokit.types.tile import DYNAMIC, TileSpec

from .fault import Fault
from .lanes import Diverge, Line, lanes, lift, uniform
from .memory import Pointer
from .storage import Arena, Storage
from .tile import Tile
from .window import Window


class Chunk:
    """One run of a program for `blocks` blocks (see `ptokit.isa.machine.Machine`)."""

    def __init__(self, target: Target, blocks: int, total: int, matmul_mode: str, *, extended: bool = False) -> None:
        self.target = target
        self.blocks = blocks
        self.total = total  # blocks of the launch
        self.matmul_mode = matmul_mode
        self.extended = extended
        self.block_idx: Any = 0
        self._sites: dict[int, Arena] = {}
        self._storages: dict[int, Storage] = {}
        self._spaces: dict[TileType, Arena] = {}

    def start(self, indices: np.ndarray) -> None:
        """Begin at the top with these block indices and cleared on-chip memory."""
        self.block_idx = lift(indices)
        for arena in (*self._sites.values(), *self._spaces.values()):
            arena.clear()

    def forget(self) -> None:
        """Let go of what tiles stand for; windows at addresses are made anew by the next launch."""
        for arena in (*self._sites.values(), *self._spaces.values()):
            arena.forget()
        for arena in self._spaces.values():
            arena.windows.clear()

    def refuse(self, rule: str, message: str, *, hint: str | None = None, block: int | None = None) -> NoReturn:
        """Raise the fault of a rule that depends on values."""
        raise Fault(rule, message, hint=hint, block=block)

    def block_number(self, position: int) -> int:
        """Launch index of a block of this chunk."""
        index = np.atleast_1d(lanes(self.block_idx))
        return int(index[position if len(index) > 1 else 0])

    # --- tiles ---------------------------------------------------------------------------------------------------

    def site(self, number: int, spec: TileSpec) -> Storage:
        """Storage of an allocation without an address: a space of its own."""
        storage = self._storages.get(number)
        if storage is None:
            arena = self._sites[number] = Arena(self.blocks, spec.nbytes)
            storage = self._storages[number] = arena.window(spec, 0)
        return storage

    def at(self, address: Any, spec: TileSpec) -> Storage:
        """Storage of a tile at a byte address of its buffer. Raises `Fault` if it does not fit."""
        address = uniform(address)
        for rule, message in broken_placement(spec, address, self.target):
            raise Fault(rule, message)
        arena = self._spaces.get(spec.loc)
        if arena is None:
            arena = self._spaces[spec.loc] = Arena(self.blocks, self.target.capacity[spec.loc])
        return arena.window(spec, address)

    def tile(self, storage: Storage, spec: TileSpec, rows: Any, cols: Any, name: str, address: int | None) -> Tile:
        """A tile with run-time valid dimensions."""
        vr = valid_size(rows, spec.rows, "row")
        vc = valid_size(cols, spec.cols, "column")
        return Tile(storage, spec, vr, vc, name, address)

    def rebind(self, tile: Tile, address: Any) -> Tile:
        """TASSIGN: the same tile type and valid region at another address."""
        storage = self.at(address, tile.spec)
        return Tile(storage, tile.spec, tile.vr, tile.vc, tile.name, uniform(address))

    def alias(self, tile: Tile, spec: TileSpec, name: str) -> Tile:
        """TRESHAPE and bitcast: the same bytes seen as another type."""
        storage = tile.storage.arena.window(spec, tile.storage.start)
        vr = min(tile.vr, spec.rows) if spec.valid_row == DYNAMIC else spec.valid_row
        vc = min(tile.vc, spec.cols) if spec.valid_col == DYNAMIC else spec.valid_col
        return Tile(storage, spec, vr, vc, name, tile.address)

    def window(self, tile: Tile, offsets: tuple[Any, Any], spec: TileSpec, name: str) -> Tile:
        """subset: a window of a tile. Raises `Fault` if it leaves the tile."""
        row, col = (uniform(o) for o in offsets)
        if not (0 <= row <= tile.spec.rows - spec.rows and 0 <= col <= tile.spec.cols - spec.cols):
            raise Fault(
                "SS-1",
                f"a {spec.rows}x{spec.cols} window at ({row}, {col}) leaves the {tile.spec.rows}x{tile.spec.cols} tile",
            )
        vr = max(0, min(spec.rows, tile.vr - row)) if spec.valid_row == DYNAMIC else spec.valid_row
        vc = max(0, min(spec.cols, tile.vc - col)) if spec.valid_col == DYNAMIC else spec.valid_col
        return Window(tile, spec, row, col, vr, vc, name)

    def set_valid(self, tile: Tile, rows: Any, cols: Any) -> None:
        """set_validshape, in place."""
        tile.vr = valid_size(rows, tile.spec.rows, "row")
        tile.vc = valid_size(cols, tile.spec.cols, "column")

    # --- scalars and control -------------------------------------------------------------------------------------

    def load_scalar(self, pointer: Pointer, index: Any) -> Any:
        """One element of global memory."""
        buffer, where = _element(pointer, index)
        values = buffer.mem.view(pointer.dtype.value or pointer.dtype.storage)
        if isinstance(where, (Line, np.ndarray)):
            return lift(values[lanes(where)])
        return values[where].item()

    def store_scalar(self, value: Any, pointer: Pointer, index: Any) -> None:
        """Write one element of global memory; lower blocks first."""
        buffer, where = _element(pointer, index)
        buffer.before_write()
        values = buffer.mem.view(pointer.dtype.value or pointer.dtype.storage)
        positions = np.atleast_1d(lanes(where))
        data = np.broadcast_to(np.atleast_1d(lanes(value)), (max(len(positions), np.size(lanes(value))),))
        for i, item in enumerate(data):
            values[positions[i if len(positions) > 1 else 0]] = np.asarray(item).astype(values.dtype)

    def loop(self, lower: Any, upper: Any, step: Any) -> Iterator[Any]:
        """scf.for whose bounds differ between blocks. Raises `Diverge` if the trip counts do."""
        lo, hi, st = lanes(lower), lanes(upper), lanes(step)
        if np.any(np.asarray(st) <= 0):
            raise Fault("RUN-STEP", "the step of scf.for must be positive")
        trips = np.maximum(0, -((lo - hi) // st)) if isinstance(lo - hi, np.ndarray) else max(0, -((lo - hi) // st))
        if isinstance(trips, np.ndarray):
            if not (trips == trips[0]).all():
                raise Diverge(trips)
            trips = int(trips[0])
        value = lower
        for _ in range(trips):
            yield value
            value = value + step

    @staticmethod
    def truth(condition: Any) -> bool:
        """A branch condition. Raises `Diverge` if the blocks disagree."""
        return bool(uniform(condition))


def _element(pointer: Pointer, index: Any) -> tuple[Any, Any]:
    buffer = pointer.buffer
    if buffer is None:
        raise Fault("GM-NULL", "scalar access through a null pointer")
    where = pointer.offset + index
    values = np.atleast_1d(lanes(where))
    bad = np.flatnonzero((values < 0) | (values >= buffer.nelem))
    if bad.size:
        raise Fault(
            "GM-OOB",
            f"access to element {int(values[bad[0]])} of argument %{buffer.name}, which has {buffer.nelem} elements",
        )
    return buffer, where


def valid_size(value: Any, limit: int, what: str) -> int:
    """A run-time valid dimension; negative ones and those beyond the tile are faults."""
    size = uniform(value)
    if not 0 <= size <= limit:
        raise Fault("VS-3", f"valid {what} count {size} is outside 0..{limit}")
    return int(size)
