"""Which blocks may run at the same time: those that touch nothing of what others write.

Beside a kernel stands a second function, which does only what decides about global memory (`relevant`), and notes for
each block the first and the last byte of every argument that it writes or reads. Blocks are given to threads in ranges
whose extents lie apart; if there are none, one thread runs all blocks in order.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property

import numpy as np

from ptokit.ir.core import Value
from ptokit.isa.meaning.words import Bursts, Move
from ptokit.plan.effects import loaded, stored
from ptokit.plan.steps import Step
from ptokit.types.dtypes import DType
from ptokit.types.enums import Layout
from ptokit.types.values import Scalar

from . import bursts
from .code import Num
from .function import Writer
from .module import STATE_SEEN
from .relevant import Relevant
from .values import GmPointer, NotNativeError, Tile, View
from .views import Checked, reach

WRITES, READS, SCALARS = range(3)
KINDS = 3
NOTHING = (np.iinfo(np.int64).max, np.iinfo(np.int64).min)
_PLAIN = frozenset((None, Layout.ND, Layout.DN))  # devices write other layouts beyond the view, too


class Scanner(Writer):
    """Writes ``i32 @scan(ptr state, i64 block, ptr arguments)``: 0 if the block's extents have been noted."""

    name = "@scan"

    @cached_property
    def relevant(self) -> Relevant:
        """What decides about global memory."""
        return Relevant(self.plan, self.module.related)

    def parameters(self) -> None:
        super().parameters()
        count = sum(not isinstance(p.type, Scalar) for p in self.entry.function.params)
        base = self.code.load("ptr", self.word(STATE_SEEN))
        mine = self.code.mul("%block", 16 * KINDS * max(1, count))
        self.seen = self.code.at(base, mine)

    def refuse_if(self, wrong: str, step: Step) -> None:
        """The launch will find out what is wrong."""
        if wrong == "false":
            return
        code = self.code
        bad, good = code.label("bad"), code.label("good")
        code.branch(code.value(f"xor i1 {wrong}, true"), good, bad, rare=True)
        code.place(bad)
        code.leave("ret i32 1")
        code.place(good)

    def compute(self, step: Step, type: str) -> str:
        raise NotNativeError(step.name, "a scan does not call back")

    def needs(self, value: Value) -> bool:
        return value in self.relevant.values

    def step(self, step: Step) -> None:
        if step in self.relevant.steps:
            super().step(step)

    def check(self, step: Step) -> None:
        pass

    @contextmanager
    def unless(self, wrong: str, step: Step, *, reads: bool = True) -> Iterator[None]:
        yield

    def element(self, pointer: GmPointer, start: Num, *, write: bool) -> bool:
        last = self.code.add(start, pointer.dtype.size - 1)
        self.note(pointer.memory.number, WRITES if write else SCALARS, start, last)
        return not write

    def reads_space(self, loc: object) -> None:
        raise NotNativeError("a scan", "what follows depends on on-chip memory")

    def reads_region(self, tile: Tile) -> None:
        if tile.shape is not None:
            raise NotNativeError("a scan", "what follows depends on a valid region that may change")

    def note(self, number: Num, kind: int, first: Num, last: Num) -> None:
        """An argument's bytes from `first` to `last` are touched."""
        code = self.code
        at = code.at(self.seen, code.mul(code.add(code.mul(number, KINDS), kind), 16))
        for word, place, pick in ((0, first, "smin"), (8, last, "smax")):
            address = code.at(at, word)
            now = code.load("i64", address)
            code.store("i64", code.value(f"call i64 @llvm.{pick}.i64(i64 {now}, i64 {place})"), address)

    def instruction(self, step: Step) -> None:
        """What it touches of global memory; of results that something depends on nothing is known."""
        if any(self.needs(result) for result in step.results):
            raise NotNativeError(step.name, "a scan does not execute instructions")
        site = self.site(step)
        word = site.instr.meaning_at(site)
        if isinstance(word, Move) and word.combine:
            raise NotNativeError(step.name, "blocks add to the same memory")
        for kind, touched in ((WRITES, stored(step)), (READS, loaded(step))):
            for value in touched:
                what, checked = self.get(value), Checked(self)
                checked.need("sge", what.memory.number, 0)
                if isinstance(word, Bursts):
                    first, last = self._rows(checked, step, word, what, kind)
                elif isinstance(what, View) and isinstance(word, Move) and what.options <= _PLAIN:
                    first, last = _bytes(checked, what.dtype, *reach(checked, what))
                else:
                    first, last = 0, what.memory.size
                self.refuse_if(checked.any(), step)
                self.note(what.memory.number, kind, first, last)

    def _rows(self, checked: Checked, step: Step, word: Bursts, pointer: GmPointer, kind: int) -> tuple[Num, Num]:
        if self.configures:
            raise NotNativeError(step.name, "the program sets registers of copies")
        _, _, ends = bursts.rows(checked, step, word)
        first = checked.mul(pointer.offset, pointer.dtype.size)
        return first, checked.add(checked.add(first, ends[0 if kind == WRITES else 1]), -1)


def _bytes(checked: Checked, dtype: DType, first: Num, last: Num) -> tuple[Num, Num]:
    """The first and the last byte of elements."""
    if dtype.packed:
        half = [n >> 1 if isinstance(n, int) else checked.w.code.value(f"ashr i64 {n}, 1") for n in (first, last)]
        return half[0], half[1]
    return checked.mul(first, dtype.size), checked.add(checked.mul(last, dtype.size), dtype.size - 1)


def apart(seen: np.ndarray, threads: int) -> list[tuple[int, int]]:
    """Ranges of blocks, one for each thread: `seen` has (blocks, arguments, kinds, first and last element)."""
    written = seen[:, :, WRITES, 0] <= seen[:, :, WRITES, 1]
    scalars = seen[:, :, SCALARS, 0] <= seen[:, :, SCALARS, 1]
    if (written.any(axis=0) & scalars.any(axis=0)).any():
        return [(0, len(seen))]  # what the scan has read may change
    used = np.flatnonzero(written.any(axis=0))
    return _cut(seen[:, used], 0, len(seen), threads)


def _cut(seen: np.ndarray, first: int, last: int, threads: int) -> list[tuple[int, int]]:
    """Cut blocks [first, last) near the middle, where both sides lie apart, and the halves likewise."""
    if threads < 2 or last - first < 2:
        return [(first, last)]
    part = seen[first:last]
    low, high = part[..., 0], part[..., 1]
    before_low = np.minimum.accumulate(low, axis=0)[:-1]
    before_high = np.maximum.accumulate(high, axis=0)[:-1]
    after_low = np.minimum.accumulate(low[::-1], axis=0)[::-1][1:]
    after_high = np.maximum.accumulate(high[::-1], axis=0)[::-1][1:]
    fine = np.ones(last - first - 1, bool)
    for a, b in ((WRITES, WRITES), (WRITES, READS), (READS, WRITES)):
        below = before_high[:, :, a] < after_low[:, :, b]
        above = after_high[:, :, b] < before_low[:, :, a]
        fine &= (below | above).all(axis=1)
    cuts = np.flatnonzero(fine) + 1
    if not len(cuts):
        return [(first, last)]
    middle = (last - first) * (threads // 2) / threads
    cut = first + int(cuts[np.argmin(np.abs(cuts - middle))])
    return [*_cut(seen, first, cut, threads // 2), *_cut(seen, cut, last, threads - threads // 2)]
