"""The blocks that run together: their tiles, buffers and indices. Compiled programs call its methods."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from copy import copy
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from ptokit.diagnostics import UNKNOWN_LOCATION, Location
from ptokit.ir.launch import Role
from ptokit.isa.placement import SLOPES, broken_placement
from ptokit.targets import Target
from ptokit.types.enums import TileType
from ptokit.types.tile import DYNAMIC, TileSpec

from .bursts import Bursts
from .fault import Fault
from .lanes import Diverge, Line, lanes, lift, plain, uniform
from .local import LocalPointer
from .loop_batching import Iterations, parts
from .memory import Pointer, View
from .observer import Nest, Observer
from .pipes import Pipes
from .rendezvous import Rendezvous
from .signals import Semaphores
from .simt.launch import ThreadLaunches
from .storage import Arena, Storage
from .tile import Tile
from .window import Window


class Chunk(ThreadLaunches, Bursts):
    """One run of a program for `blocks` blocks (see `ptokit.isa.machine.Machine`)."""

    initial = 0  # byte that on-chip memory starts with
    view: type[View] = View  # what tensors in global memory are
    pipes_of: type[Pipes] = Pipes  # between cores

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
        self.registers: dict[str, Any] = {}
        self.observer: Observer | None = None  # told what the program does
        self.nest = Nest()  # of loops, in a program that is observed
        self.printed: list[list[str]] = [[] for _ in range(blocks)]  # by block
        self.place: Callable[[], Location] = lambda: UNKNOWN_LOCATION  # of the operation that runs
        self.subblock, self.subblocks = 0, 1
        self.cube = self.vector = True  # runs sections of that kind
        self.passed = 0  # waits for other cores that are over
        self.number = 0  # of the core in the launch
        self.semaphores: Semaphores[Any] | None = None
        self.meetings: Rendezvous[Any] | None = None
        self._cube_core: Chunk | None = None  # in a cluster: whose matrix buffers these are
        self._vector_cores: list[Chunk] = []  # in a cluster: whose unified buffers these are
        self.awaited = 0  # the flag between cores that was last waited for
        self._at_flag = self._passing = False  # waits for a flag between cores; goes past it
        self.holding: Callable[[], Any] | None = None  # what it has waited for last
        self.pipes = self.pipes_of(self)

    # --- cores of a cluster --------------------------------------------------------------------------------------

    def take_role(
        self, role: Role, cube: Chunk | None = None, vectors: Sequence[Chunk] = (), subblocks: int = 1
    ) -> None:
        """Be a core of that kind. ``cube``, ``vectors``: the cores of the cluster whose buffers it names."""
        self.cube, self.vector = role.kind != "vector", role.kind != "cube"
        self.subblock, self.subblocks = role.sub, subblocks
        self._cube_core, self._vector_cores = cube, list(vectors)

    def begin(self, number: int, semaphores: Semaphores[Any], meetings: Rendezvous[Any]) -> None:
        """Start as core `number` of a launch."""
        self.number, self.semaphores, self.meetings = number, semaphores, meetings

    def home(self, loc: TileType) -> Chunk:
        """The core whose memory a buffer is."""
        if self._cube_core is None:
            return self
        return self._vector_cores[0] if loc is TileType.Vec else self._cube_core

    def on_sub_core(self, tile: Tile, sub: int) -> Tile | None:
        """The same place of UB on vector core `sub` of the cluster; None where the program runs on one core."""
        if sub >= len(self._vector_cores):
            return None
        found = copy(tile)
        found.storage = self._vector_cores[sub].storage_like(tile.storage, self)
        return found

    def storage_like(self, other: Storage, named_by: Chunk) -> Storage:
        """The storage here that has the place of one of `named_by`'s home."""
        spec, arena = other.spec, other.arena
        for number, site in named_by.home(spec.loc)._sites.items():
            if site is arena:
                return self._arena(number, arena.size).window(spec, other.start)
        return self.own_space(spec.loc).window(spec, other.start)

    def signal(self, event: int, mode: int) -> None:
        """sync.set."""
        if self.semaphores is not None:
            self.semaphores.send(self.semaphores.cores[self.number], event, mode, None)

    def arrival(self, event: int) -> Callable[[], bool]:
        """sync.wait."""

        def arrived() -> bool:
            if self.semaphores is None or self.semaphores.take(self.number, event) is not None:
                return True
            self.awaited, self._at_flag = event, True
            if self._passing:
                self.semaphores.owe(self.number, event)
            return self._passing

        return arrived

    def rendezvous(self, kind: str, count: int) -> Callable[[], bool]:
        """SYNCALL."""
        if self.meetings is None:
            return lambda: True
        meetings, key = self.meetings, (kind, count)
        times = meetings.arrive(self.number, key, None)
        return lambda: meetings.met(key, times) is not None

    def hold(self, over: Callable[[], Any]) -> Generator[None, None, Any]:
        """Stop until a wait for another core is over; what it was for."""
        self._at_flag = False
        self.holding = over
        while not (found := over()):
            yield
        self._passing = False
        self.passed += 1
        return found

    def go_on(self) -> bool:
        """Pass the flag that the core waits for, and take it later, where a wait holds one pipe and not the core."""
        self._passing = self._at_flag and not self.target.waits_hold_core
        return self._passing

    def holds(self, arena: Arena) -> bool:
        """True for the memory of a buffer, not that of a single tile."""
        return any(space is arena for space in self._spaces.values())

    # --- the run -------------------------------------------------------------------------------------------------

    def start(self, indices: np.ndarray) -> None:
        """Begin at the top with these block indices and cleared on-chip memory."""
        self.block_idx = lift(indices)
        self.registers.clear()
        self.nest = Nest()
        self.printed = [[] for _ in range(self.blocks)]
        for arena in (*self._sites.values(), *self._spaces.values()):
            arena.clear()

    def forget(self) -> None:
        """Let go of what tiles stand for; windows at addresses are made anew by the next launch."""
        for arena in (*self._sites.values(), *self._spaces.values()):
            arena.forget()
        for arena in self._spaces.values():
            arena.windows.clear()
        self.observer = None

    def refuse(self, rule: str, message: str, *, hint: str | None = None, block: int | None = None) -> NoReturn:
        """Raise the fault of a rule that depends on values."""
        raise Fault(rule, message, hint=hint, block=block)

    def block_number(self, position: int) -> int:
        """Launch index of a block of this chunk."""
        index = np.atleast_1d(lanes(self.block_idx))
        return int(index[position if len(index) > 1 else 0])

    def say(self, texts: Sequence[str], name: str | None = None) -> None:
        """Print (see `ptokit.isa.machine.Machine`); `ptokit.run.printed` says when it appears."""
        at = self.place() if name is not None else UNKNOWN_LOCATION
        where = f", {Path(at.file or '').name}:{at.line}" if at.line else ""
        for k, lines in enumerate(self.printed):
            if name is not None:
                lines.append(f"{f'%{name}' if name else 'tile'}, block {self.block_number(k)}{where}:\n")
            lines.append(texts[k if len(texts) > 1 else 0])

    # --- tiles ---------------------------------------------------------------------------------------------------

    def site(self, number: int, spec: TileSpec) -> Storage:
        """Storage of an allocation without an address: a space of its own."""
        return self.home(spec.loc).own_site(number, spec)

    def turn(self, spec: TileSpec) -> Storage:
        """Storage of an allocation that outlives the turn of its loop: a space of its own each time."""
        return Arena(self.blocks, spec.nbytes).window(spec, 0)

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

    def sub_space(self, loc: TileType, sub: int) -> Arena:
        """The buffer of vector core `sub` of the cluster; that of the program where it runs on one core."""
        return self._vector_cores[sub].own_space(loc) if sub < len(self._vector_cores) and sub else self.space(loc)

    def at(self, address: Any, spec: TileSpec) -> Storage:
        """Storage of a tile at a byte address of its buffer. Raises `Fault` if it does not fit."""
        address = uniform(address)
        for rule, message in broken_placement(spec, address, self.target):
            raise Fault(rule, message)
        return self.space(spec.loc).window(spec, address)

    def tile(self, storage: Storage, spec: TileSpec, rows: Any, cols: Any, name: str, address: int | None) -> Tile:
        """A tile with run-time valid dimensions."""
        vr = valid_size(rows, spec.rows, "row")
        vc = valid_size(cols, spec.cols, "column")
        return Tile(storage, spec, vr, vc, name, address)

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

    def window(
        self, tile: Tile, offsets: tuple[Any, Any], spec: TileSpec, name: str, valid: tuple[Any, Any] = (None, None)
    ) -> Tile:
        """subset and subview: a window of a tile. Raises `Fault` if it leaves the tile.

        ``valid``: the valid sizes where the type leaves them open; None: what is left of the tile's.
        """
        row, col = (uniform(o) for o in offsets)
        parent, box = tile.type, tile.type.box
        if not (0 <= row <= parent.rows - spec.rows and 0 <= col <= parent.cols - spec.cols):
            raise Fault(
                "SS-1",
                f"a {spec.rows}x{spec.cols} window at ({row}, {col}) leaves the {parent.rows}x{parent.cols} tile",
            )
        if row % box.rows or col % box.cols:
            raise Fault("SS-1", f"the window at ({row}, {col}) begins inside a box of {box.rows}x{box.cols}")
        vr, vc = spec.valid_row, spec.valid_col
        if vr == DYNAMIC:
            vr = max(0, min(spec.rows, tile.vr - row if valid[0] is None else uniform(valid[0])))
        if vc == DYNAMIC:
            vc = max(0, min(spec.cols, tile.vc - col if valid[1] is None else uniform(valid[1])))
        return Window(tile, spec, row, col, vr, vc, name)

    def set_valid(self, tile: Tile, rows: Any, cols: Any) -> None:
        """set_validshape, in place."""
        tile.vr = valid_size(rows, tile.type.rows, "row")
        tile.vc = valid_size(cols, tile.type.cols, "column")

    def parts(self, lower: int, upper: int, step: int) -> Iterator[tuple[range, Iterations | None]]:
        """A loop in parts that are done at once, each with its machine; None for iterations to do one by one."""
        return parts(self, self.target, range(lower, upper, step))

    # --- scalars and control -------------------------------------------------------------------------------------

    def load_scalar(self, pointer: Pointer | LocalPointer, index: Any) -> Any:
        """One element of memory."""
        if isinstance(pointer, LocalPointer):
            dtype = pointer.dtype
            values = self.load(pointer, index, dtype.size, dtype.size).view(dtype.value or dtype.storage)
            return lift(values[:, 0])
        buffer, where = _element(pointer, index)
        values = buffer.mem.view(pointer.dtype.value or pointer.dtype.storage)
        if isinstance(where, (Line, np.ndarray)):
            return lift(values[lanes(where)])
        return plain(values[where])

    def store_scalar(self, value: Any, pointer: Pointer | LocalPointer, index: Any) -> None:
        """Write one element of memory; of global memory lower blocks first."""
        if isinstance(pointer, LocalPointer):
            dtype = pointer.dtype
            item = np.atleast_1d(lanes(value)).astype(dtype.value or dtype.storage)
            self.store(pointer, index, item.reshape(-1, 1), None, dtype.size)
            return
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
    def claim(condition: Any, message: str) -> None:
        """cf.assert. Raises `Fault` (RUN-ASSERT) unless the condition holds in every block."""
        if not np.all(condition):
            raise Fault("RUN-ASSERT", f"the assertion does not hold: {message}")

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
