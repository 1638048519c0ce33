"""Numbers of an eager session: Python numbers that compute as the kernel's own numbers of the same type do."""

from __future__ import annotations

from typing import Any

import numpy as np

from ptokit.run.machine.scalars import FLOAT_TYPES
from ptokit.types.integers import wrap
from ptokit.types.values import Scalar as ScalarType


class Index(int):
    """An integer of the kernel: arithmetic wraps at 64 bits, comparisons give conditions that ``~`` negates."""

    def __repr__(self) -> str:
        return int.__repr__(self)


def _arithmetic(name: str) -> Any:
    method = getattr(int, name)

    def compute(self: Index, *others: Any) -> Any:
        result = method(self, *others)
        return result if result is NotImplemented else Index(wrap(result, 64))

    return compute


def _comparison(name: str) -> Any:
    method = getattr(int, name)

    def compare(self: Index, other: Any) -> Any:
        result = method(self, other)
        return result if result is NotImplemented else np.bool_(result)

    return compare


_OPERATORS = (
    "add radd sub rsub mul rmul floordiv rfloordiv mod rmod "
    "and rand or ror xor rxor lshift rlshift rshift rrshift neg pos invert"
)
for _name in _OPERATORS.split():
    setattr(Index, f"__{_name}__", _arithmetic(f"__{_name}__"))
for _name in "eq ne lt le gt ge".split():
    setattr(Index, f"__{_name}__", _comparison(f"__{_name}__"))
setattr(Index, "__hash__", int.__hash__)  # noqa: B010  which a class with __eq__ of its own loses


def typed(value: Any, type: ScalarType) -> Any:
    """A Python number as one of the kernel's type: floats are rounded to it, integers wrap at 64 bits."""
    if type.name == "i1":
        return np.bool_(value)
    if not type.is_float:
        return Index(value)
    kind = FLOAT_TYPES.get(type.name)
    return float(value) if kind is None else kind(value)  # 8-bit floats have no arithmetic
