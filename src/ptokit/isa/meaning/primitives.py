"""The primitives that expressions are made of: one row each, with the NumPy form, the words and what is exact.

The native form of a primitive stands in the native backend under the same name; a test compares the two lists.

A NumPy form is a function of arrays ``f(*arguments, out=None)`` in the manner of a ufunc: arguments broadcast, all of
the same dtype; ``out`` may be one of them. It computes in the type of its arguments: integers wrap at their width; f16
and bf16 are computed in f32 (exp, log, rsqrt in f64) and rounded once, which is the correctly rounded result for every
primitive here except ``pow``. Which of several NaN patterns a result has is not stated.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ptokit.records import dataclass
from ptokit.targets import A2A3
from ptokit.types.enums import RoundMode
from ptokit.types.rounding import round_to_integral

from ..numerics import arith, unary


@dataclass(frozen=True, slots=True)
class Primitive:
    """An operation on elements. ``words`` is a format string of the arguments; ``says`` what a backend has to give."""

    name: str
    numpy: Callable[..., Any]
    words: str
    says: str
    gives_condition: bool = False
    for_floats: bool = True
    for_integers: bool = True


def _choose(condition: Any, yes: Any, no: Any, out: np.ndarray | None = None) -> Any:
    return arith.give(np.where(condition, yes, no), out)


def _integral(mode: RoundMode) -> Callable[..., Any]:
    def apply(x: Any, out: np.ndarray | None = None) -> Any:
        wide = x.astype(np.float32) if x.dtype.itemsize == 2 else x
        return arith.give(round_to_integral(wide, mode).astype(x.dtype), out)

    return apply


_ROWS = (
    Primitive("add", np.add, "{0} + {1}", "IEEE sum; integers wrap"),
    Primitive("sub", np.subtract, "{0} - {1}", "IEEE difference; integers wrap"),
    Primitive("mul", np.multiply, "{0} * {1}", "IEEE product; integers wrap"),
    Primitive("div", arith.divide, "{0} / {1}", "IEEE quotient; integers toward zero, x / 0 = 0, least / -1 = least"),
    Primitive(
        "floordiv",
        arith.floor_divide,
        "floor({0} / {1})",
        "the quotient rounded down, x / 0 = 0, least / -1 = least",
        for_floats=False,
    ),
    Primitive(
        "ceildiv",
        arith.ceil_divide,
        "ceil({0} / {1})",
        "the quotient rounded up, x / 0 = 0, least / -1 = least",
        for_floats=False,
    ),
    Primitive(
        "mulhigh",
        arith.high_half,
        "high half of {0} * {1}",
        "the upper bits of the exact product, which has twice the bits",
        for_floats=False,
    ),
    Primitive(
        "carry",
        arith.carry,
        "carry of {0} + {1}",
        "1 where the sum of the bits, read without a sign, has one bit more, else 0",
        for_floats=False,
    ),
    Primitive(
        "fmod",
        arith.fmod,
        "{0} - trunc({0} / {1}) * {1}",
        "exact remainder with the sign of the dividend, as C's fmod; integers give 0 for a zero divisor",
    ),
    Primitive(
        "floormod",
        arith.floor_mod,
        "{0} - floor({0} / {1}) * {1}",
        "floats: r = fmod(a, b); r + b, rounded, where r is not 0 and its sign bit differs from that of b, else r; "
        "integers: the sign of the divisor, 0 for a zero divisor",
    ),
    Primitive(
        "max",
        arith.maximum,
        "max({0}, {1})",
        "the larger; a NaN argument gives NaN; max(+0, -0) = +0",
    ),
    Primitive(
        "min",
        arith.minimum,
        "min({0}, {1})",
        "the smaller; a NaN argument gives NaN; min(+0, -0) = -0",
    ),
    Primitive(
        "maxnum",
        arith.maximum_number,
        "maxnum({0}, {1})",
        "as ``max``, but of NaN and a number the number",
        for_integers=False,
    ),
    Primitive(
        "minnum",
        arith.minimum_number,
        "minnum({0}, {1})",
        "as ``min``, but of NaN and a number the number",
        for_integers=False,
    ),
    Primitive("neg", np.negative, "-{0}", "floats: the sign bit flipped; integers wrap"),
    Primitive("abs", np.absolute, "|{0}|", "floats: the sign bit cleared; the least integer stays"),
    Primitive("popcount", arith.popcount, "bits of {0} that are 1", "their number", for_floats=False),
    Primitive(
        "signbits",
        arith.sign_bits,
        "bits of {0} equal to its sign",
        "the number of leading bits that equal the sign bit, without it: bits - 1 for 0 and -1",
        for_floats=False,
    ),
    Primitive("fma", arith.fused, "{0} * {1} + {2}", "rounded once; integers wrap"),
    Primitive("not", np.invert, "~{0}", "every bit flipped", for_floats=False),
    Primitive("and", np.bitwise_and, "{0} & {1}", "bit by bit", for_floats=False),
    Primitive("or", np.bitwise_or, "{0} | {1}", "bit by bit", for_floats=False),
    Primitive("xor", np.bitwise_xor, "{0} ^ {1}", "bit by bit", for_floats=False),
    Primitive(
        "shl",
        arith.shift_left,
        "{0} << {1}",
        "0 for a count outside 0..bits-1; 64-bit types take a count of 0 or more modulo 64, a negative one gives 0",
        for_floats=False,
    ),
    Primitive(
        "shr",
        arith.shift_right,
        "{0} >> {1}",
        "arithmetic if signed; counts outside 0..bits-1 give 0, or -1 for negative values; 64-bit types take a count "
        "of 0 or more modulo 64",
        for_floats=False,
    ),
    Primitive("exp", unary.exp, "exp({0})", "f32: exp in binary64 rounded once; 16-bit types correctly rounded"),
    Primitive("log", unary.log, "ln {0}", "f32: log in binary64 rounded once; 16-bit types correctly rounded"),
    Primitive("sin", unary.sin, "sin({0})", "in binary64, rounded once", for_integers=False),
    Primitive("cos", unary.cos, "cos({0})", "in binary64, rounded once", for_integers=False),
    Primitive("sqrt", unary.sqrt, "sqrt {0}", "IEEE square root"),
    Primitive("rsqrt", unary.rsqrt, "1 / sqrt {0}", "1 / sqrt in binary64, each IEEE, rounded once"),
    Primitive("recip", unary.recip, "1 / {0}", "IEEE 1 / x; integers 1, -1 or 0 as ``div``"),
    Primitive(
        "pow",
        arith.power,
        "{0} ** {1}",
        "floats: pow in binary64 rounded once; integers by squaring, wrapping, and 0 for a negative exponent of a "
        "signed type unless the base is 1 or -1",
    ),
    Primitive(
        "pow_a2a3",
        partial(arith.power, target=A2A3),
        "{0} ** {1}",
        "as ``pow``, but 1 to a power that is not finite is NaN, ±0 to a negative power or NaN is +inf, ±0 to a "
        "positive power is +0, and exponents of u32 are negative from 2^31 on",
    ),
    *(
        Primitive(name, _integral(mode), words, f"an integral value of the same type, {says}; NaN, inf and -0 stay")
        for name, mode, words, says in (
            ("rint", RoundMode.RINT, "rint({0})", "the nearest, ties to even"),
            ("round", RoundMode.ROUND, "round({0})", "the nearest, ties away from zero"),
            ("floor", RoundMode.FLOOR, "floor({0})", "the next one down"),
            ("ceil", RoundMode.CEIL, "ceil({0})", "the next one up"),
            ("trunc", RoundMode.TRUNC, "trunc({0})", "the next one toward zero"),
            ("odd", RoundMode.ODD, "odd({0})", "the odd one of the two neighbours of an inexact value"),
        )
    ),
    Primitive("eq", np.equal, "{0} == {1}", "false with NaN", gives_condition=True),
    Primitive("ne", np.not_equal, "{0} != {1}", "true with NaN", gives_condition=True),
    Primitive("lt", np.less, "{0} < {1}", "false with NaN", gives_condition=True),
    Primitive("le", np.less_equal, "{0} <= {1}", "false with NaN", gives_condition=True),
    Primitive("gt", np.greater, "{0} > {1}", "false with NaN", gives_condition=True),
    Primitive("ge", np.greater_equal, "{0} >= {1}", "false with NaN", gives_condition=True),
    Primitive(
        "select", _choose, "{0} ? {1} : {2}", "bits of the second argument where the first holds, else the third"
    ),
)

PRIMITIVES: dict[str, Primitive] = {p.name: p for p in _ROWS}
"""All primitives by name."""

INTEGRAL = {
    RoundMode.RINT: "rint",
    RoundMode.ROUND: "round",
    RoundMode.FLOOR: "floor",
    RoundMode.CEIL: "ceil",
    RoundMode.TRUNC: "trunc",
    RoundMode.ODD: "odd",
}
"""The primitive that rounds to integral values, by mode."""
