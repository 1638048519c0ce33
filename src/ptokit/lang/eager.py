"""Types of numbers of a kernel, numbers of an eager session, and what Python may ask of those that only a run knows."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable
from functools import cache
from types import FrameType
from typing import Any, ClassVar

import numpy as np

from ptokit.diagnostics import UNKNOWN_LOCATION, Location
from ptokit.ir import Block, Op, Value
from ptokit.types.codecs import unsigned, width, wrap
from ptokit.types.dtypes import FLOAT_TYPES, DType, dtype, is_dtype, round_float
from ptokit.types.values import I1, INDEX, Type
from ptokit.types.values import Scalar as ScalarType

from . import rules
from .rules import refusal

# Values of an eager session: they carry their contents.


class Held(Value):
    """A value with its run-time object: a tile, a view or pointer of global memory, a Python number.

    ``session`` is the session that made it; no other one takes it. ``stated``: a number that is a constant when the
    kernel is compiled.
    """

    __slots__ = ("held", "session", "stated")

    def __init__(
        self,
        type: Type,
        name: str = "",
        owner: Op | Block | None = None,
        location: Location = UNKNOWN_LOCATION,
        called: str = "",
        *,
        session: Any,
        held: Any = None,
        stated: bool = False,
    ) -> None:
        super().__init__(type, name, owner, location, called)
        self.session = session
        self.held = held
        self.stated = stated


def held(value: Any) -> Any:
    """The contents of a value of a session; lists become tuples, None stays None."""
    if isinstance(value, list):
        return tuple(held(item) for item in value)
    return value.held if isinstance(value, Held) else None


# Numbers of an eager session: Python numbers that compute as the kernel's own numbers of the same type do.


class Index(int):
    """An integer of the kernel: arithmetic wraps as its type does, comparisons give conditions that ``~`` negates."""

    type = INDEX
    checked: ClassVar[Callable[[str, Any, Any], Any]]
    """What an operator gives where Python alone does not tell; `scalar` sets both."""
    constant: ClassVar[Callable[[int, ScalarType], Any]]
    """A Python integer as a number of a type, refused if it does not fit."""

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __round__(self, digits: Any = None) -> Any:
        return self if digits is None else int.__round__(self, digits)

    def __repr__(self) -> str:
        return int.__repr__(self)


def fixed(size: object) -> bool:
    """True for an integer of Python; one of the kernel is a matter of the run, in an interpreted kernel too."""
    return isinstance(size, int) and not isinstance(size, Index)


@cache
def _integers(type: ScalarType) -> type[Index]:
    """The class of the integers of a type."""
    return Index if type == INDEX else builtins.type(f"Index_{type.name}", (Index,), {"type": type})


def wider(a: ScalarType, b: ScalarType) -> ScalarType:
    """The type in which two integers meet: index if one is, otherwise the one of more bits."""
    return INDEX if INDEX in (a, b) else max(a, b, key=lambda type: width(type.name))


def wrapped(value: int, type: ScalarType) -> int:
    """A number wrapped to the range of an integer type."""
    return (unsigned if type.name.startswith("ui") else wrap)(value, width(type.name))


BF16 = ScalarType("bf16")


class Condition(Index):
    """A condition of the kernel: ``~`` negates it, and in arithmetic it counts 0 or 1, as Python's booleans do."""

    type = I1

    def __repr__(self) -> str:
        return repr(bool(self))

    def __invert__(self) -> Condition:
        return Condition(not self)

    __hash__ = int.__hash__


class Real(float):
    """A float of the kernel: arithmetic rounds to its type, comparisons give conditions."""

    type = BF16

    def __repr__(self) -> str:
        kind = FLOAT_TYPES[self.type.name]
        return float.__repr__(self) if self.type == BF16 else str(kind(self))

    __str__ = __repr__
    __hash__ = float.__hash__


_REALS = {name: builtins.type(f"Real_{name}", (Real,), {"type": ScalarType(name)}) for name in ("bf16", "f16", "f32")}


def _constant(self: Real, name: str, other: Any, reflected: bool) -> Any:
    """The other operand as a float of this type; `NotImplemented` for what is no number. Refuses mixtures."""
    if isinstance(other, Real | Index) and not isinstance(other, Condition) and other.type != self.type:
        return Index.checked(name, *((other, self) if reflected else (self, other)))
    if isinstance(other, np.generic):
        other = other.item()
    return round_float(other, self.type.name) if isinstance(other, int | float) else NotImplemented


def _rounded(name: str) -> Any:
    reflected, straight = name.startswith("__r"), name.replace("__r", "__", 1)

    def compute(self: Real, *others: Any) -> Any:
        constants = [_constant(self, straight, other, reflected) for other in others]
        if NotImplemented in constants:
            return NotImplemented
        with np.errstate(all="ignore"):
            result = getattr(np.float64(self), name)(*constants)  # which divides by zero, as Python does not
            return _REALS[self.type.name](round_float(result, self.type.name))

    return compute


def type_of(x: object) -> ScalarType | None:
    """The type of a number of the kernel; None for Python's own numbers."""
    if isinstance(x, Index | Real):
        return x.type
    if isinstance(x, np.bool_):
        return I1
    return next((ScalarType(name) for name, kind in FLOAT_TYPES.items() if type(x) is kind), None)


_DIVISIONS = ("__floordiv__", "__mod__")
_SHIFTS = ("__lshift__", "__rshift__")


def _as_python(name: str, kind: ScalarType, a: Any, b: Any) -> bool:
    """Whether Python computes what the kernel does, apart from wrapping: the numbers are of the type, and b may be
    divided or shifted by."""
    if any(not isinstance(x, Index) and (type(x) is not int or wrapped(x, kind) != x) for x in (a, b)):
        return False
    return b != 0 if name in _DIVISIONS else 0 <= b < width(kind.name) if name in _SHIFTS else True


def _arithmetic(name: str) -> Any:
    method = getattr(int, name)
    reflected = name.startswith("__r") and name != "__rshift__"
    straight = name.replace("__r", "__", 1) if reflected else name

    def compute(self: Index, *others: Any) -> Any:
        kind = self.type
        if others:
            other = others[0] if not isinstance(others[0], bool | np.bool_ | Condition) else int(others[0])
            others = (other,)
            if isinstance(other, Index):
                kind = wider(kind, other.type)
            elif not isinstance(other, int | float | np.generic):
                return method(self, other)
            a, b = (other, self) if reflected else (self, other)
            if not _as_python(straight, kind, a, b):
                return Index.checked(straight, a, b)
        return _integers(kind)(wrapped(method(self, *others), kind))

    return compute


def _counting(name: str) -> Any:
    """An operator of conditions, which count 0 or 1."""
    logical = name.strip("_") in ("and", "rand", "or", "ror", "xor", "rxor")

    def compute(self: Condition, *others: Any) -> Any:
        if logical and isinstance(others[0], bool | np.bool_ | Condition):
            return Condition(getattr(int, name)(int(self), int(others[0])))
        if others and isinstance(others[0], Real):
            return NotImplemented  # which counts it as a float
        if others and isinstance(others[0], float):
            return getattr(_REALS["f32"](self), name)(others[0])
        return getattr(Index, name)(Index(self), *others)

    return compute


def _comparison(name: str) -> Any:
    method = getattr(int, name)

    def compare(self: Any, other: Any) -> Any:
        if isinstance(other, Real) and not isinstance(self, Condition):
            return Index.checked(name, self, other)
        if type(other) is int and not isinstance(self, Condition) and wrapped(other, self.type) != other:
            other = Index.constant(other, self.type)
        result = method(self, other)
        return result if result is NotImplemented else Condition(result)

    return compare


def _real_comparison(name: str) -> Any:
    method = getattr(float, name)

    def compare(self: Real, other: Any) -> Any:
        result = method(self, _constant(self, name, other, False))
        return result if result is NotImplemented else Condition(result)

    return compare


_OPERATORS = (
    "add radd sub rsub mul rmul floordiv rfloordiv mod rmod "
    "and rand or ror xor rxor lshift rlshift rshift rrshift neg pos abs"
)
for _name in [f"__{name}__" for name in _OPERATORS.split()]:
    setattr(Index, _name, _arithmetic(_name))
    setattr(Condition, _name, _counting(_name))
for _name in ("__round__", "__divmod__", "__rdivmod__"):
    setattr(Condition, _name, _counting(_name))
Index.__invert__ = _arithmetic("__invert__")  # type: ignore[method-assign]
for _name in [f"__{name}__" for name in "eq ne lt le gt ge".split()]:
    setattr(Index, _name, _comparison(_name))
    setattr(Real, _name, _real_comparison(_name))
for _name in [f"__{name}__" for name in "add radd sub rsub mul rmul truediv rtruediv neg pos abs".split()]:
    setattr(Real, _name, _rounded(_name))
Index.__hash__ = int.__hash__  # type: ignore[method-assign]  # which a class with __eq__ of its own loses


def typed(value: Any, type: ScalarType) -> Any:
    """A Python number as one of the kernel's type: floats are rounded to it, integers wrap as it does."""
    if type.name == "i1":
        return Condition(bool(value))
    if not type.is_float:
        return _integers(type)(wrapped(int(value), type))
    if type.name in _REALS:
        return _REALS[type.name](round_float(value, type.name))
    kind = FLOAT_TYPES.get(type.name)
    return float(value) if kind is None else kind(value)  # 8-bit floats have no arithmetic


# What Python asks about a number that only the run knows: refused, unless the answer is that for the number itself.


HELPER = "__ptokit__"
"""The variable under which code of a kernel finds what its expressions are rewritten to."""

ANSWERS_FOR_KERNELS = "answers_for_kernels"
"""The name of the functions of this package that call functions in the place of a kernel."""

_DEBUGGERS = {"pdb", "bdb", "cmd", "reprlib", "_pytest", "IPython", "debugpy", "pydevd", "rich"}


def of_kernel(frame: FrameType | None) -> bool:
    """True if code of a kernel, or what it calls outside of this package, executes this frame: not a debugger."""
    while frame is not None:
        if HELPER in frame.f_globals or frame.f_code.co_name == ANSWERS_FOR_KERNELS:
            return True
        package = (frame.f_globals.get("__name__") or "").partition(".")[0]
        if package == "ptokit" or package.startswith(tuple(_DEBUGGERS)):
            return False
        frame = frame.f_back
    return False


def text_of(number: Any, text: str) -> str:
    """The text that tells a traced number in messages. Refuses to give it to a kernel (LANG-SCALAR)."""
    if of_kernel(sys._getframe(2)):
        raise refusal(
            rules.SCALAR,
            f"{text} has no value while the kernel is compiled, so it has no text",
            hint='print("n =", n) prints a number in the run; or run the kernel with .interpret',
        )
    return text


def is_instance(number: Any, kinds: Any) -> bool:
    """``isinstance(number, kinds)``, answered for the number that the run has (LANG-SCALAR where that is open)."""
    if isinstance(number, kinds):
        return True
    zero: bool | int | float = 0.0 if number.type.is_float else False if number.type.name == "i1" else 0
    interpreted, plain = isinstance(typed(zero, number.type), kinds), isinstance(zero, kinds)
    if interpreted != plain:
        raise refusal(
            rules.SCALAR,
            f"whether {number!r} is one of {kinds!r} is another answer in each kind of run",
            hint="ask for int, float or bool",
        )
    return plain


def kind_of(number: Any) -> Any:
    """``type(number)``, which is refused (LANG-SCALAR)."""
    raise refusal(
        rules.SCALAR,
        f"{number!r} has no Python type while the kernel is compiled",
        hint="ask isinstance(x, int), or for x.type, its type in the kernel",
    )


# The types of numbers of a kernel: how they are read, what fits into them, which operations convert them.


def scalar_type(type: DType | ScalarType) -> ScalarType:
    """The `.pto` type of a number of this element type."""
    if isinstance(type, ScalarType):
        return type
    if not isinstance(type, DType):
        known = {float: "pto.f32", int: "pto.i32", bool: "pto.i1"}
        hint = f"write {known.get(type, 'pto.f32, pto.i32, pto.i64 or pto.index')}"
        raise refusal(rules.SCALAR, f"{type!r} is not the type of a number of the kernel", hint=hint)
    return ScalarType(type.text)


def is_unsigned(type: ScalarType) -> bool:
    """True for integers whose bits are read without a sign."""
    return type.name.startswith("ui")


def bits_of(type: ScalarType) -> int:
    """Bits of a number."""
    if is_dtype(type.name):
        return dtype(type.name).bits
    return 64 if type == INDEX else int("".join(c for c in type.name if c.isdigit()) or 64)


def check_range(x: int, type: ScalarType) -> None:
    """Refuse an integer that does not fit into a type (LANG-SCALAR)."""
    if type.is_float:
        low, high = -(1 << 128), 1 << 128  # no float type of the ISA reaches further
    else:
        low = 0 if is_unsigned(type) else -(1 << (bits_of(type) - 1))
        high = (1 << bits_of(type)) - 1  # signless: the unsigned reading of the bits is accepted too
    if not low <= x <= high:
        raise refusal(rules.SCALAR, f"{x} does not fit into {type}")


def spelling(type: ScalarType) -> str:
    """A type as Python code writes it."""
    return f"pto.{type.name.replace('ui', 'u')}"


def cast_name(source: ScalarType, to: ScalarType) -> str | None:
    """The operation that converts one type into another; None where only two together do (LANG-SCALAR)."""
    unsigned = is_unsigned(source) or source == I1
    if INDEX in (source, to):
        if source.is_float or to.is_float:
            return None
        return "arith.index_castui" if unsigned else "arith.index_cast"
    if source.is_float and to.is_float:
        if bits_of(source) == bits_of(to):
            raise refusal(rules.SCALAR, f"there is no conversion from {source} to {to}", hint="convert through f32")
        return "arith.extf" if bits_of(to) > bits_of(source) else "arith.truncf"
    if source.is_float:
        return "arith.fptoui" if is_unsigned(to) else "arith.fptosi"
    if to.is_float:
        return "arith.uitofp" if unsigned else "arith.sitofp"
    if bits_of(source) == bits_of(to):
        return "arith.bitcast"
    return "arith.trunci" if bits_of(to) < bits_of(source) else "arith.extui" if unsigned else "arith.extsi"
