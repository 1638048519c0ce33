"""Which blocks may run at the same time: those that touch nothing of what others write.

Beside a kernel stands a second function, which does its scalar code only and notes for each block the first and the
last element of every argument that it writes or reads. Blocks are given to threads in ranges whose extents lie apart;
if there are none, one thread runs all blocks in order.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from ptokit.ir.core import Op
from ptokit.ir.facts import instr_of
from ptokit.isa.meaning.words import Move
from ptokit.isa.table import Instr, Kind, Role
from ptokit.types.enums import Layout
from ptokit.types.values import Scalar

from .callbacks import site_of
from .code import Num
from .function import Writer
from .module import STATE_SEEN
from .values import GmPointer, NotNativeError, View
from .views import Checked, reach

WRITES, READS, SCALARS = range(3)
KINDS = 3
NOTHING = (np.iinfo(np.int64).max, np.iinfo(np.int64).min)
_PLAIN = frozenset((None, Layout.ND, Layout.DN))  # devices write other layouts beyond the view, too


class Scanner(Writer):
    """Writes ``i32 @scan(ptr state, i64 block, ptr arguments)``: 0 if the block's extents have been noted."""

    name = "@scan"

    def parameters(self) -> None:
        super().parameters()
        count = sum(not isinstance(p.type, Scalar) for p in self.entry.params)
        base = self.code.load("ptr", self.word(STATE_SEEN))
        mine = self.code.mul("%block", 16 * KINDS * max(1, count))
        self.seen = self.code.at(base, mine)

    def refuse_if(self, wrong: str, op: Op) -> None:
        """The launch will find out what is wrong."""
        if wrong == "false":
            return
        code = self.code
        bad, good = code.label("bad"), code.label("good")
        code.branch(code.value(f"xor i1 {wrong}, true"), good, bad, rare=True)
        code.place(bad)
        code.leave("ret i32 1")
        code.place(good)

    def compute(self, op: Op, type: str) -> str:
        raise NotNativeError(op.name, "a scan does not call back")

    def begin_scope(self, op: Op) -> None:
        pass

    def check(self, op: Op, instr: Instr, site: object) -> None:
        pass

    @contextmanager
    def unless(self, wrong: str, op: Op, instr: Instr, *, reads: bool = True) -> Iterator[None]:
        yield

    def element(self, pointer: GmPointer, place: Num, *, write: bool) -> bool:
        self.note(pointer.memory.number, WRITES if write else SCALARS, place, place)
        return not write

    def reads_space(self, loc: object) -> None:
        raise NotNativeError("a scan", "what follows depends on on-chip memory")

    def note(self, number: Num, kind: int, first: Num, last: Num) -> None:
        """An argument's elements from `first` to `last` are touched."""
        code = self.code
        at = code.at(self.seen, code.mul(code.add(code.mul(number, KINDS), kind), 16))
        for word, place, pick in ((0, first, "smin"), (8, last, "smax")):
            address = code.at(at, word)
            now = code.load("i64", address)
            code.store("i64", code.value(f"call i64 @llvm.{pick}.i64(i64 {now}, i64 {place})"), address)

    def instruction(self, op: Op) -> None:
        instr = instr_of(op)
        if instr is None or op.results:
            raise NotNativeError(op.name, "a scan does not execute instructions")
        word = instr.meaning_at(site_of(self, op))
        if isinstance(word, Move) and word.combine:
            raise NotNativeError(op.name, "blocks add to the same memory")
        exact = isinstance(word, Move)  # it touches no elements beyond its view
        for operand in instr.operands:
            value = op.operands.get(operand.name)
            if isinstance(value, list) or operand.kind is Kind.GROUP:
                raise NotNativeError(op.name, "a list of operands")
            if value is None or isinstance(value.type, Scalar):
                continue
            what = self.values.get(value)
            kind = READS if operand.role is Role.IN else WRITES
            if isinstance(what, View):
                if exact and what.options <= _PLAIN:
                    checked = Checked(self)
                    first, last = reach(checked, what)
                    self.refuse_if(checked.any(), op)
                else:
                    first, last = 0, what.memory.count
                self.note(what.memory.number, kind, first, last)
            elif isinstance(what, GmPointer):
                self.note(what.memory.number, kind, 0, what.memory.count)


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
