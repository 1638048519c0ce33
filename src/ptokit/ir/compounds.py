"""Checks of windows with a stated size, several tiles of one type, and the scalar unit's arrays and structs.

What they say is the reference verifier's (PTOAS of August 2026, PTO.cpp).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ptokit.diagnostics import Scope, define
from ptokit.isa.site import known
from ptokit.types.tile import DYNAMIC, TileSpec
from ptokit.types.values import LocalArray, MultiTile, Scalar, Struct

from .core import Op
from .facts import Facts
from .views import Breach, Breaches


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
    "{subview … sizes [16, 16] valid [%n, %m] : … -> "
    "16x16 f32, valid=?x?|subview … sizes [16, 16] : … -> 16x16 f32, valid=?x?}",
    evidence="ptokit",
    unrun="in words so far",
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
    starts = [facts.behind_casts(v) for v in offsets]
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
        wanted = facts.behind_casts(value)
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


CHECKS: dict[str, Callable[[Op, Facts], Breaches]] = {
    "pto.subview": subview,
    "pto.multi_tile_get": multi_tile_get,
    "pto.local_array_get": local_array,
    "pto.local_array_set": local_array,
    "pto.struct_get": struct,
    "pto.struct_set": struct,
}
"""By operation."""
