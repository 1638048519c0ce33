"""``ptokit check``."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from ptokit.api.check import CheckReport, check
from ptokit.api.findings import ByTarget, counts, labels, limited, merged
from ptokit.api.inputs import expand, without_kernels
from ptokit.api.settings import settings_for
from ptokit.api.source import At
from ptokit.diagnostics import Diagnostics
from ptokit.diagnostics.finding import together
from ptokit.diagnostics.render import summary, visible_name

from .console import remark, say, show_diagnostics
from .fix import Seen, mend
from .reporting import Reporting, left_out_text, report_forms

ACCEPTED = "; the assembler accepts the file (--rules assembler)"


def check_files(
    names: Sequence[str],
    args: Sequence[str],
    reporting: Reporting,
    *,
    target: Sequence[str],
    level: int | None,
    auto_sync: bool,
    rules: str | None,
    extended: bool,
    fix: bool | None = None,
) -> bool:
    """Report the findings of files; True if none of them is an error, or a warning where these count as errors.

    ``names``: as for `expand`. What an option leaves open the project of each file decides. ``fix``:
    make the fixes first, or (False) print them.
    """
    reports: list[CheckReport] = []
    shown: list[ByTarget] = []
    good = True
    most, left_out = reporting.max_errors, 0
    for number, file in enumerate(expand(names, kernels=True)):
        project = settings_for(file)
        most = project.max_errors if number == 0 and most is None else most
        options: dict[str, Any] = {"target": list(target) or None, "default_target": list(project.target) or None}
        options |= {"level": level or project.level, "rules": rules or project.rules or "all"}
        options |= {"auto_sync": auto_sync or project.auto_sync, "extended": extended or project.extended}
        options |= reporting.selection(project)
        if fix is not None:
            mend(file, partial(_look, args, options), write=fix)
        report = check(At(file), args, **options)
        strict = reporting.error_on_warning or project.error_on_warning
        good &= report.ok and not (strict and report.warnings)
        (found,), more = limited([report.findings], None if most is None else most - errors_of(shown))
        reports.append(report)
        shown.append(found)
        left_out += more
        if reporting.format == "text":
            _show(report, found, more, strict)
    if reporting.format == "text":
        say_left_out(names)
    report_forms(shown, left_out, reporting.format)
    if reporting.format in ("text", "github") and (len(reports) > 1 or reporting.format == "github"):
        everything = Diagnostics()
        for report in reports:
            everything.extend(report.diagnostics)
        if len(everything):
            files = f"{len(reports)} file{'s' * (len(reports) > 1)}"
            remark(f"{files}: {summary(everything)}{left_out_text(left_out)}")
    return good


def say_left_out(names: Sequence[str]) -> None:
    """Say which Python files below these folders use ptokit and have no kernel that can be named."""
    files = [
        visible_name(str(p)) for name in names if name and os.path.isdir(name) for p in without_kernels(Path(name))
    ]
    for file in files[:SHOWN]:
        remark(f"{file}: left out: no function at its top level is decorated with @pto.kernel")
    if len(files) > SHOWN:
        remark(f"… and {len(files) - SHOWN} more files left out")


SHOWN = 5
"""Files that are named of those left out."""


def _look(args: Sequence[str], options: dict[str, Any], file: str) -> Seen:
    """What findings propose, each line by itself, and the findings."""
    report = check(At(file), args, **options)
    return [[edit] for edit in together(report.diagnostics)], Counter(d.rule for d in report.diagnostics)


def errors_of(shown: Sequence[ByTarget]) -> int:
    """How many errors there are, each for every target."""
    return sum(len(found.errors) for each in shown for found in each.values())


def _show(report: CheckReport, found: ByTarget, left_out: int, strict: bool) -> None:
    show_diagnostics(merged(found), labels(report.findings))
    name = visible_name(report.file)
    if not report.diagnostics:
        say(f"{name}: {report.verdict}")
        return
    what = left_out_text(left_out)
    if strict and report.ok and report.warnings:
        what += "; warnings count as errors"
    remark(f"{name}: {counts(report.findings)}{what}{ACCEPTED if report.accepted else ''}")
