"""Enumerations whose members have a spelling in text."""

from __future__ import annotations

from enum import IntEnum
from typing import Self


class Spelled(IntEnum):
    """An integer enumeration with a text spelling per member."""

    @property
    def text(self) -> str:
        """Spelling in `.pto` text: ``RowMajor`` → ``row_major``."""
        out = ""
        for i, ch in enumerate(self.name):
            if ch.isupper() and i and not self.name[i - 1].isupper():
                out += "_"
            out += ch.lower()
        return out

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Member by its `.pto` spelling or its C++ name. Raises `KeyError`."""
        for member in cls:
            if text in (member.text, member.name):
                return member
        raise KeyError(text)


class Numbered(IntEnum):
    """An enumeration that older texts and programs write as a number."""

    @property
    def text(self) -> str:
        """The spelling in `.pto` text."""
        return self.name.lower()

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Member by its `.pto` spelling or its name. Raises `KeyError`."""
        found = [m for m in cls if text in (m.text, m.name)]
        if not found:
            raise KeyError(text)
        return found[0]
