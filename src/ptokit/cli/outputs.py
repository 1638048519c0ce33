"""Files that the command line writes, whole or not at all, arrays among them."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Sequence
from errno import EISDIR
from pathlib import Path

import numpy as np

from ptokit.arguments.npy import portable
from ptokit.diagnostics import Diagnostic, DiagnosticError, Location, Rule, Severity

from .reporting import OUTPUT_DIRECTORY

# Results: the arrays a run leaves behind, as .npy files.


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


# Files that the command line writes: whole or not at all.


def check_writable(path: Path, what: str, rule: Rule) -> None:
    """Raise `DiagnosticError` if `path` cannot be written, without creating it. ``what``: "the report"."""
    if os.path.isdir(path):
        raise _unwritable(path, what, rule, "it is a directory")
    if not os.path.isdir(path.parent):
        raise _unwritable(path, what, rule, f"there is no directory {path.parent}")
    if not _special(path) and not os.access(path.resolve().parent, os.W_OK | os.X_OK):
        raise _unwritable(path, what, rule, f"no permission to write in {path.resolve().parent}")


def refuse_special(path: Path, what: str, rule: Rule) -> None:
    """Raise `DiagnosticError` if `path` is a pipe or device: writing there would not change what was read."""
    if _special(path):
        raise _unwritable(path, what, rule, "it is a pipe or a device")


def write_whole(path: Path, content: bytes, what: str, rule: Rule) -> None:
    """Write a file beside `path` and move it there when complete. Raises `DiagnosticError` about `rule`.

    A link stays one, a file that is replaced keeps its permissions, and a pipe or device is written to as it is.
    """
    try:
        if _special(path):
            path.write_bytes(content)
            return
        path = path.resolve()
        handle, name = tempfile.mkstemp(prefix=f".{path.name[:100]}-", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
            mask = os.umask(0)
            os.umask(mask)
            mode = path.stat().st_mode & 0o777 if os.path.exists(path) else 0o666 & ~mask
            os.chmod(name, mode)  # a temporary file's is another
            os.replace(name, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(name)
            raise
    except (OSError, ValueError) as error:
        raise _unwritable(path, what, rule, getattr(error, "strerror", None) or str(error)) from None


def _special(path: Path) -> bool:
    return os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path)


def _unwritable(path: Path, what: str, rule: Rule, why: str) -> DiagnosticError:
    message = f"cannot write {what} to {path}: {why}"
    return DiagnosticError(Diagnostic(rule.id, Severity.ERROR, message, Location(str(path))))
