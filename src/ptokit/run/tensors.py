"""Arrays of other libraries as NumPy arrays that share their memory: torch tensors, all that has DLPack.

The exporter's own record of the array says what its elements are. It is told that they are unsigned integers of the
same width before NumPy takes it, and NumPy's view of the memory is seen as the real type afterwards. Facts: dlpack.h,
`DLDataTypeCode`, `DLDeviceType`, `DLManagedTensor`, `DLManagedTensorVersioned`.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Container, Iterable, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from ptokit.diagnostics import Diagnostic, DiagnosticError, Location, Severity
from ptokit.ir.core import Function
from ptokit.machine.words import APART
from ptokit.types.dtypes import DType, from_numpy
from ptokit.types.values import Ptr

# Element types of DLPack that NumPy cannot take, as torch exports them.


_UNSIGNED = 1
_CODES: dict[tuple[int, int, int], Any] = {
    (4, 16, 1): ml_dtypes.bfloat16,
    (6, 8, 1): np.uint8,  # bool
    (10, 8, 1): ml_dtypes.float8_e4m3fn,
    (12, 8, 1): ml_dtypes.float8_e5m2,
    (14, 8, 1): ml_dtypes.float8_e8m0fnu,
    (17, 4, 2): np.uint8,  # two e2m1 in a byte
}
"""NumPy types by code, bits and lanes of an element."""


class _Tensor(ctypes.Structure):
    """What both forms of the record have: where the elements are, and their type."""

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
    found = _CODES.get((tensor.code, tensor.bits, tensor.lanes))
    if found is None:
        return None
    tensor.code, tensor.bits, tensor.lanes = _UNSIGNED, 8 * np.dtype(found).itemsize, 1
    return np.dtype(found)


# The memory of an argument as an array.


class Unusable(ValueError):
    """An argument cannot be seen as an array; the text says why, as it goes on after the argument's name."""

    def __init__(self, why: str, hint: str) -> None:
        super().__init__(why)
        self.hint = hint


_DEVICES = {
    2: "a CUDA device", 7: "a Vulkan device", 8: "a Metal device", 10: "a ROCm device", 12: "another device",
    14: "a oneAPI device", 17: "a Hexagon device", 18: "a MAIA device",
}  # fmt: skip
"""Those whose memory this process does not see, by DLPack's number."""


def holds_memory(value: Any) -> bool:
    """True for arrays of any kind, not for NumPy's numbers."""
    foreign = hasattr(value, "__array_interface__") or hasattr(value, "__dlpack__")
    return foreign and not isinstance(value, np.generic)


def shared(arg: Any) -> np.ndarray:
    """The caller's memory as an array: a NumPy array itself, or a view through ``__array_interface__`` or DLPack.

    Nothing is ever copied, so that results arrive where the caller looks for them. Raises `Unusable`.
    """
    if isinstance(arg, np.ndarray):
        return arg
    _refuse_tensor(arg)
    try:
        if hasattr(arg, "__array_interface__"):
            return np.asarray(arg)
        if hasattr(arg, "__dlpack__"):
            return _from_dlpack(arg)
    except Unusable:
        raise
    except Exception as error:  # the exporter's code: anything may come out of it
        raise Unusable(f"cannot be seen as an array: {error}", _BITS) from error
    kind = type(arg).__name__
    many = isinstance(arg, list | tuple)
    raise Unusable(
        f"is a {kind}, not an array", "make an array of it first: numpy.array(x, dtype)" if many else _PROTOCOLS
    )


_HOST = "cpu"
"""The type of torch's device whose memory is the host's."""


def _refuse_tensor(arg: Any) -> None:
    """Raise `Unusable` for what torch's tensors say of themselves: gradients, devices, values that are not stored."""
    if getattr(arg, "requires_grad", False) is True:
        why = "requires grad, and kernels have no derivatives"
        raise Unusable(why, "pass x.detach(), or compute under an operator that says how: ptokit.torch.op(kernel)")
    device = getattr(arg, "device", None)
    kind = getattr(device, "type", _HOST)
    if isinstance(kind, str) and kind != _HOST:
        raise Unusable(f"lies on {device}, and kernels run here on arrays in host memory", _COPY)
    for bit, mend in (("is_neg", "resolve_neg"), ("is_conj", "resolve_conj")):
        ask = getattr(arg, bit, None)
        if callable(ask) and ask() is True:
            raise Unusable("is a view that changes signs when it is read", f"pass x.{mend}(), which stores the values")


def shared_by_name(name: str, arg: Any, at: Location) -> np.ndarray:
    """`shared`, whose refusal is a finding about the argument with that name (RUN-ARG-TYPE)."""
    try:
        return shared(arg)
    except Unusable as error:
        found = Diagnostic("RUN-ARG-TYPE", Severity.ERROR, f"argument {name} {error}", at, error.hint)
        raise DiagnosticError(found) from error


class _Export:
    """An exporter whose capsule is already there, in the newest form that NumPy reads."""

    def __init__(self, arg: Any) -> None:
        self._device = arg.__dlpack_device__()
        if int(self._device[0]) in _DEVICES:
            where = _DEVICES[int(self._device[0])]
            raise Unusable(f"lies on {where}, and kernels run here on arrays in host memory", _COPY)
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
_COPY = "copy it: x.cpu(), and the results back"


# Memory that is made of words and addresses.


GAP = 512  # bytes between arguments at least, so that the end of one is not the start of another


def words_in_memory(words: Sequence[Any], number: int) -> tuple[np.ndarray, list[tuple[np.ndarray, np.ndarray]]]:
    """64-bit words, and all that they point to, as the bytes of memory `number` of a launch.

    A word is a whole number, or an array or list of words, whose address is taken. Also every array with its bytes
    there. Raises `DiagnosticError` for other words (RUN-ARG-TYPE) and arrays that are not contiguous (RUN-ARG-LAYOUT).
    """
    base, size = (number + 1) * APART, 0
    places: dict[Any, int] = {}
    lists: list[tuple[int, Sequence[Any]]] = []
    arrays: list[tuple[int, np.ndarray]] = []

    def placed(piece: Any) -> int:
        nonlocal size
        key = (piece.ctypes.data, piece.nbytes) if isinstance(piece, np.ndarray) else id(piece)
        if key not in places:
            places[key] = start = size
            if isinstance(piece, np.ndarray):
                if not piece.flags.c_contiguous:
                    raise DiagnosticError(
                        Diagnostic("RUN-ARG-LAYOUT", Severity.ERROR, "an array whose address is taken is contiguous")
                    )
                arrays.append((start, piece))
                size += -(-(piece.nbytes + 1) // GAP) * GAP
            else:
                lists.append((start, piece))
                size += -(-(8 * len(piece) + 1) // GAP) * GAP
        return base + places[key]

    placed(words)
    written: list[tuple[int, list[int]]] = []
    while lists:
        start, piece = lists.pop(0)
        found = []
        for word in piece:
            if isinstance(word, np.ndarray | list | tuple):
                found.append(placed(word))
            elif isinstance(word, int | np.integer):
                found.append(int(word) & (1 << 64) - 1)
            else:
                message = f"a word of memory is a whole number, an array or a list, not {type(word).__name__}"
                raise DiagnosticError(Diagnostic("RUN-ARG-TYPE", Severity.ERROR, message))
        written.append((start, found))
    memory = np.zeros(size, np.uint8)
    for start, found in written:
        memory[start : start + 8 * len(found)] = np.array(found, np.uint64).view(np.uint8)
    pieces = [(array, memory[start : start + array.nbytes]) for start, array in arrays]
    for array, there in pieces:
        there[:] = array.reshape(-1).view(np.uint8)
    return memory, pieces


# Views with strides: a kernel gets the address of the first element, as on a device, and steps by numbers it knows.


def span(array: np.ndarray, stated: Container[int]) -> np.ndarray | None:
    """The memory from the first to the last element of a view, as one dimension, gaps included; None if it has none.

    Of each dimension the step is that of all that is inside of it, or a larger number among those that are `stated`.
    """
    step = 1
    for n, stride in zip(reversed(array.shape), reversed(array.strides)):
        if n == 1:
            continue
        wide, rest = divmod(stride, array.itemsize)
        if rest or wide < step or (wide > step and wide not in stated):
            return None
        step = wide * n
    size = 1 + sum((n - 1) * (stride // array.itemsize) for n, stride in zip(array.shape, array.strides))
    return np.lib.stride_tricks.as_strided(array, (size,), (array.itemsize,), writeable=array.flags.writeable)


def spans(values: Sequence[Any], known: Callable[[], set[int]], numbers: Iterable[Any] = ()) -> list[Any]:
    """The values, with views as spans whose strides a number of the launch states, or one that its kernel has `known`.

    ``numbers``: of the launch, where they are not among the values.

    A view whose strides nobody states stays what it is: the launch refuses it, since the kernel would take it for
    rows without gaps.
    """

    def gaps(value: Any) -> bool:
        return isinstance(value, np.ndarray) and not value.flags.c_contiguous and value.size > 0

    if not any(map(gaps, values)):
        return list(values)
    stated = {int(v) for v in (*values, *numbers) if isinstance(v, int | np.integer)} | known()
    found = [span(value, stated) if gaps(value) else value for value in values]
    return [value if other is None else other for value, other in zip(values, found)]


def arrays(kernel: Function, values: Sequence[Any]) -> list[Any]:
    """The values of a launch, with all that holds memory as arrays, and views as spans. Raises `DiagnosticError`."""
    names = [*kernel.argument_names, *[""] * len(values)]
    places = [*(param.location for param in kernel.params), *[kernel.location] * len(values)]

    def seen(name: str, at: Location, value: Any) -> Any:
        if isinstance(value, list | tuple):
            return [seen(name, at, each) for each in value]
        return shared_by_name(name, value, at) if holds_memory(value) else value

    return spans([seen(*each) for each in zip(names, places, values)], lambda: constants(kernel))


def constants(kernel: Function) -> set[int]:
    """The whole numbers that a kernel states."""
    ops = () if kernel.body is None else kernel.body.walk()
    found = (op.attrs.get("value") for op in ops if op.name == "arith.constant")
    return {value for value in found if isinstance(value, int)}


def by_bits(array: np.ndarray, dtype: DType) -> bool:
    """True for signed integers of the width where unsigned ones are wanted: other libraries have few of the latter."""
    own = from_numpy(array.dtype)
    signed = own is not None and own.is_integer and own.signed
    return signed and dtype.is_integer and not dtype.signed and own is not None and own.bits == dtype.bits


def remarks(kernel: Function, values: Sequence[Any]) -> list[Diagnostic]:
    """Notes on arrays that are taken by bits, as numbers of another sign than they have for the caller."""
    out = []
    for name, param, value in zip(kernel.argument_names, kernel.params, values):
        if isinstance(param.type, Ptr) and isinstance(value, np.ndarray) and by_bits(value, param.type.dtype):
            own, wanted = from_numpy(value.dtype), param.type.dtype
            message = f"argument {name} is an array of {own}; the kernel takes its bits for {wanted}"
            out.append(Diagnostic("RUN-ARG-DTYPE", Severity.NOTE, message, param.location))
    return out
