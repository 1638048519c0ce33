"""``ptokit convert``."""

from __future__ import annotations

from pathlib import Path

from ptokit.api.source import At
from ptokit.api.text import converted
from ptokit.diagnostics.render import summary, visible_name

from .console import emit, remark, show_diagnostics
from .files import check_writable, write_whole
from .rules import CONVERTED_FILE


def convert_file(file: str, form: str, out: str | None, target: str | None = None) -> bool:
    """Write the program of `file` in another form to `out` or, without it, to stdout; False if it has none there.

    ``target``: of a file that states none. Nothing is written then. Raises `DiagnosticError` (CLI-06) if `out`
    cannot be written.
    """
    path = None if out is None else Path(out)
    if path is not None:
        check_writable(path, "the text", CONVERTED_FILE)
    new = converted(At(file), form, target)
    show_diagnostics(new.diagnostics)
    name = visible_name(new.file)
    if new.text is None:
        remark(f"{name}: {summary(new.diagnostics)}, nothing written")
        return False
    if path is None:
        emit(new.text)
    else:
        write_whole(path, new.text.encode(), "the text", CONVERTED_FILE)
        remark(f"{name}: written to {visible_name(str(out))} in the form {form}")
    return True
