"""The threads of a launch, what they do with memory, what they call for a step, and launches of them.

All threads of all blocks of a chunk are one axis: blocks, then warps of 32 lanes, the last warp of a block filled up
with lanes that never run. An operation is done by all active lanes before the next one; of several lanes that write to
one place the last one stays, and atomic updates follow each other in the order of the lanes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NoReturn, Protocol

import numpy as np

from ptokit.diagnostics import Diagnostic, DiagnosticError, Severity
from ptokit.ir.core import Op
from ptokit.isa.checks.tile_types import buffer_name
from ptokit.isa.scalar.arithmetic import ARITHMETIC, CONSTANT
from ptokit.isa.simt.memory import SIZES, WARP, OfThreads
from ptokit.plan.steps import Step
from ptokit.records import dataclass
from ptokit.types.dtypes import DType
from ptokit.types.enums import TileType
from ptokit.types.values import Type

from .arithmetic import Kind, constant, kind_of, kind_of_element, of_lanes
from .buffers import Buffer
from .global_memory import Pointer
from .lanes import Fault, LaneBlocks, LaneCounts, LaneRounds, LaneWays, lanes, lift, merge, outside
from .local_memory import SPACES, LocalPointer
from .storage import Arena

# What threads call for a step of a plan: the function of an operation of theirs, or of arithmetic on lanes.


ACCESSES = frozenset(("load_scalar", "store_scalar"))


def bound(step: Step) -> Callable[..., Any]:
    """``call(threads, *operands)`` of a step; of arithmetic ``call(active, *operands)``.

    Raises `DiagnosticError` if threads cannot execute it.
    """
    if step.bound is None:
        step.bound = _made(step)
    made: Callable[..., Any] = step.bound
    return made


def carry_out(step: Step, threads: Any, *operands: Any) -> Any:
    """Do a step, with operands as they are at that moment. Not for words of `CONTROL`."""
    if step.word == "compute":
        return bound(step)(threads.active, *operands)
    if step.word == "instruction" or step.word in ACCESSES:
        return bound(step)(threads, *operands)
    return getattr(threads, step.word)(*operands)


def _made(step: Step) -> Callable[..., Any]:
    op = step.op
    if step.word in ACCESSES:
        word = step.word
        return _told(op, lambda threads, *operands: getattr(threads, word)(*operands))
    if step.instr is not None:
        return _instruction(step)
    made = _arithmetic(op)
    if made is None:
        message = f"{op.name} cannot be run by threads yet"
        raise DiagnosticError(Diagnostic("TEXT-UNIMPLEMENTED", Severity.ERROR, message, op.location))
    return made


def _arithmetic(op: Op) -> Callable[..., Any] | None:
    row, kind = ARITHMETIC.get(op.name), kind_of(op.results[0].type)
    if kind is None:
        return None
    if row is not None:
        if row.group == "chosen":
            return lambda active, c, a, b: merge(c, a, b)
        source = kind_of(op.values[-1].type)
        name = "" if kind.dtype is None else kind.dtype.name
        return None if source is None else of_lanes(row, op.attrs, source.array, kind.array, name)
    if op.name != CONSTANT:
        return lambda active, x: _bits(x, kind)
    value = constant(op.attrs["value"], kind)
    return lambda active: value


def _bits(x: np.ndarray, kind: Kind) -> np.ndarray:
    """The same bits as another type."""
    rows = np.ascontiguousarray(x.reshape(len(x), -1)).view(kind.array)
    return rows if kind.count else rows[:, 0]


def _told(op: Op, run: Callable[..., Any]) -> Callable[..., Any]:
    """The same, where the threads know which operation they execute."""

    def call(threads: Any, *operands: Any) -> Any:
        threads.here = op
        return run(threads, *operands)

    return call


def _instruction(step: Step) -> Callable[..., Any]:
    instr, op = step.instr, step.op
    assert instr is not None
    assert isinstance(instr.run, OfThreads)
    named = {o.name: next(iter(op.group(o.name)), None) for o in instr.operands}
    named |= dict(zip((o.name for o in instr.produces), op.results))
    meaning = instr.run.made({name: None if v is None else kind_of(v.type) for name, v in named.items()}, step.attrs)
    more = {**step.attrs, "types": [kind_of(v.type) for v in (*op.values, *op.results)]}

    def call(threads: Any, *operands: Any) -> Any:
        threads.here = op
        return meaning(threads, *operands, **more)

    return call


# The threads of a launch, and what they do with memory.


KEPT, CLOCK = "kept by threads", "clock of threads"
MOST = 2048
"""Threads of a launch."""


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """A pointer of threads: bytes from the start of a buffer or argument, for each lane or one for all.

    ``apart``: the memory of a tile that has no address in its buffer.
    """

    space: str
    buffer: Buffer | None
    start: np.ndarray
    dtype: DType
    apart: Arena | None = None

    def advance(self, elements: np.ndarray) -> Place:
        """The pointer so many elements further on."""
        return replace(self, start=self.start + elements * kind_of_element(self.dtype).nbytes)

    def cast(self, dtype: DType, space: str) -> Place:
        """The same place as a pointer to other elements."""
        return replace(self, space=space or "gm", dtype=dtype)

    def mixed(self, c: np.ndarray, other: Place) -> Place:
        """This pointer where `c` holds, else another one into the same memory."""
        if self.buffer is not other.buffer or self.space != other.space or self.apart is not other.apart:
            raise Fault("TEXT-UNIMPLEMENTED", "threads choose between pointers to different arguments")
        return replace(self, start=merge(c, self.start, other.start))


class Watch(Protocol):
    """Who is told of every access."""

    def access(
        self, threads: Threads, place: Place, where: np.ndarray, nbytes: int, on: np.ndarray, how: Access
    ) -> None:
        """Lanes `on` access `nbytes` bytes at `where`."""

    def sync(self, threads: Threads) -> None:
        """All threads have passed a syncthreads."""


@dataclass(frozen=True, slots=True)
class Access:
    """A kind of access; ``values``: what is written, where that is known."""

    write: bool
    atomic: str = ""
    values: np.ndarray | None = None


class Blocks(Protocol):
    """The blocks whose threads these are: what a chunk has of them."""

    blocks: int
    subblock: int
    registers: dict[str, Any]

    def space(self, loc: TileType) -> Arena:
        """The memory of one buffer."""

    def remark(self, rule: str, message: str) -> None:
        """Report what breaks a rule of warning severity."""


class Threads:
    """A launch on a chunk of blocks."""

    def __init__(self, chunk: Blocks, sizes: tuple[int, int, int], watch: Watch | None = None) -> None:
        x, y, z = sizes
        count = x * y * z
        if min(sizes) < 0 or count > MOST:
            raise Fault("SIMT-SIZE", f"a launch of {x} x {y} x {z} threads; one has at most {MOST}")
        per_block = -(-count // WARP) * WARP
        self.chunk, self.sizes, self.watch, self.per_block = chunk, sizes, watch, per_block
        self.count = chunk.blocks * per_block
        self.number = np.tile(np.arange(per_block, dtype=np.int32), chunk.blocks)
        self.block = np.repeat(np.arange(chunk.blocks), per_block)
        self.exists = self.number < count
        self.active = self.exists
        self.here: Op | None = None  # the operation that threads execute
        self.lane = self.number % np.int32(WARP)
        self.tid = (
            self.number % np.int32(max(1, x)),
            self.number // np.int32(max(1, x)) % np.int32(max(1, y)),
            self.number // np.int32(max(1, x * y)),
        )

    def spread(self, x: np.ndarray) -> np.ndarray:
        """The value of every lane."""
        return x if len(x) == self.count else np.broadcast_to(x, (self.count, *x.shape[1:]))

    def refuse(self, rule: str, message: str) -> NoReturn:
        """Stop."""
        raise Fault(rule, message)

    def argument(self, value: Any, kind: Kind | None) -> Any:
        """An argument of the launch as threads have it."""
        if isinstance(value, LocalPointer):
            return Place(value.space, None, self._each(value.address), value.dtype, value.apart)
        if isinstance(value, Pointer):
            size = kind_of_element(value.dtype).nbytes
            return Place("gm", value.buffer, self._each(value.offset) * size, value.dtype)
        if kind is None:
            raise Fault("TEXT-UNIMPLEMENTED", "threads take numbers and pointers")
        return self._each(value).astype(kind.array)

    def memory_of(self, place: Place) -> Arena:
        """The on-chip memory that a pointer points into."""
        return self.chunk.space(SPACES[place.space]) if place.apart is None else place.apart

    def _each(self, value: Any) -> np.ndarray:
        """A number, or one for each block, as lanes have it."""
        array = np.atleast_1d(np.asarray(lanes(value)))
        return array if len(array) == 1 else np.repeat(array, self.per_block)

    def kept(self) -> dict[int, np.ndarray]:
        """What threads keep for the next launch, by slot."""
        found: dict[int, np.ndarray] = self.chunk.registers.setdefault(KEPT, {})
        return found

    def sync(self) -> None:
        """syncthreads."""
        if not np.array_equal(self.active, self.exists):
            self.chunk.remark("SIMT-SYNC", "some threads of the launch do not come to this syncthreads")
        if self.watch is not None:
            self.watch.sync(self)

    def core(self) -> int:
        """Number of the vector core."""
        return self.chunk.subblock

    def clock(self) -> int:
        """The clock register: how often it has been read."""
        now: int = self.chunk.registers.get(CLOCK, 0) + 1
        self.chunk.registers[CLOCK] = now
        return now

    # --- steps --------------------------------------------------------------------------------------------------

    def carry_out(self, step: Step, *operands: Any) -> Any:
        """Do a step with operands as they are at that moment. Not for words of `ptokit.plan.steps.CONTROL`."""
        return carry_out(step, self, *operands)

    def ways(self, chosen: np.ndarray | None, cases: Sequence[int]) -> LaneWays:
        """The ways of a branch."""
        return LaneWays(self, chosen, cases)

    def loop(self, lower: np.ndarray, upper: np.ndarray, step: np.ndarray) -> LaneCounts:
        """A loop that counts. Raises `Fault` RUN-STEP."""
        return LaneCounts(self, lower, upper, step)

    def rounds(self) -> LaneRounds:
        """A loop that ends when a condition does not hold."""
        return LaneRounds(self)

    def places(self, blocks: int) -> LaneBlocks:
        """The blocks of a region."""
        return LaneBlocks(self, blocks)

    @staticmethod
    def advance(pointer: Place, elements: np.ndarray) -> Place:
        """addptr."""
        return pointer.advance(elements)

    @staticmethod
    def cast(value: Any, dtype: DType, space: str) -> Place:
        """castptr to a pointer."""
        if isinstance(value, Place):
            return value.cast(dtype, space)
        return Place(space, None, value.astype(np.int64), dtype)

    @staticmethod
    def number_of(pointer: Place) -> Any:
        """castptr to a number; a pointer to global memory stays one."""
        return pointer if pointer.space == "gm" else pointer.start

    def load_scalar(self, pointer: Place, index: np.ndarray) -> np.ndarray:
        """Read one element."""
        return self.read(pointer, index)

    def store_scalar(self, value: np.ndarray, pointer: Place, index: np.ndarray) -> None:
        """Write one element."""
        self.write(pointer, index, value)

    # --- memory --------------------------------------------------------------------------------------------------

    def read(self, place: Place, offset: np.ndarray | int = 0) -> np.ndarray:
        """Elements at an offset in elements."""
        kind = kind_of_element(place.dtype)
        memory, where, on = self._found(place, offset, kind, Access(False))
        raw = memory[where[:, None] + np.arange(kind.nbytes)]
        return _values(raw, kind) if len(where) == self.count or len(where) == 1 else self._full(_values(raw, kind), on)

    def write(self, place: Place, offset: np.ndarray | int, values: np.ndarray) -> None:
        """Write elements; where several lanes write one element, the last lane wins."""
        kind = kind_of_element(place.dtype)
        values = self.spread(values.astype(kind.array, copy=False))[self.active]
        memory, where, _ = self._found(place, offset, kind, Access(True, values=values), narrow=True)
        memory[where[:, None] + np.arange(kind.nbytes)] = _bytes(values, kind)

    def update(
        self,
        place: Place,
        change: Callable[..., np.ndarray],
        values: tuple[np.ndarray, ...],
        name: str,
        running: Callable[[np.ndarray], np.ndarray] | None = None,
    ) -> np.ndarray:
        """Replace elements by ``change(old, *values)``, lane after lane; what each lane has found.

        ``running``: all results of the old element and a row of values, one after the other, the old one first.
        """
        kind = kind_of_element(place.dtype)
        memory, where, on = self._found(place, 0, kind, Access(True, name), narrow=True)
        given = tuple(self.spread(v.astype(kind.array, copy=False))[self.active] for v in values)
        places, which = np.unique(where, return_inverse=True)
        spots = places[:, None] + np.arange(kind.nbytes)
        now = _values(memory[spots], kind)
        old = np.empty((len(where), *now.shape[1:]), now.dtype)
        order = np.argsort(which, kind="stable")
        begins = np.searchsorted(which[order], np.arange(len(places)))
        rank = np.empty(len(where), np.int64)
        rank[order] = np.arange(len(where)) - begins[which[order]]
        groups = int(rank.max(initial=-1)) + 1
        if running is not None and groups > len(places) and now.ndim == 1:
            for group, first in enumerate(begins):
                mine = order[first : begins[group + 1] if group + 1 < len(begins) else None]
                row = running(np.concatenate((now[group : group + 1], given[0][mine])))
                old[mine], now[group] = row[:-1], row[-1]
        else:
            for group in range(groups):
                mine = np.flatnonzero(rank == group)
                old[mine] = now[which[mine]]
                now[which[mine]] = change(old[mine], *(g[mine] for g in given))
        memory[spots] = _bytes(now, kind)
        return self._full(old, on)

    def _full(self, values: np.ndarray, on: np.ndarray) -> np.ndarray:
        out = np.zeros((self.count, *values.shape[1:]), values.dtype)
        out[on] = values
        return out

    def _found(
        self, place: Place, offset: np.ndarray | int, kind: Kind, how: Access, *, narrow: bool = False
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The bytes of a memory, the first byte of each element there, and the active lanes.

        Elements are those of the active lanes, or with one place for all just that one. Raises `Fault`.
        """
        near = np.clip(np.asarray(offset, np.int64), -_FAR, _FAR)  # whose bytes have numbers of 64 bits
        where = place.start + near * kind.nbytes
        on = np.flatnonzero(self.active)
        alone = len(where) == 1 and not narrow and (place.space == "gm" or self.chunk.blocks == 1)
        if len(where) != 1 or not alone:
            where = self.spread(where)[on]
        if place.space == "gm":
            buffer = place.buffer
            if buffer is None:
                raise Fault("GM-NULL", "a thread accesses memory through a null pointer")
            self._check(where, kind.nbytes, buffer.mem.size, f"argument {buffer.shown}")
            if how.write:
                buffer.before_write()
            memory, base = buffer.mem, where
        else:
            arena = self.memory_of(place)
            self._check(where, kind.nbytes, arena.size, buffer_name(SPACES[place.space]))
            if len(where):
                arena.settle(int(where.min()), int(where.max()) + kind.nbytes, write=how.write)
            memory = arena.data  # made now, with the row that follows
            base = where if alone else where + self.block[on] * arena.pitch
            memory = arena.flat  # type: ignore[assignment]
        if self.watch is not None and len(on):
            self.watch.access(self, place, np.broadcast_to(where, on.shape), kind.nbytes, on, how)
        assert memory is not None
        return memory, base, on

    def _check(self, where: np.ndarray, nbytes: int, size: int, name: str) -> None:
        if not len(where):
            return
        low, high = int(where.min()), int(where.max())
        if low < 0 or high + nbytes > size:
            start = low if low < 0 else high
            raise outside("a thread accesses", start, nbytes, name, size)


_FAR = 1 << 56
"""Elements: no memory has as many."""


def _values(raw: np.ndarray, kind: Kind) -> np.ndarray:
    """Elements from their bytes."""
    found = np.ascontiguousarray(raw).view(kind.array)
    return found if kind.count else found[:, 0]


def _bytes(values: np.ndarray, kind: Kind) -> np.ndarray:
    flat = values if kind.count else values[:, None]
    return np.ascontiguousarray(flat).view(np.uint8)


# Launches of threads from a program, and operations of threads that it executes itself: one thread in each block.


Called = Callable[..., Any]
"""``f(threads, *arguments)``: a function that threads execute; it returns its result, or several."""


class ThreadListener(Protocol):
    """Who is told of launches of threads."""

    def watch_threads(self, op: Op) -> Watch | None:
        """Who is told of what the threads of a launch access."""


class ThreadLaunches:
    """What a chunk does with threads."""

    registers: dict[str, Any]
    observer: ThreadListener | None

    def watch_threads(self, op: Op) -> Watch | None:
        """Who is told of what the threads of a launch access."""
        return None if self.observer is None else self.observer.watch_threads(op)

    def launch_threads(
        self, op: Op, callee: Called, types: Sequence[Type], sizes: Sequence[int] | None, given: Sequence[Any]
    ) -> None:
        """Run a function on many threads.

        ``types``: of its parameters; ``sizes``: in x, y, z, else those that have been set for launches.
        """
        if sizes is None:
            sizes = self.registers.get(SIZES, (1, 1, 1))
        x, y, z = (int(n) for n in sizes)
        threads = Threads(self, (x, y, z), self.watch_threads(op))  # type: ignore[arg-type]
        arguments = _arguments(threads, types, given)
        if threads.count:
            callee(threads, *arguments)

    def one_thread(self, op: Op, callee: Called, types: Sequence[Type], given: Sequence[Any]) -> Any:
        """An operation of threads, by one thread in each block; None if it has no result."""
        threads = Threads(self, (1, 1, 1), self.watch_threads(op))  # type: ignore[arg-type]
        out = callee(threads, *_arguments(threads, types, given))
        if not op.results:
            return None
        if not isinstance(out, np.ndarray):
            raise Fault("TEXT-UNIMPLEMENTED", f"{op.name} gives a pointer")
        of_blocks = out if len(out) == 1 else out[::WARP]
        return of_blocks if of_blocks.ndim == 2 else lift(of_blocks)


def _arguments(threads: Threads, types: Sequence[Type], given: Sequence[Any]) -> list[Any]:
    return [threads.argument(value, kind_of(type)) for type, value in zip(types, given)]
