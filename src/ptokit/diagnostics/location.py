"""Places in source texts and in Python source, and the lines there."""

from __future__ import annotations

import ast
import linecache
import os
import re
from functools import lru_cache
from pathlib import Path
from stat import S_ISREG
from typing import NamedTuple

# Places in source texts.


class Location(NamedTuple):
    """A place in a source text: lines and columns count from 1, ``length`` is in characters.

    Every operation and value has one, so it is of a kind that is made quickly.
    """

    file: str | None = None
    line: int = 0
    column: int = 0
    length: int = 1

    def __str__(self) -> str:
        if self.file is None:
            return "<unknown>"
        return f"{self.file}:{self.line}:{self.column}" if self.line else self.file


class Called(Location):
    """A place in a function that was put in line: ``calls`` are those that led to it, with what they are."""

    calls: tuple[tuple[str, Location], ...] = ()

    @classmethod
    def at(cls, place: Location, calls: tuple[tuple[str, Location], ...]) -> Location:
        """A place with the calls that led to it."""
        if not calls:
            return place
        made = cls(*place)
        made.calls = calls
        return made


UNKNOWN_LOCATION = Location()


# The lines of source texts, as the lexer counts them.


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


# Places in Python source: of what a frame evaluates, and of the arguments of calls.


Argument = int | str
"""An argument of a call: its position, or its keyword."""

_SHORT = 24
"""Characters of an expression that findings quote in place of a name."""


def place_of(file: str, positions: tuple[int | None, int | None, int | None, int | None]) -> Location:
    """A place from Python's own: first and last line, first and last column in bytes from 0."""
    line, end_line, column, end_column = positions
    if line is None or column is None or end_column is None:
        return Location(file)
    text = linecache.getline(file, line)
    first, last = characters(text, column), characters(text, end_column)
    return Location(file, line, first + 1, max(1, last - first) if end_line == line else 1)


def characters(text: str, offset: int) -> int:
    """Characters in the first `offset` UTF-8 bytes, the unit in which Python counts columns."""
    return offset if text.isascii() else len(text.encode()[:offset].decode(errors="ignore"))


def expression_at(place: Location) -> str:
    """A short expression of a Python source, as it is written; empty for one that is long or of several lines."""
    if place.file is None or not place.line or place.length > _SHORT:
        return ""
    line = linecache.getline(place.file, place.line)
    text = line[place.column - 1 : place.column - 1 + place.length]
    cut = place.length == 1 and line[place.column : place.column + 1].isidentifier()  # the first of several lines
    return "" if cut or text.startswith("@") else text


def argument_place(call: Location, argument: Argument) -> Location | None:
    """Where an argument of the call at a place stands; None if that cannot be told from the source."""
    if call.file is None or not call.line:
        return None
    nodes = _calls(call.file, "".join(linecache.getlines(call.file))).get((call.line, call.column), ())
    found = (_argument(node, argument) for node in nodes)
    return next((_place(call.file, node) for node in found if node is not None), None)


@lru_cache(maxsize=8)
def _calls(file: str, text: str) -> dict[tuple[int, int], list[ast.Call]]:
    """The calls of a file by line and column, both from 1; the outermost of a place first."""
    found: dict[tuple[int, int], list[ast.Call]] = {}
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return found
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            at = _place(file, node)
            found.setdefault((at.line, at.column), []).append(node)
    return found


def _argument(call: ast.Call, argument: Argument) -> ast.expr | None:
    if isinstance(argument, str):
        return next((k.value for k in call.keywords if k.arg == argument), None)
    if argument >= len(call.args) or any(isinstance(a, ast.Starred) for a in call.args[: argument + 1]):
        return None
    return call.args[argument]


def _place(file: str, node: ast.expr) -> Location:
    return place_of(file, (node.lineno, node.end_lineno, node.col_offset, node.end_col_offset))
