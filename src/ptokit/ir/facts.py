"""What the text alone says about values: constants, tile and view operands with their known sizes.

The reference gives a view of scales that states no layout the one of the mat tiles that take its slices, and makes
a packed tensor of whole groups of each slice.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

from ptokit.isa.scalar.arithmetic import ARITHMETIC, RESIZED, result_of
from ptokit.isa.scratch import in_numbers
from ptokit.isa.site import (
    UNKNOWN,
    AlignInfo,
    Info,
    LanesInfo,
    LoweredInfo,
    MaskInfo,
    PtrInfo,
    ScalarInfo,
    Site,
    Size,
    Surroundings,
    TileInfo,
    VectorInfo,
    ViewInfo,
    VregInfo,
    known,
)
from ptokit.isa.table import BY_OPERATION, Instr
from ptokit.targets import Target
from ptokit.types.dtypes import DType, dtype, is_dtype
from ptokit.types.enums import BLayout, Layout, SLayout, TileType
from ptokit.types.tensor import SCALE_GROUPS, Dims5, base_shape_2d, infer_layout, tile_shape_2d
from ptokit.types.tile import DYNAMIC, TileSpec
from ptokit.types.values import (
    Align,
    LogicalMask,
    LogicalVector,
    Mask,
    MemRef,
    Opaque,
    PartitionView,
    Ptr,
    Scalar,
    TensorView,
    VReg,
)

from .control import of_threads, section_of
from .core import Block, Function, Op, RawAttr, Value, ordered

# Slices of scales: two-dimensional views that hold them in groups of 16 x 2, as scaling tiles do.


_VIEW = "pto.make_tensor_view"


class Packed(NamedTuple):
    """Sizes and strides in elements, and the layout of groups."""

    dims: Dims5
    strides: Dims5
    layout: Layout


def packed_slice(op: Op, function: Function) -> Packed | None:
    """What a partition_view of scales in groups of 16 x 2 gives; None for all others."""
    of = op.result.type
    source = op["source"].owner
    if not isinstance(of, PartitionView) or of.dtype.name != "e8m0" or len(of.dims) != 2 or DYNAMIC in of.dims:
        return None
    if not isinstance(source, Op) or source.name != _VIEW:
        return None
    layout = source.attrs.get("layout") or _of_tiles(op["source"], function)
    if layout not in SCALE_GROUPS:
        return None
    rows, cols = (-(-n // unit) * unit for n, unit in zip(of.dims, SCALE_GROUPS[layout]))
    return Packed(tile_shape_2d(of.dtype, rows, cols, layout), base_shape_2d(of.dtype, rows, cols, layout), layout)


def _of_tiles(view: Value, function: Function) -> Layout | None:
    """The one layout that all tiles loaded from slices of a view ask for."""
    if function.body is None:
        return None
    slices: set[Value] = {view}
    wanted: set[Layout] = set()
    for op in function.body.walk():
        if op.name == "pto.partition_view" and op["source"] in slices:
            slices.add(op.result)
        else:
            tile = op["dst"] if op.name == "pto.tload" and op["src"] in slices else None
            tile = op["src"] if op.name == "pto.tstore" and op["dst"] in slices else tile
            found = None if tile is None else _asked(tile.type)
            wanted |= set() if found is None else {found}
    return wanted.pop() if len(wanted) == 1 else None


def _asked(tile: object) -> Layout | None:
    if not isinstance(tile, TileSpec):
        return None
    if tile.loc is TileType.Vec:
        return Layout.ND  # or DN: no layout of scales
    if tile.loc is not TileType.Mat or tile.dtype.name != "e8m0":
        return None
    match (tile.blayout, tile.slayout):
        case (BLayout.RowMajor, SLayout.RowMajor) if tile.rows != 1:
            return Layout.MX_A_ZZ
        case (BLayout.ColMajor, SLayout.ColMajor):
            return Layout.MX_B_NN
    return None


# What the text alone says about values: constants, tile and view operands with their known sizes.


_SPACES = {loc.text: loc for loc in TileType}
_LOWERED = re.compile(rf"memref<(\d+|\?)x(\d+|\?)x(\w+),.*#pto\.address_space<({'|'.join(_SPACES)})>>")


class Facts:
    """Everything known about the values of one function, filled by one walk in program order.

    ``fold``: also what arithmetic and casts make of constants, and valid regions that operands of alloc_tile state,
    which the reference assembler does not look at (assembly 13).
    """

    def __init__(self, function: Function, *, fold: bool = True) -> None:
        self.fold = fold
        self.constants: dict[Value, Any] = {}
        self.infos: dict[Value, Info] = {}
        self.core = function.core
        self.function = function
        self.threads = function.of_threads
        self.entry = function.is_entry or "pto.aicore" in function.attrs
        self._sections: dict[Op, str] = {}
        self._views: dict[Value, tuple[tuple[Size, ...], tuple[Size, ...], Layout | None]] = {}
        for param in function.params:
            self._opaque(param)
        if function.body is not None:
            self._region(function.body)

    def size(self, value: Value | None) -> Size:
        """The integer a value is known to be, or `UNKNOWN`."""
        return self.constants.get(value, UNKNOWN) if value is not None else UNKNOWN

    def through_casts(self, value: Value | None) -> Size:
        """`size` of a value or of what casts made it from."""
        while value is not None and isinstance(value.owner, Op) and _is_resized(value.owner):
            value = value.owner.get("in")
        return self.size(value)

    def site(self, op: Op, target: Target, *, extended: bool = False, text: bool = False) -> Site | None:
        """The instruction `op` with what is known of its operands; None if it is not in the table."""
        instr = instr_of(op)
        if instr is None:
            return None
        operands: dict[str, Info | None] = {}
        for operand in instr.operands:
            value = op.get(operand.name)
            operands[operand.name] = None if value is None else self.info(value)
        for operand, result in zip(instr.produces, op.results):
            operands[operand.name] = self.info(result)
        if target.templates:
            operands = _by_tile(operands)
        operands |= in_numbers(instr, operands, target)
        site = Site(instr, target, operands, op.attrs, extended, text, self.core_of(op))
        if instr.looks_around:
            lists = {o.name: tuple(map(self.info, op.group(o.name))) for o in instr.operands if o.variadic}
            lists["results"] = tuple(map(self.info, op.results))
            used = not self.used.isdisjoint(op.results)
            in_order = frozenset(name for name, argument in (op.arguments or {}).items() if isinstance(argument, int))
            site.around = Surroundings(lists, used, self.threads or op in self._of_threads, self.entry, in_order)
        return site

    @cached_property
    def used(self) -> frozenset[Value]:
        """The values of the function that some operation takes."""
        return frozenset(value for op in self._ops() for value in op.values)

    @cached_property
    def _of_threads(self) -> frozenset[Op]:
        """Operations in sections of threads."""
        sections = [op for op in self._ops() if op.regions and of_threads(op)]
        return frozenset(inner for op in sections for region in op.regions for inner in region.walk())

    def _ops(self) -> Iterator[Op]:
        return iter(()) if self.function.body is None else self.function.body.walk()

    def core_of(self, op: Op) -> str:
        """Kind of core that issues `op`: that of its section, or of the function; "" if unknown."""
        return self._sections.get(op, self.core)

    def info(self, value: Value) -> Info:
        """What is known about an operand."""
        found = self.infos.get(value)
        if found is not None:
            return found
        if isinstance(value.type, Scalar):
            return ScalarInfo(value.shown, value.type.name, self.size(value), value.type.signed)
        return ScalarInfo(value.shown, str(value.type), self.size(value))

    # --- the walk ------------------------------------------------------------------------------------------------

    def _region(self, region: Block) -> None:
        for block in ordered(region):
            self._block(block)

    def _block(self, block: Block) -> None:
        for arg in block.args:
            self._opaque(arg)
        for op in block.ops:
            if op.results:
                self._op(op)
            if not op.regions:
                continue
            for region in op.regions:
                self._region(region)
            if kind := section_of(op):
                self._sections.update((inner, kind) for region in op.regions for inner in region.walk())

    def _opaque(self, value: Value) -> None:
        """A value with a known type only."""
        match value.type:
            case Scalar():
                pass
            case TileSpec():
                self.infos[value] = TileInfo.static(value.shown, value.type)
            case TensorView() | PartitionView():
                dims: tuple[Size, ...] = tuple(UNKNOWN if d == DYNAMIC else d for d in value.type.dims)
                self._view(value, dims, (UNKNOWN,) * len(dims), None, value.type.dtype)
            case MemRef():
                self._memref(value, value.type)
            case Opaque() if (m := _LOWERED.match(value.type.text)) and is_dtype(m[3]):
                rows, cols = (DYNAMIC if n == "?" else int(n) for n in (m[1], m[2]))
                self.infos[value] = LoweredInfo(value.shown, _SPACES[m[4]], dtype(m[3]), rows, cols)
            case Ptr():
                self.infos[value] = PtrInfo(
                    value.shown, value.type.dtype, value.type.space or "gm", signed=value.type.signed
                )
            case VReg():
                self.infos[value] = VregInfo(value.shown, value.type.dtype, value.type.lanes, value.type.signed)
            case Mask():
                self.infos[value] = MaskInfo(value.shown, value.type.bits)
            case Align():
                self.infos[value] = AlignInfo(value.shown)
            case LogicalVector():
                self.infos[value] = VectorInfo(
                    value.shown, value.type.dtype, value.type.lanes, value.type.layout, value.type.signed
                )
            case LogicalMask():
                self.infos[value] = LanesInfo(value.shown, value.type.lanes, value.type.granularity, value.type.layout)
            case _:
                pass

    def _pointer(self, op: Op) -> None:
        """castptr, addptr, tile_buf_addr: the byte address, where it is known."""
        result = op.result
        self._opaque(result)
        if not isinstance(result.type, Ptr):
            return
        base = self.info(next(iter(op.operands.values())))  # type: ignore[arg-type]
        address = base.addr if isinstance(base, PtrInfo | TileInfo) else self.size(op.get("value"))
        if op.name == "pto.addptr":
            address = address + self.size(op.get("offset")) * result.type.dtype.size
        self.infos[result] = PtrInfo(
            result.shown, result.type.dtype, result.type.space or "gm", address, result.type.signed
        )

    def _memref(self, value: Value, type: MemRef) -> None:
        dims, strides = (
            tuple(UNKNOWN if n == DYNAMIC else n for n in numbers)
            for numbers in (type.dims, type.strides_of(type.dims))
        )
        self._view(value, dims, strides, view_layout(type.dtype, dims, strides), type.dtype)

    def _op(self, op: Op) -> None:
        match op.name:
            case "arith.constant":
                if not isinstance(op.attrs["value"], RawAttr):  # of a vector
                    self.constants[op.result] = op.attrs["value"]
            case "pto.make_tensor_view":
                self._tensor_view(op)
            case "pto.partition_view":
                self._partition(op)
            case "pto.alloc_tile":
                self._alloc(op)
            case "pto.castptr" | "pto.addptr" | "pto.tile_buf_addr":
                self._pointer(op)
            case "builtin.unrealized_conversion_cast":
                self._other(op)
                for value, result in zip(op.group("in"), op.results):
                    if value.type == result.type and value in self.infos:
                        self.infos[result] = self.infos[value]
            case _:
                self._other(op)

    def _other(self, op: Op) -> None:
        if self.fold and (number := folded(op, self.constants.get)) is not None:
            self.constants[op.result] = number
        for result in op.results:
            self._opaque(result)
            if isinstance(result.type, TileSpec) and op.name in ("pto.tassign", "pto.treshape", "pto.bitcast"):
                self._alias(op, result)

    def _alias(self, op: Op, result: Value) -> None:
        """A tile that shares another's memory, or has been moved to an address."""
        assert isinstance(result.type, TileSpec)
        if op.name == "pto.tassign":
            addr = self.size(op.get("addr"))
            origin: Any = (result.type.loc, addr) if known(addr) else UNKNOWN
        else:
            source = self.infos.get(op["src"])
            addr, origin = (source.addr, source.origin) if isinstance(source, TileInfo) else (UNKNOWN, UNKNOWN)
        self.infos[result] = TileInfo.static(result.shown, result.type, addr, origin)

    def _tensor_view(self, op: Op) -> None:
        result = op.result
        if not isinstance(result.type, TensorView):
            return
        if not len(op.group("shape")) == len(op.group("strides")) == len(result.type.dims):  # MV-3
            self._opaque(result)
            return
        dims = tuple(self._dim(v, d) for v, d in zip(op.group("shape"), result.type.dims))
        strides = tuple(self.size(v) for v in op.group("strides"))
        layout = op.attrs.get("layout")
        if layout is None:
            layout = view_layout(result.type.dtype, dims, strides)
        self._view(result, dims, strides, layout, result.type.dtype)

    def extent(self, view: Value, axis: int) -> Size:
        """A dimension of a tensor: of its type, or a constant that it was made with."""
        static = view.type.dims[axis]  # type: ignore[union-attr]
        if static != DYNAMIC:
            return static
        made = self._views.get(view)
        return UNKNOWN if made is None else made[0][axis]

    def _dim(self, value: Value, static: int) -> Size:
        size = self.size(value)
        return size if known(size) or static == DYNAMIC else static

    def _partition(self, op: Op) -> None:
        result, source = op.result, op.get("source")
        if not isinstance(result.type, PartitionView) or source not in self._views:
            self._opaque(result)
            return
        _, strides, layout = self._views[source]
        static = result.type.dims
        sizes = op.group("sizes")
        dims = tuple(self._dim(v, static[i] if len(static) == len(sizes) else DYNAMIC) for i, v in enumerate(sizes))
        packed = packed_slice(op, self.function)
        if packed is not None:
            self._view(result, packed.dims, packed.strides, packed.layout, result.type.dtype)
        elif len(dims) == len(strides):
            self._view(result, dims, strides, layout, result.type.dtype)
        else:
            self._opaque(result)

    def _view(
        self, value: Value, dims: Sequence[Size], strides: Sequence[Size], layout: Layout | None, dtype: DType
    ) -> None:
        self._views[value] = (tuple(dims), tuple(strides), layout)
        missing = 5 - len(dims)
        if dims and missing >= 0:
            self.infos[value] = ViewInfo(
                value.shown,
                dtype,
                (*(1,) * missing, *dims),  # type: ignore[arg-type]
                (*(dims[0] * strides[0],) * missing, *strides),  # type: ignore[arg-type]
                layout,
                dims=getattr(value.type, "dims", None),
                whole=isinstance(value.type, TensorView),
            )

    def _alloc(self, op: Op) -> None:
        result = op.result
        if not isinstance(result.type, TileSpec):
            return
        spec = result.type
        addr = self.size(op.get("addr"))
        origin: Any = result if op.get("addr") is None else (spec.loc, addr) if known(addr) else UNKNOWN
        info = TileInfo.static(result.shown, spec, addr, origin)
        vr = self.size(op.get("valid_row")) if spec.valid_row == DYNAMIC else info.vr
        vc = self.size(op.get("valid_col")) if spec.valid_col == DYNAMIC else info.vc
        # set_validshape may change dynamic valid dimensions later, so they count as known only where static.
        if _resized(result) or not self.fold:
            vr, vc = info.vr, info.vc
        self.infos[result] = TileInfo(result.shown, spec, vr, vc, info.addr, None, origin)


def _resized(value: Value) -> bool:
    spec = value.type
    return isinstance(spec, TileSpec) and spec.valid_row == DYNAMIC and spec.valid_col == DYNAMIC


def _by_tile(operands: dict[str, Info | None]) -> dict[str, Info | None]:
    """Operands as templates take them: the layout of an Nz tile of the vector unit is that of the view."""
    tiles = (info for info in operands.values() if isinstance(info, TileInfo))
    if not any(tile.loc is TileType.Vec and tile.layout_name == "Nz" for tile in tiles):
        return operands
    return {k: replace(i, layout=Layout.NZ) if isinstance(i, ViewInfo) else i for k, i in operands.items()}


def view_layout(dtype: DType, dims: Sequence[Size], strides: Sequence[Size]) -> Layout | None:
    """Layout of a view that states none, by its strides; None if they are unknown or fit both ND and DN.

    A vector that fits both takes the layout of the tile it meets (types-and-layouts 10).
    """
    if not dims or len(dims) != len(strides):
        return None
    return infer_layout(dtype, tuple(_number(d) for d in dims), tuple(_number(s) for s in strides))


def _number(size: Size) -> int:
    return size if isinstance(size, int) else DYNAMIC


def folded(op: Op, number_of: Callable[[Value], Any]) -> Any:
    """The integer or truth that arithmetic makes of its operands, in the bits of its type.

    None if it gives no single one, if an operand is no known integer, or where the result is undefined.
    """
    row = ARITHMETIC.get(op.name)
    if row is None or len(op.results) != 1:
        return None
    numbers = [number_of(value) for value in op.values]
    for n in numbers:
        if not isinstance(n, int):
            return None
    source, made = op.values[-1].type, op.results[0].type
    if not isinstance(source, Scalar) or not isinstance(made, Scalar) or source.is_float or made.is_float:
        return None
    return result_of(row, op.attrs.get("predicate", ""), numbers, source.name, made.name)


def _is_resized(op: Op) -> bool:
    row = ARITHMETIC.get(op.name)
    return row is not None and row.does == RESIZED


def instr_of(op: Op) -> Instr | None:
    """The table entry of an operation, or None for `arith`, `scf` and `func`."""
    return _imported(BY_OPERATION, op.name) or (BY_OPERATION.get(op.name) if op.name.startswith("pto.") else None)


_imported = dict.get  # past what imports the others: this is asked for every operation, several times


def shown_op(op: Op) -> str:
    """What findings call an operation: ``pto.tpush``; in Python and C++ as kernels name it, ``TPUSH``."""
    if not (op.in_python or op.in_cpp):
        return op.name
    if core := section_of(op):
        return f"{core}_section"
    instr = instr_of(op)
    return op.name.removeprefix("pto.") if instr is None else instr.name


def scalar_type(value: Value) -> str | None:
    """Text of a scalar's type; None for other values."""
    return value.type.name if isinstance(value.type, Scalar) else None


def constant_of(value: Value) -> int | None:
    """The integer that a constant holds; None for any other value."""
    owner = value.owner
    found = owner.attrs.get("value") if isinstance(owner, Op) and owner.name == "arith.constant" else None
    return found if isinstance(found, int) and not isinstance(found, bool) else None
