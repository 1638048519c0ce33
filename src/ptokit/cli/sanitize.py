"""``ptokit sanitize``."""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ptokit.api.check import At, to_look_at
from ptokit.api.findings import ByTarget, counts, labels, limited, merged, sarif_text
from ptokit.api.findings import as_json as findings
from ptokit.api.program import STDIN, settings_for
from ptokit.api.sanitize import Reports, sanitize
from ptokit.diagnostics import Diagnostic
from ptokit.diagnostics.render import Details, visible_name
from ptokit.run.backends import redirected
from ptokit.sanitize import Report
from ptokit.targets import Target
from ptokit.types.choices import LaunchOptions, ReportOptions, SanitizeOptions

from .check import Repairs, mend
from .console import EXIT_ERRORS, EXIT_UNCHECKED, Progress, remark, said_when_interrupted, say, show_diagnostics
from .outputs import REPORT_FILE, check_writable, left_out_text, report_forms, selected, write_whole


def sanitize_file(
    file: str,
    arg_texts: Sequence[str],
    launch: LaunchOptions,
    how: SanitizeOptions,
    reporting: ReportOptions,
    *,
    target: Sequence[str],
    html: str | None,
    fix: bool | None = None,
) -> int:
    """Run a kernel of `file` under observation and report what was found; the exit status.

    ``html``: a file to write the report to as a page, too. ``fix``: make the fixes first, or (False) print them.
    """
    project = settings_for(file)
    program, targets, usual = to_look_at(At(file, project.assume), target, project.target, launch.entry)
    launch = replace(launch, extended=launch.extended or project.extended)
    pages = {} if html is None else {each: _page(html, each, len(targets)) for each in targets}
    for page in pages.values():
        check_writable(page, "the page", REPORT_FILE)
    options: dict[str, Any] = {**vars(launch), **vars(how), **selected(reporting, project), "default_target": usual}
    options["target"] = targets[0] if targets == [None] else targets
    if fix is not None:

        def look(other: str) -> Repairs:
            with redirected(lambda text: len(text)):
                return _seen(sanitize(At(other, project.assume), arg_texts, **options))

        mend(file, look, write=fix)
        program, *_ = to_look_at(At(file, project.assume), target, project.target, launch.entry)
    start = time.perf_counter()
    with (
        said_when_interrupted(lambda: "nothing was reported or written"),
        Progress(f"sanitize {file}", waits=True) as progress,
        redirected(sys.stdout.write if reporting.format == "text" else sys.stderr.write),
    ):
        found = sanitize(program, arg_texts, progress=progress, **options)
    seconds = time.perf_counter() - start
    reports = found if isinstance(found, Reports) else Reports({found.target: found})
    for page, report in zip(pages.values(), reports.values()):
        write_whole(page, report.html().encode(errors="replace"), "the page", REPORT_FILE)
        remark(f"page written to {visible_name(str(page))}")
    most = reporting.max_errors or project.max_errors
    strict = reporting.error_on_warning or project.error_on_warning
    return _show(STDIN if file == "-" else file, reports, seconds, reporting.format, most, strict)


def _seen(found: Report | Reports) -> Repairs:
    """The fixes and the findings of a report; of several targets the fixes of the first that has some."""
    reports = list(found.values()) if isinstance(found, Reports) else [found]
    rules = Counter(d.rule for report in reports for d in report.symptoms)
    fixed = next((report for report in reports if report.fixes), reports[0])
    return [fix.edits for fix in fixed.fixes.values()], rules


def _page(html: str, target: Target | None, several: int) -> Path:
    path = Path(html)
    if target is None or several == 1 or path.is_dir():  # which writing refuses
        return path
    return path.with_stem(f"{path.stem}-{target.name}")


def as_json(reports: Reports, shown: ByTarget, left_out: int) -> dict[str, Any]:
    """The JSON object of docs/formats.md."""
    more: dict[tuple[Diagnostic, str], dict[str, Any]] = {}
    for target, report in reports.items():
        for diagnostic, race in report.races.items():
            more.setdefault((diagnostic, target), {})["race"] = race.as_json()
        for diagnostic, fix in report.fixes.items():
            more.setdefault((diagnostic, target), {})["fix"] = fix.as_json()
        for diagnostic, others in report.folded.items():
            more.setdefault((diagnostic, target), {})["same_cause"] = [other.as_json() for other in others]
    facts = [_facts(report) for report in reports.values()]
    return {**findings([shown], left_out, more), **(facts[0] if len(facts) == 1 else {"runs": facts})}


def _facts(report: Report) -> dict[str, Any]:
    launch: dict[str, Any] = {
        "kernel": report.name,
        "target": report.target or None,
        "blocks": report.blocks,
        "order": report.order,
    }
    launch |= {"ranks": report.ranks} if report.ranks else {}
    launch |= {"arguments": report.arguments} if report.arguments else {}
    shuffled = {} if report.shuffled is None else {"shuffled": report.shuffled.as_json()}
    needed = {} if report.synchronisation is None else {"synchronisation": report.synchronisation.as_json()}
    coverage = report.coverage.as_json()
    return {"launch": launch, "instructions": report.instructions, "coverage": coverage, **shuffled, **needed}


def _sarif(reports: Reports, shown: ByTarget) -> str:
    details = {}
    for report in reports.values():
        for diagnostic in dict.fromkeys([*report.races, *report.fixes]):
            race = report.races.get(diagnostic)
            fix = report.fixes.get(diagnostic) or (race and race.fix)
            facts = {} if race is None else {"race": race.as_json()}
            details[diagnostic] = Details(facts, fix.text if fix else "", fix.edits if fix else ())
    return sarif_text([shown], {target: _facts(report) for target, report in reports.items()}, details)


def _show(file: str, reports: Reports, seconds: float, format: str, most: int | None, strict: bool) -> int:
    errors, warnings = reports.errors, reports.warnings
    complete = all(report.coverage.complete for report in reports.values())
    bad = errors or (strict and warnings)
    status = EXIT_ERRORS if bad else 0 if complete else EXIT_UNCHECKED
    (shown,), left_out = limited([reports.findings], most)
    if format == "json":
        say(json.dumps(as_json(reports, shown, left_out), indent=2))
    elif format == "sarif":
        say(_sarif(reports, shown))
    elif format == "github":
        report_forms([shown], left_out, format)
    if format != "text":
        return status
    show_diagnostics(merged(shown), labels(reports.findings))
    if reports.diagnostics:
        strictly = "; warnings count as errors" if strict and warnings and not errors else ""
        count = counts(reports.findings) or "notes only"
        remark(f"{visible_name(file)}: {count}{left_out_text(left_out)}{strictly}")
    for report in reports.values():
        _verdict(report, seconds if len(reports) == 1 else None)
    if status == EXIT_UNCHECKED:
        remark(_UNCHECKED)
    return status


def _verdict(report: Report, seconds: float | None) -> None:
    """What was looked at on one target."""
    if report.arguments:
        remark(f"arguments made from the text: {' '.join(f'-a {text}' for text in report.arguments)}")
    if report.ran:
        blocks = f"{report.blocks} block{'s' if report.blocks > 1 else ''}"
        blocks = f"{report.ranks} rank{'s' if report.ranks > 1 else ''} of {blocks}" if report.ranks else blocks
        name = visible_name(report.name)
        what = f"{name} on {report.target}, {blocks}, {report.order} order: {report.instructions} instructions"
        say(f"{what}{'' if seconds is None else f' in {seconds:.2f} s'}, {report.verdict}")
    if report.closed:
        remark("constants alone decide what it does to memory: this holds for all arguments")
    if report.shuffled is not None:
        say(str(report.shuffled))
    if report.synchronisation is not None:
        say(str(report.synchronisation))


_UNCHECKED = (
    "--mode auto accepts that the compiler orders pipes, --mode manual checks the program as it stands, "
    "--explain-sync lists the flags that it needs"
)
