"""Conversions between element types, tables of small types, and expressions of elements, as LLVM code.

A number loses its last bits after something has been added to them: half of what they count (ties away from zero), all
of it but one (away from zero), or nothing (towards zero). Which of these a mode is may depend on the sign.

A conversion of f32 to a type of at most 8 bits goes by way of bf16 with the lost bits made odd: those types have fewer
bits of fraction than bf16 by two at least, so that rounding it once more gives what rounding f32 at once would.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ptokit.isa.meaning.expressions import (
    BOOL,
    Apply,
    Bit,
    Code,
    Const,
    Convert,
    Coordinate,
    Element,
    Expr,
    Place,
    Reinterpret,
    Scalar,
    Stored,
    children,
    type_of,
)
from ptokit.isa.numerics.arith import element
from ptokit.isa.numerics.unary import conversion_table, table16
from ptokit.types.dtypes import DTYPES, NEAREST_EVEN, DType
from ptokit.types.enums import RoundMode

from . import maths, primitives
from .code import double, float_of, storage
from .primitives import Elements, Maker

# Roundings of f32 and i32 that are not to nearest even, in integer arithmetic; conversions to integers that wrap.


class _Bits:
    """Arithmetic on 32 bits."""

    def __init__(self, m: Maker, rounding: RoundMode, negative: str) -> None:
        self.m, self.rounding, self.negative = m, rounding, negative
        self.type, self.truth = m.type("i32"), m.type("i1")

    def constant(self, value: int) -> str:
        return self.m.same("i32", value)

    def do(self, word: str, a: str, b: str | int) -> str:
        b = self.constant(b) if isinstance(b, int) else b
        return self.m.value(f"{word} {self.type} {a}, {b}")

    def compare(self, word: str, a: str, b: int) -> str:
        return self.m.value(f"icmp {word} {self.type} {a}, {self.constant(b)}")

    def select(self, condition: str, yes: str | int, no: str | int) -> str:
        a, b = (self.constant(x) if isinstance(x, int) else x for x in (yes, no))
        return self.m.value(f"select {self.truth} {condition}, {self.type} {a}, {self.type} {b}")

    def by_mode(self, half: str | int, away: str | int) -> str | int:
        """What the mode asks for: `half` of ties away from zero, `away` or 0 of the others."""
        match self.rounding:
            case RoundMode.ROUND:
                return half
            case RoundMode.FLOOR:
                return self.select(self.negative, away, 0)
            case RoundMode.CEIL:
                return self.select(self.negative, 0, away)
        return 0

    def dropped(self, x: str, count: int) -> str:
        """Without its last `count` bits, rounded."""
        return self.do("lshr", self.do("add", x, self.by_mode(1 << (count - 1), (1 << count) - 1)), count)

    def dropped_by(self, x: str, count: str) -> str:
        """The same for counts that differ."""
        whole = self.do("shl", self.constant(1), count)
        add = self.by_mode(self.do("lshr", whole, 1), self.do("sub", whole, 1))
        return self.do("lshr", self.do("add", x, add), count)


def narrowed(m: Maker, target: DType, rounding: RoundMode, x: str) -> str:
    """An f32 number that is no NaN as f16 or bf16."""
    bits = m.value(f"bitcast {m.type('float')} {x} to {m.type('i32')}")
    b = _Bits(m, rounding, m.value(f"icmp slt {m.type('i32')} {bits}, {m.same('i32', 0)}"))
    size = b.do("and", bits, 0x7FFFFFFF)
    if target.name == "bf16":
        found = b.dropped(size, 16)
    else:
        normal = b.dropped(b.do("sub", size, 112 << 23), 13)
        over = b.by_mode(0x7C00, 0x7C00)
        beyond = over if isinstance(over, str) else b.constant(over or 0x7BFF)
        if isinstance(over, str):
            beyond = b.select(b.compare("eq", over, 0), 0x7BFF, over)
        normal = b.select(b.compare("uge", normal, 0x7C00), beyond, normal)
        exponent, fraction = b.do("lshr", size, 23), b.do("and", size, 0x7FFFFF)
        digits = b.select(b.compare("eq", exponent, 0), fraction, b.do("or", fraction, 0x800000))
        count = b.do("sub", b.constant(126), exponent)
        count = b.select(b.compare("ugt", count, 25), 25, count)
        tiny = b.dropped_by(digits, count)
        found = b.select(b.compare("ult", size, 113 << 23), tiny, normal)
        found = b.select(b.compare("eq", size, 0x7F800000), 0x7C00, found)
    sign = b.do("and", b.do("lshr", bits, 16), 0x8000)
    return m.value(f"trunc {m.type('i32')} {b.do('or', found, sign)} to {m.type('i16')}")


def of_integer(m: Maker, rounding: RoundMode, x: str) -> str:
    """An i32 number as f32."""
    negative = m.value(f"icmp slt {m.type('i32')} {x}, {m.same('i32', 0)}")
    b = _Bits(m, rounding, negative)
    size = b.select(negative, b.do("sub", b.constant(0), x), x)
    name = f"v{m.n}i32" if m.n > 1 else "i32"
    zeros = m.value(f"call {b.type} @llvm.ctlz.{name}({b.type} {size}, i1 false)")
    count = b.do("sub", b.constant(8), zeros)
    count = b.select(b.compare("slt", count, 0), 0, count)
    whole = b.do("shl", b.dropped_by(size, count), count)
    f = m.type("float")
    found = m.value(f"uitofp {b.type} {whole} to {f}")
    return m.value(f"select {b.truth} {negative}, {f} {m.value(f'fneg {f} {found}')}, {f} {found}")


def wrapped(m: Maker, source: DType, target: DType, whole: str, x: str) -> Elements:
    """The low bits of a float rounded by `whole`; all ones of +inf, 0 of -inf and NaN."""
    f, c = m.type("float"), m.type("i1")
    lanes = f"v{m.n}" if m.n > 1 else ""
    rounded = m.value(f"call {f} @llvm.{whole}.{lanes}f32({f} {x})")
    wide = "i32" if source.name == "f16" else "i64"
    t, kind = m.type(wide), m.type(storage(target))
    found = m.value(f"call {t} @llvm.fptosi.sat.{lanes}{wide}.{lanes}f32({f} {rounded})")
    if wide != storage(target):
        found = m.value(f"trunc {t} {found} to {kind}")
    limit = m.same("float", double(2.0**63))
    size = m.value(f"call {f} @llvm.fabs.{lanes}f32({f} {rounded})")
    large = m.value(f"fcmp oge {f} {size}, {limit}")  # a multiple of what the low bits count
    zero, ones = m.same(storage(target), 0), m.same(storage(target), -1)
    found = m.value(f"select {c} {large}, {kind} {zero}, {kind} {found}")
    infinite = m.value(f"fcmp oeq {f} {x}, {m.same('float', double(float('inf')))}")
    return m.narrow(target, m.value(f"select {c} {infinite}, {kind} {ones}, {kind} {found}"))


# Tables with an entry for every code of a type of at most 16 bits: functions, and conversions of small floats.


_CONVERT = "convert"
_WIDE = DTYPES["bf16"]


def table_of(name: str, *of: Any) -> np.ndarray:
    """The table of a function of a 16-bit type, or of a conversion: source, target, rounding, saturation."""
    return conversion_table(*of) if name == _CONVERT else table16(name, *of)


def by_table(source: DType, target: DType) -> bool:
    """True for conversions of and to floats of at most 8 bits."""
    small = [t.is_float and t.bits <= 8 for t in (source, target)]
    narrows = source.name == "f32" and target.name != "e8m0"  # whose limits are no numbers of bf16
    return any(small) and (source.size <= 2 or narrows) and not (source.packed and target.packed)


def converted(m: Maker, source: DType, target: DType, rounding: RoundMode, saturate: bool, x: Elements) -> Elements:
    """Elements converted by a table."""
    codes, of = x.narrow, source
    if source.name == "f32":
        codes, of = _odd(m, codes), _WIDE
    entry, index = storage(target), f"i{8 * of.size}"
    table = m.tables(_CONVERT, of, target, rounding, saturate)
    return m.narrow(target, maths.looked_up(m.code, m.n, table, codes, index, entry))


def _odd(m: Maker, x: str) -> str:
    """The upper halves of f32 numbers, odd where bits are lost."""
    i, h = m.type("i32"), m.type("i16")
    bits = m.value(f"bitcast {m.type('float')} {x} to {i}")
    low = m.value(f"and {i} {bits}, {m.same('i32', 0xFFFF)}")
    lost = m.value(f"icmp ne {i} {low}, {m.same('i32', 0)}")
    high = m.value(f"lshr {i} {bits}, {m.same('i32', 16)}")
    upper = m.value(f"trunc {i} {high} to {h}")
    sticky = m.value(f"zext {m.type('i1')} {lost} to {h}")
    return m.value(f"or {h} {upper}, {sticky}")


# Elements of one type as elements of another, with the results of `ptokit.isa.numerics.unary`.


_FLOATS = frozenset(("f32", "f16", "bf16"))
_NAN = {"f32": 0x7FC00000, "f16": 0x7E00, "bf16": 0x7FC0}
_LARGEST = {"f32": 0x7F7FFFFF, "f16": 0x477FE000, "bf16": 0x7F7F0000}  # as f32
_WHOLE = {
    RoundMode.TRUNC: "trunc",
    RoundMode.FLOOR: "floor",
    RoundMode.CEIL: "ceil",
    RoundMode.ROUND: "round",
    **dict.fromkeys(NEAREST_EVEN, "roundeven"),
}


def known(source: DType, target: DType, rounding: RoundMode, saturate: bool) -> bool:
    """True if there is native code for a conversion."""
    if by_table(source, target):
        return True
    if rounding not in _WHOLE:
        return False
    if source.name in _FLOATS and target.name in _FLOATS:
        return True
    if source.name in _FLOATS:
        return target.is_integer and 8 <= target.bits <= 32
    if not source.is_integer or source.bits < 8:
        return False
    if target.name in _FLOATS and source.bits > 16:
        return target.name == "f32" and (rounding in NEAREST_EVEN or source.name == "i32")
    if target.name in _FLOATS:
        return True
    return target.is_integer and target.bits >= 8


def convert(m: Maker, source: DType, target: DType, rounding: RoundMode, saturate: bool, x: Elements) -> Elements:
    """The elements in the other type."""
    if by_table(source, target):
        return converted(m, source, target, rounding, saturate, x)
    if source is target and source.is_integer:
        return x
    f = m.type("float")
    if source.name in _FLOATS and target.name in _FLOATS:
        return _float(m, target, rounding, saturate, x.wide)
    if source.name in _FLOATS and not saturate:
        return wrapped(m, source, target, _WHOLE[rounding], x.wide)
    if source.name in _FLOATS:
        suffix = f"v{m.n}f32" if m.n > 1 else "f32"
        whole = m.value(f"call {f} @llvm.{_WHOLE[rounding]}.{suffix}({f} {x.wide})")
        kind = storage(target)
        t = m.type(kind)
        name = f"{'v' + str(m.n) if m.n > 1 else ''}{kind}"
        word = "fptosi" if target.signed else "fptoui"
        return m.narrow(target, m.value(f"call {t} @llvm.{word}.sat.{name}.{suffix}({f} {whole})"))
    t = m.type(storage(source))
    if target.name in _FLOATS:
        if source.bits == 32 and rounding not in NEAREST_EVEN:
            return m.narrow(target, of_integer(m, rounding, x.narrow))
        word = "sitofp" if source.signed else "uitofp"
        return _float(m, target, rounding, saturate, m.value(f"{word} {t} {x.narrow} to {f}"))
    if saturate:
        x = m.narrow(source, _clamped(m, source, target, x.narrow))
    if target.bits == source.bits:
        return m.narrow(target, x.narrow)
    word = "trunc" if target.bits < source.bits else "sext" if source.signed else "zext"
    return m.narrow(target, m.value(f"{word} {t} {x.narrow} to {m.type(storage(target))}"))


def _clamped(m: Maker, source: DType, target: DType, x: str) -> str:
    """Integers of the source type as near as they are to what the target type holds."""
    (low, high), (least, most) = _limits(source), _limits(target)
    kind, sign = storage(source), "s" if source.signed else "u"
    t, name = m.type(kind), f"{'v' + str(m.n) if m.n > 1 else ''}{kind}"
    if least > low:
        x = m.value(f"call {t} @llvm.{sign}max.{name}({t} {x}, {t} {m.same(kind, least)})")
    if most < high:
        x = m.value(f"call {t} @llvm.{sign}min.{name}({t} {x}, {t} {m.same(kind, most)})")
    return x


def _limits(dtype: DType) -> tuple[int, int]:
    return (-(1 << (dtype.bits - 1)), (1 << (dtype.bits - 1)) - 1) if dtype.signed else (0, (1 << dtype.bits) - 1)


def _float(m: Maker, target: DType, rounding: RoundMode, saturate: bool, x: str) -> Elements:
    """An f32 number rounded to a float type; NaN becomes the one of the type."""
    f, c, kind = m.type("float"), m.type("i1"), storage(target)
    nan = m.value(f"fcmp uno {f} {x}, {x}")
    if saturate:
        for bits, predicate in ((_LARGEST[target.name], "ogt"), (_LARGEST[target.name] | 1 << 31, "olt")):
            limit = m.same("float", float_of(bits))
            beyond = m.value(f"fcmp {predicate} {f} {x}, {limit}")
            x = m.value(f"select {c} {beyond}, {f} {limit}, {f} {x}")
    t = m.type(kind)
    if rounding in NEAREST_EVEN or target.name == "f32":
        near = m.wide(target, x).narrow
    else:
        near = narrowed(m, target, rounding, x)
    quiet = m.constant(target, _NAN[target.name]).narrow
    return m.narrow(target, m.value(f"select {c} {nan}, {t} {quiet}, {t} {near}"))


# Expressions of elements as LLVM code: inner nodes are common, leaves are the caller's.


Types = Mapping[str, DType]


def dtype_of(e: Expr, types: Types) -> DType | None:
    """The element type of a node; None of a condition."""
    found = type_of(e, types)
    return found if isinstance(found, DType) else None


def writable(e: Expr, types: Types) -> bool:
    """True if there is native code for all inner nodes of an expression."""
    return has_form(e, types) and all(writable(child, types) for child in children(e))


def has_form(e: Expr, types: Types) -> bool:
    """True if there is native code for a node, if there is some for those below it."""
    match e:
        case Apply(op, args):
            return primitives.known(op, dtype_of(args[-1], types))
        case Convert(inner, _, rounding, saturate):
            source, target = type_of(inner, types), type_of(e, types)
            if not isinstance(source, DType) or not isinstance(target, DType) or isinstance(inner, Scalar):
                return False
            return known(source, target, rounding, saturate)
        case Reinterpret(inner):
            return type_of(inner, types) != BOOL
        case Const():
            of = dtype_of(e, types)
            return of is not None and of.value is not None
        case Coordinate():
            of = dtype_of(e, types)
            return of is not None and of.is_integer and of.bits >= 8
        case Element() | Scalar() | Stored() | Place() | Code():
            return isinstance(type_of(e, types), DType)
        case Bit():
            return True
    return False


def inner(m: Maker, e: Expr, types: Types, value: Callable[[Expr], Elements]) -> Elements | None:
    """The values of an inner node or constant, from those of the nodes below it; None for what reads something."""
    match e:
        case Const(number):
            of = type_of(e, types)
            assert isinstance(of, DType)
            return m.constant(of, int(element(of, number).view(of.storage)))
        case Code(bits):
            of = type_of(e, types)
            assert isinstance(of, DType)
            return m.constant(of, bits)
        case Convert(below, _, rounding, saturate):
            source, target = type_of(below, types), type_of(e, types)
            assert isinstance(source, DType)
            assert isinstance(target, DType)
            return convert(m, source, target, rounding, saturate, value(below))
        case Reinterpret(below):
            source, target = type_of(below, types), type_of(e, types)
            assert isinstance(source, DType)
            assert isinstance(target, DType)
            frm, to = m.type(storage(source)), m.type(storage(target))
            x = value(below).narrow
            return m.narrow(target, x if frm == to else m.value(f"bitcast {frm} {x} to {to}"))
        case Apply(op, args):
            return m.apply(op, dtype_of(args[-1], types), [value(a) for a in args])
    return None
