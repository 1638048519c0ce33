"""What is wrong with a type, and hints."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import SequenceMatcher, get_close_matches
from itertools import takewhile

from ptokit.types.dtypes import DTYPES, DType, dtype, is_dtype
from ptokit.types.values import Scalar

from . import rules


class TypeFaultError(Exception):
    """A wrong type: rule, message, and the characters of the type's text that are wrong."""

    def __init__(self, rule: str, message: str, offset: int = 0, length: int = 1, hint: str | None = None) -> None:
        super().__init__(message)
        self.rule, self.message, self.offset, self.length, self.hint = rule, message, offset, length, hint


_CLOSE_WITH_DIALECT = 0.85  # where the dialect itself may be misspelled
_CLOSE = 0.6  # ratio of `difflib` from which on words are alike


def suggest(word: str, known: Iterable[str]) -> str | None:
    """A did-you-mean hint, or None. The ``pto.`` that all operations begin with does not make them alike."""
    known = list(known)
    names = {name.removeprefix("pto."): name for name in known}
    wanted = word[:80].removeprefix("pto.")
    same = [name for name in names if name.lower() == wanted.lower()]
    close = same or get_close_matches(wanted, [name for name in names if _may_be_close(wanted, name)], 5, _CLOSE)
    if close:
        order = list(names)
        best = max(close, key=lambda name: (*_likeness(wanted, name), -order.index(name)))
        return f"did you mean '{names[best]}'?"
    whole = get_close_matches(word[:80], known, 1, _CLOSE_WITH_DIALECT) if "." in wanted else []
    return f"did you mean '{whole[0]}'?" if whole else None


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


def is_signed(text: str) -> bool:
    """True for an integer type that says it is signed: ``si32``."""
    return text[:2] == "si"


def number(text: str) -> Scalar:
    """The type of a number that `text` spells, which is one."""
    return Scalar(text[1:], True) if is_signed(text) else Scalar(text)


def element(text: str, offset: int) -> DType:
    """The element type `text` spells; `offset` is its place in the type. Raises `TypeFaultError`."""
    if not is_dtype(text):
        spellings = [t.text for t in DTYPES.values()]
        hint = suggest(text, spellings) or f"element types are {', '.join(spellings)}"
        raise TypeFaultError(
            rules.TYPE, f"'{text}' is not an element type of tiles and tensors", offset, len(text), hint
        )
    return dtype(text)
