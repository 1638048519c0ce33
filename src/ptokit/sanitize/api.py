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

from ptokit.diagnostics import Diagnostic, DiagnosticError, Diagnostics, Note, Severity
from ptokit.ir.core import Function, Module, Op
from ptokit.ir.entry_calls import with_function
from ptokit.ir.launch import VECTOR_CORES
from ptokit.ir.pipe_launch import slot_memories
from ptokit.ir.runnable import check_runnable
from ptokit.ir.verify import verify
from ptokit.run.arguments import bind_arguments, bind_devices
from ptokit.run.blas_threads import one_blas_thread
from ptokit.run.cores.cluster import Cluster, Stream, core_ids, run_clusters
from ptokit.run.cores.signals import LIMIT, Semaphores
from ptokit.run.cores.streams import clusters
from ptokit.run.devices import divided
from ptokit.run.fault import Fault
from ptokit.run.machine.chunk import Chunk
from ptokit.run.memory.global_memory import Pointer
from ptokit.run.planning.stores import is_global
from ptokit.run.program import Program, choose_entry, filled_in
from ptokit.targets import Target
from ptokit.targets import target as target_named
from ptokit.types.choices import Order
from ptokit.types.dtypes import DType

from . import rules as _rules  # puts the rules into the catalogue
from .auto import MODES, auto_rules
from .checks.analysis import Analysis
from .checks.core import Buffers
from .checks.engines import left_moving
from .checks.flags import OPTIONAL, ProgramOrder, reuse_race
from .checks.pipes import left_in
from .checks.placement import reserved_bytes
from .checks.stuck import report_stuck
from .checks.vector_scopes import Sources
from .coverage import Mode, coverage
from .findings.explain import explain
from .findings.folded import Draft, Findings
from .findings.race import Race
from .findings.repair import Repair
from .findings.witness import Witness, compare, copies
from .memory.gm import Memory
from .observe import CoreObserver
from .reorder import Delayed, Scheduler, delaying, explained
from .report import Report
from .simulation.core import Core
from .simulation.events import Signal
from .simulation.queues import Simulation
from .simulation.signals import Hub

WITNESSES = 16
"""Races that are run once more to show what they change."""

ORDERS = tuple(Order)
"""How much order one pipe gives by itself (memory-model-and-sync 6.1)."""

_NAMED = 4
"""Arguments in one memory that its name tells."""

_IGNORED = frozenset(("AUTO-RULE", "FLAG-RANGE", "FLAG-PIPE", "XFLAG-RESERVED", "TS-1", "SY-3", "SY-4"))
"""Errors of the static check that concern single flags: these are left out of the run, which goes on."""

_REMARKS = frozenset(("UB-USER",))
"""Warnings of the static check about what no run can show: notes here."""

_SEEN_RUNNING = {
    "AL-5": "UNBOUND-TILE",
    "BF-1": "BUF-PROTOCOL",
    "EW-10": "RACE-SELF",
    "PV-4": "GM-OOB",
    "PV-7": "GM-OOB",
    "PV-8": "GM-OOB",
}
"""Rules of the static check, and the finding they lead to when the program runs, which says more."""


class Uninitialised(np.ndarray):
    """An array whose contents the kernel must not rely on. Made by `uninit`."""


def uninit(shape: int | Sequence[int], dtype: DType) -> Uninitialised:
    """An output-only argument: global memory of `shape` elements that starts uninitialised (filled with 0xA5 bytes)."""
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    if dtype.packed:
        sizes = (*sizes[:-1], (sizes[-1] + 1) // 2)
    kind = np.dtype(dtype.value or dtype.storage)
    raw = np.full((int(np.prod(sizes)) * kind.itemsize,), 0xA5, np.uint8)
    return raw.view(kind).reshape(sizes).view(Uninitialised)


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
) -> Report:
    """Run blocks 0 .. blocks-1 of a kernel and report races, uninitialised data, flags, deadlocks, bounds.

    ``args``: as for `Program.launch`; arrays made by `uninit` start uninitialised. They are used in place. ``order``:
    ``strict``, every pipe runs in order, or ``profile``, as far as the target promises it. Programs without addresses
    and flags (Auto mode) are checked for values only. ``witness``: run the launch once more for each race, on copies of
    the arguments, with the first access as late as the model allows, and note what changes. ``seed``: run it once more
    in a legal order drawn with that seed. ``explain_sync``: find the flags and barriers that a program without any
    needs, by running versions of it on copies of the arguments. ``mode``: ``auto``, ``auto-sync`` or ``manual``, where
    the program does not tell. ``also``: rules that are off by default (`OPTIONAL`). ``vector_cores``: those beside a
    cube core of a mixed kernel, 1 or 2. ``ranks``: on how many devices, whose arguments `ptokit.run.devices.divided`
    tells apart; 0 for a launch on one. Raises `DiagnosticError` for arguments that cannot be used, `ValueError` for an
    unknown order, mode or rule, `KeyError` for an unknown target.
    """
    target = target_named(target)
    if order not in ORDERS:
        raise ValueError(f"order is one of {', '.join(ORDERS)}, not {order!r}")
    if mode is not None and mode not in MODES:
        raise ValueError(f"mode is one of {', '.join(MODES)}, not {mode!r}")
    if unknown := set(also) - OPTIONAL:
        known = ", ".join(sorted(OPTIONAL))
        raise ValueError(f"{', '.join(sorted(unknown))}: rules that are off by default are {known}")
    if blocks < 1:
        raise DiagnosticError(Diagnostic("RUN-BLOCKS", Severity.ERROR, f"cannot launch {blocks} blocks"))
    chosen = choose_entry(module, entry)
    name = chosen.name
    given = args
    kernel, args = filled_in(chosen, given)
    report = Report(name, target.name, blocks, order, ranks=ranks)
    found = report.diagnostics
    if ranks:
        args = [arg for device in divided(kernel, args, ranks) for arg in device]
    for diagnostic in verify(module, target, extended=extended):
        found.add(replace(diagnostic, severity=Severity.NOTE) if diagnostic.rule in _REMARKS else diagnostic)
    check_runnable(module, found)
    reserved_bytes(module, target, found)
    if mode == "auto":
        auto_rules(module, found)
    if any(d.rule not in _IGNORED and d.rule not in _SEEN_RUNNING for d in found.errors):
        return report
    module = with_function(module, chosen)
    fresh = copies(args) if witness or seed is not None or explain_sync else []
    how = Mode(module, mode, vector_cores, ranks)
    run = _Run(module, kernel, target, args, blocks, order == "profile", extended, report, how, frozenset(also))
    if not ranks and sum(arg.nbytes for arg in args if isinstance(arg, np.ndarray)) <= KEPT:
        run.fresh = fresh or copies(args)
    run.run()
    report.ran = True
    report.coverage = coverage(how, in_order=not target.is_device, explained=explain_sync, complete=run.complete)
    report.diagnostics = _without_superseded(report.diagnostics)
    if explain_sync and run.complete:

        def watch(version: Module) -> tuple[list[Race], int]:
            again = Report(name, target.name, blocks, order)
            entry, _ = filled_in(choose_entry(version, name), given)
            by_hand = Mode(version, None, vector_cores, ranks)
            by_hand.by_compiler = False
            _Run(version, entry, target, copies(fresh), blocks, order == "profile", extended, again, by_hand).run()
            return list(again.races.values()), again.instructions

        report.synchronisation = explain(module, target, watch)
    if run.complete and (witness or seed is not None):
        again = partial(_rerun, module, kernel, target, blocks, order == "profile", extended, fresh, args, how)
        if witness:
            _add_witnesses(report, again)
        if seed is not None:
            rng = random.Random(seed)
            report.shuffled = again(Scheduler(lambda core, work: rng.random() < 0.5, rng), f"order {seed}")
    return report


def _add_witnesses(report: Report, again: Callable[[Scheduler, str], Witness]) -> None:
    """Show what each race changes, as a note of its finding."""
    races, found = report.races, Diagnostics()
    report.races = {}
    for diagnostic in report.diagnostics:
        race = races.get(diagnostic)
        if race is not None and len(report.races) < WITNESSES:
            delays, words = delaying(race)
            race.witness = again(Scheduler(delays), words)
            diagnostic = replace(diagnostic, notes=(*diagnostic.notes, Note(f"witness: {race.witness}")))
        elif race is not None:
            note = Note(f"witness: not looked for; only the first {WITNESSES} races have one")
            diagnostic = replace(diagnostic, notes=(*diagnostic.notes, note))
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
    how: Mode,
    scheduler: Scheduler,
    words: str,
) -> Witness:
    """Another order of a launch: on the arguments `fresh`, compared with its `results`."""
    args = copies(fresh)
    witness = Witness(words)
    run = _Rerun(
        module, kernel, target, args, blocks, profile, extended, Report(kernel.name, target.name, blocks, ""), how
    )
    run.delay(scheduler)
    run.run()
    scheduler.flush()
    witness.failure = scheduler.failure or run.failure
    names = [param.name or f"arg{i}" for i, param in enumerate(run.program.params)]
    if how.ranks:
        names = [f"{name} of rank {rank}" for rank in range(how.ranks) for name in names]
    compare(witness, names, results, args)
    return witness


def _without_superseded(found: Diagnostics) -> Diagnostics:
    """The findings, without those of the static check that the run has found in its own way."""
    rules = {d.rule for d in found}
    kept = Diagnostics()
    for diagnostic in found:
        if _SEEN_RUNNING.get(diagnostic.rule) not in rules:
            kept.add(diagnostic)
    return kept


class _Run:
    """One launch under observation."""

    def __init__(
        self,
        module: Module,
        kernel: Function,
        target: Target,
        args: Sequence[Any],
        blocks: int,
        profile: bool,
        extended: bool,
        report: Report,
        mode: Mode,
        also: frozenset[str] = frozenset(),
    ) -> None:
        self.report, self.blocks, self.target = report, blocks, target
        self.program = Program(module, kernel, target, extended=extended, vector_cores=mode.vector_cores)
        _ = self.program.watched_code  # refused now, if at all
        written, count = self.program.effects.written, len(kernel.params)
        if mode.ranks:
            devices = [args[first : first + count] for first in range(0, mode.ranks * count, count)]
            self.devices = bind_devices(kernel, devices, written, blocks, None)
        else:
            self.devices = [bind_arguments(kernel, args, written, blocks)]
        self.findings = Findings()
        self.also, self.args = also, args
        self.fresh: Sequence[Any] | None = None  # the arguments as they were, to launch once more
        values = [value for device in self.devices for value in device]
        slots = {p.name for p in slot_memories(self.program.module, self.program.entry)}
        several = casts_elements(self.program.module)
        of_slots = [several or p.name in slots for p in self.program.params]
        memories = _memories(values, args, of_slots * len(self.devices))
        repair = self.repair = Repair(module.functions, target)
        analysis = Analysis(self.findings, repair, blocks_only=mode.by_compiler and not mode.between_cores)
        waits = "FLAG-REUSE-RACE" in also
        profiled = partial(Core, target=target, profile=profile, waits=waits, started=False)
        places = core_ids(self.program.cores.roles, blocks, mode.ranks)
        cores = [profiled(c.index, c.kind, c.block, c.sub, rank=c.rank) for c in places]
        hub = Hub(cores, self._overflow)
        reuse = partial(reuse_race, self.findings) if "FLAG-REUSE-RACE" in also else None
        self.simulation = Simulation(cores, hub, analysis.execute, reuse)
        repair.cores = self.simulation.cores  # and the transfer engines that come to them
        self.analysis = analysis
        self.memories, self.extended, self.mode = memories, extended, mode
        self.sources = Sources(module.functions)
        self.kind: type[CoreObserver] = CoreObserver
        self.observers: list[CoreObserver] = []
        self.idle: list[CoreObserver] = []
        self.orders: dict[int, ProgramOrder] = {}  # of the cores that have something left to do
        self.deferred: dict[Op, Fault] = {}  # broken rules about regions, unless memory tells what they lead to

    def _overflow(self, core: Core, item: Signal) -> None:
        def make() -> Draft:
            times = f"a {LIMIT + 1}th time before it is waited for; it counts to {LIMIT}"
            message = f"flag {item.event} between cores is raised {times}"
            return Draft(message, item.op.location)

        self.findings.add("XFLAG-OVERFLOW", (item.op, item.event), core, item, make)

    def _observer(self) -> CoreObserver:
        """A machine for one core: one whose cluster has ended, or a new one."""
        if self.idle:
            return self.idle.pop()
        observer = self.kind(
            self.target,
            self.blocks,
            self.findings,
            self.memories,
            self.simulation,
            self.deferred,
            self.sources,
            extended=self.extended,
            placed=self.mode.placed,
            in_order=self.mode.by_compiler or not self.target.is_device,
            waits_for_work=self.mode.waits_for_work,
            also=self.also,
        )
        self.observers.append(observer)
        return observer

    def _cluster(self, first: int) -> list[Chunk]:
        """Machines for the cores of a block; ``first``: the number of its first core."""
        cores = self.simulation.cores[first : first + len(self.program.cores.roles)]
        buffers = Buffers()
        machines: list[Chunk] = []
        for core in cores:
            core.cluster = cores
            core.begin()
            observer = self._observer()
            observer.watch(core, buffers)
            self.orders[core.index] = observer.order
            machines.append(observer.machine)
        return machines

    def run(self) -> None:
        """Execute the cores of all blocks in turn and report."""
        found = self.report.diagnostics
        semaphores: Semaphores[None] = Semaphores(list(self.simulation.cores), self.target)
        streams = clusters(self.program, self._cluster, semaphores, self.devices, range(self.blocks))
        with np.errstate(all="ignore"), one_blas_thread(self.program.effects.multiplies):
            waiting = {stream.index for stream in run_clusters(streams, ended=self._ended, failed=self._failed)}
        for observer in self.observers:
            observer.machine.observer = None  # two objects that hold each other go late
        self.report.instructions = sum(observer.instructions for observer in self.observers)
        report_stuck(self.simulation, self.findings)
        cores = self.simulation.cores
        over = {core.index for core in cores if core.ended and not core.blocked} - waiting
        for index in over & self.orders.keys():
            self.orders[index].finish()
        self._left_over(over)
        self.complete = len(over) == len(cores)
        self._regions(found)
        if self.complete and self.findings.spare and self._same_without():
            for folded in self.findings.spare:
                folded.rule = "PAD-READ"
                folded.draft.notes.append(Note("other contents of these bytes store the same to global memory"))
        self.report.races = self.findings.into(found, self.repair)

    def _same_without(self) -> bool:
        """True if a launch whose unwritten memory holds zeros leaves the same in the arguments."""
        if self.fresh is None:
            return False
        args, other = copies(self.fresh), Witness("")
        with redirect_stdout(StringIO()):
            try:
                self.program.launch(args, self.blocks, backend="numpy")
            except DiagnosticError:
                return False
        compare(other, [param.name for param in self.program.params], self.args, args)
        return not other.counts

    def _ended(self, cluster: Cluster) -> None:
        observers = [o for stream in cluster if isinstance(o := stream.chunk.observer, CoreObserver)]
        for observer in observers:
            left_in(observer, self.findings)
            left_moving(observer, self.findings)
        self.idle += observers
        for stream in cluster:
            core = self.simulation.cores[stream.index]
            if core.ended and not core.blocked:
                self.orders.pop(core.index).finish()
                self.repair.used(core)
                core.forget()

    def _failed(self, stream: Stream, error: Exception) -> None:
        """A core could not go on."""
        if not isinstance(error, DiagnosticError):
            raise error
        core = self.simulation.cores[stream.index]
        core.ended = False
        self._fault(core, error.diagnostics)

    def _regions(self, found: Diagnostics) -> None:
        """Rules about valid regions that were broken without reading what nobody has written."""
        for op, fault in self.deferred.items():
            if not self.findings.at(op, "UNINIT-READ", "PAD-READ", "RACE-SELF"):
                found.error(fault.rule, fault.message, op.location, hint=fault.hint)

    def _fault(self, core: Core, diagnostics: Sequence[Diagnostic]) -> None:
        """The block could not go on."""
        for d in diagnostics:
            notes = [note for note in d.notes if not note.message.startswith("at block")]
            make = partial(Draft, d.message, d.location, d.hint, notes)
            self.findings.add(d.rule, (d.location, d.message), core, None, make)

    def _left_over(self, over: set[int]) -> None:
        """Counts of flags between cores that nobody can consume any more; ``over``: the cores that have ended well."""
        for index, item in self.simulation.hub.left(over):

            def make(item: Signal = item) -> Draft:
                message = f"flag {item.event} between cores is raised here and never waited for"
                return Draft(message, item.op.location, "add a sync.wait on every core that receives it")

            core = self.simulation.cores[index]
            self.findings.add("XFLAG-UNMATCHED", (item.op, item.event), core, item, make)


class _Rerun(_Run):
    """A launch whose instructions are carried out when a scheduler wants."""

    failure: str | None = None

    def delay(self, scheduler: Scheduler) -> None:
        """Let `scheduler` decide."""
        self.scheduler = scheduler
        self.simulation.execute = scheduler.execute
        self.kind = Delayed

    def _observer(self) -> CoreObserver:
        observer = super()._observer()
        assert isinstance(observer, Delayed)
        observer.scheduler = self.scheduler
        return observer

    def _ended(self, cluster: Cluster) -> None:
        """Its memory is needed until everything has been carried out."""

    def _failed(self, stream: Stream, error: Exception) -> None:
        if not isinstance(error, DiagnosticError):
            raise error
        self.failure = self.failure or explained(error)


KEPT = 1 << 26
"""Bytes of arguments of which a copy is kept, for a second launch that other contents of unwritten memory show."""


def casts_elements(module: Module) -> bool:
    """True if something of global memory is seen as elements of another type."""
    ops = (op for f in module.functions if f.body is not None for op in f.body.walk())
    return any(op.name in ("pto.castptr", "pto.inttoptr") and is_global(op.result.type) for op in ops)


def _memories(values: Sequence[Any], args: Sequence[Any], slots: Sequence[bool]) -> dict[int, tuple[Memory, int]]:
    """The memory of each argument and its place in it in bytes; arguments that overlap are in one memory.

    ``args``: what was given for them; ``slots``: whether they hold elements of several types.
    """
    pointers = [k for k, v in enumerate(values) if isinstance(v, Pointer) and v.buffer is not None]
    buffers = [values[k].buffer for k in pointers]
    uninitialised = [isinstance(args[k], Uninitialised) for k in pointers]
    of_slots = [slots[k] for k in pointers]
    spans = sorted((b.mem.__array_interface__["data"][0], b.mem.size, i) for i, b in enumerate(buffers))
    groups: list[tuple[int, int, list[int]]] = []
    for start, size, i in spans:
        if groups and start < groups[-1][1]:
            first, end, members = groups[-1]
            groups[-1] = (first, max(end, start + size), [*members, i])
        else:
            groups.append((start, start + size, [i]))
    out: dict[int, tuple[Memory, int]] = {}
    for start, end, members in groups:
        chosen = [buffers[i] for i in members]
        single = len(chosen) == 1 and not of_slots[members[0]]
        granule = chosen[0].dtype.storage.itemsize if single and not chosen[0].dtype.packed else 1
        initialised = not all(uninitialised[i] for i in members)
        written = any(b.written for b in chosen)
        name = ", %".join(b.name for b in chosen[:_NAMED]) + (", …" if len(chosen) > _NAMED else "")
        memory = Memory(name, (end - start) // granule, granule, written=written, initialised=initialised)
        for buffer in chosen:
            out[id(buffer)] = (memory, buffer.mem.__array_interface__["data"][0] - start)
    return out


del _rules
