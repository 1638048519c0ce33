"""``ptokit convert``."""

from __future__ import annotations

from pathlib import Path

from ptokit.asm.convert import convert
from ptokit.diagnostics.render import summary, visible_name

from .console import emit, remark, show_diagnostics
from .files import check_writable, write_whole
from .inputs import parse
from .rules import CONVERTED_FILE


def convert_file(file: str, form: str, out: str | None) -> bool:
    """Write the program of `file` in another form to `out` or, without it, to stdout; False if it has none there.

    Nothing is written then. Raises `DiagnosticError` (CLI-06) if `out` cannot be written.
    """
    path = None if out is None else Path(out)
    if path is not None:
        check_writable(path, "the text", CONVERTED_FILE)
    read = parse(file)
    name = visible_name(read.module.file or file)
    if read.diagnostics.errors:
        show_diagnostics(read.diagnostics)
        remark(f"{name}: {summary(read.diagnostics)}, nothing written")
        return False
    converted = convert(read.module, form)
    found = [*read.diagnostics, *converted.diagnostics]
    show_diagnostics(found)
    if converted.text is None:
        remark(f"{name}: {summary(found)}, nothing written")
        return False
    if path is None:
        emit(converted.text)
    else:
        write_whole(path, converted.text.encode(), "the text", CONVERTED_FILE)
        remark(f"{name}: written to {visible_name(str(out))} in the form {form}")
    return True
