"""Tokens of `.pto` text (assembly 1), found by one regular expression.

A type (``!pto.tile_buf<...>``, ``memref<...>``), an attribute (``#pto<cmp lt>``) and an angle group (``<PIPE_V>``) are
one token each, so the readers look them up by their text. Every other token is told by its text or its first
character; there are no token kinds.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import accumulate, chain

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
_TOKEN = "|".join(
    [
        r"%(?:\d++|[A-Za-z_$.\-](?:[\w$.]|-(?!>))*+)(?:\#\d++)?",  # value
        r"""[^\w\s"%@!\#/]{201,}+""",  # junk: no readable text has so many brackets in a row
        r"[(),:={}\[\]]",
        rf"![A-Za-z_]{_SUFFIX}(?:{_GROUP})?",  # type
        rf"(?:memref|vector|tensor|complex|tuple|dense|array|affine_map|affine_set|strided|overflow|fastmath){_GROUP}",
        rf"[A-Za-z_]{_SUFFIX}",  # word
        r"-?0x[0-9a-fA-F]++",
        r"-?\d++(?:\.\d*+(?:[eE][+-]?\d++)?)?",
        rf"\#(?:[A-Za-z_]{_SUFFIX})?(?:{_GROUP})?",  # attribute
        r"->",
        _GROUP,
        rf"{_SYMBOL}(?:::{_SYMBOL})*+",
        r'"(?:[^"\\\n]|\\.)*+(?:"|\\?(?=\n)|\\?\Z)',  # string; an unclosed one ends with its line
        r"\^[\w$.\-]++",  # block label
        r"[^\x00-\x7f]++",
        r".",
    ]
)
_SCAN = re.compile(rf"((?:\s++|//[^\n]*+)*+)({_TOKEN}|\Z)", re.ASCII | re.DOTALL)


class Tokens:
    """The token stream of a text: ``texts[i]`` starts at character ``starts[i]``; the last one is `EOF`."""

    __slots__ = ("text", "texts", "starts", "_lines")

    def __init__(self, text: str) -> None:
        self.text = text
        pairs = _SCAN.findall(text)
        self.texts: list[str] = [token or EOF for _, token in pairs]
        self.starts: list[int] = list(accumulate(map(len, chain.from_iterable(pairs))))[0::2]
        self._lines: list[int] | None = None

    def end(self, index: int) -> int:
        """Offset just behind a token."""
        token = self.texts[index]
        return self.starts[index] + (0 if token is EOF else len(token))

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column of a character, both from 1."""
        if self._lines is None:
            self._lines = [0, *(m.end() for m in re.finditer("\n", self.text))]
        line = bisect_right(self._lines, offset)
        return line, offset - self._lines[line - 1] + 1

    def starts_line(self, index: int) -> bool:
        """True if the token is the first on its line."""
        return index == 0 or "\n" in self.text[self.end(index - 1) : self.starts[index]]
