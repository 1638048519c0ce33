"""Operations on vector registers, logical vectors and predicates: LLVM vectors, a lane each element.

What is written for an operation follows from its meaning (`Lane`): lanes at other places are shuffles, accesses to
on-chip memory are loads and stores of the thread's own bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ptokit.ir.core import Value
from ptokit.isa.meaning.expressions import OWN, Expr, Fetched, Stored, children, lanes_at, type_of
from ptokit.isa.meaning.words import Advance, Lane, Need, Write
from ptokit.isa.table import Instr, Kind
from ptokit.machine.local_memory import SPACES
from ptokit.plan.steps import Operand, Step, constant
from ptokit.types.dtypes import DType
from ptokit.types.values import LogicalMask, Ptr, VReg
from ptokit.types.values import Scalar as ScalarType

from . import between_lanes
from .analyses import interval, iterations
from .between_lanes import Places
from .callbacks import VECTORS
from .code import Num, many, spread, storage
from .conversions import Types
from .lane_values import Values, known, placed
from .primitives import Elements
from .scalars import llvm_type
from .values import REGISTER_BYTES, LocalPointer, Register, lanes_of, register_kind, shuffled, stored_bytes
from .views import Checked

if TYPE_CHECKING:
    from .function import Writer


def supported(w: Writer, instr: Instr, word: Lane, step: Step, operands: dict[str, Any], types: Types) -> bool:
    """True if there is native code for an operation on registers."""
    for result in step.results:
        if not isinstance(result.type, VECTORS | Ptr | ScalarType):
            return False
    if word.keeps and w.streams:
        return False
    needs = [need for need in word.needs if not need.remark]  # of the others only observers are told
    if not all(known(need.number, step, operands, types) and placed(need.number, types) for need in needs):
        return False
    for write in word.writes:
        if not all(known(e, step, operands, types) for e in _expressions(write)):
            return False
        if not write.packed and isinstance(type_of(write.value, types), str):
            return False
        if write.place is not None and (write.packed or not placed(write.place, types)):
            return False
        if write.where is not None and (write.packed or write.place is None):
            return False
        target = operands.get(write.name)
        if _is_pointer(instr, write.name) and not isinstance(target, LocalPointer):
            return False
    return all(isinstance(operands.get(a.pointer), LocalPointer) for a in word.advances)


def _expressions(write: Write) -> list[Expr]:
    return [e for e in (write.value, write.place, write.where) if e is not None]


def _is_pointer(instr: Instr, name: str) -> bool:
    return any(o.name == name and o.kind is Kind.PTR for o in instr.operands)


def write(w: Writer, step: Step, instr: Instr, word: Lane, operands: dict[str, Any], types: Types) -> None:
    """An operation on registers."""
    w.pending.flush()
    w.code.begin_operation()
    _Lanes(w, step, instr, word, operands, types).write()


def _domain(word: Lane, instr: Instr, step: Step, types: Types) -> int:
    """How many lanes a meaning has at a place."""
    if word.lanes:
        return word.lanes
    found: dict[str, Any] = {operand.name: value.type for operand, value in zip(instr.produces, step.results)}
    given = step.get(word.over)
    over = found.get(word.over, next(iter(found.values())) if given is None else given.type)
    return over.lanes if isinstance(over, LogicalMask) else lanes_of(over, (types.get(word.over) or over.dtype).size)


class _Lanes(Values):
    """One operation."""

    def __init__(self, w: Writer, step: Step, instr: Instr, word: Lane, operands: dict[str, Any], types: Types) -> None:
        super().__init__(w, step, operands, types, _domain(word, instr, step, types))
        self.word, self.instr = word, instr
        self.memory: dict[tuple[Any, ...], tuple[str, int]] = {}  # addresses of accesses that have been checked
        self.places: dict[Fetched | Write, Places] = {}

    def write(self) -> None:
        """All accesses are checked before the first one is made."""
        checked = Checked(self.w)
        for write in self.word.writes:
            for e in _expressions(write):
                self._check(checked, e)
            if write.place is not None and self._is_pointer(write):
                of = type_of(write.value, self.types)
                assert isinstance(of, DType)
                self._computed(checked, write, write.place, write.where, of)
            elif self._is_pointer(write):
                self._place(checked, write, self._span(write))
        for need in self.word.needs:
            if not need.remark:
                self._demand(checked, need)
        pointers = {a.result: self._advanced(checked, a) for a in self.word.advances}
        self.w.refuse_if(checked.any(), self.step)
        found = [self.value(write.value) for write in self.word.writes]
        for write, value in zip(self.word.writes, found):
            if write in self.places:
                self.places[write].store(value, first_stays=bool(write.apart))
            elif self._is_pointer(write):
                self._store(write, value)
        made = dict(zip((write.name for write in self.word.writes), zip(self.word.writes, found)))
        for operand, result in zip(self.instr.produces, self.step.results):
            if operand.name in pointers:
                self.w.set(result, pointers[operand.name])
            else:
                self.w.set(result, self._result(result, *made[operand.name]))

    def _demand(self, checked: Checked, need: Need) -> None:
        """Numbers between limits in all lanes that the mask lets through."""
        code = self.w.code
        with self.domain(need.lanes or self.lanes):
            m, on, number = self.maker, self._mask(), self.value(need.number)
            above = code.value(f"sub {m.type('i64')} {number.narrow}, {m.same('i64', need.low)}")
            limit = m.same("i64", need.high - need.low)
            wrong = m.condition(code.value(f"icmp uge {m.type('i64')} {above}, {limit}"))
            checked.wrong.append(between_lanes.folded(self.w, "or", wrong, on, 1).wide)

    def _check(self, checked: Checked, e: Expr) -> None:
        """Check the accesses of an expression."""
        match e:
            case Stored():
                self._place(checked, e, e.span)
            case Fetched():
                self._computed(checked, e, e.place, e.where, e.dtype)
                self.w.reads_space(SPACES[self.operands[e.name].space])
        for child in children(e):
            self._check(checked, child)

    def _computed(self, checked: Checked, access: Fetched | Write, place: Expr, where: Expr | None, of: DType) -> None:
        if access in self.places:
            return
        with self.domain(self.lanes // access.run):
            places, on = self.value(place), None if where is None else self.value(where)
            if on is None and isinstance(access, Write):
                on = self._mask()
        self.places[access] = Places(checked, self.step, access, self.operands[access.name], of, places, on)

    def fetched(self, e: Fetched) -> Elements:
        return self.places[e].loaded(self.lanes, e.dtype)

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
        given = self.step.get(access.offset) if access.offset else None
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
            found = self._replacement(pointer, given, unit, span)
            if found is not None:
                address, first = found
                self.memory[key] = code.at(address, code.sub(place, first)), span
                return
            self._reads(pointer, given, unit, span, start)
        self.memory[key] = code.at(w.memory, code.add(start, place)), span

    def _replacement(
        self, pointer: LocalPointer, offset: Operand | None, unit: int, span: int
    ) -> tuple[str, int] | None:
        """Where bytes are read that have not been copied: the address of the first, and its address in the buffer."""
        limits = (0, 0) if offset is None else interval(self.w, offset)
        if not isinstance(pointer.address, int) or limits is None:
            return None
        low, high = (pointer.address + n * unit for n in limits)
        for space, first, end, address in self.w.replaced:
            if space == pointer.space and first <= low and high + span <= end:
                return address, first
        return None

    def _reads(self, pointer: LocalPointer, offset: Operand | None, unit: int, span: int, start: int) -> None:
        """What is read has to hold what the block has written, or zeros."""
        limits = (0, 0) if offset is None else interval(self.w, offset)
        if isinstance(pointer.address, int) and limits is not None:
            first = max(0, start + pointer.address + limits[0] * unit)
            self.w.contents.read(first, start + pointer.address + limits[1] * unit + span)
        else:
            self.w.reads_space(SPACES[pointer.space])

    def _advanced(self, checked: Checked, advance: Advance) -> LocalPointer:
        pointer, step = self.operands[advance.pointer], self.step.get(advance.by)
        if step is None:
            return LocalPointer(pointer.space, pointer.address, pointer.dtype)
        size = pointer.dtype.size
        by = checked.mul(self.w.number(step), advance.unit or size)
        if advance.unit % size:
            by = by & -size if isinstance(by, int) else self.w.code.value(f"and i64 {by}, {-size}")
        return LocalPointer(pointer.space, checked.add(pointer.address, by), pointer.dtype)

    def loaded(self, e: Stored) -> Elements:
        """Elements side by side, or one of them in all lanes."""
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
            found = code.value(f"select {self.maker.type('i1')} {on.wide}, {kind} {found}, {kind} {old}")
        code.store(kind, found, address, 1)
        if on is None:
            self._swept(write)

    def _store_bits(self, bits: str, address: str) -> None:
        code, kind, on = self.w.code, self.maker.type("i1"), self._mask()
        if on is not None:
            bits = code.value(f"and {kind} {bits}, {on.wide}")
        code.store(f"i{self.lanes}", code.value(f"bitcast {kind} {bits} to i{self.lanes}"), address, 1)

    def _swept(self, write: Write) -> None:
        """All bytes that the iterations of the loop around store to side by side, where the text shows it."""
        pointer, given, span = self.operands[write.name], self.step.get(write.offset), self._span(write)
        if not self.w.sweeps or given is None or not isinstance(pointer.address, int):
            return
        loop, ranges = self.w.sweeps[-1]
        (body, *_), step, limits = loop.regions[0], constant(loop.operands[2]), interval(self.w, given)
        size = write.unit or pointer.dtype.size
        if given is not body.args[0] or self.step not in body.steps or limits is None:
            return
        if iterations(loop) and isinstance(step, int) and step * size == span:
            start = self.w.module.space(SPACES[pointer.space]) + pointer.address
            ranges.append((start + limits[0] * size, start + limits[1] * size + span))

    # --- results -------------------------------------------------------------------------------------------------

    def _mask(self) -> Elements | None:
        """The lanes that the mask lets through; None if it lets all through."""
        if self.operands.get(self.word.mask) is None:
            return None
        on = self.active(self.word.mask, self.word.width or lanes_of(None, self.lanes), OWN)
        return None if on.wide == self.always.wide else on

    def _result(self, result: Value, write: Write, value: Elements) -> Any:
        code, n, type = self.w.code, self.lanes, result.type
        on = None if write.where is None else self.value(write.where)
        on = on or self._mask()
        if write.packed:
            return self._conditions(type, value, on)
        of = value.dtype
        assert of is not None
        kind = storage(of)
        if isinstance(type, ScalarType):
            found = code.value(f"extractelement {many(n, kind)} {value.narrow}, i64 0") if n > 1 else value.narrow
            to = llvm_type(type.name)
            return found if to == kind else code.value(f"trunc {kind} {found} to {to}")
        if write.place is not None:
            found = between_lanes.moved(self.w, value, self.value(write.place), on).narrow
        else:
            found = value.narrow if on is None else self._kept(value, on)
        count = lanes_of(type, of.size)
        places = lanes_at(write.at, n)
        if isinstance(type, VReg) and places != list(range(count)):
            where = {place: j for j, place in enumerate(places)}
            lanes = ", ".join(f"i32 {where.get(k, n)}" for k in range(count))
            t = many(n, kind)
            found = code.value(f"shufflevector {t} {found}, {t} zeroinitializer, <{count} x i32> <{lanes}>")
        elif value.n == 1:
            found = spread(code, count, kind, found)
        wanted, have = register_kind(type), many(count, kind)
        return Register(found if wanted == have else code.value(f"bitcast {have} {found} to {wanted}"), wanted, type)

    def _kept(self, value: Elements, on: Elements) -> str:
        """0 in the lanes that are left out."""
        assert value.dtype is not None
        t = many(value.n, storage(value.dtype))
        zero = "zeroinitializer" if value.n > 1 else self.maker.constant(value.dtype, 0).narrow
        return self.w.code.value(f"select {many(value.n, 'i1')} {on.wide}, {t} {value.narrow}, {t} {zero}")

    def _conditions(self, type: Any, value: Elements, on: Elements | None) -> Register:
        """The predicate of conditions; bits of a register that belong to no lane are 0."""
        code, m = self.w.code, self.maker
        bits = value.wide
        full = lanes_of(None, self.lanes) if bits == self.always.wide and on is None else 0
        if on is not None:
            bits = code.value(f"and {m.type('i1')} {bits}, {on.wide}")
        kind = register_kind(type)
        if isinstance(type, LogicalMask):
            return Register(bits, kind, type)
        width = REGISTER_BYTES // self.lanes
        wide = m.type(f"i{8 * width}")
        found = code.value(f"sext {m.type('i1')} {bits} to {wide}")
        if width > 1:
            found = code.value(f"and {wide} {found}, {m.same(f'i{8 * width}', 255)}")
            found = code.value(f"bitcast {wide} {found} to {kind}")
        return Register(found, kind, type, full)


def _key(access: Stored | Write, span: int) -> tuple[Any, ...]:
    """What accesses to one place have in common."""
    return access.name, access.offset, access.unit, span, access.alignment
