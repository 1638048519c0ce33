"""Where operations begin and end in a source text, so that something can be inserted before or after them."""

from __future__ import annotations

from ptokit.diagnostics.location import file_lines
from ptokit.ir.core import Op

from .python_text import python_text

_OPEN, _CLOSE = "([{", ")]}"


def first_line(op: Op) -> int:
    """The line an operation begins in."""
    at = op.location
    if at.file is not None and at.file.endswith(".py"):
        return python_text(at.file).span(at.line)[0]
    return at.line


def last_line(op: Op, following: Op | None) -> int:
    """The last line of an operation; ``following`` is the next one in its block.

    A text that cannot be read is taken to have one operation per line, and the end of a loop on a line of its own.
    """
    at = op.location
    nested = [inner for region in op.regions for block in region.blocks for inner in block.ops]
    if at.file is not None and at.file.endswith(".py"):
        return max([python_text(at.file).span(at.line)[1], *(last_line(inner, None) for inner in nested)])
    lines = file_lines(at.file) if at.file is not None else []
    if at.line > len(lines):  # or is another text by now
        return max([at.line, *(last_line(inner, None) + 1 for inner in nested)])
    stop = following.location.line if following is not None else _end_of_block(lines, at.line, at.column)
    stop = min(stop, len(lines) + 1)
    while stop - 1 > at.line and not lines[stop - 2].partition("//")[0].strip():
        stop -= 1
    return stop - 1 if stop > at.line else at.line


def alone(op: Op, following: Op | None, before: Op | None) -> bool:
    """True if no neighbour shares a line with the operation, so that lines can be inserted around it."""
    if following is not None and first_line(following) <= last_line(op, following):
        return False
    return before is None or last_line(before, op) < first_line(op)


def indent(file: str | None, line: int) -> str:
    """The blanks a line begins with."""
    lines = file_lines(file) if file is not None else []
    text = lines[line - 1] if 0 < line <= len(lines) else ""
    return text[: len(text) - len(text.lstrip())]


def _end_of_block(lines: list[str], line: int, column: int) -> int:
    """The line of the brace that ends the block around a place of `.pto` text."""
    depth = 0
    start = max(column - 1, 0)
    for number in range(line, len(lines) + 1):
        quoted, before = False, ""
        for char in lines[number - 1][start:]:
            if char == '"':
                quoted = not quoted
            elif not quoted and char == "/" and before == "/":
                break
            elif not quoted and char in _OPEN:
                depth += 1
            elif not quoted and char in _CLOSE:
                depth -= 1
                if depth < 0:
                    return number
            before = char
        start = 0
    return len(lines) + 1
