"""Diagnostics as text for people (source line, caret, page of the rule) and as SARIF 2.1.0.

```
softmax.pto:14:7: error: trowexpandsub: sources differ in element type: f32 and f16 [REXP-02]
   14 |       pto.trowexpandsub ins(%t, %m : !pto.tile_buf<vec, 16x256xf32>, …
      |       ^^^^^^^^^^^^^^^^^
   hint: convert %m with tcvt first
```

Colour is plain ANSI, so that rendering imports nothing. Lines wider than the terminal are cut around the caret, tabs
and control characters are shown as they count, wide characters as two cells.

A run for each target, with the rules that its results name. Columns count characters, as everywhere in ptokit; the
output depends on the findings, the files they quote and `root` only.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ptokit.records import dataclass

from .finding import Diagnostic, Edit, Location, Note, Severity, _split, end_column, file_lines, replacement
from .rules import CATALOGUE, Rule

# Diagnostics as text for people: compiler style, with the source line and a caret.


DEFAULT_WIDTH = 120
_ELLIPSIS = "…"
_TAB = 4
_LONGEST_WORD = 400  # longer ones are quoted rubbish; paths are shorter
_ENDLESS = re.compile(rf"\S{{{_LONGEST_WORD},}}")
_BOLD, _RED, _YELLOW, _CYAN, _GREEN, _BLUE = "1", "1;31", "1;33", "1;36", "1;32", "34"
_SEVERITY_COLOUR = {Severity.ERROR: _RED, Severity.WARNING: _YELLOW, Severity.NOTE: _CYAN}


def render(
    diagnostics: Iterable[Diagnostic],
    *,
    color: bool = False,
    width: int = DEFAULT_WIDTH,
    sources: Mapping[str, str] | None = None,
    labels: Mapping[Diagnostic, str] | None = None,
) -> str:
    """All `diagnostics` as one text that ends with a newline, or "" if there are none.

    ``width`` is in terminal cells and bounds quoted source lines only: messages and paths are never wrapped.
    ``sources`` gives the text of files that are not on disk, or no longer as they were read. ``labels``: what to say
    of findings beside their rule.
    """
    printer = _Printer(color, width, sources or {}, labels or {})
    return "".join(printer.diagnostic(d) for d in diagnostics)


def summary(diagnostics: Iterable[Diagnostic]) -> str:
    """``2 errors, 1 warning``; "" if there are neither."""
    found = list(diagnostics)
    parts = []
    for severity in (Severity.ERROR, Severity.WARNING):
        n = sum(d.severity is severity for d in found)
        if n:
            parts.append(f"{n} {severity}{'s' if n > 1 else ''}")
    return ", ".join(parts)


def visible(text: str) -> str:
    """`text` with control characters escaped, so that no input can steer the terminal, and endless words cut."""
    if len(text) > _LONGEST_WORD:
        text = _ENDLESS.sub(lambda word: f"{word[0][:100]}{_ELLIPSIS}{word[0][-50:]}", text)
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" else _escape(c) for c in text)


def visible_name(name: str) -> str:
    """A name, or what is said of one, in one line, as `visible`: no name makes a line of its own."""
    return visible(name.replace("\n", "\\n"))


class _Printer:
    def __init__(self, color: bool, width: int, sources: Mapping[str, str], labels: Mapping[Diagnostic, str]) -> None:
        self.labels = labels
        self.color = color
        self.width = max(width, 40)
        self.sources = sources
        self.place: Location | None = None
        self.shown: set[Note] = set()

    def paint(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.color and text else text

    def diagnostic(self, d: Diagnostic) -> str:
        """A finding at the place of the one before it shows neither the line nor the same notes again."""
        color = _SEVERITY_COLOUR[d.severity]
        rule = f"{d.rule} {self.labels[d]}" if d in self.labels else d.rule
        out = self.head(d.location, str(d.severity), d.message, color, rule)
        if d.location != self.place or d.location.file is None:
            out += self.quote(d.location, color)
            self.place, self.shown = d.location, set()
        if d.hint:
            out += self.remark(d.hint)
        for note in d.remarks:
            if note in self.shown:
                continue
            self.shown.add(note)
            if note.location.file is None or note.location == d.location:
                out += f"   {self.paint('note:', _CYAN)} {visible_name(note.message)}\n"
            else:
                out += self.head(note.location, "note", note.message, _CYAN) + self.quote(note.location, _CYAN)
        return out

    def head(self, at: Location, word: str, message: str, color: str, rule: str = "") -> str:
        where = "" if at.file is None else self.paint(f"{visible_name(str(at))}:", _BOLD) + " "
        tail = f" [{rule}]" if rule else ""
        return f"{where}{self.paint(word + ':', color)} {self.paint(visible_name(message), _BOLD)}{tail}\n"

    def remark(self, hint: str) -> str:
        return f"   {self.paint('hint:', _GREEN)} {visible_name(hint)}\n"

    def quote(self, at: Location, color: str) -> str:
        """The source line with a gutter and a caret line; "" where there is no such line."""
        line = self.line(at)
        if line is None:
            return ""
        gutter = f"{at.line:5d} | "
        blank = " " * (len(gutter) - 2) + "| "
        start = min(max(at.column - 1, 0), len(line))
        stop = min(max(start + max(at.length, 1), start + 1), max(len(line), start + 1))
        text, before, marked = _window(line, start, stop, self.width - len(gutter))
        caret = self.paint("^" * marked, color)
        quoted = f"{self.paint(gutter, _BLUE)}{text}\n" if text else f"{self.paint(gutter.rstrip(), _BLUE)}\n"
        return f"{quoted}{self.paint(blank, _BLUE)}{' ' * before}{caret}\n"

    def line(self, at: Location) -> str | None:
        if at.file is None or at.line < 1:
            return None
        lines = _split(self.sources[at.file]) if at.file in self.sources else file_lines(at.file)
        return lines[at.line - 1] if at.line <= len(lines) else None


def _window(line: str, start: int, stop: int, room: int) -> tuple[str, int, int]:
    """The part of `line` to show in `room` cells, cells before the mark, cells of the mark."""
    first, last = 0, len(line)
    if len(line) > room or _cells(line) > room:
        # Characters take one cell or more; starting from a window of `room` characters, shrink until it fits.
        keep = min(stop, start + room // 2)
        first = max(0, min(start - room // 3, len(line) - room))
        last = min(len(line), max(first + room, keep))
        while last - first > 1 and _cells(line[first:last]) + (first > 0) + (last < len(line)) > room:
            if last > keep and last - keep >= start - first:
                last -= 1
            elif first < start:
                first += 1
            else:
                last -= 1
    lead = _ELLIPSIS if first else ""
    shown = lead + "".join(map(_cell_text, line[first:last])) + (_ELLIPSIS if last < len(line) else "")
    before = len(lead) + _cells(line[first:start])
    return shown, before, max(1, _cells(line[start : min(stop, last)]))


def _cell_text(c: str) -> str:
    if c == "\t":
        return " " * _TAB
    return c if c.isprintable() else _escape(c)


def _escape(c: str) -> str:
    return f"\\x{ord(c):02x}" if ord(c) < 256 else f"\\u{ord(c):04x}"


def _cells(text: str) -> int:
    """Terminal cells that `text` occupies as `_cell_text` shows it."""
    if text.isascii() and text.isprintable():
        return len(text)
    return sum(_cell_width(c) for c in text)


def _cell_width(c: str) -> int:
    shown = _cell_text(c)
    if len(shown) > 1:
        return len(shown)
    if unicodedata.combining(c):
        return 0
    return 2 if unicodedata.east_asian_width(c) in "WF" else 1


# The page of a rule in the documentation, and a link to it.


SETTING = "PTOKIT_DOCS"
"""The environment variable that says where the built documentation is: what links to its pages begin with."""


def page_of(rule: str) -> str:
    """The page of the rule with this id, as a path below the documentation."""
    return f"reference/rules/{rule}.html"


def link_to(page: str) -> str | None:
    """A link to a page of the documentation; None where nothing says where the documentation is.

    An invented place would be a dead link, so there is none by default.
    """
    base = os.environ.get(SETTING, "").strip()
    return f"{base.rstrip('/')}/{quote(page, safe='/#')}" if base else None


# Diagnostics as SARIF 2.1.0, the format in which code hosts and editors take the findings of a tool.


SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


@dataclass(frozen=True)
class Details:
    """More about a finding: facts, and a fix in words and as edits of the text."""

    properties: dict[str, Any] = field(default_factory=dict)
    fix: str = ""
    edits: tuple[Edit, ...] = ()


def sarif(
    findings: Mapping[str, Iterable[Diagnostic]],
    version: str,
    root: Path,
    *,
    properties: Mapping[str, dict[str, Any]] | None = None,
    details: Mapping[Diagnostic, Details] | None = None,
) -> dict[str, Any]:
    """The SARIF log of findings by the name of their target, in their order: a run for each target.

    ``version`` is that of ptokit. Findings of no target have the name "". Files below the absolute directory `root` get
    relative URIs, others absolute ones. ``properties`` are facts about the runs, by target, that SARIF has no place
    for, ``details`` those about single findings.
    """
    facts = properties or {}
    runs = [
        _run(list(found), target, version, root, facts.get(target), details or {}) for target, found in findings.items()
    ]
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": runs}


def _run(
    found: list[Diagnostic],
    target: str,
    version: str,
    root: Path,
    properties: dict[str, Any] | None,
    details: Mapping[Diagnostic, Details],
) -> dict[str, Any]:
    ids = sorted({d.rule for d in found})
    places = {id: index for index, id in enumerate(ids)}
    run: dict[str, Any] = {
        "tool": {"driver": {"name": "ptokit", "semanticVersion": version, "rules": [_rule(id) for id in ids]}},
        "columnKind": "unicodeCodePoints",
        "results": [{**_result(d, places[d.rule], root), **_details(details.get(d), root)} for d in found],
    }
    if target:
        run["automationDetails"] = {"id": f"ptokit/{target}/"}
    facts = {**({"target": target} if target else {}), **(properties or {})}
    if facts:
        run["properties"] = facts
    return run


def _details(details: Details | None, root: Path) -> dict[str, Any]:
    if details is None:
        return {}
    out: dict[str, Any] = {"properties": details.properties} if details.properties else {}
    changes: dict[str, list[dict[str, Any]]] = {}
    for edit in details.edits:
        region = {"startLine": edit.line, "startColumn": 1, "endLine": edit.line + edit.removed, "endColumn": 1}
        text = "" if edit.text is None else f"{edit.text}\n"
        change = {"deletedRegion": region, "insertedContent": {"text": text}}
        changes.setdefault(_uri(edit.file, root), []).append(change)
    if changes:
        out["fixes"] = [_fix(details.fix, changes)]
    return out


def _fix(description: str, changes: Mapping[str, list[dict[str, Any]]]) -> dict[str, Any]:
    files = [{"artifactLocation": {"uri": uri}, "replacements": parts} for uri, parts in changes.items()]
    return {"description": _message(description), "artifactChanges": files}


def _spelling(d: Diagnostic, root: Path) -> dict[str, Any] | None:
    """The fix that the hint of a finding proposes."""
    edit = replacement(d, file_lines)
    if edit is None or edit.file is None:
        return None
    region = {"startLine": edit.line, "startColumn": edit.start + 1, "endLine": edit.line, "endColumn": edit.end + 1}
    change = {"deletedRegion": region, "insertedContent": {"text": edit.text}}
    return _fix(f"write {edit.text}", {_uri(edit.file, root): [change]})


def _rule(id: str) -> dict[str, Any]:
    rule = CATALOGUE.get(id)
    if rule is None:
        return {"id": id}
    out: dict[str, Any] = {"id": id, "shortDescription": {"text": rule.what}}
    if rule.why:
        out["fullDescription"] = {"text": " ".join(rule.why.split())}
    out["help"] = {"text": _help(rule)}
    page = link_to(page_of(id))
    if page is not None:
        out["helpUri"] = page
    out["defaultConfiguration"] = {"level": _level(rule.severity)}
    return out


def _help(rule: Rule) -> str:
    parts = [rule.what]
    for title, text in (("Accepted", rule.accepted), ("Refused", rule.refused)):
        if text:
            parts.append(f"{title}:\n" + "\n".join(f"    {line}".rstrip() for line in text.strip("\n").splitlines()))
    return "\n\n".join(parts)


def _level(severity: Severity) -> str:
    return str(severity)  # SARIF has the same three words


def _result(d: Diagnostic, index: int, root: Path) -> dict[str, Any]:
    lines = [d.message]
    if d.hint:
        lines.append(f"hint: {d.hint}")
    lines += [f"note: {note.message}" for note in d.remarks if note.location.file is None]
    out: dict[str, Any] = {
        "ruleId": d.rule,
        "ruleIndex": index,
        "level": _level(d.severity),
        "message": _message("\n".join(lines)),
    }
    if d.location.file is not None:
        out["locations"] = [{"physicalLocation": _place(d.location, root)}]
    fix = _spelling(d, root) if d.hint else None
    if fix is not None:
        out["fixes"] = [fix]
    placed = [note for note in d.remarks if note.location.file is not None]
    if placed:
        out["relatedLocations"] = [
            {"id": id, "physicalLocation": _place(note.location, root), "message": _message(note.message)}
            for id, note in enumerate(placed, 1)
        ]
    return out


def _message(text: str) -> dict[str, str]:
    return {"text": text.replace("{", "{{").replace("}", "}}")}  # single braces hold places for arguments


def _place(at: Location, root: Path) -> dict[str, Any]:
    assert at.file is not None
    out: dict[str, Any] = {"artifactLocation": {"uri": _uri(at.file, root)}}
    if at.line:
        out["region"] = {"startLine": at.line, "startColumn": max(at.column, 1), "endColumn": end_column(at)}
    return out


def _uri(file: str, root: Path) -> str:
    """`file` as a URI: relative to `root` where it lies below, else absolute."""
    path = Path(os.path.normpath(root / file))
    if path.is_relative_to(root):
        return quote(os.fsencode(path.relative_to(root).as_posix()))
    return path.as_uri()
