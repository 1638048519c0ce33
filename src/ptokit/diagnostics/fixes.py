"""What a "did you mean" changes in the text."""

from __future__ import annotations

import re
from typing import NamedTuple

from .diagnostic import Diagnostic

_GUESS = re.compile(r"did you mean '([^']+)'\?\Z")
_QUOTED = re.compile(r"'([^'\s]+)'")


class Replacement(NamedTuple):
    """Characters ``start`` to ``end`` of a line, counted from 0 and half open, are to be ``text``."""

    start: int
    end: int
    text: str


def replacement(diagnostic: Diagnostic, line: str) -> Replacement | None:
    """The edit that the hint of a finding proposes in its line, or None if it proposes none."""
    guess = _GUESS.search(diagnostic.hint or "")
    start = diagnostic.location.column - 1
    if guess is None or not 0 <= start < len(line):
        return None
    marked = line[start : start + diagnostic.location.length]
    for word in reversed(_QUOTED.findall(diagnostic.message)):  # the mark may cover more than the wrong word
        place = re.search(rf"(?<![\w%!]){re.escape(word)}(?![\w.])", marked)
        if place is not None:
            return Replacement(start + place.start(), start + place.end(), guess[1])
    quote = marked[:1] == '"'
    word = marked.strip('"')
    if word in diagnostic.message and re.fullmatch(r"[%@^]?[\w.$-]+", word):
        return Replacement(start + quote, start + quote + len(word), guess[1])
    return None
