"""The lines of source texts, as the lexer counts them."""

from __future__ import annotations

import os
import re
from functools import lru_cache
from pathlib import Path
from stat import S_ISREG

from .location import Location


@lru_cache(maxsize=8)
def _split(text: str) -> list[str]:
    # Not str.splitlines: it has more line ends than the lexer, by whose line numbers we count.
    return re.split(r"\r\n|[\r\n]", text)


_KEPT: dict[str, str] = {}


def keep_text(file: str, text: str) -> None:
    """Remember the text of what cannot be read a second time, such as a pipe, for `file_lines`."""
    _KEPT[file] = text


def file_lines(file: str) -> list[str]:
    """The lines of a file as the lexer counts them; none if it cannot be read."""
    if file in _KEPT:
        return _split(_KEPT[file])
    try:
        stat = os.stat(file)
        return _read_lines(file, stat.st_mtime_ns, stat.st_size) if S_ISREG(stat.st_mode) else []
    except (OSError, ValueError):
        return []


@lru_cache(maxsize=8)
def _read_lines(file: str, time: int, size: int) -> list[str]:
    """``time`` and ``size`` tell a file from what it was before a change."""
    return _split(Path(file).read_bytes().decode("utf-8-sig", errors="replace"))


def end_column(at: Location) -> int:
    """The column behind the last character of a place, in its line; 0 where the place is a whole file."""
    if not at.line:
        return 0
    start = max(at.column, 1)
    end = start + max(at.length, 1)
    lines = file_lines(at.file) if at.file is not None else []
    if at.line <= len(lines):  # a token may go on in the next line, and the end of a file has no width
        end = max(start, min(end, len(lines[at.line - 1]) + 1))
    return end
