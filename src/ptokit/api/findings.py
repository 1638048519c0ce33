"""Findings of one target or several, as text, HTML, JSON and SARIF."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ptokit import __version__
from ptokit.diagnostics import Diagnostic, DiagnosticError, Diagnostics, Severity
from ptokit.diagnostics.diagnostic import text_of
from ptokit.diagnostics.finding import proposed
from ptokit.diagnostics.render import summary
from ptokit.diagnostics.sarif import Details, sarif

SCHEMA_VERSION = 1
"""Of the JSON report, docs/report.schema.json."""

ByTarget = Mapping[str, Diagnostics]
"""Findings by the name of the target; "" where no target was looked at."""


class Found:
    """What has findings by target."""

    if TYPE_CHECKING:

        @property
        def findings(self) -> ByTarget:
            """The findings by target."""

    @property
    def diagnostics(self) -> list[Diagnostic]:
        """All findings by place; one that several targets have in common stands there once."""
        return list(merged(self.findings))

    @property
    def errors(self) -> list[Diagnostic]:
        """The findings of severity error, by place."""
        return [d for d in self.diagnostics if d.severity is Severity.ERROR]

    @property
    def warnings(self) -> list[Diagnostic]:
        """The findings of severity warning, by place."""
        return [d for d in self.diagnostics if d.severity is Severity.WARNING]

    def raise_if_errors(self) -> None:
        """Raise `DiagnosticError` with all findings if one of them is an error."""
        if self.errors:
            raise DiagnosticError(self.diagnostics, labels=labels(self.findings))

    def shown(self, *verdicts: str) -> str:
        """What the terminal shows: the findings with their lines, and a verdict in each line behind them."""
        found = [text_of(self.diagnostics, labels=labels(self.findings))] if self.diagnostics else []
        return "\n".join((*found, *verdicts))


def merged(found: ByTarget) -> dict[Diagnostic, list[str]]:
    """Every finding once, by place, with the targets it is of."""
    out: dict[Diagnostic, list[str]] = {}
    for target, diagnostics in found.items():
        for diagnostic in diagnostics:
            out.setdefault(diagnostic, []).append(target)
    order = sorted(out, key=_place)
    return {diagnostic: out[diagnostic] for diagnostic in order}


def _place(diagnostic: Diagnostic) -> tuple[str, int, int]:
    at = diagnostic.location
    return at.file or "", at.line, at.column


def labels(found: ByTarget) -> dict[Diagnostic, str]:
    """What tells of which target a finding is: nothing where there is only one."""
    if len(found) < 2:
        return {}
    return {diagnostic: "on " + ", ".join(targets) for diagnostic, targets in merged(found).items()}


def counts(found: ByTarget) -> str:
    """``2 errors``; of several targets, for each that has findings, ``2 errors on a2a3, 1 error on a5``."""
    if len(found) < 2:
        return summary(merged(found))
    return ", ".join(f"{summary(each)} on {target}" for target, each in found.items() if summary(each))


def limited(found: Iterable[ByTarget], most: int | None) -> tuple[list[ByTarget], int]:
    """The findings without errors after the first ``most``, and how many that are."""
    room, left_out, out = most, 0, []
    for each in found:
        out.append({target: Diagnostics() for target in each})
        for diagnostic, targets in merged(each).items():
            for target in targets:
                if room is not None and diagnostic.severity is Severity.ERROR:
                    if room <= 0:
                        left_out += 1
                        continue
                    room -= 1
                out[-1][target].add(diagnostic)
    return list(out), left_out


def as_json(
    found: Iterable[ByTarget], left_out: int = 0, more: Mapping[tuple[Diagnostic, str], dict[str, Any]] | None = None
) -> dict[str, Any]:
    """The JSON object of docs/formats.md about the findings in several programs, and errors that are left out.

    ``more``: further keys of a finding on a target; what its hint proposes is its ``fix``.
    """
    further = more or {}
    entries: list[tuple[Diagnostic, str]] = []
    for each in found:
        entries += [(diagnostic, target) for diagnostic, targets in merged(each).items() for target in targets]
    entries = sorted(dict.fromkeys(entries), key=lambda entry: _place(entry[0]))
    severities = [diagnostic.severity for diagnostic, _ in entries]
    return {
        "version": SCHEMA_VERSION,
        "diagnostics": [
            {
                **diagnostic.as_json(),
                "target": target or None,
                **_fix(diagnostic),
                **further.get((diagnostic, target), {}),
            }
            for diagnostic, target in entries
        ],
        "summary": {
            "errors": severities.count(Severity.ERROR) + left_out,
            "warnings": severities.count(Severity.WARNING),
            "left_out": left_out,
        },
    }


def _fix(diagnostic: Diagnostic) -> dict[str, Any]:
    fix = proposed(diagnostic)
    return {} if fix is None else {"fix": fix.as_json()}


def sarif_text(
    found: Iterable[ByTarget],
    properties: Mapping[str, dict[str, Any]] | None = None,
    details: Mapping[Diagnostic, Details] | None = None,
) -> str:
    """The SARIF log of docs/formats.md: a run for each target. ``properties``: facts about each of these runs."""
    targets: dict[str, Diagnostics] = {}
    for each in found:
        for target, diagnostics in each.items():
            collected = targets.setdefault(target, Diagnostics())
            for diagnostic in diagnostics:
                collected.add(diagnostic)
    log = sarif(targets or {"": Diagnostics()}, __version__, Path.cwd(), properties=properties, details=details)
    return json.dumps(log, indent=2)
