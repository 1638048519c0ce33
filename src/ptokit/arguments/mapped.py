"""Arrays that stay in their files: tensors larger than memory.

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

import numpy as np

from ptokit.diagnostics import Diagnostic, DiagnosticError, Location, Severity

from .generators import ArgumentSyntaxError, dtype_and_shape, stored_shape
from .npy import NATIVE, open_array
from .rules import ARGUMENT_FILE


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
