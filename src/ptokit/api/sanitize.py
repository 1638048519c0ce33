"""`sanitize`: a run under observation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypedDict, Unpack, overload

from ptokit.arguments.derive import derive
from ptokit.diagnostics import Diagnostics
from ptokit.run import Param, choose_entry
from ptokit.sanitize import ORDERS, Report
from ptokit.sanitize import sanitize as observe
from ptokit.sanitize.auto import MODES
from ptokit.sanitize.checks.flags import OPTIONAL
from ptokit.sanitize.launch import Progress
from ptokit.targets import Target

from .arguments import copied, make, of_ranks, read_arguments
from .check import PerTarget, Several, for_each, is_several, named_targets
from .errors import UsageError
from .findings import Found, Selection, reported, selection
from .launch import as_parameters, read_for, read_without_arguments
from .parts import find_target, one_of
from .program import Program, Source
from .source import From, origin


class Reports(Found, PerTarget[Report]):
    """What was found on several targets: a report for each, by its name."""

    @property
    def findings(self) -> dict[str, Diagnostics]:
        """The findings by target."""
        return {target: report.diagnostics for target, report in self.items()}

    @property
    def clean(self) -> bool:
        """True without errors and warnings on any target."""
        return all(report.clean for report in self.values())

    def __str__(self) -> str:
        """What the terminal shows: the findings with their lines, and the verdict on each target."""
        return self.shown(*(f"{each.name} on {target}: {each.verdict}" for target, each in self.items()))


class SanitizeOptions(TypedDict, total=False):
    """What else `sanitize` is told, whether for one target or several."""

    default_target: str | Target | None
    entry: str | None
    blocks: int
    order: str
    witness: bool
    seed: int | None
    explain_sync: bool
    mode: str | None
    also: Sequence[str]
    vector_cores: int
    extended: bool
    select: Iterable[str]
    ignore: Iterable[str]
    ranks: int | None
    progress: Progress


@overload
def sanitize(
    program: Program,
    args: Sequence[Any] = (),
    *,
    target: str | Target | None = None,
    **options: Unpack[SanitizeOptions],
) -> Report: ...
@overload
def sanitize(
    program: Program,
    args: Sequence[Any] = (),
    *,
    target: Several,
    **options: Unpack[SanitizeOptions],
) -> Reports: ...
def sanitize(
    program: Program,
    args: Sequence[Any] = (),
    *,
    target: str | Target | Several | None = None,
    default_target: str | Target | None = None,
    entry: str | None = None,
    blocks: int = 1,
    order: str = "strict",
    witness: bool = False,
    seed: int | None = None,
    explain_sync: bool = False,
    mode: str | None = None,
    also: Sequence[str] = (),
    vector_cores: int = 2,
    extended: bool = False,
    select: Iterable[str] = (),
    ignore: Iterable[str] = (),
    ranks: int | None = None,
    progress: Progress = lambda done, total: None,
) -> Report | Reports:
    """Run blocks 0 .. blocks-1 of a kernel under observation: races, flags, deadlocks, uninitialised data, bounds.

    Without ``args`` the kernel gets some that are made from its text, as in campaigns; ``report.arguments`` says which.
    ``program``, ``args``, ``target``, ``default_target``, ``entry``, ``vector_cores`` and ``extended``: as for
    `ptokit.run`, a list of targets for a report on each; arrays made by `ptokit.uninit`, or the text
    "uninit:f32:64x64", are for output only. ``order``: ``strict``, or ``profile`` for the order inside a pipe that the
    target promises. ``witness``: show for each race what changes if its first access comes late. ``seed``: also run in
    another legal order, drawn with that seed.
    ``explain_sync``: find the flags and barriers that a program without any needs. ``mode``: ``auto``, ``auto-sync`` or
    ``manual``, where the program does not tell. ``also``: rules that are off by default. ``select``, ``ignore``: report
    only these rules, and not those, by the beginnings of their ids. ``ranks``: as for `ptokit.run`. ``progress(done,
    total)`` is called as blocks end. Errors in the program are in the report, and then nothing runs.
    Raises `DiagnosticError` for arguments that cannot be used, `UsageError` for a value that there is not.
    """
    selected = selection(select, ignore)
    one_of(order, ORDERS, "order")
    if mode is not None:
        one_of(mode, MODES, "mode")
    for rule in also:
        one_of(rule, sorted(OPTIONAL), "also")
    more: dict[str, Any] = {"witness": witness, "seed": seed, "explain_sync": explain_sync, "mode": mode}
    more |= {"also": also, "vector_cores": vector_cores, "extended": extended, "ranks": ranks, "progress": progress}
    found = From(origin(program, entry=entry))
    several = is_several(target)
    targets: Sequence[Target | None] = named_targets(target) or [None]
    look = partial(_looked_at, found, default=find_target(default_target), entry=entry, blocks=blocks, order=order)
    seen = for_each(targets, lambda each: look(copied(args) if several else args, target=each, **more))
    reports = Reports({report.target: report for report, _ in seen.values()})
    _select(reports, [source for _, source in seen.values()], selected)
    return reports if several else next(iter(reports.values()))


def _looked_at(
    found: From,
    args: Sequence[Any],
    *,
    target: Target | None,
    default: Target | None,
    entry: str | None,
    blocks: int,
    order: str,
    ranks: int | None,
    **more: Any,
) -> tuple[Report, Source]:
    """What was found on one target, and the program as it was read for it."""
    made: list[str] = []
    if args or ranks is not None:
        source, arguments = read_for(found, target, default, read_arguments(args), entry)
    else:
        source = read_without_arguments(found.origin, target, default)
        if not source.diagnostics.errors:
            made = _made(source, None if source.own_target else entry, blocks)
        arguments = read_arguments(made)
    if source.diagnostics.errors:
        target_name = "" if target is None and source.target is None else source.target_or(target).name
        report = Report(source.file, target_name, blocks, order)
        report.diagnostics.extend(source.diagnostics)
        return report, source
    chosen = source.target_or(target, default)
    entry = None if source.own_target else entry
    params = [Param(p.name, p.type) for p in choose_entry(source.module, entry).params]
    values = as_parameters(of_ranks(make(arguments), ranks), params)
    report = observe(source.module, chosen, values, blocks, order=order, entry=entry, ranks=ranks or 0, **more)
    report.arguments = made
    report.diagnostics.extend(source.diagnostics)
    return report, source


def _made(source: Source, entry: str | None, blocks: int) -> list[str]:
    """Arguments made from the text of a kernel. Raises `UsageError` for one that talks with others: its text does not
    tell who they are."""
    kernel = choose_entry(source.module, entry)
    bodies = [function.body for function in source.module.functions if function.body is not None]
    if any(op.name in _TALKS or op.name.startswith("pto.comm.") for body in bodies for op in body.walk()):
        message = f"{kernel.name} notifies or waits for others: say with --arg and --ranks what they share."
        raise UsageError(message, "arg")
    return derive(source.module, kernel, blocks)


_TALKS = ("pto.tnotify", "pto.twait", "pto.ttest")


def _select(reports: Reports, sources: Sequence[Source], chosen: Selection) -> None:
    """Leave the findings that are to be reported; all errors that kept the kernel from running."""
    kept_from_running = [
        source if report.ran else replace(source, diagnostics=report.diagnostics)
        for report, source in zip(reports.values(), sources)
    ]
    symptoms = {target: Diagnostics(report.symptoms) for target, report in reports.items()}
    found = reported(symptoms, kept_from_running, chosen, ran=True)
    for target, report in reports.items():
        report.keep(found[target])
