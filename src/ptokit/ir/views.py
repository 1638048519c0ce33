"""Checks of views, allocations, aliases and windows (assembly 13.3).

What they say is the reference verifier's (PTOAS of August 2026, PTO.cpp).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from ptokit.diagnostics import Doubt, Scope, define
from ptokit.isa.site import known
from ptokit.types.tile import DYNAMIC, TileSpec, windowed
from ptokit.types.values import LocalArray, MemRef, MultiTile, PartitionView, Ptr, Scalar, Struct, TensorView

from .core import Op, Value
from .facts import Facts

# Checks of view, allocation and alias operations (assembly 13.3): what breaks which rule.


class Breach(NamedTuple):
    """A broken rule and what to say about it."""

    rule: str
    message: str
    hint: str | None = None
    value: Value | None = None  # the operand to blame, for a note
    operand: str = ""  # the operand to mark, where it is another one
    of_text: bool = False  # a text has to state it; of other programs the run may decide it


Breaches = Iterator[Breach]


def alloc_tile(op: Op, facts: Facts) -> Breaches:
    spec = op.result.type
    if not isinstance(spec, TileSpec):
        return
    for key, static, limit, extra, missing in (
        ("valid_row", spec.valid_row, spec.rows, "AL-1", "AL-2"),
        ("valid_col", spec.valid_col, spec.cols, "AL-3", "AL-4"),
    ):
        given = op.get(key)
        if given is not None and static != DYNAMIC:
            yield Breach(
                extra,
                f"{key} is given, but the type fixes it at {static}",
                f"remove {key}, or write valid=?",
                operand=key,
            )
        if given is None and static == DYNAMIC:
            yield Breach(missing, f"{key} is missing, and the type leaves it open (`?`)", f"add `{key} = %n`")
        size = facts.size(given)
        if given is not None and (size < 0 or size > limit):
            yield Breach("TILE-01", f"{key} = {size} is outside 0..{limit}", operand=key)
        elif given is not None and size == 0:
            yield Breach("TILE-08", Doubt(f"{key} is 0: nothing of the tile is valid"), operand=key)


def make_tensor_view(op: Op, facts: Facts) -> Breaches:
    view, pointer = op.result.type, op["ptr"].type
    if not isinstance(view, TensorView):
        yield Breach("MV-1", f"the result has type {view}, not !pto.tensor_view")
        return
    if not isinstance(pointer, Ptr):
        yield Breach("MV-2", f"the operand has type {pointer}, not !pto.ptr<{view.dtype.text}>", value=op["ptr"])
    elif pointer.dtype is not view.dtype:
        yield Breach("MV-2", f"the pointer has element type {pointer.dtype}, the view {view.dtype}", value=op["ptr"])
    rank, sizes, strides = len(view.dims), len(op.group("shape")), len(op.group("strides"))
    if (sizes, strides) != (rank, rank):
        yield Breach("MV-3", f"a view of rank {rank} needs {rank} sizes and strides, not {sizes} and {strides}")


def partition_view(op: Op, facts: Facts) -> Breaches:
    source, result = op["source"].type, op.result.type
    if not isinstance(source, TensorView | MemRef) or not isinstance(result, PartitionView):
        yield Breach("PV-1", f"{source} -> {result} is not tensor_view -> partition_tensor_view", value=op["source"])
        return
    if source.dtype is not result.dtype:
        yield Breach("PV-2", f"the tensor has element type {source.dtype}, the slice {result.dtype}")
    offsets, sizes, rank = op.group("offsets"), op.group("sizes"), len(source.dims)
    if len(offsets) != rank or len(sizes) != rank:
        yield Breach(
            "PV-3", f"a tensor of rank {rank} needs {rank} offsets and sizes, not {len(offsets)} and {len(sizes)}"
        )
        return
    view = op["source"]
    for axis in range(rank):
        yield from _slice(axis, facts, offsets[axis], sizes[axis], view, result)


def _slice(axis: int, facts: Facts, offset: Value, size: Value, view: Value, result: PartitionView) -> Breaches:
    at, n, limit = facts.size(offset), facts.size(size), facts.extent(view, axis)
    if at < 0:
        yield Breach("PV-4", f"offset {at} of dimension {axis} is negative")
    if n <= 0:
        yield Breach("PV-5", f"size {n} of dimension {axis} is not positive")
    same_rank = len(result.dims) == len(view.type.dims)  # type: ignore[union-attr]
    if same_rank and result.dims[axis] != DYNAMIC and n != result.dims[axis]:
        yield Breach("PV-6", f"size {n} of dimension {axis} differs from {result.dims[axis]} in {result}")
    if n > limit:
        yield Breach("PV-7", f"size {n} of dimension {axis} exceeds the tensor's {limit}")
    elif known(at, n, limit) and at + n > limit:
        yield Breach("PV-8", f"[{at}, {at + n}) of dimension {axis} ends past the tensor's {limit}")


def addptr(op: Op, facts: Facts) -> Breaches:
    source, result = op["ptr"].type, op.result.type
    if not isinstance(source, Ptr) or source != result:
        yield Breach("AP-1", f"{source} -> {result} is not one pointer type")


def tassign(op: Op, facts: Facts) -> Breaches:
    if op.results and op.result.type != op["tile"].type:
        yield Breach("TA-1", f"the tile has type {op['tile'].shown_type}, the result {op.result.shown_type}")


_SEEN_AGAIN = {"pto.treshape": "src", "pto.bitcast": "src", "pto.subset": "source", "pto.subview": "source"}
"""Operations that give the bytes of a tile another name, and their operand."""


def set_validshape(op: Op, facts: Facts) -> Breaches:
    tile = op["tile"]
    spec = tile.type
    if not isinstance(spec, TileSpec) or (spec.valid_row, spec.valid_col) != (DYNAMIC, DYNAMIC):
        yield Breach("VS-1", f"the tile's type {spec} does not leave both valid dimensions open", value=tile)
        return
    origin = tile.owner
    while isinstance(origin, Op) and origin.name in _SEEN_AGAIN:
        origin = origin[_SEEN_AGAIN[origin.name]].owner
    if not isinstance(origin, Op) or origin.name not in ("pto.alloc_tile", "pto.declare_tile"):
        yield Breach("VS-2", f"{tile.shown} is not allocated in this function", value=tile)
    for key, limit in (("valid_row", spec.rows), ("valid_col", spec.cols)):
        size = facts.through_casts(op.get(key))
        if size < 0 or size > limit:
            yield Breach("VS-3", f"{key} = {size} is outside 0..{limit}", value=tile)


def in_memory(tile: Value) -> TileSpec:
    """The type that a tile has for memory: of a window, the rows and columns that its parent has there."""
    spec, owner = tile.type, tile.owner
    assert isinstance(spec, TileSpec)
    if not isinstance(owner, Op) or owner.name not in ("pto.subset", "pto.subview"):
        return spec
    if not isinstance(owner["source"].type, TileSpec):
        return spec
    return windowed(in_memory(owner["source"]), spec)


def treshape(op: Op, facts: Facts) -> Breaches:
    a, b = op["src"].type, op.result.type
    if not isinstance(a, TileSpec) or not isinstance(b, TileSpec):
        yield Breach("RS-1", f"{a} -> {b} is not between tiles")
    elif a.loc is not b.loc:
        yield Breach("RS-1", f"the tile lives in {a.loc.text}, the result in {b.loc.text}")
    elif a.nbytes != b.nbytes:
        yield Breach("RS-1", f"the tile has {a.nbytes} bytes, the result {b.nbytes}")
    elif (held := in_memory(op["src"])).nbytes != b.nbytes:
        message = f"the rows of the window lie apart: with what is between them it has {held.nbytes} bytes"
        yield Breach("RS-1", f"{message}, the result {b.nbytes}", value=op["src"])
    elif a.boxed != b.boxed:
        yield Breach("RS-1", f"one of {a.layout_name} and {b.layout_name} is boxed, the other is not")


def bitcast(op: Op, facts: Facts) -> Breaches:
    a, b = op["src"].type, op.result.type
    if not isinstance(a, TileSpec) or not isinstance(b, TileSpec):
        yield Breach("BC-1", f"{a} -> {b} is not between tiles")
        return
    kept = ("loc", "rows", "cols", "valid_row", "valid_col", "blayout", "slayout", "fractal", "pad", "compact")
    for name in kept:
        if getattr(a, name) != getattr(b, name):
            yield Breach("BC-1", f"{name} changes from {getattr(a, name)!s} to {getattr(b, name)!s}")
    if a.dtype is b.dtype:
        yield Breach("BC-1", Doubt(f"both sides have element type {a.dtype}"))
    elif b.nbytes > a.nbytes:
        yield Breach("BC-1", f"the result needs {b.nbytes} bytes, the tile has {a.nbytes}")


def subset(op: Op, facts: Facts) -> Breaches:
    spec = op["source"].type
    if not isinstance(spec, TileSpec) or not spec.boxed:
        return
    sizes, offsets = op.attrs.get("sizes", []), [facts.through_casts(v) for v in op.group("offsets")]
    for axis, (size, offset, box) in enumerate(zip(sizes, offsets, spec.box)):
        if size <= 0 or size % box:
            yield Breach("SS-1", f"size {size} of dimension {axis} is not a positive multiple of the box, {box}")
        if offset < 0 or offset % box != 0:
            yield Breach("SS-1", f"offset {offset} of dimension {axis} is not a multiple of the box, {box}")
    whole = 1 if spec.row_major else 0
    extent = (spec.rows, spec.cols)[whole]
    if sizes[whole:][:1] != [extent]:
        yield Breach("SS-1", f"a window of a {spec.layout_name} tile covers all {extent} of dimension {whole}")
    elif not known(*offsets[whole:][:1]) or offsets[whole] != 0:
        yield Breach("SS-1", f"the offset of dimension {whole} of a {spec.layout_name} tile is the constant 0")


def scalar_access(op: Op, facts: Facts) -> Breaches:
    pointer = op["ptr"].type
    value = op.result if op.results else op["value"]
    if not isinstance(pointer, Ptr | MemRef):
        message = f"{op['ptr'].shown} has type {pointer}, which is no pointer to global memory"
        yield Breach("LS-1", message, value=op["ptr"])
        return
    if isinstance(value.type, Scalar) and value.type.name != pointer.dtype.text:
        yield Breach("LS-1", f"the pointer has element type {pointer.dtype.text}, the value {value.type}")


CHECKS: dict[str, Callable[[Op, Facts], Breaches]] = {
    "pto.alloc_tile": alloc_tile,
    "pto.make_tensor_view": make_tensor_view,
    "pto.partition_view": partition_view,
    "pto.addptr": addptr,
    "pto.tassign": tassign,
    "pto.set_validshape": set_validshape,
    "pto.treshape": treshape,
    "pto.bitcast": bitcast,
    "pto.subset": subset,
    "pto.load_scalar": scalar_access,
    "pto.store_scalar": scalar_access,
}


# Checks of windows with a stated size, several tiles of one type, and the scalar unit's arrays and structs.


def _rule(id: str, what: str, verifier: str, example: str = "", **more: Any) -> None:
    source = f"PTOAS 2026-08 PTO.cpp {verifier}"
    define(id, what, scope=Scope.ASSEMBLER, source=source, example=example, **more)


_rule(
    "SV-1",
    "subview has two offsets from 0 and two sizes from 1; its result has that size, and the rest of the source's type.",
    "SubViewOp",
    "%a = pto.subview %t[%c0, %c0] sizes [16, 16] : !pto.tile_buf<vec, 32x32xf32> -> "
    "!pto.tile_buf<vec, 16x{16|32}xf32>",
    evidence="ptokit",
)
_rule(
    "SV-2",
    "The valid region of a subview is 0 to its size: stated by the type, or by values that the type agrees with.",
    "SubViewOp",
    "%b = pto.subview %a[%i, %j] sizes [16, 16]{ valid [%n, %m]|} : !pto.tile_buf<vec, 32x32xf32> -> "
    "!pto.tile_buf<vec, 16x16xf32, valid=?x?>",
    evidence="ptokit",
)
_rule(
    "SV-3",
    "A subview of a boxed tile covers whole boxes.",
    "SubViewOp",
    "%a = pto.subview %m[%c0, %c0] sizes [{16|8}, 64] : !pto.tile_buf<mat, 64x64xf16, blayout=col_major, "
    "slayout=row_major>",
    evidence="ptokit",
)
_rule(
    "MT-1",
    "multi_tile_get gives a tile of the slots' type; a constant slot is below their count.",
    "MultiTileGetOp",
    "%c8 = arith.constant 8 : index\n"
    "%a = pto.multi_tile_get %m[%c8] : !pto.multi_tile_buf<!pto.tile_buf<vec, 16x16xf32>, count={12|2}> -> "
    "!pto.tile_buf<vec, 16x16xf32>",
    evidence="ptokit",
)
_rule(
    "LA-1",
    "An array on the stack takes one index for each dimension, and holds values of its element type.",
    "LocalArrayGetOp, LocalArraySetOp",
    "pto.local_array_set %m[%c0, %n], %x : !pto.local_array<4x2xi32>, {i32|f32}",
    evidence="ptokit",
)
_rule(
    "STRUCT-1",
    "The path into a struct leads to a number, which has the type of the value.",
    "StructGetOp, StructSetOp",
    """
        %m = pto.declare_struct -> !pto.struct<i32, !pto.struct<f16, i8>>
        pto.struct_set %m[{0|2}], %i : !pto.struct<i32, !pto.struct<f16, i8>>, i32
    """,
    evidence="ptokit",
)


def subview(op: Op, facts: Facts) -> Breaches:
    """SV-1 to SV-3."""
    source, spec = op["source"].type, op.result.type
    sizes: Sequence[int] = op.attrs.get("sizes", ())
    offsets = op.group("offsets")
    if not isinstance(source, TileSpec) or not isinstance(spec, TileSpec):
        yield Breach("SV-1", f"{source} -> {spec} is not from tile to tile")
        return
    if len(sizes) != 2 or len(offsets) != 2:
        yield Breach("SV-1", f"two offsets and two sizes, not {len(offsets)} and {len(sizes)}")
        return
    starts = [facts.through_casts(v) for v in offsets]
    if min(sizes) <= 0 or starts[0] < 0 or starts[1] < 0:
        yield Breach("SV-1", f"sizes {sizes[0]}x{sizes[1]} at ({starts[0]}, {starts[1]})")
        return
    kept = ("loc", "dtype", "blayout", "slayout", "fractal", "pad", "compact")
    if (spec.rows, spec.cols) != tuple(sizes):
        yield Breach("SV-1", f"the sizes are {sizes[0]}x{sizes[1]}, the result is {spec.rows}x{spec.cols}")
    for name in kept:
        if getattr(source, name) != getattr(spec, name):
            yield Breach("SV-1", f"{name} changes from {getattr(source, name)!s} to {getattr(spec, name)!s}")
    yield from _valid(op, facts, spec)
    if source.boxed:
        for axis, (size, start, box) in enumerate(zip(sizes, starts, source.box)):
            if size % box or start % box != 0:
                yield Breach("SV-3", f"{size} from {start} of dimension {axis} is not whole boxes of {box}")


def _valid(op: Op, facts: Facts, spec: TileSpec) -> Breaches:
    given = [op.get("valid_row"), op.get("valid_col")]
    for name, value, stated, size in zip(
        ("rows", "columns"), given, (spec.valid_row, spec.valid_col), (spec.rows, spec.cols)
    ):
        wanted = facts.through_casts(value)
        if value is None and not 0 <= stated <= size:
            yield Breach(
                "SV-2", f"the type leaves the valid {name} open, and no values give them", "add valid [%n, %m]"
            )
        elif value is not None and (wanted < 0 or wanted > size):
            yield Breach("SV-2", f"{wanted} valid {name} of {size}")
        elif value is not None and stated != (wanted if known(wanted) else DYNAMIC):
            open_or = wanted if known(wanted) else "open"
            yield Breach("SV-2", f"the valid {name} are {open_or}, the type has {'?' if stated == DYNAMIC else stated}")


def multi_tile_get(op: Op, facts: Facts) -> Breaches:
    """MT-1."""
    source = op["source"].type
    if not isinstance(source, MultiTile):
        yield Breach("MT-1", f"{source} is not a !pto.multi_tile_buf")
        return
    slot = facts.size(op["slot"])
    if source.slot != op.result.type:
        yield Breach("MT-1", f"the slots hold {source.slot}, the result is {op.result.type}")
    if slot < 0 or slot >= source.count:
        yield Breach("MT-1", f"slot {slot} of {source.count}")


def local_array(op: Op, facts: Facts) -> Breaches:
    """LA-1."""
    array, value = op["array"].type, op.result.type if op.results else op["value"].type
    if not isinstance(array, LocalArray):
        yield Breach("LA-1", f"{array} is not a !pto.local_array")
    elif len(op.group("indices")) != len(array.dims):
        yield Breach("LA-1", f"{len(op.group('indices'))} indices for {array}")
    elif value != array.element:
        yield Breach("LA-1", f"a {value} in {array}")


def struct(op: Op, facts: Facts) -> Breaches:
    """STRUCT-1."""
    whole, value = op["source"].type, op.result.type if op.results else op["value"].type
    path = op.attrs.get("path") or ()
    field = whole.at(path) if isinstance(whole, Struct) and path else None
    if not isinstance(field, Scalar):
        yield Breach("STRUCT-1", f"{list(path)} leads to no number of {whole}")
    elif field != value:
        yield Breach("STRUCT-1", f"{list(path)} of {whole} is {field}, not {value}")


COMPOUND_CHECKS: dict[str, Callable[[Op, Facts], Breaches]] = {
    "pto.subview": subview,
    "pto.multi_tile_get": multi_tile_get,
    "pto.local_array_get": local_array,
    "pto.local_array_set": local_array,
    "pto.struct_get": struct,
    "pto.struct_set": struct,
}
"""By operation."""
