"""A slow model of what one lane computes, on Python integers, exact fractions and decimals; shares no code with ptokit.

Numbers are those of `tests.isa.numerics.model`: a `Fraction`, or "nan", "inf", "-inf", "-0".
"""

from __future__ import annotations

import decimal
import math
import operator
from collections.abc import Callable
from fractions import Fraction

from tests.isa.numerics.model import FLOATS, INTEGERS, Number, decode, to_float

decimal.getcontext().prec = 60


def wrap(value: int | Fraction, name: str) -> Fraction:
    """The low bits of an integer."""
    return decode(name, int(value))


def bits(x: Number, name: str) -> int:
    """An integer as its unsigned bits."""
    return int(x) & ((1 << INTEGERS[name][1]) - 1)  # type: ignore[arg-type]


def as_float(x: Number) -> float:
    return float(x) if isinstance(x, str) else x.numerator / x.denominator


def number(x: float) -> Number:
    """A Python float that stands for itself."""
    if math.isnan(x):
        return "nan"
    if math.isinf(x):
        return "inf" if x > 0 else "-inf"
    return "-0" if x == 0 and math.copysign(1, x) < 0 else Fraction(x)


def exactly(op: Callable[..., object], name: str, *operands: Number) -> Number:
    """An operation on floats, computed exactly and rounded once; specials and signs of zeros as in binary64."""
    if not any(x in ("nan", "inf", "-inf") for x in operands):
        exact = op(*(Fraction(0) if x == "-0" else Fraction(x) for x in operands))
        if exact != 0:
            return to_float(Fraction(exact), name, "RINT", False)  # type: ignore[arg-type]
    return number(op(*(as_float(x) for x in operands)))  # type: ignore[arg-type]


def arithmetic(op: Callable[..., object]) -> Callable[..., Number]:
    def lane(name: str, *operands: Number) -> Number:
        if name in FLOATS:
            return exactly(op, name, *operands)
        return wrap(op(*(int(x) for x in operands)), name)  # type: ignore[arg-type]

    return lane


def divide(name: str, a: Number, b: Number) -> Number:
    if name[0] in "iu" and isinstance(a, Fraction) and isinstance(b, Fraction):
        return wrap(Fraction(math.trunc(a / b)) if b else Fraction(0), name)
    x, y = as_float(a), as_float(b)
    if y == 0:
        if x == 0 or math.isnan(x):
            return "nan"
        return number(math.copysign(math.inf, math.copysign(1, x) * math.copysign(1, y)))
    return exactly(operator.truediv, name, a, b)


def sign_of(x: Number) -> float:
    return math.copysign(1, as_float(x))


def extreme(sign: int) -> Callable[..., Number]:
    """Larger (1) or smaller (-1); NaN wins, and +0 is larger than -0."""

    def lane(name: str, a: Number, b: Number) -> Number:
        if "nan" in (a, b):
            return "nan"
        return max((a, b), key=lambda x: (sign * (as_float(x) if isinstance(x, str) else x), sign * sign_of(x)))

    return lane


def decimal_function(fn: Callable[[decimal.Decimal], decimal.Decimal]) -> Callable[..., Number]:
    def lane(name: str, x: Number) -> Number:
        exact = decimal.Decimal(x) if isinstance(x, str) else decimal.Decimal(x.numerator) / x.denominator
        value = fn(exact)
        if value.is_nan() or value.is_infinite() or value == 0:
            return number(float(value))
        return to_float(Fraction(value), name, "RINT", False)

    return lane


def exp(x: decimal.Decimal) -> decimal.Decimal:
    return x if x == decimal.Decimal("inf") else max(min(x, decimal.Decimal(1000)), decimal.Decimal(-1000)).exp()


def ln(x: decimal.Decimal) -> decimal.Decimal:
    return decimal.Decimal("nan") if x < 0 else decimal.Decimal("-inf") if x == 0 else x.ln()


def root(x: decimal.Decimal) -> decimal.Decimal:
    return decimal.Decimal("nan") if x < 0 else x.sqrt()


def inverse(x: decimal.Decimal) -> decimal.Decimal:
    if x == 0:
        return decimal.Decimal("inf").copy_sign(x)
    return 1 / x


def inverse_root(x: decimal.Decimal) -> decimal.Decimal:
    return inverse(x) if x == 0 else inverse(root(x)) if x > 0 else decimal.Decimal("nan")


def special(fn: Callable[[decimal.Decimal], decimal.Decimal]) -> Callable[..., Number]:
    """A function that passes NaN on."""
    return decimal_function(lambda x: x if x.is_nan() else fn(x))


def shift_left(name: str, x: Number, n: Number) -> Number:
    width = INTEGERS[name][1]
    return wrap(bits(x, name) << int(n), name) if 0 <= int(n) < width else Fraction(0)  # type: ignore[arg-type]


def shift_right(name: str, x: Number, n: Number) -> Number:
    width = INTEGERS[name][1]
    count = int(n) if 0 <= int(n) < width else width  # type: ignore[arg-type]
    return Fraction(int(x) >> count)  # type: ignore[arg-type]


def bitwise(op: Callable[[int, int], int]) -> Callable[..., Number]:
    return lambda name, a, b: wrap(op(bits(a, name), bits(b, name)), name)


def count_ones(name: str, x: Number) -> Number:
    return Fraction(bin(bits(x, name)).count("1"))


def count_signs(name: str, x: Number) -> Number:
    digits = format(bits(x, name), f"0{INTEGERS[name][1]}b")
    return Fraction(len(digits) - len(digits.lstrip(digits[0])) - 1)


def rectify(name: str, x: Number) -> Number:
    return "nan" if x == "nan" else x if as_float(x) > 0 else Fraction(0)


def leaky(name: str, x: Number, slope: Number) -> Number:
    return x if as_float(x) >= 0 else exactly(operator.mul, name, x, slope)


def magnitude(name: str, x: Number) -> Number:
    return number(abs(as_float(x))) if name in FLOATS else wrap(abs(int(x)), name)  # type: ignore[arg-type]


def opposite(name: str, x: Number) -> Number:
    return number(-as_float(x)) if name in FLOATS else wrap(-int(x), name)  # type: ignore[arg-type]


def then_rectify(fn: Callable[..., Number]) -> Callable[..., Number]:
    return lambda name, a, b: rectify(name, fn(name, a, b))


add, subtract, multiply = (arithmetic(op) for op in (operator.add, operator.sub, operator.mul))
fused = arithmetic(lambda a, b, c: a * b + c)

UNARY: dict[str, Callable[..., Number]] = {
    "vabs": magnitude,
    "vneg": opposite,
    "vexp": special(exp),
    "vln": special(ln),
    "vsqrt": special(root),
    "vrsqrt": special(inverse_root),
    "vrec": special(inverse),
    "vrelu": rectify,
    "vnot": lambda name, x: wrap(~int(x), name),
    "vbcnt": count_ones,
    "vcls": count_signs,
    "vmov": lambda name, x: x,
}

BINARY: dict[str, Callable[..., Number]] = {
    "vadd": add,
    "vsub": subtract,
    "vmul": multiply,
    "vdiv": divide,
    "vmax": extreme(1),
    "vmin": extreme(-1),
    "vand": bitwise(operator.and_),
    "vor": bitwise(operator.or_),
    "vxor": bitwise(operator.xor),
    "vshl": shift_left,
    "vshr": shift_right,
    "vprelu": leaky,
    "vaddrelu": then_rectify(add),
    "vsubrelu": then_rectify(subtract),
}

SCALAR: dict[str, Callable[..., Number]] = {
    "vadds": add,
    "vsubs": subtract,
    "vmuls": multiply,
    "vmaxs": extreme(1),
    "vmins": extreme(-1),
    "vands": bitwise(operator.and_),
    "vors": bitwise(operator.or_),
    "vxors": bitwise(operator.xor),
    "vshls": shift_left,
    "vshrs": shift_right,
    "vlrelu": leaky,
}

COMPARE: dict[str, Callable[[float, float], bool]] = {
    word: getattr(operator, word) for word in ("eq", "ne", "lt", "le", "gt", "ge")
}
