"""What a lane takes from other lanes, and elements at computed places of on-chip memory, as LLVM code.

Sums of floats add neighbours, other folds are combined half by half in registers. Where a lane is chosen by a number,
or counts those before it, a function goes through the lanes in memory, one after the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ptokit.isa.meaning.expressions import Fetched
from ptokit.isa.meaning.fold import nothing
from ptokit.isa.meaning.words import Write
from ptokit.machine.local_memory import SPACES
from ptokit.plan.steps import Step
from ptokit.types.dtypes import DType

from .code import Code, Num, many, same, spread, storage
from .primitives import Elements, Maker
from .values import LocalPointer, shuffled
from .views import Checked

if TYPE_CHECKING:
    from .function import Writer


# What a lane takes from other lanes: folds, counts and lanes by number, as LLVM code.


def folded(w: Writer, op: str, x: Elements, on: Elements | None, groups: int) -> Elements:
    """The lanes of each group folded to one: see `expressions.Folded`. One lane for each group."""
    code, of, n = w.code, x.dtype, x.n
    if on is not None:
        x = _without(w, op, x, on)
    each = n // groups
    if of is not None and of.is_float and op == "add":
        return _neighbours(w, x, groups, each)
    while each > 1:
        parts, each = (2, each // 2) if each % 2 == 0 else (each, 1)
        m, starts = _maker(w, groups * each), [g * parts * each for g in range(groups)]
        first, *more = (
            _some(code, x, [start + p * each + k for start in starts for k in range(each)]) for p in range(parts)
        )
        for part in more:
            first = m.apply(op, of, [first, part])
        x = first
    return x


def _without(w: Writer, op: str, x: Elements, on: Elements) -> Elements:
    """The lanes that take part, and what changes nothing in the others."""
    m = _maker(w, x.n)
    if x.dtype is None:
        rest = m.condition(m.same("i1", "true" if op == "and" else "false"))
    else:
        assert x.dtype.value is not None
        rest = m.constant(x.dtype, int(nothing(op, x.dtype.value).view(x.dtype.storage)))
    return m.apply("select", x.dtype, [on, x, rest])


def _maker(w: Writer, n: int) -> Maker:
    return Maker(w.code, n, w.module.need, w.table)


def _some(code: Code, x: Elements, places: list[int]) -> Elements:
    """Some of the lanes."""
    if x.dtype is None:
        return Elements(code, len(places), None, exact=shuffled(code, "i1", x.n, x.wide, places))
    narrow = shuffled(code, storage(x.dtype), x.n, x.narrow, places)
    return Elements(code, len(places), x.dtype, narrow=narrow)


def _neighbours(w: Writer, x: Elements, groups: int, each: int) -> Elements:
    """Sums in the order `Order.NEIGHBOURS`, each rounded."""
    of, n = x.dtype, 1 << (each - 1).bit_length()
    assert of is not None
    if n != each:
        places = ", ".join(f"i32 {g * each + k if k < each else x.n}" for g in range(groups) for k in range(n))
        t = many(x.n, storage(of))
        filled = w.code.value(f"shufflevector {t} {x.narrow}, {t} zeroinitializer, <{groups * n} x i32> <{places}>")
        x = Elements(w.code, groups * n, of, narrow=filled)
    while n > 1:
        pairs = groups * n // 2
        both = [_some(w.code, x, [2 * k + first for k in range(pairs)]) for first in (0, 1)]
        x, n = _maker(w, pairs).apply("add", of, both), n // 2
    return x


def front(w: Writer, lanes: int, count: int, values: list[Elements]) -> Elements:
    """The first lanes of each value, one value after the other, and 0 in the lanes after them."""
    code, of = w.code, values[0].dtype
    assert of is not None
    kind = storage(of)
    t, out = many(lanes, kind), "zeroinitializer"
    for k, value in enumerate(values):
        own = range(k * count, (k + 1) * count)
        wide = shuffled(code, kind, value.n, value.narrow, [j - own[0] if j in own else 0 for j in range(lanes)])
        mine = ", ".join(f"i1 {str(j in own).lower()}" for j in range(lanes))
        out = code.value(f"select <{lanes} x i1> <{mine}>, {t} {wide}, {t} {out}")
    return Elements(code, lanes, of, narrow=out)


def first(w: Writer, condition: Elements, dtype: DType) -> Elements:
    """The number of the first lane that meets a condition, 0 if none does."""
    code, n = w.code, condition.n
    bits, kind = f"i{n}", storage(dtype)
    word = code.value(f"bitcast {many(n, 'i1')} {condition.wide} to {bits}") if n > 1 else condition.wide
    number = code.value(f"call {bits} @llvm.cttz.{bits}({bits} {word}, i1 false)")
    found = code.value(f"select i1 {code.value(f'icmp eq {bits} {word}, 0')}, {bits} 0, {bits} {number}")
    size = dtype.bits
    if n != size:
        found = code.value(f"{'trunc' if n > size else 'zext'} {bits} {found} to {kind}")
    return Elements(code, 1, dtype, narrow=found)


# One lane after the other --------------------------------------------------------------------------------------------


def in_memory(w: Writer, x: Elements) -> tuple[str, str]:
    """The address of lanes side by side, and the type of one; conditions are bytes."""
    code = w.code
    if x.dtype is None:
        kind, value = "i8", code.value(f"zext {many(x.n, 'i1')} {x.wide} to {many(x.n, 'i8')}")
    else:
        kind, value = storage(x.dtype), x.narrow
    slot = code.scratch(many(x.n, kind))
    code.store(many(x.n, kind), value, slot)
    return slot, kind


def from_memory(w: Writer, n: int, dtype: DType | None, slot: str) -> Elements:
    """The lanes that lie there."""
    code = w.code
    if dtype is not None:
        return Elements(code, n, dtype, narrow=code.load(many(n, storage(dtype)), slot))
    bits = code.value(f"trunc {many(n, 'i8')} {code.load(many(n, 'i8'), slot)} to {many(n, 'i1')}")
    return Elements(code, n, None, exact=bits)


def called(w: Writer, code: Code, *pointers: str) -> None:
    """Call a function of pointers %p0, %p1 …, whose body this is."""
    code.leave("ret void")
    params = ", ".join(f"ptr noalias %p{k}" for k in range(len(pointers)))
    name = w.module.function(code.text(f"define internal void @{{name}}({params}) {{"))
    w.code.do(f"call void {name}({', '.join(f'ptr {p}' for p in pointers)})")


@contextmanager
def only_if(code: Code, flags: str | None, lane: object) -> Iterator[None]:
    """What is done where the byte of a lane is not 0, if there are such."""
    if flags is None:
        yield
        return
    yes, done = code.label("yes"), code.label("done")
    code.branch(code.value(f"icmp ne i8 {code.load('i8', lane_at(code, 'i8', flags, lane))}, 0"), yes, done)
    code.place(yes)
    yield
    code.place(done)


def lane_at(code: Code, kind: str, pointer: str, lane: object) -> str:
    """The address of a lane."""
    return code.value(f"getelementptr {kind}, ptr {pointer}, i64 {lane}")


def taken(w: Writer, x: Elements, place: Elements) -> Elements:
    """Lanes by number, modulo how many there are."""
    assert place.dtype is not None
    source, kind = in_memory(w, x)
    places, number = in_memory(w, place)
    out = w.code.scratch(many(place.n, kind))
    code = Code()
    with code.loop(place.n) as j:
        k = code.load(number, lane_at(code, number, "%p2", j))
        if number != "i64":
            k = code.value(f"{'sext' if place.dtype.signed else 'zext'} {number} {k} to i64")
        if x.n & (x.n - 1) == 0:
            k = code.value(f"and i64 {k}, {x.n - 1}")
        else:
            rest = code.value(f"srem i64 {k}, {x.n}")
            below = code.value(f"icmp slt i64 {rest}, 0")
            k = code.value(f"select i1 {below}, i64 {code.add(rest, x.n)}, i64 {rest}")
        code.store(kind, code.load(kind, lane_at(code, kind, "%p1", k)), lane_at(code, kind, "%p0", j))
    called(w, code, out, source, places)
    return from_memory(w, place.n, x.dtype, out)


def moved(w: Writer, x: Elements, place: Elements, on: Elements | None) -> Elements:
    """Lanes at other places, and 0 in the others."""
    assert x.dtype is not None
    source, kind = in_memory(w, x)
    pointers = [source, in_memory(w, place)[0], *([] if on is None else [in_memory(w, on)[0]])]
    out = w.code.scratch(many(x.n, kind))
    w.code.store(many(x.n, kind), "zeroinitializer", out)
    code = Code()
    with code.loop(x.n) as j, only_if(code, None if on is None else "%p3", j):
        k = code.load("i64", lane_at(code, "i64", "%p2", j))
        value = code.load(kind, lane_at(code, kind, "%p1", j))
        code.store(kind, value, lane_at(code, kind, "%p0", k))
    called(w, code, out, *pointers)
    return from_memory(w, x.n, x.dtype, out)


def before(w: Writer, condition: Elements, dtype: DType) -> Elements:
    """How many of the lanes before the own one meet a condition."""
    conditions, _ = in_memory(w, condition)
    kind = storage(dtype)
    out = w.code.scratch(many(condition.n, kind))
    code = Code()
    count = code.slot(kind)
    code.store(kind, 0, count)
    with code.loop(condition.n) as j:
        now = code.load(kind, count)
        code.store(kind, now, lane_at(code, kind, "%p0", j))
        one = code.load("i8", lane_at(code, "i8", "%p1", j))
        if kind != "i8":
            one = code.value(f"zext i8 {one} to {kind}")
        code.store(kind, code.value(f"add {kind} {now}, {one}"), count)
    called(w, code, out, conditions)
    return from_memory(w, condition.n, dtype, out)


_BINS = 256


def counted(w: Writer, x: Elements, at: Elements, on: Elements, dtype: DType, *, upto: bool) -> Elements:
    """How many lanes of numbers of 8 bits equal those of `at`, or are at most as large."""
    assert at.dtype is not None
    kind, number = storage(dtype), storage(at.dtype)
    pointers = [in_memory(w, e)[0] for e in (x, on, at)]
    out = w.code.scratch(many(at.n, kind))
    code = Code()
    bins = code.slot(many(_BINS, kind), 64)
    code.store(many(_BINS, kind), "zeroinitializer", bins)

    def more(place: str, by: str) -> None:
        code.store(kind, code.value(f"add {kind} {code.load(kind, place)}, {by}"), place)

    with code.loop(x.n) as j, only_if(code, "%p2", j):
        k = code.value(f"zext i8 {code.load('i8', lane_at(code, 'i8', '%p1', j))} to i64")
        more(lane_at(code, kind, bins, k), "1")
    if upto:
        with code.loop(_BINS, 1, 1) as j:
            below = code.load(kind, lane_at(code, kind, bins, code.sub(j, 1)))
            more(lane_at(code, kind, bins, j), below)
    with code.loop(at.n) as j:
        k = code.load(number, lane_at(code, number, "%p3", j))
        if number != "i64":
            k = code.value(f"{'sext' if at.dtype.signed else 'zext'} {number} {k} to i64")
        code.store(kind, code.load(kind, lane_at(code, kind, bins, k)), lane_at(code, kind, "%p0", j))
    called(w, code, out, *pointers)
    return from_memory(w, at.n, dtype, out)


# On-chip memory at computed places: elements that lanes load from, and store to, places of their own.


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

    def _lane(self, code: Code, number: Num, last_first: bool) -> Num:
        return code.value(f"sub i64 {self.n - 1}, {number}") if last_first else number

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
