"""Where the blocks of regions begin, found before a text is read (assembly 2).

A value may be used in the text before its definition, if that stands in a block that always comes first. So the blocks
of a region are read in the order in which they dominate each other, which the labels in its branches tell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import NamedTuple

from ptokit.ir import Block, Value
from ptokit.records import dataclass

from ..text.lexer import EOF


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
