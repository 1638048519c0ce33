"""``ptokit fmt``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ptokit.api.inputs import STDIN, expand
from ptokit.api.source import At
from ptokit.api.text import Rewritten, formatted
from ptokit.diagnostics.render import summary, visible_name

from .console import emit, remark, say, show_diagnostics
from .files import refuse_special, write_whole
from .rules import FORMATTED_FILE


def format_files(names: Sequence[str], *, check: bool, to_stdout: bool) -> bool:
    """Lay out every file that has no errors; False if one has, or, with `check`, if one would change.

    ``names``: as for `expand`; the text of stdin goes to stdout. ``check``: list the files that would change and write
    nothing. ``to_stdout``: print the texts instead.
    """
    good = True
    for file in expand(names):
        new = formatted(At(file))
        if new.text is None:
            _refuse(new)
            good = False
        elif check:
            if new.text != new.old:
                say(visible_name(file))
                good = False
        elif to_stdout or file == STDIN:
            emit(new.text)
        elif new.text != new.old:
            refuse_special(Path(file), "the text", FORMATTED_FILE)
            write_whole(Path(file), new.text.encode(), "the text", FORMATTED_FILE)
            remark(f"{visible_name(file)}: laid out")
    return good


def _refuse(old: Rewritten) -> None:
    show_diagnostics(old.diagnostics)
    remark(f"{visible_name(old.file)}: {summary(old.diagnostics)}, left as it is")
