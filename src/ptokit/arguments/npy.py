"""Arrays in .npy files, which have no names for bf16 and the 8-bit and 4-bit types, and those that stay there.

| form | argument |
|---|---|
| ``mmap:PATH.npy`` | the array in a file, read where the kernel reads it |
| ``mmap:PATH.npy:rw`` | the same; the kernel changes the file |
| ``mmap:PATH.npy:DTYPE:SHAPE`` | a new file with an array of zeros, which the kernel changes |
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ptokit.diagnostics import Diagnostic, DiagnosticError, Location, Scope, Severity, define
from ptokit.types.dtypes import DType

from .generators import ArgumentSyntaxError, dtype_and_shape, stored_shape

# The rule of files with arguments.


ARGUMENT_FILE = define(
    "CLI-01",
    "an argument file is a readable .npy array of numbers",
    scope=Scope.RUN,
    why="The kernel works on the array's elements; a pickle, an archive or a cut-off file has none to give.",
    source="docs/formats.md, Arguments",
    example="{--arg x.npy        with numpy.save('x.npy', numpy.zeros((64, 64), "
    "numpy.float32))|--arg x.npy        with a text file, an .npz archive or an array of Python objects}",
    unrun="it is about files",
)


# Arrays in .npy files, which have no names for bf16 and the 8-bit and 4-bit types.


NATIVE = frozenset(map(np.dtype, "?bhilqBHILQefd"))
"""The element types that NumPy's own files can name."""


def load_array(path: str) -> np.ndarray:
    """The array in a .npy file, as a new C-contiguous array of native byte order. Raises `DiagnosticError`."""
    # Mapping checks the size a header claims against the file before anything is allocated.
    loaded = open_array(path, "r")
    return np.array(loaded, dtype=loaded.dtype.newbyteorder("="), order="C", subok=False)


def open_array(path: str, mode: Literal["r", "r+"]) -> np.ndarray:
    """The array in a .npy file, mapped to read or to change the file. Raises `DiagnosticError`."""
    try:
        loaded = np.load(path, mmap_mode=mode, allow_pickle=False)
    except FileNotFoundError:
        raise _unusable(path, "the file does not exist") from None
    except PermissionError:
        raise _unusable(path, "no permission") from None
    except Exception as error:  # a malformed header ends in whatever NumPy's reader happens to trip over
        raise _unusable(path, f"not a usable .npy file: {_first_line(error)}") from None
    if not isinstance(loaded, np.ndarray):
        raise _unusable(path, "an .npz archive, not an .npy file")
    if loaded.dtype.kind not in "fiubV" or loaded.dtype.names is not None or loaded.dtype.subdtype is not None:
        raise _unusable(path, f"elements of type {loaded.dtype} are not numbers")
    return loaded


def as_parameter(value: Any, wanted: DType) -> Any:
    """`value` with raw unsigned integers (or NumPy voids) reinterpreted as `wanted` where NumPy lacks that type.

    Everything else is returned as it is: whether it suits the parameter is for the launch to say.
    """
    if not isinstance(value, np.ndarray) or wanted.value in NATIVE:
        return value
    raw = value.dtype == wanted.storage or (value.dtype.kind == "V" and value.dtype.itemsize == wanted.size)
    if not raw:
        return value
    return value.view(wanted.storage if wanted.value is None else wanted.value)


def portable(array: np.ndarray) -> np.ndarray:
    """`array`, or its raw unsigned integers where NumPy itself lacks the element type."""
    return array if array.dtype in NATIVE else array.view(np.dtype(f"u{array.dtype.itemsize}"))


def _unusable(path: str, why: str) -> DiagnosticError:
    message = f"argument file {path}: {why}"
    hint = "write it with numpy.save, or use a generator such as zeros:f32:64x64"
    return DiagnosticError(Diagnostic(ARGUMENT_FILE.id, Severity.ERROR, message, Location(path), hint))


def _first_line(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0][:200]


# Arrays that stay in their files: tensors larger than memory.


def mapped(text: str) -> tuple[str, bool, Callable[[], np.ndarray]]:
    """Of `text`, without ``mmap:``: the file, whether a kernel changes it, what makes the array.

    Raises `ArgumentSyntaxError`.
    """
    found = re.fullmatch(r"(.+?\.npy)(?::(rw|[^:]+:[^:]+))?", text)
    if found is None:
        raise ArgumentSyntaxError("expected mmap:PATH.npy, mmap:PATH.npy:rw or mmap:PATH.npy:DTYPE:SHAPE")
    path, rest = found[1], found[2]
    if rest in (None, "rw"):
        return path, rest == "rw", lambda: open_array(path, "r" if rest is None else "r+")
    element, shape = dtype_and_shape(rest.split(":"))
    return path, True, lambda: _create(path, np.dtype(element.value or element.storage), stored_shape(element, shape))


def _create(path: str, dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
    if Path(path).exists():
        message = f"argument file {path}: it exists already"
        hint = f"write mmap:{path}:rw to let the kernel change it"
        raise DiagnosticError(Diagnostic(ARGUMENT_FILE.id, Severity.ERROR, message, Location(path), hint))
    stored = dtype if dtype in NATIVE else np.dtype(f"u{dtype.itemsize}")
    try:
        return np.lib.format.open_memmap(path, mode="w+", dtype=stored, shape=shape)
    except (OSError, ValueError) as error:
        message = f"argument file {path}: {getattr(error, 'strerror', None) or error}"
        raise DiagnosticError(Diagnostic(ARGUMENT_FILE.id, Severity.ERROR, message, Location(path))) from None
