"""Changes of a source text that findings propose, as lines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import count

from ptokit.records import dataclass

from .finding import Diagnostic
from .suggestions import replacement

_LINE_END = re.compile(r"\r\n|[\r\n]")  # those that the lexer counts


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


def proposed(findings: Iterable[Diagnostic], file: str, lines: Sequence[str]) -> list[Edit]:
    """The lines of a file with the words that its findings propose ("did you mean")."""
    changed: dict[int, str] = {}
    here = [d for d in findings if d.location.file == file and 0 < d.location.line <= len(lines)]
    for finding in sorted(here, key=lambda d: d.location, reverse=True):  # places further left stay what they are
        line = finding.location.line
        text = changed.get(line, lines[line - 1])
        change = replacement(finding, text)
        if change is not None:
            changed[line] = text[: change.start] + change.text + text[change.end :]
    return [Edit(file, line, text, 1) for line, text in sorted(changed.items())]
