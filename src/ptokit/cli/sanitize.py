"""``ptokit sanitize``."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ptokit.api.findings import ByTarget, limited, merged, sarif_text
from ptokit.api.findings import as_json as findings
from ptokit.api.inputs import STDIN
from ptokit.api.sanitize import sanitize
from ptokit.api.settings import settings_for
from ptokit.api.source import At
from ptokit.diagnostics.render import summary, visible_name
from ptokit.diagnostics.sarif import Details
from ptokit.run.machine.printed import redirected
from ptokit.sanitize import Report

from .console import remark, say, show_diagnostics
from .exits import EXIT_ERRORS, EXIT_UNCHECKED
from .files import check_writable, write_whole
from .reporting import Reporting, left_out_text, report_forms
from .rules import REPORT_FILE


def sanitize_file(
    file: str,
    arg_texts: Sequence[str],
    reporting: Reporting,
    *,
    html: str | None,
    blocks: int,
    extended: bool,
    **options: Any,
) -> int:
    """Run a kernel of `file` under observation and report what was found; the exit status.

    ``html``: a file to write the report to as a page, too. ``options``: as for `ptokit.api.sanitize.sanitize`.
    """
    if html is not None:
        check_writable(Path(html), "the page", REPORT_FILE)
    project = settings_for(file)
    options |= {"extended": extended or project.extended, "default_target": project.only_target}
    start = time.perf_counter()
    with redirected(sys.stdout.write if reporting.format == "text" else sys.stderr.write):
        report = sanitize(At(file), arg_texts, blocks=blocks, **options, **reporting.selection(project))
    seconds = time.perf_counter() - start
    _write_page(report, html)
    most = reporting.max_errors or project.max_errors
    strict = reporting.error_on_warning or project.error_on_warning
    return _show(STDIN if file == "-" else file, report, seconds, reporting.format, most, strict)


def _write_page(report: Report, html: str | None) -> None:
    if html is not None:
        write_whole(Path(html), report.html().encode(errors="replace"), "the page", REPORT_FILE)
        remark(f"page written to {html}")


def as_json(report: Report, shown: ByTarget, left_out: int) -> dict[str, Any]:
    """The JSON object of docs/formats.md."""
    out = findings([shown], left_out)
    for entry, diagnostic in zip(out["diagnostics"], merged(shown)):
        if diagnostic in report.races:
            entry["race"] = report.races[diagnostic].as_json()
    return {**out, **_facts(report)}


def _facts(report: Report) -> dict[str, Any]:
    launch = {"kernel": report.name, "target": report.target or None, "blocks": report.blocks, "order": report.order}
    shuffled = {} if report.shuffled is None else {"shuffled": report.shuffled.as_json()}
    needed = {} if report.synchronisation is None else {"synchronisation": report.synchronisation.as_json()}
    coverage = report.coverage.as_json()
    return {"launch": launch, "instructions": report.instructions, "coverage": coverage, **shuffled, **needed}


def _sarif(report: Report, shown: ByTarget) -> str:
    details = {}
    for diagnostic, race in report.races.items():
        edits = () if race.fix is None else tuple((e.file, e.line, e.text) for e in race.fix.edits)
        words = "" if race.fix is None else race.fix.text
        details[diagnostic] = Details({"race": race.as_json()}, words, edits)
    return sarif_text([shown], _facts(report), details)


def _show(file: str, report: Report, seconds: float, format: str, most: int | None, strict: bool) -> int:
    found = report.diagnostics
    bad = found.errors or (strict and found.warnings)
    status = EXIT_ERRORS if bad else 0 if report.coverage.complete else EXIT_UNCHECKED
    (shown,), left_out = limited([{report.target: found}], most)
    if format == "json":
        say(json.dumps(as_json(report, shown, left_out), indent=2))
    elif format == "sarif":
        say(_sarif(report, shown))
    elif format == "github":
        report_forms([shown], left_out, format)
    if format != "text":
        return status
    show_diagnostics(merged(shown))
    if len(found):
        strictly = "; warnings count as errors" if strict and found.warnings and not found.errors else ""
        remark(f"{visible_name(file)}: {summary(found) or 'notes only'}{left_out_text(left_out)}{strictly}")
    if report.ran:
        blocks = f"{report.blocks} block{'s' if report.blocks > 1 else ''}"
        what = f"{report.name} on {report.target}, {blocks}, {report.order} order: {report.instructions} instructions"
        say(f"{what} in {seconds:.2f} s, {report.verdict}")
    if report.shuffled is not None:
        say(str(report.shuffled))
    if report.synchronisation is not None:
        say(str(report.synchronisation))
    if status == EXIT_UNCHECKED:
        remark(_UNCHECKED)
    return status


_UNCHECKED = (
    "--mode auto accepts that the compiler orders pipes, --mode manual checks the program as it stands, "
    "--explain-sync lists the flags that it needs"
)
