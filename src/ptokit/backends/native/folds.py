"""Reductions of rows or columns in their stated order, as loops over the bytes of the tiles.

Where the elements of the kept axis lie side by side, several folds run next to each other, each in its order. Where
those of the folded axis do, an order that does not matter takes many at a time, and sums of rows keep their two
accumulators in one register.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ptokit.isa.meaning.expressions import OWN, Element, leaves, type_of
from ptokit.isa.meaning.primitives import Order, combined
from ptokit.isa.meaning.words import Fold
from ptokit.plan.steps import Step
from ptokit.types.dtypes import DType
from ptokit.types.tile import DYNAMIC, TileSpec

from . import primitives, staged_folds
from .code import Num, double, many, narrowed, same, spread, storage
from .conversions import writable
from .lanes import Loop, Part, pitches
from .maths import round_many
from .primitives import Maker
from .tiles import meets, valid
from .values import Tile
from .views import Checked

if TYPE_CHECKING:
    from .function import Writer

_WIDE = 16  # elements of a row at a time
_START = {"add": 0, "mul": 1}
_TREES = (Order.TREE_ODD_FIRST, Order.TREE_ODD_LAST)
_ROWS_OF_TREES = 64  # their code has no loop along the column
_FROM_FIRST = (Order.FROM_FIRST, Order.PAIRS)
_ONE_BY_ONE = (Order.FORWARD, *_FROM_FIRST, *_TREES)


def supported(word: Fold, operands: dict[str, Any], types: dict[str, DType]) -> bool:
    """True if there is native code for a reduction at a place."""
    dst, over = operands.get(word.dst), operands.get(word.over)
    if not isinstance(dst, Tile) or not isinstance(over, Tile) or pitches(dst) is None:
        return False
    if not writable(word.value, types):
        return False
    of = type_of(word.value, types)
    if not isinstance(of, DType) or not primitives.known(word.op, of):
        return False
    if not _has_form(word, of, types[word.dst], over):
        return False
    for leaf in leaves(word.value):
        if not isinstance(leaf, Element) or leaf.at != OWN:
            return False
        tile = operands[leaf.name]
        if not isinstance(tile, Tile) or pitches(tile) is None or meets(dst, tile):
            return False
    return True


def _has_form(word: Fold, of: DType, to: DType, over: Tile) -> bool:
    """True if there is code for the order, of elements of a type into elements of another."""
    stage, *more = word.stages
    if stage.accumulator == "f64":
        return of.is_float and word.op in _START and not more
    if of is not to:
        return False
    by_row, pitch = word.axis == "row", pitches(over)
    length = over.spec.valid_col if by_row else over.spec.valid_row
    if not more:
        if stage.order in _TREES:
            return word.op == "add" and length != DYNAMIC and length <= _ROWS_OF_TREES
        return stage.order is Order.ANY or stage.order in _FROM_FIRST
    side_by_side = pitch is not None and pitch[by_row] == 1
    return side_by_side and staged_folds.supported(word, None if length == DYNAMIC else length)


def write(w: Writer, step: Step, word: Fold, operands: dict[str, Any], types: dict[str, DType]) -> None:
    """A reduction."""
    w.pending.flush()
    over, dst = operands[word.over], operands[word.dst]
    rows, cols = valid(w, over)
    read = {leaf.name: operands[leaf.name] for leaf in leaves(word.value) if isinstance(leaf, Element)}
    checked = Checked(w)
    result = (dst, rows, 1) if word.axis == "row" else (dst, 1, cols)
    for tile, r, c in (result, *((t, rows, cols) for t in read.values())):
        checked.need("sle", r, tile.spec.rows)
        checked.need("sle", c, tile.spec.cols)
    w.refuse_if(checked.any(), step)
    for tile in read.values():
        w.touch(tile)
    part = Part(dst, word.value, read, {}, types)
    Folding(w, part, word, (rows, cols), over.spec).call()
    whole = (dst.spec.rows, 1) if word.axis == "row" else (1, dst.spec.cols)
    if (rows, cols) == (over.spec.valid_row, over.spec.valid_col) and cols and rows:
        kept = (rows, 1) if word.axis == "row" else (1, cols)
        if kept == whole:
            w.overwrite(dst, *kept)


class Folding(Loop):
    """The loops of one reduction."""

    def __init__(self, w: Writer, part: Part, word: Fold, domain: tuple[Num, Num], over: TileSpec) -> None:
        super().__init__(w, [part], domain)
        self.part, self.word = part, word
        self.by_row = word.axis == "row"
        self.longest = over.cols if self.by_row else over.rows
        self.order = word.stages[0].order
        of = type_of(word.value, part.types)
        assert isinstance(of, DType)
        self.of = of
        self.wide = word.stages[0].accumulator == "f64"
        self.kind = "double" if self.wide else storage(of)

    def call(self) -> None:
        w, code = self.w, self.code
        numbers = [n if isinstance(n, int) else self.param("i64", n, k) for k, n in enumerate((self.rows, self.cols))]
        kept, folded = numbers if self.by_row else numbers[::-1]
        done = code.label("nothing")
        for n in (kept, folded):
            some = code.label("some")
            code.branch(code.compare("sgt", n, 0), some, done)
            code.place(some)
        side_by_side = all(self._along(t) == 1 for t in self.part.operands.values())
        across = all(self._across(t) == 1 for t in self.part.operands.values())
        if len(self.word.stages) > 1:
            with code.loop(kept) as k:
                self._result(1, staged_folds.StagedRow(self, k, folded).result().narrow, k)
        elif (across and not side_by_side and self.order not in _ONE_BY_ONE) or (across and self._any()):
            self._along_rows(kept, folded)
        else:
            self._next_to_each_other(kept, folded, side_by_side)
        code.place(done)
        code.leave("ret void")
        params = ", ".join(f"{type} {name}" for type, name in self.params)
        name = w.module.function(code.text(f"define internal void @{{name}}({params}) {{"))
        w.code.do(f"call void {name}({', '.join(self.args)})")

    def _any(self) -> bool:
        """True if the order does not matter."""
        return not self.wide and (self.of.is_integer or self.word.op in ("max", "min"))

    def _along(self, tile: Tile) -> int:
        """Elements from one fold to the next."""
        row, col = pitches(tile) or (0, 0)
        return row if self.by_row else col

    def _across(self, tile: Tile) -> int:
        """Elements from one folded element to the next."""
        row, col = pitches(tile) or (0, 0)
        return col if self.by_row else row

    def maker(self, n: int) -> Maker:
        return Maker(self.code, n, self.w.module.need, self.table)

    def load(self, n: int, kept: Num, folded: Num, *, along: bool) -> str:
        """`n` values in the accumulator's type: of neighbouring folds if `along`, else of one fold."""
        turned = self.by_row == along
        i, j = (folded, kept) if along else (kept, folded)
        value = self.value(self.part, self.word.value, self.maker(n), {}, i, j, turned)
        if not self.wide:
            return value.narrow
        return self.code.value(f"fpext {many(n, 'float')} {value.wide} to {many(n, 'double')}")

    def _combined(self, n: int, a: str, b: str) -> str:
        if self.wide:
            return self.code.value(f"{'fadd' if self.word.op == 'add' else 'fmul'} {many(n, 'double')} {a}, {b}")
        m = self.maker(n)
        return m.apply(self.word.op, self.of, [m.narrow(self.of, a), m.narrow(self.of, b)]).narrow

    def _start(self, n: int) -> str | None:
        """What an accumulator starts with; None: with the first element."""
        if self.word.op not in _START or self.order in _FROM_FIRST:
            return None
        first = _START[self.word.op]
        return same(n, self.kind, double(float(first)) if self.kind in ("double", "float") else first)

    def _result(self, n: int, value: str, kept: Num) -> None:
        """Round and store results of `n` neighbouring folds."""
        code, dtype = self.code, self.part.dst.spec.dtype
        if self.wide:
            exact = round_many(code, self.w.module.need, n, value, dtype.name)
            value = narrowed(code, n, dtype, exact)
        step = self._along(self.part.dst)
        kind, size = storage(dtype), dtype.size
        base = self.pointer(self.part.dst)
        if n == 1 or step == 1:
            code.store(many(n, kind), value, code.at(base, code.mul(kept, step * size)), size)
            return
        for k in range(n):
            one = code.value(f"extractelement {many(n, kind)} {value}, i32 {k}")
            code.store(kind, one, code.at(base, code.mul(code.add(kept, k), step * size)), size)

    # --- several folds next to each other ------------------------------------------------------------------------

    def _next_to_each_other(self, kept: Num, folded: Num, dense: bool) -> None:
        code = self.code
        n = _WIDE if dense else 1
        done: Num = 0
        if n > 1:
            whole = kept - kept % n if isinstance(kept, int) else code.value(f"and i64 {kept}, {-n}")
            if whole != 0:
                with code.loop(whole, n) as k:
                    self._folds(n, k, folded)
            done = whole
        if done != kept:
            with code.loop(kept, 1, done) as k:
                self._folds(1, k, folded)

    def _folds(self, n: int, k: Num, folded: Num) -> None:
        if self.order is Order.TWO_ACCUMULATORS:
            self._result(n, self._two(n, k, folded), k)
            return
        if self.order in _TREES:
            self._result(n, self._tree(n, k, folded), k)
            return
        code, kind = self.code, many(n, self.kind)
        acc = code.slot(kind, 32)
        first = self._start(n)
        code.store(kind, self.load(n, k, 0, along=True) if first is None else first, acc)

        def add(x: str) -> None:
            code.store(kind, self._combined(n, code.load(kind, acc), x), acc)

        done: Num = 1 if first is None else 0
        if self.order is Order.PAIRS:
            last = code.sub(folded, 1)
            with code.loop(last, 2, 1) as f:
                pair = (self.load(n, k, code.add(f, e), along=True) for e in (0, 1))
                add(self._combined(n, *pair))
            done = last | 1 if isinstance(last, int) else code.value(f"or i64 {last}, 1")
        with code.loop(folded, 1, done) as f:
            add(self.load(n, k, f, along=True))
        self._result(n, code.load(kind, acc), k)

    def _tree(self, n: int, k: Num, folded: Num) -> str:
        """Of a number of rows that the text says."""
        assert isinstance(folded, int)
        rows = [self.load(n, k, f, along=True) for f in range(folded)]

        def op(a: Any, b: Any) -> Any:
            return self._combined(n, a, b) if isinstance(a, str) else [*map(op, a, b)]

        found: str = combined(self.order, rows, op, self._start(n))
        return found

    def _two(self, n: int, k: Num, folded: Num) -> str:
        """Two accumulators, each with its own vector of folds."""
        code, d = self.code, many(n, "double")
        acc = [code.slot(d, 32), code.slot(d, 32)]
        for slot in acc:
            code.store(d, same(n, "double", double(0.0)), slot)

        def added(a: str, b: str) -> str:
            return code.value(f"fadd {d} {a}, {b}")

        whole = folded - folded % 8 if isinstance(folded, int) else code.value(f"and i64 {folded}, -8")
        with code.loop(whole, 8) as f:
            x = [self.load(n, k, code.add(f, e), along=True) for e in range(8)]
            for lane, slot in enumerate(acc):
                pairs = added(x[lane], x[lane + 2]), added(x[lane + 4], x[lane + 6])
                code.store(d, added(added(*pairs), code.load(d, slot)), slot)
        with code.loop(folded, 1, whole) as f:
            x_now = self.load(n, k, f, along=True)
            odd = code.compare("ne", self._and_one(f), 0)
            even = code.compare("eq", self._and_one(f), 0)
            for slot, here in zip(acc, (even, odd)):
                now = code.load(d, slot)
                code.store(d, code.value(f"select i1 {here}, {d} {added(now, x_now)}, {d} {now}"), slot)
        return added(code.load(d, acc[0]), code.load(d, acc[1]))

    def _and_one(self, f: Num) -> Num:
        return f & 1 if isinstance(f, int) else self.code.value(f"and i64 {f}, 1")

    # --- along a row ---------------------------------------------------------------------------------------------

    def _along_rows(self, kept: Num, folded: Num) -> None:
        """One fold after the other, several of them at a time so that none waits for itself."""
        code = self.code
        at_once = 4 if isinstance(kept, int) and kept % 4 == 0 else 1
        one: Callable[[list[Num], Num], list[str]] = self._sums if self.wide else self._extremes
        with code.loop(kept, at_once) as k:
            rows: list[Num] = [code.add(k, r) for r in range(at_once)]
            for row, result in zip(rows, one(rows, folded)):
                self._result(1, result, row)

    def _sums(self, rows: list[Num], folded: Num) -> list[str]:
        code = self.code
        pair = "<2 x double>"
        acc = [code.slot(pair, 16) for _ in rows]
        for slot in acc:
            code.store(pair, same(2, "double", double(0.0)), slot)
        whole = folded - folded % 8 if isinstance(folded, int) else code.value(f"and i64 {folded}, -8")
        with code.loop(whole, 8) as f:
            for row, slot in zip(rows, acc):
                x = self.load(8, row, f, along=False)
                parts = [
                    code.value(
                        f"shufflevector <8 x double> {x}, <8 x double> poison, <2 x i32> <i32 {2 * p}, i32 {2 * p + 1}>"
                    )
                    for p in range(4)
                ]
                low = code.value(f"fadd {pair} {parts[0]}, {parts[1]}")
                high = code.value(f"fadd {pair} {parts[2]}, {parts[3]}")
                both = code.value(f"fadd {pair} {low}, {high}")
                code.store(pair, code.value(f"fadd {pair} {both}, {code.load(pair, slot)}"), slot)
        with code.loop(folded, 1, whole) as f:
            lane = self._and_one(f)
            for row, slot in zip(rows, acc):
                x = self.load(1, row, f, along=False)
                now = code.load(pair, slot)
                old = code.value(f"extractelement {pair} {now}, i64 {lane}")
                new = code.value(f"fadd double {old}, {x}")
                code.store(pair, code.value(f"insertelement {pair} {now}, double {new}, i64 {lane}"), slot)
        out = []
        for slot in acc:
            now = code.load(pair, slot)
            a, b = (code.value(f"extractelement {pair} {now}, i32 {k}") for k in range(2))
            out.append(code.value(f"fadd double {a}, {b}"))
        return out

    def _extremes(self, rows: list[Num], folded: Num) -> list[str]:
        """Folds whose order does not matter."""
        code, n, kind = self.code, _WIDE, self.kind
        single = [code.slot(kind, 8) for _ in rows]
        first = self._start(1)
        for row, slot in zip(rows, single):
            code.store(kind, self.load(1, row, 0, along=False) if first is None else first, slot)
        done: Num = 0 if first is not None else 1
        if not isinstance(folded, int) or folded >= n:
            vector = many(n, kind)
            whole = folded - folded % n if isinstance(folded, int) else code.value(f"and i64 {folded}, {-n}")
            acc = [code.slot(vector, 64) for _ in rows]
            for slot, own in zip(acc, single):
                start = self._start(n) or spread(code, n, kind, code.load(kind, own))
                code.store(vector, start, slot)
            with code.loop(whole, n) as f:
                for row, slot in zip(rows, acc):
                    x = self.load(n, row, f, along=False)
                    code.store(vector, self._combined(n, code.load(vector, slot), x), slot)
            for slot, own in zip(acc, single):
                code.store(kind, self._halved(n, code.load(vector, slot)), own)
            done = whole
        if done != folded:
            with code.loop(folded, 1, done) as f:
                for row, slot in zip(rows, single):
                    x = self.load(1, row, f, along=False)
                    code.store(kind, self._combined(1, code.load(kind, slot), x), slot)
        return [code.load(kind, slot) for slot in single]

    def _halved(self, n: int, x: str) -> str:
        """The lanes of a vector combined to one, half by half."""
        code, kind = self.code, self.kind
        while n > 1:
            half = n // 2
            parts = []
            for start in (0, half):
                lanes = ", ".join(f"i32 {start + k}" for k in range(half))
                shuffled = f"shufflevector {many(n, kind)} {x}, {many(n, kind)} poison, <{half} x i32> <{lanes}>"
                part = code.value(shuffled)
                parts.append(part if half > 1 else code.value(f"extractelement <1 x {kind}> {part}, i32 0"))
            x = self._combined(half, *parts)
            n = half
        return x
