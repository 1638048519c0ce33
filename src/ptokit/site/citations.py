"""Citations of sources as docstrings and rules write them, such as ``load-store 3.6``, and the section that each names.

A chapter of the documentation, ``explanation/load-store.md``, has numbered headings; the number of a citation is that
of its heading.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

FOLDER = "explanation"
_HEADING = re.compile(r"#{2,4} ((\d+(?:\.\d+)*)\.? .*)")
_ENTRIES = re.compile(r"\| ((?:[A-Z]-?\d+(?:, | to )?)+) \|")
_NUMBER = r"(?:\d+(?:\.\d+)*|[A-Z]-?\d+)"


class Cited(NamedTuple):
    """A number in a text that names a section: where it stands, with the name of its chapter if that precedes it."""

    start: int
    end: int
    chapter: str
    number: str


def citations(text: str, chapters: Iterable[str]) -> Iterator[Cited]:
    """Every section that `text` names: 3, 5 and 7 of ``load-store 3, 5 to 7``.

    A number belongs to the chapter before it where only commas, ``and``, ``to`` and ``part`` are between. An entry of
    the list of disagreements, ``T-01``, counts as a number.
    """
    named = "|".join(sorted(map(re.escape, chapters), key=len, reverse=True))
    first = re.compile(rf"(?<![\w/.-])({named})(?:,? (?:part|section|sections))? ({_NUMBER})(?![\w-])")
    further = re.compile(rf"(?:,? and |, | to |–|-)({_NUMBER})(?![\w-])")
    for found in first.finditer(text):
        yield Cited(found.start(), found.end(), found[1], found[2])
        end = found.end()
        while more := further.match(text, end):
            yield Cited(more.start(1), more.end(), found[1], more[1])
            end = more.end()


def slug(title: str) -> str:
    """The anchor that MyST gives a heading."""
    return re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", "-")


@cache
def sections(docs: Path) -> Mapping[str, Mapping[str, str]]:
    """The chapters of the documentation, and the anchors of their sections by number, and by entry of their tables."""
    found = {}
    for page in sorted((docs / FOLDER).glob("*.md")):
        anchors: dict[str, str] = {}
        at = None
        for line in page.read_text(encoding="utf-8").split("\n"):
            if heading := _HEADING.fullmatch(line):
                at = anchors[heading[2]] = slug(heading[1])
            elif at is not None and (entries := _ENTRIES.match(line)):
                anchors.update(dict.fromkeys(_entries(entries[1]), at))
        if anchors:
            found[page.stem] = anchors
    return found


def _entries(text: str) -> Iterator[str]:
    """``D-02, D-05 to D-07``, one by one."""
    for part in text.split(", "):
        first, _, last = part.partition(" to ")
        letter, start = re.fullmatch(r"(\D+)(\d+)", first).groups()  # type: ignore[union-attr]
        for number in range(int(start), int(re.sub(r"\D", "", last or first)) + 1):
            yield f"{letter}{number:0{len(start)}d}"


def section(docs: Path, cited: Cited) -> str | None:
    """The page and anchor of a citation below the documentation, ``.md``; None where no heading has its number."""
    anchor = sections(docs).get(cited.chapter, {}).get(cited.number)
    return None if anchor is None else f"{FOLDER}/{cited.chapter}.md#{anchor}"
