"""Tiles as windows on plain bytes, and the known answers of single instructions with operands that are such windows.

A slow, obvious model: a buffer is an array of bytes, a tile an address in it and a rule where an element lies. It has
its own address arithmetic and uses none of the storage of the package. What an instruction does to its operands is
asked of the instruction itself, on tiles that are no windows, whose bytes are cut out of the model and put back.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ptokit.conformance.bench import SCALES, instruction_of, operand_names, scalars_and_attributes
from ptokit.conformance.cases import Case
from ptokit.isa.checks.tile_types import check_tile
from ptokit.isa.table import Instr
from ptokit.machine.buffers import Buffer
from ptokit.machine.global_memory import View
from ptokit.machine.lanes import Fault
from ptokit.machine.tiles import Tile, Window
from ptokit.run.program import Single
from ptokit.targets import TARGETS, Target
from ptokit.types.enums import BLayout, Layout, SLayout, TileType
from ptokit.types.tile import TileSpec

from ..conformance.suites import read_suite

DATA = Path(__file__).parents[1] / "data"
SUITES = ("vectors", "vectors-compute-elementwise", "vectors-compute-matrix-layout")


BY_OFFSET = frozenset({"TGATHER", "TGATHERB", "TSCATTER"})
"""Indices count elements of the memory, so that in a window with gaps between its rows they mean others."""


def _in_memory_order(case: Case) -> bool:
    """True for the moves that lay boxes as far apart as the valid region asks for, whatever the tile's type says."""
    src, dst = case.tiles.get("src"), case.tiles.get("dst")
    return case.op == "TMOV" and src is not None and dst is not None and src.layout_name == "ND" and dst.boxed


FULL = "there is no room for the operands, or none for what they would do"

# 2^63 as i64: the cases want it to wrap, where saturation gives the largest number.
WRAPS_AT_LIMIT = {"P0531_TCVT_f32_i64_RINT_ON", "P0532_TCVT_f32_i64_ROUND_ON"}


@cache
def cases() -> list[tuple[Case, Target]]:
    """Every case of the conformance suites that a target executes, and whose tiles have rows and columns."""
    found = [case for name in SUITES for case in read_suite(DATA / name)]
    return [
        (case, target)
        for case in found
        if all(type(spec) is TileSpec for spec in case.tiles.values()) and _runs(case)
        for target in TARGETS.values()
        if target.name in case.legal_on and case.expected(target.name) is not None
    ]


def _runs(case: Case) -> bool:
    instr = instruction_of(case.op, case.tiles, case.args)
    return instr is not None and instr.run is not None and case.id not in WRAPS_AT_LIMIT


# --- the model -------------------------------------------------------------------------------------------------------


@dataclass
class Place:
    """A tile of type `spec` in a buffer: its first byte, and how large the tile is that its elements are counted in."""

    spec: TileSpec
    start: int
    rows: int
    cols: int

    @property
    def whole(self) -> TileSpec:
        """The type of the tile that it is a window of, with this one's valid region."""
        return replace(self.spec, rows=self.rows, cols=self.cols)

    def at(self, r: Any, c: Any) -> Any:
        """Element offset of (r, c) from the first byte (types-and-layouts 6)."""
        spec, size = self.spec, self.spec.dtype.size
        by_rows = spec.blayout is BLayout.RowMajor
        if spec.slayout is SLayout.NoneBox:
            return r * self.cols + c if by_rows else c * self.rows + r
        if self.rows == 1 and spec.slayout is SLayout.RowMajor:
            return r + c
        c0 = 64 if spec.dtype.packed else 32 // size
        short, long = {512: (c0, 16), 1024: (16, 16), 32: (2, 16)}[spec.fractal]
        inner = spec.slayout is SLayout.RowMajor
        ir, ic = (long, short) if inner else (short, long)
        inside = (r % ir) * ic + c % ic if inner else (c % ic) * ir + r % ir
        if by_rows:
            return (r // ir) * self.cols * ir + (c // ic) * ir * ic + inside
        return (c // ic) * self.rows * ic + (r // ir) * ir * ic + inside

    def offsets(self) -> np.ndarray:
        """Of all elements, (rows, cols)."""
        return np.broadcast_to(
            self.at(np.arange(self.spec.rows)[:, None], np.arange(self.spec.cols)[None, :]),
            (self.spec.rows, self.spec.cols),
        )


class Model:
    """The bytes of every buffer of a core."""

    def __init__(self, target: Target, rng: np.random.Generator) -> None:
        self.bytes = {loc: rng.integers(0, 256, size, dtype=np.uint8) for loc, size in target.capacity.items() if size}

    def get(self, place: Place) -> np.ndarray:
        """Codes of the elements, (rows, cols)."""
        data, dtype = self.bytes[place.spec.loc], place.spec.dtype
        where = place.offsets()
        if dtype.packed:
            return data[place.start + where // 2] >> 4 * (where % 2) & 15
        return _items(data, place.start, where, dtype.size).reshape(*where.shape, -1)

    def put(self, place: Place, codes: np.ndarray) -> None:
        """Set the elements."""
        data, dtype = self.bytes[place.spec.loc], place.spec.dtype
        where = place.offsets()
        if not dtype.packed:
            index = place.start + where[..., None] * dtype.size + np.arange(dtype.size)
            data[index] = codes
            return
        for k, code in zip(where.reshape(-1), codes.reshape(-1)):
            byte = place.start + k // 2
            data[byte] = (data[byte] & (0xF0 if k % 2 == 0 else 0x0F)) | (int(code) << 4 * (k % 2))

    def cut(self, place: Place) -> np.ndarray:
        """The bytes of the tile, as large as the tile that it is a window of."""
        return self.bytes[place.spec.loc][place.start : place.start + place.whole.nbytes]


def _outcome(run: Callable[[], Any]) -> str:
    """The rule of the fault that a call ends with, if any."""
    try:
        with np.errstate(all="ignore"):
            run()
    except Fault as fault:
        return fault.rule
    return ""


def _items(data: np.ndarray, start: int, where: np.ndarray, size: int) -> np.ndarray:
    return data[start + where[..., None] * size + np.arange(size)]


def dense(spec: TileSpec) -> Place:
    """The tile alone at the start of some memory."""
    return Place(spec, 0, spec.rows, spec.cols)


def elements(spec: TileSpec, data: np.ndarray) -> np.ndarray:
    """Codes of the elements of a tile with the bytes `data`."""
    model = Model.__new__(Model)
    model.bytes = {spec.loc: data}
    return model.get(dense(spec))


# --- programs --------------------------------------------------------------------------------------------------------


def _counted(parent: tuple[int, int], spec: TileSpec) -> tuple[int, int]:
    """Rows and columns that a window's elements are counted in: its own where its lines are as long as the parent's."""
    same = parent[1] == spec.cols if spec.row_major else parent[0] == spec.rows
    return (spec.rows, spec.cols) if same else parent


@dataclass
class Step:
    """One instruction with its operands in both worlds."""

    case: Case
    instr: Instr
    places: dict[str, Place]  # by the case's names
    tiles: dict[str, Tile]


class Program:
    """A few instructions on one core whose operands are tiles and windows at random places of its buffers."""

    def __init__(self, target: Target, seed: int, windows: float = 0.7) -> None:
        """``windows``: how many of the operands are windows."""
        self.windows = windows
        self.r, self.rng = random.Random(seed), np.random.default_rng(seed)
        self.target = target
        self.single = Single(target)
        self.model = Model(target, self.rng)
        for loc, data in self.model.bytes.items():
            self.single.chunk.space(loc).data[0, : len(data)] = data
        self.told: list[str] = []

    def spaces(self) -> Iterator[tuple[TileType, np.ndarray]]:
        """Every buffer as the package has it."""
        for loc, data in self.model.bytes.items():
            arena = self.single.chunk.space(loc)
            arena.settle(0, arena.size, write=False)
            yield loc, arena.data[0, : len(data)]

    # --- where operands lie ------------------------------------------------------------------------------------------

    def _parent(self, spec: TileSpec) -> tuple[TileSpec, int, int] | None:
        """A tile type that can hold `spec` at a (row, column); None if none was found."""
        ir, ic = spec.box
        for _ in range(4):
            down, right = self.r.choice([0, 0, 1, 2]), self.r.choice([0, 1, 2])
            wide = 1 if spec.boxed else spec.c0
            rows = spec.rows + ir * down * (1 if spec.row_major or spec.boxed else wide)
            cols = spec.cols + ic * right * (wide if spec.row_major else 1)
            parent = replace(spec, rows=rows, cols=cols, valid_row=rows, valid_col=cols)
            odd = spec.boxed and (spec.rows == 1 or rows % ir)
            if (
                odd
                or spec.loc is TileType.Scaling
                or (rows, cols) == (spec.rows, spec.cols)
                or any(check_tile(parent, self.target))
            ):
                continue
            return (
                parent,
                ir * self.r.randint(0, (rows - spec.rows) // ir),
                ic * self.r.randint(0, (cols - spec.cols) // ic),
            )
        return None

    def _free(self, loc: TileType, nbytes: int, taken: list[range]) -> int | None:
        """An address whose bytes no other operand of the instruction has."""
        room = self.target.capacity.get(loc, 0) - nbytes
        for _ in range(30):
            start = self.r.randint(0, max(0, room // 512)) * 512
            if start <= room and not any(start < t.stop and t.start < start + nbytes for t in taken):
                return start
        return None

    def _host(self, name: str, spec: TileSpec, taken: list[range], window: bool) -> tuple[Place, Tile] | None:
        """An operand: a tile at an address, or a window of one."""
        found = self._parent(spec) if window else None
        parent, row, col = found or (spec, 0, 0)
        first = self._free(spec.loc, 2 * parent.nbytes, taken)  # a part of a tile ends as far after it as it begins
        if first is None:
            return None
        taken.append(range(first, first + 2 * parent.nbytes))
        storage = self.single.chunk.at(first, parent)
        tile = Tile(storage, parent, parent.valid_row, parent.valid_col, name, first)
        if found is None:
            return Place(spec, first, spec.rows, spec.cols), tile
        whole = Place(parent, first, parent.rows, parent.cols)
        elements = int(whole.at(row, col))
        if spec.dtype.packed and elements % 2:
            return None
        nbytes = elements // 2 if spec.dtype.packed else elements * spec.dtype.size
        size = parent.rows, parent.cols
        if self.r.random() < 0.2:  # a window of a window
            middle = replace(parent, rows=parent.rows - row, cols=parent.cols - col)
            middle = middle.with_valid(middle.rows, middle.cols)
            tile = self.single.chunk.window(tile, (row, col), middle, name)
            row = col = 0
            size = _counted(size, middle)
        made = self.single.chunk.window(tile, (row, col), spec, name)
        size = _counted(size, spec)
        self.told.append(f"{name}: {spec} of {parent} at {first:#x}+{nbytes}")
        return Place(spec, first + nbytes, *size), made

    def _same(self, step: Step, first: str, name: str, spec: TileSpec) -> tuple[Place, Tile]:
        """An operand with the bytes of another one."""
        place, tile = step.places[first], step.tiles[first]
        if isinstance(tile, Window):
            return replace(place, spec=spec), self.single.chunk.window(tile, (0, 0), spec, name)
        storage = tile.storage.arena.window(spec, place.start)
        made = Tile(storage, spec, spec.valid_row, spec.valid_col, name, tile.address)
        return Place(spec, place.start, spec.rows, spec.cols), made

    # --- what they hold ----------------------------------------------------------------------------------------------

    def _fill(self, tile: Tile, place: Place, data: np.ndarray) -> None:
        """Put the case's bytes into an operand, in one of the ways in which tiles get their values."""
        spec = place.spec
        codes = elements(spec, data)
        self.model.put(place, codes)
        way = self.r.choice(["raw", "take", "load", "patch"])
        other = self.single.tile(spec.with_valid(spec.rows, spec.cols), data)
        if way == "raw" or spec.dtype.packed or spec.numel == 0:
            storage = tile.storage
            arena = storage.arena
            arena.settle(storage.start, storage.start + storage.spec.nbytes, write=True)
            arena.data[0, place.start : place.start + place.whole.nbytes] = self.model.cut(place)
        elif way == "take":
            tile.take(other, spec.rows, spec.cols)
        elif way == "patch":
            tile.patch(other.read().copy(), 0, 0)
        else:
            memory = np.ascontiguousarray(codes).reshape(-1)
            buffer = Buffer("g", memory, spec.dtype)
            shape, stride = (spec.rows, spec.cols), (spec.cols, 1)
            tile.storage.load(View(buffer, 0, shape, stride, spec.dtype, Layout.ND), Layout.ND, *shape)

    # --- one instruction ---------------------------------------------------------------------------------------------

    def step(self, case: Case) -> str:
        """Execute a case in both worlds; a message if its known answer does not come out of the model."""
        instr = instruction_of(case.op, case.tiles, case.args)
        assert instr is not None
        assert instr.run is not None
        plain = bool(SCALES.keys() & case.tiles.keys())
        taken: list[range] = []
        step = Step(case, instr, {}, {})
        for name, spec in case.tiles.items():
            same = case.alias.get(name)
            if same is not None and same in step.places:
                step.places[name], step.tiles[name] = self._same(step, same, name, spec)
                continue
            shared = [case.tiles[other] for other, first in case.alias.items() if first == name]
            apart = any((other.rows, other.cols) != (spec.rows, spec.cols) for other in shared)
            hosted = self._host(name, spec, taken, not plain and not apart and self.r.random() < self.windows)
            if hosted is None:
                return FULL
            step.places[name], step.tiles[name] = hosted
            if name in case.inputs:
                self._fill(step.tiles[name], step.places[name], case.inputs[name])
        for name, scaled in SCALES.items():
            if name in step.tiles and scaled in step.tiles:
                step.tiles[name].address = step.tiles[scaled].address // 16
        self.told.append(f"{case.id} {instr.name}")
        given, attrs = self._operands(step, step.tiles, self.single)
        memory = {name: array.copy() for name, array in self._arrays.items()}
        reference = Single(self.target)
        cut: dict[str, Tile] = {}
        for name, place in step.places.items():
            cut[name] = reference.tile(place.whole, self.model.cut(place).tobytes(), name=name)
            if name in case.alias and case.alias[name] in cut:
                cut[name].storage = cut[case.alias[name]].storage.arena.window(place.whole, 0)
        found = _outcome(lambda: self.single.execute(instr, given, attrs))
        after = self._arrays
        plain_operands, attrs = self._operands(step, cut, reference, memory)
        complete = instr.attributes(attrs)
        run = [plain_operands.get(o.name) for o in instr.operands]
        wanted = _outcome(lambda: instr.run(reference.chunk, *run, **complete))
        if found != wanted:
            return f"fault {found} where {wanted or 'none'} is due"
        if wanted:
            return FULL
        for name in sorted(cut, key=lambda n: n in ("dst", "dst0", "dst1", "c")):
            self.model.cut(step.places[name])[:] = cut[name].raw()[0]
        for name, array in memory.items():
            if not np.array_equal(array, after[name]):
                return f"{name} differs"
        return self._known(step)

    def _operands(
        self, step: Step, tiles: dict[str, Tile], machine: Single, memory: dict[str, np.ndarray] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Operands and attributes by the names of the table."""
        case, instr = step.case, step.instr
        names = operand_names(instr, [*case.tiles, *case.views])
        given: dict[str, Any] = {names[k]: v for k, v in tiles.items()}
        arrays = {}
        for name, view in case.views.items():
            array = np.zeros(view.nbytes, np.uint8)
            if memory is not None:
                array = memory[name]
            elif name in case.inputs:
                array[:] = case.inputs[name]
            arrays[name] = array
            given[names[name]] = machine.view(view.dtype, array, view.shape, view.stride, view.layout, name=name)
        self._arrays = arrays
        first = next((case.tiles[k] for k in ("src", "src0", "dst") if k in case.tiles), None)
        scalars, attrs = scalars_and_attributes(instr, case.args, None if first is None else first.dtype)
        given.update(scalars)
        if case.args.get("inplace"):
            given["acc"] = given["dst"]
        return given, attrs

    def _known(self, step: Step) -> str:
        """The first tile whose elements are not the case's answer, where these count."""
        expected = step.case.expected(self.target.name)
        assert expected is not None
        gaps = any((p.rows, p.cols) != (p.spec.rows, p.spec.cols) for p in step.places.values())
        if gaps and (step.instr.name in BY_OFFSET or _in_memory_order(step.case)):
            return ""
        for name, out in expected.out.items():
            if out is None or name not in step.places or name in expected.tol:
                continue
            spec = step.places[name].spec
            rows, cols = spec.valid_row, spec.valid_col
            want, got = elements(spec, out), self.model.get(step.places[name])
            care = expected.care.get(name)
            if care is not None:
                mask = elements(spec, care)
                want, got = want & mask, got & mask
            if not np.array_equal(want[:rows, :cols], got[:rows, :cols]):
                return f"{name} is not the known answer"
        return ""

    def compare(self) -> str:
        """The first byte that differs."""
        for loc, data in self.spaces():
            wrong = np.flatnonzero(data != self.model.bytes[loc])
            if wrong.size:
                return f"{loc.name} byte {wrong[0]:#x} of {wrong.size} bytes"
        return ""


def play(seed: int) -> tuple[list[str], str]:
    """Run the program of a seed: what it did, and the first difference."""
    r = random.Random(seed * 7 + 1)
    found = cases()
    case, target = r.choice(found)
    program = Program(target, seed)
    for k in range(r.choice([1, 1, 2, 3])):
        if k:
            case = r.choice([c for c, t in r.sample(found, 60) if t is target] or [case])
        message = program.step(case)
        if message == FULL:
            program.told.append("no room")
            continue
        if message:
            return program.told, message
    return program.told, program.compare()
