"""Instructions whose elements are computed one by one, as loops over the bytes of the tiles.

Neighbours over the same domain become one loop, in which an element goes from one to the next in a register; it is
stored all the same. They have to touch each other's bytes at the same places only, or not at all.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ptokit.isa.meaning.expressions import (
    COLUMN,
    OWN,
    ROW,
    Apply,
    Coordinate,
    Element,
    Expr,
    Scalar,
    children,
    leaves,
    type_of,
)
from ptokit.isa.meaning.words import Lane, Write
from ptokit.isa.numerics.arith import element
from ptokit.isa.site import Site
from ptokit.isa.table import Instr
from ptokit.plan.steps import Step, constant
from ptokit.records import dataclass
from ptokit.types.dtypes import DType

from .code import Code, Num, float_of, many, spread, storage
from .conversions import inner, writable
from .maths import from_double, to_double
from .primitives import Elements, Maker
from .scalars import llvm_type
from .tiles import meets, valid
from .values import Direct, NotNativeError, Tile, constants
from .views import Checked

if TYPE_CHECKING:
    from .function import Writer

VECTOR_BYTES = 64  # of one operand at a time: two registers of 256 bits
MOST_FUSED = 12
_LONG = frozenset(("log",))


@dataclass
class Part:
    """One instruction of a loop: the value of each element of `dst`; leaves by operand."""

    dst: Tile
    value: Expr
    operands: dict[str, Tile]
    scalars: dict[Expr, str]  # registers that hold elements, as in memory
    types: dict[str, DType]


def pitches(tile: Tile) -> tuple[int, int] | None:
    """Elements from one row, and from one column, to the next; None where they lie in boxes."""
    return tile.pitches


def supported(word: Lane, instr: Instr, site: Site, operands: dict[str, Any], types: dict[str, DType]) -> bool:
    """True if there is native code for a meaning at a place."""
    if word.mask or word.whole or len(word.writes) != 1:
        return False
    (write,) = word.writes
    dst = operands.get(write.name)
    if write.packed or write.at != OWN or not isinstance(dst, Tile) or word.over != write.name:
        return False
    if not all(n is None or isinstance(n, int) for n in (write.rows, write.cols)):
        return False
    if pitches(dst) is None or not writable(write.value, types):
        return False
    if type_of(write.value, types) is not types[write.name]:
        return False
    for leaf in leaves(write.value):
        match leaf:
            case Element(name, at):
                tile = operands.get(name)
                if at not in (OWN, COLUMN, ROW) or not isinstance(tile, Tile) or pitches(tile) is None:
                    return False
                if meets(dst, tile) and (at != OWN or not _same_place(dst, tile)):
                    return False
            case Scalar():
                pass
            case _:
                return False
    return True


def check_regions(w: Writer, step: Step, word: Lane, operands: dict[str, Any]) -> None:
    """Sources have to be as large as the domain."""
    (write,) = word.writes
    dst = operands[write.name]
    checked = Checked(w)
    for leaf in leaves(write.value):
        if isinstance(leaf, Element):
            spec = operands[leaf.name].spec
            rows, cols = domain_of(w, write, dst) if spec.rows < dst.spec.rows or spec.cols < dst.spec.cols else (0, 0)
            checked.need("sle", 1 if leaf.at == ROW else rows, spec.rows)
            checked.need("sle", 1 if leaf.at == COLUMN else cols, spec.cols)
    w.refuse_if(checked.any(), step)


def domain_of(w: Writer, write: Write, dst: Tile) -> tuple[Num, Num]:
    """The rows and columns that are computed."""
    rows, cols = valid(w, dst)
    assert isinstance(write.rows, int | None)
    assert isinstance(write.cols, int | None)
    return rows if write.rows is None else write.rows, cols if write.cols is None else write.cols


def _same_place(a: Tile, b: Tile) -> bool:
    """True if element (i, j) of both is the same, whatever i and j are."""
    same = (a.start, a.spec.dtype.size) == (b.start, b.spec.dtype.size)
    return same and pitches(a) == pitches(b)


def _apart(written: Tile, value: Expr, operands: dict[str, Tile]) -> bool:
    """True if an expression reads what is written at the same places only, or not at all."""
    for leaf in leaves(value):
        if isinstance(leaf, Element) and meets(written, read := operands[leaf.name]):
            same = leaf.at == OWN and _same_place(written, read)
            if not same:
                return False
    return True


class Pending:
    """Instructions that wait to become one loop."""

    def __init__(self, w: Writer) -> None:
        self.w = w
        self.parts: list[Part] = []
        self.domain: tuple[Num, Num] = (0, 0)

    def add(self, word: Lane, site: Site, step: Step, operands: dict[str, Any], types: dict[str, DType]) -> None:
        """One more instruction, with the loop before it or in a new one."""
        (write,) = word.writes
        dst: Tile = operands[write.name]
        dynamic = dst.shape is not None
        if dynamic:
            self.flush()
        domain = domain_of(self.w, write, dst)
        read = {leaf.name: operands[leaf.name] for leaf in leaves(write.value) if isinstance(leaf, Element)}
        if self.parts and (
            domain != self.domain or len(self.parts) >= MOST_FUSED or not self._fits(dst, write.value, read)
        ):
            self.flush()
        scalars: dict[Expr, str] = {}
        for leaf in leaves(write.value):
            if isinstance(leaf, Scalar):
                scalars[leaf] = self._scalar(step, leaf, types)
            elif isinstance(leaf, Element):
                self.w.touch(operands[leaf.name])
        self.w.overwrite(dst, *domain)
        self.domain = domain
        self.parts.append(Part(dst, write.value, read, scalars, types))
        if dynamic:
            self.flush()

    def _fits(self, dst: Tile, value: Expr, read: dict[str, Tile]) -> bool:
        """True if the loop stays right with one more instruction."""
        for part in self.parts:
            if not _apart(dst, part.value, part.operands) or not _apart(part.dst, value, read):
                return False
            if meets(dst, part.dst) and not _same_place(dst, part.dst):
                return False
        return True

    def _scalar(self, step: Step, leaf: Scalar, types: dict[str, DType]) -> str:
        """A number operand as an element."""
        of = type_of(leaf, types)
        assert isinstance(of, DType)
        return scalar_element(self.w, step[leaf.name], of)

    def taken(self) -> Loop:
        """The loop, for others to write."""
        parts, self.parts = self.parts, []
        return Loop(self.w, parts, self.domain)

    def flush(self) -> None:
        """Write the loop."""
        if self.parts:
            self.taken().call()


def scalar_element(w: Writer, value: Any, dtype: DType) -> str:
    """A number of the program as an element of a tile, as it lies in memory: integers wrap, floats round once."""
    code, kind = w.code, value.type.name
    known = constant(value)
    if isinstance(known, (int, float)) and not isinstance(known, bool):
        bits = int(element(dtype, known).view(dtype.storage))
        if dtype.name == "f32":
            return float_of(bits)
        return str(bits)
    text = w.text(value)
    if kind.startswith(("f", "bf")):
        if dtype.is_integer:
            raise NotNativeError("a scalar operand", "a float as an element of an integer type")
        return _bits_as(w, dtype, text if kind == dtype.name else from_double(w, to_double(w, text, kind), dtype.name))
    have, bits = llvm_type(kind), dtype.bits
    if dtype.is_float:
        if have == "i1":
            wide = code.value(f"uitofp i1 {text} to double")
        else:
            wide = code.value(f"sitofp {have} {text} to double")
        return _bits_as(w, dtype, from_double(w, wide, dtype.name))
    have_bits = int(have[1:])
    if have_bits == bits:
        return text
    return code.value(
        f"{'trunc' if have_bits > bits else 'zext' if have_bits == 1 else 'sext'} {have} {text} to i{bits}"
    )


def _bits_as(w: Writer, dtype: DType, bits: str) -> str:
    """The bits of a float as an element in memory."""
    return w.code.value(f"bitcast i32 {bits} to float") if dtype.name == "f32" else bits


class Loop:
    """The loop of one or more instructions, as a function of its own that is called."""

    def __init__(self, w: Writer, parts: list[Part], domain: tuple[Num, Num], direct: Direct | None = None) -> None:
        self.w, self.parts, self.direct = w, parts, direct
        self.rows, self.cols = domain
        self.code = Code()
        self.code._names = 0
        self.params: list[tuple[str, str]] = []  # type and name inside
        self.args: list[str] = []
        self.pointers: dict[Any, str] = {}
        self.numbers: dict[Any, str] = {}
        self.streams: dict[Any, tuple[int, int, DType]] = {}  # pitches by place

    def towards(self, direct: Direct) -> Loop:
        """The same loop that writes to global memory what it leaves in a tile."""
        return Loop(self.w, self.parts, (self.rows, self.cols), direct)

    # --- operands ------------------------------------------------------------------------------------------------

    def param(self, type: str, argument: object, key: Any) -> str:
        found = self.numbers.get(key)
        if found is None:
            found = self.numbers[key] = f"%p{len(self.params)}"
            self.params.append((type, found))
            self.args.append(f"{type} {argument}")
        return found

    def place(self, tile: Tile, at: Any) -> Any:
        """What identifies the elements that are met there."""
        row, col = pitches(tile) or (0, 0)
        return tile.start, tile.spec.dtype.size, row, col, at

    def pointer(self, tile: Tile) -> str:
        """A parameter: the address of the tile's first element."""
        row, col = pitches(tile) or (0, 0)
        key = (tile.start, row, col, tile.spec.dtype.size)
        found = self.pointers.get(key)
        if found is None:
            w = self.w
            found = self.pointers[key] = self.param("ptr", w.code.at(w.memory, tile.start), ("ptr", key))
        return found

    # --- the code ------------------------------------------------------------------------------------------------

    def call(self) -> None:
        w = self.w
        rows, cols = self.rows, self.cols
        turned = self._turned()
        outer, inner = (cols, rows) if turned else (rows, cols)
        if self._flat(turned):
            outer, inner = (1, w.code.mul(outer, inner))
        n_outer = outer if isinstance(outer, int) else self.param("i64", outer, "outer")
        n_inner = inner if isinstance(inner, int) else self.param("i64", inner, "inner")
        widest = max(part.dst.spec.dtype.size for part in self.parts)
        long = any(_uses(part.value, _LONG) for part in self.parts)
        n = max(2, (VECTOR_BYTES // 2 if long else VECTOR_BYTES) // widest)
        if not self._dense(turned):
            n = 1
        code = self.code
        with code.loop(n_outer) as i:
            done: Num = 0
            if n > 1:
                whole = n_inner - n_inner % n if isinstance(n_inner, int) else code.value(f"and i64 {n_inner}, {-n}")
                if whole != 0:
                    with code.loop(whole, n) as j:
                        self.body(n, i, j, turned)
                done = whole
            if done != n_inner:
                left = n_inner - done if isinstance(n_inner, int) and isinstance(done, int) else None
                for m in _powers(left, n):  # what is left of a known width, in halves
                    self.body(m, i, done, turned)
                    assert isinstance(done, int)
                    done += m
                if done != n_inner:
                    with code.loop(n_inner, 1, done) as j:
                        self.body(1, i, j, turned)
        code.leave("ret void")
        params = ", ".join(f"{type} {name}" for type, name in self.params)
        name = w.module.function(code.text(f"define internal void @{{name}}({params}) {{"))
        w.code.do(f"call void {name}({', '.join(self.args)})")

    def _all(self) -> Iterator[tuple[Tile, Any]]:
        for part in self.parts:
            yield part.dst, OWN
            for leaf in leaves(part.value):
                if isinstance(leaf, Element):
                    yield part.operands[leaf.name], leaf.at

    def strides(self, tile: Tile, at: Any) -> tuple[int, int]:
        """Elements from one row and one column of the domain to the next."""
        row, col = pitches(tile) or (0, 0)
        return (row if at != ROW else 0), (col if at != COLUMN else 0)

    def _turned(self) -> bool:
        """True if the loop goes down the columns."""
        own = [self.strides(tile, at) for tile, at in self._all() if at == OWN]
        if self.cols == 1:
            return True
        return all(row == 1 for row, _ in own) and not all(col == 1 for _, col in own)

    def _inner(self, tile: Tile, at: Any, turned: bool) -> int:
        row, col = self.strides(tile, at)
        return row if turned else col

    def _dense(self, turned: bool) -> bool:
        """True if every operand has its elements side by side along the inner loop, or one for all of it."""
        return all(self._inner(tile, at, turned) in (0, 1) for tile, at in self._all())

    def _flat(self, turned: bool) -> bool:
        """True if rows follow each other without gaps, so that the domain is one long row."""
        length = self.rows if turned else self.cols
        if not isinstance(length, int) or any(_numbered(part.value) for part in self.parts):
            return False
        if self.direct is not None and self.direct.pitch != length:
            return False
        for tile, at in self._all():
            row, col = self.strides(tile, at)
            inner, outer = (row, col) if turned else (col, row)
            if inner != 1 or outer != length:
                return False
        return True

    def address(self, tile: Tile, at: Any, i: Num, j: Num, turned: bool) -> str:
        code = self.code
        row, col = self.strides(tile, at)
        outer, inner = (col, row) if turned else (row, col)
        offset = code.add(code.mul(i, outer), code.mul(j, inner))
        return code.at(self.pointer(tile), code.mul(offset, tile.spec.dtype.size))

    def body(self, n: int, i: Num, j: Num, turned: bool) -> None:
        code = self.code
        maker = Maker(code, n, self.w.module.need, self.table)
        seen: dict[Any, Elements] = {}
        for k, part in enumerate(self.parts):
            value = self.value(part, part.value, maker, seen, i, j, turned)
            dtype = part.dst.spec.dtype
            address = self._destination(k, i, j, turned)
            if address is not None:
                code.store(many(n, storage(dtype)), value.narrow, address, dtype.size)
            place = self.place(part.dst, OWN)
            seen = {key: v for key, v in seen.items() if key[:4] != place[:4]}
            seen[(*place, dtype)] = value

    def _destination(self, k: int, i: Num, j: Num, turned: bool) -> str | None:
        """Where the result of an instruction goes; None for one that a later one of the loop replaces."""
        dst, direct = self.parts[k].dst, self.direct
        if direct is None or not _same_place(dst, direct.tile):
            return self.address(dst, OWN, i, j, turned)
        if any(_same_place(later.dst, dst) for later in self.parts[k + 1 :]):
            return None
        base = self.param("ptr", direct.address, ("direct",))
        offset = self.code.add(self.code.mul(i, direct.pitch), j)
        return self.code.at(base, self.code.mul(offset, dst.spec.dtype.size))

    def table(self, *key: Any) -> str:
        return self.param("ptr", self.w.table(*key), ("table", *key))

    def value(self, part: Part, e: Expr, m: Maker, seen: dict[Any, Elements], i: Num, j: Num, turned: bool) -> Elements:
        found = inner(m, e, part.types, lambda below: self.value(part, below, m, seen, i, j, turned))
        return self._leaf(part, e, m, seen, i, j, turned) if found is None else found

    def _leaf(self, part: Part, e: Expr, m: Maker, seen: dict[Any, Elements], i: Num, j: Num, turned: bool) -> Elements:
        code, n = self.code, m.n
        match e:
            case Element(name, at):
                tile, dtype = part.operands[name], part.types[name]
                key = (*self.place(tile, at), dtype)
                found = seen.get(key)
                if found is None:
                    address, kind = self.address(tile, at, i, j, turned), storage(dtype)
                    if n > 1 and self._inner(tile, at, turned) == 0:
                        one = code.load(kind, address, dtype.size)
                        register = spread(code, n, kind, one)
                    else:
                        register = code.load(many(n, kind), address, dtype.size)
                    found = seen[key] = m.narrow(dtype, register)
                return found
            case Scalar():
                of = type_of(e, part.types)
                assert isinstance(of, DType)
                dtype, kind, text = of, storage(of), part.scalars[e]
                inside = text
                if text.startswith("%"):
                    inside = self.param(kind, text, ("scalar", text, kind))
                    return m.narrow(dtype, spread(code, n, kind, inside))
                return m.narrow(dtype, m.same(kind, text))
            case Coordinate(axis):
                of = type_of(e, part.types)
                assert isinstance(of, DType)
                inner = (axis == "row") is turned
                return m.narrow(of, self._number(of, n, j if inner else i, counts=inner))
        raise TypeError(e)

    def _number(self, of: DType, n: int, first: Num, *, counts: bool) -> str:
        """The number of a row or column as an element: `n` times, or counting."""
        code, kind = self.code, storage(of)
        own = constants(of, [first]) if isinstance(first, int) else first
        if isinstance(first, str) and kind != "i64":
            own = code.value(f"trunc i64 {first} to {kind}")
        if n == 1:
            return own
        every = spread(code, n, kind, own)
        return code.value(f"add {many(n, kind)} {every}, {constants(of, range(n))}") if counts else every


def _powers(left: int | None, n: int) -> list[int]:
    """Widths below `n` that make up what is left."""
    if left is None:
        return []
    out = []
    m = n // 2
    while m >= 1 and left:
        if left >= m:
            out.append(m)
            left -= m
        m //= 2
    return out


def _numbered(e: Expr) -> bool:
    """True if a value depends on the number of its row or column."""
    return isinstance(e, Coordinate) or any(map(_numbered, children(e)))


def _uses(e: Expr, names: frozenset[str]) -> bool:
    return isinstance(e, Apply) and (e.op in names or any(_uses(a, names) for a in e.args))
