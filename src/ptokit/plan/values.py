"""Operands of steps; steps about views, pointers and tiles, and about arrays and structs of the scalar unit."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, NoReturn

from ptokit.diagnostics import Diagnostic, DiagnosticError, Severity
from ptokit.ir.control import TERMINATORS, edges, ends, is_call, is_loop, reached, sources
from ptokit.ir.core import Block, Function, Op, Value
from ptokit.ir.facts import Facts, packed_slice
from ptokit.isa.site import known
from ptokit.targets import Target
from ptokit.types.codecs import width
from ptokit.types.dtypes import FLOAT_TYPES, constant
from ptokit.types.enums import TileType
from ptokit.types.tile import DYNAMIC, TileSpec
from ptokit.types.values import (
    EventIdArray,
    LocalArray,
    MemRef,
    MultiTile,
    PartitionView,
    Ptr,
    Scalar,
    Struct,
    TensorView,
    Type,
)

from .steps import Data, Form, Operand, Plan, Step

# Casts: of pointers, and those that a compiler leaves between its stages, which change types only.


def check_cast(op: Op) -> None:
    """Every result has to be the value it is made from. Raises `DiagnosticError` (TEXT-UNIMPLEMENTED)."""
    sources = op.group("in")
    if len(sources) != len(op.results) or not all(_alike(a.type, b.type) for a, b in zip(sources, op.results)):
        made = f"{', '.join(str(v.type) for v in sources)} to {', '.join(str(v.type) for v in op.results)}"
        message = f"{op.name} of {made} cannot be run yet"
        hint = "ptokit runs casts between integers of one width, views of one element type, and tiles of one type"
        raise DiagnosticError(Diagnostic("TEXT-UNIMPLEMENTED", Severity.ERROR, message, op.location, hint))


def _alike(a: Type, b: Type) -> bool:
    """True if both are the same bits, or the same memory."""
    if isinstance(a, Scalar) and isinstance(b, Scalar):
        return a.is_integer and b.is_integer and width(a.name) == width(b.name)
    if isinstance(a, TileSpec) and isinstance(b, TileSpec):
        return a == b
    views = (MemRef, TensorView, PartitionView)
    return isinstance(a, views) and isinstance(b, views) and a.dtype is b.dtype and len(a.dims) == len(b.dims)


# Tiles that outlive the iteration of a loop that allocates them: the loop carries them (assembly 11).


def carried_tiles(function: Function) -> set[Value]:
    """Tiles allocated in a loop that its next iteration may still see, through what it hands on.

    They need memory of their own for every iteration: the next one writes its tile while it reads this one's.
    """
    assert function.body is not None
    given = sources(function.body.walk())
    found: set[Value] = set()
    for inside, handed in _loops(function.body):
        tiles = {op.result for region in inside for op in region.walk() if op.name == "pto.alloc_tile"}
        if tiles:
            found |= tiles.intersection(reached(handed, partial(_origins, given)))
    return found


def _loops(region: Block) -> Iterator[tuple[Sequence[Block], list[Value]]]:
    """The regions of each loop, and what it hands on; several blocks of a region may be a loop, too."""
    if region.more:
        branches = [block.ops[-1] for block in region.blocks if block.ops]
        yield [region], [value for op in branches if op.successors for edge in edges(op) for value in edge.given]
    for op in (op for block in region.blocks for op in block.ops):
        if is_loop(op):
            yield op.regions, [value for inner in op.regions for end in ends(inner) for value in end.values]
        for inner in op.regions:
            yield from _loops(inner)


def _origins(given: dict[Value, list[Value]], value: Value) -> Iterator[Value]:
    """What a value may be, or be another name of."""
    yield from given.get(value, ())
    if isinstance(value.owner, Op) and value.owner.name != "pto.alloc_tile" and not value.owner.regions:
        yield from value.owner.values


# Operands of steps: what is known of the values of one function while it is planned.


class Operands:
    """The values of one function as operands of steps."""

    def __init__(
        self,
        function: Function,
        target: Target,
        plan: Plan,
        sites: Iterator[int | None],
        known: Mapping[str, Function],
        *,
        extended: bool = False,
        text: bool = False,
    ) -> None:
        """``known``: the functions of the module that have a body, by name."""
        self.function, self.target, self.made, self.sites, self.known = function, target, plan, sites, known
        self.extended, self.text = extended, text
        self.varying = plan.varying
        self.fixed: set[Value] = set()
        self.settled: dict[Value, TileSpec] = {}
        self.numbers: dict[int, int] = {}  # of the blocks of the region, by id
        self.other_names: dict[Value, Operand] = {}  # of what a vector scope captures, of casts

    @cached_property
    def facts(self) -> Facts:
        """What the text says about values."""
        return Facts(self.function)

    @cached_property
    def carried_tiles(self) -> set[Value]:
        """Tiles that loops carry."""
        return carried_tiles(self.function)

    def ref(self, value: Value | None) -> Operand:
        """An operand; constants are known."""
        if value is None:
            return Data(None)
        number = self.facts.constants.get(value)
        if isinstance(number, (bool, int)):
            return Data(number, value.type)
        if isinstance(number, float):
            if isinstance(value.type, Scalar) and value.type.name in FLOAT_TYPES and number == number:
                number = constant(number, value.type.name)
            return Data(number, value.type)  # a NaN with its bit pattern
        return self.other_names.get(value, value)

    def refs(self, values: Sequence[Value]) -> tuple[Operand, ...]:
        return tuple(map(self.ref, values))

    def form(self, how: str, value: Value) -> Operand:
        found = self.ref(value)
        return Form(how, found) if isinstance(found, Value) and value in self.varying else found

    def uniform(self, value: Value | None) -> Operand:
        """An operand all blocks must agree on."""
        return self.ref(value) if value is None else self.form("uniform", value)

    def uniforms(self, values: Sequence[Value]) -> tuple[Operand, ...]:
        return tuple(map(self.uniform, values))

    def step(self, op: Op, words: str) -> Step:
        """A step of some operands as they are; ``words``: its own, and the names of those."""
        word, *names = words.split()
        return Step(op, word, tuple(self.ref(op[name]) for name in names), tuple(names), tuple(op.results))


# Tiles whose types leave the valid region open, while their allocation settles it: compilers write most of them so.


_CHANGING = frozenset(("pto.set_validshape", "builtin.unrealized_conversion_cast", *TERMINATORS))
"""What changes a valid region, or gives a tile another name by which that may happen, as calls and regions do."""


def settled_regions(function: Function, facts: Facts) -> dict[Value, TileSpec]:
    """The types with their valid regions, of the tiles that have the same one whenever something uses them."""
    assert function.body is not None
    found: dict[Value, TileSpec] = {}
    for op in function.body.walk():
        if op.name == "pto.alloc_tile" and isinstance(spec := op.result.type, TileSpec) and spec.dynamic:
            rows, cols = (
                stated if stated != DYNAMIC else facts.size(op.get(name))
                for stated, name in ((spec.valid_row, "valid_row"), (spec.valid_col, "valid_col"))
            )
            if isinstance(rows, int) and isinstance(cols, int) and 0 <= rows <= spec.rows and 0 <= cols <= spec.cols:
                found[op.result] = replace(spec, valid_row=rows, valid_col=cols)
    if found:
        for op in function.body.walk():
            if op.name in _CHANGING or op.regions or is_call(op):
                for value in op.values:
                    found.pop(value, None)
    return found


# Steps about views, pointers and tiles, and about arrays and structs of the scalar unit.


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
    """Host memory a tile takes part with: cube operands are decoded, L1 tiles are read from where they were loaded."""
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
