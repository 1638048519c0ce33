"""Errors as values: a finding, where it is, what else it points at, and how to mend it."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from ptokit.records import dataclass

from .location import UNKNOWN_LOCATION, Called, Location
from .source import end_column


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
            "hint": self.hint,
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
