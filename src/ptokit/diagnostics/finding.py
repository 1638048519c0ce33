"""A finding, the places it points at, and the change of the text that mends it."""

from __future__ import annotations

import ast
import linecache
import os
import re
from collections.abc import Callable, Iterable, Sequence
from difflib import SequenceMatcher, get_close_matches
from enum import StrEnum
from functools import lru_cache
from itertools import count, takewhile
from pathlib import Path
from stat import S_ISREG
from typing import Any, NamedTuple

from ptokit.records import dataclass

# Places in source texts.


class Location(NamedTuple):
    """A place in a source text: lines and columns count from 1, ``length`` is in characters.

    Every operation and value has one, so it is of a kind that is made quickly.
    """

    file: str | None = None
    line: int = 0
    column: int = 0
    length: int = 1

    def __str__(self) -> str:
        if self.file is None:
            return "<unknown>"
        return f"{self.file}:{self.line}:{self.column}" if self.line else self.file


class Called(Location):
    """A place in a function that was put in line: ``calls`` are those that led to it, with what they are."""

    calls: tuple[tuple[str, Location], ...] = ()

    @classmethod
    def at(cls, place: Location, calls: tuple[tuple[str, Location], ...]) -> Location:
        """A place with the calls that led to it."""
        if not calls:
            return place
        made = cls(*place)
        made.calls = calls
        return made


UNKNOWN_LOCATION = Location()


# The lines of source texts, as the lexer counts them.


@lru_cache(maxsize=8)
def _split(text: str) -> list[str]:
    # Not str.splitlines: it has more line ends than the lexer, by whose line numbers we count.
    return re.split(r"\r\n|[\r\n]", text)


_KEPT: dict[str, str] = {}


def keep_text(file: str, text: str) -> None:
    """Remember the text of what cannot be read a second time, such as a pipe, for `file_lines`."""
    _KEPT[file] = text


def file_lines(file: str) -> list[str]:
    """The lines of a file as the lexer counts them; none if it cannot be read."""
    if file in _KEPT:
        return _split(_KEPT[file])
    try:
        stat = os.stat(file)
        return _read_lines(file, stat.st_mtime_ns, stat.st_size) if S_ISREG(stat.st_mode) else []
    except (OSError, ValueError):
        return []


@lru_cache(maxsize=8)
def _read_lines(file: str, time: int, size: int) -> list[str]:
    """``time`` and ``size`` tell a file from what it was before a change."""
    return _split(Path(file).read_bytes().decode("utf-8-sig", errors="replace"))


def end_column(at: Location) -> int:
    """The column after the last character of a place, in its line; 0 where the place is a whole file."""
    if not at.line:
        return 0
    start = max(at.column, 1)
    end = start + max(at.length, 1)
    lines = file_lines(at.file) if at.file is not None else []
    if at.line <= len(lines):  # a token may go on in the next line, and the end of a file has no width
        end = max(start, min(end, len(lines[at.line - 1]) + 1))
    return end


# Places in Python source: of what a frame evaluates, and of the arguments of calls.


Argument = int | str
"""An argument of a call: its position, or its keyword."""

_SHORT = 24
"""Characters of an expression that findings quote in place of a name."""


def place_of(file: str, positions: tuple[int | None, int | None, int | None, int | None]) -> Location:
    """A place from Python's own: first and last line, first and last column in bytes from 0."""
    line, end_line, column, end_column = positions
    if line is None or column is None or end_column is None:
        return Location(file)
    text = linecache.getline(file, line)
    first, last = characters(text, column), characters(text, end_column)
    return Location(file, line, first + 1, max(1, last - first) if end_line == line else 1)


def characters(text: str, offset: int) -> int:
    """Characters in the first `offset` UTF-8 bytes, the unit in which Python counts columns."""
    return offset if text.isascii() else len(text.encode()[:offset].decode(errors="ignore"))


def expression_at(place: Location) -> str:
    """A short expression of a Python source, as it is written; empty for one that is long or of several lines."""
    if place.file is None or not place.line or place.length > _SHORT:
        return ""
    line = linecache.getline(place.file, place.line)
    text = line[place.column - 1 : place.column - 1 + place.length]
    cut = place.length == 1 and line[place.column : place.column + 1].isidentifier()  # the first of several lines
    return "" if cut or text.startswith("@") else text


def argument_place(call: Location, argument: Argument) -> Location | None:
    """Where an argument of the call at a place stands; None if that cannot be told from the source."""
    if call.file is None or not call.line:
        return None
    nodes = _calls(call.file, "".join(linecache.getlines(call.file))).get((call.line, call.column), ())
    found = (_argument(node, argument) for node in nodes)
    return next((_place(call.file, node) for node in found if node is not None), None)


@lru_cache(maxsize=8)
def _calls(file: str, text: str) -> dict[tuple[int, int], list[ast.Call]]:
    """The calls of a file by line and column, both from 1; the outermost of a place first."""
    found: dict[tuple[int, int], list[ast.Call]] = {}
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return found
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            at = _place(file, node)
            found.setdefault((at.line, at.column), []).append(node)
    return found


def _argument(call: ast.Call, argument: Argument) -> ast.expr | None:
    if isinstance(argument, str):
        return next((k.value for k in call.keywords if k.arg == argument), None)
    if argument >= len(call.args) or any(isinstance(a, ast.Starred) for a in call.args[: argument + 1]):
        return None
    return call.args[argument]


def _place(file: str, node: ast.expr) -> Location:
    return place_of(file, (node.lineno, node.end_lineno, node.col_offset, node.end_col_offset))


# Errors as values: a finding, where it is, what else it points at, and how to mend it.


class Severity(StrEnum):
    """How bad a finding is; errors make a command exit with 1."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Note:
    """A second place or remark that belongs to a diagnostic."""

    message: str
    location: Location = UNKNOWN_LOCATION


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding. ``rule`` is an id of the catalogue, for example ``LOAD-A5-07``."""

    rule: str
    severity: Severity
    message: str
    location: Location = UNKNOWN_LOCATION
    hint: str | None = None
    notes: tuple[Note, ...] = ()

    @property
    def remarks(self) -> tuple[Note, ...]:
        """The notes, and the calls that led to the place of the finding."""
        calls = self.location.calls if isinstance(self.location, Called) else ()
        return (*self.notes, *(Note(message, place) for message, place in calls))

    def __str__(self) -> str:
        return f"{self.location}: {self.severity}: {self.message} [{self.rule}]"

    def as_json(self) -> dict[str, Any]:
        """The stable JSON object of this finding (see docs/formats.md)."""
        return {
            "rule": self.rule,
            "severity": str(self.severity),
            "message": self.message,
            "file": self.location.file,
            "line": self.location.line,
            "column": self.location.column,
            "end_column": end_column(self.location),
            "hint": None if self.hint is None else str(self.hint),
            "notes": [
                {
                    "message": note.message,
                    "file": note.location.file,
                    "line": note.location.line,
                    "column": note.location.column,
                    "end_column": end_column(note.location),
                }
                for note in self.remarks
            ],
        }


# Hints that are changes of the text: the name that a wrong word is like ("did you mean"), and other words to write.


_CLOSE_WITH_DIALECT = 0.85  # where the dialect itself may be misspelled
_CLOSE = 0.6  # ratio of `difflib` from which on words are alike
_LONGEST = 80  # characters of a word that are looked at


class Proposal(str):
    """A hint that is also a change: the text ``right`` in place of ``wrong``, which stands where the finding is, or at
    ``place`` where that is given; ``python``: both are Python."""

    wrong: str
    right: str
    python: bool
    place: Location | None

    def __new__(cls, hint: str, wrong: str, right: str, python: bool = True, place: Location | None = None) -> Proposal:
        made = super().__new__(cls, hint)
        made.wrong, made.right, made.python, made.place = wrong, right, python, place
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return Proposal, (str(self), self.wrong, self.right, self.python, self.place)


class Change(str):
    """A hint of a rule that is also a change of the program: ``right`` in place of ``wrong`` where the operand ``of``
    is made, or, without one, in the operation. Who reports the rule knows where that is (`at`)."""

    wrong: str
    right: str
    of: str

    def __new__(cls, hint: str, wrong: str, right: str, of: str = "") -> Change:
        made = super().__new__(cls, hint)
        made.wrong, made.right, made.of = wrong, right, of
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return Change, (str(self), self.wrong, self.right, self.of)

    def at(self, place: Location) -> Proposal:
        """The hint, once it is known where the change is to be made."""
        return Proposal(str(self), self.wrong, self.right, place=place)


def suggestion(wrong: str, right: str, python: bool = False) -> Proposal:
    """The hint that a word is misspelled."""
    return Proposal(f"did you mean {right}?" if python else f"did you mean '{right}'?", wrong, right, python)


class Replacement(NamedTuple):
    """Characters ``start`` to ``end`` of a line, counted from 0 and half open, are to be ``text``."""

    file: str | None
    line: int
    start: int
    end: int
    text: str


def replacement(diagnostic: Diagnostic, lines: Callable[[str], Sequence[str]]) -> Replacement | None:
    """The edit that the hint of a finding proposes, or None if it proposes none; ``lines``: those of a file."""
    hint = diagnostic.hint
    if not isinstance(hint, Proposal):
        return None
    at = hint.place or diagnostic.location
    text, start = lines(at.file or ""), at.column - 1
    if not 0 < at.line <= len(text) or not 0 <= start < len(text[at.line - 1]):
        return None
    marked = text[at.line - 1][start : start + at.length]  # perhaps more than the wrong word
    after = r"(?!\w)" if hint.python else r"(?![\w.])"  # a name of the text may have dots
    place = re.search(rf"(?<![\w%!]){re.escape(hint.wrong)}{after}", marked)
    if place is None:
        return None
    return Replacement(at.file, at.line, start + place.start(), start + place.end(), hint.right)


def suggest(word: str, known: Iterable[str]) -> Proposal | None:
    """A did-you-mean hint, or None. The ``pto.`` that all operations begin with does not make them alike."""
    return _suggested(word, tuple(known))


@lru_cache(64)
def _suggested(word: str, known: tuple[str, ...]) -> Proposal | None:
    names = {name.removeprefix("pto."): name for name in known}
    wanted = word[:_LONGEST].removeprefix("pto.")
    same = [name for name in names if name.lower() == wanted.lower()]
    close = same or get_close_matches(wanted, [name for name in names if _may_be_close(wanted, name)], 5, _CLOSE)
    if close:
        order = list(names)
        best = max(close, key=lambda name: (*_likeness(wanted, name), -order.index(name)))
        return suggestion(word, names[best])
    whole = get_close_matches(word[:_LONGEST], known, 1, _CLOSE_WITH_DIALECT) if "." in wanted else []
    return suggestion(word, whole[0]) if whole else None


def _likeness(word: str, name: str) -> tuple[float, int]:
    """How much two words are alike; of names that are equally so, the one that begins like the word for longer."""
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(word, name)))
    return SequenceMatcher(None, name, word).ratio(), same


def _may_be_close(word: str, name: str) -> bool:
    """False where the letters in common are too few for `difflib`, which takes long to find that out."""
    enough = _CLOSE / 2 * (len(word) + len(name))
    if min(len(word), len(name)) < enough:
        return False
    return sum(map(name.__contains__, word)) >= enough and sum(map(word.__contains__, name)) >= enough


# Changes of a source text that findings propose, as lines.


_LINE_END = re.compile(r"\r\n|[\r\n]")  # those that the lexer counts


Lines = Callable[[str], Sequence[str]]
"""The lines of a file by its name."""


@dataclass(frozen=True, slots=True)
class Edit:
    """``removed`` lines from line `line` on, which counts from 1 in the text as it is, become the lines of ``text``;
    None is no line. With none removed the text is inserted before the line."""

    file: str
    line: int
    text: str | None
    removed: int = 0

    def as_json(self) -> dict[str, object]:
        """The object of docs/formats.md."""
        return {"file": self.file, "before": self.line, "text": self.text, "removed": self.removed}


def edited(source: str, edits: Iterable[Edit]) -> str:
    """A text with edits made. New lines end as its first line does; at one line those inserted come first, in order."""
    ends = _LINE_END.findall(source)
    lines = lines_of(source)
    end, numbers = ends[0] if ends else "\n", count()
    ordered = sorted(dict.fromkeys(edits), key=lambda edit: (edit.line, edit.removed > 0, next(numbers)))
    for edit in reversed(ordered):
        start, stop = edit.line - 1, edit.line - 1 + edit.removed
        new = [] if edit.text is None else edit.text.split("\n")
        lines[start:stop] = new
        kept = min(len(new), edit.removed)
        ends[start + kept : stop] = [end] * (len(new) - kept)
    return "".join(map(str.__add__, lines, [*ends, ""]))


def lines_of(source: str) -> list[str]:
    """The lines of a text without their ends, as the lexer counts them."""
    return _LINE_END.split(source)


@dataclass(frozen=True, slots=True)
class Fix:
    """What mends a finding. ``edits``: of the text; none where only words can tell."""

    text: str
    edits: tuple[Edit, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """The object of docs/formats.md."""
        return {"text": self.text, "insert": [edit.as_json() for edit in self.edits]}

    def apply(self, source: str, file: str | None = None) -> str:
        """The text of the file with the edits made; ``file``: only those of this file."""
        return edited(source, (edit for edit in self.edits if file in (None, edit.file)))


def proposed(finding: Diagnostic, lines: Lines = file_lines) -> Fix | None:
    """The change that the hint of a finding proposes, or None if it proposes none; ``lines``: those of a file."""
    edits = together([finding], lines)
    return Fix(f"write {finding.hint.right}", tuple(edits)) if edits and isinstance(finding.hint, Proposal) else None


def together(findings: Iterable[Diagnostic], lines: Lines = file_lines) -> list[Edit]:
    """The changes that the hints of findings propose, those of one line as one."""
    found = [change for finding in findings if (change := replacement(finding, lines)) is not None]
    changed: dict[tuple[str, int], str] = {}
    last: tuple[str, int, int] | None = None
    for change in sorted(set(found), key=lambda each: (each.file or "", each.line, each.start), reverse=True):
        file, line = change.file or "", change.line
        if last is not None and last[:2] == (file, line) and change.end > last[2]:
            continue  # places further left stay what they are; of changes of one place the last is made
        text = changed.get((file, line), lines(file)[line - 1])
        changed[file, line] = text[: change.start] + change.text + text[change.end :]
        last = file, line, change.start
    return [Edit(file, line, text, 1) for (file, line), text in sorted(changed.items())]
