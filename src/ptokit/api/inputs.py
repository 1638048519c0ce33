"""What is read: files, folders of files, or stdin."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from ptokit.asm.text.files import read_stream, read_text
from ptokit.asm.text.rules import FILE
from ptokit.diagnostics import Diagnostic, DiagnosticError, Diagnostics, Location, Severity

STDIN = "<stdin>"
"""How findings call what is read for ``-``."""


PYTHON = ".py"
"""What the names of files with kernels in Python end with."""


def split(path: str) -> tuple[str, str]:
    """The file and the kernel that ``kernels.py:name`` names; "" where there is none."""
    file, colon, name = path.rpartition(":")
    return (file, name) if colon and file.endswith(PYTHON) else (path, "")


def expand(names: Sequence[str]) -> list[str]:
    """The files meant: those named, and the ``.pto`` files below folders, each once; ``-`` becomes `STDIN`.

    Hidden folders below a folder are left out. Raises `DiagnosticError` for a folder without any such file.
    """
    out: list[str] = []
    for name in names:
        if name == "-" or not name or not os.path.isdir(name):
            out.append(STDIN if name == "-" else name)
            continue
        folder = Path(name)
        found = [p for p in sorted(folder.rglob("*.pto")) if not _hidden(p.relative_to(folder)) and p.is_file()]
        if not found:
            raise DiagnosticError(
                Diagnostic(FILE, Severity.ERROR, "there is no .pto file in this folder", Location(name))
            )
        out += map(str, found)
    return list(dict.fromkeys(out))


def _hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def read(file: str) -> tuple[str | None, Diagnostics]:
    """The text of a file or of stdin; None and why if there is none, as `ptokit.asm.text.files.read_text`."""
    if file not in ("-", STDIN):
        return read_text(file)
    if sys.stdin is None:  # the process was started without one
        found = Diagnostics()
        found.error(FILE, "cannot read the file: it is closed", Location(STDIN))
        return None, found
    return read_stream(sys.stdin.buffer, STDIN)
