"""Files that the command line writes: whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

from ptokit.diagnostics import Diagnostic, DiagnosticError, Location, Rule, Severity


def check_writable(path: Path, what: str, rule: Rule) -> None:
    """Raise `DiagnosticError` if `path` cannot become a file, without creating it. ``what``: "the report"."""
    if path.is_dir():
        raise _refused(path, what, rule, "it is a directory")
    if not path.parent.is_dir():
        raise _refused(path, what, rule, f"there is no directory {path.parent}")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise _refused(path, what, rule, f"no permission to write in {path.parent}")


def write_whole(path: Path, content: bytes, what: str, rule: Rule, *, mode: int | None = None) -> None:
    """Write a file beside `path` and move it there when complete. Raises `DiagnosticError` about `rule`.

    ``mode``: its permissions, if not those of any new file.
    """
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
            mask = os.umask(0)
            os.umask(mask)
            os.chmod(name, 0o666 & ~mask if mode is None else mode)  # temporary files are private
            os.replace(name, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(name)
            raise
    except (OSError, ValueError) as error:
        raise _refused(path, what, rule, getattr(error, "strerror", None) or str(error)) from None


def _refused(path: Path, what: str, rule: Rule, why: str) -> DiagnosticError:
    message = f"cannot write {what} to {path}: {why}"
    return DiagnosticError(Diagnostic(rule.id, Severity.ERROR, message, Location(str(path))))
