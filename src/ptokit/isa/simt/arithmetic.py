"""Arithmetic of one thread that `arith` does not have."""

from __future__ import annotations

from ptokit.types.dtypes import dtype, i32, i64, u32
from ptokit.types.enums import RoundMode

from ..meaning.expressions import Const, Convert, Element, Expr, Reinterpret, apply, fused, less, select
from ..meaning.words import Lane
from ..site import Site
from .lanes import SIGNS
from .meaning import of
from .words import plain, simt, thread, value, word

_VALUE, _LHS, _RHS = (Element(name) for name in ("value", "lhs", "rhs"))

for _text, _what, _name in (
    ("sqrt", "Square root", "sqrt"),
    ("absf", "Absolute value", "abs"),
    ("exp", "Exponential", "exp"),
    ("log", "Natural logarithm", "log"),
    ("sin", "Sine", "sin"),
    ("cos", "Cosine", "cos"),
    ("ceil", "Next integral value above", "ceil"),
    ("floor", "Next integral value below", "floor"),
    ("rint", "Nearest integral value, ties to even", "rint"),
    ("round", "Nearest integral value, ties away from zero", "round"),
):
    plain(_text, f"{_what}.", "value", thread(apply(_name, _VALUE)))
for _text, _what, _name in (("fmin", "Minimum", "min"), ("fmax", "Maximum", "max"), ("pow", "Power", "pow")):
    plain(_text, f"{_what}.", "lhs rhs", thread(apply(_name, _LHS, _RHS)))
plain("fma", "lhs * rhs + acc, rounded once.", "lhs rhs acc", thread(fused(_LHS, _RHS, Element("acc"))))


def _bytes() -> Expr:
    """Byte k of the result is the byte of rhs (0 to 3) or lhs (4 to 7) that the low bits of nibble k name."""
    lhs, rhs, selector = (Reinterpret(Element(name), u32) for name in ("lhs", "rhs", "selector"))
    total: Expr | None = None
    for k in range(4):
        number = selector >> 4 * k & 7
        byte = (select(less(number, 4), rhs, lhs) >> ((number & 3) << 3) & 255) << 8 * k
        total = byte if total is None else total | byte
    assert total is not None
    return Reinterpret(total, i32)


plain(
    "prmt",
    "Four bytes of two numbers, chosen by the nibbles of a third.",
    "lhs rhs selector",
    thread(_bytes()),
    types="i32 i32 i32",
)


def _high(o: Site) -> Lane:
    """The upper half of the product, by halves of the operands."""
    kind = of(o, "lhs")
    half, bits = kind.bits // 2, dtype(f"u{kind.bits}")
    x, y = (Reinterpret(e, bits) for e in (_LHS, _RHS))
    x0, x1, y0, y1 = (part for e in (x, y) for part in (e & (1 << half) - 1, e >> half))
    middle = x1 * y0 + (x0 * y0 >> half)
    high = x1 * y1 + (middle >> half) + ((middle & (1 << half) - 1) + x0 * y1 >> half)
    if o.signedness != "unsigned":
        for e, other in ((_LHS, y), (_RHS, x)):
            high = high - select(less(e, 0), other, Const(0, other))
    return thread(Reinterpret(high, kind))


def _wide(o: Site) -> Lane:
    kind = u32 if o.signedness == "unsigned" else i32
    return thread(Convert(Reinterpret(_LHS, kind), i64) * Convert(Reinterpret(_RHS, kind), i64))


for _text, _what, _meaning in (
    ("mulhi", "High half of a product.", _high),
    ("mul_i32toi64", "Product of 64 bits.", _wide),
):
    simt(
        _text,
        _what,
        (value("lhs"), value("rhs")),
        "%lhs , %rhs W(signedness) {} : T(lhs) , T(rhs) -> R",
        _meaning,
        SIGNS,
    )

_ROUNDINGS = {
    "r": RoundMode.RINT,
    "a": RoundMode.ROUND,
    "f": RoundMode.FLOOR,
    "c": RoundMode.CEIL,
    "z": RoundMode.TRUNC,
    "o": RoundMode.ODD,
    "h": RoundMode.CEIL,
}


def _converted(o: Site) -> Lane:
    """Every element rounded once from its exact value; into integers NaN is 0."""
    source, result = of(o, "src"), of(o, "result")
    kinds = [dtype(f"u{d.bits}") if d.is_integer and o.signedness == "unsigned" else d for d in (source, result)]
    mode = _ROUNDINGS[o.rounding or "r"]
    if result.name == "hif8" and mode is RoundMode.ROUND:
        mode = RoundMode.NONE  # the type's own
    given = Element("src") if kinds[0] is source else Reinterpret(Element("src"), kinds[0])
    found = given if kinds[0] is kinds[1] else Convert(given, kinds[1], mode, o.saturation != "nosat")
    return thread(found if kinds[1] is result else Reinterpret(found, result))


simt(
    "convert",
    "A number in another type.",
    (value("src"),),
    "%src round ~( W(rounding) ) W(saturation) <? W(signedness) ?> {} : T(src) -> R",
    _converted,
    word("rounding", *"rafczoh"),
    word("saturation", "sat", "nosat"),
    SIGNS,
    decision="round(h) is taken as round(c): the sources call it a ceiling mode of some conversions.",
)
