"""Hints that are changes of the text: the name that a wrong word is like ("did you mean"), and other words to write."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from difflib import SequenceMatcher, get_close_matches
from itertools import takewhile
from typing import Any, NamedTuple

from .finding import Diagnostic
from .location import Location

_CLOSE_WITH_DIALECT = 0.85  # where the dialect itself may be misspelled
_CLOSE = 0.6  # ratio of `difflib` from which on words are alike
_LONGEST = 80  # characters of a word that are looked at


class Proposal(str):
    """A hint that is also a change: the text ``right`` in place of ``wrong``, which stands where the finding is, or at
    ``place`` where that is given; ``python``: both are Python."""

    wrong: str
    right: str
    python: bool
    place: Location | None

    def __new__(cls, hint: str, wrong: str, right: str, python: bool = True, place: Location | None = None) -> Proposal:
        made = super().__new__(cls, hint)
        made.wrong, made.right, made.python, made.place = wrong, right, python, place
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return Proposal, (str(self), self.wrong, self.right, self.python, self.place)


class Change(str):
    """A hint of a rule that is also a change of the program: ``right`` in place of ``wrong`` where the operand ``of``
    is made, or, without one, in the operation. Who reports the rule knows where that is (`at`)."""

    wrong: str
    right: str
    of: str

    def __new__(cls, hint: str, wrong: str, right: str, of: str = "") -> Change:
        made = super().__new__(cls, hint)
        made.wrong, made.right, made.of = wrong, right, of
        return made

    def at(self, place: Location) -> Proposal:
        """The hint, once it is known where the change is to be made."""
        return Proposal(str(self), self.wrong, self.right, place=place)


def suggestion(wrong: str, right: str, python: bool = False) -> Proposal:
    """The hint that a word is misspelled."""
    return Proposal(f"did you mean {right}?" if python else f"did you mean '{right}'?", wrong, right, python)


class Replacement(NamedTuple):
    """Characters ``start`` to ``end`` of a line, counted from 0 and half open, are to be ``text``."""

    file: str | None
    line: int
    start: int
    end: int
    text: str


def replacement(diagnostic: Diagnostic, lines: Callable[[str], Sequence[str]]) -> Replacement | None:
    """The edit that the hint of a finding proposes, or None if it proposes none; ``lines``: those of a file."""
    hint = diagnostic.hint
    if not isinstance(hint, Proposal):
        return None
    at = hint.place or diagnostic.location
    text, start = lines(at.file or ""), at.column - 1
    if not 0 < at.line <= len(text) or not 0 <= start < len(text[at.line - 1]):
        return None
    marked = text[at.line - 1][start : start + at.length]  # perhaps more than the wrong word
    after = r"(?!\w)" if hint.python else r"(?![\w.])"  # a name of the text may have dots
    place = re.search(rf"(?<![\w%!]){re.escape(hint.wrong)}{after}", marked)
    if place is None:
        return None
    return Replacement(at.file, at.line, start + place.start(), start + place.end(), hint.right)


def suggest(word: str, known: Iterable[str]) -> Proposal | None:
    """A did-you-mean hint, or None. The ``pto.`` that all operations begin with does not make them alike."""
    known = list(known)
    names = {name.removeprefix("pto."): name for name in known}
    wanted = word[:_LONGEST].removeprefix("pto.")
    same = [name for name in names if name.lower() == wanted.lower()]
    close = same or get_close_matches(wanted, [name for name in names if _may_be_close(wanted, name)], 5, _CLOSE)
    if close:
        order = list(names)
        best = max(close, key=lambda name: (*_likeness(wanted, name), -order.index(name)))
        return suggestion(word, names[best])
    whole = get_close_matches(word[:_LONGEST], known, 1, _CLOSE_WITH_DIALECT) if "." in wanted else []
    return suggestion(word, whole[0]) if whole else None


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
