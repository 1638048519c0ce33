"""Names of values and labels of blocks: where they are seen, and what to say of those that are not.

A value may be used in the text before its definition, if that stands in a block that always comes first. So the blocks
of a region are read in the order in which they dominate each other, which the labels in its branches tell.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import field
from typing import NamedTuple

from ptokit.diagnostics import Note
from ptokit.diagnostics.finding import suggest
from ptokit.ir import Block, Value
from ptokit.records import dataclass

from ..text import rules
from ..text.cursor import Cursor
from ..text.lexer import EOF

# Names of values and where they can be seen.


_HINT_NAMES, _HINTS = 5000, 100  # names to compare with, hints in one text; more take too long


class Scope:
    """Values by name with ``%``, in nested regions. An inner name may not hide an outer one (assembly 13.1, TY-9)."""

    __slots__ = ("hidden", "values", "_regions", "_replaced", "_hints")

    def __init__(self) -> None:
        self.values: dict[str, Value] = {}
        self.hidden: dict[str, Value] = {}
        self._regions: list[list[str]] = [[]]
        self._replaced: list[tuple[int, str, Value]] = []
        self._hints = 0

    def define(self, name: str, value: Value) -> None:
        """Make `value` visible until the region ends."""
        self.values[name] = value
        self._regions[-1].append(name)

    def define_for_function(self, name: str, value: Value) -> None:
        """Make `value` visible until the function ends."""
        self.values[name] = value
        self._regions[min(1, len(self._regions) - 1)].append(name)

    def replace(self, name: str, value: Value) -> None:
        """Let a visible name mean another value until the region ends."""
        self._replaced.append((len(self._regions), name, self.values[name]))
        self.values[name] = value

    def enter(self) -> None:
        """Begin a region."""
        self._regions.append([])

    def hide(self) -> dict[str, Value]:
        """Take all values out of sight; `reveal` brings them back."""
        hidden, self.values = self.values, {}
        self.hidden = hidden
        return hidden

    def reveal(self, hidden: dict[str, Value]) -> None:
        """Bring back what `hide` returned."""
        self.values, self.hidden = hidden, {}

    def leave(self) -> None:
        """End a region: its names go out of sight."""
        values = self.values
        for name in self._regions.pop():
            values.pop(name, None)
        while self._replaced and self._replaced[-1][0] > len(self._regions):
            _, name, value = self._replaced.pop()
            if name in values:
                values[name] = value

    @property
    def level(self) -> int:
        """How many regions are open."""
        return len(self._regions)

    def unwind(self, level: int) -> None:
        """End the regions that an error left open."""
        while len(self._regions) > level:
            self.leave()

    def hint(self, name: str) -> str | None:
        """A similar visible name, as a did-you-mean hint."""
        self._hints += 1
        return suggest(name, self.values) if len(self.values) <= _HINT_NAMES and self._hints <= _HINTS else None


# Where the blocks of regions begin, found before a text is read (assembly 2).


class Labels:
    """The labels of a text. ``regions``: opening brace of a region: tokens of the labels that begin its blocks.

    ``places``: all of these tokens. ``ends``: a region's opening brace: its closing one, if there is one.
    """

    __slots__ = ("ends", "places", "regions", "_texts")

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = texts
        self.regions: dict[int, list[int]] = {}
        self.places: set[int] = set()
        self.ends: dict[int, int] = {}
        open_braces: list[int] = []
        for i in [i for i, token in enumerate(texts) if token[0] in "{}^"]:
            token = texts[i]
            if token == "{":
                open_braces.append(i)
            elif token == "}":
                if open_braces:
                    self.ends[open_braces.pop()] = i
            elif token[0] == "^" and open_braces and self.head_end(i):
                self.places.add(i)
                self.regions.setdefault(open_braces[-1], []).append(i)

    def head_end(self, i: int) -> int:
        """The colon of ``^name:`` or ``^name(..):`` at token `i`; 0 if the label there is a branch's."""
        texts = self._texts
        i += 1
        if texts[i] == "(":
            depth = 0
            while True:
                token = texts[i]
                if token is EOF or token in "{}" or token[0] == "^":
                    return 0
                depth += {"(": 1, ")": -1}.get(token, 0)
                i += 1
                if depth == 0:
                    break
        return i if texts[i] == ":" else 0

    def several(self, opening: int) -> bool:
        """True if the region at a brace has more than one block."""
        labels = self.regions.get(opening)
        return labels is not None and (len(labels) > 1 or labels[0] != opening + 1)

    def branches(self, opening: int, starts: Sequence[int]) -> tuple[list[list[int]], bool]:
        """For each block of a region, which begin at the tokens `starts`, the numbers of those it leads to.

        Also whether that is all: False if a branch names a block that is not there.
        """
        texts = self._texts
        names = {texts[start]: k for k, start in reversed(list(enumerate(starts))) if texts[start][0] == "^"}
        end = self.ends.get(opening, len(texts) - 1)
        complete = True
        out: list[list[int]] = []
        for start, stop in zip(starts, [*starts[1:], end]):
            found: list[int] = []
            i = start + 1
            while i < stop:
                token = texts[i]
                if token == "{":
                    i = self.ends.get(i, i)
                elif token[0] == "^":
                    if token in names:
                        found.append(names[token])
                    else:
                        complete = False
                i += 1
            out.append(found)
        return out, complete


NO_LABELS = Labels(())


class Jump(NamedTuple):
    """Where a branch leads to: the token of the label, the block, and what is passed."""

    token: int
    block: Block
    values: list[Value]


@dataclass(slots=True)
class Region:
    """A region of a text with labels, while it is read."""

    first: Block
    opening: int  # token of its brace
    blocks: dict[str, Block] = field(default_factory=dict)  # by label
    tokens: dict[int, int] = field(default_factory=dict)  # of the labels, by id of the block
    complete: bool = True  # where its branches lead to is known
    unread: set[int] = field(default_factory=set)  # ids of blocks whose arguments could not be read
    jumps: list[Jump] = field(default_factory=list)
    outer: Region | None = None
    names: dict[str, int] | None = None  # values its blocks define, and the tokens that name them


# Definitions of values that are not seen where they are used: what to say of them.


_TOKENS, _LOOKS = 20_000, 100  # how far, and how often, to look


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
        if self.looks >= _LOOKS or name not in self.p.texts[self.p.i + 1 : self.p.i + _TOKENS]:
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
    """The token after the cursor that defines a value in this block or one around it."""
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
