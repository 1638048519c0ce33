"""Findings as annotations of a workflow on GitHub: one line for each, which the runner shows in the changed files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from ptokit.diagnostics import Diagnostic, Severity
from ptokit.diagnostics.location import end_column

from .findings import ByTarget, labels, merged

_WORDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}


def workflow_lines(found: Iterable[ByTarget], root: Path) -> Iterator[str]:
    """A line for each finding; files below `root` by their path from there."""
    for each in found:
        said = labels(each)
        for diagnostic in merged(each):
            yield _annotation(diagnostic, said.get(diagnostic, ""), root)


def _annotation(d: Diagnostic, label: str, root: Path) -> str:
    facts: dict[str, str | int] = {}
    at = d.location
    if at.file is not None:
        facts["file"] = os.path.relpath(root / at.file, root).replace(os.sep, "/")
        if at.line:
            facts |= {"line": at.line, "endLine": at.line, "col": max(at.column, 1), "endColumn": end_column(at)}
    facts["title"] = f"{d.rule} {label}".strip()
    lines = [d.message, *([f"hint: {d.hint}"] if d.hint else [])]
    lines += [f"note: {n.message}" + (f" ({n.location})" if n.location.file else "") for n in d.remarks]
    words = ",".join(f"{key}={_property(str(value))}" for key, value in facts.items())
    return f"::{_WORDS[d.severity]} {words}::{_data(chr(10).join(lines))}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
