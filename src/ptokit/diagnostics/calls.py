"""Arguments of calls in Python source: where they stand."""

from __future__ import annotations

import ast
import linecache
from functools import lru_cache

from .location import Location

Argument = int | str
"""An argument of a call: its position, or its keyword."""


def argument_place(call: Location, argument: Argument) -> Location | None:
    """Where an argument of the call at a place stands; None if that cannot be told from the source."""
    if call.file is None or not call.line:
        return None
    text = "".join(linecache.getlines(call.file))
    for node in _calls(text).get((call.line, call.column), ()):
        found = _argument(node, argument)
        if found is not None:
            return _place(call.file, text, found)
    return None


@lru_cache(maxsize=8)
def _calls(text: str) -> dict[tuple[int, int], list[ast.Call]]:
    """The calls of a file by line and column, both from 1; the outermost of a place first."""
    found: dict[tuple[int, int], list[ast.Call]] = {}
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return found
    lines = text.splitlines()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            found.setdefault((node.lineno, _column(lines, node.lineno, node.col_offset)), []).append(node)
    return found


def _argument(call: ast.Call, argument: Argument) -> ast.expr | None:
    if isinstance(argument, str):
        return next((k.value for k in call.keywords if k.arg == argument), None)
    if argument >= len(call.args) or any(isinstance(a, ast.Starred) for a in call.args[: argument + 1]):
        return None
    return call.args[argument]


def _place(file: str, text: str, node: ast.expr) -> Location:
    lines = text.splitlines()
    column = _column(lines, node.lineno, node.col_offset)
    if node.end_lineno != node.lineno or node.end_col_offset is None:
        return Location(file, node.lineno, column, 1)
    return Location(file, node.lineno, column, _column(lines, node.lineno, node.end_col_offset) - column)


def _column(lines: list[str], line: int, offset: int) -> int:
    """The column from 1, in characters, of an offset in UTF-8 bytes."""
    return len(lines[line - 1].encode()[:offset].decode(errors="ignore")) + 1
