"""``ptokit check`` and ``sanitize``, ``--fix`` and ``--diff``."""

from __future__ import annotations

import contextlib
import difflib
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ptokit.api.check import At, CheckReport, check, to_look_at
from ptokit.api.findings import ByTarget, counts, labels, limited, merged, sarif_text
from ptokit.api.findings import as_json as findings
from ptokit.api.program import STDIN, beside, expand, settings_for, split, without_kernels
from ptokit.diagnostics import Diagnostic, DiagnosticError, Diagnostics, Location, UsageError
from ptokit.diagnostics.finding import Edit, edited, together
from ptokit.diagnostics.render import Details, summary, visible_name
from ptokit.targets import Target
from ptokit.types.choices import CheckOptions, LaunchOptions, ReportOptions, SanitizeOptions

from .console import (
    EXIT_ERRORS,
    EXIT_UNCHECKED,
    Progress,
    emit,
    remark,
    said_when_interrupted,
    say,
    show_diagnostics,
)
from .outputs import (
    FIXED_FILE,
    REPORT_FILE,
    check_writable,
    left_out_text,
    refuse_special,
    report_forms,
    selected,
    write_whole,
)

if TYPE_CHECKING:
    from ptokit.api.sanitize import Reports
    from ptokit.sanitize import Report

# ``--fix`` and ``--diff``: what findings propose, written into the file where it helps.


_ROUNDS = 5  # times that the fixes of a file are looked for, each on top of the last

Repairs = tuple[list[Sequence[Edit]], Counter[str]]
"""The edits of each fix of a file, and how many findings of each rule it has."""


def mend(file: str, look: Callable[[str], Repairs], *, write: bool) -> None:
    """Make the fixes of a file that leave fewer findings and none of another rule, in place or as a difference.

    ``file``: as on the command line; ``look`` tells what is found in another version of it, a file of its own that lies
    beside it. ``write``: False to print the difference. Raises `DiagnosticError` (CLI-08) where the file cannot be
    written, or is another one by then.
    """
    path, kernel = split(file)
    if file in ("-", STDIN):
        raise UsageError("--fix and --diff change a file, and stdin is none.", "fix")
    if not os.path.exists(path):
        return  # what looks at it says so
    refuse_special(Path(path), "the text", FIXED_FILE)
    original = Path(path).read_bytes()
    if write and not os.access(path, os.W_OK):
        raise _refused(path, "no permission to write it")
    try:
        source = original.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise _refused(path, "it is no UTF-8 text") from None
    mark = original[: len(original) - len(source.encode())]
    text, made, left = source, 0, 0
    at, fixes, rules = path, *look(file)
    for _ in range(_ROUNDS):
        here = os.path.abspath(at)
        mine: list[Sequence[Edit]] = [
            edits for fix in fixes if (edits := [e for e in fix if os.path.abspath(e.file) == here])
        ]
        better = next(_better(path, kernel, text, mine, rules, look), None)
        if better is None:
            left = len(mine)
            break
        count, text, at, fixes, rules = better
        made += count
    shown = visible_name(path)
    if text == source:
        remark(f"{shown}: {'no fix helps' if left else 'nothing to fix'}")
    elif write:
        if Path(path).read_bytes() != original:
            raise _refused(path, "it has been changed meanwhile")
        write_whole(Path(path), mark + text.encode(), "the text", FIXED_FILE)
        remark(f"{shown}: {_counted(made, 'fix')} made{f', {left} left alone' if left else ''}")
    else:
        old, new = source.splitlines(keepends=True), text.splitlines(keepends=True)
        emit("".join(difflib.unified_diff(old, new, shown, shown)))


def _better(
    path: str, kernel: str, text: str, fixes: list[Sequence[Edit]], rules: Counter[str], look: Callable[[str], Repairs]
) -> Iterator[tuple[int, str, str, list[Sequence[Edit]], Counter[str]]]:
    """Versions with fewer findings and none of another rule: with all fixes, else with one of them."""
    for chosen in [fixes, *([fix] for fix in fixes if len(fixes) > 1)]:
        new = edited(text, (edit for fix in chosen for edit in fix))
        if new == text:
            continue
        with _beside(path, new) as other:
            try:
                more, found = look(f"{other}:{kernel}" if kernel else other)
            except DiagnosticError:
                continue
            if found.total() < rules.total() and found <= rules:
                yield len(chosen), new, other, more, found


@contextlib.contextmanager
def _beside(path: str, text: str) -> Iterator[str]:
    """A file in the folder of another one, for as long as it is looked at."""
    with contextlib.ExitStack() as stack:
        try:
            name = stack.enter_context(beside(path, text, "fixed"))
        except OSError as error:
            raise _refused(path, error.strerror or str(error)) from None
        yield name


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}es"


def _refused(path: str, why: str) -> DiagnosticError:
    message = f"{visible_name(path)} cannot be mended: {why}"
    return DiagnosticError(Diagnostic(FIXED_FILE.id, FIXED_FILE.severity, message, Location(path)))


# ``ptokit check``.


ACCEPTED = "; the assembler accepts the file (--rules assembler)"


def check_files(
    names: Sequence[str],
    args: Sequence[str],
    how: CheckOptions,
    reporting: ReportOptions,
    *,
    target: Sequence[str],
    also: Sequence[str] = (),
    fix: bool | None = None,
) -> bool:
    """Report the findings of files; True if none of them is an error, or a warning where these count as errors.

    ``names``: as for `expand`. What an option leaves open the project of each file decides. ``also``: rules that are
    off by default. ``fix``: make the fixes first, or (False) print them.
    """
    reports: list[CheckReport] = []
    shown: list[ByTarget] = []
    good = True
    most, left_out = reporting.max_errors, 0
    for number, file in enumerate(expand(names, kernels=True)):
        project = settings_for(file)
        most = project.max_errors if number == 0 and most is None else most
        options: dict[str, Any] = {"target": list(target) or None, "default_target": list(project.target) or None}
        options |= {name: value or getattr(project, name) for name, value in vars(how).items()}
        options |= selected(reporting, project)
        if fix is not None:
            mend(file, partial(_look, args, options), write=fix)
        report = check(At(file), args, **options)
        if also and report.ok:
            _proved(At(file, project.assume), args, report)
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


def _proved(program: At, args: Sequence[str], report: CheckReport) -> None:
    """Add what a proof says of each target."""
    from ptokit.api.sanitize import superfluous

    for target, found in report.findings.items():
        for diagnostic, _ in superfluous(program, args, target=target):
            found.add(diagnostic)


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


def _look(args: Sequence[str], options: dict[str, Any], file: str) -> Repairs:
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
    remark(f"{name}: {counts(report.findings) or 'notes only'}{what}{ACCEPTED if report.accepted else ''}")


# ``ptokit sanitize``.


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
    from ptokit.api.sanitize import Reports, sanitize
    from ptokit.run.backends import redirected

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
    return _reported(STDIN if file == "-" else file, reports, seconds, reporting.format, most, strict)


def _seen(found: Report | Reports) -> Repairs:
    """The fixes and the findings of a report; of several targets the fixes of the first that has some."""
    reports = list(found.values()) if isinstance(found, dict) else [found]
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


def _reported(file: str, reports: Reports, seconds: float, format: str, most: int | None, strict: bool) -> int:
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
