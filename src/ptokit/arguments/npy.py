"""Arrays in .npy files, which have no names for bf16 and the 8-bit and 4-bit types."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from ptokit.diagnostics import Diagnostic, DiagnosticError, Location, Severity
from ptokit.types.dtypes import DType

from .rules import ARGUMENT_FILE

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
