"""What the blocks of a launch read and write of its arguments, as sets of bytes.

Every step is looked at, none is carried out that works on tiles: addresses come from numbers, not from what tiles hold.
Where that is not so, where a block waits for another one, or where an instruction has no exact footprint in global
memory, `Entangled` says why the launch has to stay in one piece.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ptokit.diagnostics import DiagnosticError
from ptokit.isa.meaning.words import Move, Word
from ptokit.isa.site import Site
from ptokit.isa.table import Kind, Role
from ptokit.machine.buffers import Buffer, overlaps
from ptokit.machine.global_memory import Pointer, View
from ptokit.machine.lanes import lanes
from ptokit.machine.observer import Moment, Observer
from ptokit.machine.signals import ALL_CORES
from ptokit.machine.tiles import Tile, carry_out, infos
from ptokit.plan.steps import Step
from ptokit.records import dataclass
from ptokit.run.program import Program
from ptokit.types.enums import Layout
from ptokit.types.tensor import inner_channels

# Sets of bytes as runs [start, end), and who touches them.


Axis = tuple[int, int]
"""Count, and stride in bytes."""


@dataclass(frozen=True)
class Runs:
    """Runs [starts, ends) of bytes and the block of each, int64 arrays of one length."""

    starts: np.ndarray
    ends: np.ndarray
    blocks: np.ndarray

    def __len__(self) -> int:
        return len(self.starts)


NONE = Runs(*(np.empty(0, np.int64),) * 3)


def of_boxes(offsets: np.ndarray, axes: Sequence[Axis], nbytes: int, blocks: np.ndarray) -> Runs:
    """What blocks touch that have `nbytes` bytes at offset + sum(i * stride) each. ``offsets``: one, or one a block."""
    length, low = nbytes, 0
    outer: list[Axis] = []
    for count, stride in sorted(((n, s) for n, s in axes if n > 1 and s), key=lambda axis: abs(axis[1])):
        if stride < 0:
            low, stride = low + (count - 1) * stride, -stride
        if stride <= length:  # the shorter strides come first: so for none after one that is longer
            length += (count - 1) * stride
        else:
            outer.append((count, stride))
    inside: np.ndarray = np.zeros(1, np.int64)
    for count, stride in outer:
        inside = (inside[:, None] + np.arange(count, dtype=np.int64) * stride).reshape(-1)
    starts = np.asarray(offsets, np.int64).reshape(-1, 1) + low + inside
    starts = np.broadcast_to(starts, (len(blocks), len(inside)))
    owners = np.repeat(np.asarray(blocks, np.int64), starts.shape[1])
    flat = starts.reshape(-1)
    return Runs(flat, flat + length, owners)


def pieces(axes: Sequence[Axis], nbytes: int) -> int:
    """How many runs `of_boxes` makes for one block, at most."""
    out, length = 1, nbytes
    for count, stride in sorted(((n, abs(s)) for n, s in axes if n > 1 and s), key=lambda axis: axis[1]):
        if stride <= length:
            length += (count - 1) * stride
        else:
            out *= count
    return out


def reach(axes: Sequence[Axis], nbytes: int) -> tuple[int, int]:
    """The first byte and the end of what `of_boxes` touches, from the offset on."""
    low = sum((n - 1) * s for n, s in axes if s < 0)
    return low, sum((n - 1) * s for n, s in axes if s > 0) + nbytes


def joined(parts: Sequence[Runs]) -> Runs:
    """All runs, those of one block that touch each other as one, sorted by block and place."""
    if not parts:
        return NONE
    starts, ends, blocks = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("starts", "ends", "blocks")
    )
    if not len(starts):
        return NONE
    low, span = int(starts.min()), int(ends.max() - starts.min()) + 1
    firsts, lasts = merged((starts - low) + blocks * span, (ends - low) + blocks * span)
    owners = firsts // span
    return Runs(firsts - owners * span + low, lasts - owners * span + low, owners)


def union(runs: Runs) -> tuple[np.ndarray, np.ndarray]:
    """Starts and ends of the bytes that any block touches, ascending."""
    return merged(runs.starts, runs.ends)


def merged(starts: np.ndarray, ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Runs that touch each other as one, ascending."""
    if not len(starts):
        return starts, ends
    order = np.argsort(starts, kind="stable")
    starts, ends = starts[order], np.maximum.accumulate(ends[order])
    first = np.flatnonzero(np.concatenate(([True], starts[1:] > ends[:-1])))
    last = np.concatenate((first[1:], [len(starts)])) - 1
    return starts[first], ends[last]


def quarrel(writes: Runs, reads: Runs) -> tuple[int, int] | None:
    """Two blocks, one of them writing bytes that the other writes or reads; None if there are none. Both `joined`."""
    order = np.argsort(writes.starts, kind="stable")
    starts, ends, owners = writes.starts[order], writes.ends[order], writes.blocks[order]
    bad = np.flatnonzero(starts[1:] < np.maximum.accumulate(ends)[:-1])
    if len(bad):
        return _pair(owners[bad[0]], owners[bad[0] + 1])
    first = np.searchsorted(ends, reads.starts, "right")
    last = np.searchsorted(starts, reads.ends, "left")
    met = np.flatnonzero(last > first)
    if not len(met):
        return None
    changes = np.concatenate(([0], np.cumsum(owners[1:] != owners[:-1])))
    mine = owners[first[met]] == reads.blocks[met]
    bad = np.flatnonzero(~mine | (changes[last[met] - 1] != changes[first[met]]))
    if not len(bad):
        return None
    k = met[bad[0]]
    others = owners[first[k] : last[k]]
    return _pair(others[others != reads.blocks[k]][0], reads.blocks[k])


def _pair(a: int, b: int) -> tuple[int, int]:
    return min(int(a), int(b)), max(int(a), int(b))


def of_blocks(runs: Runs, span: range) -> Runs:
    """The runs of the blocks of a span. ``runs``: `joined`."""
    a, b = np.searchsorted(runs.blocks, [span.start, span.stop])
    return Runs(runs.starts[a:b], runs.ends[a:b], runs.blocks[a:b])


# What the blocks of a launch read and write of its arguments, found by going through the program without its data.


MOST_RUNS = 1 << 23
"""Pieces of memory that are kept track of in one launch."""

_KEPT = 64  # parts that are joined at a time
_OF_DATA = (Kind.TILE, Kind.VREG, Kind.MASK, Kind.ALIGN, Kind.PTR)


class Entangled(Exception):
    """The blocks of a launch cannot be told apart; the message says why."""


class Footprints:
    """What each block reads and writes, by argument, in bytes from its start.

    Of arguments that nobody writes `reads` are rough: one run for all that an instruction reads.
    """

    def __init__(self) -> None:
        self._parts: dict[tuple[str, bool], list[Runs]] = {}
        self._count = 0

    def add(self, name: str, write: bool, runs: Runs) -> None:
        """Blocks touch this."""
        parts = self._parts.setdefault((name, write), [])
        parts.append(runs)
        if len(parts) > _KEPT:
            parts[:] = [joined(parts)]
        self._count += len(runs)
        if self._count > MOST_RUNS:
            self._count = sum(len(part) for known in self._parts.values() for part in known)
            if self._count > MOST_RUNS // 2:
                raise Entangled("they touch too many separate pieces of memory to keep track of")

    def of(self, name: str, *, write: bool) -> Runs:
        """The runs of all blocks, sorted by block and place."""
        parts = self._parts.get((name, write))
        if not parts:
            return NONE
        parts[:] = [joined(parts)]
        return parts[0]

    def settle(self) -> None:
        """Raises `Entangled` if a block touches what another one writes."""
        for name in sorted({name for name, write in self._parts if write}):
            pair = quarrel(self.of(name, write=True), self.of(name, write=False))
            if pair is not None:
                raise Entangled(
                    f"blocks {pair[0]} and {pair[1]} use the same bytes of argument {name}, and one of them writes"
                )


def footprints(program: Program, args: Sequence[Any], blocks: int) -> Footprints:
    """What each block of a launch touches; its arguments fit the kernel. Raises `Entangled`."""
    written = {name for name, param in zip(names(program), program.entry.params) if param in program.effects.written}
    found = _Watch(written)
    try:
        program.launch(args, blocks, observer=found)
    except Entangled:
        raise
    except DiagnosticError as error:
        raise Entangled(f"one fails: {error.diagnostics[0].message}") from None
    except Exception as error:  # a step that cannot do without its data
        raise Entangled(f"where they read and write cannot be told ({type(error).__name__})") from None
    found.footprints.settle()
    return found.footprints


def names(program: Program) -> list[str]:
    """Of the arguments, as findings and `Footprints` have them."""
    return [param.name or f"arg{i}" for i, param in enumerate(program.params)]


def shared_arguments(program: Program, args: Sequence[Any]) -> tuple[str, str] | None:
    """The names of two arguments that have bytes in common, one of them written; None if there are none."""
    arrays = [entry for entry in zip(names(program), args, program.entry.params) if isinstance(entry[1], np.ndarray)]
    written = [param in program.effects.written for _, _, param in arrays]
    pairs = overlaps([array for _, array, _ in arrays], written)
    return (arrays[pairs[0][0]][0], arrays[pairs[0][1]][0]) if pairs else None


class _Watch(Observer):
    """Notes what steps touch in global memory, and carries out those that only count."""

    together = True

    def __init__(self, written: set[str]) -> None:
        self.written = written  # arguments
        self.footprints = Footprints()
        self._words: dict[Step, Word | None] = {}

    def execute(self, moment: Moment) -> Any:
        if moment.instr is None:
            return self._element(moment)
        machine = _Machine(moment, self)
        if moment.instr.order.between_cores:
            return self._between(moment, machine)
        views = [(operand, value) for operand, value in zip(moment.instr.operands, moment.operands) if _is_view(value)]
        word = self._word(moment) if views else None
        for operand, view in views:
            exact = isinstance(word, Move)
            write = operand.role is not Role.IN
            self._view(moment, view, write, exact=exact)
            if write and not (isinstance(word, Move) and not word.combine and operand.role is Role.OUT):
                self._view(moment, view, False, exact=exact)
        results = moment.instr.produces
        if any(operand.kind is Kind.SCALAR for operand in results) and _reads_data(moment):
            raise Entangled(f"{moment.name} gives a number that only the run knows")
        if not results and (views or any(isinstance(value, Tile) for value in moment.operands)):
            return None
        found = carry_out(moment.step, machine, *moment.operands)
        if machine.asked and not machine.noted and any(_is_global(value) for value in moment.operands):
            raise Entangled(f"where {moment.name} reads and writes cannot be told")
        return found

    def _word(self, moment: Moment) -> Word | None:
        """What the instruction does: said by the text, or by the sizes of its operands."""
        step, instr = moment.step, moment.instr
        assert instr is not None
        assert step.site is not None
        if step not in self._words:
            self._words[step] = instr.meaning_at(step.site)
        word = self._words[step]
        if word is not None:
            return word
        site = step.site
        found = infos(moment.given, site.operands)
        return instr.meaning_at(Site(instr, site.target, found, step.attrs, site.extended, site.text))

    def _element(self, moment: Moment) -> Any:
        given = moment.given
        pointer, write = given["ptr"], "value" in given
        if not isinstance(pointer, Pointer):
            if write:
                return None
            raise Entangled("they read numbers from on-chip memory")
        if pointer.buffer is None:
            return moment.run()  # which refuses it
        if not write and pointer.buffer.name in self.written:
            raise Entangled(f"they read numbers from argument {pointer.buffer.name}, which the kernel writes")
        size = pointer.dtype.size
        where = lanes(pointer.offset + given["index"])
        self.note(moment, pointer.buffer, write, np.atleast_1d(where) * size, (), size)
        return None if write else moment.run()

    def _between(self, moment: Moment, machine: _Machine) -> Any:
        """Signals between blocks; those inside a block change nothing here."""
        instr = moment.instr
        assert instr is not None
        for operand, value in zip(instr.operands, moment.operands):
            views = any(map(_is_view, value)) if isinstance(value, list | tuple) else _is_view(value)
            if views and (operand.role is not Role.IN or instr.order.waits or instr.produces):
                raise Entangled(f"they talk to each other by {moment.name}")
        found = carry_out(moment.step, machine, *moment.operands)
        return (lambda: True) if instr.order.waits else found

    def _view(self, moment: Moment, view: View, write: bool, *, exact: bool) -> None:
        buffer = view.check_bounds()
        if not exact:
            self.note(moment, buffer, write, np.zeros(1, np.int64), (), buffer.mem.size)
            return
        inner = inner_channels(view.dtype, view.layout) if view.layout is Layout.NDC1HWC0 else 1
        axes = [*zip(view.dims, view.strides), (inner, 1)]
        if any(n <= 0 for n, _ in axes):
            return
        offsets = np.atleast_1d(lanes(view.offset))
        if view.dtype.packed:
            low, end = reach(axes, 1)
            first = offsets + low
            even = not (end - low) % 2 and not (first % 2).any()
            self.note(moment, buffer, write, first // 2, (), (end - low) // 2 + (not even))
            return
        size = view.dtype.size
        self.note(moment, buffer, write, offsets * size, [(n, s * size) for n, s in axes], size)

    def note(
        self, moment: Moment, buffer: Buffer, write: bool, offsets: np.ndarray, axes: Sequence[Any], nbytes: int
    ) -> None:
        """Blocks of the moment's chunk touch these bytes."""
        name = buffer.name
        index = np.atleast_1d(lanes(moment.machine.block_idx)).astype(np.int64)
        blocks = np.broadcast_to(index, (moment.machine.blocks,))
        if name not in self.written:
            low, end = reach(axes, nbytes)
            offsets, axes, nbytes = offsets + low, (), end - low
        if pieces(axes, nbytes) * len(blocks) > MOST_RUNS:
            raise Entangled("they touch too many separate pieces of memory to keep track of")
        self.footprints.add(name, write, of_boxes(offsets, axes, nbytes, blocks))


class _Machine:
    """The machine of a step that copies bytes or counts: copies of global memory are noted, and not made."""

    def __init__(self, moment: Moment, watch: _Watch) -> None:
        self._moment, self._watch = moment, watch
        self.asked = self.noted = False

    def __getattr__(self, name: str) -> Any:
        self.asked = True
        return getattr(self._moment.machine, name)

    def copy(self, dst: Any, first: int, src: Any, axes: Sequence[Any], nbytes: int) -> None:
        """Rows of `nbytes` from `src` to `first` bytes after `dst`."""
        self.asked = self.noted = True
        if nbytes == 0 or not all(axis[0] for axis in axes):
            return
        if isinstance(src, Pointer):
            self._rows(src, 0, [(n, s) for n, _, s in axes], nbytes, write=False)
        if isinstance(dst, Pointer):
            self._rows(dst, first, [(n, d) for n, d, _ in axes], nbytes, write=True)

    def fill(self, dst: Any, first: int, axes: Sequence[Any], unit: bytes, nbytes: int) -> None:
        """Fills on-chip memory."""
        self.asked = self.noted = True

    def signal(self, event: int, mode: int) -> None:
        """A flag between cores."""
        if mode == ALL_CORES:
            raise Entangled("they wait for each other's flags")

    def arrival(self, event: int) -> Callable[[], bool]:
        """A wait for one."""
        return lambda: True

    def rendezvous(self, kind: str, count: int) -> Callable[[], bool]:
        """Cores of all blocks meet."""
        raise Entangled(f"they meet in {self._moment.name}")

    def _rows(self, pointer: Pointer, first: int, axes: Sequence[Any], nbytes: int, *, write: bool) -> None:
        if pointer.buffer is None:
            raise Entangled("a pointer is null")
        offsets = np.atleast_1d(lanes(pointer.offset)) * pointer.dtype.size + first
        low, end = reach(axes, nbytes)
        if offsets.min() + low < 0 or offsets.max() + end > pointer.buffer.mem.size:
            raise Entangled(f"one leaves argument {pointer.buffer.name}")
        self._watch.note(self._moment, pointer.buffer, write, offsets, axes, nbytes)


def _is_view(value: Any) -> bool:
    return isinstance(value, View)


def _is_global(value: Any) -> bool:
    return isinstance(value, View | Pointer)


def _reads_data(moment: Moment) -> bool:
    assert moment.instr is not None
    return any(
        operand.kind in _OF_DATA and value is not None for operand, value in zip(moment.instr.operands, moment.operands)
    )
