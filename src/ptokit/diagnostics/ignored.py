"""Comments that ignore rules at one place: ``// ptokit: ignore[RULE-ID] reason``, with # in Python."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import field

from ptokit.records import dataclass

from .diagnostic import source_lines
from .finding import Diagnostic
from .location import Location

_WORD = re.compile(r"ptokit:\s*ignore\b(?:\s*\[([^\]]*)\])?")


@dataclass
class Ignore:
    """A comment that ignores rules in ``line``; ``at``: where it stands."""

    at: Location
    line: int
    rules: tuple[str, ...]
    text: bool  # in `.pto` text, not in Python
    used: set[str] = field(default_factory=set)

    def hides(self, found: Diagnostic) -> bool:
        """True if it hides a finding in its file."""
        if found.location.line != self.line:
            return False
        fitting = {rule for rule in self.rules if found.rule.startswith(rule)}
        self.used |= fitting
        return bool(fitting)


def ignores_of_text(file: str, text: str) -> list[Ignore]:
    """The comments of `.pto` text."""
    return list(_made(file, text.split("\n"), _comments_of_text(text), text=True))


def ignores_of_python(file: str) -> list[Ignore]:
    """The comments of a Python file, as it is now."""
    lines = [] if file.endswith(".pto") else [line.rstrip("\n") for line in source_lines(file)]
    if not any("ptokit:" in line for line in lines):
        return []
    return list(_made(file, lines, _comments_of_python("\n".join(lines)), text=False))


def _made(file: str, lines: list[str], comments: Iterable[tuple[int, int, str]], *, text: bool) -> Iterator[Ignore]:
    for line, column, comment in comments:
        found = _WORD.match(comment.lstrip("/# \t"))
        if found is None:
            continue
        rules = tuple(word.strip().upper() for word in (found[1] or "").split(",") if word.strip())
        about = line
        if not lines[line - 1][:column].strip():  # in a line of its own: about the next one that is none
            following = (n for n, code in enumerate(lines[line:], line + 1) if code.strip(" \t\r/#"))
            about = next((n for n in following if not lines[n - 1].lstrip().startswith(("//", "#"))), line)
        yield Ignore(Location(file, line, column + 1, len(comment.rstrip())), about, rules, text)


def _comments_of_text(text: str) -> Iterator[tuple[int, int, str]]:
    """Line, characters before it, and text of every comment of `.pto` text that may be meant for ptokit."""
    if "ptokit:" not in text:
        return
    for number, line in enumerate(text.split("\n"), 1):
        start = line.find("//")
        while start >= 0 and line.count('"', 0, start) % 2:  # in a string
            start = line.find("//", start + 1)
        if start >= 0:
            yield number, start, line[start:]


def _comments_of_python(text: str) -> Iterator[tuple[int, int, str]]:
    import io
    import tokenize

    try:
        for token in tokenize.generate_tokens(io.StringIO(text + "\n").readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0], token.start[1], token.string
    except (tokenize.TokenError, SyntaxError):
        return
