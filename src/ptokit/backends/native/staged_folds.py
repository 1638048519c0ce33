"""Folds of rows by stages (`orders.Stage`), each row as lanes of registers.

Rows of a few repeats become code without loops, in which the order is that of `meaning.orders`. Longer ones, and those
whose length only the run knows, go through loops over their repeats.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from ptokit.isa.meaning.primitives import Order, Stage, combined, of_repeats
from ptokit.isa.meaning.words import Fold
from ptokit.types.dtypes import DType, f32

from .code import Code, Num, computed, double, many, same, storage
from .primitives import Elements, Maker

WIDE = 8
"""Lanes of a register."""
UNROLLED = 16
"""Repeats of a row that has no loops."""
_START = {"add": 0.0, "mul": 1.0}
_KEEPS = {"add": -0.0, "mul": 1.0}
"""What changes no number: x + -0 is x."""


def supported(word: Fold, length: int | None) -> bool:
    """True if there is code for the stages; ``length``: of a row, where the text says it."""
    match [(s.order, s.across) for s in word.stages]:
        case [(Order.NEIGHBOURS, False), (Order.FORWARD, False)]:
            return True
        case [(Order.TREE_OF_REPEATS, True), (Order.NEIGHBOURS, False)]:
            return True
        case [(Order.FROM_FIRST, True), (Order.HALVES | Order.FROM_FIRST, False)]:
            return True
    return length is not None and _whole_runs(word.stages, length)


def _whole_runs(stages: tuple[Stage, ...], length: int) -> bool:
    """True if neighbours are added in every stage, of runs that are all there."""
    for stage in stages:
        if stage.order is not Order.NEIGHBOURS or not stage.run or length % stage.run:
            return False
        length = stage.run if stage.across else length // stage.run
    return length == 1


class Lanes:
    """Elements side by side, in registers of `WIDE` of them or in one of fewer; sliced like a list."""

    def __init__(self, code: Code, parts: list[Elements]) -> None:
        self.code, self.parts = code, parts

    def __len__(self) -> int:
        return sum(part.n for part in self.parts)

    def __iter__(self) -> Iterator[Elements]:
        return (self[k] for k in range(len(self)))

    def __getitem__(self, key: int | slice) -> Any:
        places = range(len(self))[key]
        if isinstance(places, int):
            return self._picked([places])
        return Lanes(self.code, [self._picked([*places[k : k + WIDE]]) for k in range(0, len(places), WIDE)])

    def _picked(self, places: list[int]) -> Elements:
        """Lanes of one register, or of two of one width."""
        n = self.parts[0].n
        first, last = places[0] // n, places[-1] // n
        one, other = self.parts[first], self.parts[last]
        dtype = one.dtype
        assert dtype is not None
        kind = computed(dtype)
        if places == list(range(first * n, first * n + one.n)):
            return one
        if len(places) == 1:
            x = (
                self.code.value(f"extractelement {many(n, kind)} {one.wide}, i64 {places[0] % n}")
                if n > 1
                else one.wide
            )
        else:
            at = ", ".join(f"i32 {p - first * n - (p // n > first) * (last - first - 1) * n}" for p in places)
            both = f"{many(n, kind)} {one.wide}, {many(n, kind)} {other.wide}"
            x = self.code.value(f"shufflevector {both}, <{len(places)} x i32> <{at}>")
        return rounded(self.code, len(places), dtype, x)


def rounded(code: Code, n: int, dtype: DType, x: str) -> Elements:
    """Numbers in the type they are computed in, which need no rounding any more."""
    found = Elements(code, n, dtype, exact=x)
    found._wide = x
    return found


class Folding(Protocol):
    """The loops of one reduction."""

    word: Fold
    of: DType
    code: Code
    longest: int  # elements of a row, at most

    def load(self, n: int, kept: Num, folded: Num, *, along: bool) -> str:
        """`n` values: of neighbouring folds if `along`, else of one fold."""

    def maker(self, n: int) -> Maker:
        """What makes primitives of `n` values."""


class StagedRow:
    """The code for one row."""

    def __init__(self, folding: Folding, row: Num, count: Num) -> None:
        self.folding, self.row, self.count = folding, row, count
        self.code = folding.code
        self.op, self.of = folding.word.op, folding.of
        self.stages = folding.word.stages

    def result(self) -> Elements:
        """What the row is folded to."""
        first, *others = self.stages
        if first.order is Order.NEIGHBOURS and others[-1].order is Order.FORWARD:
            return self._repeat_by_repeat(first.run)
        if first.order is Order.FROM_FIRST:
            x = self._lanes_forward(first.run)
        elif first.order is Order.TREE_OF_REPEATS:
            x = self._lanes_as_tree(first.run)
        else:
            assert isinstance(self.count, int)
            x = self._loaded(0, self.count)
            others = [first, *others]
        for stage in others:
            x = self._stage(stage, x)
        (result,) = x
        return result

    # --- operations ----------------------------------------------------------------------------------------------

    def step(self, a: Any, b: Any, of: DType | None = None) -> Any:
        """One operation, on single elements, registers, lanes, or lists of them."""
        match a:
            case Elements():
                return self.folding.maker(a.n).apply(self.op, of or self.of, [a, b])
            case Lanes():
                return Lanes(self.code, [self.step(p, q, of) for p, q in zip(a.parts, b.parts)])
        return [self.step(p, q, of) for p, q in zip(a, b)]

    def _stage(self, stage: Stage, x: Lanes) -> Lanes:
        if stage.across:
            runs = [x[k : k + stage.run] for k in range(0, len(x), stage.run)]
            out: Lanes = combined(stage.order, runs, self.step)
            return out
        if stage.order is Order.NEIGHBOURS:
            for _ in range(stage.run.bit_length() - 1):
                x = self.step(x[::2], x[1::2])
            return x
        if stage.accumulator is f32 and self.of is not f32:
            wide = Lanes(self.code, [Elements(self.code, p.n, f32, narrow=p.wide) for p in x.parts])
            total = combined(stage.order, list(wide), lambda a, b: self.step(a, b, f32))
            return Lanes(self.code, [Elements(self.code, 1, self.of, exact=total.wide)])
        lanes = list(x) if stage.order is Order.FROM_FIRST else x
        return Lanes(self.code, [combined(stage.order, lanes, self.step)])

    # --- lanes of a row ------------------------------------------------------------------------------------------

    def _same(self, n: int, value: float) -> Elements:
        return rounded(self.code, n, self.of, same(n, computed(self.of), double(value)))

    def _loaded(self, start: Num, count: int) -> Lanes:
        """So many elements from one on, a multiple of `WIDE` of them."""
        code = self.code
        parts = []
        for k in range(0, count, WIDE):
            x = self.folding.load(WIDE, self.row, code.add(start, k), along=False)
            parts.append(Elements(code, WIDE, self.of, narrow=x))
        return Lanes(code, parts)

    def _rest(self, start: Num, count: Num, run: int, value: float | str) -> Lanes:
        """The last elements, fewer than a run, and a number in the place of those that are missing to it."""
        code, kind, size = self.code, storage(self.of), self.of.size
        place = code.scratch(many(run, kind))
        if isinstance(value, str):
            fill = rounded(code, WIDE, self.of, value)
        else:
            fill = self._same(WIDE, value)
        for k in range(0, run, WIDE):
            code.store(many(WIDE, kind), fill.narrow, code.at(place, k * size), size)
        done: Num = count - count % WIDE if isinstance(count, int) else code.value(f"and i64 {count}, {-WIDE}")
        pieces: tuple[tuple[int, Num, Num], ...] = (WIDE, 0, done), (1, done, count)
        for n, first, end in pieces:
            if first == end:
                continue
            with code.loop(end, n, first) as j:
                x = self.folding.load(n, self.row, code.add(start, j), along=False)
                code.store(many(n, kind), x, code.at(place, code.mul(j, size)), size)
        loaded = [code.load(many(WIDE, kind), code.at(place, k * size), size) for k in range(0, run, WIDE)]
        return Lanes(code, [Elements(code, WIDE, self.of, narrow=x) for x in loaded])

    def _whole(self, run: int) -> tuple[Num, Num]:
        """How many elements whole runs have, and how many are left."""
        n = self.count
        if isinstance(n, int):
            return n - n % run, n % run
        return self.code.value(f"and i64 {n}, {-run}"), self.code.value(f"and i64 {n}, {run - 1}")

    @contextmanager
    def _if_some(self, count: Num, predicate: str = "ne", than: int = 0) -> Iterator[bool]:
        """What is done where a number is not 0; whether it may be."""
        code = self.code
        condition = code.compare(predicate, count, than)
        if condition in ("true", "false"):
            yield condition == "true"
            return
        some, done = code.label("some"), code.label("done")
        code.branch(condition, some, done)
        code.place(some)
        yield True
        code.place(done)

    # --- loops over repeats --------------------------------------------------------------------------------------

    def _repeat_by_repeat(self, run: int) -> Elements:
        """Sums of repeats, one added to the other."""
        code, kind = self.code, computed(self.of)
        tree = Stage(Order.NEIGHBOURS, run)
        total = code.slot(kind)
        code.store(kind, double(0.0), total)

        def add(lanes: Lanes) -> None:
            (found,) = self._stage(tree, lanes)
            now = rounded(code, 1, self.of, code.load(kind, total))
            code.store(kind, self.step(now, found).wide, total)

        whole, left = self._whole(run)
        if whole != 0:
            with code.loop(whole, run) as k:
                add(self._loaded(k, run))
        with self._if_some(left) as some:
            if some:
                add(self._rest(whole, left, run, 0.0))
        return rounded(code, 1, self.of, code.load(kind, total))

    def _lanes_forward(self, run: int) -> Lanes:
        """Lanes of all runs multiplied one after the other; 1 in those that no run has."""
        code, kind = self.code, many(WIDE, computed(self.of))
        slots = [code.slot(kind, 32) for _ in range(0, run, WIDE)]
        for slot in slots:
            code.store(kind, self._same(WIDE, _START[self.op]).wide, slot)

        def add(lanes: Lanes) -> None:
            for slot, part in zip(slots, lanes.parts):
                now = rounded(code, WIDE, self.of, code.load(kind, slot))
                code.store(kind, self.step(now, part).wide, slot)

        whole, left = self._whole(run)
        if whole != 0:
            with code.loop(whole, run) as k:
                add(self._loaded(k, run))
        with self._if_some(left) as some:
            if some:
                add(self._rest(whole, left, run, _KEEPS[self.op]))
        return Lanes(code, [rounded(code, WIDE, self.of, code.load(kind, slot)) for slot in slots])

    def _lanes_as_tree(self, run: int) -> Lanes:
        whole, left = self._whole(run)
        if isinstance(whole, int) and isinstance(left, int) and whole <= UNROLLED * run:
            repeats = [self._loaded(k, run) for k in range(0, whole, run)]
            rest = self._rest(whole, left, run, _KEEPS[self.op] if repeats else _START[self.op]) if left else None
            out: Lanes = of_repeats(repeats, self.step, rest)
            return out
        return self._tree_in_memory(run, whole, left)

    def _tree_in_memory(self, run: int, whole: Num, left: Num) -> Lanes:
        """The same with the levels in memory, which takes half of the longest row."""
        code, kind, of = self.code, storage(self.of), self.of
        bytes = run * of.size
        most = max(1, self.folding.longest // run // 2)
        level = code.scratch(f"[{most} x {many(run, kind)}]")

        def place(k: Num) -> str:
            return code.at(level, code.mul(k, bytes))

        def read(k: Num) -> Lanes:
            base = place(k)
            found = [code.load(many(WIDE, kind), code.at(base, j * of.size), of.size) for j in range(0, run, WIDE)]
            return Lanes(code, [Elements(code, WIDE, of, narrow=x) for x in found])

        def write(k: Num, x: Lanes) -> None:
            base = place(k)
            for j, part in enumerate(x.parts):
                code.store(many(WIDE, kind), part.narrow, code.at(base, j * WIDE * of.size), of.size)

        def halved(n: Num) -> str:
            return code.value(f"lshr i64 {n}, 1")

        def odd(n: Num) -> str:
            return code.value(f"and i64 {n}, 1")

        repeats = code.value(f"udiv i64 {whole}, {run}")
        pairs = halved(repeats)
        with code.loop(pairs) as k:
            both = code.mul(k, 2 * run)
            write(k, self.step(self._loaded(both, run), self._loaded(code.add(both, run), run)))
        with self._if_some(odd(repeats)):
            last = code.sub(whole, run)
            with self._if_some(pairs):
                write(0, self.step(read(0), self._loaded(last, run)))
            with self._if_some(pairs, "eq"):
                write(0, self._loaded(last, run))
        with self._if_some(left) as some:
            if some:
                start, keeps = (same(WIDE, computed(of), double(x[self.op])) for x in (_START, _KEEPS))
                fill = many(WIDE, computed(of))
                none = code.compare("eq", whole, 0)
                rest = self._rest(whole, left, run, code.value(f"select i1 {none}, {fill} {start}, {fill} {keeps}"))
                with self._if_some(whole) as any_whole:
                    if any_whole:
                        write(0, self.step(read(0), rest))
                with self._if_some(whole, "eq") as none_whole:
                    if none_whole:
                        write(0, rest)
        size = code.slot("i64")
        code.store("i64", pairs, size)
        head, body, done = code.label("head"), code.label("body"), code.label("done")
        code.place(head)
        now = code.load("i64", size)
        code.branch(code.compare("sgt", now, 1), body, done)
        code.place(body)
        half = halved(now)
        with code.loop(half) as k:
            both = code.mul(k, 2)
            write(k, self.step(read(both), read(code.add(both, 1))))
        with self._if_some(odd(now)):
            last = code.sub(half, 1)
            write(last, self.step(read(last), read(code.sub(now, 1))))
        code.store("i64", half, size)
        code.jump(head)
        code.place(done)
        return read(0)
