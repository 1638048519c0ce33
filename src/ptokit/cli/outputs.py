"""Results: the arrays a run leaves behind, as .npy files."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ptokit.arguments.npy import portable
from ptokit.diagnostics import Diagnostic, DiagnosticError, Location, Severity

from .rules import OUTPUT_DIRECTORY


def file_names(names: Sequence[str]) -> list[str]:
    """File name without suffix for each parameter: its own name, ``argN`` where it has none or only a number.

    Two names that differ only in case get a number, because some file systems would merge them.
    """
    taken: set[str] = set()
    out = []
    for i, name in enumerate(names):
        own = f"arg{i}" if not name or name.isdigit() else name
        if own.lower() in taken:
            own = f"{own}_{i}"
        taken.add(own.lower())
        out.append(own)
    return out


def check_directory(directory: Path) -> None:
    """Raise `DiagnosticError` if results cannot be written to `directory`, without creating anything."""
    if directory.exists() and not directory.is_dir():
        raise _refused(directory, "it is a file")
    parent = next(p for p in (directory, *directory.absolute().parents) if p.exists())
    if not parent.is_dir():
        raise _refused(directory, f"{parent} is a file")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise _refused(directory, f"no permission to write in {parent}")


def save_arrays(directory: Path, arrays: dict[str, np.ndarray]) -> None:
    """Write each array to ``directory/NAME.npy``: all of them or, if anything fails, none.

    They are written to a new directory beside `directory` and moved when complete. Raises `DiagnosticError`.
    """
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
        staging = Path(tempfile.mkdtemp(prefix=f".{directory.name}-", dir=directory.parent))
        try:
            for name, array in arrays.items():
                np.save(staging / f"{name}.npy", portable(array), allow_pickle=False)
            directory.mkdir(exist_ok=True)
            for name in arrays:
                os.replace(staging / f"{name}.npy", directory / f"{name}.npy")
        finally:
            shutil.rmtree(staging, ignore_errors=True)
    except OSError as error:
        raise _refused(directory, error.strerror or str(error)) from None


def _refused(directory: Path, why: str) -> DiagnosticError:
    message = f"cannot write results to {directory}: {why}"
    return DiagnosticError(Diagnostic(OUTPUT_DIRECTORY.id, Severity.ERROR, message, Location(str(directory))))
