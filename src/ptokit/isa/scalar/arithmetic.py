"""Operations of `arith`: one row each, from which texts, checks, folding, estimates and every backend take it.

A row names the primitive (`ptokit.isa.meaning.primitives`) that an operation applies, how it reads the bits of its
operands, and what MLIR asks of them beyond their types. Forms of primitives stand where they are used: NumPy's in the
table of primitives, LLVM's in `ptokit.native.primitives`, and those of exact Python numbers here.

| operations | operands | attributes | results |
|---|---|---|---|
| constant | | value | 1 |
| comparisons | lhs, rhs | predicate | 1 (i1) |
| select | condition, true, false | | 1 |
| binary | lhs, rhs | | 1 |
| unary, casts | in | | 1 |
| extended | lhs, rhs | | 2: sum and carry (i1), or the low and the high half of a product |
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

from ptokit.records import dataclass
from ptokit.types.codecs import signed, unsigned, width, wrap

SIGNED, UNSIGNED, FLOAT = "signed", "unsigned", "float"
"""How the bits of operands are read."""

DIVISOR, COUNT, RANGE = "RUN-DIV-ZERO", "RUN-SHIFT", "RUN-CONVERT"
"""Where MLIR leaves a result undefined, by the rule that a run then breaks: the second operand is zero; it is no number
from 0 to the width less 1; the result type does not have the number."""

INTEGERS, FLOATS, INDICES, NUMBERS = "integers", "floats", "integers and index", "integers and floats"
"""Kinds of types that operations take."""


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """An operation. ``does``: the primitive, of casts what becomes of a number (below). ``also``: the second result's.

    ``gives``: the kind of the result, where it is not the operand's type. ``wider``: of casts, 1 if the result has
    more bits, -1 if fewer, 0 if as many. ``flags``: those it may be written with.
    """

    name: str
    does: str
    reads: str
    takes: str
    group: str  # binary, unary, compared, chosen, extended, cast
    needs: str = ""
    flags: tuple[str, ...] = ()
    also: str = ""
    gives: str = ""
    wider: int | None = None


RESIZED, TO_FLOAT, TO_WHOLE, ROUNDED, SAME_BITS = "resized", "to float", "to whole", "rounded", "bits"
"""What casts do: cut or extend bits; give the nearest float; cut the fraction; round to fewer bits; nothing."""


def _integers(name: str, does: str, reads: str, needs: str = "", *flags: str) -> Arithmetic:
    return Arithmetic(name, does, reads, INDICES, "binary", needs, flags)


def _floats(name: str, does: str) -> Arithmetic:
    return Arithmetic(name, does, FLOAT, FLOATS, "binary", flags=("fastmath",))


def _extended(name: str, does: str, also: str, reads: str) -> Arithmetic:
    return Arithmetic(name, does, reads, INTEGERS, "extended", also=also)


def _cast(
    name: str, does: str, reads: str, takes: str, gives: str, wider: int | None, needs: str = "", *flags: str
) -> Arithmetic:
    return Arithmetic(name, does, reads, takes, "cast", needs, flags, gives=gives, wider=wider)


_ROWS = (
    _integers("addi", "add", SIGNED, "", "overflow"),
    _integers("subi", "sub", SIGNED, "", "overflow"),
    _integers("muli", "mul", SIGNED, "", "overflow"),
    _integers("divsi", "div", SIGNED, DIVISOR, "exact"),
    _integers("divui", "div", UNSIGNED, DIVISOR, "exact"),
    _integers("ceildivsi", "ceildiv", SIGNED, DIVISOR),
    _integers("ceildivui", "ceildiv", UNSIGNED, DIVISOR),
    _integers("floordivsi", "floordiv", SIGNED, DIVISOR),
    _integers("remsi", "fmod", SIGNED, DIVISOR),
    _integers("remui", "fmod", UNSIGNED, DIVISOR),
    _integers("andi", "and", SIGNED),
    _integers("ori", "or", SIGNED),
    _integers("xori", "xor", SIGNED),
    _integers("shli", "shl", SIGNED, COUNT, "overflow"),
    _integers("shrsi", "shr", SIGNED, COUNT, "exact"),
    _integers("shrui", "shr", UNSIGNED, COUNT, "exact"),
    _integers("maxsi", "max", SIGNED),
    _integers("maxui", "max", UNSIGNED),
    _integers("minsi", "min", SIGNED),
    _integers("minui", "min", UNSIGNED),
    _floats("addf", "add"),
    _floats("subf", "sub"),
    _floats("mulf", "mul"),
    _floats("divf", "div"),
    _floats("remf", "fmod"),
    _floats("maximumf", "max"),
    _floats("minimumf", "min"),
    _floats("maxnumf", "maxnum"),
    _floats("minnumf", "minnum"),
    Arithmetic("negf", "neg", FLOAT, FLOATS, "unary", flags=("fastmath",)),
    Arithmetic("cmpi", "", SIGNED, INDICES, "compared"),
    Arithmetic("cmpf", "", FLOAT, FLOATS, "compared", flags=("fastmath",)),
    Arithmetic("select", "select", SIGNED, "", "chosen", flags=("fastmath",)),
    _extended("addui_extended", "add", "carry", UNSIGNED),
    _extended("mulsi_extended", "mul", "mulhigh", SIGNED),
    _extended("mului_extended", "mul", "mulhigh", UNSIGNED),
    _cast("extsi", RESIZED, SIGNED, INTEGERS, INTEGERS, 1),
    _cast("extui", RESIZED, UNSIGNED, INTEGERS, INTEGERS, 1, "", "nneg"),
    _cast("trunci", RESIZED, SIGNED, INTEGERS, INTEGERS, -1, "", "overflow"),
    _cast("index_cast", RESIZED, SIGNED, INDICES, INDICES, None),
    _cast("index_castui", RESIZED, UNSIGNED, INDICES, INDICES, None, "", "nneg"),
    _cast("sitofp", TO_FLOAT, SIGNED, INTEGERS, FLOATS, None),
    _cast("uitofp", TO_FLOAT, UNSIGNED, INTEGERS, FLOATS, None, "", "nneg"),
    _cast("fptosi", TO_WHOLE, SIGNED, FLOATS, INTEGERS, None, RANGE),
    _cast("fptoui", TO_WHOLE, UNSIGNED, FLOATS, INTEGERS, None, RANGE),
    _cast("extf", ROUNDED, FLOAT, FLOATS, FLOATS, 1, "", "fastmath"),
    _cast("truncf", ROUNDED, FLOAT, FLOATS, FLOATS, -1, "", "rounding", "fastmath"),
    _cast("bitcast", SAME_BITS, "", NUMBERS, NUMBERS, 0),
)

ARITHMETIC: dict[str, Arithmetic] = {f"arith.{row.name}": row for row in _ROWS}
"""All but ``arith.constant``, by full name."""

CONSTANT = "arith.constant"


def _names(group: str) -> frozenset[str]:
    return frozenset(name for name, row in ARITHMETIC.items() if row.group == group)


ARITH_BINARY, ARITH_UNARY, ARITH_CASTS = map(_names, ("binary", "unary", "cast"))
ARITH_EXTENDED, ARITH_COMPARED = map(_names, ("extended", "compared"))


INTEGER_PREDICATES: dict[str, tuple[str, str]] = {
    "eq": ("eq", SIGNED),
    "ne": ("ne", SIGNED),
    **{f"{sign[0]}{word}": (word, sign) for sign in (SIGNED, UNSIGNED) for word in ("lt", "le", "gt", "ge")},
}
"""The primitive of each predicate of ``arith.cmpi``, and how it reads operands."""

FLOAT_PREDICATES: dict[str, tuple[str, bool]] = {
    "false": ("", False),
    **{f"o{word}": (word, False) for word in ("eq", "gt", "ge", "lt", "le", "ne")},
    "ord": ("ord", False),
    **{f"u{word}": (word, True) for word in ("eq", "gt", "ge", "lt", "le", "ne")},
    "uno": ("", True),
    "true": ("true", True),
}
"""The primitive of each predicate of ``arith.cmpf`` on ordered operands (none: false), and its result on NaN."""


def reading(row: Arithmetic, predicate: str) -> tuple[str, str]:
    """The primitive of an operation on integers, and how it reads operands. ``predicate``: of a comparison."""
    return INTEGER_PREDICATES[predicate] if row.group == "compared" else (row.does, row.reads)


# --- exact numbers ---------------------------------------------------------------------------------------------------


def _toward_zero(a: int, b: int) -> int:
    return a // b if (a < 0) == (b < 0) else -(-a // b)


WHOLE: dict[str, Callable[[int, int], int]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": _toward_zero,
    "floordiv": operator.floordiv,
    "ceildiv": lambda a, b: -(-a // b),
    "fmod": lambda a, b: a - b * _toward_zero(a, b),
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
    "shl": operator.lshift,
    "shr": operator.rshift,
    "max": max,
    "min": min,
    **{word: getattr(operator, word) for word in ("eq", "ne", "lt", "le", "gt", "ge")},
}
"""Primitives on integers of any size: exact results, whose low bits a type has."""


def _quotient(a: float, b: float) -> float:
    if b:
        return a / b
    return math.nan if a == 0 or a != a else math.copysign(math.inf, a) * math.copysign(1, b)


def _rest(a: float, b: float) -> float:
    return math.nan if a != a or b != b or math.isinf(a) or b == 0 else math.fmod(a, b)


def _extreme(a: float, b: float, sign: int) -> float:
    """The greater (sign 1) or lesser (-1) of two floats; NaN if one is; +0 is greater than -0."""
    if a != a or b != b:
        return math.nan
    if a == b:
        return a if math.copysign(1, a) == sign else b
    return a if (a > b) == (sign > 0) else b


def _number(a: float, b: float, sign: int) -> float:
    """The extreme of those that are numbers."""
    return b if a != a else a if b != b else _extreme(a, b, sign)


REAL: dict[str, Callable[[float, float], float]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": _quotient,
    "fmod": _rest,
    "max": lambda a, b: _extreme(a, b, 1),
    "min": lambda a, b: _extreme(a, b, -1),
    "maxnum": lambda a, b: _number(a, b, 1),
    "minnum": lambda a, b: _number(a, b, -1),
    **{word: getattr(operator, word) for word in ("eq", "ne", "lt", "le", "gt", "ge")},
}
"""Primitives on floats: IEEE results of binary64, which are rounded once more to narrower types."""


def read_bits(reads: str, bits: int) -> Callable[[Any], int]:
    """From an integer of a type, in its signed range (i1 is a bool), to the number that an operation sees."""
    if reads == UNSIGNED:
        return lambda x: unsigned(x, bits)
    return lambda x: signed(x, bits)


def refused(row: Arithmetic, second: int, bits: int) -> bool:
    """True if the second operand, as it is read, leaves the result undefined."""
    return second == 0 if row.needs == DIVISOR else row.needs == COUNT and not 0 <= second < bits


def result_of(row: Arithmetic, predicate: str, numbers: Sequence[Any], source: str, made: str) -> Any:
    """The integer or truth that an operation makes of integers, in the bits of a type.

    ``source`` and ``made``: names of the integer types of the last operand and the result. None where the result is
    undefined, and of operations that make no single one of integers.
    """
    bits = width(source)
    if row.does == RESIZED:
        return wrap(read_bits(row.reads, bits)(numbers[0]), width(made))
    if row.group not in ("binary", "compared"):
        return None
    does, reads = reading(row, predicate)
    a, b = map(read_bits(reads, bits), numbers)
    if row.needs and refused(row, b, bits):
        return None
    return wrap(WHOLE[does](a, b), width(made))
