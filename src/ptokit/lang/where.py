"""Places in the user's Python source, and how the front end refuses something there."""

from __future__ import annotations

import ast
import linecache
import re
import sys
from collections.abc import Iterable
from contextlib import suppress
from functools import lru_cache
from itertools import islice
from types import CodeType, FrameType

from ptokit.diagnostics import UNKNOWN_LOCATION, Diagnostic, DiagnosticError, Location, Note, Rule
from ptokit.diagnostics.location import characters, place_of

_PLACES: dict[tuple[str, CodeType, int], Location] = {}  # codes of two files may be equal
_ASSIGNMENT = re.compile(r"\s*([A-Za-z]\w*)\s*(?::[^=]*)?=\s*(?=[^=\s])")


def user_frame() -> FrameType | None:
    """The innermost frame outside ptokit, or None."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if module != "ptokit" and not module.startswith("ptokit."):
            return frame
        frame = frame.f_back
    return None


def location_of(frame: FrameType) -> Location:
    """Place of the expression that `frame` evaluates: file, line, column (from 1) and length on that line."""
    place = location_at(frame.f_code, frame.f_lasti)
    return place if place.line else Location(frame.f_code.co_filename, frame.f_lineno)


def location_at(code: CodeType, instruction: int) -> Location:
    """The same for an instruction of a function's code; without a line where the code does not tell."""
    key = (code.co_filename, code, instruction)
    place = _PLACES.get(key)
    if place is None:
        positions = next(islice(code.co_positions(), instruction // 2, None), (None,) * 4)
        place = _PLACES[key] = place_of(code.co_filename, positions)
    return place


def here() -> Location:
    """Place of the user's call that is being executed."""
    frame = user_frame()
    return UNKNOWN_LOCATION if frame is None else location_of(frame)


def is_item(place: Location) -> bool:
    """True if the expression at a place is an item of something: ``bufs[i]``."""
    if place.file is None or not place.line:
        return False
    text = linecache.getline(place.file, place.line)[place.column - 1 : place.column - 1 + place.length]
    with suppress(SyntaxError, ValueError):
        return isinstance(ast.parse(text, mode="eval").body, ast.Subscript)
    return False


def target_name(location: Location) -> str:
    """A readable name for the value made at this place: the variable that the statement assigns it to.

    Empty if the place is not the whole right-hand side of an assignment.
    """
    if location.file is None or not location.line:
        return ""
    line = linecache.getline(location.file, location.line)
    span = (location.column - 1, location.column - 1 + location.length)
    return next((name for name, place in _assigned(line) if place == span), "")


@lru_cache(maxsize=1024)
def _assigned(line: str) -> list[tuple[str, tuple[int, int]]]:
    """Variables that a line assigns, each with the columns of its value: ``x = f()`` and ``x, y = f(), g()``."""
    text = line.strip()
    indent = len(line) - len(line.lstrip())
    try:
        (statement,) = ast.parse(text).body
    except (SyntaxError, ValueError):  # the first of several lines: of a value, only its beginning counts
        start = _ASSIGNMENT.match(line)
        return [(start[1], (start.end(), start.end() + 1))] if start else []
    if not isinstance(statement, ast.Assign | ast.AnnAssign) or statement.value is None:
        return []
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    pairs: list[tuple[ast.expr, ast.expr]] = []
    for target in targets:
        if isinstance(target, ast.Tuple) and isinstance(statement.value, ast.Tuple):
            pairs += zip(target.elts, statement.value.elts)
        else:
            pairs.append((target, statement.value))
    return [
        (target.id, (characters(text, value.col_offset) + indent, characters(text, value.end_col_offset) + indent))
        for target, value in pairs
        if isinstance(target, ast.Name) and value.end_col_offset is not None
    ]


def refusal(
    rule: Rule,
    message: str,
    *,
    hint: str | None = None,
    notes: Iterable[Note] = (),
    location: Location | None = None,
) -> DiagnosticError:
    """The error to raise for one finding, at the user's call unless a place is given."""
    place = here() if location is None else location
    return DiagnosticError(Diagnostic(rule.id, rule.severity, message, place, hint, tuple(notes)))
