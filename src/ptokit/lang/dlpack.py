"""Element types of DLPack that NumPy cannot take: bfloat16 and 8-bit floats, as torch exports them.

The exporter's own record of the array says what its elements are. It is told that they are unsigned integers of the
same width before NumPy takes it, and NumPy's view of the memory is seen as the real type afterwards. Facts: dlpack.h,
`DLDataTypeCode`, `DLManagedTensor`, `DLManagedTensorVersioned`.
"""

from __future__ import annotations

import ctypes
from typing import Any

import ml_dtypes
import numpy as np

_UNSIGNED = 1
_CODES: dict[tuple[int, int], Any] = {
    (4, 16): ml_dtypes.bfloat16,
    (10, 8): ml_dtypes.float8_e4m3fn,
    (12, 8): ml_dtypes.float8_e5m2,
    (14, 8): ml_dtypes.float8_e8m0fnu,
}
"""NumPy types by code and bits of an element."""


class _Tensor(ctypes.Structure):
    """What both forms of the record have: where the elements are, and of which type."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
    ]


_VERSIONED_OFFSET = 8 + 2 * ctypes.sizeof(ctypes.c_void_p) + 8  # version, context and deleter, flags


def as_unsigned(capsule: Any) -> np.dtype | None:
    """The NumPy type of the elements in a capsule, which from now on says unsigned integers; None if NumPy knows it."""
    name = b"dltensor_versioned" if "dltensor_versioned" in repr(capsule) else b"dltensor"
    pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    address = pointer_of(capsule, name)
    tensor = _Tensor.from_address(address + (_VERSIONED_OFFSET if name.endswith(b"versioned") else 0))
    found = _CODES.get((tensor.code, tensor.bits)) if tensor.lanes == 1 else None
    if found is None:
        return None
    tensor.code = _UNSIGNED
    return np.dtype(found)
