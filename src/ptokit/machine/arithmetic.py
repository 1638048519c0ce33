"""Arithmetic of `arith` on numbers, on scalars that differ between blocks, and on the lanes of threads.

Scalars have shape (lanes,) or (1,), short vectors (lanes, elements) or (1, elements); i1 is bool, index int64, elements
without a NumPy dtype are codes.

Integers are Python ints in the signed range of their type, i1 is a bool; ``index`` has 64 bits and wraps. Floats are
Python floats rounded to their type. Lanes are arrays of the type's own width. What is a number only where blocks agree
is an array where they do not (`ptokit.machine.lanes`), which goes the way of lanes.

Where MLIR leaves a result undefined or poisoned: division by zero (RUN-DIV-ZERO), shifts by the width or more
(RUN-SHIFT) and floats outside the integer type they are converted to (RUN-CONVERT) are findings. The quotient of the
least integer and -1 wraps. A NaN that arithmetic makes, casts between floats included, is the positive quiet one
without further bits: which operand's bits a processor keeps depends on the order it takes them in. ``overflow``,
``exact``, ``nneg`` and ``fastmath`` are promises to a compiler; results are those without them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from ptokit.ir.core import Op, RawAttr
from ptokit.ir.facts import scalar_type
from ptokit.isa.meaning.primitives import PRIMITIVES
from ptokit.isa.scalar import arithmetic
from ptokit.isa.scalar.arithmetic import ARITHMETIC, FLOAT, FLOAT_PREDICATES, UNSIGNED, Arithmetic, read_bits, reading
from ptokit.records import dataclass
from ptokit.types.codecs import FORMATS, signed, unsigned, width, wrap
from ptokit.types.dtypes import FLOAT_TYPES, HALVES, SINGLES, DType, dtype, is_dtype, round_float, round_to_format
from ptokit.types.enums import RoundMode
from ptokit.types.values import Type

from .lanes import Fault, Line, lanes, lift, plain

# How values of threads are held: NumPy arrays of their type's own width, one row for each lane, or one for all.


_VECTOR = re.compile(r"vector<\s*(\d+)\s*x\s*(.+?)\s*>\Z", re.ASCII)
_INTEGER_NAME = re.compile(r"(?:s|u)?i(\d+)\Z", re.ASCII)
_DENSE = re.compile(r"dense<\[?([^\]>]*)\]?>", re.ASCII)


@dataclass(frozen=True)
class Kind:
    """An element type and how many elements a value has; ``count`` 0: a scalar."""

    array: np.dtype
    count: int = 0
    dtype: DType | None = None  # None: i1 and index

    @property
    def nbytes(self) -> int:
        """Of a value in memory."""
        return self.array.itemsize * max(1, self.count)


def kind_of(type: Type) -> Kind | None:
    """How values of a type are held; None for pointers and whatever threads do not compute with."""
    return _named(str(type))


def kind_of_element(element: DType) -> Kind:
    """The same for what a pointer points to."""
    found = _named(element.text)
    assert found is not None
    return found


@cache
def _named(text: str) -> Kind | None:
    vector = _VECTOR.match(text)
    if vector is not None:
        single = _named(vector[2])
        return None if single is None else Kind(single.array, int(vector[1]), single.dtype)
    if text == "index":
        return Kind(np.dtype(np.int64))
    integer = _INTEGER_NAME.match(text)
    if integer is not None and int(integer[1]) not in (8, 16, 32, 64):
        return Kind(np.dtype(np.bool_)) if integer[1] == "1" else None
    if not is_dtype(text):
        return None
    found = dtype(text)
    if found in SINGLES and found not in HALVES:
        single = _named(SINGLES[found].text)
        return None if single is None else Kind(single.array, 2, single.dtype)
    if found.is_integer and integer is not None:
        return Kind(np.dtype(f"i{found.size}"), 0, found)
    if found.name == "f64":
        return Kind(np.dtype(np.float64), 0, found)
    return Kind(found.value or found.storage, 0, found)


def constant(value: Any, kind: Kind) -> np.ndarray:
    """A number of the text, for all lanes."""
    if isinstance(value, RawAttr):
        found = _DENSE.match(value.text)
        assert found is not None, value.text
        numbers = [float(x) for x in found[1].split(",")]
        return np.broadcast_to(np.array(numbers), (1, kind.count)).astype(kind.array)
    if kind.array.kind == "i":
        value = signed(int(value), 8 * kind.array.itemsize)
    with np.errstate(over="ignore"):
        return np.array([value]).astype(kind.array)


# Operations of `arith`, carried out: on Python numbers, on arrays of lanes, and on numbers that differ between
# blocks.


Fn = Callable[..., Any]
Array = np.ndarray

_MODES = {
    "to_nearest_even": RoundMode.RINT,
    "to_nearest_away": RoundMode.ROUND,
    "downward": RoundMode.FLOOR,
    "upward": RoundMode.CEIL,
    "toward_zero": RoundMode.TRUNC,
}


def _undefined(row: Arithmetic, x: Any, type_name: str, bits: int) -> Fault:
    """What is reported of an operand that leaves the result undefined."""
    if row.needs == arithmetic.DIVISOR:
        return Fault(row.needs, f"integer {'remainder' if row.does == 'fmod' else 'division'} by zero")
    if row.needs == arithmetic.COUNT:
        return Fault(row.needs, f"shift by {int(x)} is outside 0..{bits - 1}")
    kind = f"{type_name} without a sign" if row.reads == UNSIGNED else type_name
    return Fault(row.needs, f"{float(x)} does not fit {kind}", hint="MLIR leaves the result undefined")


def _range(row: Arithmetic, bits: int) -> tuple[int, int]:
    """The least integer of a type, and the first one past the greatest."""
    return (0, 1 << bits) if row.reads == UNSIGNED else (-(1 << (bits - 1)), 1 << (bits - 1))


# --- numbers ---------------------------------------------------------------------------------------------------------


def _numbers(row: Arithmetic, predicate: str, source: str, result: str, mode: RoundMode) -> Fn:
    """The function of Python numbers of one type."""
    if row.group == "cast":
        return _cast_number(row, source, result, mode)
    if row.group == "unary":
        return lambda a: -a  # of a NaN, too
    if row.reads == FLOAT:
        return _compared_floats(predicate) if row.group == "compared" else _real(arithmetic.REAL[row.does], result)
    does, reads = reading(row, predicate)
    fn, bits = arithmetic.WHOLE[does], width(source)
    if row.group == "compared":
        out: Fn = bool
    elif row.group == "extended":
        high = width(source) if row.also == "mulhigh" else 1

        def out(x: int) -> tuple[Any, Any]:
            return wrap(x, bits), wrap(x >> bits, high)
    else:

        def out(x: int) -> Any:
            return wrap(x, bits)

    read = read_bits(reads, bits)
    if row.needs:

        def checked(a: Any, b: Any) -> Any:
            x, y = read(a), read(b)
            if arithmetic.refused(row, y, bits):
                raise _undefined(row, y, source, bits)
            return out(fn(x, y))

        return checked
    if reads == UNSIGNED or bits == 1:
        return lambda a, b: out(fn(read(a), read(b)))
    return lambda a, b: out(fn(a, b))


def _real(fn: Fn, type_name: str) -> Fn:
    def rounded(a: Any, b: Any) -> float:
        result = fn(float(a), float(b))
        return round_float(result, type_name) if result == result else math.nan

    return rounded


def _compared_floats(predicate: str) -> Fn:
    does, unordered = FLOAT_PREDICATES[predicate]
    ordered: Fn = arithmetic.REAL.get(does) or (lambda a, b: bool(does))
    return lambda a, b: unordered if a != a or b != b else bool(ordered(a, b))


def _from_integer(x: int, type_name: str) -> float:
    """An integer of any size rounded once to a float type."""
    if type_name != "f64" and abs(x) >> 53:
        shift = abs(x).bit_length() - 53
        odd = abs(x) >> shift | (abs(x) & ((1 << shift) - 1) != 0)  # rounded to odd, so that the next rounding is right
        x = -(odd << shift) if x < 0 else odd << shift
    return round_float(float(x), type_name)


def _cast_number(row: Arithmetic, source: str, result: str, mode: RoundMode) -> Fn:
    if row.does == arithmetic.RESIZED:
        read, bits = read_bits(row.reads, width(source)), width(result)
        return lambda a: wrap(read(a), bits)
    if row.does == arithmetic.TO_FLOAT:
        read = read_bits(row.reads, width(source))
        return lambda a: _from_integer(read(a), result)
    if row.does == arithmetic.ROUNDED:
        return lambda a: round_float(a, result, mode) if a == a else math.nan
    if row.does == arithmetic.SAME_BITS:
        return lambda a: _bits(a, source, result)
    bits = width(result)
    least, end = _range(row, bits)

    def truncated(a: Any) -> Any:
        if not math.isfinite(a) or not least <= int(a) < end:
            raise _undefined(row, a, result, bits)
        return wrap(int(a), bits)

    return truncated


def _bits(a: Any, source: str, result: str) -> Any:
    """The same bits as another type: in the type's own width, which i1 and odd widths do not have."""
    if not {source, result} & set(FLOAT_TYPES):
        return wrap(unsigned(a, width(source)), width(result))
    kind = np.dtype(FLOAT_TYPES.get(source) or f"i{width(source) // 8}")
    pattern = np.asarray(a).astype(kind).view(f"i{kind.itemsize}")
    return plain((pattern.view(FLOAT_TYPES[result]) if result in FLOAT_TYPES else pattern)[()])


# --- arrays of lanes -------------------------------------------------------------------------------------------------


def of_lanes(row: Arithmetic, attrs: Mapping[str, Any], source: np.dtype, result: np.dtype, type_name: str) -> Fn:
    """``f(active, *operands)`` of arrays of the types' own widths, i1 as bool; a tuple where it has two results.

    Operands that leave a result undefined are looked for in the lanes that are active. ``type_name``: of the result.
    Not for ``arith.select``, which also chooses between what is no array.
    """
    predicate = attrs.get("predicate", "")
    if row.group == "cast":
        return _cast_lanes(row, source, result, type_name, _MODES.get(attrs.get("rounding", ""), RoundMode.RINT))
    if row.reads == FLOAT:
        return _compared_reals(predicate) if row.group == "compared" else _reals(row)
    does, reads = reading(row, predicate)
    boolean, bits = source == np.bool_, 1 if source == np.bool_ else 8 * source.itemsize
    fn, high = PRIMITIVES[does].numpy, PRIMITIVES[row.also or does].numpy
    if not (boolean or row.needs or row.also) and reads != UNSIGNED:
        return lambda active, a, b: fn(a, b)

    def run(active: Any, a: Array, b: Array) -> Any:
        a, b = _read(a, reads), _read(b, reads)
        if row.needs:
            wrong = b == 0 if row.needs == arithmetic.DIVISOR else (b < 0) | (b >= bits)
            b = _checked(active, b, wrong, lambda x: _undefined(row, x, type_name, bits))
        with np.errstate(all="ignore"):
            out = fn(a, b)
            if row.group == "compared":
                return out
            if not row.also:
                return _given(out, boolean=boolean)
            above = out >> 1 & 1 if boolean else high(a, b)
        return _given(out, boolean=boolean), _given(above, boolean=boolean or row.also == "carry")

    return run


def _read(x: Array, reads: str) -> Array:
    """Lanes as numbers of a sign; true of a signed i1 is -1."""
    if x.dtype == np.bool_:
        return x.astype(np.uint8) if reads == UNSIGNED else -x.astype(np.int8)
    return x.view(f"u{x.dtype.itemsize}") if reads == UNSIGNED else x


def _given(x: Any, *, boolean: bool) -> Array:
    """Results as lanes hold them."""
    if boolean:
        return np.asarray(x & 1 != 0)
    x = np.asarray(x)
    return x.view(f"i{x.dtype.itemsize}")


def _checked(active: Any, x: Array, wrong: Array, fault: Callable[[Any], Fault]) -> Array:
    """The operand with 1 where it is wrong. Raises `Fault` if an active lane is wrong."""
    if not wrong.any():
        return x
    met = wrong & active
    if met.any():
        raise fault(np.broadcast_to(x, met.shape)[met].flat[0])
    return np.where(wrong, x.dtype.type(1), x)


def _reals(row: Arithmetic) -> Fn:
    fn = PRIMITIVES[row.does].numpy

    def run(active: Any, *operands: Array) -> Array:
        with np.errstate(all="ignore"):
            out = np.asarray(fn(*operands)).astype(operands[0].dtype, copy=False)
        if row.group == "unary":
            return out
        return _one_nan(out)

    return run


def _one_nan(x: Array) -> Array:
    """A NaN that arithmetic makes is the positive quiet one."""
    wrong = x != x
    return np.where(wrong, np.asarray(np.nan, x.dtype), x) if wrong.any() else x


def _compared_reals(predicate: str) -> Fn:
    does, on_nan = FLOAT_PREDICATES[predicate]

    def run(active: Any, a: Array, b: Array) -> Array:
        unordered = (a != a) | (b != b)
        met = PRIMITIVES[does].numpy(a, b) if does in PRIMITIVES else np.full(unordered.shape, bool(does))
        return met | unordered if on_nan else met & ~unordered

    return run


def _cast_lanes(row: Arithmetic, source: np.dtype, to: np.dtype, type_name: str, mode: RoundMode) -> Fn:
    if row.does == arithmetic.RESIZED:

        def resized(active: Any, a: Array) -> Array:
            a = _read(a, row.reads)
            return a & 1 != 0 if to == np.bool_ else a.astype(to)

        return resized
    if row.does == arithmetic.TO_FLOAT:
        return lambda active, a: from_integers(_read(a, row.reads), to, type_name)
    if row.does == arithmetic.ROUNDED:
        return lambda active, a: _one_nan(to_floats(a, to, type_name, mode))
    if row.does == arithmetic.SAME_BITS:
        return lambda active, a: np.ascontiguousarray(a).view(to)
    bits = 1 if to == np.bool_ else 8 * to.itemsize
    least, end = map(float, _range(row, bits))

    def truncated(active: Any, a: Array) -> Array:
        with np.errstate(all="ignore"):
            wide = a.astype(np.float64)
            whole = np.trunc(wide)
        wide = _checked(
            active, wide, ~((whole >= least) & (whole < end)), lambda x: _undefined(row, x, type_name, bits)
        )
        number = np.trunc(wide).astype(np.uint64 if row.reads == UNSIGNED else np.int64)
        return number & 1 != 0 if bits == 1 else number.view(np.int64).astype(to)

    return truncated


def from_integers(a: Array, to: np.dtype, type_name: str) -> Array:
    """Integers of a sign as floats, rounded once."""
    if to == np.float64 or to == np.float32:
        return a.astype(to)
    return to_floats(_odd(a), to, type_name)


def _odd(whole: Array) -> Array:
    """As float64, rounded to odd where 64 bits do not fit, so that the next rounding is right."""
    out = whole.astype(np.float64)
    if whole.dtype.itemsize < 8:
        return out
    magnitude = np.abs(whole).view(np.uint64) if whole.dtype.kind == "i" else whole
    large = magnitude >> np.uint64(53) != 0
    if not large.any():
        return out
    low = np.uint64(2047)
    cut = (magnitude & ~low) | ((magnitude & low) != 0).astype(np.uint64) << np.uint64(11)
    odd = cut.astype(np.float64)
    return np.where(large, np.where(np.less(whole, 0), -odd, odd), out)


def to_floats(a: Array, to: np.dtype, type_name: str, mode: RoundMode = RoundMode.RINT) -> Array:
    """Numbers in a float type, rounded once."""
    if to == a.dtype:
        return a
    with np.errstate(over="ignore", invalid="ignore"):
        if to == np.float64 or (to == np.float32 and a.dtype.itemsize < 4):
            return a.astype(to)
        codes = round_to_format(a.astype(np.float64), FORMATS[type_name], mode, saturate=False)
        return codes.astype(f"u{to.itemsize}").view(to)


# --- numbers that differ between blocks ------------------------------------------------------------------------------


def function(op: Op) -> Fn:
    """The function of an operation's operands, numbers or values by block; of one with two results, both of them."""
    row = ARITHMETIC[op.name]
    source, result = scalar_type(op.values[-1]) or "", scalar_type(op.results[0]) or ""
    if row.group == "chosen":
        return _select(result)
    mode = _MODES.get(op.attrs.get("rounding", ""), RoundMode.RINT)
    one = _numbers(row, op.attrs.get("predicate", ""), source, result, mode)
    held = [_held(scalar_type(r) or "") for r in op.results]
    given, to = _width(source), _width(result)
    if given is None or to is None:  # no array has such numbers
        many = None
    else:
        many = of_lanes(row, op.attrs, given, to, result)

    def apply(*args: Any) -> Any:
        for a in args:
            if isinstance(a, (Line, np.ndarray)):
                break
        else:
            return one(*args)
        if many is not None:
            out = many(True, *(np.asarray(lanes(a)).astype(given, copy=False) for a in args))
        else:
            columns = np.broadcast_arrays(*(np.atleast_1d(lanes(a)) for a in args))
            rows = [one(*map(plain, row)) for row in zip(*columns)]
            out = tuple(zip(*rows)) if len(held) > 1 else rows
        if len(held) > 1:
            return tuple(lift(np.asarray(x).astype(kind, copy=False)) for x, kind in zip(out, held))
        return lift(np.asarray(out).astype(held[0], copy=False))

    return apply


def _width(type_name: str) -> np.dtype | None:
    """The type of arrays of its own width; None for integers of odd widths."""
    if type_name in FLOAT_TYPES:
        return np.dtype(FLOAT_TYPES[type_name])
    bits = width(type_name)
    return np.dtype(np.bool_) if bits == 1 else np.dtype(f"i{bits // 8}") if bits in (8, 16, 32, 64) else None


def _held(type_name: str) -> np.dtype:
    """The type of arrays with a number for each block."""
    return np.dtype(FLOAT_TYPES.get(type_name) or (np.bool_ if type_name == "i1" else np.int64))


def _select(type_name: str) -> Fn:
    """The function of ``arith.select``, which changes no bit."""
    kind = _held(type_name)

    def chosen(c: Any, a: Any, b: Any) -> Any:
        if not isinstance(c, np.ndarray):
            return a if c else b
        return lift(np.where(c, np.asarray(lanes(a), kind), np.asarray(lanes(b), kind)))

    return chosen


# --- expressions -----------------------------------------------------------------------------------------------------

_INLINE = frozenset("and or xor max min eq ne lt le gt ge".split())
"""Primitives whose words are Python that needs no wrapping."""


def inline(op: Op, args: Sequence[str], *, varying: bool) -> str | None:
    """The Python expression for operands `args`; None where it takes a function. ``varying``: they differ by block."""
    row, result, source = ARITHMETIC[op.name], scalar_type(op.result) or "", scalar_type(op.values[0]) or ""
    if row.group == "binary" and row.does in ("add", "sub", "mul") and result == "index":
        found = f"(w := {PRIMITIVES[row.does].words.format(*args)})"
        least, most = -1 << 63, 1 << 63
        # by block, as it may be
        fits = f"type{found} is not int or {least} <= w < {most}" if varying else f"{least} <= {found} < {most}"
        return f"w if {fits} else wrapped(w, 64)"
    if row.does == arithmetic.RESIZED and source != result and {source, result} == {"i64", "index"}:
        return args[0] if row.reads == arithmetic.SIGNED else None
    if varying:
        return None
    if source == "i1":
        return f"{args[1]} if {args[0]} else {args[2]}" if row.group == "chosen" else None
    if row.reads == arithmetic.SIGNED and row.group in ("binary", "compared"):
        does, reads = reading(row, op.attrs.get("predicate", ""))
        return PRIMITIVES[does].words.format(*args) if reads != UNSIGNED and does in _INLINE else None
    return None
