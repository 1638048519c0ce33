"""Tiles and windows of tiles, and what a machine of blocks calls for a step of a plan.

Steps are data. What they are bound to is found when a machine first does them, and kept with them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import prod
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from ptokit.diagnostics import Severity
from ptokit.isa.check import Asked, first_error, found_by, open_operands, watched
from ptokit.isa.site import UNKNOWN, Info, PtrInfo, RegisterInfo, ScalarInfo, Site, TileInfo, ViewInfo
from ptokit.isa.table import Instr
from ptokit.plan.steps import Step
from ptokit.targets import Target
from ptokit.types.codecs import unsigned, width
from ptokit.types.enums import Layout, TileType
from ptokit.types.tensor import HIF4_PAIRS, SCALE_GROUPS
from ptokit.types.tile import TileSpec, element_offset, windowed

from . import arithmetic
from .global_memory import Pointer, View
from .lanes import Fault, Line, lanes, plain, settled
from .local_memory import LocalPointer
from .storage import Storage

# A tile at run time: a type, a valid region, and its storage.


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
        """A writable array for the region, which is to be overwritten as a whole; None if the storage has boxes."""
        rows, cols = self.region(rows, cols)
        return self.storage.out(rows, cols)

    def write(self, values: np.ndarray, rows: int | None = None, cols: int | None = None) -> None:
        """Set the region; the array belongs to the tile afterwards."""
        rows, cols = self.region(rows, cols)
        self.storage.write(values, rows, cols)

    def load(self, view: View, layout: Layout, region: tuple[int, int] | None = None) -> None:
        """Set the valid region to the 2-D view of global memory, bit for bit; or a region, which has the view's size.

        Of a larger ND view, the first rows and columns are taken. Raises `Fault` if the view leaves its memory or is
        smaller than the valid region.
        """
        if not (self.vr and self.vc):
            return  # nothing is moved
        if region is not None:
            view.check_bounds()
            self.storage.load(view, layout, *region)
            return
        if layout in HIF4_PAIRS:
            view, layout = view.in_pairs(), HIF4_PAIRS[layout]
        rows, cols = view.extent(layout)
        if layout in (Layout.ND, Layout.DN) and rows >= self.vr and cols >= self.vc:
            view.check_bounds()
            self.storage.load(*self._first_lines(view, layout))
            return
        if layout in SCALE_GROUPS and self.vr <= rows <= self.spec.rows and self.vc <= cols <= self.spec.cols:
            view.check_bounds()
            self.storage.load(view, layout, rows, cols)  # groups are moved as a whole, valid or not
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


# Rules that a launch asks: those that the text leaves open, once for each combination of what they look at.


_REMEMBERED = 4096  # combinations per place in a program

Looked = tuple[tuple[int, str], ...]
"""What rules have looked at: operands by their numbers, and what of them."""


class Asking:
    """The rules that one place in a program leaves open. ``live``: they look at what tiles hold, at every call."""

    def __init__(self, site: Site, attrs: Mapping[str, Any], rules: Sequence[Asked], *, live: bool) -> None:
        self.site, self.attrs, self.rules, self.live = site, attrs, rules, live
        self.names = [o.name for o in site.instr.operands]
        self.opened = open_operands(site)
        self.numbers = [
            k for k, name in enumerate(self.names) if isinstance(site.operands.get(name), ScalarInfo | PtrInfo)
        ]
        self._passed: dict[Looked, set[tuple[Any, ...]]] = {}
        self._count = 0

    def __call__(self, machine: Any, operands: Sequence[Any]) -> None:
        """Ask before a call. Raises `Fault` for the first rule that is broken."""
        if self._known(operands) is None:
            for block, single in self._blocks(operands):
                self.ask(machine, single, block)

    def _known(self, operands: Sequence[Any]) -> Looked | None:
        """What rules looked at before, if they would see the same again."""
        if self.live:
            return None
        for looked, passed in self._passed.items():
            try:
                if tuple([_SEEN[field](operands[k]) for k, field in looked]) in passed:
                    return looked
            except TypeError:  # an array: a number for each block
                return None
        return None

    def ask(self, machine: Any, operands: Sequence[Any], block: int | None = None) -> Looked:
        """What the rules look at, of the operands of one block. Raises `Fault` for the first that is broken.

        ``block``: its number in the chunk, where that tells the operands apart.
        """
        known = self._known(operands)
        if known is not None:
            return known
        looked: set[tuple[int, str]] = set()
        site, index = self.site, self.names.index
        given = infos(dict(zip(self.names, operands)), site.operands)
        shown = replace(site, operands={**site.operands, **given}, attrs=self.attrs)
        seen = watched(shown, self.opened, lambda operand, field: looked.add((index(operand), field)))
        broken = list(found_by(self.rules, seen))
        for b in broken:
            if b.severity is Severity.ERROR:
                raise Fault(b.rule.id, b.message, hint=b.hint, block=block)
        for b in broken:
            if b.rule.severity is Severity.WARNING:  # a doubt about an error is for memory to settle, not for a remark
                machine.remark(b.rule.id, b.message)
        order = tuple(sorted(looked))
        if not broken and not self.live and self._count < _REMEMBERED:
            self._passed.setdefault(order, set()).add(tuple([_SEEN[field](operands[k]) for k, field in order]))
            self._count += 1
        return order

    def _blocks(self, operands: Sequence[Any]) -> Iterator[tuple[int | None, Sequence[Any]]]:
        """The operands of each block, one after the other, where numbers differ between blocks."""
        columns = {k: column for k in self.numbers if (column := _column(operands[k])) is not None}
        if not columns:
            yield None, operands
            return
        for block in range(max(map(len, columns.values()))):
            single = list(operands)
            for k, column in columns.items():
                single[k] = _with_number(operands[k], plain(column[block if len(column) > 1 else 0]))
            yield block, single


def check_operands(
    instr: Instr,
    target: Target,
    operands: Mapping[str, Any],
    attrs: Mapping[str, Any],
    *,
    extended: bool,
    stated: Mapping[str, Info | None] | None = None,
) -> None:
    """Check all rules of an instruction on run-time operands. Raises `Fault` for the first that is broken.

    ``stated``: what the text says of operands and results.
    """
    site = Site(instr, target, {**(stated or {}), **infos(operands, stated)}, attrs, extended)
    broken = first_error(site)
    if broken is not None:
        raise Fault(broken.rule.id, broken.message, hint=broken.hint)


def infos(operands: Mapping[str, Any], stated: Mapping[str, Info | None] | None = None) -> dict[str, Info | None]:
    """Run-time operands as rules see them. ``stated``: what the text says of them, which numbers alone do not tell."""
    tile = next((o for o in operands.values() if isinstance(o, Tile)), None)
    stated = stated or {}
    return {name: _info(name, o, tile, stated.get(name)) for name, o in operands.items()}


def _info(name: str, operand: Any, tile: Tile | None, stated: Info | None) -> Info | None:
    if operand is None or isinstance(stated, RegisterInfo):
        return stated if isinstance(stated, RegisterInfo) else None
    if isinstance(operand, Tile):
        address = UNKNOWN if operand.address is None else operand.address
        origin = (id(operand.storage.arena), operand.storage.start)
        return TileInfo(operand.name or name, operand.type, operand.vr, operand.vc, address, operand, origin)
    if isinstance(operand, View):
        layout = operand.layout_for(tile is None or tile.spec.takes_rows)
        found = ViewInfo(name, operand.dtype, operand.shape, operand.stride, layout, operand)
        return replace(found, dims=stated.dims, whole=stated.whole) if isinstance(stated, ViewInfo) else found
    if isinstance(operand, LocalPointer | Pointer):
        local = isinstance(operand, LocalPointer)
        address = operand.address if local and isinstance(operand.address, int) else UNKNOWN  # type: ignore[union-attr]
        space = operand.space if isinstance(operand, LocalPointer) else "gm"
        return PtrInfo(name, operand.dtype, space, address, isinstance(stated, PtrInfo) and stated.signed)
    if isinstance(stated, ScalarInfo):
        return ScalarInfo(stated.name, stated.type, _number(operand, stated.type), stated.signed)
    return ScalarInfo(name, "", _number(operand, ""))


def _number(operand: Any, type: str) -> Any:
    """The value of a scalar as rules see constants."""
    if isinstance(operand, np.generic):
        operand = plain(operand)
    if isinstance(operand, np.generic):  # a NaN with its bits
        operand = float(operand)
    if not isinstance(operand, (int, float)):
        return UNKNOWN
    return unsigned(operand, width(type)) if type.startswith("ui") else operand


def _column(operand: Any) -> np.ndarray | None:
    """The numbers of the blocks, of a scalar or pointer in which they differ."""
    if isinstance(operand, LocalPointer):
        operand = operand.address
    if isinstance(operand, Line | np.ndarray):
        column: np.ndarray = np.reshape(lanes(operand), -1)
        return column
    return None


def _with_number(operand: Any, number: Any) -> Any:
    """The same with the number of one block."""
    if isinstance(operand, LocalPointer):
        return LocalPointer(operand.space, number, operand.dtype, operand.apart)
    return number


def _value(operand: Any) -> Any:
    if isinstance(operand, float):
        return operand.hex()
    if isinstance(operand, Line | np.ndarray):
        raise TypeError("it differs between blocks")
    return operand


def _origin(tile: Tile) -> Any:
    return id(tile.storage.arena), tile.storage.start


_SEEN: dict[str, Callable[[Any], Any]] = {
    "vr": attrgetter("vr"),
    "vc": attrgetter("vc"),
    "addr": lambda o: None if isinstance(o, Pointer) else _value(o.address),
    "origin": _origin,
    "data": id,
    "shape": lambda view: view.dims,
    "stride": lambda view: (view.dims, view.strides),
    "layout": lambda view: (view.dims, view.strides, view.stated_layout),
    "value": _value,
}
"""A key for what rules look at, equal where they cannot tell the difference. `TypeError` where blocks differ."""


# What a machine of blocks calls for a step of a plan: the function of an instruction, or of arithmetic on numbers.


class Bound(NamedTuple):
    """``call(machine, *operands)`` of an instruction, of arithmetic ``call(*operands)``.

    ``asking``: the rules that the call asks first; None if the text has decided all of them.
    """

    call: Callable[..., Any]
    asking: Asking | None = None


def bound(step: Step) -> Bound:
    """What an instruction or arithmetic is bound to."""
    found: Bound | None = step.bound
    if found is None:
        found = step.bound = _instruction(step) if step.word == "instruction" else Bound(arithmetic.function(step.op))
    return found


def carry_out(step: Step, machine: Any, *operands: Any) -> Any:
    """Do a step on a machine, with operands as they are at that moment. Not for words of `CONTROL`."""
    if step.word == "instruction":
        return bound(step).call(machine, *operands)
    if step.word == "compute":
        return bound(step).call(*operands)
    found = getattr(machine, step.word)
    return found(*operands) if callable(found) else found


def _instruction(step: Step) -> Bound:
    instr, site = step.instr, step.site
    assert instr is not None
    asking = None
    if step.rules:
        assert site is not None
        asking = Asking(site, step.attrs, step.rules, live=step.live)
    call = function_at(instr, site, step.attrs)
    if asking is not None:
        call = _asked(call, asking)
    return Bound(_simplest(call, step.varying) if step.varying else call, asking)


def function_at(instr: Instr, site: Site | None, attrs: Mapping[str, Any]) -> Callable[..., Any]:
    """``call(machine, *operands)`` at one place in a program. ``attrs``: complete."""
    run = instr.run if site is None else instr.run_at(site)
    assert run is not None
    if instr.typed and site is not None:
        attrs = {**attrs, "types": site.operands}
    return (lambda machine, *operands: run(machine, *operands, **attrs)) if attrs else run


def _asked(call: Callable[..., Any], asking: Asking) -> Callable[..., Any]:
    def checked(machine: Any, *operands: Any) -> Any:
        asking(machine, operands)
        return call(machine, *operands)

    return checked


def _simplest(call: Callable[..., Any], varying: tuple[bool, ...]) -> Callable[..., Any]:
    """The same with numbers among the results in their simplest form."""
    if len(varying) == 1:
        return lambda machine, *operands: settled(call(machine, *operands))

    def several(machine: Any, *operands: Any) -> Any:
        results = call(machine, *operands)
        return (*(settled(r) if s else r for r, s in zip(results, varying)), *results[len(varying) :])

    return several
