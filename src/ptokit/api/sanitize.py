"""`sanitize`: a run under observation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from ptokit.run import Param, choose_entry
from ptokit.sanitize import ORDERS, Report
from ptokit.sanitize import sanitize as observe
from ptokit.sanitize.auto import MODES
from ptokit.sanitize.checks.flags import OPTIONAL
from ptokit.targets import Target

from .arguments import make, read_arguments
from .launch import as_parameters, read_for
from .program import Program, Source
from .selection import Selection, reported, selection
from .usage import find_target, one_of


def sanitize(
    program: Program,
    args: Sequence[Any] = (),
    *,
    target: str | Target | None = None,
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
) -> Report:
    """Run blocks 0 .. blocks-1 of a kernel under observation: races, flags, deadlocks, uninitialised data, bounds.

    ``program``, ``args``, ``target``, ``default_target``, ``entry``, ``vector_cores`` and ``extended``: as for
    `ptokit.run`; arrays made by `ptokit.uninit`, or the text "uninit:f32:64x64", are for output only. ``order``:
    ``strict``, or ``profile`` for the order inside a pipe that the target promises. ``witness``: show for each race
    what changes if its first access comes late. ``seed``: also run in another legal order, drawn with that seed.
    ``explain_sync``: find the flags and barriers that a program without any needs. ``mode``: ``auto``, ``auto-sync`` or
    ``manual``, where the program does not tell. ``also``: rules that are off by default. ``select``, ``ignore``: report
    only these rules, and not those, by the beginnings of their ids. Errors in the program are in the report, and then
    nothing runs. Raises `DiagnosticError` for arguments that cannot be used, `UsageError` for a value that there is
    not.
    """
    wanted, default = find_target(target), find_target(default_target)
    selected = selection(select, ignore)
    one_of(order, ORDERS, "order")
    if mode is not None:
        one_of(mode, MODES, "mode")
    for rule in also:
        one_of(rule, sorted(OPTIONAL), "also")
    arguments = read_arguments(args)
    source, arguments = read_for(program, wanted, default, arguments, entry)
    if source.diagnostics.errors:
        target_name = "" if wanted is None and source.target is None else source.target_or(wanted).name
        report = Report(source.file, target_name, blocks, order)
        report.diagnostics.extend(source.diagnostics)
        return report
    chosen = source.target_or(wanted, default)
    entry = None if source.own_target else entry
    params = [Param(p.name, p.type) for p in choose_entry(source.module, entry).params]
    values = as_parameters(make(arguments), params)
    more: dict[str, Any] = {"witness": witness, "seed": seed, "explain_sync": explain_sync, "mode": mode}
    more |= {"also": also, "vector_cores": vector_cores, "extended": extended}
    report = observe(source.module, chosen, values, blocks, order=order, entry=entry, **more)
    report.diagnostics.extend(source.diagnostics)
    return selecting(report, source, selected)


def selecting(report: Report, source: Source, chosen: Selection) -> Report:
    """The report with the findings that are to be reported; all errors that kept the kernel from running."""
    if not report.ran:
        source = replace(source, diagnostics=report.diagnostics)
    found = reported({report.target: report.diagnostics}, [source], chosen, ran=True)
    report.diagnostics = found[report.target]
    kept = set(report.diagnostics)
    report.races = {each: race for each, race in report.races.items() if each in kept}
    return report
