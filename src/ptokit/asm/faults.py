"""What is wrong with a type, and hints."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from ptokit.types.dtypes import DTYPES, DType, dtype, is_dtype

from . import rules


class TypeFaultError(Exception):
    """A wrong type: rule, message, and the characters of the type's text that are wrong."""

    def __init__(self, rule: str, message: str, offset: int = 0, length: int = 1, hint: str | None = None) -> None:
        super().__init__(message)
        self.rule, self.message, self.offset, self.length, self.hint = rule, message, offset, length, hint


def suggest(word: str, known: Iterable[str]) -> str | None:
    """A did-you-mean hint, or None."""
    names = list(known)
    same = [name for name in names if name.lower() == word.lower()]
    close = same or get_close_matches(word[:80], names, 1, 0.6)
    return f"did you mean '{close[0]}'?" if close else None


def element(text: str, offset: int) -> DType:
    """The element type `text` spells; `offset` is its place in the type. Raises `TypeFaultError`."""
    if not is_dtype(text):
        spellings = [t.text for t in DTYPES.values()]
        hint = suggest(text, spellings) or f"element types are {', '.join(spellings)}"
        raise TypeFaultError(
            rules.TYPE, f"'{text}' is not an element type of tiles and tensors", offset, len(text), hint
        )
    return dtype(text)
