"""Arguments of a launch as NumPy arrays that share the caller's memory, and element types of DLPack.

The exporter's own record of the array says what its elements are. It is told that they are unsigned integers of the
same width before NumPy takes it, and NumPy's view of the memory is seen as the real type afterwards. Facts: dlpack.h,
`DLDataTypeCode`, `DLManagedTensor`, `DLManagedTensorVersioned`.
"""

from __future__ import annotations

import ctypes
from typing import Any

import ml_dtypes
import numpy as np

from . import rules
from .where import refusal

# Element types of DLPack that NumPy cannot take: bfloat16 and 8-bit floats, as torch exports them.


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


# Arguments of a launch as NumPy arrays that share the caller's memory.


def as_array(name: str, arg: Any) -> np.ndarray:
    """The caller's memory as an array: a NumPy array itself, or a view through ``__array_interface__`` or DLPack.

    Raises `DiagnosticError` (LANG-ARG) for anything else; nothing is ever copied, so that results arrive where the
    caller looks for them.
    """
    if isinstance(arg, np.ndarray):
        return arg
    try:
        if hasattr(arg, "__array_interface__"):
            return np.asarray(arg)
        if hasattr(arg, "__dlpack__"):
            return _from_dlpack(arg)
    except Exception as error:  # the exporter's code: anything may come out of it
        raise refusal(rules.ARGUMENT, f"argument {name} cannot be seen as an array: {error}", hint=_BITS) from error
    kind = type(arg).__name__
    hint = "make an array of it first: numpy.array(x, dtype)" if isinstance(arg, list | tuple) else _PROTOCOLS
    raise refusal(rules.ARGUMENT, f"argument {name} is a {kind}, not an array", hint=hint)


class _Export:
    """An exporter whose capsule is already there, in the newest form that NumPy reads."""

    def __init__(self, arg: Any) -> None:
        self._device = arg.__dlpack_device__()
        try:
            self._capsule = arg.__dlpack__(max_version=(1, 0)) if _READS_VERSIONED else arg.__dlpack__()
        except TypeError:  # the exporter knows the first form of the protocol only
            self._capsule = arg.__dlpack__()
        self.versioned = "dltensor_versioned" in repr(self._capsule)
        self.dtype = as_unsigned(self._capsule)

    def __dlpack_device__(self) -> Any:
        return self._device

    def __dlpack__(self, **_: Any) -> Any:
        return self._capsule


class _Writable:
    """The memory of an array, which it keeps alive, without the array's read-only mark."""

    def __init__(self, array: np.ndarray) -> None:
        self._array = array
        interface = array.__array_interface__
        self.__array_interface__ = {**interface, "data": (interface["data"][0], False)}


def _from_dlpack(arg: Any) -> np.ndarray:
    export = _Export(arg)
    array = np.from_dlpack(export)
    # The first form of the protocol cannot mark memory as read-only and is for memory that may be written; NumPy marks
    # all of it to be careful.
    array = array if export.versioned or array.flags.writeable else np.asarray(_Writable(array))
    return array if export.dtype is None else array.view(export.dtype)


_READS_VERSIONED = np.lib.NumpyVersion(np.__version__) >= "2.1.0"
_PROTOCOLS = "pass a NumPy array, or an object with __dlpack__ or __array_interface__ in host memory"
_BITS = "host memory is needed; types that the exporter cannot describe may be given as unsigned integers"
