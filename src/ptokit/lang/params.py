"""Parameters of a kernel, the arrays that callers pass, and tracebacks that show the user's own code.

The exporter's own record of the array says what its elements are. It is told that they are unsigned integers of the
same width before NumPy takes it, and NumPy's view of the memory is seen as the real type afterwards. Facts: dlpack.h,
`DLDataTypeCode`, `DLManagedTensor`, `DLManagedTensorVersioned`.
"""

from __future__ import annotations

import ctypes
import inspect
import sys
from bdb import BdbQuit
from collections.abc import Callable, Hashable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from difflib import get_close_matches
from functools import cached_property, wraps
from operator import is_
from types import FunctionType
from typing import Any, ParamSpec, TypeGuard, TypeVar

import ml_dtypes
import numpy as np

from ptokit.diagnostics import Diagnostic, DiagnosticError, KernelWarning, Location, Note
from ptokit.diagnostics.finding import argument_place, place_of
from ptokit.types.dtypes import DType, from_numpy
from ptokit.types.values import F32, INDEX, Type, in_python
from ptokit.types.values import Ptr as PtrType
from ptokit.types.values import Scalar as ScalarType

from . import rules
from .eager import scalar_type
from .mistakes import as_finding, debugging, of_users, users_traceback
from .outside import Snapshot
from .rules import here, refusal
from .source import definition_of, parameters_of

# Tracebacks of refusals that show the user's own code, not how ptokit came to its finding.


P = ParamSpec("P")
R = TypeVar("R")


def refuses(function: Callable[P, R]) -> Callable[P, R]:
    """Decorator of what users call: of what code in a kernel raises, only their frames stay in the traceback.

    Mistakes of Python become findings (`DiagnosticError`); what the kernel raises by ``raise`` stays what it is.
    Leaving a debugger ends a script without a word. A bare ``raise`` goes on with the traceback that it is given,
    without the frame of the decorator.
    """

    @wraps(function)
    def called(*args: P.args, **named: P.kwargs) -> R:
        __tracebackhide__ = True  # for pytest, where this frame is the last
        try:
            return function(*args, **named)
        except BdbQuit as error:  # `q` in a debugger
            if hasattr(sys, "ps1"):
                raise error.with_traceback(users_traceback(error.__traceback__)) from None
            raise SystemExit(1) from None
        except Exception as error:
            refused = isinstance(error, DiagnosticError | KernelWarning)
            found = None if refused or debugging() else as_finding(error)
            if found is None:
                if not debugging() and (refused or of_users(error)):
                    error.__traceback__ = users_traceback(error.__traceback__)
                raise
            try:
                raise found from None
            except DiagnosticError:
                found.__traceback__ = users_traceback(error.__traceback__, own=True)
                raise

    return called


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


def holds_memory(value: Any) -> bool:
    """True for arrays of any kind, not for NumPy's numbers."""
    foreign = hasattr(value, "__array_interface__") or hasattr(value, "__dlpack__")
    return foreign and not isinstance(value, np.generic)


def arrays_in(args: Iterable[tuple[str, Any]]) -> list[Any]:
    """Arguments by their names, with what holds memory in them and in lists as arrays (`as_array`).

    A list that is there twice stays one.
    """
    known: dict[int, Any] = {}

    def seen(name: str, arg: Any) -> Any:
        if not isinstance(arg, list | tuple):
            return as_array(name, arg) if holds_memory(arg) else arg
        if id(arg) not in known:
            known[id(arg)] = [seen(name, each) for each in arg]
        return known[id(arg)]

    return [seen(name, arg) for name, arg in args]


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


# Parameters of a kernel: annotations, and types inferred from the arguments of a call.


class Ptr:
    """Annotation of a pointer parameter: ``x: pto.Ptr[pto.f32]``."""

    @refuses
    def __class_getitem__(cls, element: Any) -> PtrType:
        if not isinstance(element, DType):
            raise refusal(
                rules.PARAMETER,
                f"pto.Ptr[{_text(element)}] does not name an element type",
                hint=f"write pto.Ptr[pto.{_meant(element)}]",
            )
        return PtrType(element)


def _text(annotation: Any) -> str:
    """An annotation as it is written, nearly."""
    return annotation.__name__ if isinstance(annotation, type) else repr(annotation)


def _meant(element: Any) -> str:
    """The element type that somebody means by a type of NumPy or Python; f32 if that is open."""
    with suppress(TypeError):
        found = None if element in (float, int) else from_numpy(np.dtype(element))
        return "f32" if found is None else found.name
    return "f32"


class Static:
    """Annotation of a parameter that is a Python value while tracing; each value is traced for itself.

    ``cols: pto.Static`` or ``cols: pto.Static[int]``.
    """

    def __class_getitem__(cls, _: Any) -> type[Static]:
        return cls


class Constant:
    """Signature entry of a `Static` parameter: equal for values that nothing tells apart at this moment."""

    __slots__ = ("value", "key", "_snapshot")

    def __init__(self, value: Any) -> None:
        self.value = value
        self.key: Hashable
        self._snapshot: Snapshot | None = None
        if type(value) in (int, bool, str):
            self.key = type(value), value
        else:
            self._snapshot = Snapshot(value, every=True)
            self.key = self._snapshot.key

    def holds(self, value: Any) -> bool:
        """True if this is the entry of a value that is given once more."""
        return value is self.value and self._snapshot is not None and self._snapshot.holds()

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Constant) and self.key == other.key

    def __repr__(self) -> str:
        return f"Constant({self.value!r})"


Entry = Type | Constant
Signature = tuple[Entry, ...]


class Parameters:
    """The parameters of one kernel function."""

    def __init__(self, function: FunctionType, location: Location, variables: Mapping[str, Any]) -> None:
        self.name = function.__name__
        self.location = location
        self._function, self._defaults = function, _defaults(function)
        self.signature = parameters_of(function)
        self._constants: dict[str, Constant] = {}
        annotations = _annotations(function, variables)
        self.kinds: dict[str, Any] = {}
        for parameter in self.signature.parameters.values():
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                raise refusal(
                    rules.PARAMETER,
                    f"kernel {self.name} has the parameter {parameter}; a kernel has a fixed number of them",
                    location=location,
                )
            self.kinds[parameter.name] = self._annotated(parameter.name, annotations.get(parameter.name))

    def _annotated(self, name: str, annotation: Any) -> Any:
        """Type of an annotation, `Static`, or None if there is none."""
        if annotation is None or annotation is inspect.Parameter.empty or annotation is Any:
            return None
        if annotation is Static or isinstance(annotation, PtrType | ScalarType):
            return annotation
        if isinstance(annotation, DType):
            return scalar_type(annotation)
        if annotation is int:
            return INDEX
        if annotation is float:
            return F32
        if annotation is np.ndarray or getattr(annotation, "__origin__", None) is np.ndarray:
            return None
        raise refusal(
            rules.PARAMETER,
            f"parameter {name} of kernel {self.name} has the annotation {_text(annotation)}, which no argument has",
            location=self.place(name),
            hint="arrays are pto.Ptr[pto.f32], numbers int, float or pto.i32; what is compiled in is pto.Static",
        )

    def bind(self, args: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
        """Arguments by parameter name, defaults filled in. Refuses wrong counts and names (LANG-ARG)."""
        defaults = _defaults(self._function)
        if len(defaults) != len(self._defaults) or not all(map(is_, defaults, self._defaults)):
            self._defaults, self.signature = defaults, parameters_of(self._function)
        try:
            bound = self.signature.bind(*args, **named)
        except TypeError:
            raise self._misfit(args, named) from None
        bound.apply_defaults()
        return bound.arguments

    def _misfit(self, args: tuple[Any, ...], named: dict[str, Any]) -> DiagnosticError:
        """What is wrong with the number or the names of arguments."""
        parameters = self.signature.parameters
        in_order = [p.name for p in parameters.values() if p.kind is not p.KEYWORD_ONLY]
        hint, place = f"it is {self.name}({self})", None
        strange = next((name for name in named if name not in parameters), None)
        twice = next((name for name in in_order[: len(args)] if name in named), None)
        if strange is not None:
            message, place = f"kernel {self.name} has no parameter {strange}", argument_place(here(), strange)
            close = get_close_matches(strange, parameters, 1)
            hint = f"did you mean {close[0]}? {hint}" if close else hint
        elif len(args) > len(in_order):
            message = f"kernel {self.name} takes {len(in_order)} arguments, {len(args)} are given"
        elif twice is not None:
            message, place = f"{twice} is given by position and by name", argument_place(here(), twice)
        else:
            given = {*in_order[: len(args)], *named}
            missing = [p.name for p in parameters.values() if p.name not in given and p.default is p.empty]
            message = f"kernel {self.name} lacks {' and '.join(missing)}"
        return refusal(rules.ARGUMENT, message, hint=hint, location=place)

    @cached_property
    def places(self) -> dict[str, Location]:
        """Where the parameters are written, as far as the source can be read."""
        code = self._function.__code__
        found = definition_of(code)
        args = found[0].args if found is not None else None
        written = [] if args is None else [*args.posonlyargs, *args.args, *args.kwonlyargs]
        return {
            arg.arg: place_of(code.co_filename, (arg.lineno, arg.end_lineno, arg.col_offset, arg.end_col_offset))
            for arg in written
        }

    def place(self, name: str) -> Location:
        """Where a parameter is written, or the kernel."""
        return self.places.get(name, self.location)

    def at_the_call(self, finding: Diagnostic, args: tuple[Any, ...]) -> Diagnostic:
        """A finding about an argument of a launch, placed there instead of at its parameter. ``args``: by position."""
        if not finding.rule.startswith(("RUN-ARG", "RUN-RANKS")):
            return finding
        call = here()
        names = list(self.kinds)
        name = next((name for name in names if self.places.get(name) == finding.location), None)
        if name is None:
            return replace(finding, location=call, notes=(*finding.notes, Note("of this kernel", finding.location)))
        position = names.index(name)
        place = argument_place(call, position if position < len(args) else name)
        note = Note(f"{name} is a parameter of kernel {self.name}", finding.location)
        return replace(finding, location=place or call, notes=(*finding.notes, note))

    def entry(self, name: str, arg: Any) -> Entry:
        """Signature entry of a parameter for an argument: an array, a number, or a type in place of one."""
        kind = self.kinds[name]
        if kind is Static:
            last = self._constants.get(name)
            if last is None or not last.holds(arg):
                last = self._constants[name] = Constant(arg)
            return last
        return kind if kind is not None else self.inferred(name, arg)

    def inferred(self, name: str, arg: Any) -> Entry:
        """Type of a parameter without annotation. Refuses what cannot be an argument (LANG-ARG)."""
        if isinstance(arg, DType):
            return PtrType(arg)
        if isinstance(arg, PtrType | ScalarType):
            return arg
        if isinstance(arg, bool | np.bool_):
            raise refusal(
                rules.ARGUMENT, f"argument {name} is a boolean", hint="pass 0 or 1, or annotate it with pto.Static"
            )
        if isinstance(arg, int | np.integer):
            return INDEX
        if isinstance(arg, float | np.floating):
            return F32
        array = as_array(name, arg)
        element = from_numpy(array.dtype)
        if element is None:
            raise refusal(
                rules.ARGUMENT,
                f"argument {name} has the dtype {array.dtype}, which is no element type",
                hint=f"annotate the parameter, for example {name}: pto.Ptr[pto.f32]",
            )
        return PtrType(element)

    def annotated_signature(self) -> Signature | None:
        """The signature where annotations and defaults say everything, else None."""
        entries: list[Entry] = []
        for name, parameter in self.signature.parameters.items():
            kind = self.kinds[name]
            if kind is None or kind is Static:
                if parameter.default is inspect.Parameter.empty:
                    return None
                entries.append(self.entry(name, parameter.default))
            else:
                entries.append(kind)
        return tuple(entries)

    def __str__(self) -> str:
        return ", ".join(map(self._written, self.signature.parameters.values()))

    def _written(self, parameter: inspect.Parameter) -> str:
        kind = self.kinds[parameter.name]
        type = "" if kind is None else ": Static" if kind is Static else f": {in_python(kind)}"
        default = "" if parameter.default is parameter.empty else f" = {parameter.default!r}"
        return f"{parameter.name}{type}{default}"

    def is_static(self, name: str) -> bool:
        """True for a parameter whose value is compiled in."""
        return self.kinds[name] is Static

    def undetermined(self) -> list[str]:
        """Names of the parameters whose type only an argument tells."""
        return [name for name, kind in self.kinds.items() if kind is None or kind is Static]


def count_hint(blocks: Any) -> str:
    """What to write in place of what is no number of blocks."""
    if isinstance(blocks, tuple):
        columns = blocks[-1] if blocks else 2
        return (
            "blocks are counted by one number: launch their product; pto.get_block_idx() // "
            f"{columns} and pto.get_block_idx() % {columns} are the row and column of a block"
        )
    whole = isinstance(blocks, float) and blocks.is_integer()
    return f"write {int(blocks)}; // divides integers" if whole else "kernel[blocks] takes an integer from 1"


def is_count(number: Any) -> TypeGuard[int]:
    """True for a number of blocks or devices."""
    return isinstance(number, int | np.integer) and not isinstance(number, bool) and bool(number >= 1)


def _defaults(function: FunctionType) -> tuple[Any, ...]:
    """What the signature of a function is made of."""
    return function.__code__, *(function.__defaults__ or ()), _BETWEEN, *(function.__kwdefaults__ or {}).values()


_BETWEEN = object()


def _annotations(function: FunctionType, variables: Mapping[str, Any]) -> dict[str, Any]:
    """Annotations as values. Those written as text are evaluated where the kernel is decorated, with its `variables`;
    text that cannot be evaluated stays text."""
    found = dict(inspect.get_annotations(function))
    for name, annotation in found.items():
        if isinstance(annotation, str):
            with suppress(Exception):
                found[name] = eval(annotation, function.__globals__, dict(variables))
    return found
