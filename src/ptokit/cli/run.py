"""``ptokit run`` and what it shows of a run: ``--dump``, ``--dump-all``, ``--step``; ``ptokit time``."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import typer

from ptokit.api.check import At, for_each, to_look_at
from ptokit.api.findings import ByTarget, labels, merged
from ptokit.api.launch import RunResult, prepare
from ptokit.api.program import settings_for
from ptokit.arguments.grammar import parse_number, read_arguments
from ptokit.diagnostics import Diagnostics, UsageError
from ptokit.diagnostics.render import visible_name
from ptokit.records import dataclass
from ptokit.targets import Target
from ptokit.types.choices import LaunchOptions, RunOptions, TimeOptions

from .console import EXIT_INTERRUPTED, Progress, remark, say, show_diagnostics, show_parts, width_of
from .options import ReportFormat
from .outputs import REPORT_FILE, check_directory, check_writable, save_arrays, write_whole

if TYPE_CHECKING:
    from ptokit.api.launch import Prepared
    from ptokit.machine.observer import Observer
    from ptokit.timing.report import Timing
    from ptokit.watch import Seen


# What ``ptokit run`` shows of a run while it goes: ``--dump``, ``--dump-all``, ``--step``.


@dataclass(frozen=True)
class Watching:
    """What is to be watched: choices of tiles, a folder for everything, or a dialogue."""

    dump: tuple[str, ...] = ()
    folder: str | None = None
    step: bool = False

    @property
    def wanted(self) -> bool:
        """True if anything is to be watched."""
        return bool(self.dump or self.folder is not None or self.step)

    def check(self) -> None:
        """Refuse ways that exclude each other, and a folder that cannot be written or holds something."""
        if bool(self.dump) + (self.folder is not None) + self.step > 1:
            raise typer.BadParameter("--dump, --dump-all and --step exclude each other.", param_hint="--dump")
        if self.folder is None:
            return
        directory = Path(self.folder)
        check_directory(directory)
        if not self.folder or (os.path.isdir(directory) and os.listdir(directory)):
            raise typer.BadParameter("it is not empty; name a new folder.", param_hint="--dump-all")

    def within(self, folder: str) -> Watching:
        """The same, with a folder inside of the one for everything; "" is this one itself."""
        if self.folder is None or not folder:
            return self
        return Watching(self.dump, os.path.join(self.folder, folder.lstrip("-")), self.step)

    @contextmanager
    def observer(self, kernel: Prepared) -> Iterator[Observer]:
        """What watches the run inside; says at the end what has not been seen."""
        if self.step:
            yield from _dialogue()
        elif self.folder is not None:
            yield from _everything(Path(self.folder), kernel)
        else:
            recorder = kernel.recorder(self.dump, _show_step)
            try:
                yield recorder
            finally:
                for selection, hits in zip(recorder.selections, recorder.hits):
                    if not hits:
                        remark(f"--dump {visible_name(selection.text)}: no instruction that was executed fits")


def _show_step(seen: Seen) -> None:
    head, _, _ = str(seen).partition("\n")
    say(f"{head}\n{seen.table(min(width_of(sys.stdout), 120))}\n")


def _everything(directory: Path, kernel: Prepared) -> Iterator[Observer]:
    from ptokit.watch.seen import INDEX, Folder

    with Folder(directory) as folder:
        try:
            yield kernel.recorder((), folder)
        finally:
            size, index = f"{folder.bytes / 1e6:.1f} MB", visible_name(str(directory / INDEX))
            remark(f"saved {folder.count} results of instructions, {size}; {index}")


def _dialogue() -> Iterator[Observer]:
    from ptokit.watch.seen import HELP, Quit, Stepper

    def ask() -> str | None:
        try:
            if sys.stdin is not None:  # closed
                return input("(step) ")
        except (EOFError, UnicodeDecodeError):  # what is no text answers nothing
            pass
        say()
        return None

    say(HELP)
    try:
        yield Stepper(ask, say)
    except Quit:
        remark("stopped: nothing is saved")
        raise typer.Exit(EXIT_INTERRUPTED) from None


# ``ptokit run``.


def run_file(
    file: str,
    arg_texts: Sequence[str],
    launch: LaunchOptions,
    how: RunOptions,
    *,
    target: Sequence[str],
    out: str | None,
    watching: Watching,
) -> None:
    """Run a kernel of `file`, print a table of its pointer arguments and save them to the directory `out`.

    On several targets it runs on one after the other; tables are printed and arrays saved once all have ended.
    Raises `DiagnosticError` and writes nothing if the input is refused.
    """
    arguments = read_arguments(arg_texts)
    watching.check()
    if out == "":
        raise typer.BadParameter("it is empty; . is the current directory.", param_hint="--out")
    directory = None if out is None else Path(out)
    if directory is not None:
        check_directory(directory)
    project = settings_for(file)
    program, targets, usual = to_look_at(At(file, project.assume), target, project.target, launch.entry)
    launch = replace(launch, extended=launch.extended or project.extended)
    kernels = for_each(targets, lambda each: prepare(program, arguments, launch, target=each, default_target=usual))
    before = {name: list(kernel.diagnostics) for name, kernel in kernels.items()}
    _remarks({name: kernel.diagnostics for name, kernel in kernels.items()})
    suffixes = {name: f"-{name}" if len(kernels) > 1 else "" for name in kernels}
    if directory is not None:
        names = [f"{array}{suffixes[name]}" for name, kernel in kernels.items() for array in kernel.array_names]
        check_directory(directory, names)

    def run(each: Target | None) -> RunResult:
        name = "" if each is None else each.name
        kernel = kernels[name]
        if not watching.wanted:
            with Progress(f"{kernel.program.name} on {kernel.program.target.name}") as progress:
                return kernel.run(how, keep=True, progress=progress)
        if len(kernels) > 1:
            say(f"on {name}:")
        with watching.within(suffixes[name]).observer(kernel) as observer:
            return kernel.run(how, keep=True, observer=observer)

    results = for_each(targets, run)
    new = {name: [d for d in result.diagnostics if d not in before[name]] for name, result in results.items()}
    _remarks({name: Diagnostics([*new[name], *result.races]) for name, result in results.items()})
    if directory is not None:
        saved = {
            f"{array}{suffixes[name]}": contents
            for name, result in results.items()
            for array, contents in result.arrays.items()
            if not isinstance(contents, np.memmap)
        }
        save_arrays(directory, saved)
    for number, result in enumerate(results.values()):
        if number:
            say()
        show_parts(result.parts())
    if directory is not None:
        remark(f"saved {len(saved)} array{'s' * (len(saved) != 1)} in {visible_name(str(directory))}")


def _remarks(found: ByTarget) -> None:
    """Show findings that have not kept a kernel from running."""
    show_diagnostics(merged(found), labels(found))


# ``ptokit time``.


def time_file(
    file: str,
    other: str | None,
    arg_texts: Sequence[str],
    launch: LaunchOptions,
    how: TimeOptions,
    *,
    target: str | None,
    trace: Path | None,
    html: Path | None,
    svg: Path | None,
    format: ReportFormat,
) -> bool:
    """Time a kernel, or two versions, and print the report; True if the launches end.

    ``trace``, ``html``, ``svg``: files for the timeline, the page and the chart (of two versions, those of the second).
    Raises `DiagnosticError` for what is refused.
    """
    from ptokit.api.launch import time
    from ptokit.timing.pictures import chart, page, trace_events
    from ptokit.timing.report import Comparison

    def as_trace(timing: Timing) -> str:
        return json.dumps({"traceEvents": trace_events(timing), "displayTimeUnit": "ns"})

    files = [("trace", trace, as_trace), ("page", html, page), ("chart", svg, chart)]
    for what, file_of, _ in files:
        if file_of is not None:
            check_writable(file_of, f"the {what}", REPORT_FILE)
    timings = []
    for each in (file, other) if other is not None else (file,):
        wanted = [target] if target else []
        project = settings_for(each)
        program, _, usual = to_look_at(At(each, project.assume), wanted, project.target, launch.entry)
        options = {**vars(launch), **vars(how), "default_target": usual}
        timings.append(time(program, arg_texts, target=target, **options))
    report = timings[0] if len(timings) == 1 else Comparison(*timings)
    for what, file_of, made in files:
        if file_of is not None:
            write_whole(file_of, made(timings[-1]).encode(), f"the {what}", REPORT_FILE)
            remark(f"{what} written to {visible_name(str(file_of))}")
    say(json.dumps(report.as_json(), indent=2) if format is ReportFormat.JSON else str(report))
    return not any(timing.run.stuck for timing in timings)


def tune_file(file: str, space: Sequence[str], arg_texts: Sequence[str], *, format: ReportFormat, **how: Any) -> bool:
    """Tune a kernel and print the report; True if a candidate is right. Raises `DiagnosticError` and `UsageError`."""
    from ptokit.api.tune import tune

    found = tune(file, arg_texts, space=dict(map(_values, space)), **how)
    say(json.dumps(found.as_json(), indent=2) if format is ReportFormat.JSON else str(found))
    return bool(found)


def _values(text: str) -> tuple[str, list[Any]]:
    """A parameter of a space and its values, ``BLOCK=64,128``."""
    name, equals, values = text.partition("=")
    if not name or not equals or not values:
        raise UsageError(f"{text!r} names no values; write NAME=V,V, for example BLOCK=64,128.", "space")
    found = [(each, parse_number(each)) for each in values.split(",")]
    return name, [each if number is None else number for each, number in found]


def validate_model() -> bool:
    """Compare the model with published times and print the tables of docs/timing.md; True if all bounds hold."""
    from ptokit.conformance.timing import validate

    found = validate()
    say(str(found))
    return not found.missed
