"""Arithmetic of the scalar unit: `arith` operations on numbers, and on scalars that differ between blocks.

Integers are Python ints in the signed range of their type, i1 is a bool; ``index`` has 64 bits and wraps. Floats are
Python floats rounded to their type. What is a number only where blocks agree is an array of the type's own kind where
they do not, and the same function decides in both cases.

Where MLIR leaves a result undefined or poisoned: division by zero (RUN-DIV-ZERO), shifts by the width or more
(RUN-SHIFT) and floats outside the integer type they are converted to (RUN-CONVERT) are findings. The quotient of the
least integer and -1 wraps. A NaN that arithmetic makes is the positive quiet one without further bits: which operand's
bits a processor keeps depends on the order it takes them in. ``overflow``, ``exact``, ``nneg`` and ``fastmath`` are
promises to a compiler; results are those without them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ptokit.types.enums import RoundMode
from ptokit.types.integers import signed, unsigned, width, wrap
from ptokit.types.rounding import FLOAT_TYPES, round_float

from ..fault import Fault
from .lanes import Line, lanes, lift, plain

Fn = Callable[..., Any]


def _divide(a: int, b: int, what: str) -> tuple[int, int]:
    if b == 0:
        raise Fault("RUN-DIV-ZERO", f"integer {what} by zero")
    q = abs(a) // abs(b)
    q = q if (a < 0) == (b < 0) else -q
    return q, a - q * b


def _shift(n: int, bits: int) -> int:
    if not 0 <= n < bits:
        raise Fault("RUN-SHIFT", f"shift by {n} is outside 0..{bits - 1}")
    return n


INTEGER: dict[str, Callable[[int, int, int], int]] = {
    "addi": lambda a, b, w: a + b,
    "subi": lambda a, b, w: a - b,
    "muli": lambda a, b, w: a * b,
    "divsi": lambda a, b, w: _divide(a, b, "division")[0],
    "remsi": lambda a, b, w: _divide(a, b, "remainder")[1],
    "floordivsi": lambda a, b, w: a // b if b else _divide(a, b, "division")[0],
    "ceildivsi": lambda a, b, w: -(-a // b) if b else _divide(a, b, "division")[0],
    "divui": lambda a, b, w: _divide(unsigned(a, w), unsigned(b, w), "division")[0],
    "remui": lambda a, b, w: _divide(unsigned(a, w), unsigned(b, w), "remainder")[1],
    "ceildivui": lambda a, b, w: _ceildivui(a, b, w),
    "andi": lambda a, b, w: a & b,
    "ori": lambda a, b, w: a | b,
    "xori": lambda a, b, w: a ^ b,
    "shli": lambda a, b, w: a << _shift(b, w),
    "shrsi": lambda a, b, w: a >> _shift(b, w),
    "shrui": lambda a, b, w: unsigned(a, w) >> _shift(b, w),
    "maxsi": lambda a, b, w: max(a, b),
    "minsi": lambda a, b, w: min(a, b),
    "maxui": lambda a, b, w: max(a, b, key=lambda x: unsigned(x, w)),
    "minui": lambda a, b, w: min(a, b, key=lambda x: unsigned(x, w)),
}


def _ceildivui(a: int, b: int, w: int) -> int:
    q, r = _divide(unsigned(a, w), unsigned(b, w), "division")
    return q + (r != 0)


def _extreme(a: float, b: float, sign: float) -> float:
    """The greater (sign 1) or lesser (-1) of two floats; NaN if one is; +0 is greater than -0."""
    if a != a or b != b:
        return a + b
    if a == b:
        return a if math.copysign(1, a) == sign else b
    return a if (a > b) == (sign > 0) else b


FLOAT: dict[str, Callable[[float, float], float]] = {
    "addf": lambda a, b: a + b,
    "subf": lambda a, b: a - b,
    "mulf": lambda a, b: a * b,
    "divf": lambda a, b: float(np.float64(a) / np.float64(b)),
    "remf": lambda a, b: float(np.fmod(a, b)),
    "maximumf": lambda a, b: _extreme(a, b, 1),
    "minimumf": lambda a, b: _extreme(a, b, -1),
    "maxnumf": lambda a, b: b if a != a else a if b != b else _extreme(a, b, 1),  # of NaN of any kind the other
    "minnumf": lambda a, b: b if a != a else a if b != b else _extreme(a, b, -1),
}

_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}

_MODES = {
    "to_nearest_even": RoundMode.RINT,
    "to_nearest_away": RoundMode.ROUND,
    "downward": RoundMode.FLOOR,
    "upward": RoundMode.CEIL,
    "toward_zero": RoundMode.TRUNC,
}


def from_integer(x: int, type_name: str) -> float:
    """An integer of any size rounded once to a float type."""
    if type_name != "f64" and abs(x) >> 53:
        shift = abs(x).bit_length() - 53
        odd = abs(x) >> shift | (abs(x) & ((1 << shift) - 1) != 0)  # rounded to odd, so that the next rounding is right
        x = -(odd << shift) if x < 0 else odd << shift
    return float(round_float(float(x), type_name))


def _kind(type_name: str) -> Any:
    """NumPy type of an array of such scalars."""
    return FLOAT_TYPES.get(type_name) or (np.bool_ if type_name == "i1" else np.int64)


def per_lane(fn: Fn, type_name: str, vector: Fn | None = None) -> Fn:
    """`fn` of numbers, applied block by block where an operand differs between blocks; results are of a type.

    ``vector`` does the same for whole arrays; it may give None to have `fn` decide.
    """
    kind = _kind(type_name)

    def apply(*args: Any) -> Any:
        if not any(isinstance(a, (Line, np.ndarray)) for a in args):
            return fn(*args)
        if vector is not None:
            whole = vector(*(lanes(a) for a in args))
            if whole is not None:
                return lift(whole)
        columns = np.broadcast_arrays(*(np.atleast_1d(lanes(a)) for a in args))
        return lift(np.array([fn(*map(plain, row)) for row in zip(*columns)], kind))

    return apply


def binary(op: str, type_name: str) -> Fn:
    """The function of a binary `arith` operation (name without ``arith.``) on one type."""
    if op in FLOAT:
        base = FLOAT[op]

        def rounded(a: Any, b: Any) -> float:
            result = base(float(a), float(b))
            return round_float(result, type_name) if result == result else math.nan

        return per_lane(rounded, type_name)
    width_, integer = width(type_name), INTEGER[op]
    if width_ == 1:
        return per_lane(lambda a, b: wrap(integer(signed(a, 1), signed(b, 1), 1), 1), type_name)
    vector = VECTOR.get(op)
    arrays = None if vector is None else lambda a, b: _wrapped(vector(a, b), width_)
    return per_lane(lambda a, b: wrap(integer(a, b, width_), width_), type_name, arrays)


def _wrapped(x: np.ndarray | None, size: int) -> np.ndarray | None:
    return x if x is None or size == 64 else wrap(x, size)


def extended(op: str, type_name: str) -> tuple[Fn, Fn]:
    """The functions of both results of ``addui_extended``, ``mulsi_extended`` or ``mului_extended`` on one type."""
    bits = width(type_name)

    def whole(a: int, b: int) -> int:
        if op == "mulsi_extended":
            return signed(a, bits) * signed(b, bits)
        x, y = unsigned(a, bits), unsigned(b, bits)
        return x + y if op == "addui_extended" else x * y

    high = 1 if op == "addui_extended" else bits  # a carry is i1
    low = per_lane(lambda a, b: wrap(whole(a, b), bits), type_name)
    return low, per_lane(lambda a, b: wrap(whole(a, b) >> bits, high), "i1" if high == 1 else type_name)


def negate(type_name: str) -> Fn:
    """The function of ``arith.negf``, which turns the sign of a NaN, too."""
    return per_lane(lambda a: -a, type_name, np.negative)


def _divide_arrays(a: Any, b: Any) -> Any:
    """Quotients toward zero; None where a divisor is zero, so that the error names it."""
    if np.any(np.equal(b, 0)):
        return None
    q = np.floor_divide(a, b)  # the least integer by -1 wraps
    return q + ((q * b != a) & (np.less(a, 0) != np.less(b, 0)))


def _remainder_arrays(a: Any, b: Any) -> Any:
    q = _divide_arrays(a, b)
    return None if q is None else a - q * b


def _floor_arrays(a: Any, b: Any) -> Any:
    """Quotients rounded down; None where a divisor is zero."""
    return None if np.any(np.equal(b, 0)) else np.floor_divide(a, b)


VECTOR: dict[str, Fn] = {
    "addi": np.add,
    "subi": np.subtract,
    "muli": np.multiply,
    "divsi": _divide_arrays,
    "floordivsi": _floor_arrays,
    "remsi": _remainder_arrays,
    "minsi": np.minimum,
    "maxsi": np.maximum,
    "andi": np.bitwise_and,
    "ori": np.bitwise_or,
    "xori": np.bitwise_xor,
}
"""Integer operations on int64 arrays, which wrap at 64 bits."""


def compare(op: str, predicate: str, type_name: str) -> Fn:
    """The function of ``arith.cmpi`` or ``arith.cmpf`` with a predicate."""
    if op == "cmpf":
        return per_lane(lambda a, b: _compare_float(predicate, a, b), "i1")
    fn = _COMPARE[predicate[-2:]]
    if predicate.startswith("u"):
        bits = width(type_name)
        return per_lane(lambda a, b: fn(unsigned(a, bits), unsigned(b, bits)), "i1")
    if type_name == "i1":
        return per_lane(lambda a, b: fn(signed(a, 1), signed(b, 1)), "i1")
    return per_lane(fn, "i1", fn)


def _compare_float(predicate: str, a: float, b: float) -> bool:
    unordered = a != a or b != b
    if predicate in ("true", "false"):
        return predicate == "true"
    if predicate in ("ord", "uno"):
        return unordered == (predicate == "uno")
    return predicate.startswith("u") if unordered else bool(_COMPARE[predicate[1:]](a, b))


def cast(op: str, source: str, result: str, rounding: str = "") -> Fn:
    """The function of an `arith` cast; ``rounding``: the mode of truncf."""
    if op in ("index_cast", "extsi", "trunci"):
        small, bits = width(source), width(result)
        whole = (lambda a: a) if small > 1 and bits == 64 else None
        return per_lane(lambda a: wrap(signed(a, small), bits), result, whole)
    if op in ("extui", "index_castui"):
        small, bits = width(source), width(result)
        return per_lane(lambda a: wrap(unsigned(a, small), bits), result)
    if op in ("sitofp", "uitofp"):
        small, number = width(source), signed if op == "sitofp" else unsigned
        return per_lane(lambda a: from_integer(number(a, small), result), result)
    if op in ("fptosi", "fptoui"):
        return per_lane(lambda a: _truncate(a, result, op == "fptosi"), result)
    if op == "truncf" and rounding and rounding != "to_nearest_even":
        return per_lane(lambda a: round_float(a, result, _MODES[rounding]), result)
    if op in ("extf", "truncf"):
        return per_lane(lambda a: round_float(a, result), result)
    return lambda a: _bitcast(a, source, result)


def _truncate(a: float, type_name: str, negative: bool) -> Any:
    """A float without its fraction, which must fit an integer type."""
    bits = width(type_name)
    least, most = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if negative else (0, (1 << bits) - 1)
    if not math.isfinite(a) or not least <= int(a) <= most:
        kind = type_name if negative else f"{type_name} without a sign"
        raise Fault("RUN-CONVERT", f"{a} does not fit {kind}", hint="MLIR leaves the result undefined")
    return wrap(int(a), bits)


def _bitcast(a: Any, source: str, result: str) -> Any:
    """The same bits as another type: in the type's own width, which i1 and odd widths do not have."""
    a = lanes(a)
    if not {source, result} & set(FLOAT_TYPES):
        return per_lane(lambda a: wrap(unsigned(a, width(source)), width(result)), result)(a)
    kind = np.dtype(FLOAT_TYPES.get(source) or f"i{width(source) // 8}")
    patterns = np.asarray(a).astype(kind).view(f"i{kind.itemsize}")
    return lift(patterns.view(FLOAT_TYPES[result]) if result in FLOAT_TYPES else patterns)


def select(type_name: str) -> Fn:
    """The function of ``arith.select``, which changes no bit."""
    kind = _kind(type_name)

    def chosen(c: Any, a: Any, b: Any) -> Any:
        if not isinstance(c, np.ndarray):
            return a if c else b
        return lift(np.where(c, np.asarray(lanes(a), kind), np.asarray(lanes(b), kind)))

    return chosen
