"""Numbers of an eager session: Python numbers that compute as the kernel's own numbers of the same type do."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from functools import cache
from typing import Any, ClassVar

import numpy as np

from ptokit.run.machine.scalars import FLOAT_TYPES, round_float
from ptokit.types.integers import unsigned, width, wrap
from ptokit.types.values import I1, INDEX
from ptokit.types.values import Scalar as ScalarType


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


class Bfloat(float):
    """A bf16 of the kernel: arithmetic rounds to it."""

    def __repr__(self) -> str:
        return float.__repr__(self)


def _rounded(name: str) -> Any:
    def compute(self: Bfloat, *others: Any) -> Any:
        with np.errstate(all="ignore"):
            constants = [round_float(x, BF16.name) if isinstance(x, int | float) else x for x in others]
            result = getattr(np.float64(self), name)(*constants)  # which divides by zero, as Python does not
            return result if result is NotImplemented else Bfloat(round_float(result, BF16.name))

    return compute


def type_of(x: object) -> ScalarType | None:
    """The type of a number of the kernel; None for Python's own numbers."""
    if isinstance(x, Index):
        return x.type
    if isinstance(x, np.bool_):
        return I1
    if isinstance(x, Bfloat):
        return BF16
    return next((ScalarType(name) for name, kind in FLOAT_TYPES.items() if type(x) is kind), None)


_DIVISIONS = ("__floordiv__", "__mod__")
_SHIFTS = ("__lshift__", "__rshift__")


def _as_python(name: str, kind: ScalarType, a: int, b: int) -> bool:
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
            other = others[0]
            if isinstance(other, Index):
                kind = wider(kind, other.type)
            elif not isinstance(other, int | float | np.generic):
                return method(self, other)
            a, b = (other, self) if reflected else (self, other)
            if not _as_python(straight, kind, a, b):
                return Index.checked(straight, a, b)
        return _integers(kind)(wrapped(method(self, *others), kind))

    return compute


def _comparison(base: type, name: str) -> Any:
    method = getattr(base, name)

    def compare(self: Any, other: Any) -> Any:
        if type(other) is int and isinstance(self, Index) and wrapped(other, self.type) != other:
            other = Index.constant(other, self.type)
        result = method(self, other)
        return result if result is NotImplemented else np.bool_(result)

    return compare


_OPERATORS = (
    "add radd sub rsub mul rmul floordiv rfloordiv mod rmod "
    "and rand or ror xor rxor lshift rlshift rshift rrshift neg pos invert abs"
)
for _name in _OPERATORS.split():
    setattr(Index, f"__{_name}__", _arithmetic(f"__{_name}__"))
for _name in "eq ne lt le gt ge".split():
    setattr(Index, f"__{_name}__", _comparison(int, f"__{_name}__"))
    setattr(Bfloat, f"__{_name}__", _comparison(float, f"__{_name}__"))
for _name in "add radd sub rsub mul rmul truediv rtruediv neg pos abs".split():
    setattr(Bfloat, f"__{_name}__", _rounded(f"__{_name}__"))
for _kind in (Index, Bfloat):
    setattr(_kind, "__hash__", _kind.__base__.__hash__)  # noqa: B010  which a class with __eq__ of its own loses


def typed(value: Any, type: ScalarType) -> Any:
    """A Python number as one of the kernel's type: floats are rounded to it, integers wrap as it does."""
    if type.name == "i1":
        return np.bool_(value)
    if not type.is_float:
        return _integers(type)(wrapped(value, type))
    if type == BF16:  # numbers of ml_dtypes become f32 where they meet Python's
        return Bfloat(round_float(value, BF16.name))
    kind = FLOAT_TYPES.get(type.name)
    return float(value) if kind is None else kind(value)  # 8-bit floats have no arithmetic
