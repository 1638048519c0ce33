"""Launch arguments: checked against the parameters, decoded, divided among devices.

Every rank has memory of its own, its window, in which the arguments lie at the same places on all ranks. A kernel
reaches another rank by a pointer that it is given, or by the distance of two windows, as the library's communication
context has it (pto-isa kernels/include/communication): the same offset in another window is the same argument there.
"""

from __future__ import annotations

import numbers
import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ptokit.diagnostics import Diagnostic, DiagnosticError, Diagnostics, Note, Severity
from ptokit.ir.core import CPP_FILES, Function, Value
from ptokit.ir.functions import ASSUMED, BY_PYTHON, alias, assumptions, condition, elements_in, named, numbers_of
from ptokit.ir.launch import MOST_RANKS, Each, Peer, RankQuery
from ptokit.machine.buffers import Buffer, overlaps
from ptokit.machine.chunk import Workspace
from ptokit.machine.global_memory import Pointer, Tensor
from ptokit.types.codecs import width
from ptokit.types.dtypes import FLOAT_TYPES, DType, from_numpy, round_float, u8
from ptokit.types.tile import DYNAMIC
from ptokit.types.values import INDEX, MemRef, PartitionView, Ptr, Scalar, TensorView

from .tensors import GAP, by_bits, holds_memory, shared_by_name

if TYPE_CHECKING:
    from ptokit.machine.buffers import Buffer


# A launch on several devices: the arguments of each, and one space of addresses for the memory of all.


WINDOW = 1 << 40
"""Bytes of addresses that a rank has."""


class Addresses:
    """Where memory lies that kernels find by numbers: each buffer with the address of its first byte."""

    def __init__(self, places: Iterable[tuple[int, Buffer]]) -> None:
        self._starts: list[int] = []
        self._buffers: list[Buffer] = []
        for address, buffer in places:
            self.add(address, buffer)

    def add(self, address: int, buffer: Buffer) -> None:
        """A buffer more."""
        buffer.addresses, buffer.address = self, address
        k = bisect_right(self._starts, address)
        self._starts.insert(k, address)
        self._buffers.insert(k, buffer)

    @staticmethod
    def base(rank: int) -> int:
        """The first byte of a rank's window."""
        return (rank + 1) * WINDOW

    @classmethod
    def of_ranks(cls, devices: Sequence[Sequence[Buffer | None]]) -> Addresses:
        """The arguments of all ranks, each at the same distance from the start of its rank's window."""
        places: list[tuple[int, Buffer]] = []
        offset = 0
        for same in zip(*devices, strict=True):
            places += [(cls.base(rank) + offset, b) for rank, b in enumerate(same) if b is not None]
            size = max((buffer.mem.size for buffer in same if buffer is not None), default=0)
            offset += -(-(size + 1) // GAP) * GAP
        return cls(places)

    def find(self, buffer: Buffer, offset: Any, dtype: DType) -> tuple[Buffer, Any]:
        """What lies `offset` elements after the start of a buffer: that or another one, and the offset in it.

        Between buffers lies nothing: then the two are returned as they are.
        """
        if not isinstance(offset, int):
            return buffer, offset
        distance = offset // 2 if dtype.packed else offset * dtype.size
        if 0 <= distance <= buffer.mem.size:
            return buffer, offset
        found = self.at(buffer.whole.address + distance)
        if found is None:
            return buffer, offset
        other, distance = found
        return other.of_type(dtype), distance * 2 if dtype.packed else distance // dtype.size

    def at(self, address: int) -> tuple[Buffer, int] | None:
        """The buffer at an address, its end included, and how many bytes lie before that; None between them."""
        k = bisect_right(self._starts, address) - 1
        if k < 0 or address > self._starts[k] + self._buffers[k].mem.size:
            return None
        return self._buffers[k], address - self._starts[k]


def context(rank: int, ranks: int) -> np.ndarray:
    """What the library's communication context holds, as uint64: windows of 64 ranks for input and for output."""
    bases = np.zeros(MOST_RANKS, np.uint64)
    bases[:ranks] = [Addresses.base(other) for other in range(ranks)]
    head = np.array([0, 0, rank | ranks << 32, WINDOW], np.uint64)
    return np.concatenate([head, bases, bases])


def divided(function: Function, args: Sequence[Any], ranks: int) -> list[list[Any]]:
    """The arguments of every rank, of those of a launch.

    An array has a leading axis for the ranks; a list or tuple has a value for each; numbers are the same for all.
    `RankQuery`, `Peer` and `Each` have values of their own. Raises `DiagnosticError` (RUN-RANKS).
    """
    if not 1 <= ranks <= MOST_RANKS:
        raise _refused(function, f"cannot launch on {ranks} ranks; there are 1 to {MOST_RANKS}")
    names = [param.name or f"arg{i}" for i, param in enumerate(function.params)]
    names += [f"arg{i}" for i in range(len(names), len(args))]
    types = [param.type for param in function.params] + [None] * len(args)
    shown = function.argument_names + names[len(function.params) :]
    parts = [_parts(function, name, type, arg, ranks) for name, type, arg in zip(shown, types, args)]
    by_name = dict(zip(names, range(len(args))))

    def value(k: int, rank: int, before: tuple[int, ...] = ()) -> Any:
        arg = args[k]
        if not isinstance(arg, Peer):
            return parts[k][rank]
        if arg.name not in by_name:
            message = f"{shown[k]} is given {arg.name} of another rank, and there is no {arg.name}"
            raise _refused(function, message)
        if k in before:
            raise _refused(function, f"{shown[k]} is given itself, of another rank")
        other = (arg.rank if arg.absolute else rank + arg.rank) % ranks
        return value(by_name[arg.name], other, (*before, k))

    return [[value(k, rank) for k in range(len(args))] for rank in range(ranks)]


def sample(args: Mapping[str, Any]) -> dict[str, Any]:
    """What some rank may have as arguments, by name: for who asks for their types only."""
    found = {}
    for name, arg in args.items():
        seen = {name}
        while isinstance(arg, Peer) and arg.name in args and arg.name not in seen:
            seen.add(arg.name)
            arg = args[arg.name]
        if isinstance(arg, RankQuery):
            arg = context(0, 1).view(np.int64) if arg is RankQuery.COMM else 0
        elif isinstance(arg, list | tuple) and arg:
            arg = arg[0]
        found[name] = arg
    return found


def _parts(function: Function, name: str, type: Any, arg: Any, ranks: int) -> list[Any]:
    """The parts of an argument."""
    if isinstance(arg, RankQuery):
        return [_answer(arg, rank, ranks, type) for rank in range(ranks)]
    if isinstance(arg, Each):
        return [arg.of(rank) for rank in range(ranks)]
    if isinstance(arg, list | tuple):
        if len(arg) != ranks:
            raise _refused(function, f"argument {name} has {len(arg)} values, the launch has {ranks} ranks")
        return list(arg)
    if not isinstance(arg, np.ndarray):
        return [arg] * ranks
    pointer = isinstance(type, Ptr | MemRef | TensorView | PartitionView)
    if pointer and type.dtype.packed and arg.ndim == 1 and arg.size % ranks == 0:
        arg = arg.reshape(ranks, -1)
    if arg.ndim == 0 or arg.shape[0] != ranks:
        shape = "x".join(map(str, arg.shape)) or "no dimension"
        raise _refused(
            function,
            f"argument {name} has shape {shape}; its first dimension has to be that of the ranks, {ranks}",
            "give an array with a leading axis for the ranks, or a list with an array for each",
        )
    if pointer and arg.ndim == 1:
        return [arg[rank : rank + 1] for rank in range(ranks)]
    return [arg[rank] for rank in range(ranks)]


def _answer(query: RankQuery, rank: int, ranks: int, type: Any) -> Any:
    if query is RankQuery.RANK:
        return rank
    if query is RankQuery.RANKS:
        return ranks
    found = context(rank, ranks)
    return found.view(type.dtype.storage) if isinstance(type, Ptr) else found


def _refused(function: Function, message: str, hint: str | None = None) -> DiagnosticError:
    return DiagnosticError(Diagnostic("RUN-RANKS", Severity.ERROR, message, function.location, hint))


# Launch arguments: the caller's arrays and numbers, checked against the kernel's parameters.


Argument = Any  # Pointer, int, float or bool


def bind_arguments(
    function: Function, args: Sequence[Any], written: set[Value], blocks: int, workspace: Workspace | None = None
) -> list[Argument]:
    """Run-time values of the parameters. Raises `DiagnosticError` with every wrong argument."""
    values = _bound(function, args, written, blocks, workspace)
    _held(function, [values], blocks)
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
    _held(function, bound, blocks)
    _share_writes([buffer for values in bound for buffer in buffers_of(values)])
    Addresses.of_ranks([[v.buffer if isinstance(v, Pointer) else None for v in values] for values in bound])
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
        if holds_memory(arg):
            arg = shared_by_name(name, arg, param.location)
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


def _held(function: Function, devices: Sequence[Sequence[Any]], blocks: int) -> None:
    """Raise `DiagnosticError` (RUN-ASSUME) if the values of some rank break what the kernel assumes."""
    for rank in range(len(devices)) if ASSUMED in function.attrs else ():
        if broken := _broken(function, devices, rank, blocks):
            message = f"the launch breaks what kernel @{function.name} assumes: {broken}"
            notes = (Note(f"of the arguments of rank {rank}"),) if len(devices) > 1 else ()
            raise DiagnosticError(Diagnostic("RUN-ASSUME", Severity.ERROR, message, function.location, notes=notes))


def _broken(function: Function, devices: Sequence[Sequence[Any]], rank: int, blocks: int) -> str:
    """The first assumption that the values of a rank break, and what its numbers are then; "" if they keep all."""
    ranks, names, given = len(devices), named(function), dict(zip(named(function), devices[rank]))
    first, known = (numbers_of(function, devices[k], blocks, k, ranks) for k in (0, rank))
    for text in assumptions(function):
        pair = alias(text, function)
        if pair is not None:
            one, other, by = pair
            holds = _address(given[one]) == _address(devices[(rank + by) % ranks][names.index(other)])
            wanted = first | {"rank": rank, "ranks": ranks}
            for name, n in known.items() if by and holds else ():
                if isinstance(n, int) and n != wanted[name]:
                    return f"{text}, but {name} is {n} and not {wanted[name]}, as rank and ranks are or as on rank 0"
        else:
            arrays = {name: _elements(given[name]) for name in elements_in(text, function)}
            holds = bool(np.all(condition(text, known | arrays, BY_PYTHON)))
        if not holds:
            told = [n for n, v in known.items() if isinstance(v, int) and re.search(rf"\b{re.escape(n)}\b", text)]
            return f"{text}{', and ' if told else ''}{', '.join(f'{name} is {known[name]}' for name in told)}"
    return ""


def _elements(value: Pointer) -> np.ndarray:
    """What an array of integers holds, in 64 bits."""
    kind = value.dtype.value
    return (
        np.zeros(0, np.int64) if value.buffer is None or kind is None else value.buffer.mem.view(kind).astype(np.int64)
    )


def _address(value: Pointer | Tensor) -> int:
    buffer = value.buffer
    return 0 if buffer is None else int(buffer.mem.ctypes.data)


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
    if arg.flags.c_contiguous and (param.location.file or "").endswith(CPP_FILES):
        if dtype is u8:
            arg = arg.reshape(-1).view(np.uint8)  # where C++ casts, a pointer is one to bytes
        elif arg.dtype == np.uint8 and not (arg.nbytes | arg.ctypes.data) % dtype.storage.itemsize:
            arg = arg.reshape(-1).view(dtype.storage)  # declared as one to bytes, and cast
    raw = arg.dtype == dtype.storage or by_bits(arg, dtype)  # unsigned integers of the width, or signed for unsigned
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
            hint=f"numpy.ascontiguousarray({name.removeprefix('%')}) copies it; where the kernel steps by its strides, "
            "the launch or the kernel states them",
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
    """Arguments may overlap: what one writes, the tiles that are read from the other must hear of."""
    for i, j in overlaps([b.mem for b in buffers], [b.written for b in buffers]):
        a, b = buffers[i], buffers[j]
        a.written = b.written = True
        a.partners.append(b)
        b.partners.append(a)
