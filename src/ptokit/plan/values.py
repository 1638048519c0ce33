"""Steps about views, pointers and tiles, and about arrays and structs of the scalar unit."""

from __future__ import annotations

import math
from typing import Any, NoReturn

from ptokit.diagnostics import Diagnostic, DiagnosticError, Severity
from ptokit.ir.core import Op
from ptokit.ir.facts import packed_slice
from ptokit.isa.site import known
from ptokit.types.enums import TileType
from ptokit.types.rounding import FLOAT_TYPES
from ptokit.types.tile import DYNAMIC, TileSpec
from ptokit.types.values import EventIdArray, LocalArray, MultiTile, Ptr, Scalar, Struct, TensorView

from .operands import Operands, check_cast
from .steps import Data, Operand, Step

TILE = ("site", "type", "valid_row", "valid_col", "name", "addr")
"""Names of the operands of a step that makes a tile."""


class Places(Operands):
    """Steps that say where data lies."""

    def refuse(self, op: Op, by: str = "") -> NoReturn:
        """Raise the `DiagnosticError` of an operation that has no execution."""
        message = f"{op.name} cannot be run {by}yet"
        raise DiagnosticError(Diagnostic("TEXT-UNIMPLEMENTED", Severity.ERROR, message, op.location))

    # --- views ---------------------------------------------------------------------------------------------------

    def make_tensor_view(self, op: Op) -> list[Step]:
        view = op.result.type
        assert isinstance(view, TensorView)
        given = (
            self.ref(op["ptr"]),
            self.uniforms(op.group("shape")),
            self.uniforms(op.group("strides")),
            Data(view.dtype),
            Data(op.attrs.get("layout")),
        )
        return [Step(op, "view", given, ("ptr", "shape", "strides", "dtype", "layout"), (op.result,))]

    def partition_view(self, op: Op) -> list[Step]:
        given = (self.ref(op["source"]), self.refs(op.group("offsets")), self.uniforms(op.group("sizes")))
        packed = packed_slice(op, self.function)
        if packed is not None:
            return [Step(op, "slice", (*given, Data(packed)), ("source", "offsets", "sizes", "packed"), (op.result,))]
        return [Step(op, "slice", given, ("source", "offsets", "sizes"), (op.result,))]

    def view_dim(self, op: Op) -> list[Step]:
        given = (self.ref(op["source"]), self.uniform(op["index"]))
        return [Step(op, "dim", given, ("source", "index"), (op.result,))]

    def view_stride(self, op: Op) -> list[Step]:
        given = (self.ref(op["source"]), self.uniform(op["index"]))
        return [Step(op, "stride", given, ("source", "index"), (op.result,))]

    def view_address(self, op: Op) -> list[Step]:
        if isinstance(op.result.type, Ptr):
            return [self.step(op, "first_element src")]
        self.other_names[op.result] = self.ref(op["src"])  # a memref is what the view is
        return []

    def tile_address(self, op: Op) -> list[Step]:
        pointer, tile = op.result.type, op["tile"]
        if not isinstance(pointer, Ptr) or not isinstance(tile.type, TileSpec):
            self.refuse(op)
        given = (self.ref(tile), Data(pointer.dtype), Data(pointer.space or "gm"))
        return [Step(op, "first_byte", given, ("tile", "dtype", "space"), (op.result,))]

    def pointer_at(self, op: Op) -> list[Step]:
        pointer = op.result.type
        assert isinstance(pointer, Ptr)
        return [Step(op, "pointer_at", (self.ref(op["addr"]), Data(pointer.dtype)), ("addr", "dtype"), (op.result,))]

    def unrealized(self, op: Op) -> list[Step]:
        """A cast that changes no bit: another name."""
        check_cast(op)
        self.other_names.update(zip(op.results, self.refs(op.group("in"))))
        return []

    def castptr(self, op: Op) -> list[Step]:
        pointer = op.result.type
        if not isinstance(pointer, Ptr):
            return [self.step(op, "number_of value")]
        given = (self.ref(op["value"]), Data(pointer.dtype), Data(pointer.space or "gm"))
        return [Step(op, "cast", given, ("value", "dtype", "space"), (op.result,))]

    # --- tiles ---------------------------------------------------------------------------------------------------

    def _stays(self, op: Op) -> bool:
        """True for a tile whose address and valid region are fixed: it is made once, before all else."""
        spec, addr = op.result.type, op.get("addr")
        assert isinstance(spec, TileSpec)
        if op.result in self.carried_tiles or (spec.dynamic and op.result not in self.settled):
            return False
        return addr is None or known(self.facts.size(addr))

    def _site(self, spec: TileSpec) -> Data:
        """A number for memory that no other tile without an address has."""
        self.made.footprint += _working_bytes(spec)
        return Data(next(self.sites))

    def _valid(self, op: Op, spec: TileSpec) -> tuple[Operand, Operand]:
        """The valid rows and columns that an allocation states."""
        rows = self.ref(op.get("valid_row")) if spec.valid_row == DYNAMIC else Data(spec.valid_row)
        cols = self.ref(op.get("valid_col")) if spec.valid_col == DYNAMIC else Data(spec.valid_col)
        return rows, cols

    def alloc_tile(self, op: Op) -> list[Step]:
        spec = op.result.type
        assert isinstance(spec, TileSpec)
        site = self._site(spec)
        if op.result in self.carried_tiles and op.get("addr") is None:
            site = Data(None)
        given = (site, Data(spec), *self._valid(op, spec), Data(op.result.shown), self.uniform(op.get("addr")))
        return [Step(op, "tile", given, TILE, (op.result,))]

    def later_tile(self, op: Op) -> list[Step]:
        """A tile that is not made before all else."""
        return [] if op.result in self.fixed else self.alloc_tile(op)

    def declare_tile(self, op: Op) -> list[Step]:
        spec = op.result.type
        assert isinstance(spec, TileSpec)
        vr = spec.rows if spec.valid_row == DYNAMIC else spec.valid_row
        vc = spec.cols if spec.valid_col == DYNAMIC else spec.valid_col
        given = (Data(next(self.sites)), Data(spec), Data(vr), Data(vc), Data(op.result.shown), Data(None))
        return [Step(op, "tile", given, TILE, (op.result,))]

    def alloc_multi_tile(self, op: Op) -> list[Step]:
        tiles = op.result.type
        assert isinstance(tiles, MultiTile)
        sites = tuple(self._site(tiles.slot) for _ in range(tiles.count))
        given = (
            sites,
            Data(tiles.slot),
            *self._valid(op, tiles.slot),
            Data(op.result.shown),
            self.uniform(op.get("addr")),
        )
        return [Step(op, "tiles", given, TILE, (op.result,))]

    def multi_tile_get(self, op: Op) -> list[Step]:
        tiles = op["source"].type
        assert isinstance(tiles, MultiTile)
        given = (self.ref(op["source"]), (self.ref(op["slot"]),), Data((tiles.count,)), Data("the tiles"))
        return [Step(op, "element", given, ("source", "indices", "sizes", "what"), (op.result,))]

    def alias(self, op: Op) -> list[Step]:
        given = (self.ref(op["src"]), Data(op.result.type), Data(op.result.shown))
        return [Step(op, "alias", given, ("src", "type", "name"), (op.result,))]

    def window(self, op: Op) -> list[Step]:
        valid = (self.ref(op.get("valid_row")), self.ref(op.get("valid_col")))
        offsets = self.refs(op.group("offsets"))
        given = (self.ref(op["source"]), offsets, Data(op.result.type), Data(op.result.shown), valid)
        return [Step(op, "window", given, ("source", "offsets", "type", "name", "valid"), (op.result,))]


def _working_bytes(spec: TileSpec) -> int:
    """Host memory a tile takes part with: cube operands are decoded, L1 tiles stand for what they were loaded from."""
    if spec.loc is TileType.Mat:
        return 0
    return 4 * spec.numel if spec.loc in (TileType.Left, TileType.Right) else spec.nbytes


# Arrays and structs of the scalar unit: lists whose items may be lists.


def array(p: Operands, op: Op) -> list[Step]:
    array = op.result.type
    assert isinstance(array, LocalArray)
    given = (Data(_zero(array.element)), Data(math.prod(array.dims)))
    return [Step(op, "several", given, ("value", "count"), (op.result,))]


def events(p: Operands, op: Op) -> list[Step]:
    array = op.result.type
    assert isinstance(array, EventIdArray)
    return [Step(op, "several", (Data(0), Data(array.size)), ("value", "count"), (op.result,))]


def event(p: Operands, op: Op) -> list[Step]:
    array = op["array"].type
    assert isinstance(array, EventIdArray)
    given = (p.ref(op["array"]), (p.ref(op["index"]),), Data((array.size,)), Data("the event ids"))
    names = ("array", "indices", "sizes", "what")
    if op.results:
        return [Step(op, "element", given, names, (op.result,))]
    return [Step(op, "set_element", (*given, p.ref(op["event"])), (*names, "value"))]


def element(p: Operands, op: Op) -> list[Step]:
    array = op["array"].type
    assert isinstance(array, LocalArray)
    given = (p.ref(op["array"]), p.refs(op.group("indices")), Data(array.dims), Data("the array"))
    names = ("array", "indices", "sizes", "what")
    if op.results:
        return [Step(op, "element", given, names, (op.result,))]
    return [Step(op, "set_element", (*given, p.ref(op["value"])), (*names, "value"))]


def struct(p: Operands, op: Op) -> list[Step]:
    assert isinstance(op.result.type, Struct)
    return [Step(op, "record", (Data(_zero(op.result.type)),), ("value",), (op.result,))]


def field(p: Operands, op: Op) -> list[Step]:
    given = (p.ref(op["source"]), Data(tuple(op.attrs["path"])))
    if op.results:
        return [Step(op, "field", given, ("source", "path"), (op.result,))]
    return [Step(op, "set_field", (*given, p.ref(op["value"])), ("source", "path", "value"))]


def _zero(kind: Scalar | Struct) -> Any:
    if isinstance(kind, Struct):
        return [_zero(field) for field in kind.fields]
    return 0.0 if kind.name in FLOAT_TYPES else 0
