"""Tokens of `.pto` text (assembly 1), found by one regular expression.

A type (``!pto.tile_buf<...>``, ``memref<...>``), an attribute (``#pto<cmp lt>``) and an angle group (``<PIPE_V>``) are
one token each, so the readers look them up by their text. Every other token is told by its text or its first
character; there are no token kinds.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import accumulate

EOF = "\0"
"""Text of the token after the last one. NUL cannot occur in the text: such input is refused before."""

MAX_TEXT = 32 * 1024 * 1024

_STRING = r'"(?:[^"\\\n]|\\.)*+"'
_ANGLE_DEPTH = 5  # deepest nesting of < > inside one type; real types use 3


def _angle(depth: int) -> str:
    """``<...>`` with up to `depth` levels; ``->`` does not close. Possessive throughout, so it runs in linear time."""
    inner = rf"|{_angle(depth - 1)}" if depth > 1 else ""
    return rf'<(?:[^<>"\-/]++|->?|//[^\n]*+|/|{_STRING}{inner})*+>'


_GROUP = _angle(_ANGLE_DEPTH)
_SUFFIX = r"[\w$.]*+"
_SYMBOL = rf"@(?:[A-Za-z_]{_SUFFIX}|{_STRING})"
_WITH_GROUP = "memref|vector|tensor|complex|tuple|dense|array|affine_map|affine_set|strided|overflow|fastmath"
_TOKEN = "|".join(
    [
        r"%(?:\d++|[A-Za-z_$.\-][\w$.]*+(?:-(?!>)[\w$.]*+)*+)(?:\#\d++)?",  # value
        r"""[(),:={}\[\]](?=[\w\s"%@!\#/])""",
        r"""[^\w\s"%@!\#/]{201,}+""",  # junk: no readable text has so many brackets in a row
        r"[(),:={}\[\]]",
        rf"(?:![A-Za-z_]{_SUFFIX}|\#(?:[A-Za-z_]{_SUFFIX})?|(?:{_WITH_GROUP})(?=<)|(?=<)){_GROUP}",  # type, attribute
        rf"![A-Za-z_]{_SUFFIX}",
        rf"[A-Za-z_]{_SUFFIX}",  # word
        r"-?0x[0-9a-fA-F]++",
        r"-?\d++(?:\.\d*+(?:[eE][+-]?\d++)?)?",
        rf"\#(?:[A-Za-z_]{_SUFFIX})?",
        r"->",
        rf"{_SYMBOL}(?:::{_SYMBOL})*+",
        r'"(?:[^"\\\n]|\\.)*+(?:"|\\?(?=\n)|\\?\Z)',  # string; an unclosed one ends with its line
        r"\^[\w$.\-]++",  # block label
        r"[^\x00-\x7f]++",
        r".",
        r"\Z",
    ]
)
_BLANKS = " \t\n\r\f\v"  # what \s is in ASCII
_COMMENTS = r"(?://[^\n]*+\s*+)*+"
_SCAN = re.compile(rf"\s*+{_COMMENTS}(?:{_TOKEN})", re.ASCII | re.DOTALL)
_LEADING_COMMENTS = re.compile(rf"\A{_COMMENTS}", re.ASCII)


class Tokens:
    """The token stream of a text: ``texts[i]`` ends before character ``ends[i]``; the last one is `EOF`."""

    __slots__ = ("text", "texts", "ends", "_lines")

    def __init__(self, text: str) -> None:
        self.text = text
        found: list[str] = _SCAN.findall(text)  # without groups, which would make a tuple for each token
        self.ends: list[int] = list(accumulate(map(len, found)))
        self.texts = [token.lstrip(_BLANKS) for token in found]
        if "//" in text:
            self.texts = [_LEADING_COMMENTS.sub("", t, 1) if t[:2] == "//" else t for t in self.texts]
        last = len(self.texts) - 1
        while last >= 0 and not self.texts[last]:
            self.texts[last] = EOF
            last -= 1
        self._lines = [0, *accumulate(len(line) + 1 for line in text.split("\n"))]

    def start(self, index: int) -> int:
        """Offset of a token."""
        token = self.texts[index]
        return self.ends[index] - (0 if token is EOF else len(token))

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column of a character, both from 1."""
        line = bisect_right(self._lines, offset)
        return line, offset - self._lines[line - 1] + 1

    def place(self, first: int, last: int) -> tuple[int, int, int]:
        """Line, column and length of the tokens from `first` to `last`; at least one character long."""
        text, stop = self.texts[first], self.ends[last]
        start = self.ends[first] - (0 if text is EOF else len(text))
        line = bisect_right(self._lines, start)
        return line, start - self._lines[line - 1] + 1, stop - start if stop > start else 1

    def starts_line(self, index: int) -> bool:
        """True if the token is the first on its line."""
        return index == 0 or "\n" in self.text[self.ends[index - 1] : self.start(index)]
