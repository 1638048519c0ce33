"""What callers choose by a word, and enumerations whose members have a spelling in text.

This module imports nothing, so that the command line knows the words before anything else is loaded.
"""

from __future__ import annotations

from enum import IntEnum, StrEnum
from typing import Self

# Enumerations whose members have a spelling in text.


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


# What callers choose by a word: the options of the command line, of the library and of files of settings.


class Matmul(StrEnum):
    """How the cube unit adds up products: rounded once, in f32, or in the order of k."""

    EXACT = "exact"
    FAST = "fast"
    REF = "ref"


class Backend(StrEnum):
    """The backend that runs a kernel: the module or package of that name in `ptokit.backends`."""

    NUMPY = "numpy"
    NATIVE = "native"
    REFERENCE = "reference"


class Mode(StrEnum):
    """Who places tiles and orders pipes: the compiler, or the program. With ``auto-sync`` the program places tiles, and
    the compiler orders the pipes of each core."""

    AUTO = "auto"
    AUTO_SYNC = "auto-sync"
    MANUAL = "manual"


class Order(StrEnum):
    """Which order instructions of one pipe have without synchronisation: complete, or what the target promises."""

    STRICT = "strict"
    PROFILE = "profile"


class RuleSet(StrEnum):
    """Which rules a file is checked by."""

    ALL = "all"
    ASSEMBLER = "assembler"


class TextForm(StrEnum):
    """Text forms of a program."""

    DPS = "dps"
    SSA = "ssa"
    SYNC = "sync"
    GENERIC = "generic"


class Action(StrEnum):
    """What a campaign does with a program."""

    CHECK = "check"  # against the rules of the target
    RUN = "run"  # on arguments; what it leaves in them is kept as a digest
    SANITIZE = "sanitize"  # races, uninitialised data, flags, deadlocks
    COMPARE = "compare"  # run, and what it leaves in its arguments judged
    TIME = "time"  # run several times
