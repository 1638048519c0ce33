"""Numbers of a kernel: Python operators on them record `arith` operations.

Python numbers stay Python numbers until they meet a traced one. Sums keep their affine form, so that ``(r + 64) - r``
is the Python integer 64 and a slice ``g[r:r + 64]`` has a static size. ``//`` rounds down and ``%`` has the sign of the
divisor, as everywhere in Python; C++ and ``arith.divsi`` round toward zero.
"""

from __future__ import annotations

import sys
from functools import partial
from typing import Any, NoReturn

import ml_dtypes
import numpy as np

from ptokit.ir import Value
from ptokit.types.dtypes import DType
from ptokit.types.values import F32, I1, INDEX, in_python
from ptokit.types.values import Scalar as ScalarType

from . import eager, rules
from .eager import (
    Condition,
    Held,
    Index,
    Real,
    of_kernel,
    type_of,
)
from .rules import here, is_item, refusal
from .trace import current, tracing

Terms = dict[Value, int]
_BF16 = ml_dtypes.bfloat16

_SYMBOLS = {
    "eq": "==",
    "ne": "!=",
    "slt": "<",
    "sle": "<=",
    "sgt": ">",
    "sge": ">=",
}
_UNSIGNED = {
    "arith.floordivsi": "arith.divui",
    "arith.ceildivsi": "arith.ceildivui",
    "arith.shrsi": "arith.shrui",
    "arith.minsi": "arith.minui",
    "arith.maxsi": "arith.maxui",
}
_FLOAT_PREDICATES = {"eq": "oeq", "ne": "une", "slt": "olt", "sle": "ole", "sgt": "ogt", "sge": "oge"}


class Scalar:
    """A number that only the run knows: a parameter, a loop variable, a block index, or a result of arithmetic.

    ``type`` is its `.pto` type (``index``, ``i1``, ``i32``, ``f32`` …). Operators need another traced number of the
    same kind or a Python number; comparisons give an ``i1`` for `pto.if_` and `pto.select`. Using it where Python
    needs a value (``if``, ``int()``, ``range()``, ``and``) raises `DiagnosticError` (LANG-SCALAR).
    """

    __slots__ = ("value", "_terms", "_offset")

    def __init__(self, value: Value, terms: Terms | None = None, offset: int = 0) -> None:
        self.value = value
        self._terms = {value: 1} if terms is None else terms
        self._offset = offset

    @property
    def type(self) -> ScalarType:
        """Its `.pto` type."""
        return self.value.type  # type: ignore[return-value]

    __array_ufunc__ = None  # NumPy's numbers leave operators to this class

    def __repr__(self) -> str:
        return eager.text_of(self, f"<{in_python(self.type)} {self.value.shown}>")

    def __format__(self, form: str) -> str:
        return format(eager.text_of(self, f"<{in_python(self.type)} {self.value.shown}>"), form)

    __str__ = __repr__

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__") or not of_kernel(sys._getframe(1)):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        raise refusal(rules.SCALAR, f"{self!r} has no {name!r} while the kernel is compiled")

    def __round__(self, digits: Any = None) -> Any:
        if digits is not None or self.type.is_float:
            raise refusal(rules.SCALAR, f"round() of {self!r} cannot be compiled", hint="use pto.cast(x, pto.index)")
        return _counted(self)

    def __hash__(self) -> NoReturn:
        raise refusal(
            rules.SCALAR,
            f"{self!r} has no value while the kernel is traced, so no set or dictionary can be asked for it",
            hint="compare it: x == 5 or x == 6",
        )

    def __add__(self, other: Any) -> Any:
        return _sum(self, other, 1)

    def __radd__(self, other: Any) -> Any:
        return _sum(other, self, 1)

    def __sub__(self, other: Any) -> Any:
        return _sum(self, other, -1)

    def __rsub__(self, other: Any) -> Any:
        return _sum(other, self, -1)

    def __mul__(self, other: Any) -> Any:
        return _product(self, other)

    def __rmul__(self, other: Any) -> Any:
        return _product(other, self)

    def __floordiv__(self, other: Any) -> Any:
        return integer("arith.floordivsi", "//", self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return integer("arith.floordivsi", "//", other, self)

    def __mod__(self, other: Any) -> Any:
        return _modulo(self, other)

    def __rmod__(self, other: Any) -> Any:
        return _modulo(other, self)

    def __truediv__(self, other: Any) -> Any:
        return _quotient(self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return _quotient(other, self)

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __abs__(self) -> Scalar:
        x = _counted(self)
        if eager.is_unsigned(x.type):
            return x
        return binary("arith.maximumf" if x.type.is_float else "arith.maxsi", "abs()", x, -x)

    def __pow__(self, other: Any, modulus: Any = None) -> NoReturn:
        raise refusal(
            rules.SCALAR, f"** of {self!r} cannot be compiled", hint="multiply: x * x; a power of two is 1 << n"
        )

    __rpow__ = __pow__

    def __and__(self, other: Any) -> Any:
        return integer("arith.andi", "&", self, other)

    def __rand__(self, other: Any) -> Any:
        return integer("arith.andi", "&", other, self)

    def __or__(self, other: Any) -> Any:
        return integer("arith.ori", "|", self, other)

    def __ror__(self, other: Any) -> Any:
        return integer("arith.ori", "|", other, self)

    def __xor__(self, other: Any) -> Any:
        return integer("arith.xori", "^", self, other)

    def __rxor__(self, other: Any) -> Any:
        return integer("arith.xori", "^", other, self)

    def __lshift__(self, other: Any) -> Any:
        return integer("arith.shli", "<<", self, other)

    def __rlshift__(self, other: Any) -> Any:
        return integer("arith.shli", "<<", other, self)

    def __rshift__(self, other: Any) -> Any:
        return integer("arith.shrsi", ">>", self, other)

    def __rrshift__(self, other: Any) -> Any:
        return integer("arith.shrsi", ">>", other, self)

    def __neg__(self) -> Any:
        return self * -1.0 if self.type.is_float else _sum(0, self, -1)

    def __pos__(self) -> Any:
        return _counted(self)

    def __invert__(self) -> Any:
        ones = (1 << eager.bits_of(self.type)) - 1 if eager.is_unsigned(self.type) else -1
        return self ^ (True if self.type == I1 else ones)

    def __eq__(self, other: object) -> Any:
        return _compare("eq", self, other)

    def __ne__(self, other: object) -> Any:
        return _compare("ne", self, other)

    def __lt__(self, other: Any) -> Any:
        return _compare("slt", self, other)

    def __le__(self, other: Any) -> Any:
        return _compare("sle", self, other)

    def __gt__(self, other: Any) -> Any:
        return _compare("sgt", self, other)

    def __ge__(self, other: Any) -> Any:
        return _compare("sge", self, other)

    def __bool__(self) -> NoReturn:
        raise refusal(
            rules.SCALAR,
            f"{self!r} has no truth value while the kernel is traced",
            hint="decide in an if, while or conditional expression of the kernel, or with pto.select(c, a, b), "
            "pto.minimum, pto.maximum, and & | ~ on conditions",
        )

    def __index__(self) -> NoReturn:
        if is_item(here()):
            message = f"a list is indexed by {self!r}, a number that only the run knows"
            hint = "unroll the loop with pto.static_range, or annotate the parameter with pto.Static"
        else:
            message = f"{self!r} has no value while the kernel is compiled, so it cannot become a Python integer"
            hint = "for a size that must be static, annotate the parameter with pto.Static, or use pto.static_range"
        raise refusal(rules.SCALAR, message, hint=hint)

    __int__ = __index__

    def __float__(self) -> NoReturn:
        raise refusal(
            rules.SCALAR,
            f"{self!r} has no value while the kernel is compiled, so it cannot become a Python float",
            hint="use pto.cast(x, pto.f32)",
        )


def number(value: Value) -> Any:
    """The number of an SSA value: a traced one, or a Python number in an eager session."""
    return value.held if isinstance(value, Held) else Scalar(value)


def is_number(x: object) -> bool:
    """True for Python and NumPy numbers and traced ones, but not for booleans."""
    return isinstance(x, Scalar | int | float | np.integer | np.floating) and not isinstance(x, bool)


def number_type(x: object) -> ScalarType | None:
    """The type of a number of the kernel, traced or of an eager session; None for Python's own numbers."""
    if isinstance(x, Scalar):
        return x.type
    trace = tracing()
    return type_of(x) if trace is not None and trace.eager else None


def plain(x: Any) -> Any:
    """A NumPy number as a Python number; anything else as it is."""
    if isinstance(x, np.generic):
        return x.item() if not isinstance(x, _BF16) else float(x)
    if isinstance(x, Index):
        return bool(x) if isinstance(x, Condition) else int(x)
    return float(x) if isinstance(x, Real) else x


def materialize(x: Any, type: ScalarType) -> Value:
    """The SSA value of a number, of this type exactly. Refuses what does not fit (LANG-SCALAR)."""
    source = number_type(x)
    x = plain(x)
    if isinstance(x, Scalar):
        return x.value if x.type == type else _widen(x, type).value
    if isinstance(x, int) and type.is_integer and source is not None and source != type and INDEX in (source, type):
        x = eager.wrapped(x, type)
    constant = partial(current("a number").constant, type=type, computed=source is not None)
    if isinstance(x, bool) and type == I1:
        return constant(x)
    if isinstance(x, int):  # True is 1
        x = int(x)
        eager.check_range(x, type)
        if type.is_float:
            return constant(float(x))
        return constant(eager.wrapped(x, type))  # 2**64 - 1 is the index -1
    if isinstance(x, float) and type.is_float:
        return constant(x)
    raise refusal(rules.SCALAR, f"{x!r} is not a number of type {type}")


def _widen(x: Scalar, type: ScalarType) -> Scalar:
    """An integer as a wider one or as index; other changes of type are written with `pto.cast`."""
    if x.type.is_integer and type.is_integer and I1 not in (x.type, type):
        if INDEX in (x.type, type):
            return cast(x, type)
        if eager.bits_of(type) > eager.bits_of(x.type):
            return cast(x, type)
    raise refusal(
        rules.SCALAR, f"{x!r} is used where {type} is needed", hint=f"convert it: pto.cast(x, {eager.spelling(type)})"
    )


def cast(x: Any, type: DType | ScalarType) -> Any:
    """A number converted to another type: ``pto.index``, ``pto.i32``, ``pto.f32`` …

    Integers wrap or extend by sign; float to integer rounds toward zero. Python numbers become constants of the type.
    """
    to = eager.scalar_type(type)
    source = number_type(x)
    if source is None:
        value = int(x) if to.is_integer and isinstance(plain(x), float) else x
        return number(materialize(value, to))
    if source == to:
        return x
    name = eager.cast_name(source, to)
    if name is None:  # index and floats meet through i64
        return cast(cast(x, ScalarType("i64")), to)
    return number(current("pto.cast").emit(name, {"in": materialize(x, source)}, results=[to]).result)


def common_type(a: Any, b: Any, what: str) -> ScalarType:
    """The type in which two operands meet; at least one of them has one. Refuses mixtures (LANG-SCALAR)."""
    for x in (a, b):
        if hasattr(type(x), "no_arithmetic"):
            raise x.no_arithmetic(what)
        if not isinstance(x, Scalar) and not isinstance(plain(x), int | float):
            raise refusal(rules.SCALAR, f"{what} needs numbers, not {type(x).__name__}")
    one, other = number_type(a), number_type(b)
    if one is None or other is None:
        kind, constant = (one, b) if one is not None else (other, a)
        assert kind is not None
        if isinstance(plain(constant), float) and kind.is_integer:
            raise refusal(
                rules.SCALAR,
                f"{what} mixes {kind} and the Python float {constant!r}",
                hint="convert the integer: pto.cast(x, pto.f32)",
            )
        return kind
    if one == other:
        return one
    if one.is_integer and other.is_integer and I1 not in (one, other):
        return eager.wider(one, other)
    raise refusal(rules.SCALAR, f"{what} mixes {one} and {other}", hint="convert one of them with pto.cast")


def binary(name: str, what: str, a: Any, b: Any, terms: Terms | None = None, offset: int = 0) -> Scalar:
    """The result of an operation on two numbers; ``name``: as it is called for signed ones."""
    type = common_type(a, b, what)
    name = _UNSIGNED.get(name, name) if eager.is_unsigned(type) else name
    operands = {"lhs": materialize(a, type), "rhs": materialize(b, type)}
    result = current(what).emit(name, operands, results=[type]).result
    return number(result) if isinstance(result, Held) else Scalar(result, terms, offset)


def integer(name: str, what: str, a: Any, b: Any) -> Scalar:
    if what not in ("&", "|", "^") or not (_is_condition(a) and _is_condition(b)):
        a, b = _counted(a, b), _counted(b, a)
    if common_type(a, b, what).is_float:
        hint = "use / for floats" if what == "//" else "convert the float: pto.cast(x, pto.index)"
        raise refusal(rules.SCALAR, f"{what} needs integers", hint=hint)
    if name in ("arith.floordivsi", "arith.ceildivsi") and number_type(b) is None and plain(b) == 0:
        raise refusal(rules.SCALAR, f"{what} by zero")
    return binary(name, what, a, b)


def _is_condition(x: Any) -> bool:
    return isinstance(x, bool) or number_type(x) == I1


def _counted(x: Any, other: Any = 0) -> Any:
    """A condition as 0 or 1, which it is in arithmetic with `other`; any other number as it is."""
    if not _is_condition(x):
        return x if number_type(x) is not None else plain(x)
    if number_type(x) is None:
        return int(x)
    kind = number_type(other)
    if kind is None and isinstance(plain(other), float):
        kind = F32
    return cast(x, kind if kind is not None and kind.is_float else INDEX)


_EAGER = {
    "add": ("arith.addi", "+"),
    "sub": ("arith.subi", "-"),
    "mul": ("arith.muli", "*"),
    "floordiv": ("arith.floordivsi", "//"),
    "and": ("arith.andi", "&"),
    "or": ("arith.ori", "|"),
    "xor": ("arith.xori", "^"),
    "lshift": ("arith.shli", "<<"),
    "rshift": ("arith.shrsi", ">>"),
}


_PYTHON = {"truediv": "/", "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


def _constant(x: int, type: ScalarType) -> Any:
    """A Python integer as a number of the type. Refuses what does not fit (LANG-SCALAR)."""
    return number(materialize(x, type))


def _checked(name: str, a: Any, b: Any) -> Any:
    """What a Python operator, ``__add__``, gives for integers of an eager session, with all checks of a kernel."""
    operator = name.strip("_")
    if operator not in (*_EAGER, "mod"):  # of numbers that do not mix
        common_type(a, b, _PYTHON.get(operator, operator))
    return _modulo(a, b) if operator == "mod" else integer(*_EAGER[operator], a, b)


def _modulo(a: Any, b: Any) -> Any:
    """The remainder of a division that rounds down, as in Python."""
    a, b = _counted(a, b), _counted(b, a)
    if isinstance(b, int) and b > 0 and b & (b - 1) == 0:
        return integer("arith.andi", "%", a, b - 1)
    return a - integer("arith.floordivsi", "%", a, b) * b


def _quotient(a: Any, b: Any) -> Scalar:
    a, b = _counted(a, b), _counted(b, a)
    if common_type(a, b, "/").is_integer:
        raise refusal(rules.SCALAR, "/ needs floats", hint="use // for integers, or pto.cast(x, pto.f32)")
    return binary("arith.divf", "/", a, b)


def _affine(x: Any) -> tuple[Terms, int]:
    return (x._terms, x._offset) if isinstance(x, Scalar) else ({}, x)


def _known(terms: Terms, offset: int) -> Any:
    """The number that an affine form is without any operation, or None."""
    if not terms:
        return offset
    if offset == 0 and len(terms) == 1:
        ((value, factor),) = terms.items()
        return Scalar(value) if factor == 1 else None
    return None


def _sum(a: Any, b: Any, sign: int) -> Any:
    a, b = _counted(a, b), _counted(b, a)
    what = "+" if sign > 0 else "-"
    type = common_type(a, b, what)
    if type.is_float:
        return binary("arith.addf" if sign > 0 else "arith.subf", what, a, b)
    if isinstance(a, Scalar) and isinstance(b, Scalar) and a.type != b.type:
        a, b = (Scalar(materialize(x, type)) for x in (a, b))
    if isinstance(b, int) and b == 0:
        return a
    if isinstance(a, int) and a == 0 and sign > 0:
        return b
    (left, p), (right, q) = _affine(a), _affine(b)
    terms = dict(left)
    for value, factor in right.items():
        terms[value] = terms.get(value, 0) + sign * factor
    terms = {value: factor for value, factor in terms.items() if factor}
    offset = p + sign * q
    known = _known(terms, offset)
    if known is not None:
        return known
    return binary("arith.addi" if sign > 0 else "arith.subi", what, a, b, terms, offset)


def _product(a: Any, b: Any) -> Any:
    a, b = _counted(a, b), _counted(b, a)
    if common_type(a, b, "*").is_float:
        return binary("arith.mulf", "*", a, b)
    if isinstance(a, Scalar) and isinstance(b, Scalar):
        return binary("arith.muli", "*", a, b)
    traced, factor = (a, b) if isinstance(a, Scalar) else (b, a)
    if factor == 1:
        return traced
    terms = {value: f * factor for value, f in traced._terms.items() if f * factor}
    offset = traced._offset * factor
    known = _known(terms, offset)
    if known is not None:
        return known
    return binary("arith.muli", "*", a, b, terms, offset)


def _compare(predicate: str, a: Any, b: Any) -> Any:
    if predicate not in ("eq", "ne") or not (_is_condition(a) and _is_condition(b)):
        a, b = _counted(a, b), _counted(b, a)
    what = _SYMBOLS[predicate]
    type = common_type(a, b, what)
    operands = {"lhs": materialize(a, type), "rhs": materialize(b, type)}
    name = "arith.cmpf" if type.is_float else "arith.cmpi"
    if type.is_float:
        predicate = _FLOAT_PREDICATES[predicate]
    elif eager.is_unsigned(type):
        predicate = predicate.replace("s", "u")
    attrs = {"predicate": predicate}
    return Scalar(current(what).emit(name, operands, attrs, [I1]).result)


Index.checked = staticmethod(_checked)
Index.constant = staticmethod(_constant)
