"""Errors as values: a finding, where it is, what else it points at, and how to mend it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import Any, NamedTuple

from ptokit.records import dataclass


class Severity(StrEnum):
    """How bad a finding is; errors make a command exit with 1."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


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


UNKNOWN_LOCATION = Location()


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

    def __str__(self) -> str:
        return f"{self.location}: {self.severity}: {self.message} [{self.rule}]"

    def as_json(self) -> dict[str, Any]:
        """The stable JSON object of this finding (see docs/formats.md)."""
        from .render import end_column

        return {
            "rule": self.rule,
            "severity": str(self.severity),
            "message": self.message,
            "file": self.location.file,
            "line": self.location.line,
            "column": self.location.column,
            "end_column": end_column(self.location),
            "hint": self.hint,
            "notes": [
                {
                    "message": note.message,
                    "file": note.location.file,
                    "line": note.location.line,
                    "column": note.location.column,
                    "end_column": end_column(note.location),
                }
                for note in self.notes
            ],
        }


class Diagnostics:
    """A growing list of findings; reports all of a file's errors, not only the first."""

    def __init__(self) -> None:
        self._items: dict[Diagnostic, None] = {}  # a set that keeps its order

    def add(self, diagnostic: Diagnostic) -> None:
        """Record a finding; an exact repetition is dropped."""
        self._items[diagnostic] = None

    def extend(self, diagnostics: Iterable[Diagnostic]) -> None:
        """Record several findings."""
        for diagnostic in diagnostics:
            self.add(diagnostic)

    def error(
        self,
        rule: str,
        message: str,
        location: Location = UNKNOWN_LOCATION,
        *,
        hint: str | None = None,
        notes: Iterable[Note] = (),
    ) -> None:
        """Record an error."""
        self.add(Diagnostic(rule, Severity.ERROR, message, location, hint, tuple(notes)))

    def warning(
        self,
        rule: str,
        message: str,
        location: Location = UNKNOWN_LOCATION,
        *,
        hint: str | None = None,
        notes: Iterable[Note] = (),
    ) -> None:
        """Record a warning."""
        self.add(Diagnostic(rule, Severity.WARNING, message, location, hint, tuple(notes)))

    def __iter__(self) -> Iterator[Diagnostic]:
        return iter(self.sorted())

    def __len__(self) -> int:
        return len(self._items)

    def sorted(self) -> list[Diagnostic]:
        """The findings by place, in the order a reader of the file meets them."""
        return sorted(self._items, key=lambda d: (d.location.file or "", d.location.line, d.location.column))

    @property
    def errors(self) -> list[Diagnostic]:
        """The findings of severity error, by place."""
        return [d for d in self.sorted() if d.severity is Severity.ERROR]

    @property
    def warnings(self) -> list[Diagnostic]:
        """The findings of severity warning, by place."""
        return [d for d in self.sorted() if d.severity is Severity.WARNING]

    def __str__(self) -> str:
        """What the terminal shows of them."""
        from .shown import text_of

        return text_of(self.sorted()) or "no findings"

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        from .shown import html_of

        return html_of(self.sorted())

    def raise_if_errors(self) -> None:
        """Raise `DiagnosticError` with everything found so far if there is an error."""
        if self.errors:
            raise DiagnosticError(self.sorted())


class DiagnosticError(Exception):
    """Input that ptokit refuses. ``diagnostics`` holds every finding, errors and others."""

    def __init__(self, diagnostics: Diagnostic | Iterable[Diagnostic]) -> None:
        items = [diagnostics] if isinstance(diagnostics, Diagnostic) else list(diagnostics)
        self.diagnostics: list[Diagnostic] = items
        super().__init__(items)

    def __str__(self) -> str:
        """What the terminal shows of them."""
        from .shown import text_of

        return text_of(self.diagnostics)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        """What a notebook shows of an error that was caught."""
        from .shown import html_of

        return html_of(self.diagnostics)

    def _render_traceback_(self) -> list[str]:
        """What a notebook shows in place of the traceback."""
        from .notebook import notebook_lines

        return notebook_lines(self)
