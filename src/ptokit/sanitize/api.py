"""`sanitize`: run a kernel on its real arguments and report every order the program does not guarantee."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Hashable, Sequence
from contextlib import redirect_stdout, suppress
from copy import copy
from dataclasses import field, replace
from functools import partial
from io import StringIO
from typing import Any, Unpack

import numpy as np

from ptokit.diagnostics import DiagnosticError, Diagnostics, Note, Severity
from ptokit.ir.core import Function, Module, Op
from ptokit.ir.facts import instr_of
from ptokit.ir.functions import as_compiled, check_runnable
from ptokit.ir.launch import found_for, with_reached
from ptokit.ir.verify import verify
from ptokit.isa.table import Engine
from ptokit.machine.chunk import Chunk
from ptokit.machine.signals import Event
from ptokit.records import dataclass
from ptokit.run.arguments import divided
from ptokit.run.program import Program, check_blocks, choose_entry, filled_in
from ptokit.run.tensors import arrays, remarks
from ptokit.targets import Target
from ptokit.targets import target as target_named
from ptokit.types.choices import LaunchOptions, Mode, OptionalRule, Order, SanitizeKeywords, SanitizeOptions, taken

from . import rules as _rules  # puts the rules into the catalogue
from .checks.analysis import Analysis
from .checks.flags import ProgramOrder, alias_pipes, left_set
from .checks.placement import reserved_bytes
from .findings.addresses import PLACES, Addresses, Ring
from .findings.insertion import explain
from .findings.race import Outcome, ProgramChange, Race, Witness, applied, compare, copies
from .findings.races import Draft, Findings, Folded
from .findings.repair import MENDED, Repairs, repair
from .launch import KEPT, ObservedLaunch, ObservedRun, Progress, Rerun, auto_rules
from .memory.gm import Memory
from .memory.shadow import Space
from .observe import CoreObserver
from .outcome import SyncMode, coverage, report_stuck
from .page.document import Report
from .reorder import Scheduler, can_wait, delaying
from .simulation.clocks import Clock, Touch, shifted
from .simulation.core import Barrier, Core, GetToken, Item, Meet, ReleaseToken, Submit, WaitFlag, WaitWork, Work
from .simulation.queues import Simulation
from .simulation.signals import Hub, Waits

# The order of a launch once more, with changes of its program: what the cores issued is kept, values are not.


LONGEST = 20_000
"""Items of a launch that are kept; of a longer one, those of its first blocks."""


@dataclass
class Recording:
    """What the cores of a launch issued, in the order of the executor. ``fit``: a change keeps what waits for what.
    ``ended``: cores that came to their end. ``rings``: of the pipes that were popped from."""

    items: list[tuple[int, Item]]
    ended: frozenset[int]
    fit: bool = True
    rings: set[Ring] = field(default_factory=set)
    works: dict[Work, Work] = field(default_factory=dict)  # those somebody may wait for, as they are kept


class Recorder(CoreObserver):
    """Watches a core and keeps what it issues."""

    recording: Recording

    def push(self, item: Item) -> None:
        touches = list(item.touches) if isinstance(item, Work) else []
        super().push(item)
        kept = _fresh(item)
        match item, kept:
            case Work(), Work():
                kept.touches = touches
                if item.keep:
                    self.recording.works[item] = kept
            case WaitWork(reason=None, works=tuple(works)), WaitWork() if all(w in self.recording.works for w in works):
                kept.works = tuple(self.recording.works[work] for work in works)
            case ((WaitWork() | Submit()), _):
                self.recording.fit = False
            case _:
                pass
        self.recording.items.append((self.core.index, kept))

    def piped(self, machine: Chunk, event: Event) -> None:
        super().piped(machine, event)
        self.recording.rings.update(self.pipes.rings)


def _fresh(item: Item) -> Item:
    """An item as it was before the simulation saw it."""
    made = copy(item)
    made.issue = None
    match made:
        case Work():
            made.done, made.wakes = None, set()
        case WaitFlag():
            made.source = None
        case Meet():
            made.times = 0
        case GetToken():
            made.after, made.released = (), None
        case ReleaseToken():
            made.taken = None
        case _:
            pass
    return made


class RecordedRun(ObservedRun):
    """A launch whose items are kept."""

    def record(self) -> Recording:
        """Run it. Nothing that it finds is reported."""
        self.kind = Recorder
        self.recording = Recording([], frozenset())
        self.run()
        self.recording.ended = frozenset(core.index for core in self.simulation.cores if core.ended)
        self.recording.fit &= len(self.recording.items) <= LONGEST
        return self.recording

    def _observer(self) -> CoreObserver:
        observer = super()._observer()
        assert isinstance(observer, Recorder)
        observer.recording = self.recording
        return observer


class Replay:
    """A recording that can be ordered again. Calling it with changes tells what is found then."""

    def __init__(self, run: RecordedRun) -> None:
        self._run, self.recording = run, run.recording
        self.cost = 0  # items that were ordered again, in all

    @property
    def items(self) -> list[tuple[int, Item]]:
        """What the cores issued, in the order of the executor: the number of the core, and the item."""
        return self.recording.items

    def __call__(self, changes: Sequence[ProgramChange]) -> Outcome:
        """What is found with some changes of the program."""
        run, found = self._run, _Tally()
        cores = [
            Core(c.index, c.kind, c.block, c.sub, run.target, profile=run.profile, rank=c.rank)
            for c in run.simulation.cores
        ]
        for core, like in zip(cores, run.simulation.cores):
            core.cluster = [cores[other.index] for other in like.cluster]
            core.ended = like.ended
        analysis = Analysis(found, blocks_only=run.analysis.blocks_only)
        simulation = Simulation(cores, Hub(cores, unsure=run.mode.unsure), analysis.execute)
        analysis.cores = simulation.cores
        placed = {op: by for change in changes for op, by in change.placed.items()}
        for rule, key in run.findings.keys:
            if rule in PLACES and isinstance(key, tuple) and placed.keys().isdisjoint(key):
                found.seen[rule, key] = None
        alias = alias_pipes(run.also, run.target)
        orders = [ProgramOrder(core, found, alias=alias) for core in cores]
        spaces: dict[int, Any] = {}
        touches: dict[int, Touch] = {}
        works: dict[Item, Work] = {}
        for index, kept in applied(self.recording.items, changes):
            item = _fresh(kept)
            self.cost += 1
            if isinstance(item, WaitWork) and item.works:
                item.works = tuple(works[work] for work in item.works)
            elif isinstance(item, Work):
                works[kept] = item
                item.touches = [_moved(touch, touches, spaces, placed) for touch in item.touches]
                instr = instr_of(item.op)
                if instr is not None and run.target.of(instr.engines) is Engine.SEVERAL_PIPES:
                    orders[index].hidden(item)
            if orders[index].issue(item):
                simulation.push(cores[index], item)
        report_stuck(simulation, found)
        for core, order in zip(cores, orders):
            if core.ended and not core.blocked:
                order.finish()
                left_set(core, found)
        return Outcome(found.seen, [item for core in cores for item in core.blocked])


def _moved(touch: Touch, touches: dict[int, Touch], spaces: dict[int, Any], placed: dict[Op, int]) -> Touch:
    """The same access to memory of its own; ``placed``: by how many bytes tiles are moved."""
    made = touches.get(id(touch))
    if made is None:
        made = touches[id(touch)] = copy(touch)
        space = touch.space
        own = spaces.get(id(space))
        if own is None and isinstance(space, Memory):
            fresh = space.valid is None
            own = Memory(space.name, space.size, space.granule, written=space.written, initialised=fresh)
        elif own is None:
            own = Space(space.name, len(space.state))
        spaces[id(space)] = made.space = own
        made.settled = -1
        by = placed.get(touch.owner.op) if touch.owner is not None else None
        if by is not None:
            made.where = shifted(touch.where, by)
            made.initial, made.padding = (
                None if part is None else shifted(part, by) for part in (touch.initial, touch.padding)
            )
            made.region = None if touch.region is None else replace(touch.region, start=touch.region.start + by)
    return made


class _Tally(Findings):
    """Findings whose rules and keys alone matter."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: dict[tuple[str, Hashable], None] = {}

    def add(self, rule: str, key: Hashable, core: Core, item: Item | None, make: Callable[[], Draft]) -> Folded:
        self.seen[rule, key] = None
        return _NOTHING


_NOTHING = Folded("", Draft("", None), "")  # type: ignore[arg-type]


# `sanitize`: run a kernel on its real arguments and report every order the program does not guarantee.


WITNESSES = 16
"""Races that are run once more to show what they change."""

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
    progress: Progress = lambda done, total: None,
    causes: bool = True,
    **options: Unpack[SanitizeKeywords],
) -> Report:
    """Run blocks 0 .. blocks-1 of a kernel and report races, uninitialised data, flags, deadlocks, bounds.

    ``args``: as for `Program.launch`; arrays made by `uninit` start uninitialised. They are used in place. ``order``:
    ``strict``, every pipe runs in order, or ``profile``, as far as the target promises it. Programs without addresses
    and flags (Auto mode) are checked for values only. ``witness``: run the launch once more for each race, on copies of
    the arguments, with the first access as late as the model allows, and note what changes. ``seed``: run it once more
    in a legal order drawn with that seed. ``explain_sync``: find the flags and barriers that a program without any
    needs, by running versions of it on copies of the arguments. ``mode``: ``auto``, ``auto-sync`` or ``manual``, where
    the program does not tell. ``also``: rules that are off by default (`OptionalRule`). ``vector_cores``: those beside
    a cube core of a mixed kernel, 1 or 2. ``ranks``: on how many devices, whose arguments
    `ptokit.run.arguments.divided` tells apart; None for a launch on one. ``progress(done, total)`` is called as blocks
    end. ``causes``: look for the changes that mend findings, and fold those of one cause; without it every finding is
    by itself. Raises `DiagnosticError` for arguments that cannot be used, `ValueError` for an unknown order, mode or
    rule, `KeyError` for an unknown target, `TypeError` for an unknown option.
    """
    named = dict(options)
    launch, how = replace(taken(LaunchOptions, named), blocks=blocks), taken(SanitizeOptions, named)
    if named:
        raise TypeError(f"sanitize has no option {', '.join(named)}")
    return sanitize_launch(module, target, args, launch, how, progress=progress, causes=causes)


def sanitize_launch(
    module: Module,
    target: Target | str,
    args: Sequence[Any],
    options: LaunchOptions,
    how: SanitizeOptions,
    *,
    progress: Progress = lambda done, total: None,
    causes: bool = True,
) -> Report:
    """`sanitize`, with the options in records."""
    target = target_named(target)
    if how.order not in tuple(Order):
        raise ValueError(f"order is one of {', '.join(Order)}, not {how.order!r}")
    if how.mode is not None and how.mode not in tuple(Mode):
        raise ValueError(f"mode is one of {', '.join(Mode)}, not {how.mode!r}")
    if unknown := set(how.also) - set(OptionalRule):
        known = ", ".join(OptionalRule)
        raise ValueError(f"{', '.join(sorted(unknown))}: rules that are off by default are {known}")
    check_blocks(options.blocks)
    target = as_compiled(module, target)
    chosen = choose_entry(module, options.entry)
    given = args = arrays(chosen, args)
    launch, args = _observed(module, chosen, target, given, options, how)
    kernel, reached, mode = launch.kernel, launch.module, launch.mode
    report = launch.report()
    found = report.diagnostics
    if launch.ranks:
        args = [arg for device in divided(kernel, args, launch.ranks) for arg in device]
    found.extend(remarks(chosen, args))
    for diagnostic in found_for(module, chosen, verify(module, target, extended=options.extended)):
        found.add(replace(diagnostic, severity=Severity.NOTE) if diagnostic.rule in _REMARKS else diagnostic)
    check_runnable(reached, found)
    reserved_bytes(reached, target, found)
    if how.mode == "auto":
        auto_rules(reached, found)
    if any(d.rule not in _IGNORED and d.rule not in _SEEN_RUNNING for d in found.errors):
        return report
    stated = list(found)
    again = how.witness or how.seed is not None
    fresh = copies(args) if again or how.explain_sync or mode.others_may_end else []
    kept = not launch.ranks and sum(arg.nbytes for arg in args if isinstance(arg, np.ndarray)) <= KEPT
    spare = (fresh or copies(args)) if kept else None
    run = ObservedRun(launch, args, report, progress=progress)
    run.fresh = spare
    run.run()
    while mode.others_may_end and (told := run.simulation.waits.wrong()):
        report.diagnostics = Diagnostics()
        report.diagnostics.extend(stated)
        run = ObservedRun(launch, copies(fresh), report, waits=Waits(told))
        run.fresh = spare
        with redirect_stdout(StringIO()):  # the first run has printed it
            run.run()
    unchanged = spare if spare is not None else fresh or None
    repairs: Repairs | None = None
    if causes and unchanged is not None and not mode.by_compiler and target.is_device:
        repairs = _repairs(run, partial(RecordedRun, launch, copies(unchanged), launch.report()))
    run.tell(repairs)
    report.ran = True
    several, in_order = bool(launch.ranks), not target.is_device
    report.coverage = coverage(
        mode, ranks=several, in_order=in_order, explained=how.explain_sync, complete=run.complete
    )
    report.diagnostics = _without_superseded(report.diagnostics)
    if how.explain_sync and run.complete:

        def watch(version: Module) -> tuple[list[Race], int]:
            by_hand = SyncMode(version, None)
            by_hand.by_compiler = False
            entry, _ = filled_in(choose_entry(version, launch.name), given)
            version_of = replace(launch, module=version, kernel=entry, how=SanitizeOptions(how.order), mode=by_hand)
            run = ObservedRun(version_of, copies(fresh), version_of.report())
            run.run()
            run.tell()
            return list(run.report.races.values()), run.report.instructions

        report.synchronisation = explain(reached, target, watch)
    if run.complete and again:
        rerun = partial(_rerun, launch, fresh, args, run.simulation.waits.corrected)
        if how.witness:
            _add_witnesses(report, rerun)
        if how.seed is not None:
            rng = random.Random(how.seed)
            report.shuffled = rerun(Scheduler(lambda core, work: rng.random() < 0.5, rng), f"order {how.seed}")
    return report


def _observed(
    module: Module, chosen: Function, target: Target, args: Sequence[Any], options: LaunchOptions, how: SanitizeOptions
) -> tuple[ObservedLaunch, list[Any]]:
    """A launch to observe, and its arguments, those that the text fills in among them."""
    kernel, filled = filled_in(chosen, args)
    reached = with_reached(module, chosen)
    return ObservedLaunch(chosen.name, reached, kernel, target, options, how, SyncMode(reached, how.mode)), filled


def unneeded_barriers(
    module: Module, target: Target, args: Sequence[Any], options: LaunchOptions, lines: Collection[int]
) -> set[int]:
    """Of the barriers in some lines those that order nothing that needs it: without one, the launch is as ordered.

    Arrays are not written. None are found where the launch cannot be ordered again, or the compiler orders it.
    Raises `DiagnosticError` for what a launch raises.
    """
    how, target = SanitizeOptions(), as_compiled(module, target)
    launch, given = _observed(module, choose_entry(module, options.entry), target, args, options, how)
    recorded = RecordedRun(launch, copies(given), launch.report())
    with redirect_stdout(StringIO()):
        if launch.mode.by_compiler or not recorded.record().fit:
            return set()
    replay, barriers = Replay(recorded), dict[int, set[Op]]()
    for _, item in replay.items:
        if isinstance(item, Barrier) and item.op.location.line in lines:
            barriers.setdefault(item.op.location.line, set()).add(item.op)
    before = replay(()).found.keys()
    return {line for line, ops in barriers.items() if replay([ProgramChange(dropped=ops)]).found.keys() == before}


FLOPS = 1 << 30
"""Operations that products may have in a launch that is run only to look at its barriers."""


def look_at_barriers(timed: Any, program: Program, args: Sequence[Any], options: LaunchOptions) -> None:
    """Let a timed launch, a `Timing`, say which of its costly barriers order nothing that needs it.

    Arrays are not written. Long launches are not looked at.
    """
    short = timed.count <= LONGEST and timed.flops <= FLOPS and sum(getattr(a, "nbytes", 0) for a in args) <= KEPT
    if timed.barriers and not options.ranks and short:
        with suppress(DiagnosticError):  # what the launch breaks is for `sanitize` to say
            timed.unneeded(unneeded_barriers(program.module, program.target, args, options, timed.barriers))


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
    launch: ObservedLaunch,
    fresh: Sequence[Any],
    results: Sequence[Any],
    told: dict[tuple[int, int], Clock],
    scheduler: Scheduler,
    words: str,
) -> Witness:
    """Another order of a launch: on the arguments `fresh`, compared with its `results`. ``told``: see `Waits`."""
    args = copies(fresh)
    witness = Witness(words)
    run = Rerun(launch, args, launch.report(), waits=Waits(told))
    run.delay(scheduler)
    run.run()
    scheduler.flush()
    witness.failure = scheduler.failure or run.failure
    names = run.program.entry.argument_names
    if launch.ranks:
        names = [f"{name} of rank {rank}" for rank in range(launch.ranks) for name in names]
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
