"""Definitions of values that are not seen where they are used: what to say of them."""

from __future__ import annotations

from bisect import bisect_right

from ptokit.diagnostics import Note

from ..text import rules
from ..text.cursor import Cursor
from ..text.lexer import EOF
from .labels import Labels, Region

_TOKENS, _HINTS = 20_000, 100  # how far, and how often, to look


class Definitions:
    """Looks for definitions in a text that is being read; further on only as often as a text with few errors needs."""

    def __init__(self, p: Cursor) -> None:
        self.p = p
        self.looks = 0  # how often a definition was looked for further on

    def hidden(self, name: str, labels: Labels, region: Region | None) -> tuple[str | None, str, Note] | None:
        """Rule, message and note for a value, used at the cursor, that is defined where it is not seen; or None.

        Without a rule nothing is to be said of it.
        """
        found = _in_another_block(self.p, name, labels, region)
        if found is not None:
            return found
        if self.looks >= _HINTS or name not in self.p.texts[self.p.i + 1 : self.p.i + _TOKENS]:
            return None
        self.looks += 1
        place = _later(self.p, name)
        if place is None:
            return None
        return rules.TY_9, "is used before it is defined", Note("it is defined here", self.p.location(place))


def _in_another_block(
    p: Cursor, name: str, labels: Labels, region: Region | None
) -> tuple[str | None, str, Note] | None:
    while region is not None:
        starts = labels.regions.get(region.opening, ())
        place = _defined(p, region, labels).get(name) if starts else None
        if place is not None:
            if bisect_right(starts, p.i) == bisect_right(starts, place):
                break  # in the same block
            if not region.complete:  # the branch is to blame
                return None, "", Note("")
            note = Note("it is defined in this block, which some way to the use leaves out", p.location(place))
            return rules.DOMINANCE, "is used where it may not have been defined", note
        region = region.outer
    return None


def _defined(p: Cursor, region: Region, labels: Labels) -> dict[str, int]:
    """The values that the blocks of a region define, not those inside their operations."""
    if region.names is None:
        region.names = {}
        texts = p.texts
        i = region.opening + 1
        end = labels.ends.get(region.opening, len(texts) - 1)
        while i < end:
            token = texts[i]
            if token == "{":
                i = labels.ends.get(i, i)
            elif i in labels.places:
                stop = labels.head_end(i)
                for k in range(i, stop):
                    if texts[k][0] == "%":
                        region.names.setdefault(texts[k], k)
                i = stop
            elif token[0] == "%":
                for k in _results(p, i):
                    region.names.setdefault(texts[k], k)
            i += 1
    return region.names


def _later(p: Cursor, name: str) -> int | None:
    """The token behind the cursor that defines a value in this block or one around it."""
    texts, stop = p.texts, p.i + _TOKENS
    depth = lowest = 0
    for i in range(p.i + 1, min(stop, len(texts))):
        token = texts[i]
        if token is EOF or token in ("func.func", '"func.func"'):
            return None
        if token == "{":
            depth += 1
        elif token == "}":
            depth -= 1
            lowest = min(lowest, depth)
        elif token[0] == "%" and depth <= lowest:
            found = next((k for k in _results(p, i) if texts[k] == name), None)
            if found is not None:
                return found
    return None


def _results(p: Cursor, i: int) -> list[int]:
    """The names of ``%a, %b:2 = ..`` at the start of a line, token `i`; else nothing."""
    texts = p.texts
    if not p.tokens.starts_line(i):
        return []
    out: list[int] = []
    while texts[i][0] == "%":
        out.append(i)
        i += 3 if texts[i + 1] == ":" else 1
        if i >= len(texts) or texts[i] not in ("=", ","):
            return []
        if texts[i] == "=":
            return out
        i += 1
    return []
