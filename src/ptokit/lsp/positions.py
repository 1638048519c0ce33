"""Positions of the protocol against ours."""

from __future__ import annotations

import re

from lsprotocol import types as lsp
from pygls.workspace import PositionCodec, TextDocument

from ptokit.diagnostics import Location

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|\Z)")


def lines_of(text: str) -> list[str]:
    """The lines of a text with their ends."""
    return _LINE.findall(text)[: -1 if text.endswith(("\r", "\n")) or not text else None]


class EditorPositions:
    """Positions of the editor (lines from 0, its own units) against ours (lines and characters from 1).

    A line ends where the protocol says, which is where it ends for the lexer.
    """

    def __init__(self, document: TextDocument) -> None:
        self.text = document.source
        self.lines = lines_of(self.text)
        self.codec: PositionCodec = document.position_codec

    def ours(self, position: lsp.Position) -> tuple[int, int]:
        """Line and column."""
        place = self.codec.position_from_client_units(self.lines, position)
        return place.line + 1, place.character + 1

    def before(self, position: lsp.Position) -> str:
        """The part of the line in front of a position."""
        line, column = self.ours(position)
        return self.lines[line - 1][: column - 1] if line <= len(self.lines) else ""

    def back(self, position: lsp.Position, characters: int) -> lsp.Range:
        """The range of that many characters before a position."""
        line, column = self.ours(position)
        return self.span(line, column - 1 - characters, column - 1)

    def span(self, line: int, start: int, end: int) -> lsp.Range:
        """Characters ``start`` to ``end`` (from 0, half open) of a line (from 1)."""
        ends = (lsp.Position(line - 1, start), lsp.Position(line - 1, end))
        return lsp.Range(*(self.codec.position_to_client_units(self.lines, end) for end in ends))

    def range(self, location: Location) -> lsp.Range:
        """The range of a location; one character where it has no extent."""
        line, start = max(1, location.line), max(0, location.column - 1)
        here = len(self.lines[line - 1].rstrip("\r\n")) if line <= len(self.lines) else 0
        return self.span(line, start, min(start + location.length, max(here, start + 1)))

    def whole(self) -> lsp.Range:
        """The whole text."""
        return lsp.Range(lsp.Position(0, 0), lsp.Position(len(self.lines) + 1, 0))
