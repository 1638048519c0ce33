"""``ptokit check``, ``--fix`` and ``--diff``."""

from __future__ import annotations

import contextlib
import difflib
import os
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from ptokit.api.check import At, CheckReport, check
from ptokit.api.findings import ByTarget, counts, labels, limited, merged
from ptokit.api.program import STDIN, expand, settings_for, split, without_kernels
from ptokit.diagnostics import Diagnostic, DiagnosticError, Diagnostics, Location, UsageError
from ptokit.diagnostics.finding import Edit, edited, together
from ptokit.diagnostics.render import summary, visible_name
from ptokit.types.choices import CheckOptions, ReportOptions

from .console import emit, remark, say, show_diagnostics
from .outputs import FIXED_FILE, left_out_text, refuse_special, report_forms, selected, write_whole

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
    place = Path(path)
    try:
        handle, name = tempfile.mkstemp(prefix=f"{place.stem[:60]}_fixed_", suffix=place.suffix, dir=place.parent)
    except OSError as error:
        raise _refused(path, error.strerror or str(error)) from None
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        yield name
    finally:
        with contextlib.suppress(OSError):
            os.unlink(name)


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
        options |= {name: value or getattr(project, name) for name, value in vars(how).items()}
        options |= selected(reporting, project)
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
    remark(f"{name}: {counts(report.findings)}{what}{ACCEPTED if report.accepted else ''}")
