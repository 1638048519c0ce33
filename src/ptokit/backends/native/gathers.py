"""Gathers and scatters by an index tile, as loops over its elements, and single elements.

Indices are looked at before anything else happens; where one is out of range and the instruction refuses that, Python
carries it out and says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ptokit.isa.meaning.words import Gather, Outside, Scatter, Single
from ptokit.plan.steps import Step
from ptokit.targets import A2A3
from ptokit.types.dtypes import DType
from ptokit.types.enums import Layout
from ptokit.types.values import Scalar

from .code import Code, Num, many, spread, storage
from .lanes import pitches, scalar_element
from .scalars import llvm_type
from .tiles import meets, valid
from .values import Tile, View
from .views import Checked

if TYPE_CHECKING:
    from .function import Writer


# Gathers and scatters by an index tile, as loops over its elements.


_AT_ONCE = 16  # indices


def write(w: Writer, step: Step, word: Gather | Scatter, operands: dict[str, Any]) -> bool:
    """True if native code has been written."""
    table, data = (word.src, word.dst) if isinstance(word, Gather) else (word.dst, word.src)
    found = _Indexed(w, word, operands.get(table), operands.get(data), operands.get(word.index))
    if not found.supported():
        return False
    w.pending.flush()
    w.check(step)
    checked = Checked(w)
    found.bounds(checked)
    for name in (word.src, word.index):
        if isinstance(operands[name], Tile):
            w.touch(operands[name])
    with w.unless(checked.any(), step, reads=False):
        if word.outside is Outside.REFUSED:
            wrong = found.call("any", found.any_outside())
            with w.unless(w.code.value(f"trunc i64 {wrong} to i1"), step, reads=False):
                found.call("move", found.moved())
        else:
            found.call("move", found.moved())
    dst = operands[word.dst]
    if isinstance(dst, Tile):
        whole = (dst.spec.rows, dst.spec.cols) if isinstance(word, Scatter) else valid(w, dst)
        w.overwrite(dst, *whole)
    return True


class _Indexed:
    """One instruction: the table, the tile of its elements, and the indices."""

    def __init__(self, w: Writer, word: Gather | Scatter, table: Any, data: Any, index: Any) -> None:
        self.w, self.word, self.table, self.data, self.index = w, word, table, data, index
        self.by_row = isinstance(word, Gather) and word.rows

    def supported(self) -> bool:
        word = self.word
        if not isinstance(self.data, Tile) or not isinstance(self.index, Tile):
            return False
        if pitches(self.data) is None or pitches(self.index) is None:
            return False
        if isinstance(self.table, Tile):
            store = self.table.spec
            if store.boxed or store.dtype.packed or not store.row_major:
                return False
            parts = [self.table, self.data, self.index]
        elif isinstance(self.table, View):
            if self.table.dtype.packed or self.table.layout_for(self.data.spec.row_major) is not Layout.ND:
                return False
            parts = [self.data, self.index]
        else:
            return False
        if self.data.spec.dtype.size != self._dtype.size:
            return False
        written = self.data if isinstance(word, Gather) else self.table
        return not any(isinstance(written, Tile) and written is not p and meets(written, p) for p in parts) and (
            not isinstance(self.table, View) or len(self.table.dims) >= 2
        )

    @property
    def _dtype(self) -> Any:
        return self.table.spec.dtype if isinstance(self.table, Tile) else self.table.dtype

    def bounds(self, checked: Checked) -> None:
        """The number of elements or rows; all of them have to lie inside the memory, tiles have to be large enough."""
        w = self.w
        over = self.data if isinstance(self.word, Gather) else self.index
        self.rows, self.cols = valid(w, over)
        for tile in (self.data, self.index):
            if self.by_row and tile is self.index:
                checked.need("sle", self.rows, tile.spec.rows * tile.spec.cols)
                continue
            checked.need("sle", self.rows, tile.spec.rows)
            checked.need("sle", self.cols, tile.spec.cols)
        self.stride: Num = 1
        if isinstance(self.table, Tile):
            self.count: Num = self.table.spec.rows * self.table.spec.cols
            return
        dims = self.table.dims
        counted = dims
        if self.by_row:
            dense = isinstance(self.word, Gather) and self.word.dense
            self.stride = self.cols if dense else self.table.strides[-2]
            counted = dims[:-1] if w.target.is_a(A2A3) else dims[-2:-1]
        self.count = 1
        for n in counted:
            self.count = checked.mul(self.count, n)
        checked.need("sge", self.count, 1)
        checked.need("sle", self.count, (1 << 31) - 1)
        checked.need("sge", self.stride, 0)
        last = checked.mul(checked.add(self.count, -1), self.stride)
        end = checked.add(checked.add(self.table.offset, last), self.cols if self.by_row else 1)
        checked.need("sge", self.table.offset, 0)
        checked.need("sge", self.table.memory.number, 0)
        checked.need("sle", end, self.table.memory.count)

    # --- functions -----------------------------------------------------------------------------------------------

    def call(self, kind: str, body: str) -> str:
        """Call a function with the addresses and sizes."""
        w = self.w
        size = self._dtype.size
        if isinstance(self.table, Tile):
            table = w.code.at(w.memory, self.table.start)
        else:
            table = w.code.at(self.table.memory.base, w.code.mul(self.table.offset, size))
        places = [table, *(w.code.at(w.memory, tile.start) for tile in (self.data, self.index))]
        numbers = (self.rows, self.cols, self.count, self.stride)
        args = ", ".join([*(f"ptr {p}" for p in places), *(f"i64 {n}" for n in numbers)])
        name = w.module.function(body)
        if kind == "any":
            return w.code.value(f"call i64 {name}({args})")
        w.code.do(f"call void {name}({args})")
        return ""

    def _place(self, code: Code, i: Num, j: Num) -> tuple[str, str]:
        """The index as an unsigned number, and whether it names an element."""
        row, col = pitches(self.index) or (0, 0)
        at = i if self.by_row else code.add(code.mul(i, row), code.mul(j, col))
        dtype = self.index.spec.dtype
        kind = storage(dtype)
        found = code.load(kind, code.at("%index", code.mul(at, dtype.size)), dtype.size)
        if kind != "i64":
            signed = dtype.signed and not self.word.unsigned
            found = code.value(f"{'sext' if signed else 'zext'} {kind} {found} to i64")
        return found, code.value(f"icmp ult i64 {found}, %count")

    def any_outside(self) -> str:
        """A function that tells whether an index is out of range."""
        code = Code()
        seen = code.slot("i64")
        code.store("i64", 0, seen)
        with code.loop("%rows") as i:
            done: Num = 0
            if not self.by_row and self.index.spec.dtype.bits == 32 and (pitches(self.index) or (0, 0))[1] == 1:
                done = self._many_outside(code, i, seen)
            with code.loop(1 if self.by_row else "%cols", 1, done) as j:
                _, good = self._place(code, i, j)
                bad = code.value(f"zext i1 {code.value(f'xor i1 {good}, true')} to i64")
                code.store("i64", code.value(f"or i64 {code.load('i64', seen)}, {bad}"), seen)
        code.leave(f"ret i64 {code.load('i64', seen)}")
        return self._text(code, "i64")

    def _many_outside(self, code: Code, i: Num, seen: str) -> Num:
        """Look at most of the indices of a row, some at a time; how many."""
        row, _ = pitches(self.index) or (0, 0)
        t, c = many(_AT_ONCE, "i32"), many(_AT_ONCE, "i1")
        limit = spread(code, _AT_ONCE, "i32", code.value("trunc i64 %count to i32"))
        whole = code.value(f"and i64 %cols, {-_AT_ONCE}")
        with code.loop(whole, _AT_ONCE) as j:
            at = code.mul(code.add(code.mul(i, row), j), 4)
            found = code.load(t, code.at("%index", at), 4)
            bad = code.value(f"icmp uge {t} {found}, {limit}")
            any_bad = code.value(f"call i1 @llvm.vector.reduce.or.v{_AT_ONCE}i1({c} {bad})")
            wide = code.value(f"zext i1 {any_bad} to i64")
            code.store("i64", code.value(f"or i64 {code.load('i64', seen)}, {wide}"), seen)
        return whole

    def moved(self) -> str:
        """A function that moves the elements."""
        code, outside = Code(), self.word.outside
        if isinstance(self.word, Scatter) and isinstance(self.table, Tile):
            nbytes = self.table.spec.rows * self.table.spec.cols * self._dtype.size
            code.do(f"call void @llvm.memset.p0.i64(ptr %table, i8 0, i64 {nbytes}, i1 false)")
        with code.loop("%rows") as i:
            if self.by_row:
                place, good = self._place(code, i, 0)
                self._row(code, i, self._inside(code, place, good), good if outside is Outside.LEFT_OUT else "")
            else:
                with code.loop("%cols") as j:
                    place, good = self._place(code, i, j)
                    self._one(code, i, j, self._inside(code, place, good), good)
        code.leave("ret void")
        return self._text(code, "void")

    def _inside(self, code: Code, place: str, good: str) -> str:
        """A place that exists."""
        other = "0"
        if self.word.outside is Outside.REFUSED:
            return place
        if self.word.outside is Outside.LAST:
            other = code.value("sub i64 %count, 1")
        elif self.word.outside is Outside.WRAPPED:
            other = code.value(f"urem i64 {place}, %count")
        return code.value(f"select i1 {good}, i64 {place}, i64 {other}")

    def _element(self, code: Code, i: Num, j: Num) -> str:
        """The address of an element of the tile."""
        row, col = pitches(self.data) or (0, 0)
        return code.at("%data", code.mul(code.add(code.mul(i, row), code.mul(j, col)), self._dtype.size))

    def _one(self, code: Code, i: Num, j: Num, place: str, good: str) -> None:
        size = self._dtype.size
        kind, there = f"i{8 * size}", code.at("%table", code.mul(place, size))
        here, left_out = self._element(code, i, j), self.word.outside is Outside.LEFT_OUT
        if isinstance(self.word, Gather):
            found = code.load(kind, there, size)
            if left_out:
                found = code.value(f"select i1 {good}, {kind} {found}, {kind} 0")
            code.store(kind, found, here, size)
            return
        yes, done = code.label("inside"), code.label("written")
        if left_out:
            code.branch(good, yes, done)
            code.place(yes)
        code.store(kind, code.load(kind, here, size), there, size)
        code.place(done)

    def _row(self, code: Code, i: Num, place: str, good: str) -> None:
        size = self._dtype.size
        start = code.at("%table", code.mul(code.mul(place, "%stride"), size))
        with code.loop("%cols") as j:
            found = code.load(f"i{8 * size}", code.at(start, code.mul(j, size)), size)
            if good:
                found = code.value(f"select i1 {good}, i{8 * size} {found}, i{8 * size} 0")
            code.store(f"i{8 * size}", found, self._element(code, i, j), size)

    def _text(self, code: Code, gives: str) -> str:
        pointers = ", ".join(f"ptr noalias %{name}" for name in ("table", "data", "index"))
        numbers = ", ".join(f"i64 %{name}" for name in ("rows", "cols", "count", "stride"))
        return code.text(f"define internal {gives} @{{name}}({pointers}, {numbers}) {{")


# Single elements of tiles, which the scalar unit reads and writes.


_INFINITY = {"f32": 0x7F800000, "f16": 0x7C00, "bf16": 0x7F80}


def write_element(w: Writer, step: Step, word: Single, operands: dict[str, Any]) -> bool:
    """True if native code has been written."""
    tile = operands.get(word.tile)
    if not isinstance(tile, Tile) or tile.parent is not None or not _plain(tile.spec.dtype):
        return False
    dtype = tile.spec.dtype
    if not word.value and not _fits(dtype, step.result.type):
        return False
    w.pending.flush()
    code, offset, checked = w.code, w.number(step[word.offset]), Checked(w)
    checked.need("sge", offset, 0)
    checked.need("slt", offset, tile.spec.numel)
    w.refuse_if(checked.any(), step)
    place = code.at(code.at(w.memory, tile.start), code.mul(offset, dtype.size))
    if word.value:
        code.store(storage(dtype), scalar_element(w, step[word.value], dtype), place, dtype.size)
        return True
    w.touch(tile)
    found = code.load(f"i{dtype.bits}", place, dtype.size)
    w.set(step.result, _quiet(w, dtype, found) if dtype.is_float else found)
    return True


def _plain(dtype: DType) -> bool:
    return dtype.name in _INFINITY or (dtype.is_integer and dtype.bits in (8, 16, 32, 64))


def _fits(dtype: DType, type: Any) -> bool:
    """True if the result has the bits of an element."""
    if not isinstance(type, Scalar):
        return False
    return type.name == dtype.name if dtype.is_float else type.is_integer and llvm_type(type.name) == f"i{dtype.bits}"


def _quiet(w: Writer, dtype: DType, bits: str) -> str:
    """A NaN as a quiet one, as reading it as a number makes it."""
    code, t, infinity = w.code, f"i{dtype.bits}", _INFINITY[dtype.name]
    size = code.value(f"and {t} {bits}, {(1 << dtype.bits - 1) - 1}")
    nan = code.value(f"icmp ugt {t} {size}, {infinity}")
    quiet = code.value(f"or {t} {bits}, {(infinity & -infinity) >> 1}")
    return code.value(f"select i1 {nan}, {t} {quiet}, {t} {bits}")
