"""Launch arguments: the caller's arrays and numbers, checked against the kernel's parameters."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ptokit.diagnostics import DiagnosticError, Diagnostics, Note
from ptokit.ir.core import Function, Value
from ptokit.types.codecs import width
from ptokit.types.dtypes import DType, from_numpy
from ptokit.types.rounding import FLOAT_TYPES, round_float
from ptokit.types.tile import DYNAMIC
from ptokit.types.values import INDEX, MemRef, PartitionView, Ptr, Scalar, TensorView

from .devices import Addresses
from .machine.workspace import Workspace
from .memory.buffers import Buffer
from .memory.global_memory import Pointer, Tensor
from .memory.places import overlaps

Argument = Any  # Pointer, int, float or bool


def bind_arguments(
    function: Function, args: Sequence[Any], written: set[Value], blocks: int, workspace: Workspace | None = None
) -> list[Argument]:
    """Run-time values of the parameters. Raises `DiagnosticError` with every wrong argument."""
    values = _bound(function, args, written, blocks, workspace)
    _share_writes(buffers_of(values))
    return values


def bind_devices(
    function: Function, devices: Sequence[Sequence[Any]], written: set[Value], blocks: int, workspace: Workspace | None
) -> list[list[Argument]]:
    """As `bind_arguments`, for every rank; the memory of all lies in one space of addresses."""
    bound: list[list[Argument]] = []
    for rank, args in enumerate(devices):
        try:
            bound.append(_bound(function, args, written, blocks, workspace))
        except DiagnosticError as error:
            notes = (Note(f"of the arguments of rank {rank}"),)
            raise DiagnosticError(replace(d, notes=(*d.notes, *notes)) for d in error.diagnostics) from None
        for buffer in buffers_of(bound[-1]):
            buffer.name += f" of rank {rank}"
            buffer.shown += f" of rank {rank}"
    _share_writes([buffer for values in bound for buffer in buffers_of(values)])
    Addresses([[v.buffer if isinstance(v, Pointer) else None for v in values] for values in bound])
    return bound


def _bound(
    function: Function, args: Sequence[Any], written: set[Value], blocks: int, workspace: Workspace | None
) -> list[Argument]:
    found = Diagnostics()
    if len(args) != len(function.params):
        names = ", ".join(f"{name}: {p.shown_type}" for name, p in zip(function.argument_names, function.params))
        found.error(
            "RUN-ARG-COUNT",
            f"kernel @{function.name} takes {len(function.params)} arguments, {len(args)} given",
            function.location,
            hint=f"parameters: {names}" if names else None,
        )
        raise DiagnosticError(list(found))
    values: list[Argument] = []
    for name, param, arg in zip(function.argument_names, function.params, args):
        match param.type:
            case Ptr(space=space) if space not in (None, "gm"):
                found.error(
                    "RUN-ARG-TYPE",
                    f"parameter {name} points to {space}; arguments lie in global memory (gm)",
                    param.location,
                    hint="make the pointer in the kernel, with castptr",
                )
            case Ptr():
                values.append(_pointer(param, name, arg, param in written, found))
            case Scalar():
                values.append(_scalar(param.type, name, arg, param, found))
            case TensorView() | PartitionView():
                as_memref = MemRef(param.type.dims, param.type.dtype)
                values.append(_tensor(as_memref, param, name, arg, param in written, found))
            case MemRef() if isinstance(arg, np.ndarray) or not _carried(function, param):
                values.append(_tensor(param.type, param, name, arg, param in written, found))
            case _ if str(param.type).startswith("memref"):
                values.append(arg)
            case _:
                found.error(
                    "RUN-ARG-TYPE",
                    f"parameter {name} has type {param.shown_type}, which no argument can have",
                    param.location,
                )
    found.raise_if_errors()
    for buffer in buffers_of(values):
        buffer.launch_blocks = blocks
        buffer.workspace = workspace
    return values


def buffers_of(values: Sequence[Argument]) -> list[Buffer]:
    """The memory of the arguments that have some, in order."""
    return [v.buffer for v in values if isinstance(v, Pointer) and v.buffer is not None]


def _pointer(param: Value, name: str, arg: Any, written: bool, found: Diagnostics) -> Pointer | None:
    assert isinstance(param.type, Ptr | MemRef | TensorView | PartitionView)
    dtype = param.type.dtype
    if not isinstance(arg, np.ndarray):
        found.error(
            "RUN-ARG-TYPE", f"argument {name} must be an array of {dtype}, not {type(arg).__name__}", param.location
        )
        return None
    raw = arg.dtype == dtype.storage  # any type may be given as unsigned integers of its width
    if arg.dtype != dtype.value and not raw:
        given = from_numpy(arg.dtype) or arg.dtype
        found.error(
            "RUN-ARG-DTYPE",
            f"argument {name} must have element type {dtype}, not {given}",
            param.location,
            hint=_conversion(name.removeprefix("%"), dtype),
        )
    elif not arg.flags.c_contiguous:
        found.error(
            "RUN-ARG-LAYOUT",
            f"argument {name} is not contiguous in memory",
            param.location,
            hint=f"numpy.ascontiguousarray({name.removeprefix('%')}) copies it",
        )
    elif written and not arg.flags.writeable:
        found.error(
            "RUN-ARG-READONLY", f"argument {name} is written by the kernel but the array is read-only", param.location
        )
    else:
        buffer = Buffer(name.removeprefix("%"), arg, dtype, shown=name)
        buffer.written = written
        return Pointer(buffer, 0, dtype)
    return None


def _conversion(name: str, dtype: DType) -> str:
    """How to make an array of an element type."""
    raw = f"raw bits are accepted as {dtype.storage.name}"
    if dtype.value is None:
        return raw
    module = "np" if dtype.value.isbuiltin else "ml_dtypes"
    type = f"{module}.{dtype.value.name}"
    return f"write {name}.astype({type}), or make the array with dtype={type} if the kernel writes it; {raw}"


def _carried(function: Function, param: Value) -> bool:
    """True if a memref is no data: nothing uses it but the set-up of signals between cores."""
    body = function.body
    return body is None or all(op.name == "pto.set_ffts" for op in body.walk() if param in op.values)


def _tensor(type: MemRef, param: Value, name: str, arg: Any, written: bool, found: Diagnostics) -> Tensor | None:
    """A memref or view: sizes (and strides beside them) that its type leaves open come from the array's shape."""
    pointer = _pointer(param, name, arg, written, found)
    if pointer is None:
        return None
    open_strides = type.strides is not None and DYNAMIC in type.strides
    if DYNAMIC not in type.dims and not open_strides:
        return Tensor(pointer.buffer, _start(type), type.dims, type.strides_of(type.dims), type.dtype)
    if arg.ndim != len(type.dims) or any(n not in (DYNAMIC, m) for n, m in zip(type.dims, arg.shape)):
        found.error(
            "RUN-ARG-SHAPE",
            f"argument {name} of type {param.shown_type} cannot be an array of shape {arg.shape}",
            param.location,
            hint="the array's shape gives the sizes that the type leaves open",
        )
        return None
    dims = tuple(arg.shape)
    packed = MemRef(dims, type.dtype).strides_of(dims)
    strides = tuple(p if s == DYNAMIC else s for s, p in zip(type.strides_of(type.dims), packed))
    if type.strides is None:
        strides = packed
    return Tensor(pointer.buffer, _start(type), dims, strides, type.dtype)


def _start(type: MemRef) -> int:
    """First element; an open offset is 0, the start of the array."""
    return max(0, type.offset)


def _scalar(type: Scalar, name: str, arg: Any, param: Value, found: Diagnostics) -> Any:
    if isinstance(arg, np.generic):
        arg = arg.item()
    if type.name in FLOAT_TYPES:
        if isinstance(arg, numbers.Real):
            return round_float(float(arg), type.name)
        found.error("RUN-ARG-TYPE", f"argument {name} must be a number, not {_kind(arg)}", param.location)
        return None
    if isinstance(arg, bool) and type.name == "i1":
        return arg
    if isinstance(arg, float) and arg.is_integer():
        arg = int(arg)
    if not isinstance(arg, int):
        kind = "an int" if param.called is not None and type == INDEX else f"an integer ({type})"
        found.error("RUN-ARG-TYPE", f"argument {name} must be {kind}, not {_kind(arg)}", param.location)
        return None
    bits = width(type.name)
    if not -(1 << (bits - 1)) <= arg < (1 << bits):
        found.error(
            "RUN-ARG-RANGE", f"argument {name} = {arg} does not fit {bits} bits ({param.shown_type})", param.location
        )
        return None
    if type.name == "i1":
        return bool(arg)
    return arg - (1 << bits) if arg >= 1 << (bits - 1) else arg


def _kind(arg: Any) -> str:
    return f"an array of shape {arg.shape}" if isinstance(arg, np.ndarray) else f"{arg!r}"


def _share_writes(buffers: list[Buffer]) -> None:
    """Arguments may overlap: what one writes, the tiles that stand for the other must hear of."""
    for i, j in overlaps([b.mem for b in buffers], [b.written for b in buffers]):
        a, b = buffers[i], buffers[j]
        a.written = b.written = True
        a.partners.append(b)
        b.partners.append(a)
