"""The primitives that expressions are made of: one row each, with the NumPy form, the words and what is exact.

The native form of a primitive stands in the native backend under the same name; a test compares the two lists.

A NumPy form is a function of arrays ``f(*arguments, out=None)`` in the manner of a ufunc: arguments broadcast, all of
the same dtype; ``out`` may be one of them. It computes in the type of its arguments: integers wrap at their width; f16
and bf16 are computed in f32 (exp, log, rsqrt in f64) and rounded once, which is the correctly rounded result for every
primitive here except ``pow``. Which of several NaN patterns a result has is not stated.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from functools import partial
from typing import Any, Literal

import numpy as np

from ptokit.records import dataclass
from ptokit.targets import A2A3
from ptokit.types.dtypes import DType, round_to_integral
from ptokit.types.enums import RoundMode

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


class Order(Enum):
    """In which order elements x[0] … x[n-1] become one."""

    ANY = "any"
    """The result does not depend on it: integers wrap, a maximum or minimum is the same in every order."""
    FORWARD = "forward"
    """((start op x[0]) op x[1]) op …, where start is +0 of a sum, which is therefore never -0, and 1 of a product."""
    FROM_FIRST = "from the first"
    """((x[0] op x[1]) op x[2]) op …"""
    PAIRS = "pairs"
    """((x[0] op (x[1] op x[2])) op (x[3] op x[4])) op …; the last one of an even number is taken alone."""
    NEIGHBOURS = "neighbours"
    """Neighbours x[0] op x[1], x[2] op x[3], … until one is left; +0, or 1, in the place of elements that are missing
    to the next power of two.
    """
    HALVES = "halves"
    """x[k] op x[k + n/2] for the first half, until one is left. n is a power of two."""
    TREE_ODD_FIRST = "tree, odd to the first"
    """As `NEIGHBOURS`, but of an odd number the last one goes to the first result."""
    TREE_ODD_LAST = "tree, odd to the last"
    """The same, but of an odd number the last one goes to the last result; a single element to +0."""
    TREE_OF_REPEATS = "tree of repeats"
    """As `TREE_ODD_FIRST` in the first level, then as `TREE_ODD_LAST`. Runs only: a last one that is shorter takes no
    part in the tree; after the first level it goes to the first result.
    """
    TWO_ACCUMULATORS = "two accumulators"
    """Sums with two accumulators a[0] and a[1], which start as +0, for l = 0 and 1.

    While eight or more elements are left, x the next of them: ``a[l] = ((x[l] + x[l+2]) + (x[l+4] + x[l+6])) + a[l]``.
    Then, while any are left, x the next two (+0 for a missing one): ``a[l] = a[l] + x[l]``. The sum is ``a[0] + a[1]``.
    """


@dataclass(frozen=True, slots=True)
class Stage:
    """A step of a fold: elements become fewer, in a stated order.

    All of them become one; with `run` every `run` of them, with +0, or 1 of a product, for those that the last run
    lacks. ``across``: runs become one run, each lane of it from the lanes that the runs have there.

    Each value is converted to `accumulator` (``"f64"`` is binary64, None its own type), where the operations are
    made, each rounded to it; what the stage gives is rounded to the type of the elements.
    """

    order: Order = Order.ANY
    run: int = 0
    across: bool = False
    accumulator: DType | Literal["f64"] | None = None


Op = Callable[[Any, Any], Any]


def combined(order: Order, x: Any, op: Op, start: Any = None) -> Any:
    """The one that x[0], x[1], … become."""
    match order:
        case Order.FORWARD:
            return _forward(op(start, x[0]), x[1:], op)
        case Order.FROM_FIRST:
            return _forward(x[0], x[1:], op)
        case Order.PAIRS:
            total, last = x[0], len(x) - 1
            for k in range(1, last, 2):
                total = op(total, op(x[k], x[k + 1]))
            return op(total, x[last]) if last % 2 else total
        case Order.NEIGHBOURS:
            while len(x) > 1:
                x = op(x[::2], x[1::2])
            return x[0]
        case Order.HALVES:
            while len(x) > 1:
                half = len(x) // 2
                x = op(x[:half], x[half:])
            return x[0]
        case Order.TREE_ODD_FIRST:
            return _tree(x, op, 0)
        case Order.TREE_ODD_LAST:
            return op(x[0], start) if len(x) == 1 else _tree(x, op, -1)
    raise ValueError(order)


def of_repeats(x: Any, op: Op, rest: Any = None) -> Any:
    """`Order.TREE_OF_REPEATS` of whole runs; ``rest``: the last one that is shorter."""
    if len(x) == 0:
        return rest
    level = _level(x, op, 0) if len(x) > 1 else x
    if rest is None:
        return _tree(level, op, -1)
    first = op(level[0], rest)
    if len(level) == 1:
        return first
    level[0] = first
    return _tree(level, op, -1)


def _forward(total: Any, x: Any, op: Op) -> Any:
    for value in x:
        total = op(total, value)
    return total


def _tree(x: Any, op: Op, odd: int) -> Any:
    while len(x) > 1:
        x = _level(x, op, odd)
    return x[0]


def _level(x: Any, op: Op, odd: int) -> Any:
    """Neighbours combined; ``odd``: the result that the last one of an odd number goes to, 0 or -1."""
    made = op(x[:-1:2], x[1::2])
    if len(x) % 2:
        made[odd] = op(made[odd], x[-1])
    return made
