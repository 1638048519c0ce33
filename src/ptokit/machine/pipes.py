"""Pipes between the cores of a cluster.

What a push or pop moves is moved by the instructions that the library uses for it: TMOV out of an accumulator, TINSERT
into the matrix buffer, TSTORE and TLOAD through global memory. Their rules and footprints hold.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Protocol
from zlib import crc32

from ptokit.diagnostics import Scope, define
from ptokit.ir.core import Op
from ptokit.isa.check import first_error
from ptokit.isa.exchange.core_pipes import Setup, Wait
from ptokit.isa.site import Info, Site, TileInfo, ViewInfo
from ptokit.isa.table import TABLE
from ptokit.plan.steps import Step
from ptokit.records import dataclass
from ptokit.targets import Target
from ptokit.types.dtypes import DType
from ptokit.types.enums import AccToVecMode, Layout, TileType
from ptokit.types.tile import DYNAMIC, TileSpec

from .global_memory import View
from .lanes import Fault, uniform
from .signals import Board, End, Event, Freed, Popped, Pushed, Ring, RingKey, Waiting, epilogue_of, step
from .storage import Arena, Storage
from .tiles import Tile, function_at, infos

_MODES = {
    0: AccToVecMode.SingleModeVec0,
    1: AccToVecMode.DualModeSplitM,
    2: AccToVecMode.DualModeSplitN,
}

define(
    "PIPE-LANES",
    "A pipe whose entries are halved joins a cube core with two vector cores.",
    scope=Scope.RUN,
    source="compute-layout-irregular 3.2",
    why="Each half belongs to one vector core; the other half would never be pushed, or never popped.",
    example="""
        # ptokit run --vector-cores {2|1}
        pipe = TPipe(0, Direction.DIR_V2C, 1024, 2, v2c_consumer_buf=0)
        with vector_section():
            t = Tile(Vec, f16, 16, 16, addr=0)
            u = Tile(Vec, f16, 16, 16, ColMajor, slayout=SLayout.RowMajor, addr=1024)
            TEXPANDS(t, 1.0)
            TMOV(u, t)
            set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0)
            wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0)
            TPUSH(pipe, u, TileSplitAxis.TILE_LEFT_RIGHT)
        with cube_section():
            TPOP(pipe, Tile(Mat, f16, 16, 32, ColMajor, slayout=SLayout.RowMajor), TileSplitAxis.TILE_LEFT_RIGHT)
            TFREE(pipe, TileSplitAxis.TILE_LEFT_RIGHT)
    """,
)
define(
    "PIPE-SLOT",
    "A tile that goes through a pipe fits into a slot, and the slots into what is reserved for them.",
    scope=Scope.RUN,
    source="compute-layout-irregular 3.2 (PIPE-COM-01), 3.3 (RSV-01)",
    why="The library writes the tile at number * slot_size, whatever follows.",
    example="""
        # ptokit run
        pipe = TPipe(0, Direction.DIR_V2C, {512|256}, 2, v2c_consumer_buf=0)
        with vector_section():
            t = Tile(Vec, f16, 16, 16, addr=0)
            u = Tile(Vec, f16, 16, 16, ColMajor, slayout=SLayout.RowMajor, addr=1024)
            TEXPANDS(t, 1.0)
            TMOV(u, t)
            set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0)
            wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0)
            TPUSH(pipe, u)
        with cube_section():
            TPOP(pipe, Tile(Mat, f16, 16, 16, ColMajor, slayout=SLayout.RowMajor))
            TFREE(pipe)
    """,
)


class Reserved(int):
    """The address of a reserved buffer, and which one it is."""

    kind: str  # of the core whose buffer it is
    name: str
    size: int | None  # None: as the core that reserves it says
    apart: bool  # it lies nowhere among tiles with addresses

    def __new__(cls, kind: str, name: str, base: int | None, size: int | None) -> Reserved:
        made = super().__new__(cls, 0 if base is None else base)
        made.kind, made.name, made.size, made.apart = kind, name, size, base is None
        return made


@dataclass(frozen=True)
class _Wanted:
    """A tile to make of a slot."""

    spec: TileSpec
    vr: int
    vc: int
    name: str


class PipeListener(Protocol):
    """Who is told of pipes."""

    def piped(self, machine: Any, event: Event) -> None:
        """The running instruction waits for a pipe, or has moved or freed an entry of it."""

    def carry_out_part(self, step: Step, machine: Any, operands: tuple[Any, ...]) -> Any:
        """Carry out an instruction by which the running one is done."""


class Core(Protocol):
    """The core whose pipes these are: what a chunk has of it."""

    vector: bool
    subblock: int
    target: Target
    extended: bool

    @property
    def observer(self) -> PipeListener | None:
        """Who is told."""

    def home(self, loc: TileType) -> Core:
        """The core whose memory a buffer is."""

    def apart(self, number: int, size: int) -> Arena:
        """Memory that lies nowhere among tiles with addresses."""

    def at(self, address: int, spec: TileSpec) -> Storage:
        """Tile memory at an address."""


class Pipes:
    """The pipes of a chunk that runs as one core."""

    def __init__(self, chunk: Core) -> None:
        self.chunk = chunk
        self.board = Board()
        self.ends: dict[Any, End] = {}  # by id
        self.opened: list[End] = []
        self.whole = False  # what is pushed or popped is not halved
        self.section = 0  # of an interpreted kernel: the line where the running one begins

    def join(self, board: Board) -> None:
        """Start as a core of a cluster that has this board."""
        self.board, self.opened = board, []
        self.ends.clear()

    # --- who and where -------------------------------------------------------------------------------------------

    @property
    def on_cube(self) -> bool:
        """True on the cube core."""
        return not self.chunk.vector

    @property
    def me(self) -> int:
        """The number of a vector core, 0 for the cube core."""
        return 0 if self.on_cube else self.chunk.subblock

    def lanes(self, split: int) -> tuple[int, ...]:
        """The vector cores that take part. Raises `Fault` (PIPE-LANES)."""
        if split and self.board.vectors < 2:
            raise Fault("PIPE-LANES", f"split = {split} needs two vector cores, this launch has one beside a cube core")
        self.whole = not split
        if self.whole and not self.on_cube:
            self.board.whole.add(self.section)
        alone = self.whole and self.chunk.target.pipes_are_local
        return (0,) if alone else tuple(range(self.board.vectors))

    def reserve(self, name: str, size: int, location: str, base: int | None) -> Reserved:
        """reserve_buffer."""
        return Reserved("vector" if location == "vec" else "cube", name, base, size)

    def imported(self, name: str) -> Reserved:
        """import_reserved_buffer."""
        kind = "vector" if self.on_cube else "cube"
        base, size = self.board.reserved.get((kind, name), (None, None))
        return Reserved(kind, name, base, size)

    def open(self, id: int | None, setup: Setup) -> End:
        """Set up an end of a pipe."""
        memory, through_memory = setup.memory, setup.through_memory
        if through_memory is None:
            through_memory = memory is not None and not self.chunk.target.pipes_are_local
        rings, buffers = {}, {True: setup.c2v, False: setup.v2c}
        for way in (True, False):
            if setup.directions & (1 if way else 2):
                key, name = _common(buffers[way], setup, id, len(self.opened))
                rings[way] = self.board.ring(key, name, way, setup.slots)
        end = End(
            next(iter(rings.values())).name,
            rings,
            buffers,
            memory if through_memory else None,
            setup.slot_size,
            setup.slots,
            setup.local_slots or setup.slots,
            setup.directions == 3,
            epilogue_of(setup.epilogue),
        )
        self.opened.append(end)
        if id is not None:
            self.ends[id] = end
        return end

    def end(self, key: Any) -> End:
        """The end that an operation names by its id or value."""
        return key if isinstance(key, End) else self.ends[key]

    def _ring(self, end: End, way: bool) -> Ring:
        """The slots that go from cube to vector (True), or the other way. Raises `Fault` where there are none."""
        ring = end.rings.get(way)
        if ring is None:
            there = ("vector", "cube") if way else ("cube", "vector")
            raise Fault("PI-6", f"{end.name} goes from {there[0]} to {there[1]} only")
        return ring

    # --- operations ----------------------------------------------------------------------------------------------

    def push(self, key: Any, entry: Any, split: int, sub: Any) -> Wait:
        """tpush."""
        end, lanes = self.end(key), self.lanes(split)
        ring = self._ring(end, self.on_cube)
        if isinstance(entry, View):  # `alloc` has waited
            self._pushed(ring)
            return lambda: True
        k = step(ring.claimed, self.me)

        def store() -> bool:
            self._store(end, entry, split, self.me if sub is None else int(uniform(sub)), k)
            self._pushed(ring)
            return True

        return self._wait(Waiting(ring, k, lanes, producing=True, then=store))

    def alloc(self, key: Any, entry: Any, split: int) -> Wait:
        """talloc."""
        end, lanes = self.end(key), self.lanes(split)
        ring = self._ring(end, self.on_cube)
        k = step(ring.claimed, self.me)
        return self._wait(
            Waiting(ring, k, lanes, producing=True, then=lambda: self._tensor(end, entry, k, split, consumed=False))
        )

    def pop(self, key: Any, wanted: Info, valid: tuple[Any, Any], split: int, sub: Any) -> Wait:
        """tpop_from."""
        if not isinstance(wanted, TileInfo):
            return self._take(key, None, split, sub)
        spec = wanted.spec
        vr = _valid(spec.valid_row, valid[0], spec.rows, "row")
        vc = _valid(spec.valid_col, valid[1], spec.cols, "column")
        return self._take(key, _Wanted(spec, vr, vc, wanted.name), split, sub)

    def pop_into(self, key: Any, entry: Any, split: int, sub: Any) -> Wait:
        """tpop."""
        return self._take(key, entry, split, sub)

    def _take(self, key: Any, entry: Tile | View | _Wanted | None, split: int, sub: Any) -> Wait:
        """``entry``: what becomes the slot, or the tile to make of it; None for a new tensor."""
        end, lanes = self.end(key), self.lanes(split)
        ring = self._ring(end, not self.on_cube)
        k = ring.popped.get(self.me, 0)

        def take() -> Any:
            found: Any
            if isinstance(entry, Tile | _Wanted):
                found = self._load(end, entry, split, self.me if sub is None else int(uniform(sub)), k)
            else:
                found = self._tensor(end, entry, k, split, consumed=True)
            step(ring.popped, self.me)
            self._tell(Popped(end, ring, k, found))
            if isinstance(found, Tile) and end.memory is not None:  # it has been copied
                self._freed(end, ring)
            return found

        waiting = Waiting(ring, k, lanes, producing=False, then=take)
        waiting.strange = self.me not in ring.consumers(lanes)
        return self._wait(waiting)

    def free(self, key: Any, entry: Any, split: int) -> None:
        """tfree. A tile that came through memory was freed when it was loaded."""
        end = self.end(key)
        ring = self._ring(end, not self.on_cube)
        if entry is not None or end.memory is None:
            self._freed(end, ring)

    def declare(self, wanted: Info) -> View:
        """declare_global."""
        assert isinstance(wanted, ViewInfo)
        dims = tuple(wanted.dims or ())
        return View(None, 0, dims, (1,) * len(dims), wanted.dtype, None)

    def quantise(self, key: Any, words: Any) -> None:
        """set_quant_scalar, set_quant_vector."""
        named = self.ends.get(key)  # without ids, they are the core's, for all of its pipes
        for end in self.opened if named is None else [named]:
            if end.epilogue is not None:
                end.epilogue.words = words

    # --- what an observer is told --------------------------------------------------------------------------------

    def _tell(self, event: Event) -> None:
        if self.chunk.observer is not None:
            self.chunk.observer.piped(self.chunk, event)

    def _wait(self, waiting: Waiting) -> Wait:
        self._tell(waiting)
        return waiting

    def _pushed(self, ring: Ring) -> None:
        self._tell(Pushed(ring, step(ring.pushed, self.me)))

    def _freed(self, end: End, ring: Ring) -> None:
        self._tell(Freed(end, ring, step(ring.freed, self.me)))

    def move(self, name: str, operands: Mapping[str, Any], **given: Any) -> None:
        """Carry out an instruction. Raises `Fault` for what its rules refuse."""
        instr = TABLE[name]
        attrs = instr.attributes(given)
        core = "cube" if self.on_cube else "vector"
        seen = infos(operands)
        known = {o.name: seen.get(o.name) for o in instr.operands}
        site = Site(instr, self.chunk.target, known, attrs, self.chunk.extended, False, core)
        broken = first_error(site)
        if broken is not None:
            raise Fault(broken.rule.id, f"moved by {instr.name}: {broken.message}", hint=broken.hint)
        values = tuple(operands.get(o.name) for o in instr.operands)
        if self.chunk.observer is None:
            function_at(instr, site, attrs)(self.chunk, *values)
            return
        names = tuple(o.name for o in instr.operands)
        part = Step(Op("pto.part"), "instruction", (), names, (), instr, site, attrs)
        self.chunk.observer.carry_out_part(part, self.chunk, values)

    # --- slots ---------------------------------------------------------------------------------------------------

    def _store(self, end: End, tile: Tile, split: int, sub: int, k: int) -> None:
        """Copy a tile into slot k."""
        c2v = self.on_cube
        extra: dict[str, Any] = {}
        dtype = tile.type.dtype
        if end.epilogue is not None:
            dtype, extra = end.epilogue.applied(tile.type.dtype)
        words: dict[str, Any] = {name: extra.pop(name) for name in ("fp", "quant") if name in extra}
        if end.memory is not None:
            pitch = tile.vc * (2 if split in (2, 4) and not c2v else 1)
            first = 0 if c2v else _half(split, sub, tile.vr, tile.vc)
            view = self._in_memory(end, dtype, k, first, (tile.vr, tile.vc), pitch, consumed=False)
            operands: dict[str, Any] = {"dst": view, "src": tile, **words}
            self.move("TSTORE_FP" if "fp" in words else "TSTORE", operands, **extra)
        elif c2v:
            rows = tile.type.rows // (2 if split == 1 else 1)
            cols = tile.type.cols // (2 if split == 2 else 1)
            vr, vc = tile.vr // (2 if split == 1 else 1), tile.vc // (2 if split == 2 else 1)
            spec = TileSpec(TileType.Vec, dtype, rows, cols, rows, cols)
            if end.epilogue is not None:
                spec = replace(spec, blayout=end.epilogue.blayout, slayout=end.epilogue.slayout)
            elif spec.nbytes > end.slot_size and vr:  # only what is valid goes into the slot, row by row
                spec = replace(spec, rows=vr, valid_row=vr)
            slot = self._at_slot(end, spec, k, vr, vc)
            self.move("TMOV", {"dst": slot, "src": tile, **words}, mode=_MODES[split], **extra)
        else:
            rows = tile.type.rows * (2 if split == 1 else 1)
            cols = tile.type.cols * (2 if split == 2 else 1)
            spec = replace(tile.type, loc=TileType.Mat, rows=rows, cols=cols, valid_row=rows, valid_col=cols)
            at = (tile.vr * sub if split == 1 else 0, tile.vc * sub if split == 2 else 0)
            slot = self._at_slot(end, spec, k, *at)
            slot.vr, slot.vc = min(rows, at[0] + tile.vr), min(cols, at[1] + tile.vc)
            self.move("TINSERT", {"dst": slot, "src": tile, "row": at[0], "col": at[1]})

    def _load(self, end: End, wanted: Tile | _Wanted, split: int, sub: int, k: int) -> Tile:
        """Slot k as a tile: the bytes themselves, or what is loaded from it."""
        c2v = not self.on_cube
        tile = self._at_slot(end, wanted.spec, k, wanted.vr, wanted.vc, consumed=True)
        tile.name = wanted.name
        if isinstance(wanted, Tile):
            wanted.storage, wanted.address = tile.storage, tile.address
            tile = wanted
        if end.memory is None:
            return tile
        first, pitch = 0, tile.vc
        if c2v:
            first = _half(split, sub, tile.vr, tile.vc)
            pitch = {2: 2 * tile.vc, 4: 2 * tile.vc + 2 * sub - 1}.get(split, tile.vc)
        view = self._in_memory(end, tile.type.dtype, k, first, (tile.vr, tile.vc), pitch, consumed=True)
        self.move("TLOAD", {"dst": tile, "src": view})
        return tile

    def _at_slot(self, end: End, spec: TileSpec, k: int, vr: int, vc: int, *, consumed: bool = False) -> Tile:
        """Slot k of the consumer's buffer as a tile; of the first vector core where the cube core asks."""
        c2v = self.on_cube != consumed
        if spec.nbytes > end.slot_size:
            raise Fault("PIPE-SLOT", f"the tile has {spec.nbytes} bytes, a slot of {end.name} {end.slot_size}")
        start = k % (end.local_slots if end.memory is not None else end.slots) * end.slot_size
        buffer, home = end.buffers[c2v], self.chunk.home(spec.loc)
        apart = isinstance(buffer, Reserved) and buffer.apart
        size = buffer.size if isinstance(buffer, Reserved) and buffer.size is not None else None
        if size is not None and start + spec.nbytes > size:
            message = f"slot {k % end.slots} of {end.name} ends at byte {start + end.slot_size} of {size} reserved ones"
            raise Fault("PIPE-SLOT", message, hint=f"reserve {end.slots} * {end.slot_size} bytes, or state slot_num")
        if apart:
            arena = home.apart(-1 - crc32(f"{buffer.name} {size}".encode()), size or end.slots * end.slot_size)
            return Tile(arena.window(spec, start), spec, vr, vc, end.name, start)
        address = int(uniform(0 if buffer is None else buffer)) + start
        return Tile(self.chunk.at(address, spec), spec, vr, vc, end.name, address)

    def _in_memory(
        self, end: End, dtype: DType, k: int, first: int, size: tuple[int, int], pitch: int, *, consumed: bool
    ) -> View:
        """Rows of slot k from its element `first` on."""
        memory = end.memory
        assert memory is not None
        start = memory.offset * memory.dtype.size + k % end.slots * end.slot_size
        if end.both and self.on_cube == consumed:  # vector to cube comes after cube to vector
            start += end.slots * end.slot_size
        needed = (first + (size[0] - 1) * pitch + size[1]) * dtype.size
        if needed > end.slot_size:
            raise Fault("PIPE-SLOT", f"the tile ends at byte {needed} of a slot; a slot of {end.name} {end.slot_size}")
        buffer = None if memory.buffer is None else memory.buffer.of_type(dtype)
        return View(buffer, start // dtype.size + first, size, (pitch, 1), dtype, Layout.ND)

    def _tensor(self, end: End, entry: Any, k: int, split: int, *, consumed: bool) -> View:
        """Slot k as the tensor that the pipe was set up with; a vector core's half of it."""
        slot = end.memory
        if not isinstance(slot, View):
            raise Fault("PI-9", f"the slots of {end.name} are no tensors")
        offset = slot.offset + k % end.slots * end.slot_size // slot.dtype.size
        if split and not self.on_cube:
            rows, cols = (1, *slot.dims)[-2:]
            offset += self.me * (rows * cols if split == 1 else cols)
        if isinstance(entry, View):
            entry.buffer, entry.offset, entry.dims, entry.strides = slot.buffer, offset, slot.dims, slot.strides
            entry.stated_layout = slot.stated_layout
            return entry
        return View(slot.buffer, offset, slot.dims, slot.strides, slot.dtype, slot.stated_layout)


def _valid(stated: int, given: Any, full: int, what: str) -> int:
    """A valid size of a popped tile: of its type, or the one that is given, or all. Raises `Fault` (VS-3)."""
    size = stated if stated != DYNAMIC else full if given is None else int(uniform(given))
    if not 0 <= size <= full:
        raise Fault("VS-3", f"valid {what} count {size} is outside 0..{full}")
    return size


def _half(split: int, sub: int, rows: int, cols: int) -> int:
    """First element of a vector core's half in a slot of packed rows; the sizes are those of the half."""
    return {1: sub * rows * cols, 2: sub * cols, 3: sub * (rows + sub) * cols, 4: sub * (cols + sub)}.get(split, 0)


def _common(buffer: Any, setup: Setup, id: int | None, number: int) -> tuple[RingKey, str]:
    """What this end of a ring has in common with the other, and the pipe in words."""
    if isinstance(buffer, Reserved):
        return ("buffer", buffer.kind, buffer.name), f'pipe "{buffer.name}"'
    if setup.flag_base is not None:
        words = f"pipe {setup.name}" if setup.name else f"the pipe with flag_base {setup.flag_base}"
        return ("flag", setup.flag_base), words
    if id is not None:
        return ("id", id), f"pipe {id}"
    return ("number", number), f"pipe {number}"
