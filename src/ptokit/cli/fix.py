"""``--fix`` and ``--diff``: what findings propose, written into the file where it helps."""

from __future__ import annotations

import contextlib
import difflib
import os
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from ptokit.api.errors import UsageError
from ptokit.api.inputs import STDIN, split
from ptokit.diagnostics import Diagnostic, DiagnosticError, Location
from ptokit.diagnostics.finding import Edit, edited
from ptokit.diagnostics.render import visible_name

from .console import emit, remark
from .files import refuse_special, write_whole
from .rules import FIXED_FILE

_ROUNDS = 5  # times that the fixes of a file are looked for, each on top of the last

Seen = tuple[list[Sequence[Edit]], Counter[str]]
"""The edits of each fix of a file, and how many findings of each rule it has."""


def mend(file: str, look: Callable[[str], Seen], *, write: bool) -> None:
    """Make the fixes of a file that leave fewer findings and none of another rule, in place or as a difference.

    ``file``: as on the command line; ``look`` tells what is found in another version of it, a file of its own that lies
    beside it. ``write``: False to print the difference. Raises `DiagnosticError` (CLI-08) where the file cannot be
    written, or is another one by then.
    """
    path, kernel = split(file)
    if file in ("-", STDIN):
        raise UsageError("--fix and --diff change a file, and stdin is none.", "fix")
    if not os.path.exists(path):
        return  # what looks at it says so
    refuse_special(Path(path), "the text", FIXED_FILE)
    original = Path(path).read_bytes()
    if write and not os.access(path, os.W_OK):
        raise _refused(path, "no permission to write it")
    try:
        source = original.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise _refused(path, "it is no UTF-8 text") from None
    mark = original[: len(original) - len(source.encode())]
    text, made, left = source, 0, 0
    at, fixes, rules = path, *look(file)
    for _ in range(_ROUNDS):
        here = os.path.abspath(at)
        mine: list[Sequence[Edit]] = [
            edits for fix in fixes if (edits := [e for e in fix if os.path.abspath(e.file) == here])
        ]
        better = next(_better(path, kernel, text, mine, rules, look), None)
        if better is None:
            left = len(mine)
            break
        count, text, at, fixes, rules = better
        made += count
    shown = visible_name(path)
    if text == source:
        remark(f"{shown}: {'no fix helps' if left else 'nothing to fix'}")
    elif write:
        if Path(path).read_bytes() != original:
            raise _refused(path, "it has been changed meanwhile")
        write_whole(Path(path), mark + text.encode(), "the text", FIXED_FILE)
        remark(f"{shown}: {_counted(made, 'fix')} made{f', {left} left alone' if left else ''}")
    else:
        old, new = source.splitlines(keepends=True), text.splitlines(keepends=True)
        emit("".join(difflib.unified_diff(old, new, shown, shown)))


def _better(
    path: str, kernel: str, text: str, fixes: list[Sequence[Edit]], rules: Counter[str], look: Callable[[str], Seen]
) -> Iterator[tuple[int, str, str, list[Sequence[Edit]], Counter[str]]]:
    """Versions with fewer findings and none of another rule: with all fixes, else with one of them."""
    for chosen in [fixes, *([fix] for fix in fixes if len(fixes) > 1)]:
        new = edited(text, (edit for fix in chosen for edit in fix))
        if new == text:
            continue
        with _beside(path, new) as other:
            try:
                more, found = look(f"{other}:{kernel}" if kernel else other)
            except DiagnosticError:
                continue
            if found.total() < rules.total() and found <= rules:
                yield len(chosen), new, other, more, found


@contextlib.contextmanager
def _beside(path: str, text: str) -> Iterator[str]:
    """A file in the folder of another one, for as long as it is looked at."""
    place = Path(path)
    try:
        handle, name = tempfile.mkstemp(prefix=f"{place.stem[:60]}_fixed_", suffix=place.suffix, dir=place.parent)
    except OSError as error:
        raise _refused(path, error.strerror or str(error)) from None
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        yield name
    finally:
        with contextlib.suppress(OSError):
            os.unlink(name)


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}es"


def _refused(path: str, why: str) -> DiagnosticError:
    message = f"{visible_name(path)} cannot be mended: {why}"
    return DiagnosticError(Diagnostic(FIXED_FILE.id, FIXED_FILE.severity, message, Location(path)))
