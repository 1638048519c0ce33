"""One launch: the flags that it needs, which runs have found, for kernels that a proof does not follow; and how long
versions of a program are predicted to take in it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from ptokit.arguments.derive import derive, settled
from ptokit.arguments.grammar import as_parameter, make, read_arguments
from ptokit.diagnostics import Diagnostic, DiagnosticError, UsageError
from ptokit.diagnostics.finding import edited
from ptokit.ir.core import Function, Module
from ptokit.ir.functions import as_compiled
from ptokit.prove.report import counted
from ptokit.records import dataclass
from ptokit.run import Param, choose_entry
from ptokit.sanitize import Report, sanitize_launch
from ptokit.synchronise.report import PLACE, Synchronised
from ptokit.targets import Target
from ptokit.targets.base import Part, PartError, part_named
from ptokit.timing.state import NotPredicted
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


# How long versions of a program are predicted to take, on arguments that are derived from one of them.


@dataclass(frozen=True)
class Launch:
    """A launch by which versions of a program are compared: arguments as after ``--arg``, and the part."""

    texts: tuple[str, ...]
    blocks: int
    part: Part
    target: Target
    extended: bool = False

    @staticmethod
    def derived(module: Module, entry: Function, target: Target, blocks: int, extended: bool = False) -> Launch:
        """A launch with arguments that the text tells. Raises `NotPredicted` where no part runs the target."""

        def look(texts: list[str]) -> tuple[Launch, Iterable[Diagnostic]]:
            # What arrays hold costs no time, and random numbers take some to make.
            zeros = (re.sub(r"^random:(.*?)(:seed=\d+)?$", r"zeros:\1", text) for text in texts)
            made = Launch(tuple(zeros), blocks, part_named(None, target), target, extended)
            try:
                made._timed(module, entry)
            except DiagnosticError as error:
                return made, error.diagnostics
            return made, ()

        try:
            return settled(module, entry, look, blocks)[0]
        except PartError as error:
            raise NotPredicted(str(error)) from None
        except (DiagnosticError, UsageError, ValueError, MemoryError) as error:
            raise NotPredicted(f"arguments cannot be derived: {_first(error)}") from None

    def cycles(self, module: Module, entry: Function) -> float:
        """Cycles of a program from the first start of a core to the last end. Raises `NotPredicted`."""
        try:
            timing = self._timed(module, entry)
        except (DiagnosticError, UsageError, ValueError, MemoryError) as error:
            raise NotPredicted(f"the launch fails: {_first(error)}") from None
        if timing.run.stuck:
            raise NotPredicted("the launch does not end")
        return timing.work

    def _timed(self, module: Module, entry: Function) -> Any:
        from ptokit.run import Param, Program
        from ptokit.timing.report import timed

        if len(entry.params) != len(self.texts):
            raise NotPredicted("both do not have the same arguments")
        dtypes = [Param(param.name, param.type).dtype for param in entry.params]
        program = Program(module, entry, as_compiled(module, self.target), extended=self.extended)
        given = zip(make(read_arguments(self.texts)), dtypes)
        values = [v if dtype is None else as_parameter(v, dtype) for v, dtype in given]
        return timed(program, values, self.blocks, self.part)

    @property
    def said(self) -> str:
        """What it is, for a report."""
        given = f" with -a {' -a '.join(self.texts)}" if self.texts else ""
        return f"{self.blocks} block{'s' * (self.blocks != 1)} on {self.part.name}{given}"


def _first(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
