"""A program with the flags that one launch needs, which runs have found: for kernels that a proof does not follow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from ptokit.arguments.derive import derive
from ptokit.arguments.grammar import make, read_arguments
from ptokit.diagnostics import Diagnostic, DiagnosticError
from ptokit.diagnostics.finding import edited
from ptokit.prove.report import counted
from ptokit.run import Param, choose_entry
from ptokit.sanitize import Report, sanitize_launch
from ptokit.synchronise.report import PLACE, Synchronised
from ptokit.targets import Target
from ptokit.types.choices import LaunchOptions, SanitizeOptions

from .check import origin
from .files import CppProgram, PythonKernel
from .launch import as_parameters, read_for, read_without_arguments
from .program import Program, Source, Text, beside, executed_text


def for_launch(
    program: Program, args: Sequence[Any], target: Target | None, usual: Target | None, launch: LaunchOptions
) -> Synchronised:
    """The program with what a launch needs, which is tried. ``args``: of the launch, else some made from the text.

    Raises `DiagnosticError` for a program with errors, or where no line can be inserted (SYNC-PLACE).
    """
    found = origin(program, entry=launch.entry)
    text = (found.text if isinstance(found, Text) else executed_text(found.file)) or ""
    source = _read(found, args, target, usual, launch)
    chosen = source.target_or(target, usual)
    given = list(args) or derive(source.module, choose_entry(source.module, launch.entry), launch.blocks)
    report = _run(source, given, chosen, launch, explain_sync=True)
    made = Synchronised(report.name, chosen.name, found.file, text, text)
    shown = " ".join(f"-a {each}" for each in given)
    made.launch = counted(launch.blocks, "block") + f", {shown}" * bool(shown)
    needs = report.synchronisation
    if needs is None:
        made.open = (("the launch cannot be followed to its end", 0), *_findings(report))
        return made
    lacking = next((fix for fix in needs.fixes if not fix.edits), None)
    if lacking is not None:
        why, at = f"no line can be inserted: {lacking.text}", lacking.steps[0].op.location
        raise DiagnosticError(Diagnostic(PLACE.id, PLACE.severity, why, at))
    made.edits, made.minimal = tuple(needs.edits), needs.minimal
    made.text = edited(text, made.edits)
    with with_text(found, made.text) as new:
        made.open = _findings(_run(_read(new, args, target, usual, launch), given, chosen, launch))
    return made


def _read(
    found: Any, args: Sequence[Any], target: Target | None, usual: Target | None, launch: LaunchOptions
) -> Source:
    if args:
        source = read_for(found, target, usual, read_arguments(args), launch.entry)[0]
    else:
        source = read_without_arguments(found, target, usual)
    source.diagnostics.raise_if_errors()
    return source


def _run(source: Source, given: Sequence[Any], target: Target, launch: LaunchOptions, **how: Any) -> Report:
    entry = choose_entry(source.module, launch.entry)
    values = as_parameters(make(read_arguments(given)), [Param(p.name, p.type) for p in entry.params])
    return sanitize_launch(source.module, target, values, launch, SanitizeOptions(mode="manual", **how))


def _findings(report: Report) -> tuple[tuple[str, int], ...]:
    return tuple((f"{d.message} [{d.rule}]", d.location.line) for d in report.errors)


@contextmanager
def with_text(found: Any, text: str) -> Iterator[Any]:
    """A program with another text, for as long as it is looked at."""
    if isinstance(found, CppProgram):
        with beside(found.file, text, "sync") as other:
            yield replace(found, file=other)
    elif isinstance(found, PythonKernel):
        yield PythonKernel(found.kernel.with_text(text), found.file)
    else:
        yield Text(found.file, text)
