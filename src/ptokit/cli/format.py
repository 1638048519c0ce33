"""``ptokit fmt``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from ptokit.asm.format import format_text
from ptokit.asm.module import read_text
from ptokit.diagnostics import Diagnostics
from ptokit.diagnostics.render import summary

from .console import remark, say, show_diagnostics
from .files import write_whole
from .rules import FORMATTED_FILE


def format_files(files: Sequence[str], *, check: bool, to_stdout: bool) -> bool:
    """Lay out every file that has no errors; False if one has, or, with `check`, if one would change.

    ``check``: list the files that would change and write nothing. ``to_stdout``: print the texts instead.
    """
    good = True
    for file in files:
        old, found = read_text(file)
        new = None
        if old is not None:
            formatted = format_text(old, file)
            new, found = formatted.text, formatted.diagnostics
        if old is None or new is None:
            _refuse(file, found)
            good = False
        elif check:
            if new != old:
                say(file)
                good = False
        elif to_stdout:
            sys.stdout.write(new)
        elif new != old:
            path = Path(file).resolve()  # a link stays one
            write_whole(path, new.encode(), "the text", FORMATTED_FILE, mode=path.stat().st_mode & 0o777)
            remark(f"{file}: laid out")
    return good


def _refuse(file: str, found: Diagnostics) -> None:
    show_diagnostics(found)
    remark(f"{file}: {summary(found)}, left as it is")
