"""The ``--arg`` grammar: what a kernel argument on the command line stands for.

| form | argument |
|---|---|
| ``PATH.npy`` | the array in the file; the file itself is never modified |
| ``zeros:DTYPE:SHAPE``, ``ones:DTYPE:SHAPE`` | constant array |
| ``full:VALUE:DTYPE:SHAPE`` | array of VALUE |
| ``arange:DTYPE:SHAPE`` | 0, 1, 2, …, wrapping around where the type ends |
| ``random:DTYPE:SHAPE[:seed=N]`` | see `ptokit.cli.generators`; without a seed, the argument's position is the seed |
| ``17``, ``-3``, ``0x1F``, ``2.5``, ``1e-5``, ``inf``, ``true`` | number |

DTYPE is a short name of `ptokit.types.dtypes` or any other spelling of it, SHAPE is ``1024`` or ``16x64``, in elements.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ptokit.diagnostics import Diagnostic, DiagnosticError, Location, Severity
from ptokit.types.dtypes import DType

from .generators import GENERATORS, ArgumentSyntaxError, parse_number
from .rules import ARGUMENT_FILE

Value = Any  # np.ndarray, int, float or bool


@dataclass(frozen=True)
class Argument:
    """One ``--arg``: its text, and a function that makes the value (a new one at each call).

    ``make`` raises `DiagnosticError` if a file cannot be used, `MemoryError` if an array does not fit.
    """

    text: str
    make: Callable[[], Value]


def parse_argument(text: str, position: int) -> Argument:
    """Read one ``--arg``. Raises `ArgumentSyntaxError`."""
    if text.endswith(".npy"):
        return Argument(text, lambda: load_array(text))
    word, *rest = text.split(":")
    if rest and word in GENERATORS:
        return Argument(text, GENERATORS[word](rest, position))
    number = parse_number(text)
    if number is None:
        raise ArgumentSyntaxError(
            f"{text!r} is neither a number, a path that ends in .npy, nor one of "
            + ", ".join(f"{name}:…" for name in GENERATORS)
        )
    return Argument(text, lambda: number)


def load_array(path: str) -> np.ndarray:
    """The array in a .npy file, as a new C-contiguous array of native byte order. Raises `DiagnosticError`."""
    try:
        # Mapping checks the size a header claims against the file before anything is allocated.
        loaded = np.load(path, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError:
        raise _unusable(path, "the file does not exist") from None
    except Exception as error:  # a malformed header ends in whatever NumPy's reader happens to trip over
        raise _unusable(path, f"not a usable .npy file: {_first_line(error)}") from None
    if not isinstance(loaded, np.ndarray):
        raise _unusable(path, "an .npz archive, not an .npy file")
    if loaded.dtype.kind not in "fiubV" or loaded.dtype.names is not None or loaded.dtype.subdtype is not None:
        raise _unusable(path, f"elements of type {loaded.dtype} are not numbers")
    return np.array(loaded, dtype=loaded.dtype.newbyteorder("="), order="C")


def as_parameter(value: Value, wanted: DType) -> Value:
    """`value` with raw unsigned integers (or NumPy voids) reinterpreted as `wanted` where NumPy lacks that type.

    Everything else is returned as it is: whether it suits the parameter is for the launch to say.
    """
    if not isinstance(value, np.ndarray) or is_native(wanted):
        return value
    raw = value.dtype == wanted.storage or (value.dtype.kind == "V" and value.dtype.itemsize == wanted.size)
    if not raw:
        return value
    return value.view(wanted.storage if wanted.value is None else wanted.value)


def is_native(element: DType) -> bool:
    """True if NumPy itself has this element type, so that .npy files can say so."""
    return element.value is not None and element.value.kind in "fiu" and element.value.isbuiltin == 1


def _unusable(path: str, why: str) -> DiagnosticError:
    message = f"argument file {path}: {why}"
    hint = "write it with numpy.save, or use a generator such as zeros:f32:64x64"
    return DiagnosticError(Diagnostic(ARGUMENT_FILE.id, Severity.ERROR, message, Location(path), hint))


def _first_line(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0][:200]
