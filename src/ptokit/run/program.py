"""A compiled kernel: check, compile once, launch over a grid of blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ptokit.diagnostics import Diagnostic, DiagnosticError, Diagnostics, Location, Note, Severity
from ptokit.ir.core import Function, Module, Op
from ptokit.ir.entry_calls import Query, supplied, with_function
from ptokit.ir.launch import VECTOR_CORES, Launch, launch_of
from ptokit.ir.module_target import as_compiled
from ptokit.ir.reached import found_for, with_reached
from ptokit.ir.runnable import check_runnable
from ptokit.ir.verify import verify
from ptokit.plan.effects import Effects, analyse, stores_last
from ptokit.plan.estimate import Work
from ptokit.plan.planner import plan
from ptokit.plan.steps import Plan
from ptokit.records import dataclass
from ptokit.targets import Target
from ptokit.types.choices import Matmul
from ptokit.types.dtypes import DType
from ptokit.types.values import MemRef, PartitionView, Ptr, TensorView, Type

from .arguments import Argument, bind_arguments, bind_devices, buffers_of
from .backends import Launched, Prepared, Unable, prepare, threads_wanted, wanted
from .blas_threads import one_blas_thread
from .cores.cluster import Stream
from .cores.signals import block_text
from .cores.streams import run_streams
from .entries import choose_entry
from .fault import Fault
from .faults import Again, Faults, Kept
from .machine.chunk import Chunk
from .machine.lanes import Diverge
from .machine.printed import Printed
from .machine.workspace import Workspace
from .memory.buffers import Buffer
from .memory.global_memory import Pointer
from .memory.mapped import pages_given_back
from .observer import Observer
from .python.code import PythonCode, Source

MATMUL_MODES = tuple(Matmul)
CHUNK_BYTES = 3 << 20  # working memory of the blocks that run together: what stays in a CPU's cache
CHUNK_BLOCKS = 1024
MOST_BLOCKS = (1 << 31) - 1

KEPT_BYTES = 1 << 26  # memory that is read and changed: of more no copy is kept, and blocks run one at a time
PAYS = 0.15  # seconds of NumPy, in all launches, beyond which native code is worth compiling
_REMEMBERED = 1024
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Param:
    """A kernel parameter. ``name`` is empty if the text gave only a number."""

    name: str
    type: Type

    @property
    def dtype(self) -> DType | None:
        """Element type of a pointer, memref or view parameter."""
        return self.type.dtype if isinstance(self.type, Ptr | MemRef | TensorView | PartitionView) else None


class Program:
    """A kernel for one target, ready to run. Made by `compile_program`."""

    def __init__(
        self,
        module: Module,
        entry: Function,
        target: Target,
        *,
        extended: bool,
        vector_cores: int = VECTOR_CORES,
    ) -> None:
        module, target = with_function(module, entry), as_compiled(module, target)
        self.module, self.entry, self.target, self.extended = module, entry, target, extended
        self.name = entry.name
        self._vector_cores = vector_cores
        self._supplied: dict[tuple[tuple[int, Query], ...], Program] = {}  # by what each core supplies itself
        self.params = [Param(p.name, p.type) for p in entry.params]
        self.effects: Effects = analyse(module, entry)
        self.cores: Launch = launch_of(module, entry, target, vector_cores)
        self.plan: Plan = plan(module, entry, target, self.effects, self.cores, extended=extended)
        self._others: dict[str, Prepared | Unable] = {}  # for other backends
        self._work: dict[tuple[Any, ...], Work] = {}  # by blocks and numbers among the arguments
        self._done = 0.0  # seconds that all launches so far have taken, roughly
        self.found = Diagnostics()  # what the rules say of it
        self._idle: list[Workspace] = []  # as many as launches have run at the same time

    @cached_property
    def code(self) -> PythonCode:
        """The code for launches without an observer."""
        return PythonCode(Source(self.plan), self.entry, self.name)

    @cached_property
    def watched_code(self) -> PythonCode:
        """The code for launches with an observer."""
        return PythonCode(Source(self.plan, watch=True), self.entry, f"{self.name}, watched")

    @property
    def source(self) -> str:
        """The generated Python source."""
        return self.code.source.text

    @property
    def launches_threads(self) -> bool:
        """True if it has operations of threads."""
        return bool(self.plan.threads)

    @property
    def chunk_blocks(self) -> int:
        """How many blocks run together: what fits the cache, 1 where their control flow may differ after a store."""
        if not self.effects.lockstep:
            return 1
        fit = CHUNK_BYTES // max(1, self.plan.footprint)
        return max(1, min(CHUNK_BLOCKS, 1 << (fit.bit_length() - 1))) if fit else 1

    def launch(
        self,
        args: Sequence[Any],
        blocks: int = 1,
        *,
        matmul: str = "exact",
        progress: Progress | None = None,
        chunk: int | None = None,
        backend: str | None = None,
        threads: int | None = None,
        observer: Observer | None = None,
        span: range | None = None,
        faults: Faults | None = None,
    ) -> None:
        """Run the kernel for block indices 0 .. blocks-1.

        ``args``: one per parameter; NumPy arrays for pointers (modified in place), numbers for scalars, or a `Query`
        for a number that each core has of its own. ``matmul``:
        ``exact`` (float64, rounded once), ``fast`` (float32), ``ref`` (float32, k in order). ``chunk`` overrides how
        many blocks run together. ``backend``: ``numpy`` or ``native``, by default the environment's PTOKIT_BACKEND or
        what is faster; ``threads``: how many run native code. ``observer`` is told every step, one block after the
        other, on NumPy (`ptokit.run.observer`). ``span``: only these of the blocks, which wait for no others.
        ``faults`` collects what would be raised when all blocks have run. Raises `DiagnosticError`: for a fault, when
        all other blocks have run.
        """
        if matmul not in MATMUL_MODES:
            raise ValueError(f"matmul is one of {', '.join(MATMUL_MODES)}, not {matmul!r}")
        check_blocks(blocks)
        if any(isinstance(arg, Query) for arg in args):
            asking, args = self.asking(args)
            more: dict[str, Any] = {"chunk": chunk, "backend": backend, "threads": threads, "span": span}
            more |= {"observer": observer, "faults": faults}
            asking.launch(args, blocks, matmul=matmul, progress=progress, **more)
            return
        workspace = self._idle.pop() if self._idle else Workspace(self.target, extended=self.extended)
        values = bind_arguments(self.entry, args, self.effects.written, blocks, workspace)
        span = range(blocks) if span is None else span
        size = min(len(span), self.chunk_blocks if chunk is None else max(1, chunk))
        if (observer is not None and not observer.together) or not self.effects.lockstep:
            size = 1
        printed, found = Printed(), Faults() if faults is None else faults
        other = None
        if chunk is None and observer is None:
            other = self._prepared(wanted(backend) or self._best(values, blocks, size), forced=backend is not None)
        try:
            with np.errstate(all="ignore"), one_blas_thread(self.effects.multiplies), pages_given_back(args):
                if other is not None:
                    other.launch(Launched(values, blocks, matmul, threads_wanted(threads), printed, span, found))
                    if progress is not None:
                        progress(len(span), len(span))
                    if faults is None:
                        found.done()
                    return
                if self.cores.waits or self.cores.mixed:
                    run_streams(self, workspace, [values], blocks, matmul, progress, observer, span, faults=faults)
                    return
                changed = self._changed_inputs(values) if size > 1 else []
                if sum(buffer.mem.size for buffer in changed) > KEPT_BYTES:
                    size, changed = 1, []
                kept, first = Kept(changed), span.start
                while first < span.stop:
                    indices = np.arange(first, min(first + size, span.stop))
                    try:
                        self._run_chunk(workspace, indices, values, blocks, matmul, printed, found, observer)
                    except Again:
                        kept.restore()
                        printed.known, size, first = first, 1, span.start
                        continue
                    printed.flush()
                    first += len(indices)
                    if progress is not None:
                        progress(first - span.start, len(span))
                if faults is None:
                    found.done()
        finally:
            printed.flush()
            workspace.release()
            self._idle.append(workspace)

    def launch_ranks(
        self,
        devices: Sequence[Sequence[Any]],
        blocks: int = 1,
        *,
        matmul: str = "exact",
        progress: Progress | None = None,
        backend: str | None = None,
        observer: Observer | None = None,
    ) -> None:
        """Run blocks 0 .. blocks-1 on several devices, whose arguments these are (`ptokit.run.devices.divided`).

        Ranks run in their order, each until it has to wait for another. The other arguments are those of `launch`;
        the backend is NumPy. Raises `DiagnosticError` as `launch` does, and if ranks wait for each other for ever.
        """
        check_blocks(blocks)
        if backend not in (None, "", "numpy"):
            message = f"the {backend} backend runs launches on one device"
            raise DiagnosticError(Diagnostic("RUN-BACKEND", Severity.ERROR, message, self.entry.location))
        asked = [self.asking(args) if any(isinstance(a, Query) for a in args) else (self, args) for args in devices]
        program = asked[0][0]
        workspace = Workspace(self.target, extended=self.extended)
        values = bind_devices(program.entry, [args for _, args in asked], program.effects.written, blocks, workspace)
        with np.errstate(all="ignore"), one_blas_thread(self.effects.multiplies):
            span = range(blocks)
            run_streams(program, workspace, values, blocks, matmul, progress, observer, span, ranks=len(devices))

    def backend_for(self, args: Sequence[Any], blocks: int) -> str:
        """The backend that a launch takes where none is stated. Raises `DiagnosticError` for wrong arguments."""
        values = bind_arguments(self.entry, args, self.effects.written, blocks)
        name = wanted(None) or self._best(values, blocks, min(blocks, self.chunk_blocks))
        return name if self._prepared(name, forced=False) is not None else "numpy"

    def asking(self, args: Sequence[Any]) -> tuple[Program, list[Any]]:
        """The kernel with the numbers that each core supplies itself filled in, and the other arguments."""
        kernel, rest = filled_in(self.entry, args)
        key = tuple((i, arg) for i, arg in enumerate(args) if isinstance(arg, Query))
        found = self._supplied.get(key)
        if found is None:
            cores = self._vector_cores
            found = Program(self.module, kernel, self.target, extended=self.extended, vector_cores=cores)
            found.name = self.name
            self._supplied[key] = found
        return found, rest

    def _best(self, values: list[Argument], blocks: int, together: int) -> str:
        """The backend that will be faster: another one than NumPy once much has been done, or is to be done."""
        key = (blocks, *(value for value in values if isinstance(value, int)))
        work = self._work.get(key)
        if work is None:
            if len(self._work) >= _REMEMBERED:
                self._work.clear()
            work = self._work[key] = Work(
                self.module, self.entry, {p: v for p, v in zip(self.entry.params, values) if type(v) is int}
            )
        alone = work.seconds(blocks, together)
        self._done += alone
        if self._done < PAYS:
            return ""
        found = self._others.get("native")
        if found is None:
            found = self._others["native"] = prepare("native", self)
        return "native" if not isinstance(found, Unable) and found.seconds(work, blocks) < alone else ""

    def _prepared(self, name: str, *, forced: bool) -> Prepared | None:
        """The kernel for another backend than NumPy; None if that cannot run it.

        Raises `DiagnosticError` (RUN-BACKEND) in that case if it is ``forced``.
        """
        if name in ("", "numpy"):
            return None
        if name not in self._others:
            self._others[name] = prepare(name, self)
        found = self._others[name]
        if not isinstance(found, Unable):
            try:
                found.ready()
                return found
            except Unable as error:
                found = self._others[name] = error
        if forced:
            message = f"the {name} backend cannot run this kernel: {found}"
            hint = "leave the choice to ptokit, or take --backend numpy"
            raise DiagnosticError(Diagnostic("RUN-BACKEND", Severity.ERROR, message, self.entry.location, hint))
        return None

    def _run_chunk(
        self,
        workspace: Workspace,
        indices: np.ndarray,
        values: list[Argument],
        blocks: int,
        matmul: str,
        printed: Printed,
        faults: Faults,
        observer: Observer | None,
    ) -> None:
        """Run blocks together, or in groups that take the same path. Raises `Again`."""
        pending = [indices]
        while pending:
            group = pending.pop()
            try:
                machine = workspace.chunk(len(group), blocks, matmul)
                machine.observer = observer
                self._run(machine, group, values, printed)
            except Diverge as split:
                parts = [group[split.keys == key] for key in np.unique(split.keys)]
                pending.extend(sorted(parts, key=lambda part: -int(part[0])))  # the lowest block comes first
            except DiagnosticError as error:
                if len(group) == 1:
                    faults.add(int(group[0]), error.diagnostics[0])
                elif any(b.before is not None for b in buffers_of(values)):
                    raise Again from None
                else:
                    pending.extend(group[k : k + 1] for k in reversed(range(len(group))))

    def _changed_inputs(self, values: list[Argument]) -> list[Buffer]:
        """The memory whose contents a block could not be run again on: it is written, and read as well."""
        if stores_last(self.entry):
            return []
        both = self.effects.read & self.effects.written
        named = [v.buffer for p, v in zip(self.entry.params, values) if p in both and isinstance(v, Pointer)]
        shared = [b for b in buffers_of(values) if b.written and b.partners]
        return [b for b in dict.fromkeys([*named, *shared]) if b is not None]

    def waits_at(self, stream: Stream) -> Op | None:
        """The operation at which a stream waits."""
        return self.code_for(stream.chunk).waits_at(stream.work)

    def code_for(self, machine: Chunk) -> PythonCode:
        """The code for a machine, which then can tell where it is."""
        code = self.code if machine.observer is None else self.watched_code
        machine.place = lambda: code.place() or Location(self.module.file)
        return code

    def _run(self, chunk: Chunk, indices: np.ndarray, values: list[Argument], printed: Printed) -> None:
        chunk.start(indices)
        code, chunk.memories = self.code_for(chunk), buffers_of(values)
        try:
            code.function(chunk, *values)
        except Diverge:
            chunk.printed.clear()  # it will be printed again
            raise
        except (Fault, OverflowError) as error:
            if len(indices) > 1:
                chunk.printed.clear()
            raise DiagnosticError(self.diagnose(error, chunk)) from None
        finally:
            for block, texts in zip(indices.tolist(), chunk.printed):
                printed.add(block, texts)

    def diagnose(self, error: Fault | OverflowError, chunk: Chunk) -> Diagnostic:
        """A fault with the operation, the block and the loop variables it happened at."""
        op, where = self.code_for(chunk).failed_at(error)
        block = chunk.block_number((error.block if isinstance(error, Fault) else None) or 0)
        return self.diagnosis(error, op, block_text(chunk.rank, block), where)

    def diagnosis(self, error: Fault | OverflowError, op: Op | None, place: str, where: Sequence[str]) -> Diagnostic:
        """The finding of a fault: at which operation, in which block, and with which loop variables."""
        fault = error if isinstance(error, Fault) else Fault("RUN-RANGE", "a number is beyond the 64 bits of index")
        location = Location(self.module.file) if op is None else op.location
        note = Note("at " + ", ".join([place, *where]), location)
        return Diagnostic(fault.rule, Severity.ERROR, fault.message, location, fault.hint, (note,))


def check_blocks(blocks: int) -> None:
    """Raise `DiagnosticError` (RUN-BLOCKS) for a number of blocks that no launch has."""
    if not 1 <= blocks <= MOST_BLOCKS:
        most = f"; there are at most {MOST_BLOCKS}" if blocks > MOST_BLOCKS else ""
        raise DiagnosticError(Diagnostic("RUN-BLOCKS", Severity.ERROR, f"cannot launch {blocks} blocks{most}"))


def filled_in(entry: Function, args: Sequence[Any]) -> tuple[Function, list[Any]]:
    """The kernel with those parameters filled in that each core supplies itself, and the other arguments.

    Raises `DiagnosticError` (RUN-ARG-TYPE) for a parameter that is no integer.
    """
    given = {i: arg for i, arg in enumerate(args[: len(entry.params)]) if isinstance(arg, Query)}
    try:
        kernel = supplied(entry, given) if given else entry
    except ValueError as error:
        raise DiagnosticError(Diagnostic("RUN-ARG-TYPE", Severity.ERROR, str(error), entry.location)) from None
    return kernel, [arg for i, arg in enumerate(args) if i not in given]


def compile_program(
    module: Module,
    target: Target,
    *,
    entry: str | None = None,
    extended: bool = False,
    vector_cores: int = VECTOR_CORES,
) -> Program:
    """Check `module` against `target` and compile its kernel.

    ``entry`` names the function where the module has several kernels; ``vector_cores``: those beside each cube core of
    a mixed kernel, 1 or 2. Errors in functions that the kernel does not reach do not count. Raises `DiagnosticError`
    with every finding.
    """
    found = verify(module, target, extended=extended)
    try:
        kernel = choose_entry(module, entry)
    except DiagnosticError:
        found.raise_if_errors()
        raise
    found = found_for(module, kernel, found)
    module = with_reached(module, kernel)
    check_runnable(module, found)
    found.raise_if_errors()
    program = Program(module, kernel, target, extended=extended, vector_cores=vector_cores)
    program.found = found
    _ = program.code  # refused now, if at all
    return program


__all__ = ["Param", "Program", "choose_entry", "compile_program"]
