"""Logical vectors lane by lane: arithmetic, comparison, choice, conversion."""

from __future__ import annotations

from collections.abc import Callable

from ptokit.types.dtypes import SINGLES, f32, u8, u16, u64
from ptokit.types.dtypes import dtype as named

from ..meaning import expressions as ex
from ..meaning.expressions import (
    Bit,
    Const,
    Convert,
    Element,
    Expr,
    Place,
    Reinterpret,
    apply,
    equal,
    fused,
    greater,
    lane,
    less,
    select,
)
from ..meaning.words import Lane, Meaning, Write
from ..numerics.arith import LETTERS
from ..site import LanesInfo, Site, VectorInfo
from .access_rules import COMPUTE
from .words import PMODE, ROUNDING, SATURATE, elements, number_in, operations, over, predicate, text, token

# Conversions of logical vectors, whose elements may be pairs of numbers.


def converted(o: Site) -> Lane:
    """Numbers rounded once; without saturation integers keep their low bits. NaN saturates to 0."""
    source, to = o.source.dtype, o.result.dtype
    one, other = (SINGLES.get(t, t) for t in (source, to))
    paired = source in SINGLES or to in SINGLES
    saturate = o.attrs.get("saturate") == "SAT"
    mode = LETTERS[o.attrs.get("rounding") or "R"]

    def cast(x: Expr) -> Expr:
        if saturate and other.is_float and one.is_float:
            x = Convert(x, f32) if one.value is None else x
            x = select(equal(x, x), x, Const(0, x))
        return x if one is other else Convert(x, other, mode, saturate)

    def single(step: int, first: int) -> Expr:
        """Numbers `first`, `first` + `step`, … of the source."""
        if one.bits > 4:
            return Element("source", lane(step, first), one)
        if step == 1:
            byte = Element("source", lane(over=2), u8)
            return Reinterpret(select(equal(Place(u16) & 1, 1), byte >> 4, byte & 15), one)
        byte = Element("source", dtype=u8)
        return Reinterpret(byte >> 4 if first else byte & 15, one)

    if not paired:
        return over(cast(Element("source")))
    lanes = 2 * o.result.lanes
    if other.bits > 4:
        return over(cast(single(1, 0)), lanes=lanes)
    low, high = (Reinterpret(cast(single(2, first)), u8) for first in (0, 1))
    return over(low | high << 4, lanes=lanes // 2)


def extended(kind: str) -> Callable[[Site], Lane]:
    """Integers as wider ones, filled with zeros (``u``) or the sign (``i``)."""

    def meaning(o: Site) -> Lane:
        bits = Reinterpret(Element("source"), named(f"{kind}{o.source.dtype.bits}"))
        return over(Reinterpret(Convert(bits, named(f"{kind}{o.result.dtype.bits}")), o.result.dtype))

    return meaning


# Lane by lane: arithmetic, comparison, choice, conversion.


Operation = Callable[..., Expr]


def _shift(primitive: str, kind: str = "") -> Callable[[int], Operation]:
    """A shift by a count of twice the bits at most: what lies above wraps. ``kind``: signed or unsigned, or own."""

    def of(bits: int) -> Operation:
        to = named(f"{kind}{bits}") if kind else None

        def shifted(x: Expr, count: Expr) -> Expr:
            if to is not None:
                x, count = Reinterpret(x, to), Reinterpret(count, to)
            count = count & (2 * bits - 1)
            if bits < 64:
                return apply(primitive, x, count)
            out = apply(primitive, apply(primitive, x, bits - 1), 1)  # 64-bit shifts take counts modulo 64
            return select(less(count, bits), apply(primitive, x, count), out)

        return shifted

    return of


_SHIFTS = {"shl": _shift("shl"), "shr": _shift("shr"), "shrui": _shift("shr", "u"), "shrsi": _shift("shr", "i")}
_BINARY: dict[str, Operation] = {
    **{name: lambda a, b, name=name: apply(name, a, b) for name in "add sub mul div and or xor".split()},
    "min": ex.minimum,
    "max": ex.maximum,
}
_UNARY: dict[str, Operation] = {
    **{name: lambda x, name=name: apply(name, x) for name in "neg abs sqrt exp not".split()},
    "ln": ex.log,
    "relu": lambda x: ex.maximum(x, 0),
}


def _lanes(what: str, names: str, mask: str = "") -> Meaning:
    """An operation of the table of primitives on vectors, or on predicates; 0 where the mask is off."""
    listed = names.split()

    def meaning(o: Site) -> Lane:
        first = o.operands.get(listed[0])
        if isinstance(first, LanesInfo):
            return predicate((_BINARY | _UNARY)[what](*map(Bit, listed)), mask)
        if what in _SHIFTS:
            assert isinstance(first, VectorInfo)
            return over(_SHIFTS[what](first.dtype.bits)(*elements(*listed)), mask)
        return over((_BINARY | _UNARY)[what](*elements(*listed)), mask)

    return meaning


def _number(what: str) -> Meaning:
    def meaning(o: Site) -> Lane:
        number = number_in(o, "scalar", "src")
        operation = _SHIFTS[what](o.src.dtype.bits) if what in _SHIFTS else _BINARY[what]
        return over(operation(Element("src"), number), "mask", lanes=o.src.lanes)

    return meaning


def _compared(o: Site, word: str, a: Expr, b: Expr) -> Expr:
    """``olt``, ``slt`` and ``ult`` compare as ``lt``; ``u`` takes integers without a sign."""
    kind = next(info.dtype for info in o.operands.values() if isinstance(info, VectorInfo))
    if word[0] == "u" and kind.is_integer:
        to = named(f"u{kind.bits}")
        a, b = Reinterpret(a, to), Reinterpret(b, to)
    return apply(word[1:] if len(word) == 3 and word[0] in "osu" else word, a, b)


_LHS, _RHS, _ACC, _X = elements("lhs", "rhs", "acc", "x")
_CHOICE = "mask:m true_value:v false_value:v"
_SELECTED = over(select(Bit("mask"), *elements("true_value", "false_value")))

# As compilers lower it: one operation for floats, one for integers, all lanes -----------------------------------------

vmi = operations(COMPUTE)

for _name in "addf addi subf subi mulf muli divf minf maxf mini maxi andi ori xori shli shrui shrsi".split():
    _what = _lanes(_name if _name in _SHIFTS else _name[:-1], "lhs rhs")
    vmi(_name, f"result = {_name[:-1]} of lhs and rhs, lane by lane.", "lhs:v rhs:v", "result:v", meaning=_what)
for _name in "negf negi absf absi sqrt exp ln relu not".split():
    _what = _lanes(_name[:3] if _name[:3] in ("neg", "abs") else _name, "source")
    vmi(_name, f"result = {_name} of source, lane by lane.", "source:v", "result:v", meaning=_what)
vmi(
    "fma",
    "result = lhs * rhs + acc, rounded once.",
    "lhs:v rhs:v acc:v",
    "result:v",
    meaning=over(fused(_LHS, _RHS, _ACC)),
)
for _name in ("cmpf", "cmpi"):
    vmi(
        _name,
        "Where lhs and rhs compare so.",
        "lhs:v rhs:v",
        "result:m",
        token("predicate", before="lhs"),
        meaning=lambda o: predicate(_compared(o, o.attrs["predicate"], _LHS, _RHS)),
    )
vmi("select", "true_value where the mask is on, else false_value.", _CHOICE, "result:v", meaning=_SELECTED)

_meaning: Meaning
for _name, _text, _meaning in (
    ("extf", "Floats in a wider type.", converted),
    ("sitofp", "Signed integers as floats.", converted),
    ("extsi", "Signed integers in a wider type.", extended("i")),
    ("extui", "Unsigned integers in a wider type.", extended("u")),
    ("bitcast", "The same bits as other elements.", over(Element("source"))),
    ("vinterpret_cast", "The same bits as other elements.", over(Element("source"))),
):
    vmi(_name, _text, "source:v", "result:v", meaning=_meaning)
for _name, _text in (
    ("truncf", "Floats in a narrower type."),
    ("fptosi", "Floats as signed integers."),
    ("fptoui", "Floats as unsigned integers."),
):
    vmi(_name, _text, "source:v", "result:v", ROUNDING, SATURATE, meaning=converted)
vmi("trunci", "Integers in a narrower type.", "source:v", "result:v", SATURATE, meaning=converted)

# As kernels are written: with a predicate --------------------------------------------------------------------------

for _name in "vadd vsub vmul vdiv vmin vmax vshl vshr vand vor vxor".split():
    _kind = "b" if _name in ("vand", "vor", "vxor") else "v"
    vmi(
        _name,
        f"result = {_name[1:]} of lhs and rhs in the active lanes.",
        f"lhs:{_kind} rhs:{_kind} mask:m?",
        f"result:{_kind}",
        PMODE,
        meaning=_lanes(_name[1:], "lhs rhs", "mask"),
    )
for _name in "vnot vneg vabs vsqrt vexp vln vrelu".split():
    _kind = "b" if _name == "vnot" else "v"
    vmi(
        _name,
        f"result = {_name[1:]} of source in the active lanes.",
        f"source:{_kind} mask:m?",
        f"result:{_kind}",
        PMODE,
        meaning=_lanes(_name[1:], "source", "mask"),
    )
for _name in "vadds vmuls vmaxs vmins vshls vshrs".split():
    vmi(
        _name,
        f"result = {_name[1:-1]} of src and a number.",
        "src:v scalar:s mask:m",
        "result:v",
        PMODE,
        meaning=_number(_name[1:-1]),
    )


def _carried(o: Site) -> Lane:
    """The sum of unsigned numbers, with a carry in if there is one, and the carry out."""
    own = o.lhs.dtype
    bits = named(f"u{own.bits}")
    a, b = (Convert(Reinterpret(x, bits), u64) for x in (_LHS, _RHS))
    total = a + b
    if o.has_operand("carry_in"):
        total = total + select(Bit("carry_in"), Const(1, a), Const(0, a))
    writes = (
        Write("result", Reinterpret(Convert(total, bits), own)),
        Write("carry", greater(total, (1 << own.bits) - 1), packed=True),
    )
    return Lane(writes, over="lhs", mask="mask")


def _halves(o: Site) -> Lane:
    own = o.a.dtype
    wide = named(f"{own.kind}64")
    product = Convert(Element("a"), wide) * Convert(Element("b"), wide)
    writes = Write("low", Convert(product, own)), Write("high", Convert(product >> 32, own))
    return Lane(writes, over="a", mask="mask")


def _with(name: str, value: Callable[[Expr], Expr]) -> Meaning:
    """An expression with a number in the element type of x."""
    return lambda o: over(value(number_in(o, name, "x")), "mask", lanes=o.x.lanes)


def _difference(o: Site) -> Lane:
    """In f32: the difference is rounded, then its exponential."""
    x, most = (e if o.x.dtype is f32 else Convert(e, f32) for e in elements("x", "max"))
    return over(ex.exp(x - most), "mask")


def _leaky(slope: Expr) -> Expr:
    return select(greater(_X, 0), _X, _X * slope)


_CARRIES = "mask:m", "result:v carry:m"
vmi("vaddc", "Sum and carry out.", f"lhs:v rhs:v {_CARRIES[0]}", _CARRIES[1], meaning=_carried)
vmi(
    "vaddcs",
    "Sum with a carry in, and carry out.",
    f"lhs:v rhs:v carry_in:m {_CARRIES[0]}",
    _CARRIES[1],
    meaning=_carried,
)
vmi(
    "vcmp",
    "Where lhs and rhs compare so.",
    "lhs:v rhs:v seed:m",
    "result:m",
    text("cmp", required=True),
    PMODE,
    meaning=lambda o: predicate(_compared(o, o.cmp, _LHS, _RHS), "seed"),
)
vmi(
    "vcmps",
    "Where src and a number compare so.",
    "src:v scalar:s seed:m",
    "result:m",
    text("cmp", required=True),
    PMODE,
    meaning=lambda o: predicate(
        _compared(o, o.cmp, Element("src"), number_in(o, "scalar", "src")), "seed", lanes=o.src.lanes
    ),
)
vmi("vsel", "true_value where the mask is on.", _CHOICE, "result:v", PMODE, meaning=_SELECTED)
vmi("vcvt", "Numbers in another type.", "source:v", "result:v", ROUNDING, SATURATE, PMODE, meaning=converted)
vmi("vexpdif", "e ** (x - max).", "x:v max:v mask:m", "result:v", PMODE, meaning=_difference)
for _name, _text, _operands, _meaning in (
    ("vaxpy", "x * alpha + acc.", "x:v acc:v alpha:s", _with("alpha", lambda alpha: fused(alpha, _X, _ACC))),
    ("vlrelu", "x where it is positive, else x * slope.", "x:v slope:s", _with("slope", _leaky)),
    ("vprelu", "x where it is positive, else x * alpha.", "x:v alpha:v", over(_leaky(Element("alpha")), "mask")),
    ("vmula", "acc + lhs * rhs.", "acc:v lhs:v rhs:v", over(fused(_LHS, _RHS, _ACC), "mask")),
):
    _mask = "mask:m?" if _name == "vmula" else "mask:m"
    vmi(_name, _text, f"{_operands} {_mask}", "result:v", PMODE, meaning=_meaning)
vmi("vmull", "Low and high half of a product.", "a:v b:v mask:m", "low:v high:v", PMODE, meaning=_halves)
