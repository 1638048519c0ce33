"""On-chip memory at computed places: elements that lanes load from, and store to, places of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptokit.isa.meaning.expressions import Fetched
from ptokit.isa.meaning.words import Write
from ptokit.plan.steps import Step
from ptokit.run.memory.local import SPACES
from ptokit.types.dtypes import DType

from .between_lanes import called, from_memory, in_memory, lane_at, only_if
from .code import Code, Num
from .elements import many, same, spread
from .primitives import Elements
from .values import LocalPointer
from .views import Checked

if TYPE_CHECKING:
    pass


class Places:
    """The places of one access, checked before anything is read or written. Runs of `width` bytes begin there."""

    def __init__(
        self,
        checked: Checked,
        step: Step,
        access: Fetched | Write,
        pointer: LocalPointer,
        of: DType,
        place: Elements,
        on: Elements | None,
    ) -> None:
        w, self.n = checked.w, place.n
        self.w, self.on, self.width = w, on, access.run * of.size
        code, loc, v = w.code, SPACES[pointer.space], many(self.n, "i64")
        start: Num = pointer.address
        given = step.get(access.offset) if access.offset else None
        if given is not None:
            start = checked.add(start, checked.mul(w.number(given), pointer.dtype.size))
        scaled = code.value(f"mul {v} {place.narrow}, {same(self.n, 'i64', access.unit or of.size)}")
        where = code.value(f"add {v} {scaled}, {self._all(start)}")
        c, limit = many(self.n, "i1"), same(self.n, "i64", w.target.capacity[loc] - self.width)
        wrong = code.value(f"icmp ugt {v} {where}, {limit}")
        alignment = access.alignment or of.size
        if alignment > 1:
            low = code.value(f"and {v} {where}, {same(self.n, 'i64', alignment - 1)}")
            off = code.value(f"icmp ne {v} {low}, {same(self.n, 'i64', 0)}")
            wrong = code.value(f"or {c} {wrong}, {off}")
        if on is not None:
            wrong = code.value(f"and {c} {wrong}, {on.wide}")
        if self.n > 1:
            wrong = code.value(f"call i1 @llvm.vector.reduce.or.v{self.n}i1({c} {wrong})")
        checked.wrong.append(wrong)
        self.memory = code.at(w.memory, w.module.space(loc))
        self.places = code.scratch(v)
        code.store(v, where, self.places)

    def _all(self, start: Num) -> str:
        if isinstance(start, int):
            return same(self.n, "i64", start)
        return spread(self.w.code, self.n, "i64", start)

    def _each(self, lanes: str, *, load: bool, last_first: bool = False) -> None:
        """Copy the run of each lane that takes part."""
        flags = [] if self.on is None else [in_memory(self.w, self.on)[0]]
        code, kind = Code(), f"i{8 * self.width}"
        with code.loop(self.n) as k, only_if(code, "%p3" if flags else None, j := self._lane(code, k, last_first)):
            place = code.load("i64", lane_at(code, "i64", "%p2", j))
            there, here = lane_at(code, "i8", "%p1", place), lane_at(code, f"[{self.width} x i8]", "%p0", j)
            to, source = (here, there) if load else (there, here)
            code.store(kind, code.load(kind, source, 1), to, 1)
        called(self.w, code, lanes, self.memory, self.places, *flags)

    def _lane(self, code: Code, turn: Num, last_first: bool) -> Num:
        return code.value(f"sub i64 {self.n - 1}, {turn}") if last_first else turn

    def loaded(self, lanes: int, of: DType) -> Elements:
        """The elements of all runs; 0 in lanes that take no part."""
        kind = many(self.n * self.width, "i8")
        out = self.w.code.scratch(kind)
        if self.on is not None:
            self.w.code.store(kind, "zeroinitializer", out)
        self._each(out, load=True)
        return from_memory(self.w, lanes, of, out)

    def store(self, value: Elements, *, first_stays: bool) -> None:
        """Write the runs; of two at one place the last one stays, or the first."""
        self._each(in_memory(self.w, value)[0], load=False, last_first=first_stays)
