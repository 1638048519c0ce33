"""``ptokit check``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ptokit.api.check import CheckReport, check
from ptokit.api.findings import as_json, counts, labels, sarif_text
from ptokit.api.inputs import expand
from ptokit.api.source import At
from ptokit.diagnostics import Diagnostics
from ptokit.diagnostics.render import summary, visible_name

from .console import remark, say, show_diagnostics

ACCEPTED = "; the assembler accepts the file (--rules assembler)"


def check_files(names: Sequence[str], args: Sequence[str], *, format: str, **options: Any) -> bool:
    """Report all findings of the files as ``text``, ``json`` or ``sarif``; True if none of them is an error.

    ``names``: as for `expand`. ``options``: as for `check`.
    """
    reports = []
    for file in expand(names):
        report = check(At(file), args, **options)
        reports.append(report)
        if format == "text":
            _show(report)
    found = [report.findings for report in reports]
    if format == "json":
        say(json.dumps(as_json(found), indent=2))
    elif format == "sarif":
        say(sarif_text(found))
    elif len(reports) > 1:
        everything = Diagnostics()
        for report in reports:
            everything.extend(report.diagnostics)
        if len(everything):
            remark(f"{len(reports)} files: {summary(everything)}")
    return all(report.ok for report in reports)


def _show(report: CheckReport) -> None:
    show_diagnostics(report.diagnostics, labels(report.findings))
    name = visible_name(report.file)
    if report.diagnostics:
        remark(f"{name}: {counts(report.findings)}{ACCEPTED if report.accepted else ''}")
    else:
        say(f"{name}: {report.verdict}")
