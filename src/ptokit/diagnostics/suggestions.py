""" "Did you mean": the name that a wrong word is like, as a hint and as a change of the text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import SequenceMatcher, get_close_matches
from itertools import takewhile
from typing import Any, NamedTuple

from .finding import Diagnostic

_CLOSE_WITH_DIALECT = 0.85  # where the dialect itself may be misspelled
_CLOSE = 0.6  # ratio of `difflib` from which on words are alike
_LONGEST = 80  # characters of a word that are looked at


class Suggestion(str):
    """A hint that proposes the word ``right`` in place of ``wrong``; ``python``: both are names of Python."""

    wrong: str
    right: str
    python: bool

    def __new__(cls, wrong: str, right: str, python: bool = False) -> Suggestion:
        made = super().__new__(cls, f"did you mean {right}?" if python else f"did you mean '{right}'?")
        made.wrong, made.right, made.python = wrong, right, python
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return Suggestion, (self.wrong, self.right, self.python)


class Replacement(NamedTuple):
    """Characters ``start`` to ``end`` of a line, counted from 0 and half open, are to be ``text``."""

    start: int
    end: int
    text: str


def replacement(diagnostic: Diagnostic, line: str) -> Replacement | None:
    """The edit that the hint of a finding proposes in its line, or None if it proposes none."""
    hint, start = diagnostic.hint, diagnostic.location.column - 1
    if not isinstance(hint, Suggestion) or not 0 <= start < len(line):
        return None
    marked = line[start : start + diagnostic.location.length]  # perhaps more than the wrong word
    after = r"(?!\w)" if hint.python else r"(?![\w.])"  # a name of the text may have dots
    place = re.search(rf"(?<![\w%!]){re.escape(hint.wrong)}{after}", marked)
    return Replacement(start + place.start(), start + place.end(), hint.right) if place is not None else None


def suggest(word: str, known: Iterable[str]) -> Suggestion | None:
    """A did-you-mean hint, or None. The ``pto.`` that all operations begin with does not make them alike."""
    known = list(known)
    names = {name.removeprefix("pto."): name for name in known}
    wanted = word[:_LONGEST].removeprefix("pto.")
    same = [name for name in names if name.lower() == wanted.lower()]
    close = same or get_close_matches(wanted, [name for name in names if _may_be_close(wanted, name)], 5, _CLOSE)
    if close:
        order = list(names)
        best = max(close, key=lambda name: (*_likeness(wanted, name), -order.index(name)))
        return Suggestion(word, names[best])
    whole = get_close_matches(word[:_LONGEST], known, 1, _CLOSE_WITH_DIALECT) if "." in wanted else []
    return Suggestion(word, whole[0]) if whole else None


def _likeness(word: str, name: str) -> tuple[float, int]:
    """How much two words are alike; of names that are equally so, the one that begins like the word for longer."""
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(word, name)))
    return SequenceMatcher(None, name, word).ratio(), same


def _may_be_close(word: str, name: str) -> bool:
    """False where the letters in common are too few for `difflib`, which takes long to find that out."""
    enough = _CLOSE / 2 * (len(word) + len(name))
    if min(len(word), len(name)) < enough:
        return False
    return sum(map(name.__contains__, word)) >= enough and sum(map(word.__contains__, name)) >= enough
