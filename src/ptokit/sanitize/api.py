"""`sanitize`: run a kernel on its real arguments and report every order the program does not guarantee."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from dataclasses import replace
from functools import partial
from io import StringIO
from typing import Any

import numpy as np

from ptokit.diagnostics import Diagnostics, Note, Severity
from ptokit.ir.core import Function, Module
from ptokit.ir.functions import as_compiled, check_runnable
from ptokit.ir.launch import VECTOR_CORES, found_for, with_reached
from ptokit.ir.verify import verify
from ptokit.run.arguments import divided
from ptokit.run.program import check_blocks, choose_entry, filled_in
from ptokit.targets import Target
from ptokit.targets import target as target_named
from ptokit.types.choices import Order

from . import rules as _rules  # puts the rules into the catalogue
from .auto import MODES, auto_rules
from .checks.flags import OPTIONAL
from .checks.placement import reserved_bytes
from .coverage import LaunchMode, coverage
from .findings.addresses import Addresses
from .findings.insertion import explain
from .findings.race import Race, Witness, compare, copies
from .findings.repair import MENDED, Repairs, repair
from .launch import KEPT, ObservedRun, Progress, Rerun
from .reorder import Scheduler, can_wait, delaying
from .replay import RecordedRun, Replay
from .report import Report
from .simulation.clocks import Clock
from .simulation.givers import Waits

WITNESSES = 16
"""Races that are run once more to show what they change."""

ORDERS = tuple(Order)
"""How much order one pipe gives by itself (memory-model-and-sync 6.1)."""

_IGNORED = frozenset(("AUTO-RULE", "FLAG-RANGE", "FLAG-PIPE", "XFLAG-RANGE", "TS-1", "SY-3", "SY-4"))
"""Errors of the static check that concern single flags: these are left out of the run, which goes on."""

_REMARKS = frozenset(("UB-USER",))
"""Warnings of the static check about what no run can show: notes here."""

_SEEN_RUNNING = {
    "AL-5": "UNBOUND-TILE",
    "BF-1": "BUF-PROTOCOL",
    "EW-10": "RACE-SELF",
    "PV-4": "GM-OOB GM-SLICE",
    "PV-7": "GM-OOB GM-SLICE",
    "PV-8": "GM-OOB GM-SLICE",
}
"""Rules of the static check, and the findings they lead to when the program runs, which say more."""


def sanitize(
    module: Module,
    target: Target | str,
    args: Sequence[Any],
    blocks: int = 1,
    *,
    order: str = "strict",
    entry: str | None = None,
    extended: bool = False,
    witness: bool = False,
    seed: int | None = None,
    explain_sync: bool = False,
    mode: str | None = None,
    also: Sequence[str] = (),
    vector_cores: int = VECTOR_CORES,
    ranks: int = 0,
    progress: Progress = lambda done, total: None,
    causes: bool = True,
) -> Report:
    """Run blocks 0 .. blocks-1 of a kernel and report races, uninitialised data, flags, deadlocks, bounds.

    ``args``: as for `Program.launch`; arrays made by `uninit` start uninitialised. They are used in place. ``order``:
    ``strict``, every pipe runs in order, or ``profile``, as far as the target promises it. Programs without addresses
    and flags (Auto mode) are checked for values only. ``witness``: run the launch once more for each race, on copies of
    the arguments, with the first access as late as the model allows, and note what changes. ``seed``: run it once more
    in a legal order drawn with that seed. ``explain_sync``: find the flags and barriers that a program without any
    needs, by running versions of it on copies of the arguments. ``mode``: ``auto``, ``auto-sync`` or ``manual``, where
    the program does not tell. ``also``: rules that are off by default (`OPTIONAL`). ``vector_cores``: those beside a
    cube core of a mixed kernel, 1 or 2. ``ranks``: on how many devices, whose arguments `ptokit.run.arguments.divided`
    tells apart; 0 for a launch on one. ``progress(done, total)`` is called as blocks end. ``causes``: look for the
    changes that mend findings, and fold those of one cause; without it every finding is by itself. Raises
    `DiagnosticError` for arguments that cannot be used, `ValueError` for an unknown order, mode or rule, `KeyError` for
    an unknown target.
    """
    target = target_named(target)
    if order not in ORDERS:
        raise ValueError(f"order is one of {', '.join(ORDERS)}, not {order!r}")
    if mode is not None and mode not in MODES:
        raise ValueError(f"mode is one of {', '.join(MODES)}, not {mode!r}")
    if unknown := set(also) - OPTIONAL:
        known = ", ".join(sorted(OPTIONAL))
        raise ValueError(f"{', '.join(sorted(unknown))}: rules that are off by default are {known}")
    check_blocks(blocks)
    target = as_compiled(module, target)
    chosen = choose_entry(module, entry)
    name = chosen.name
    given = args
    kernel, args = filled_in(chosen, given)
    report = Report(name, target.name, blocks, order, ranks=ranks)
    found = report.diagnostics
    if ranks:
        args = [arg for device in divided(kernel, args, ranks) for arg in device]
    for diagnostic in found_for(module, chosen, verify(module, target, extended=extended)):
        found.add(replace(diagnostic, severity=Severity.NOTE) if diagnostic.rule in _REMARKS else diagnostic)
    module = with_reached(module, chosen)
    check_runnable(module, found)
    reserved_bytes(module, target, found)
    if mode == "auto":
        auto_rules(module, found)
    if any(d.rule not in _IGNORED and d.rule not in _SEEN_RUNNING for d in found.errors):
        return report
    stated = list(found)
    how = LaunchMode(module, mode, vector_cores, ranks)
    fresh = copies(args) if witness or seed is not None or explain_sync or how.others_may_end else []
    kept = not ranks and sum(arg.nbytes for arg in args if isinstance(arg, np.ndarray)) <= KEPT
    spare = (fresh or copies(args)) if kept else None
    observed = partial(ObservedRun, module, kernel, target)
    options = blocks, order == "profile", extended, report, how, frozenset(also)
    run = observed(args, *options, progress=progress)
    run.fresh = spare
    run.run()
    while how.others_may_end and (told := run.simulation.waits.wrong()):
        report.diagnostics = Diagnostics()
        report.diagnostics.extend(stated)
        run = observed(copies(fresh), *options, waits=Waits(told))
        run.fresh = spare
        with redirect_stdout(StringIO()):  # the first run has printed it
            run.run()
    unchanged = spare if spare is not None else fresh or None
    repairs: Repairs | None = None
    if causes and unchanged is not None and not how.by_compiler and target.is_device:
        aside = *options[:3], Report(name, target.name, blocks, order), *options[4:]
        repairs = _repairs(run, partial(RecordedRun, module, kernel, target, copies(unchanged), *aside))
    run.tell(repairs)
    report.ran = True
    report.coverage = coverage(how, in_order=not target.is_device, explained=explain_sync, complete=run.complete)
    report.diagnostics = _without_superseded(report.diagnostics)
    if explain_sync and run.complete:

        def watch(version: Module) -> tuple[list[Race], int]:
            again = Report(name, target.name, blocks, order)
            entry, _ = filled_in(choose_entry(version, name), given)
            by_hand = LaunchMode(version, None, vector_cores, ranks)
            by_hand.by_compiler = False
            run = ObservedRun(
                *(version, entry, target, copies(fresh), blocks, order == "profile", extended, again, by_hand)
            )
            run.run()
            run.tell()
            return list(again.races.values()), again.instructions

        report.synchronisation = explain(module, target, watch)
    if run.complete and (witness or seed is not None):
        told = run.simulation.waits.corrected
        again = partial(_rerun, module, kernel, target, blocks, order == "profile", extended, fresh, args, how, told)
        if witness:
            _add_witnesses(report, again)
        if seed is not None:
            rng = random.Random(seed)
            report.shuffled = again(Scheduler(lambda core, work: rng.random() < 0.5, rng), f"order {seed}")
    return report


def _repairs(run: ObservedRun, again: Callable[[], RecordedRun]) -> Repairs | None:
    """What mends findings about flags and races, None where nothing can be tried; ``again``: makes a run like `run`
    that keeps what is issued."""
    if run.simulation.waits.corrected or MENDED.isdisjoint(rule for rule, _ in run.findings.keys):
        return None
    recorded = again()
    with redirect_stdout(StringIO()):
        if not recorded.record().fit:
            return None
    replay = Replay(recorded)
    addresses = Addresses(run.insertion.structure, replay.items, recorded.recording.rings, run.target)
    return repair(run.insertion, addresses, replay.items, replay, run.findings.keys)


def _add_witnesses(report: Report, again: Callable[[Scheduler, str], Witness]) -> None:
    """Show what each race changes, as a note of its finding."""
    races, found = report.races, Diagnostics()
    report.races = {}
    for diagnostic in report.diagnostics:
        was, race = diagnostic, races.get(diagnostic)
        if race is not None and race.first.work is not None and not can_wait(race.first.work):
            note = Note(f"witness: not looked for; {race.first.instruction} cannot be put off here")
            diagnostic = replace(diagnostic, notes=(*diagnostic.notes, note))
        elif race is not None and len(report.races) < WITNESSES:
            delays, words = delaying(race)
            race.witness = again(Scheduler(delays), words)
            diagnostic = replace(diagnostic, notes=(*diagnostic.notes, Note(f"witness: {race.witness}")))
        elif race is not None:
            note = Note(f"witness: not looked for; only the first {WITNESSES} races have one")
            diagnostic = replace(diagnostic, notes=(*diagnostic.notes, note))
        if was in report.fixes:
            report.fixes[diagnostic] = report.fixes.pop(was)
            report.folded[diagnostic] = report.folded.pop(was)
        if race is not None:
            report.races[diagnostic] = race
        found.add(diagnostic)
    report.diagnostics = found


def _rerun(
    module: Module,
    kernel: Function,
    target: Target,
    blocks: int,
    profile: bool,
    extended: bool,
    fresh: Sequence[Any],
    results: Sequence[Any],
    how: LaunchMode,
    told: dict[tuple[int, int], Clock],
    scheduler: Scheduler,
    words: str,
) -> Witness:
    """Another order of a launch: on the arguments `fresh`, compared with its `results`. ``told``: see `Waits`."""
    args = copies(fresh)
    witness = Witness(words)
    report = Report(kernel.name, target.name, blocks, "")
    run = Rerun(module, kernel, target, args, blocks, profile, extended, report, how, waits=Waits(told))
    run.delay(scheduler)
    run.run()
    scheduler.flush()
    witness.failure = scheduler.failure or run.failure
    names = run.program.entry.argument_names
    if how.ranks:
        names = [f"{name} of rank {rank}" for rank in range(how.ranks) for name in names]
    compare(witness, names, results, args)
    return witness


def _without_superseded(found: Diagnostics) -> Diagnostics:
    """The findings, without those of the static check that the run has found in its own way."""
    rules = {d.rule for d in found}
    kept = Diagnostics()
    for diagnostic in found:
        if rules.isdisjoint(_SEEN_RUNNING.get(diagnostic.rule, "").split()):
            kept.add(diagnostic)
    return kept


del _rules
