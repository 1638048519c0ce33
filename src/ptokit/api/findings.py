"""Findings as text, HTML, JSON, SARIF and annotations, and which of them are reported."""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ptokit
from ptokit import __version__
from ptokit.diagnostics import (
    CATALOGUE,
    Diagnostic,
    DiagnosticError,
    Diagnostics,
    Scope,
    Severity,
    UsageError,
    catalogue,
)
from ptokit.diagnostics.diagnostic import Ignore, ignores_of_python, ignores_of_text, text_of
from ptokit.diagnostics.finding import end_column, proposed
from ptokit.diagnostics.render import Details, sarif, summary
from ptokit.records import dataclass

from .program import IGNORE_FORM, UNUSED_IGNORE, Source

# Findings of one target or several, as text, HTML, JSON and SARIF.


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
        """What the terminal shows: the findings with their lines, and a verdict in each line after them."""
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
    """What tells the target of a finding: nothing where there is only one."""
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


# Findings as annotations of a workflow on GitHub: one line for each, which the runner shows in the changed files.


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


# Which findings are reported: rules that are selected or ignored, and comments that ignore rules at one place.


_AT_RUN_TIME = frozenset((Scope.SYNC, Scope.RUN))


@dataclass(frozen=True)
class Selection:
    """Rules to report, by the beginnings of their ids; of two that fit, the longer one decides.

    ``select``: only these; all, if there are none. ``ignore``: not these.
    """

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()

    def allows(self, rule: str) -> bool:
        """True if findings of a rule are reported."""
        selected = _longest(rule, self.select) if self.select else 0
        return selected > _longest(rule, self.ignore)


def selection(select: Iterable[str], ignore: Iterable[str]) -> Selection:
    """The selection by beginnings of ids, in any case. Raises `UsageError` for one that no rule has."""
    chosen = Selection(tuple(s.upper() for s in select), tuple(s.upper() for s in ignore))
    for name, words in (("select", chosen.select), ("ignore", chosen.ignore)):
        for word in words:
            if not _rules(word):
                raise UsageError(f"no rule begins with {word!r}; 'ptokit explain' lists all.", name)
    return chosen


def _longest(rule: str, beginnings: Iterable[str]) -> int:
    return max((len(b) for b in beginnings if rule.startswith(b)), default=-1)


def _rules(beginning: str) -> list[str]:
    """The ids that begin so."""
    found = [rule.id for rule in catalogue() if rule.id.startswith(beginning)]
    if not found:
        load_catalogue()
        found = [rule.id for rule in catalogue() if rule.id.startswith(beginning)]
    return found if beginning else []


def reported(
    found: ByTarget, sources: Sequence[Source], chosen: Selection, *, ran: bool = False
) -> dict[str, Diagnostics]:
    """The findings that are reported, and warnings about comments that hide nothing.

    What keeps a program from being read is always reported. ``ran``: the findings are those of a run.
    """
    always = {d for source in sources for d in source.diagnostics if d.severity is Severity.ERROR}
    files = {d.location.file for each in found.values() for d in each} | {source.file for source in sources}
    comments = {file: ignores(file, sources) for file in files if file is not None}
    out = {}
    for target, each in found.items():
        kept = out[target] = Diagnostics()
        for diagnostic in each:
            here = comments.get(diagnostic.location.file or "", [])
            hiding = [] if diagnostic in always else [ignore for ignore in here if ignore.hides(diagnostic)]
            if diagnostic in always or (chosen.allows(diagnostic.rule) and not hiding):
                kept.add(diagnostic)
    if not always:
        for source in sources:
            for ignore in comments[source.file]:
                if source.lines is None or ignore.at.line in source.lines:
                    for kept in out.values():
                        kept.extend(_useless(ignore, chosen, ran))
    return out


def _useless(ignore: Ignore, chosen: Selection, ran: bool) -> Iterator[Diagnostic]:
    if not ignore.rules and chosen.allows(IGNORE_FORM.id):
        message = "this comment ignores no rule: it names none"
        comment = "//" if ignore.text else "#"
        example = f"{comment} ptokit: ignore[RULE-ID] reason"
        yield Diagnostic(IGNORE_FORM.id, Severity.WARNING, message, ignore.at, example)
    for rule in ignore.rules:
        if rule in ignore.used or not chosen.allows(UNUSED_IGNORE.id):
            continue
        known = _rules(rule)
        found_here = [id for id in known if (CATALOGUE[id].scope in _AT_RUN_TIME) == ran and chosen.allows(id)]
        if len(found_here) < len(known):
            continue  # another command, or another selection, may find it
        message = f"nothing here breaks {rule}" if known else f"there is no rule {rule}"
        hint = "remove the comment" if known else None
        yield Diagnostic(UNUSED_IGNORE.id, Severity.WARNING, message, ignore.at, hint)


def ignores(file: str, sources: Sequence[Source]) -> list[Ignore]:
    """The comments that ignore rules in a file, one of the sources or a Python file."""
    text = next((source.text for source in sources if source.file == file and source.text is not None), None)
    return ignores_of_python(file) if text is None else ignores_of_text(file, text)


# Makes the rule catalogue complete: rules are defined by the modules that check them.


_WITHOUT_RULES = ("ptokit.__main__", "ptokit.workers.child", "ptokit.pytest_plugin")


@cache
def load_catalogue() -> None:
    """Import every module of the package that can define rules.

    Those are all but the commands, and what needs packages that need not be there: language server and pytest plugin.
    """
    for module in pkgutil.walk_packages(ptokit.__path__, "ptokit."):
        if not module.name.startswith(("ptokit.cli.", "ptokit.lsp.")) and module.name not in _WITHOUT_RULES:
            importlib.import_module(module.name)
    importlib.import_module("ptokit.cli.outputs")  # of the command line
