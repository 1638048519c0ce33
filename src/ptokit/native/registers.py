"""Operations on vector registers and predicates: registers are LLVM vectors of 256 bytes, a lane each element.

What is written for an operation follows from its meaning (`Lane`): lanes at other places are shuffles, accesses to
on-chip memory are loads and stores of the thread's own bytes. What needs many instructions for a lane (exponentials,
tables, division of integers) is a loop over the lanes in a function of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ptokit.ir.core import Op, Value
from ptokit.isa.meaning.expressions import (
    OWN,
    Apply,
    Bit,
    Element,
    Expr,
    Listed,
    Place,
    Scalar,
    Stored,
    lanes_at,
    leaves,
    type_of,
)
from ptokit.isa.meaning.words import Advance, Lane, Write
from ptokit.isa.table import Instr, Kind
from ptokit.run.memory.local import SPACES
from ptokit.types.dtypes import DType
from ptokit.types.values import Mask, Ptr, VReg
from ptokit.types.values import Scalar as ScalarType

from .callbacks import REGISTER_BYTES, register_kind
from .code import Code, Num
from .elements import many, spread, storage
from .expressions import Types, inner, writable
from .intervals import interval, turns
from .lanes import scalar_element
from .primitives import Elements, Maker
from .scalars import FLOATS
from .values import LocalPointer, Register
from .vectors import bits_as, constants, shuffled, stored_bytes
from .views import Checked

if TYPE_CHECKING:
    from .function import Writer

_IMAGE = "<256 x i8>"
_SLOW = frozenset(("exp", "log", "fmod", "floormod", "pow", "pow_a2a3"))
_TABLES = frozenset(("exp", "log", "sqrt", "rsqrt", "recip"))
_PIECE = 32  # bytes of a register that a loop over lanes takes at a time


def supported(instr: Instr, word: Lane, op: Op, operands: dict[str, Any], types: Types) -> bool:
    """True if there is native code for an operation on registers."""
    for result in op.results:
        if not isinstance(result.type, VReg | Mask | Ptr | ScalarType):
            return False
    if word.keeps:
        return False
    for write in word.writes:
        if not writable(write.value, types):
            return False
        if not write.packed and isinstance(type_of(write.value, types), str):
            return False
        if write.place is not None or write.where is not None:
            return False
        target = operands.get(write.name)
        if _is_pointer(instr, write.name) and not isinstance(target, LocalPointer):
            return False
        if not all(_reachable(leaf, op, operands, types) for leaf in leaves(write.value)):
            return False
    return all(isinstance(operands.get(a.pointer), LocalPointer) for a in word.advances)


def _reachable(leaf: Expr, op: Op, operands: dict[str, Any], types: Types) -> bool:
    match leaf:
        case Element(name):
            return isinstance(operands.get(name), Register)
        case Bit(name):
            return operands.get(name) is None or isinstance(operands[name], Register)
        case Stored(name):
            return isinstance(operands.get(name), LocalPointer)
        case Scalar(name):
            value, of = op.get(name), type_of(leaf, types)
            if value is None or not isinstance(value.type, ScalarType) or not isinstance(of, DType):
                return False
            return of.value is not None and (of.is_float or value.type.name not in FLOATS)
    return isinstance(leaf, Place)


def _is_pointer(instr: Instr, name: str) -> bool:
    return any(o.name == name and o.kind is Kind.PTR for o in instr.operands)


def write(w: Writer, op: Op, instr: Instr, word: Lane, operands: dict[str, Any], types: Types) -> None:
    """An operation on registers."""
    w.pending.flush()
    _Lanes(w, op, instr, word, operands, types).write()


class _Lanes:
    """One operation."""

    def __init__(self, w: Writer, op: Op, instr: Instr, word: Lane, operands: dict[str, Any], types: Types) -> None:
        self.w, self.op, self.word, self.operands, self.types = w, op, word, operands, types
        self.instr = instr
        self.lanes = word.lanes or REGISTER_BYTES // types[word.over].size
        self.maker = Maker(w.code, self.lanes, w.module.need, w.table)
        self.values: dict[Expr, Elements] = {}
        self.memory: dict[tuple[Any, ...], tuple[str, int]] = {}  # addresses of accesses that have been checked

    def write(self) -> None:
        """All accesses are checked before the first one is made."""
        checked = Checked(self.w)
        for write in self.word.writes:
            for leaf in leaves(write.value):
                if isinstance(leaf, Stored):
                    self._place(checked, leaf, leaf.span)
            if self._is_pointer(write):
                self._place(checked, write, self._span(write))
        pointers = {a.result: self._advanced(checked, a) for a in self.word.advances}
        self.w.refuse_if(checked.any(), self.op)
        found = [self._value(write.value) for write in self.word.writes]
        for write, value in zip(self.word.writes, found):
            if self._is_pointer(write):
                self._store(write, value)
        made = dict(zip((write.name for write in self.word.writes), zip(self.word.writes, found)))
        for operand, result in zip(self.instr.produces, self.op.results):
            if operand.name in pointers:
                self.w.set(result, pointers[operand.name])
            else:
                self.w.set(result, self._result(result, *made[operand.name]))

    def _is_pointer(self, write: Write) -> bool:
        return _is_pointer(self.instr, write.name)

    def _span(self, write: Write) -> int:
        return stored_bytes(write, self.lanes, self.types)

    # --- memory --------------------------------------------------------------------------------------------------

    def _place(self, checked: Checked, access: Stored | Write, span: int) -> None:
        """Where an access is; it has to lie inside the memory, at a multiple of its alignment."""
        key, alignment = _key(access, span), access.alignment
        if key in self.memory:
            return
        w, code, pointer = self.w, self.w.code, self.operands[access.name]
        given = self.op.get(access.offset) if access.offset else None
        unit = access.unit or pointer.dtype.size
        place: Num = pointer.address
        if given is not None:
            place = checked.add(place, checked.mul(w.number(given), unit))
        loc = SPACES[pointer.space]
        checked.need("sge", place, 0)
        checked.need("sle", place, w.target.capacity[loc] - span)
        if alignment > 1:
            low = place % alignment if isinstance(place, int) else code.value(f"and i64 {place}, {alignment - 1}")
            checked.need("eq", low, 0)
        start = w.module.space(loc)
        if access.name not in {write.name for write in self.word.writes}:
            stands = self._standing(pointer, given, unit, span)
            if stands is not None:
                address, first = stands
                self.memory[key] = code.at(address, code.sub(place, first)), span
                return
            self._reads(pointer, given, unit, span, start)
        self.memory[key] = code.at(w.memory, code.add(start, place)), span

    def _standing(self, pointer: LocalPointer, offset: Value | None, unit: int, span: int) -> tuple[str, int] | None:
        """Where bytes are read that have not been copied: the address of the first, and its address in the buffer."""
        limits = (0, 0) if offset is None else interval(self.w, offset)
        if not isinstance(pointer.address, int) or limits is None:
            return None
        low, high = (pointer.address + n * unit for n in limits)
        for space, first, end, address in self.w.standing:
            if space == pointer.space and first <= low and high + span <= end:
                return address, first
        return None

    def _reads(self, pointer: LocalPointer, offset: Value | None, unit: int, span: int, start: int) -> None:
        """What is read has to hold what the block has written, or zeros."""
        limits = (0, 0) if offset is None else interval(self.w, offset)
        if isinstance(pointer.address, int) and limits is not None:
            first = max(0, start + pointer.address + limits[0] * unit)
            self.w.contents.read(first, start + pointer.address + limits[1] * unit + span)
        else:
            self.w.reads_space(SPACES[pointer.space])

    def _advanced(self, checked: Checked, advance: Advance) -> LocalPointer:
        pointer, step = self.operands[advance.pointer], self.op.get(advance.by)
        if step is None:
            return LocalPointer(pointer.space, pointer.address, pointer.dtype)
        size = pointer.dtype.size
        by = checked.mul(self.w.number(step), advance.unit or size)
        if advance.unit % size:
            by = by & -size if isinstance(by, int) else self.w.code.value(f"and i64 {by}, {-size}")
        return LocalPointer(pointer.space, checked.add(pointer.address, by), pointer.dtype)

    def _loaded(self, e: Stored) -> Elements:
        code, kind = self.w.code, storage(e.dtype)
        address, _ = self.memory[_key(e, e.span)]
        places = lanes_at(e.at, self.lanes, e.pitch)
        if len(set(places)) == 1:
            one = code.load(kind, code.at(address, places[0] * e.dtype.size), 1)
            return self.maker.narrow(e.dtype, spread(code, self.lanes, kind, one))
        count = max(places) + 1
        found = code.load(many(count, kind), address, 1)
        return self.maker.narrow(e.dtype, shuffled(code, kind, count, found, places))

    def _store(self, write: Write, value: Elements) -> None:
        code, of = self.w.code, type_of(write.value, self.types)
        address, _ = self.memory[_key(write, self._span(write))]
        if write.packed:
            self._store_bits(value.wide, address)
            return
        assert isinstance(of, DType)
        kind, found = many(self.lanes, storage(of)), value.narrow
        on = self._mask()
        if on is not None:
            old = code.load(kind, address, 1)
            found = code.value(f"select {self.maker.type('i1')} {on}, {kind} {found}, {kind} {old}")
        code.store(kind, found, address, 1)
        if on is None:
            self._swept(write)

    def _store_bits(self, bits: str, address: str) -> None:
        code, kind, on = self.w.code, self.maker.type("i1"), self._mask()
        if on is not None:
            bits = code.value(f"and {kind} {bits}, {on}")
        code.store(f"i{self.lanes}", code.value(f"bitcast {kind} {bits} to i{self.lanes}"), address, 1)

    def _swept(self, write: Write) -> None:
        """All bytes that the turns of the loop around store to side by side, where the text shows it."""
        pointer, given, span = self.operands[write.name], self.op.get(write.offset), self._span(write)
        if not self.w.sweeps or given is None or not isinstance(pointer.address, int):
            return
        loop, ranges = self.w.sweeps[-1]
        body, step, limits = loop.regions[0], self.w.facts.constants.get(loop["step"]), interval(self.w, given)
        size = write.unit or pointer.dtype.size
        if given is not body.args[0] or self.op not in body.ops or limits is None:
            return
        if turns(self.w, loop) and isinstance(step, int) and step * size == span:
            start = self.w.module.space(SPACES[pointer.space]) + pointer.address
            ranges.append((start + limits[0] * size, start + limits[1] * size + span))

    # --- predicates ----------------------------------------------------------------------------------------------

    def _active(self, name: str, width: int, places: list[int]) -> str | None:
        """Conditions of lanes: the bits of a predicate for lanes of `width` bytes; None if there is no predicate."""
        register = self.operands.get(name)
        if register is None:
            return None
        code, count = self.w.code, REGISTER_BYTES // width
        if register.full and width == register.full:
            return None
        bits, wide = register.value, many(count, f"i{8 * width}")
        if width > 1:
            bits = code.value(f"bitcast {_IMAGE} {bits} to {wide}")
        bits = code.value(f"trunc {wide} {bits} to {many(count, 'i1')}")
        return shuffled(code, "i1", count, bits, places)

    def _mask(self) -> str | None:
        if not self.word.mask:
            return None
        width = self.word.width or REGISTER_BYTES // self.lanes
        return self._active(self.word.mask, width, list(range(self.lanes)))

    # --- values --------------------------------------------------------------------------------------------------

    def _value(self, e: Expr) -> Elements:
        found = self.values.get(e)
        if found is None:
            made = self._always(e) or (self._apart(e) if _slow(e, self.types) else None)
            made = made or inner(self.maker, e, self.types, self._value)
            found = self.values[e] = made or self._leaf(e)
        return found

    def _always(self, e: Expr) -> Elements | None:
        """A condition that the text shows to hold for all lanes: they are fewer than a count that is left."""
        match e:
            case Apply("lt", (Place(), Scalar(name))):
                limits = interval(self.w, self.op[name])
                if limits is not None and limits[0] >= self.lanes:
                    return self.maker.condition(self.maker.same("i1", "true"))
        return None

    def _leaf(self, e: Expr) -> Elements:
        code, m, n = self.w.code, self.maker, self.lanes
        match e:
            case Element(name, at, dtype):
                register, of = self.operands[name], dtype or self.types[name]
                count, kind = REGISTER_BYTES // of.size, storage(of)
                x = bits_as(code, register, many(count, kind))
                places = list(range(n)) if at == OWN else lanes_at(at, n)
                return m.narrow(of, shuffled(code, kind, count, x, places))
            case Bit(name, at, width):
                width = width or REGISTER_BYTES // n
                on = self._active(name, width, lanes_at(at, n))
                return m.condition(m.same("i1", "true") if on is None else on)
            case Scalar(name):
                found = type_of(e, self.types)
                assert isinstance(found, DType)
                of = found
                text = scalar_element(self.w, self.op[name], of)
                if text.startswith("%"):
                    return m.narrow(of, spread(code, n, storage(of), text))
                return m.narrow(of, m.same(storage(of), text))
            case Stored():
                return self._loaded(e)
            case Place(dtype):
                return m.narrow(dtype, constants(dtype, range(n)))
            case Listed(numbers, DType() as kind_of):
                return m.narrow(kind_of, constants(kind_of, numbers if len(numbers) > 1 else numbers * n))
        raise TypeError(e)

    def _apart(self, e: Expr) -> Elements:
        """A primitive in a loop over pieces of the register, which lie in memory meanwhile."""
        assert isinstance(e, Apply)
        code, of = self.w.code, type_of(e, self.types)
        assert isinstance(of, DType)
        kind = many(self.lanes, storage(of))
        pointers = [code.slot(kind, REGISTER_BYTES) for _ in range(len(e.args) + 1)]
        for arg, pointer in zip(e.args, pointers[1:]):
            code.store(kind, self._value(arg).narrow, pointer)
        table = self.w.table(e.op, of) if _looked_up(e.op, of) else "null"
        name = self.w.module.function(_loop(self.w, e.op, of, len(e.args), self.lanes))
        code.do(f"call void {name}({', '.join(f'ptr {p}' for p in (*pointers, table))})")
        return self.maker.narrow(of, code.load(kind, pointers[0]))

    def _result(self, result: Value, write: Write, value: Elements) -> Any:
        code, n = self.w.code, self.lanes
        if write.packed:
            full = REGISTER_BYTES // n if value.wide == self.maker.same("i1", "true") and not self.word.mask else 0
            return Register(self._image(value.wide), _IMAGE, result.type, full)
        of = type_of(write.value, self.types)
        assert isinstance(of, DType)
        kind = storage(of)
        if isinstance(result.type, ScalarType):
            return code.value(f"extractelement {many(n, kind)} {value.narrow}, i64 0") if n > 1 else value.narrow
        found, on = value.narrow, self._mask()
        if on is not None:
            found = code.value(
                f"select {self.maker.type('i1')} {on}, {many(n, kind)} {found}, {many(n, kind)} zeroinitializer"
            )
        count = REGISTER_BYTES // of.size
        places = list(range(n)) if write.at == OWN else lanes_at(write.at, n)
        if places != list(range(count)):
            where = {place: j for j, place in enumerate(places)}
            lanes = ", ".join(f"i32 {where.get(k, n)}" for k in range(count))
            t = many(n, kind)
            found = code.value(f"shufflevector {t} {found}, {t} zeroinitializer, <{count} x i32> <{lanes}>")
        wanted, have = register_kind(result.type), many(count, kind)
        return Register(
            found if wanted == have else code.value(f"bitcast {have} {found} to {wanted}"), wanted, result.type
        )

    def _image(self, bits: str) -> str:
        """The predicate of conditions; bits that stand for no lane are 0."""
        code, m, on = self.w.code, self.maker, self._mask()
        if on is not None:
            bits = code.value(f"and {m.type('i1')} {bits}, {on}")
        width = REGISTER_BYTES // self.lanes
        wide = m.type(f"i{8 * width}")
        found = code.value(f"sext {m.type('i1')} {bits} to {wide}")
        if width == 1:
            return found
        found = code.value(f"and {wide} {found}, {m.same(f'i{8 * width}', 255)}")
        return code.value(f"bitcast {wide} {found} to {_IMAGE}")


def _key(access: Stored | Write, span: int) -> tuple[Any, ...]:
    """What accesses to one place have in common."""
    return access.name, access.offset, access.unit, span, access.alignment


def _looked_up(op: str, of: DType) -> bool:
    return op in _TABLES and of.is_float and of.bits == 16


def _slow(e: Expr, types: Types) -> bool:
    """True for a primitive that is not written for all lanes at once."""
    if not isinstance(e, Apply):
        return False
    of = type_of(e, types)
    if not isinstance(of, DType):
        return False
    return e.op in _SLOW or _looked_up(e.op, of) or (of.is_integer and e.op in ("div", "recip"))


def _loop(w: Writer, op: str, of: DType, arguments: int, lanes: int) -> str:
    """A function that carries out a primitive for all lanes of a register in memory, some at a time."""
    code, kind = Code(), storage(of)
    n = min(lanes, max(1, _PIECE // of.size))
    maker = Maker(code, n, w.module.need, lambda name, dtype: "%table")
    t = many(n, kind)
    with code.loop(lanes, n) as i:
        at = code.mul(i, of.size)
        args = [maker.narrow(of, code.load(t, code.at(f"%x{k}", at), of.size)) for k in range(arguments)]
        code.store(t, maker.apply(op, of, args).narrow, code.at("%to", at), of.size)
    code.leave("ret void")
    params = ", ".join(["ptr noalias %to", *(f"ptr %x{k}" for k in range(arguments)), "ptr %table"])
    return code.text(f"define internal void @{{name}}({params}) {{")
