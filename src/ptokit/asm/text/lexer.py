"""Tokens of `.pto` text (assembly 1), what lies between them, and where texts come from.

A type (``!pto.tile_buf<...>``, ``memref<...>``), an attribute (``#pto<cmp lt>``) and an angle group (``<PIPE_V>``) are
one token each, so the readers look them up by their text. Every other token is told by its text or its first
character; there are no token kinds.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Sequence
from dataclasses import field
from errno import ENOENT
from itertools import accumulate
from os import fstat, strerror
from pathlib import Path
from stat import S_ISREG
from typing import BinaryIO

from ptokit.diagnostics import Diagnostics, Location
from ptokit.diagnostics.finding import keep_text
from ptokit.ir.control import CONTROL
from ptokit.isa.table import BY_OPERATION
from ptokit.records import dataclass

from . import rules

# Tokens of `.pto` text (assembly 1), found by one regular expression.


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


# What stands between two tokens: comments and blank lines.


BLANK = ""
_SPACE = " \t\r\n\f\v"


@dataclass(slots=True)
class Gap:
    """``trailing``: the comment after the token before, or "". ``lines``: comments in lines of their own, `BLANK`
    for one or more blank lines."""

    trailing: str = ""
    lines: list[str] = field(default_factory=list)

    @property
    def comments(self) -> list[str]:
        """The comments in lines of their own."""
        return [line for line in self.lines if line]


def read_gap(text: str, *, first: bool = False) -> Gap:
    """Take the text between two tokens apart; `first` if no token stands before it."""
    if not text.strip(" "):
        return Gap()
    head, *others = text.split("\n")
    gap = Gap()
    if first:
        others.insert(0, head)
    else:
        gap.trailing = head.strip(_SPACE)
    for number, line in enumerate(others, 1):
        comment = line.strip(_SPACE)
        if comment:
            gap.lines.append(comment)
        elif number < len(others) and gap.lines[-1:] != [BLANK]:  # the last one is the token's own line
            gap.lines.append(BLANK)
    return gap


# Blanks between the tokens of one line, as the printer sets them.


_LISTS = frozenset(("offset", "sizes", "strides"))  # memref.reinterpret_cast: ``offset: [..]``
_SPACED = {"to", "attributes", "private", "public", "nested", "return", "else", "do"}
"""Words with a blank before an opening bracket, as instructions whose form begins with one have it."""


def join(tokens: Sequence[str], glued: Sequence[bool | None], *, header: bool) -> str:
    """The line of `tokens`; ``glued[i]`` decides whether a blank stands before token i, None leaves it to the rules.

    ``header``: the line is the head of a function or a block label, whose parentheses hold ``%name: type``.
    """
    results = _result_list(tokens)
    parts: list[str] = []
    brackets: list[str] = []
    for i, token in enumerate(tokens):
        if i:
            keep = glued[i]
            names = header and (brackets[-1:] == ["("] or (tokens[0][0] == "^" and not brackets))
            blank = _blank(tokens, i, tight_colon=names or i <= results) if keep is None else not keep
            parts.append(" " * blank)
        parts.append(token)
        if token in ("(", "[", "{"):
            brackets.append(token)
        elif token in (")", "]", "}") and brackets:
            brackets.pop()
    return "".join(parts)


def _result_list(tokens: Sequence[str]) -> int:
    """Index of the ``=`` after the results that the line starts with; 0 if there are none."""
    if tokens[0][0] != "%":
        return 0
    for i, token in enumerate(tokens):
        if token == "=":
            return i
        if not (token[0] == "%" or token in (",", ":") or token.isdecimal()):
            break
    return 0


def _spaced(word: str) -> bool:
    instr = BY_OPERATION.get(word)
    if word in CONTROL:
        return CONTROL[word].form.startswith(("(", "<? ("))
    return "".join(instr.form.grammar[:1]).startswith("[") if instr is not None else word in _SPACED


def _blank(tokens: Sequence[str], i: int, *, tight_colon: bool) -> bool:
    """True if a blank stands before token i."""
    left, right = tokens[i - 1], tokens[i]
    if right in (",", ")", "]") or left in ("(", "["):
        return False
    if left == "{" or right == "}":
        return False  # of a dictionary: a region's braces end their line or start it
    before_label = tokens[i + 1 : i + 2] and tokens[i + 1][0] == "^"
    if right == "[" and before_label:
        return left != ")"
    if right in ("(", "["):
        if right == "[" and left[0].isalpha():  # ``sizes [``, but ``pto.set_flag[``
            return _spaced(left) if "." in left else i > 1
        return _spaced(left) or not (left[0].isalnum() or left[0] in '_@%^"]')
    if right == ":":
        return not (tight_colon or left in _LISTS or before_label)
    if left == ":":
        return not (tight_colon and right.isdecimal())
    if right == "=" and left[0] == "#":  # ``#atomic=add``, but ``#alias = 1``
        return i == 1
    return not (left == "=" and i > 2 and tokens[i - 2][0] == "#")


# From a file or a pipe to text.


_MAX_BYTES = 4 * MAX_TEXT  # no character takes more


def line_ends(text: str) -> str:
    """`text` with a line feed for each carriage return that stands alone: both end a line, as in editors."""
    return _CR.sub("\n", text) if "\r" in text else text


_CR = re.compile(r"\r(?!\n)")


def read_text(path: str | Path) -> tuple[str | None, Diagnostics]:
    """The text of a file, line ends as they are; None and why (TEXT-FILE, -BINARY, -SIZE) if there is none."""
    file = str(path)
    try:
        if not file:
            raise FileNotFoundError(ENOENT, strerror(ENOENT))  # not the current directory, as for Path
        with open(path, "rb") as stream:
            return read_stream(stream, file)
    except (OSError, ValueError) as error:
        return None, _unreadable(file, error)


def _unreadable(file: str, error: Exception) -> Diagnostics:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    diagnostics = Diagnostics()
    diagnostics.error(rules.FILE, f"cannot read the file: {reason}", Location(file))
    return diagnostics


def _regular(stream: BinaryIO) -> bool:
    """True for a file that can be read again."""
    try:
        return S_ISREG(fstat(stream.fileno()).st_mode)
    except (OSError, ValueError):  # no file of the system
        return False


def read_stream(stream: BinaryIO, file: str) -> tuple[str | None, Diagnostics]:
    """`read_text` of an open file or pipe, which diagnostics call `file`."""
    diagnostics = Diagnostics()
    try:
        data = stream.read(_MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        return None, _unreadable(file, error)
    if not data.strip():
        diagnostics.error(rules.FILE, "the file is empty", Location(file))
        return None, diagnostics
    if len(data) > _MAX_BYTES:
        diagnostics.error(rules.SIZE, f"the file has more than {_MAX_BYTES} bytes", Location(file))
        return None, diagnostics
    if not _regular(stream):
        keep_text(file, data.decode("utf-8-sig", errors="replace"))
    try:
        return data.decode("utf-8-sig"), diagnostics
    except UnicodeDecodeError as error:
        before = error.object[: error.start]  # without the byte order mark
        line = before.rpartition(b"\n")[2].decode()
        place = Location(file, before.count(b"\n") + 1, len(line) + 1)
        utf16 = data[:2] in (BOM_UTF16_LE, BOM_UTF16_BE)
        hint = "the file seems to be UTF-16 text: save it as UTF-8" if utf16 else None
        diagnostics.error(rules.BINARY, f"byte {error.object[error.start]:#04x} is not UTF-8 text", place, hint=hint)
        return None, diagnostics
