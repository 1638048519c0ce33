"""Files that the command line writes: whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

from ptokit.diagnostics import Diagnostic, DiagnosticError, Location, Rule, Severity


def check_writable(path: Path, what: str, rule: Rule) -> None:
    """Raise `DiagnosticError` if `path` cannot be written, without creating it. ``what``: "the report"."""
    if os.path.isdir(path):
        raise _refused(path, what, rule, "it is a directory")
    if not os.path.isdir(path.parent):
        raise _refused(path, what, rule, f"there is no directory {path.parent}")
    if not _special(path) and not os.access(path.resolve().parent, os.W_OK | os.X_OK):
        raise _refused(path, what, rule, f"no permission to write in {path.resolve().parent}")


def refuse_special(path: Path, what: str, rule: Rule) -> None:
    """Raise `DiagnosticError` if `path` is a pipe or device: writing there would not change what was read."""
    if _special(path):
        raise _refused(path, what, rule, "it is a pipe or a device")


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
        raise _refused(path, what, rule, getattr(error, "strerror", None) or str(error)) from None


def _special(path: Path) -> bool:
    return os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path)


def _refused(path: Path, what: str, rule: Rule, why: str) -> DiagnosticError:
    message = f"cannot write {what} to {path}: {why}"
    return DiagnosticError(Diagnostic(rule.id, Severity.ERROR, message, Location(str(path))))
