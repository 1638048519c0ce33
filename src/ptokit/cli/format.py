"""``ptokit fmt``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ptokit.asm.format import format_text
from ptokit.diagnostics import Diagnostics
from ptokit.diagnostics.render import summary, visible_name

from .console import emit, remark, say, show_diagnostics
from .files import refuse_special, write_whole
from .inputs import STDIN, expand, read
from .rules import FORMATTED_FILE


def format_files(names: Sequence[str], *, check: bool, to_stdout: bool) -> bool:
    """Lay out every file that has no errors; False if one has, or, with `check`, if one would change.

    ``names``: as for `expand`; the text of stdin goes to stdout. ``check``: list the files that would change and write
    nothing. ``to_stdout``: print the texts instead.
    """
    good = True
    for file in expand(names):
        old, found = read(file)
        new = None
        if old is not None:
            formatted = format_text(old, file)
            new, found = formatted.text, formatted.diagnostics
        if old is None or new is None:
            _refuse(file, found)
            good = False
        elif check:
            if new != old:
                say(visible_name(file))
                good = False
        elif to_stdout or file == STDIN:
            emit(new)
        elif new != old:
            refuse_special(Path(file), "the text", FORMATTED_FILE)
            write_whole(Path(file), new.encode(), "the text", FORMATTED_FILE)
            remark(f"{visible_name(file)}: laid out")
    return good


def _refuse(file: str, found: Diagnostics) -> None:
    show_diagnostics(found)
    remark(f"{visible_name(file)}: {summary(found)}, left as it is")
