"""From a file or a pipe to text."""

from __future__ import annotations

import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from errno import ENOENT
from os import fstat, strerror
from pathlib import Path
from stat import S_ISREG
from typing import BinaryIO

from ptokit.diagnostics import Diagnostics, Location
from ptokit.diagnostics.location import keep_text

from . import rules
from .lexer import MAX_TEXT

_MAX_BYTES = 4 * MAX_TEXT  # no character takes more


def line_ends(text: str) -> str:
    """`text` with a line feed for each carriage return that stands alone: both end a line, as in editors."""
    return _CR.sub("\n", text) if "\r" in text else text


_CR = re.compile(r"\r(?!\n)")


def read_text(path: str | Path) -> tuple[str | None, Diagnostics]:
    """The text of a file, line ends as they are; None and why (TEXT-FILE, -BINARY, -SIZE) if there is none."""
    file = str(path)
    try:
        if not file:
            raise FileNotFoundError(ENOENT, strerror(ENOENT))  # not the current directory, as for Path
        with open(path, "rb") as stream:
            return read_stream(stream, file)
    except (OSError, ValueError) as error:
        return None, _unreadable(file, error)


def _unreadable(file: str, error: Exception) -> Diagnostics:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    diagnostics = Diagnostics()
    diagnostics.error(rules.FILE, f"cannot read the file: {reason}", Location(file))
    return diagnostics


def _regular(stream: BinaryIO) -> bool:
    """True for a file that can be read again."""
    try:
        return S_ISREG(fstat(stream.fileno()).st_mode)
    except (OSError, ValueError):  # no file of the system
        return False


def read_stream(stream: BinaryIO, file: str) -> tuple[str | None, Diagnostics]:
    """`read_text` of an open file or pipe, which diagnostics call `file`."""
    diagnostics = Diagnostics()
    try:
        data = stream.read(_MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        return None, _unreadable(file, error)
    if not data.strip():
        diagnostics.error(rules.FILE, "the file is empty", Location(file))
        return None, diagnostics
    if len(data) > _MAX_BYTES:
        diagnostics.error(rules.SIZE, f"the file has more than {_MAX_BYTES} bytes", Location(file))
        return None, diagnostics
    if not _regular(stream):
        keep_text(file, data.decode("utf-8-sig", errors="replace"))
    try:
        return data.decode("utf-8-sig"), diagnostics
    except UnicodeDecodeError as error:
        before = error.object[: error.start]  # without the byte order mark
        line = before.rpartition(b"\n")[2].decode()
        place = Location(file, before.count(b"\n") + 1, len(line) + 1)
        utf16 = data[:2] in (BOM_UTF16_LE, BOM_UTF16_BE)
        hint = "the file seems to be UTF-16 text: save it as UTF-8" if utf16 else None
        diagnostics.error(rules.BINARY, f"byte {error.object[error.start]:#04x} is not UTF-8 text", place, hint=hint)
        return None, diagnostics
