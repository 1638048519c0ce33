"""Changes of a source text that findings propose, as lines."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import count
from typing import Any

from ptokit.records import dataclass

from .finding import Diagnostic
from .source import file_lines
from .suggestions import Proposal, replacement

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
