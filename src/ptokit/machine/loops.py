"""Loops: many iterations at once where they do not depend on each other, which iterations differ evenly, and which
loops are around a step.

Registers then have one row for each block and iteration. Whether a loop can be done so is decided in two steps. The
text must show that nothing but a count-down of lanes is carried from one iteration to the next (`countdowns`). The run
must show that addresses advance evenly, and that no iteration reads or writes what another writes (`Iterations`):
stores are kept until all of that is known. Otherwise the loop runs as it is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from contextvars import ContextVar
from math import lcm
from typing import Any, NamedTuple

import numpy as np

from ptokit.ir.core import Value
from ptokit.isa.table import Kind
from ptokit.plan.steps import Operand, Step, constant, values_of, walk, without_form
from ptokit.types.dtypes import DType
from ptokit.types.enums import Pipe
from ptokit.types.values import INDEX, Scalar

from .lanes import Fault, lanes, lift
from .local_memory import LocalMemory, LocalPointer
from .storage import Arena

# The loops around what a core executes.


Loops = tuple[tuple[str, Any], ...]
"""The loops around something, from the outside in: what findings call each loop variable, and its value."""


_LEFT: ContextVar[list[int] | None] = ContextVar("_LEFT", default=None)
"""How many iterations launches may still begin; None for any number."""


@contextmanager
def at_most(iterations: int) -> Iterator[None]:
    """Launches under observation end after so many iterations of loops, of all blocks together (RUN-LIMIT)."""
    before = _LEFT.set([iterations])
    try:
        yield
    finally:
        _LEFT.reset(before)


class Nest:
    """The loops around what a core executes now. Levels count from 1 in the running function."""

    __slots__ = ("_calls", "_left", "loops")

    def __init__(self) -> None:
        self.loops: Loops = ()
        self._calls: list[Loops] = [()]
        self._left = _LEFT.get()
        self._begins()

    def _begins(self) -> None:
        """A block or an iteration begins."""
        if self._left is not None:
            self._left[0] -= 1
            if self._left[0] < 0:
                raise Fault("RUN-LIMIT", "a run that a proof asks for begins no more iterations of loops")

    def enter(self) -> None:
        """A function of the program is called: its loops are nested in those around the call."""
        self._calls.append(self.loops)

    def back(self) -> None:
        """A function of the program has returned."""
        self.loops = self._calls.pop()

    def _outside(self, level: int) -> int:
        """Number of loops around that at nesting depth `level` of the running function."""
        return len(self._calls[-1]) + level - 1

    def iteration(self, level: int, name: str, value: Any) -> None:
        """An iteration of the loop at nesting depth `level` begins."""
        self._begins()
        self.loops = (*self.loops[: self._outside(level)], (name, value))

    def again(self, level: int) -> None:
        """The next iteration of a loop that does not count."""
        self._begins()
        outside = self._outside(level)
        count = self.loops[outside][1] + 1 if len(self.loops) > outside else 1
        self.loops = (*self.loops[:outside], ("iteration", count))

    def leave(self, level: int) -> None:
        """A loop has ended."""
        self.loops = self.loops[: self._outside(level)]


# Loops on vector registers whose iterations do not depend on each other: all of them at once.


LEAST = 4
"""Fewer iterations are not worth the effort."""

MOST = 8192
"""Rows of a register, of all blocks and iterations at once: as much as a CPU's cache holds, and no more memory."""

_INDEX_ARITHMETIC = frozenset(("addi", "subi", "muli", "index_cast"))
_REGISTERS = frozenset((Kind.VREG, Kind.MASK))


class NotSteadyError(Exception):
    """Iterations depend on each other, or may: run them one after the other."""


def countdowns(loop_step: Step, varying: AbstractSet[Value]) -> list[int] | None:
    """For each value a loop carries what an iteration takes off it, not below 0; 0 if it stays as it is.

    None if the text does not show that iterations are independent.
    """
    ((body, *more),) = loop_step.regions
    if more or any(v in varying for v in values_of(loop_step.operands[:3])) or body.args[0].type != INDEX:
        return None
    loop = _Loop(varying, {body.args[0]}, frozenset(body.args[1:]), {})
    yielded: list[Value | None] = []
    for step in body.steps:
        if step.word == "yield":
            yielded = [value if isinstance(value, Value) else None for value in step.operands]
        elif not (loop.arithmetic(step) if step.word == "compute" else loop.lanewise(step)):
            return None
    out = []
    for arg, value in zip(body.args[1:], yielded):
        counted, taken = (arg, 0) if value is None else loop.counts.get(value, (arg, 0))
        if counted is not arg or (taken == 0 and value is not arg):
            return None
        out.append(taken)
    return out


class _Loop(NamedTuple):
    """What is known of the values of one iteration."""

    varying: AbstractSet[Value]
    moving: set[Value]  # the loop variable, and what is computed from it
    carried: AbstractSet[Value]
    counts: dict[Value, tuple[Operand | None, int]]  # what is left of a count: the count, and what was taken off

    def arithmetic(self, step: Step) -> bool:
        """True if every iteration can compute it by itself."""
        if any(v in self.carried or v in self.counts for v in step.values):
            return False
        moving = sum(v in self.moving for v in step.values)
        if moving:  # and then it advances evenly
            self.moving.update(step.results)
            even = step.name in _INDEX_ARITHMETIC and not (moving == 2 and step.name == "muli")
            return even and not any(v in self.varying for v in step.values)
        return True

    def lanewise(self, step: Step) -> bool:
        """True for an instruction of the vector pipe that takes each row of its registers by itself."""
        instr = step.instr
        if instr is None or not instr.typed or instr.pipe is not Pipe.V:
            return False
        for operand in instr.operands:
            for value in values_of(step.group(operand.name)):
                if value in self.counts or (value in self.carried and not instr.counts):
                    return False
                if value in (self.varying if operand.form.offset else self.moving):
                    return False
        for operand, result in zip(instr.produces, step.results):
            if operand.kind in _REGISTERS:
                continue
            if not instr.counts:
                return False
            self.counts[result] = (without_form(step.operands[0]), instr.counts)
        return True


# Loops whose iterations differ evenly, so that one who has seen a few of them knows the others.


LONGEST = 64
"""Iterations after which remainders repeat at the latest."""


_RUNS: Mapping[str, Callable[[int], int]] = {
    "andi": lambda mask: mask + 1 if mask & (mask + 1) == 0 else 0,  # the lowest bits
    "shrsi": lambda by: 1 << by,
    "shrui": lambda by: 1 << by,
    "shli": lambda by: 1,
}
"""Iterations after which an operation with this second operand has moved evenly; 0 if it has not."""


class Even(NamedTuple):
    """A loop whose numbers have moved after `period` iterations as far as in the `period` before.

    That holds as long as what no step of `tests` compares changes its order: its two operands, or one and 0.
    """

    period: int
    tests: frozenset[Step]


def evenly(loop: Step) -> Even | None:
    """How evenly the iterations of a loop differ; None where the text does not show it, or one reads what the one
    before has left."""
    ((body, *more),) = loop.regions
    if more or body.args[0].type != INDEX or _leaves(loop):
        return None
    found = _Moving({body.args[0]: 1}, set())
    if not found.block(body.steps):
        return None
    return Even(lcm(*found.periods.values()), frozenset(found.tests))


def _leaves(loop: Step) -> bool:
    """True if an iteration reads what the one before has left; what is only handed on, nobody reads."""
    ((body, *_),) = loop.regions
    left, known = set(body.args[1:]), 0
    while len(left) > known:
        known = len(left)
        for step in walk(loop.regions[0]):
            inner = [block for region in step.regions for block in region]
            ends = (block.steps[-1] for block in inner if block.steps)
            handed = set(values_of(step.operands[3:])) if step.word == "for" else set()
            if step.word != "yield" and not left.isdisjoint(set(values_of(step.operands)) - handed):
                return True
            handed.update(value for end in ends if end.word == "yield" for value in values_of(end.operands))
            if not left.isdisjoint(handed):
                left.update(step.results, *(block.args[1:] for block in inner))
    return False


class _Moving(NamedTuple):
    """Values that differ between iterations, each with the number of iterations after which it has moved evenly."""

    periods: dict[Value, int]
    tests: set[Step]

    def block(self, steps: Iterable[Step]) -> bool:
        """False if a number may move unevenly."""
        return all(self.arithmetic(step) if step.word == "compute" else self.other(step) for step in steps)

    def period(self, operands: Iterable[Operand]) -> int:
        """0 if the operands are those of every iteration."""
        found = [self.periods[value] for value in values_of(operands) if value in self.periods]
        return lcm(*found) if found else 0

    def arithmetic(self, step: Step) -> bool:
        period = self.period(step.operands)
        if not period:
            return True
        first, *rest = step.operands
        match step.name:
            case "addi" | "subi" | "index_cast" | "index_castui" | "extsi" | "extui":
                pass
            case "muli" if not (self.period([first]) and self.period(rest)):
                pass
            case "cmpi":  # the same as long as the order is
                self.tests.add(step)
                return True
            case "minsi" | "maxsi" | "minui" | "maxui":
                self.tests.add(step)
            case "select" if not self.period([first]):
                pass
            case "andi" | "shrsi" | "shrui" | "shli":
                by = constant(without_form(rest[0]))
                every = _RUNS[step.name](by) if type(by) is int and 0 <= by < LONGEST else 0
                if not 0 < every * period <= LONGEST:
                    return False
                period *= every
            case "remsi" | "remui" | "divsi" | "divui" | "ceildivsi" | "floordivsi" | "ceildivui":
                by = constant(without_form(rest[0]))
                if type(by) is not int or not 0 < by * period <= LONGEST:
                    return False
                self.tests.add(step)
                period *= by
            case _:
                return False
        self.periods.update(dict.fromkeys(step.results, period))
        return True

    def other(self, step: Step) -> bool:
        period = self.period(step.operands)
        match step.word:
            case "while" | "switch" | "branch":
                return False
            case "call" if period:
                return False
            case "if" | "for" | "region" | "scope":
                if step.word == "for" and self.period(step.operands[3:]):
                    return False
                inside = all(self.block(block.steps) for region in step.regions for block in region)
                return inside and not (step.results and self._gives(step))
        numbers = [value for value in step.results if isinstance(value.type, DType | Scalar)]
        if period and numbers and step.word != "instruction":
            return False  # read from a place that moves
        if period:
            self.periods.update(dict.fromkeys(step.results, period))
        return True

    def _gives(self, step: Step) -> bool:
        """True if what its regions hand out moves."""
        last = (block.steps[-1] for region in step.regions for block in region if block.steps)
        return any(self.period(inner.operands) for inner in last if inner.word == "yield")


class _Stream(NamedTuple):
    """What an access touches: iteration i has bytes [start + i stride, start + i stride + span) of an arena."""

    arena: Arena
    start: int
    stride: int
    span: int
    last: int  # end of the last iteration's bytes

    def apart(self, other: _Stream) -> bool:
        """True if no byte is common to any two iterations."""
        if self.arena is not other.arena or self.last <= other.start or other.last <= self.start:
            return True
        if self.stride != other.stride:
            return False
        shift = (other.start - self.start) % self.stride
        return shift >= self.span and self.stride - shift >= other.span

    def same_places(self, other: _Stream) -> bool:
        """True if every iteration touches the same place, which no other iteration touches."""
        same = (self.start, self.stride) == (other.start, other.stride)
        return same and self.stride >= max(self.span, other.span)


def parts(chunk: LocalMemory, target: Any, iterations: range) -> Iterator[tuple[range, Iterations | None]]:
    """Runs of iterations, each with the machine that does them at once.

    The rest of the loop has none, where it is short or its first part has shown that iterations depend on each other.
    """
    size = max(LEAST, MOST // chunk.blocks)
    done = 0
    while len(iterations) - done >= LEAST:
        part = iterations[done : done + size]
        machine = Iterations(chunk, target, part)
        yield part, machine
        done += len(part)
        if not machine.finished:
            break
    if done < len(iterations):
        yield iterations[done:], None


class Iterations:
    """The machine of many iterations of a loop together (see `ptokit.isa.machine.Machine`)."""

    def __init__(self, chunk: LocalMemory, target: Any, iterations: range) -> None:
        self.chunk, self.target = chunk, target
        self.iv = np.arange(iterations.start, iterations.stop, iterations.step)
        self.count = len(iterations)
        self.blocks = chunk.blocks * self.count
        self.finished = False
        self._accesses: list[_Stream] = []
        self._stores: list[tuple[int, np.ndarray, np.ndarray | None]] = []

    def __getattr__(self, name: str) -> Any:
        raise NotSteadyError(name)  # whatever else a machine can do

    def of_each_iteration(self, x: Any) -> Any:
        """A register or scalar from outside the loop, with a row for each iteration."""
        if isinstance(x, np.ndarray) and x.ndim == 2 and len(x) > 1:
            return np.repeat(x, self.count, axis=0)
        return x

    def countdown(self, count: Any, by: int) -> Any:
        """What is left of a count in each iteration, (blocks times iterations, 1); a number where it never ends."""
        if isinstance(count, int) and (least := (count & 0xFFFFFFFF) - by * (self.count - 1)) >= by:
            return least  # all lanes of all iterations
        first = np.reshape(lanes(count), (-1, 1)) & 0xFFFFFFFF
        left: np.ndarray = np.maximum(first - by * np.arange(self.count), 0)
        return left.reshape(-1, 1) if len(left) > 1 else np.tile(left, (self.chunk.blocks, 1)).reshape(-1, 1)

    def left(self, count: Any, by: int) -> Any:
        """What is left of a count after the loop."""
        if isinstance(count, int):
            return max((count & 0xFFFFFFFF) - by * self.count, 0)
        return lift(np.maximum((np.asarray(lanes(count)) & 0xFFFFFFFF) - by * self.count, 0))

    def _stream(self, pointer: LocalPointer, offset: Any, span: int, alignment: int) -> _Stream:
        if not isinstance(pointer.address, int):
            raise NotSteadyError("pointer")
        stride = 0
        if isinstance(offset, np.ndarray):
            first = int(offset[0])
            offset, stride = first, (int(offset[1]) - first) * pointer.size
        start = pointer.address + (offset or 0) * pointer.size
        arena = self.chunk.memory_of(pointer)
        last = start + stride * (self.count - 1) + span
        if stride < 0 or start < 0 or last > arena.size or start % alignment or stride % alignment:
            raise NotSteadyError("place")
        return _Stream(arena, start, stride, span, last)

    def load(
        self, pointer: LocalPointer, offset: Any, nbytes: int, alignment: int, rule: str = "VEC-A5-03"
    ) -> np.ndarray:
        """Load as a chunk does; the result has a row for each block and iteration."""
        s = self._stream(pointer, offset, nbytes, alignment)
        self._accesses.append(s)
        s.arena.settle(s.start, s.last, write=False)
        if s.stride == 0:
            return self.of_each_iteration(s.arena.data[:, s.start : s.last].copy())  # type: ignore[no-any-return]
        return self._rows(s, np.dtype(np.uint8)).copy().reshape(self.blocks, nbytes)

    def store(
        self,
        pointer: LocalPointer,
        offset: Any,
        values: np.ndarray,
        active: np.ndarray | None,
        alignment: int,
        rule: str = "VEC-A5-03",
    ) -> None:
        """Store as a chunk does; nothing is written before `finish`."""
        bits = np.ascontiguousarray(values).view(f"u{values.dtype.itemsize}")
        s = self._stream(pointer, offset, bits.shape[1] * bits.dtype.itemsize, alignment)
        if s.stride < s.span:
            raise NotSteadyError("overlap")
        self._stores.append((len(self._accesses), bits, active))
        self._accesses.append(s)

    def finish(self) -> bool:
        """Write what was stored if no iteration depends on another; else write nothing and say so."""
        for number, _, _ in self._stores:
            store = self._accesses[number]
            written = {n for n, _, _ in self._stores}
            for k, other in enumerate(self._accesses):
                if k == number or store.apart(other):
                    continue
                if not store.same_places(other) or (k > number and k not in written):
                    return False
        for number, bits, active in self._stores:
            s = self._accesses[number]
            s.arena.settle(s.start, s.last, write=True, whole=active is None and s.stride == s.span)
            target, source = self._rows(s, bits.dtype), self._by_iteration(bits)
            if active is None:
                target[...] = source
            else:
                np.copyto(target, source, where=self._by_iteration(active))
        self.finished = True
        return True

    def _by_iteration(self, rows: np.ndarray) -> np.ndarray:
        """Rows as (blocks or 1, iterations or 1, n)."""
        return rows[None] if len(rows) == 1 else rows.reshape(self.chunk.blocks, self.count, -1)

    def _rows(self, s: _Stream, dtype: np.dtype) -> np.ndarray:
        """The memory of an access as (blocks, iterations, elements)."""
        data = s.arena.data
        shape = (len(data), self.count, s.span // dtype.itemsize)
        return np.ndarray(shape, dtype, s.arena.flat, s.start, (s.arena.pitch, s.stride, dtype.itemsize))
