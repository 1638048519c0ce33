"""How values of threads are held: NumPy arrays of their type's own width, one row for each lane, or one for all.

Scalars have shape (lanes,) or (1,), short vectors (lanes, elements) or (1, elements); i1 is bool, index int64, elements
without a NumPy dtype are codes.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np

from ptokit.ir.core import RawAttr
from ptokit.records import dataclass
from ptokit.types.codecs import signed
from ptokit.types.dtypes import HALVES, SINGLES, DType, dtype, is_dtype
from ptokit.types.values import Type

_VECTOR = re.compile(r"vector<\s*(\d+)\s*x\s*(.+?)\s*>\Z", re.ASCII)
_INTEGER = re.compile(r"(?:s|u)?i(\d+)\Z", re.ASCII)
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
    integer = _INTEGER.match(text)
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
