"""Several tiles of one type, and arrays and structs of the scalar unit (PTOAS 2026-08)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ptokit.ir.core import Op
from ptokit.types.enums import TileType
from ptokit.types.tile import DYNAMIC, TileSpec
from ptokit.types.values import LocalArray, MultiTile, Scalar, Struct

from .fault import Fault
from .lanes import uniform

if TYPE_CHECKING:
    from .codegen import FunctionWriter

_CUBE = (TileType.Left, TileType.Right, TileType.Acc)
_FLOATS = ("f16", "bf16", "f32", "f64")


def slot_bytes(spec: TileSpec) -> int:
    """Bytes from one of several tiles to the next: whole 512 in the buffers of the cube unit, whole 32 elsewhere."""
    unit = 512 if spec.loc in _CUBE else 32
    return -(-spec.nbytes // unit) * unit


def place(index: Any, sizes: Sequence[int], what: str) -> int:
    """The position of an element, counted row by row. Raises `Fault` RUN-INDEX if there is none, `Diverge`."""
    found = 0
    for i, size in zip(index, sizes):
        i = uniform(i)
        if not 0 <= i < size:
            raise Fault("RUN-INDEX", f"index {i} of {what}, which has {size}")
        found = found * size + i
    return found


def _zero(kind: Scalar | Struct) -> str:
    if isinstance(kind, Struct):
        return "[" + ", ".join(_zero(field) for field in kind.fields) + "]"
    return "0.0" if kind.name in _FLOATS else "0"


def _alloc(writer: FunctionWriter, op: Op) -> None:
    tiles = op.result.type
    assert isinstance(tiles, MultiTile)
    spec, kind = tiles.slot, writer.const(tiles.slot)
    sizes = [
        writer.ref(op.get(name)) if stated == DYNAMIC else str(stated)
        for name, stated in (("valid_row", spec.valid_row), ("valid_col", spec.valid_col))
    ]
    base = op.get("addr")
    slots = []
    for k in range(tiles.count):
        name = writer.storage_name(spec)
        if base is None:
            address, storage = "None", f"m.site({next(writer.counter)}, {kind})"
        else:
            address = f"uniform({writer.ref(base)}) + {k * slot_bytes(spec)}"
            storage = f"m.at({address}, {kind})"
        writer.line(f"{name} = {storage}", op)
        slots.append(f"m.tile({name}, {kind}, {', '.join(sizes)}, {op.result.name!r}, {address})")
    writer.line(f"{writer.bind(op.result)} = [{', '.join(slots)}]", op)


def _get(writer: FunctionWriter, op: Op) -> None:
    tiles = op["source"].type
    assert isinstance(tiles, MultiTile)
    at = f"{writer.const(place)}(({writer.ref(op['slot'])},), ({tiles.count},), 'the tiles')"
    writer.line(f"{writer.bind(op.result, 't')} = {writer.ref(op['source'])}[{at}]", op)


def _array(writer: FunctionWriter, op: Op) -> None:
    array = op.result.type
    assert isinstance(array, LocalArray)
    count = 1
    for size in array.dims:
        count *= size
    writer.line(f"{writer.bind(op.result)} = [{_zero(array.element)}] * {count}", op)


def _element(writer: FunctionWriter, op: Op) -> str:
    array = op["array"].type
    assert isinstance(array, LocalArray)
    index = "".join(f"{writer.ref(v)}, " for v in op.group("indices"))
    return f"{writer.ref(op['array'])}[{writer.const(place)}(({index}), {array.dims!r}, 'the array')]"


def _field(writer: FunctionWriter, op: Op) -> str:
    return writer.ref(op["source"]) + "".join(f"[{k}]" for k in op.attrs["path"])


def _read(where: Callable[[FunctionWriter, Op], str]) -> Callable[[FunctionWriter, Op], None]:
    return lambda writer, op: writer.line(f"{writer.bind(op.result)} = {where(writer, op)}", op)


def _write(where: Callable[[FunctionWriter, Op], str]) -> Callable[[FunctionWriter, Op], None]:
    return lambda writer, op: writer.line(f"{where(writer, op)} = {writer.ref(op['value'])}", op)


def _struct(writer: FunctionWriter, op: Op) -> None:
    kind = op.result.type
    assert isinstance(kind, Struct)
    writer.line(f"{writer.bind(op.result)} = {_zero(kind)}", op)


METHODS: dict[str, Callable[[FunctionWriter, Op], None]] = {
    "pto.alloc_multi_tile": _alloc,
    "pto.multi_tile_get": _get,
    "pto.declare_local_array": _array,
    "pto.local_array_get": _read(_element),
    "pto.local_array_set": _write(_element),
    "pto.declare_struct": _struct,
    "pto.struct_get": _read(_field),
    "pto.struct_set": _write(_field),
}
