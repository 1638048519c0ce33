"""Diagnostics as text for people: compiler style, with the source line, a caret, and the page of the rule.

```
softmax.pto:14:7: error: trowexpandsub: sources differ in element type: f32 and f16 [REXP-02]
   14 |       pto.trowexpandsub ins(%t, %m : !pto.tile_buf<vec, 16x256xf32>, …
      |       ^^^^^^^^^^^^^^^^^
   hint: convert %m with tcvt first
```

Colour is plain ANSI, so that rendering imports nothing. Lines wider than the terminal are cut around the caret, tabs
and control characters are shown as they count, wide characters as two cells.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterable, Mapping
from urllib.parse import quote

from .finding import Diagnostic, Note, Severity
from .location import Location, _split, file_lines

# Diagnostics as text for people: compiler style, with the source line and a caret.


DEFAULT_WIDTH = 120
_ELLIPSIS = "…"
_TAB = 4
_LONGEST_WORD = 400  # longer ones are quoted rubbish; paths are shorter
_ENDLESS = re.compile(rf"\S{{{_LONGEST_WORD},}}")
_BOLD, _RED, _YELLOW, _CYAN, _GREEN, _BLUE = "1", "1;31", "1;33", "1;36", "1;32", "34"
_SEVERITY_COLOUR = {Severity.ERROR: _RED, Severity.WARNING: _YELLOW, Severity.NOTE: _CYAN}


def render(
    diagnostics: Iterable[Diagnostic],
    *,
    color: bool = False,
    width: int = DEFAULT_WIDTH,
    sources: Mapping[str, str] | None = None,
    labels: Mapping[Diagnostic, str] | None = None,
) -> str:
    """All `diagnostics` as one text that ends with a newline, or "" if there are none.

    ``width`` is in terminal cells and bounds quoted source lines only: messages and paths are never wrapped.
    ``sources`` gives the text of files that are not on disk, or no longer as they were read. ``labels``: what to say
    of findings beside their rule.
    """
    printer = _Printer(color, width, sources or {}, labels or {})
    return "".join(printer.diagnostic(d) for d in diagnostics)


def summary(diagnostics: Iterable[Diagnostic]) -> str:
    """``2 errors, 1 warning``; "" if there are neither."""
    found = list(diagnostics)
    parts = []
    for severity in (Severity.ERROR, Severity.WARNING):
        n = sum(d.severity is severity for d in found)
        if n:
            parts.append(f"{n} {severity}{'s' if n > 1 else ''}")
    return ", ".join(parts)


def visible(text: str) -> str:
    """`text` with control characters escaped, so that no input can steer the terminal, and endless words cut."""
    if len(text) > _LONGEST_WORD:
        text = _ENDLESS.sub(lambda word: f"{word[0][:100]}{_ELLIPSIS}{word[0][-50:]}", text)
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" else _escape(c) for c in text)


def visible_name(name: str) -> str:
    """A name, or what is said of one, in one line, as `visible`: no name makes a line of its own."""
    return visible(name.replace("\n", "\\n"))


class _Printer:
    def __init__(self, color: bool, width: int, sources: Mapping[str, str], labels: Mapping[Diagnostic, str]) -> None:
        self.labels = labels
        self.color = color
        self.width = max(width, 40)
        self.sources = sources
        self.place: Location | None = None
        self.shown: set[Note] = set()

    def paint(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.color and text else text

    def diagnostic(self, d: Diagnostic) -> str:
        """A finding at the place of the one before it shows neither the line nor the same notes again."""
        color = _SEVERITY_COLOUR[d.severity]
        rule = f"{d.rule} {self.labels[d]}" if d in self.labels else d.rule
        out = self.head(d.location, str(d.severity), d.message, color, rule)
        if d.location != self.place or d.location.file is None:
            out += self.quote(d.location, color)
            self.place, self.shown = d.location, set()
        if d.hint:
            out += self.remark(d.hint)
        for note in d.remarks:
            if note in self.shown:
                continue
            self.shown.add(note)
            if note.location.file is None or note.location == d.location:
                out += f"   {self.paint('note:', _CYAN)} {visible_name(note.message)}\n"
            else:
                out += self.head(note.location, "note", note.message, _CYAN) + self.quote(note.location, _CYAN)
        return out

    def head(self, at: Location, word: str, message: str, color: str, rule: str = "") -> str:
        where = "" if at.file is None else self.paint(f"{visible_name(str(at))}:", _BOLD) + " "
        tail = f" [{rule}]" if rule else ""
        return f"{where}{self.paint(word + ':', color)} {self.paint(visible_name(message), _BOLD)}{tail}\n"

    def remark(self, hint: str) -> str:
        return f"   {self.paint('hint:', _GREEN)} {visible_name(hint)}\n"

    def quote(self, at: Location, color: str) -> str:
        """The source line with a gutter and a caret line; "" where there is no such line."""
        line = self.line(at)
        if line is None:
            return ""
        gutter = f"{at.line:5d} | "
        blank = " " * (len(gutter) - 2) + "| "
        start = min(max(at.column - 1, 0), len(line))
        stop = min(max(start + max(at.length, 1), start + 1), max(len(line), start + 1))
        text, before, marked = _window(line, start, stop, self.width - len(gutter))
        caret = self.paint("^" * marked, color)
        quoted = f"{self.paint(gutter, _BLUE)}{text}\n" if text else f"{self.paint(gutter.rstrip(), _BLUE)}\n"
        return f"{quoted}{self.paint(blank, _BLUE)}{' ' * before}{caret}\n"

    def line(self, at: Location) -> str | None:
        if at.file is None or at.line < 1:
            return None
        lines = _split(self.sources[at.file]) if at.file in self.sources else file_lines(at.file)
        return lines[at.line - 1] if at.line <= len(lines) else None


def _window(line: str, start: int, stop: int, room: int) -> tuple[str, int, int]:
    """The part of `line` to show in `room` cells, cells before the mark, cells of the mark."""
    first, last = 0, len(line)
    if len(line) > room or _cells(line) > room:
        # Characters take one cell or more; starting from a window of `room` characters, shrink until it fits.
        keep = min(stop, start + room // 2)
        first = max(0, min(start - room // 3, len(line) - room))
        last = min(len(line), max(first + room, keep))
        while last - first > 1 and _cells(line[first:last]) + (first > 0) + (last < len(line)) > room:
            if last > keep and last - keep >= start - first:
                last -= 1
            elif first < start:
                first += 1
            else:
                last -= 1
    lead = _ELLIPSIS if first else ""
    shown = lead + "".join(map(_cell_text, line[first:last])) + (_ELLIPSIS if last < len(line) else "")
    before = len(lead) + _cells(line[first:start])
    return shown, before, max(1, _cells(line[start : min(stop, last)]))


def _cell_text(c: str) -> str:
    if c == "\t":
        return " " * _TAB
    return c if c.isprintable() else _escape(c)


def _escape(c: str) -> str:
    return f"\\x{ord(c):02x}" if ord(c) < 256 else f"\\u{ord(c):04x}"


def _cells(text: str) -> int:
    """Terminal cells that `text` occupies as `_cell_text` shows it."""
    if text.isascii() and text.isprintable():
        return len(text)
    return sum(_cell_width(c) for c in text)


def _cell_width(c: str) -> int:
    shown = _cell_text(c)
    if len(shown) > 1:
        return len(shown)
    if unicodedata.combining(c):
        return 0
    return 2 if unicodedata.east_asian_width(c) in "WF" else 1


# The page of a rule in the documentation, and a link to it.


SETTING = "PTOKIT_DOCS"
"""The environment variable that says where the built documentation is: what links to its pages begin with."""


def page_of(rule: str) -> str:
    """The page of the rule with this id, as a path below the documentation."""
    return f"reference/rules/{rule}.html"


def link_to(page: str) -> str | None:
    """A link to a page of the documentation; None where nothing says where the documentation is.

    An invented place would be a dead link, so there is none by default.
    """
    base = os.environ.get(SETTING, "").strip()
    return f"{base.rstrip('/')}/{quote(page, safe='/#')}" if base else None
