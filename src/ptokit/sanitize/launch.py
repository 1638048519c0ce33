"""One launch under observation: cores that are watched, what is left when they have ended, and rules of Auto mode."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from functools import partial
from io import StringIO
from typing import Any

import numpy as np

from ptokit.backends.numpy.launch import OnNumPy
from ptokit.diagnostics import Diagnostic, DiagnosticError, Diagnostics, Note
from ptokit.ir.core import Function, Module, Op, Value
from ptokit.ir.facts import Facts, instr_of
from ptokit.ir.pipe_ends import slot_memories
from ptokit.isa.site import known
from ptokit.machine.buffers import groups
from ptokit.machine.chunk import Chunk, Cluster, Flight, Stream, core_ids
from ptokit.machine.global_memory import Pointer
from ptokit.machine.lanes import Fault
from ptokit.machine.signals import LIMIT, Semaphores
from ptokit.plan.effects import is_global
from ptokit.records import dataclass
from ptokit.run.arguments import bind_arguments, bind_devices
from ptokit.run.backends import one_blas_thread
from ptokit.run.program import Program
from ptokit.targets import Target
from ptokit.types.choices import LaunchOptions, SanitizeOptions
from ptokit.types.tile import TileSpec

from .checks.analysis import Analysis
from .checks.core import Buffers, left_in
from .checks.engines import left_moving, report_unwritten
from .checks.flags import ProgramOrder, left_set, reuse_race
from .checks.vector_scopes import Sources
from .findings.insertion import Insertion
from .findings.race import Witness, compare, copies
from .findings.races import Draft, Findings
from .findings.repair import Repairs
from .memory.gm import Memory
from .observe import REGIONS, CoreObserver
from .outcome import SyncMode, Uninitialised, report_stuck
from .page.document import Report
from .reorder import Delayed, Scheduler, explained
from .simulation.core import Core, Signal
from .simulation.queues import Simulation
from .simulation.signals import Hub, Waits

# What a program must leave to the compiler in Auto mode (memory-model-and-sync 4): AUTO-RULE.


def auto_rules(module: Module, found: Diagnostics) -> None:
    """Report what an Auto-mode program must not contain."""
    for function in module.functions:
        if function.body is not None:
            _function(function, found)


def _function(function: Function, found: Diagnostics) -> None:
    facts = Facts(function)
    placed: dict[tuple[object, int], Op] = {}
    aliased: set[Value] = set()
    assert function.body is not None
    for op in function.body.walk():
        instr = instr_of(op)
        if instr is not None and instr.order.by_compiler:
            message = f"{instr.name} in Auto mode, where the compiler orders pipes"
            found.error("AUTO-RULE", message, op.location, hint="leave it out, or write the whole program by hand")
        if instr is not None and instr.alias:
            aliased.update(op.results)
        if op.name == "pto.tassign" and op.get("tile") in aliased:
            message = f"{op['tile'].shown} is an alias already, and cannot be bound to an address as well"
            found.error("AUTO-RULE", message, op.location, hint="an alias has one source in Auto mode")
        if op.name not in ("pto.tassign", "pto.alloc_tile") or not op.results:
            continue
        spec, address = op.result.type, facts.size(op.get("addr"))
        if op.get("addr") is None or not isinstance(spec, TileSpec) or not known(address):
            continue
        first = placed.setdefault((spec.loc, int(address)), op)  # type: ignore[arg-type]
        if first is not op:
            message = f"{op.result.shown} is bound to the address of {first.result.shown}"
            hint = "use treshape or subset: in Auto mode tiles share memory in no other way"
            found.error("AUTO-RULE", message, op.location, hint=hint)


# One launch under observation: cores that are watched, and what is left when they have ended.


Progress = Callable[[int, int], None]
"""Called with the blocks that are done, and how many there are on all devices."""

_NAMED = 4
"""Arguments in one memory that its name tells."""


@dataclass(frozen=True)
class ObservedLaunch:
    """A kernel, what it is launched over, and what is looked for. ``mode``: who places tiles and orders pipes."""

    name: str
    module: Module
    kernel: Function
    target: Target
    options: LaunchOptions
    how: SanitizeOptions
    mode: SyncMode

    @property
    def ranks(self) -> int:
        """Devices, 0 for a launch on one."""
        return self.options.ranks or 0

    def report(self) -> Report:
        """A report in which nothing is yet."""
        return Report(self.name, self.target.name, self.options.blocks, self.how.order, ranks=self.ranks)


class ObservedRun:
    """One launch under observation."""

    def __init__(
        self,
        launch: ObservedLaunch,
        args: Sequence[Any],
        report: Report,
        *,
        waits: Waits | None = None,
        progress: Progress = lambda done, total: None,
    ) -> None:
        module, kernel, options, mode = launch.module, launch.kernel, launch.options, launch.mode
        target, blocks = launch.target, options.blocks
        self.launch, self.report, self.blocks, self.target = launch, report, blocks, target
        self._progress, self._done = progress, 0
        cores = options.vector_cores
        self.program = Program(module, kernel, target, extended=options.extended, vector_cores=cores)
        self.code = OnNumPy(self.program)
        _ = self.code.watched_code  # refused now, if at all
        written, count = self.program.effects.written, len(kernel.params)
        if launch.ranks:
            devices = [args[first : first + count] for first in range(0, launch.ranks * count, count)]
            self.devices = bind_devices(kernel, devices, written, blocks, None)
        else:
            self.devices = [bind_arguments(kernel, args, written, blocks)]
        self.findings = Findings(mode.rests)
        self.also, self.args, self.profile = frozenset(launch.how.also), args, launch.how.order == "profile"
        self.fresh: Sequence[Any] | None = None  # the arguments as they were, to launch once more
        values = [value for device in self.devices for value in device]
        slots = {p.name for p in slot_memories(self.program.module, self.program.entry)}
        several = casts_elements(self.program.module)
        of_slots = [several or p.name in slots for p in self.program.params]
        of_slots *= len(self.devices)
        memories = _memories(values, args, of_slots)
        self.outputs = [
            (value.buffer, memories[id(value.buffer)])
            for value, arg, scratch in zip(values, args, of_slots)
            if isinstance(arg, Uninitialised) and isinstance(value, Pointer) and value.buffer and not scratch
        ]
        insertion = self.insertion = Insertion(module.functions, target)
        analysis = Analysis(self.findings, blocks_only=mode.by_compiler and not mode.between_cores)
        reused = "FLAG-REUSE-RACE" in self.also
        profiled = partial(Core, target=target, profile=self.profile, waits=reused, started=False)
        places = core_ids(self.program.cores.roles, blocks, launch.ranks)
        watched = [profiled(c.index, c.kind, c.block, c.sub, rank=c.rank) for c in places]
        hub = Hub(watched, self._overflow, mode.unsure)
        reuse = partial(reuse_race, self.findings) if reused else None
        self.simulation = Simulation(watched, hub, analysis.execute, reuse, waits)
        insertion.cores = analysis.cores = self.simulation.cores  # and the transfer engines that come to them
        self.analysis = analysis
        self.memories, self.mode = memories, mode
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
            extended=self.launch.options.extended,
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
        """Execute the cores of all blocks in turn. What is found goes into the report by `tell`."""
        semaphores: Semaphores[None] = Semaphores(list(self.simulation.cores), self.target)
        streams = self.code.clusters(self._cluster, semaphores, self.devices, range(self.blocks))
        with np.errstate(all="ignore"), one_blas_thread(self.program.effects.multiplies):
            waiting = {stream.index for stream in Flight(streams, self._ended, self._failed).finish()}
        for observer in self.observers:
            observer.machine.observer = None  # two objects that hold each other go late
        self.report.instructions = sum(observer.instructions for observer in self.observers)
        report_stuck(self.simulation, self.findings)
        cores = self.simulation.cores
        over = {core.index for core in cores if core.ended and not core.blocked} - waiting
        for index in over & self.orders.keys():
            self.orders[index].finish()
            left_set(cores[index], self.findings)
        self._left_over(over)
        self.complete = len(over) == len(cores)
        self._regions(self.report.diagnostics)
        if self.complete and not self.findings.keys:
            module, kernel = self.program.module, self.program.entry
            report_unwritten(module, kernel, self.blocks, self.outputs, self.report.diagnostics)
        if self.complete and self.findings.spare and self._same_without():
            for folded in self.findings.spare:
                folded.rule = "PAD-READ"
                folded.draft.notes.append(Note("other contents of these bytes store the same to global memory"))

    def tell(self, repairs: Repairs | None = None) -> None:
        """Report; ``repairs``: what has one cause of them is one finding. None where nothing was tried."""
        self.findings.into(self.report, self.insertion, repairs)

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
        compare(other, self.program.entry.argument_names, self.args, args)
        return not other.counts

    def _ended(self, cluster: Cluster) -> None:
        self._done += 1
        self._progress(self._done, self.blocks * len(self.devices))
        observers = [o for stream in cluster if isinstance(o := stream.chunk.observer, CoreObserver)]
        for observer in observers:
            left_in(observer, self.findings)
            left_moving(observer, self.findings)
        self.idle += observers
        for stream in cluster:
            core = self.simulation.cores[stream.index]
            if core.ended and not core.blocked:
                self.orders.pop(core.index).finish()
                left_set(core, self.findings)
                self.insertion.used(core)
                core.forget()

    def _failed(self, stream: Stream, error: Exception) -> None:
        """A core could not go on."""
        if not isinstance(error, DiagnosticError):
            raise error
        core = self.simulation.cores[stream.index]
        core.ended = False
        self._fault(core, error.diagnostics)

    def _regions(self, found: Diagnostics) -> None:
        """Rules about valid regions and common bytes, where nothing was found at the operation that says the same."""
        for op, fault in self.deferred.items():
            if not self.findings.at(op, *REGIONS[fault.rule]):
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


class Rerun(ObservedRun):
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
        self._done += 1
        self._progress(self._done, self.blocks * len(self.devices))
        """Its memory is needed until everything has been carried out."""

    def _failed(self, stream: Stream, error: Exception) -> None:
        if not isinstance(error, DiagnosticError):
            raise error
        self.failure = self.failure or explained(error)


KEPT = 1 << 26
"""Bytes of arguments whose copy is kept, for a second launch that other contents of unwritten memory show."""


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
    out: dict[int, tuple[Memory, int]] = {}
    for size, members in groups([b.mem for b in buffers]):
        chosen = [buffers[i] for i, _ in members]
        single = len(chosen) == 1 and not of_slots[members[0][0]]
        granule = chosen[0].dtype.storage.itemsize if single and not chosen[0].dtype.packed else 1
        initialised = not all(uninitialised[i] for i, _ in members)
        written = any(b.written for b in chosen)
        name = ", ".join(b.shown for b in chosen[:_NAMED]) + (", …" if len(chosen) > _NAMED else "")
        memory = Memory(name, size // granule, granule, written=written, initialised=initialised)
        for i, start in members:
            out[id(buffers[i])] = (memory, start)
    return out
