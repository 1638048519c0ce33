"""`arith` on arrays of lanes: the meaning that `ptokit.run.machine.scalars` has for single numbers.

Divisions by zero, shifts by the width or more and conversions that do not fit are findings there, and are looked for
here in the lanes that are active.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ptokit.ir.core import Op
from ptokit.run.fault import Fault
from ptokit.run.machine.paths import merge
from ptokit.types.codecs import FORMATS
from ptokit.types.enums import RoundMode
from ptokit.types.rounding import round_to_format

from .kinds import Kind, kind_of

Array = np.ndarray
_MODES = {
    "to_nearest_even": RoundMode.RINT,
    "to_nearest_away": RoundMode.ROUND,
    "downward": RoundMode.FLOOR,
    "upward": RoundMode.CEIL,
    "toward_zero": RoundMode.TRUNC,
}


def _unsigned(x: Array) -> Array:
    return x if x.dtype == np.bool_ else x.view(f"u{x.dtype.itemsize}")


def _signed(x: Array) -> Array:
    return x if x.dtype == np.bool_ else x.view(f"i{x.dtype.itemsize}")


def _toward_zero(a: Array, b: Array) -> Array:
    q = np.floor_divide(a, b)
    out: Array = q + ((q * b != a) & ((a < 0) != (b < 0)))
    return out


def _up(a: Array, b: Array) -> Array:
    q = np.floor_divide(a, b)
    out: Array = q + (q * b != a)
    return out


def _extreme(pick: Callable[..., Array], sign: bool, *, number: bool) -> Callable[..., Array]:
    """NaN if one is, or with ``number`` the other one; +0 is greater than -0."""

    def run(a: Array, b: Array) -> Array:
        zero = (a == 0) & (b == 0)
        both = np.where(np.signbit(a) == sign, a, b)
        out = np.where(zero, both, pick(a, b))
        if number:
            return np.where(a != a, b, np.where(b != b, a, out))
        return np.where(a != a, a, np.where(b != b, b, out))

    return run


_INTEGER: dict[str, Callable[..., Any]] = {
    "addi": np.add,
    "subi": np.subtract,
    "muli": np.multiply,
    "divsi": _toward_zero,
    "remsi": lambda a, b: a - _toward_zero(a, b) * b,
    "floordivsi": np.floor_divide,
    "ceildivsi": _up,
    "divui": lambda a, b: np.floor_divide(_unsigned(a), _unsigned(b)),
    "remui": lambda a, b: np.remainder(_unsigned(a), _unsigned(b)),
    "ceildivui": lambda a, b: _up(_unsigned(a), _unsigned(b)),
    "andi": np.bitwise_and,
    "ori": np.bitwise_or,
    "xori": np.bitwise_xor,
    "shli": np.left_shift,
    "shrsi": np.right_shift,
    "shrui": lambda a, b: np.right_shift(_unsigned(a), _unsigned(b)),
    "maxsi": np.maximum,
    "minsi": np.minimum,
    "maxui": lambda a, b: np.maximum(_unsigned(a), _unsigned(b)),
    "minui": lambda a, b: np.minimum(_unsigned(a), _unsigned(b)),
}
_FLOAT: dict[str, Callable[..., Any]] = {
    "addf": np.add,
    "subf": np.subtract,
    "mulf": np.multiply,
    "divf": np.divide,
    "remf": np.fmod,
    "maximumf": _extreme(np.maximum, False, number=False),
    "minimumf": _extreme(np.minimum, True, number=False),
    "maxnumf": _extreme(np.fmax, False, number=True),
    "minnumf": _extreme(np.fmin, True, number=True),
}
_COMPARE: dict[str, Callable[..., Any]] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}
_DIVISIONS = frozenset(("divsi", "remsi", "floordivsi", "ceildivsi", "divui", "remui", "ceildivui"))
_SHIFTS = frozenset(("shli", "shrsi", "shrui"))


def function(op: Op) -> Callable[..., Any] | None:
    """``f(active, *operands)``: the operation; a tuple where it has two results, None where there is none."""
    name = op.name.removeprefix("arith.")
    kinds = [kind_of(v.type) for v in op.values]
    results = [kind_of(r.type) for r in op.results]
    if not kinds or not results or None in kinds or None in results:
        return None
    kind, result = kinds[0], results[0]
    assert kind is not None
    assert result is not None
    if name in _INTEGER:
        return _integer(name, result)
    if name in _FLOAT:
        return _plain_float(_FLOAT[name])
    if name in ("cmpi", "cmpf"):
        return _compare(name, op.attrs["predicate"])
    if name == "select":
        return _select
    if name == "negf":
        return lambda active, a: np.negative(a)
    if name.endswith("_extended"):
        return _extended(name, result)
    return _cast(name, kind, result, op.attrs.get("rounding", ""))


def _integer(name: str, kind: Kind) -> Callable[..., Array]:
    fn, bits = _INTEGER[name], 8 * kind.array.itemsize
    boolean = kind.array == np.bool_

    def run(active: Array, a: Array, b: Array) -> Array:
        if boolean:
            a, b = (-x.astype(np.int8) for x in (a, b))
        if name in _DIVISIONS:
            b = _checked(active, b, b == 0, "RUN-DIV-ZERO", "integer division by zero")
        elif name in _SHIFTS:
            wrong = (b < 0) | (b >= (1 if boolean else bits))
            b = _checked(active, b, wrong, "RUN-SHIFT", f"shift by the width of {bits} bits or more")
        with np.errstate(over="ignore"):
            out = _signed(fn(a, b))
        return out & 1 != 0 if boolean else out

    return run


def _checked(active: Array, x: Array, wrong: Array, rule: str, message: str) -> Array:
    """The operand with 1 where it is wrong. Raises `Fault` if an active lane is wrong."""
    if not wrong.any():
        return x
    if (wrong & active).any():
        raise Fault(rule, message)
    return np.where(wrong, x.dtype.type(1), x)


def _plain_float(fn: Callable[..., Any]) -> Callable[..., Array]:
    def run(active: Array, a: Array, b: Array) -> Array:
        with np.errstate(all="ignore"):
            out = np.asarray(fn(a, b))
            if a.dtype.name == "bfloat16" and out.dtype != a.dtype:
                out = out.astype(a.dtype)
        return _one_nan(out)

    return run


def _one_nan(x: Array) -> Array:
    """A NaN that arithmetic makes is the positive quiet one."""
    wrong = x != x
    return np.where(wrong, np.asarray(np.nan, x.dtype), x) if wrong.any() else x


def _compare(name: str, predicate: str) -> Callable[..., Array]:
    if name == "cmpi":
        fn, without = _COMPARE[predicate[-2:]], predicate.startswith("u")

        def integers(active: Array, a: Array, b: Array) -> Array:
            if a.dtype == np.bool_ and not without and predicate not in ("eq", "ne"):
                a, b = -a.astype(np.int8), -b.astype(np.int8)
            return np.asarray(fn(_unsigned(a), _unsigned(b)) if without else fn(a, b))

        return integers

    def floats(active: Array, a: Array, b: Array) -> Array:
        unordered = (a != a) | (b != b)
        if predicate in ("true", "false"):
            return np.full(unordered.shape, predicate == "true")
        if predicate in ("ord", "uno"):
            return unordered == (predicate == "uno")
        met = _COMPARE[predicate[1:]](a, b)
        return met | unordered if predicate.startswith("u") else met & ~unordered

    return floats


def _select(active: Array, c: Array, a: Any, b: Any) -> Any:
    return merge(c, a, b)


def _extended(name: str, kind: Kind) -> Callable[..., tuple[Array, Array]]:
    bits = 8 * kind.array.itemsize
    sign = name.startswith("mulsi")

    def run(active: Array, a: Array, b: Array) -> tuple[Array, Array]:
        with np.errstate(over="ignore"):
            if name.startswith("addui"):
                low = a + b
                return low, _unsigned(low) < _unsigned(a)
            return a * b, high_half(a, b, bits, signed=sign)

    return run


def high_half(a: Array, b: Array, bits: int, *, signed: bool) -> Array:
    """The upper `bits` bits of products of integers of that width."""
    if bits < 64:
        wide = [x.astype(np.int64) if signed else _unsigned(x).astype(np.uint64) for x in (a, b)]
        out: Array = (wide[0] * wide[1] >> wide[0].dtype.type(bits)).astype(a.dtype)
        return out
    x, y = a.view(np.uint64), b.view(np.uint64)
    low, up = np.uint64(0xFFFFFFFF), np.uint64(32)
    x0, x1, y0, y1 = x & low, x >> up, y & low, y >> up
    with np.errstate(over="ignore"):
        middle = x1 * y0 + (x0 * y0 >> up)
        high = x1 * y1 + (middle >> up) + ((middle & low) + x0 * y1 >> up)
        if signed:
            high = high - np.where(a < 0, y, np.uint64(0)) - np.where(b < 0, x, np.uint64(0))
    return high.view(np.int64)


def _cast(name: str, source: Kind, result: Kind, rounding: str) -> Callable[..., Array] | None:
    to = result.array
    if name in ("index_cast", "extsi", "trunci"):

        def widened(active: Array, a: Array) -> Array:
            if to == np.bool_:
                return a.astype(np.int64) & 1 != 0
            return -a.astype(to) if a.dtype == np.bool_ else a.astype(to)

        return widened
    if name in ("extui", "index_castui"):
        return lambda active, a: _unsigned(a).astype(to)
    if name in ("sitofp", "uitofp"):
        return lambda active, a: from_integers(a, result, signed=name == "sitofp")
    if name in ("fptosi", "fptoui"):

        def truncated(active: Array, a: Array) -> Array:
            bits = 8 * to.itemsize
            least, most = (-(2.0 ** (bits - 1)), 2.0 ** (bits - 1)) if name == "fptosi" else (0.0, 2.0**bits)
            whole = np.trunc(a.astype(np.float64))
            wrong = ~((whole >= least) & (whole < most))
            whole = _checked(active, whole, wrong, "RUN-CONVERT", f"a number does not fit {bits} bits")
            return whole.astype(f"u{to.itemsize}" if name == "fptoui" else to).view(to)

        return truncated
    if name in ("extf", "truncf"):
        mode = _MODES.get(rounding, RoundMode.RINT)
        return lambda active, a: to_floats(a, result, mode, saturate=False)
    if name == "bitcast":
        return lambda active, a: np.ascontiguousarray(a).view(to)
    return None


def from_integers(a: Array, kind: Kind, *, signed: bool, mode: RoundMode = RoundMode.RINT) -> Array:
    """Integers as floats, rounded once."""
    whole = a if signed else _unsigned(a)
    if a.dtype == np.bool_:
        whole = -a.astype(np.int8) if signed else a
    if kind.array == np.float64 or (kind.array == np.float32 and mode is RoundMode.RINT):
        return whole.astype(kind.array)
    return to_floats(_odd(whole), kind, mode, saturate=False)


def _odd(whole: Array) -> Array:
    """As float64, rounded to odd where 64 bits do not fit, so that the next rounding is right."""
    out = whole.astype(np.float64)
    if whole.dtype.itemsize < 8:
        return out
    magnitude = np.abs(whole.astype(np.int64)).view(np.uint64) if whole.dtype.kind == "i" else whole
    large = magnitude >> np.uint64(53) != 0
    if not large.any():
        return out
    cut = (magnitude >> np.uint64(11) << np.uint64(11)) | ((magnitude & np.uint64(2047)) != 0).astype(
        np.uint64
    ) << np.uint64(11)
    odd = cut.astype(np.float64)
    return np.where(large, np.where(np.less(whole, 0), -odd, odd), out)


def to_floats(a: Array, kind: Kind, mode: RoundMode = RoundMode.RINT, *, saturate: bool) -> Array:
    """Numbers in a float type, rounded once."""
    if kind.array == a.dtype:
        return a
    with np.errstate(over="ignore", invalid="ignore"):
        exact = kind.array == np.float64 or (a.dtype.itemsize < kind.array.itemsize and kind.array == np.float32)
        if exact:
            return a.astype(kind.array)
        assert kind.dtype is not None
        codes = round_to_format(a.astype(np.float64), FORMATS[kind.dtype.name], mode, saturate=saturate)
        return codes.astype(kind.dtype.storage).view(kind.array)
