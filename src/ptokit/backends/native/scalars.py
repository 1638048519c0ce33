"""Operations of `arith` as LLVM code, by the primitives that their rows in `ptokit.isa.scalar.arithmetic` name.

Integers are registers of their width, ``index`` is i64; primitives take the widths that memory has, to which others
are extended. A float is the integer of its bits, so that moving it changes none. A NaN that arithmetic makes is the
positive quiet one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from ptokit.isa.scalar import arithmetic
from ptokit.isa.scalar.arithmetic import ARITHMETIC, FLOAT, SIGNED, UNSIGNED, Arithmetic, reading
from ptokit.plan.steps import Operand, Step, without_form
from ptokit.types.codecs import width
from ptokit.types.dtypes import DTYPES, DType, dtype
from ptokit.types.values import LocalArray, Scalar

from .code import Num, computed
from .maths import from_double
from .primitives import Elements, Maker
from .values import NotNativeError, Stack

if TYPE_CHECKING:
    from .function import Writer

FLOATS = {"f16": "i16", "bf16": "i16", "f32": "i32", "f64": "i64"}
_QUIET = {"f16": 0x7E00, "bf16": 0x7FC0, "f32": 0x7FC00000, "f64": 0x7FF8 << 48}


def llvm_type(name: str) -> str:
    """LLVM's type of a scalar."""
    return FLOATS.get(name) or f"i{width(name)}"


def type_of(operand: Operand) -> str:
    """LLVM's type of an operand that is a scalar."""
    return llvm_type(_name_of(operand))


def _name_of(operand: Operand) -> str:
    type = without_form(operand).type
    if not isinstance(type, Scalar):
        raise NotNativeError(str(type), "arithmetic on what is no number")
    return type.name


def write(w: Writer, step: Step) -> None:
    """Arithmetic on numbers."""
    row, kind, result = ARITHMETIC[f"arith.{step.name}"], _name_of(step.operands[-1]), _name_of(step.results[0])
    args = [w.text(operand) for operand in step.operands]
    if row.group == "chosen":
        t = llvm_type(result)
        w.set(step.results[0], w.code.value(f"select i1 {args[0]}, {t} {args[1]}, {t} {args[2]}"))
    elif row.group == "cast":
        w.set(step.results[0], _cast(w, step, row, kind, result, args[0]))
    elif row.group == "compared":
        w.set(step.results[0], _compared(w, row, step.attrs["predicate"], kind, args))
    elif row.reads == FLOAT:
        w.set(step.results[0], _real(w, row, kind, args))
    else:
        _whole(w, step, row, kind, args)


def _maker(w: Writer) -> Maker:
    return Maker(w.code, 1, w.module.need, w.table)


def _compared(w: Writer, row: Arithmetic, predicate: str, kind: str, args: list[str]) -> str:
    """LLVM has the same predicates."""
    if row.reads == FLOAT:
        a, b = (_of_bits(w, kind, x).wide for x in args)
        return w.code.value(f"fcmp {predicate} {computed(dtype(kind))} {a}, {b}")
    return w.code.value(f"icmp {predicate} {llvm_type(kind)} {args[0]}, {args[1]}")


# --- arrays on the stack ---------------------------------------------------------------------------------------------

STACK = 1 << 16  # bytes of an array


def array(w: Writer, step: Step) -> None:
    """An array of numbers, which are zero."""
    type = step.result.type
    count = step["count"].value
    if not isinstance(type, LocalArray) or not isinstance(type.element, Scalar):
        raise NotNativeError(step.name, "it is not translated")
    element = llvm_type(type.element.name)
    nbytes = count * max(1, width(type.element.name) // 8)
    if nbytes > STACK:
        raise NotNativeError(step.name, f"the array has {nbytes} bytes, more than {STACK}")
    found = Stack(w.code.slot(f"[{count} x {element}]", 64), element)
    w.code.do(f"call void @llvm.memset.p0.i64(ptr {found.base}, i8 0, i64 {nbytes}, i1 false)")
    w.set(step.result, found)


def element(w: Writer, step: Step) -> None:
    """A number of an array is read."""
    found = w.get(step.operands[0])
    w.reads_stack()
    w.set(step.result, w.code.load(found.element, _place(w, step, found)))


def set_element(w: Writer, step: Step) -> None:
    """A number is put into an array."""
    found = w.get(step.operands[0])
    w.code.store(found.element, w.text(step["value"]), _place(w, step, found))


def _place(w: Writer, step: Step, array: Stack) -> str:
    """Where an element is; Python finds the index that is wrong."""
    code, place = w.code, cast("Num", 0)
    outside: list[str] = []
    for index, size in zip(map(w.number, step.group("indices")), step["sizes"].value):
        if isinstance(index, str) or not 0 <= index < size:
            outside.append(code.value(f"icmp uge i64 {index}, {size}"))
        place = code.add(code.mul(place, size), index)
    for wrong in outside:
        w.refuse_if(wrong, step)
    return code.value(f"getelementptr inbounds {array.element}, ptr {array.base}, i64 {place}")


# --- integers --------------------------------------------------------------------------------------------------------


def _storage(bits: int, reads: str) -> DType:
    """The least type of memory that has so many bits."""
    return DTYPES[f"{'u' if reads == UNSIGNED else 'i'}{max(8, 1 << (bits - 1).bit_length())}"]


def _resized(w: Writer, x: str, small: int, large: int, reads: str) -> str:
    if small == large:
        return x
    word = "trunc" if small > large else "zext" if reads == UNSIGNED else "sext"
    return w.code.value(f"{word} i{small} {x} to i{large}")


def _whole(w: Writer, step: Step, row: Arithmetic, kind: str, args: list[str]) -> None:
    does, reads = reading(row, "")
    bits = width(kind)
    if row.needs == arithmetic.DIVISOR:
        w.refuse_if(w.code.value(f"icmp eq i{bits} {args[1]}, {'false' if bits == 1 else 0}"), step)
    elif row.needs == arithmetic.COUNT:
        beyond = f"icmp uge i{bits} {args[1]}, {bits}" if bits > 1 else f"icmp ne i1 {args[1]}, false"
        w.refuse_if(w.code.value(beyond), step)
    of, maker = _storage(bits, reads), _maker(w)
    a, b = (maker.narrow(of, _resized(w, x, bits, of.bits, reads)) for x in args)
    w.set(step.results[0], _resized(w, maker.apply(does, of, [a, b]).narrow, of.bits, bits, SIGNED))
    if not row.also:
        return
    # of odd widths: numbers that begin at the highest bit have the same bits above as in a type of their own width
    above = of.bits - bits
    if above:
        moved = [maker.narrow(of, w.code.value(f"shl i{of.bits} {x.narrow}, {above}")) for x in (a, b)]
        a, b = moved if row.also == "carry" else (moved[0], b)
    high = 1 if row.also == "carry" else bits
    w.set(step.results[1], _resized(w, maker.apply(row.also, of, [a, b]).narrow, of.bits, high, SIGNED))


# --- floats ----------------------------------------------------------------------------------------------------------


def _of_bits(w: Writer, kind: str, bits: str) -> Elements:
    """A float as primitives take it."""
    narrow = w.code.value(f"bitcast i32 {bits} to float") if kind == "f32" else bits
    return _maker(w).narrow(dtype(kind), narrow)


def _to_bits(w: Writer, kind: str, x: Elements) -> str:
    return w.code.value(f"bitcast float {x.narrow} to i32") if kind == "f32" else x.narrow


def _real(w: Writer, row: Arithmetic, kind: str, args: list[str]) -> str:
    of, t = dtype(kind), llvm_type(kind)
    found = _maker(w).apply(row.does, of, [_of_bits(w, kind, x) for x in args])
    bits = _to_bits(w, kind, found)
    if row.group == "unary":
        return bits
    nan = w.code.value(f"fcmp uno {computed(of)} {found.wide}, {found.wide}")
    return w.code.value(f"select i1 {nan}, {t} {_QUIET[kind]}, {t} {bits}")


# --- casts -----------------------------------------------------------------------------------------------------------


def _cast(w: Writer, step: Step, row: Arithmetic, kind: str, result: str, a: str) -> str:
    if row.does == arithmetic.SAME_BITS:
        return a
    if row.does == arithmetic.RESIZED:
        return _resized(w, a, width(kind), width(result), row.reads)
    if row.does == arithmetic.TO_FLOAT and width(kind) <= 53:
        exact = w.code.value(f"{'ui' if row.reads == UNSIGNED else 'si'}tofp {llvm_type(kind)} {a} to double")
        return from_double(w, exact, result)
    return w.compute(step, llvm_type(result))
