"""What is wrong with a type."""

from __future__ import annotations

from ptokit.diagnostics.finding import suggest
from ptokit.types.dtypes import DTYPES, DType, dtype, is_dtype
from ptokit.types.values import Scalar

from . import rules


class TypeFaultError(Exception):
    """A wrong type: rule, message, and the characters of the type's text that are wrong."""

    def __init__(self, rule: str, message: str, offset: int = 0, length: int = 1, hint: str | None = None) -> None:
        super().__init__(message)
        self.rule, self.message, self.offset, self.length, self.hint = rule, message, offset, length, hint


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
