"""Findings collected: what is found before anything is refused, and the error that carries them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from .finding import Diagnostic, Note, Severity
from .location import UNKNOWN_LOCATION, Location
from .rules import lookup


class Diagnostics:
    """A growing list of findings; reports all of a file's errors, not only the first."""

    def __init__(self, found: Iterable[Diagnostic] = ()) -> None:
        self._items: dict[Diagnostic, None] = dict.fromkeys(found)  # a set that keeps its order

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

    def broken(
        self,
        rule: str,
        message: str,
        location: Location = UNKNOWN_LOCATION,
        *,
        hint: str | None = None,
        notes: Iterable[Note] = (),
    ) -> None:
        """Record that a rule of the catalogue is broken, an error or a warning as it says."""
        self.add(Diagnostic(rule, lookup(rule).severity_of(message), str(message), location, hint, tuple(notes)))

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


class KernelWarning(UserWarning):
    """What the rules warn of in a kernel that is launched; errors are `DiagnosticError`."""

    __module__ = "ptokit"


class DiagnosticError(Exception):
    """Input that ptokit refuses. ``diagnostics`` holds every finding, errors and others.

    ``labels``: what stands behind the rule of some, where they are of several targets.
    """

    __module__ = "ptokit"  # where users have it from: Python's tracebacks name it so

    def __init__(
        self, diagnostics: Diagnostic | Iterable[Diagnostic], labels: Mapping[Diagnostic, str] | None = None
    ) -> None:
        items = [diagnostics] if isinstance(diagnostics, Diagnostic) else list(diagnostics)
        self.diagnostics: list[Diagnostic] = items
        self.labels = dict(labels or {})
        super().__init__(items)

    def __str__(self) -> str:
        """What the terminal shows of them."""
        from .shown import text_of

        return text_of(self.diagnostics, labels=self.labels)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        """What a notebook shows of an error that was caught."""
        from .shown import html_of

        return html_of(self.diagnostics, labels=self.labels)

    def _render_traceback_(self) -> list[str]:
        """What a notebook shows in place of the traceback."""
        from .notebook import notebook_lines

        return notebook_lines(self.__traceback__, self.diagnostics)
