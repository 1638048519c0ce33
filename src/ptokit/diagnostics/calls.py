"""Places in Python source: of what a frame evaluates, and of the arguments of calls."""

from __future__ import annotations

import ast
import linecache
from functools import lru_cache

from .location import Location

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
