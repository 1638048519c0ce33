"""Findings collected, the error that carries them, and comments that ignore rules at one place."""

from __future__ import annotations

import linecache
import os
import re
import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from types import TracebackType
from typing import TypedDict, Unpack

from ptokit.records import dataclass

from .finding import UNKNOWN_LOCATION, Diagnostic, Location, Note, Severity
from .render import render, summary
from .rules import lookup

# Findings collected: what is found before anything is refused, and the error that carries them.


class _More(TypedDict, total=False):
    hint: str | None
    notes: Iterable[Note]


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

    def error(self, rule: str, message: str, at: Location = UNKNOWN_LOCATION, **more: Unpack[_More]) -> None:
        """Record an error."""
        self._report(Severity.ERROR, rule, message, at, **more)

    def broken(self, rule: str, message: str, at: Location = UNKNOWN_LOCATION, **more: Unpack[_More]) -> None:
        """Record that a rule of the catalogue is broken, an error or a warning as it says."""
        self._report(lookup(rule).severity_of(message), rule, str(message), at, **more)

    def warning(self, rule: str, message: str, at: Location = UNKNOWN_LOCATION, **more: Unpack[_More]) -> None:
        """Record a warning."""
        self._report(Severity.WARNING, rule, message, at, **more)

    def _report(
        self,
        severity: Severity,
        rule: str,
        message: str,
        at: Location,
        hint: str | None = None,
        notes: Iterable[Note] = (),
    ) -> None:
        self.add(Diagnostic(rule, severity, message, at, hint, tuple(notes)))

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

        return text_of(self.sorted()) or "no findings"

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        """What a notebook shows."""

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

    ``labels``: what follows the rule of some, where they are of several targets.
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

        return text_of(self.diagnostics, labels=self.labels)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        """What a notebook shows of an error that was caught."""

        return html_of(self.diagnostics, labels=self.labels)

    def _render_traceback_(self) -> list[str]:
        """What a notebook shows in place of the traceback."""

        return notebook_lines(self.__traceback__, self.diagnostics)


# Findings as Python shows them: the text of the terminal, and the same as HTML for notebooks.


_STYLES = {
    "1": "font-weight:bold",
    "1;31": "font-weight:bold;color:#c22",
    "1;33": "font-weight:bold;color:#a60",
    "1;36": "font-weight:bold;color:#088",
    "1;32": "font-weight:bold;color:#272",
    "34": "color:#36c",
}
_PAINTED = re.compile("\x1b\\[([0-9;]*)m(.*?)\x1b\\[0m", re.DOTALL)


Labels = Mapping[Diagnostic, str]


def source_lines(file: str) -> list[str]:
    """The lines of a Python file or a notebook's cell as it is now; none of what is no regular file: it may not end."""
    if os.path.exists(file) and not os.path.isfile(file):
        return []
    linecache.checkcache(file)
    return linecache.getlines(file)


def text_of(diagnostics: Sequence[Diagnostic], *, color: bool = False, labels: Labels | None = None) -> str:
    """All findings with their source lines, also those of notebook cells; without a newline at the end.

    ``labels``: as for `render`.
    """
    places = [place for d in diagnostics for place in (d.location, *(note.location for note in d.remarks))]
    files = {place.file for place in places if place.file is not None}
    sources = {file: "".join(lines) for file in files if (lines := source_lines(file))}
    return render(diagnostics, color=color, sources=sources, labels=labels).removesuffix("\n")


def html_of(diagnostics: Sequence[Diagnostic], *, labels: Labels | None = None) -> str:
    """`text_of` in colour, and how many there are, as preformatted HTML."""
    from html import escape  # takes its time

    lines = [text_of(diagnostics, color=True, labels=labels)] if diagnostics else []
    text = "\n".join((*lines, summary(diagnostics) or ("" if lines else "no findings")))
    parts, end = [], 0
    for found in _PAINTED.finditer(text):
        style = _STYLES.get(found[1], "")
        parts += [escape(text[end : found.start()]), f'<span style="{style}">{escape(found[2])}</span>']
        end = found.end()
    return preformatted("".join(parts) + escape(text[end:]))


def preformatted(html: str) -> str:
    """Text in HTML whose columns stay under each other, whatever fonts the page around it chooses."""
    return f'<pre style="{_MONOSPACE}">{html}</pre>'


_MONOSPACE = "font-family:ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace;white-space:pre;overflow-x:auto"


# Diagnostics in a notebook: the findings with their lines, and only the user's own part of the traceback.


_MACHINERY = ("ptokit", "IPython", "ipykernel", "runpy", "asyncio", "contextlib")


def notebook_lines(trace: TracebackType | None, diagnostics: Sequence[Diagnostic]) -> list[str]:
    """Lines to show for an error: how the user's code got there, if through several calls, and every finding."""
    calls = _user_calls(trace)
    lines = [f"{call.filename}:{call.lineno}: in {call.name}" for call in calls] if len(calls) > 1 else []
    return [*lines, *text_of(diagnostics, color=True).splitlines()]


def _user_calls(trace: TracebackType | None) -> list[traceback.FrameSummary]:
    """The calls outside of ptokit and of the notebook itself, outermost first."""
    frames = []
    for frame, line in traceback.walk_tb(trace):
        module = frame.f_globals.get("__name__", "")
        if module.split(".")[0] not in _MACHINERY:
            frames.append(
                traceback.FrameSummary(frame.f_code.co_filename, line, frame.f_code.co_name, lookup_line=False)
            )
    return frames


# Comments that ignore rules at one place: ``// ptokit: ignore[RULE-ID] reason``, with # in Python.


_WORD = re.compile(r"ptokit:\s*ignore\b(?:\s*\[([^\]]*)\])?")


@dataclass
class Ignore:
    """A comment that ignores rules in ``line``; ``at``: where it stands."""

    at: Location
    line: int
    rules: tuple[str, ...]
    text: bool  # in `.pto` text, not in Python
    used: set[str] = field(default_factory=set)

    def hides(self, found: Diagnostic) -> bool:
        """True if it hides a finding in its file."""
        if found.location.line != self.line:
            return False
        fitting = {rule for rule in self.rules if found.rule.startswith(rule)}
        self.used |= fitting
        return bool(fitting)


def ignores_of_text(file: str, text: str) -> list[Ignore]:
    """The comments of `.pto` text."""
    return list(_made(file, text.split("\n"), _comments_of_text(text), text=True))


def ignores_of_python(file: str) -> list[Ignore]:
    """The comments of a Python file, as it is now."""
    lines = [] if file.endswith(".pto") else [line.rstrip("\n") for line in source_lines(file)]
    if not any("ptokit:" in line for line in lines):
        return []
    return list(_made(file, lines, _comments_of_python("\n".join(lines)), text=False))


def _made(file: str, lines: list[str], comments: Iterable[tuple[int, int, str]], *, text: bool) -> Iterator[Ignore]:
    for line, column, comment in comments:
        found = _WORD.match(comment.lstrip("/# \t"))
        if found is None:
            continue
        rules = tuple(word.strip().upper() for word in (found[1] or "").split(",") if word.strip())
        about = line
        if not lines[line - 1][:column].strip():  # in a line of its own: about the next one that is none
            following = (n for n, code in enumerate(lines[line:], line + 1) if code.strip(" \t\r/#"))
            about = next((n for n in following if not lines[n - 1].lstrip().startswith(("//", "#"))), line)
        yield Ignore(Location(file, line, column + 1, len(comment.rstrip())), about, rules, text)


def _comments_of_text(text: str) -> Iterator[tuple[int, int, str]]:
    """Line, characters before it, and text of every comment of `.pto` text that may be meant for ptokit."""
    if "ptokit:" not in text:
        return
    for number, line in enumerate(text.split("\n"), 1):
        start = line.find("//")
        while start >= 0 and line.count('"', 0, start) % 2:  # in a string
            start = line.find("//", start + 1)
        if start >= 0:
            yield number, start, line[start:]


def _comments_of_python(text: str) -> Iterator[tuple[int, int, str]]:
    import io
    import tokenize

    try:
        for token in tokenize.generate_tokens(io.StringIO(text + "\n").readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0], token.start[1], token.string
    except (tokenize.TokenError, SyntaxError):
        return


class UsageError(ValueError):
    """A parameter has a value that cannot be meant. ``parameter`` is its name; on the command line, exit status 2."""

    def __init__(self, message: str, parameter: str) -> None:
        super().__init__(message)
        self.parameter = parameter
