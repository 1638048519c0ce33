"""Results: the arrays a run leaves behind, as .npy files."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Sequence
from errno import EISDIR
from pathlib import Path

import numpy as np

from ptokit.arguments.npy import portable
from ptokit.diagnostics import Diagnostic, DiagnosticError, Location, Severity

from .rules import OUTPUT_DIRECTORY


def check_directory(directory: Path, names: Sequence[str] = ()) -> None:
    """Raise `DiagnosticError` if arrays `names` cannot be written to `directory`, without creating anything."""
    try:
        directory.stat()
    except (FileNotFoundError, NotADirectoryError):
        pass
    except (OSError, ValueError) as error:  # a name that is too long, a folder that may not be read
        raise _refused(directory, _why(error)) from None
    if os.path.exists(directory) and not os.path.isdir(directory):
        raise _refused(directory, "it is a file")
    parent = next(p for p in (directory, *directory.absolute().parents) if os.path.exists(p))
    if not os.path.isdir(parent):
        raise _refused(directory, f"{parent} is a file")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise _refused(directory, f"no permission to write in {parent}")
    for name in names:
        if os.path.isdir(directory / f"{name}.npy"):
            raise _refused(directory, f"{name}.npy in it is a folder")


def save_arrays(directory: Path, arrays: dict[str, np.ndarray]) -> None:
    """Write each array to ``directory/NAME.npy``: all of them or, if anything fails, none. Names may have a folder.

    They are written to a new directory beside `directory` and moved when complete; what they replace is put back if
    one cannot be moved. Raises `DiagnosticError`.
    """
    made = [p for p in (directory, *directory.parents) if not os.path.exists(p)]
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
        import tempfile  # takes its time

        staging = Path(tempfile.mkdtemp(prefix=f".{directory.name[:100]}-", dir=directory.parent))
        try:
            for name, array in arrays.items():
                (staging / name).parent.mkdir(exist_ok=True)
                np.save(staging / f"{name}.npy", portable(array), allow_pickle=False)
            directory.mkdir(exist_ok=True)
            for folder in dict.fromkeys((directory / name).parent for name in arrays):
                if not os.path.exists(folder):
                    folder.mkdir()
                    made.insert(0, folder)
            _move_all(staging, directory, [f"{name}.npy" for name in arrays])
        finally:
            shutil.rmtree(staging, ignore_errors=True)
    except BaseException as error:
        for folder in made:
            with contextlib.suppress(OSError):
                folder.rmdir()
        if isinstance(error, OSError | ValueError):
            raise _refused(directory, _why(error)) from None
        raise


def _move_all(source: Path, target: Path, names: Sequence[str]) -> None:
    """Move files; if one cannot be moved, all of `target` is as before."""
    for name in names:
        if os.path.isdir(target / name):
            raise IsADirectoryError(EISDIR, f"{name} in it is a folder")
    moved: list[str] = []
    kept: list[str] = []
    try:
        for name in names:
            if os.path.lexists(target / name):
                os.replace(target / name, source / _old(name))
                kept.append(name)
            os.replace(source / name, target / name)
            moved.append(name)
    except BaseException:
        for name in moved:
            os.unlink(target / name)
        for name in kept:
            os.replace(source / _old(name), target / name)
        raise


def _old(name: str) -> str:
    """What a file is called that another one replaces, for the time being."""
    return f"old {name.replace('/', ' ')}"


def _why(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)


def _refused(directory: Path, why: str) -> DiagnosticError:
    message = f"cannot write results to {directory}: {why}"
    return DiagnosticError(Diagnostic(OUTPUT_DIRECTORY.id, Severity.ERROR, message, Location(str(directory))))
