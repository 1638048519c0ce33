"""``ptokit sanitize``."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ptokit.api.findings import as_json as findings
from ptokit.api.findings import sarif_text
from ptokit.api.inputs import STDIN
from ptokit.api.sanitize import sanitize
from ptokit.api.source import At
from ptokit.diagnostics.render import summary, visible_name
from ptokit.diagnostics.sarif import Details
from ptokit.run.printed import redirected
from ptokit.sanitize import Report

from .console import remark, say, show_diagnostics
from .exits import EXIT_ERRORS, EXIT_UNCHECKED
from .files import check_writable, write_whole
from .rules import REPORT_FILE


def sanitize_file(
    file: str, arg_texts: Sequence[str], *, format: str, html: str | None, blocks: int, **options: Any
) -> int:
    """Run a kernel of `file` under observation and report as ``text``, ``json`` or ``sarif``; the exit status.

    ``html``: a file to write the report to as a page, too. ``options``: as for `ptokit.api.sanitize.sanitize`.
    """
    if html is not None:
        check_writable(Path(html), "the page", REPORT_FILE)
    start = time.perf_counter()
    with redirected(sys.stdout.write if format == "text" else sys.stderr.write):
        report = sanitize(At(file), arg_texts, blocks=blocks, **options)
    seconds = time.perf_counter() - start
    _write_page(report, html)
    return _show(STDIN if file == "-" else file, report, seconds, format)


def _write_page(report: Report, html: str | None) -> None:
    if html is not None:
        write_whole(Path(html), report.html().encode(errors="replace"), "the page", REPORT_FILE)
        remark(f"page written to {html}")


def as_json(report: Report) -> dict[str, Any]:
    """The JSON object of docs/formats.md."""
    out = findings([{report.target: report.diagnostics}])
    for entry, diagnostic in zip(out["diagnostics"], report.diagnostics):
        if diagnostic in report.races:
            entry["race"] = report.races[diagnostic].as_json()
    return {**out, **_facts(report)}


def _facts(report: Report) -> dict[str, Any]:
    launch = {"kernel": report.name, "target": report.target or None, "blocks": report.blocks, "order": report.order}
    shuffled = {} if report.shuffled is None else {"shuffled": report.shuffled.as_json()}
    needed = {} if report.synchronisation is None else {"synchronisation": report.synchronisation.as_json()}
    coverage = report.coverage.as_json()
    return {"launch": launch, "instructions": report.instructions, "coverage": coverage, **shuffled, **needed}


def _sarif(report: Report) -> str:
    details = {}
    for diagnostic, race in report.races.items():
        edits = () if race.fix is None else tuple((e.file, e.line, e.text) for e in race.fix.edits)
        words = "" if race.fix is None else race.fix.text
        details[diagnostic] = Details({"race": race.as_json()}, words, edits)
    return sarif_text([{report.target: report.diagnostics}], _facts(report), details)


def _show(file: str, report: Report, seconds: float, format: str) -> int:
    found = report.diagnostics
    status = EXIT_ERRORS if found.errors else 0 if report.coverage.complete else EXIT_UNCHECKED
    if format != "text":
        say(_sarif(report) if format == "sarif" else json.dumps(as_json(report), indent=2))
        return status
    show_diagnostics(found)
    if len(found):
        remark(f"{visible_name(file)}: {summary(found) or 'notes only'}")
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
