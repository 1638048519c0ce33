"""The operands of a case on one target: made from its bytes, checked, executed and compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Mapping
from typing import Any

import numpy as np

from ptokit.diagnostics import Scope, Severity
from ptokit.isa.check import broken_rules
from ptokit.isa.checks.tile_types import check_tile
from ptokit.isa.site import UNKNOWN, Site
from ptokit.isa.table import Instr
from ptokit.machine.calls import infos
from ptokit.machine.tiles import Tile
from ptokit.run.single import Single
from ptokit.targets import Target
from ptokit.types.dtypes import DType
from ptokit.types.enums import TileType
from ptokit.types.tensor import ConvSpec
from ptokit.types.tile import TileSpec, offset_map

from .binding import operand_names, scalars_and_attributes
from .cases import Case, Expectation, ViewCase
from .compare import Want, show_element

ALIGNMENT = 512  # of the tiles' addresses, bytes
SCALES = {"as": "a", "bs": "b"}  # scale tiles lie at 1/16 of the address of the tile they scale


class Bench:
    """A machine with the buffers of one case. Raises `binding.UnknownNameError` if they do not fit the instruction."""

    def __init__(self, case: Case, instr: Instr | None, target: Target) -> None:
        """``instr`` is None for what the executor itself implements."""
        self.case, self.instr, self.target = case, instr, target
        self.machine = Single(target)
        self.memory: dict[str, np.ndarray] = {}
        self.tiles: dict[str, Tile] = {}
        self._place_tiles()
        views = {name: self._view(name, view) for name, view in case.views.items()}
        self.names: dict[str, str] = {}
        self.operands: dict[str, Any] = {}
        if instr is None:
            return
        self.names = operand_names(instr, [*case.tiles, *case.views])
        self.operands = {self.names[k]: v for k, v in (*self.tiles.items(), *views.items())}
        scalars, self.attrs = scalars_and_attributes(instr, case.args, self._scalar_type())
        self.operands.update(scalars)
        if case.args.get("inplace"):
            self.operands["acc"] = self.operands["dst"]

    def _place_tiles(self) -> None:
        top: Counter[TileType] = Counter()
        for name, spec in self.case.tiles.items():
            same = self.case.alias.get(name)
            if same is not None and same in self.tiles:
                first = self.tiles[same]
                window = first.storage.arena.window(spec, first.storage.start)
                self.tiles[name] = Tile(window, spec, spec.valid_row, spec.valid_col, name, first.address)
                continue
            tile = self.machine.tile(spec, self.case.inputs.get(name), name=name)
            tile.address = _place(spec, top, self.target)
            self.tiles[name] = tile
        for scale, scaled in SCALES.items():
            if scale in self.tiles and scaled in self.tiles:
                address = self.tiles[scaled].address
                self.tiles[scale].address = address // 16 if isinstance(address, int) else address

    def _view(self, name: str, view: ViewCase) -> Any:
        memory = np.zeros(view.nbytes, np.uint8)
        given = self.case.inputs.get(name)
        if given is not None:
            memory[:] = given
        self.memory[name] = memory
        return self.machine.view(view.dtype, memory, view.shape, view.stride, view.layout, name=name)

    def _scalar_type(self) -> DType | None:
        """Type of the number ``scalar``: that of the source, of the destination where there is none."""
        spec = next((self.case.tiles[k] for k in ("src", "src0", "dst") if k in self.case.tiles), None)
        return None if spec is None else spec.dtype

    def broken(self, *, warnings: Container[str] = ()) -> set[str]:
        """All error rules that the case breaks: of its tile types and of the instruction.

        ``warnings``: rules that count where they only warn, too.
        """
        found = {
            b.rule.id
            for spec in self.case.tiles.values()
            for b in check_tile(spec, self.target)
            if b.severity is Severity.ERROR or b.rule.id in warnings
        }
        if self.instr is None:
            return found
        given = {o.name: self.operands.get(o.name) for o in self.instr.operands}
        site = Site(self.instr, self.target, infos(given), self.instr.attributes(self.attrs))
        for b in broken_rules(site):
            if (b.severity is Severity.ERROR or b.rule.id in warnings) and b.rule.scope is Scope.ISA:
                found.add(b.rule.id)
        return found

    def execute(self) -> None:
        """Run the instruction. Raises `Fault`."""
        if self.instr is None:
            self.tiles["dst"] = EXECUTOR[self.case.op.upper()](self)
        else:
            self.machine.execute(self.instr, self.operands, self.attrs)

    def compare(self, expected: Expectation) -> str:
        """The first difference, "" if there is none: listed buffers as they say, the others unchanged."""
        shared = {self.case.alias.get(name) for name in expected.out} - {None}
        wanted: dict[str, Want | None] = {
            name: Want(data) for name, data in self.case.inputs.items() if name not in shared
        }
        for name, out in expected.out.items():
            wanted[name] = None if out is None else Want(out, expected.care.get(name), expected.tol.get(name))
        for name, want in wanted.items():
            if want is None:
                continue
            dtype = self.case.tiles[name].dtype if name in self.tiles else self.case.views[name].dtype
            got = self._bytes(name)
            wrong = want.first_wrong(got, dtype)
            if wrong is not None:
                return self._difference(name, wrong, dtype, want.out, got)
        return ""

    def _bytes(self, name: str) -> np.ndarray:
        return self.memory[name] if name in self.memory else self.tiles[name].raw()[0]

    def _difference(self, name: str, index: int, dtype: DType, want: np.ndarray, got: np.ndarray) -> str:
        """``dst at row 1, col 3, byte 28: expected 0x3f800000 (1), got 0x00000000 (0)``."""
        if name in self.tiles:
            place = _in_tile(self.case.tiles[name], index)
        else:
            place = self._in_view(name, index)
        where = "" if place is None else f"row {place[0]}, col {place[1]}, "
        if place is None and name in self.memory:
            where = "a gap of the view, "
        byte = index // 2 if dtype.packed else index * dtype.size
        values = f"expected {show_element(dtype, want, index)}, got {show_element(dtype, got, index)}"
        return f"{name} at {where}byte {byte}: {values}"

    def _in_view(self, name: str, index: int) -> tuple[int, int] | None:
        view = self.operands[self.names[name]]
        hits = np.argwhere(view.indices(self.case.views[name].layout)[0] == index)
        return (int(hits[0][0]), int(hits[0][1])) if len(hits) else None


def _reshape(bench: Bench) -> Tile:
    return bench.machine.chunk.alias(bench.tiles["src"], bench.case.tiles["dst"], "dst")


def _subview(bench: Bench) -> Tile:
    """The bytes behind the base address of the view, in the type of dst."""
    src, dst = bench.tiles["src"], bench.case.tiles["dst"]
    start = int(offset_map(src.spec)[bench.case.args["row"], bench.case.args["col"]]) * src.spec.dtype.size
    data = np.zeros(dst.nbytes, np.uint8)
    seen = src.raw()[0, start : start + dst.nbytes]
    data[: len(seen)] = seen
    return bench.machine.tile(dst, data, name="dst")


EXECUTOR: Mapping[str, Callable[[Bench], Tile]] = {"TRESHAPE": _reshape, "TSUBVIEW": _subview}
"""Instructions without a meaning of their own in the table: the executor itself implements them."""


def _in_tile(spec: TileSpec, index: int) -> tuple[int, int] | None:
    if isinstance(spec, ConvSpec):
        return 0, index
    hits = np.argwhere(offset_map(spec) == index)
    return (int(hits[0][0]), int(hits[0][1])) if len(hits) else None


def _place(spec: TileSpec, top: Counter[TileType], target: Target) -> Any:
    """A legal address behind the tiles placed so far; unknown if the buffer is full."""
    address = top[spec.loc]
    top[spec.loc] += -(-spec.nbytes // ALIGNMENT) * ALIGNMENT
    return address if address + spec.nbytes <= target.capacity.get(spec.loc, 0) else UNKNOWN
