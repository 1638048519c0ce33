"""``ptokit convert``."""

from __future__ import annotations

import sys
from pathlib import Path

from ptokit.asm.convert import convert
from ptokit.asm.module import read_module

from .console import remark, show_diagnostics
from .files import check_writable, write_whole
from .rules import CONVERTED_FILE


def convert_file(file: str, form: str, out: str | None) -> bool:
    """Write the program of `file` in another form to `out` or, without it, to stdout; False if it has none there.

    Nothing is written then. Raises `DiagnosticError` (CLI-06) if `out` cannot be written.
    """
    path = None if out is None else Path(out)
    if path is not None:
        check_writable(path, "the text", CONVERTED_FILE)
    read = read_module(file)
    if read.diagnostics.errors:
        show_diagnostics(read.diagnostics)
        return False
    converted = convert(read.module, form)
    show_diagnostics([*read.diagnostics, *converted.diagnostics])
    if converted.text is None:
        return False
    if path is None:
        sys.stdout.write(converted.text)
    else:
        write_whole(path, converted.text.encode(), "the text", CONVERTED_FILE)
        remark(f"{file}: written to {out} in the form {form}")
    return True
