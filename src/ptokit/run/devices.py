"""A launch on several devices: the arguments of each, and one space of addresses for the memory of all.

Every rank has memory of its own, its window, in which the arguments lie at the same places on all ranks. A kernel
reaches another rank by a pointer that it is given, or by the distance of two windows, as the library's communication
context has it (pto-isa kernels/include/communication): the same offset in another window is the same argument there.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ptokit.diagnostics import Diagnostic, DiagnosticError, Severity
from ptokit.ir.core import Function
from ptokit.ir.rank_queries import Each, Peer, RankQuery
from ptokit.types.dtypes import DType
from ptokit.types.values import MemRef, PartitionView, Ptr, TensorView

if TYPE_CHECKING:
    from .memory.buffers import Buffer

MOST_RANKS = 64
"""Windows that a communication context names."""

WINDOW = 1 << 40
"""Bytes of addresses that a rank has."""

_GAP = 512  # bytes between arguments at least, so that the end of one is not the start of another


class Addresses:
    """Where the arguments of all ranks lie. ``base(rank)`` is the first byte of a rank's window."""

    def __init__(self, devices: Sequence[Sequence[Buffer | None]]) -> None:
        self._starts: list[int] = []
        self._buffers: list[Buffer] = []
        offset, offsets = 0, []
        for same in zip(*devices, strict=True):
            offsets.append(offset)
            size = max((buffer.mem.size for buffer in same if buffer is not None), default=0)
            offset += -(-(size + 1) // _GAP) * _GAP
        for rank, buffers in enumerate(devices):
            for buffer, start in zip(buffers, offsets):
                if buffer is not None:
                    buffer.addresses, buffer.address = self, self.base(rank) + start
                    self._starts.append(buffer.address)
                    self._buffers.append(buffer)

    @staticmethod
    def base(rank: int) -> int:
        """The first byte of a rank's window."""
        return (rank + 1) * WINDOW

    def find(self, buffer: Buffer, offset: Any, dtype: DType) -> tuple[Buffer, Any]:
        """What lies `offset` elements after the start of an argument: that or another one, and the offset in it.

        Between arguments lies nothing: then the two are returned as they are.
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
        """The argument at an address, its end included, and how many bytes lie before that; None between them."""
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
    `RankQuery`, `Peer` and `Each` stand for values of their own. Raises `DiagnosticError` (RUN-RANKS).
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
