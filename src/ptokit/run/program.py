"""Programs ready to run, and single instructions on operands made from bytes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ptokit.diagnostics import Diagnostic, DiagnosticError, Diagnostics, Location, Note, Severity
from ptokit.ir.core import Function, Module, Op
from ptokit.ir.functions import as_compiled, check_runnable
from ptokit.ir.launch import (
    VECTOR_CORES,
    Launch,
    Query,
    found_for,
    launch_of,
    pair,
    partner,
    stem,
    supplied,
    with_function,
    with_reached,
)
from ptokit.ir.verify import verify
from ptokit.isa.site import Info
from ptokit.isa.table import Instr
from ptokit.machine.buffers import Buffer, pages_given_back
from ptokit.machine.chunk import Chunk, Workspace
from ptokit.machine.global_memory import View
from ptokit.machine.lanes import Fault
from ptokit.machine.observer import Observer, done
from ptokit.machine.storage import Arena
from ptokit.machine.tiles import Tile, check_operands
from ptokit.plan.effects import Effects, Work, analyse
from ptokit.plan.planner import plan
from ptokit.plan.steps import Plan, Step
from ptokit.records import dataclass
from ptokit.targets import Target
from ptokit.types.choices import Backend, Matmul
from ptokit.types.dtypes import DType
from ptokit.types.enums import Layout
from ptokit.types.tile import DYNAMIC, TileSpec
from ptokit.types.values import MemRef, PartitionView, Ptr, TensorView, Type

from .arguments import Argument, bind_arguments, bind_devices
from .backends import (
    DEFAULT,
    Faults,
    Launched,
    Prepared,
    Printed,
    Unable,
    one_blas_thread,
    prepare,
    threads_wanted,
    wanted,
)

__all__ = ["Param", "Program", "choose_entry", "compile_program"]


# A compiled kernel: check, compile once, launch over a grid of blocks.


MATMUL_MODES = tuple(Matmul)
CHUNK_BYTES = 3 << 20  # working memory of the blocks that run together: what stays in a CPU's cache
CHUNK_BLOCKS = 1024
MOST_BLOCKS = (1 << 31) - 1

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
        self.vector_cores = vector_cores
        self._supplied: dict[tuple[tuple[int, Query], ...], Program] = {}  # by what each core supplies itself
        self.params = [Param(p.name, p.type) for p in entry.params]
        self.effects: Effects = analyse(module, entry)
        self.cores: Launch = launch_of(module, entry, target, vector_cores)
        self.plan: Plan = plan(module, entry, target, self.effects, self.cores, extended=extended)
        self._kernels: dict[str, Prepared | Unable] = {}  # by backend
        self._work: dict[tuple[Any, ...], Work] = {}  # by blocks and numbers among the arguments
        self._done = 0.0  # seconds that all launches so far have taken, roughly
        self.found = Diagnostics()  # what the rules say of it
        self._idle: list[Workspace] = []  # as many as launches have run at the same time

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
        other, on NumPy (`ptokit.machine.observer`). ``span``: only these of the blocks, which wait for no others.
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
        printed, found = Printed(), Faults() if faults is None else faults
        if chunk is not None or observer is not None:
            name = str(DEFAULT)
        else:
            name = wanted(backend) or self._best(values, blocks)
        kernel = self.kernel(name) if backend is not None else self._kernel(name) or self.kernel(DEFAULT)
        work = Launched(values, blocks, matmul, printed, span, found, workspace)
        work.threads, work.chunk = threads_wanted(threads), chunk
        work.observer, work.progress = observer, progress or work.progress
        try:
            with np.errstate(all="ignore"), one_blas_thread(self.effects.multiplies), pages_given_back(args):
                kernel.launch(work)
        finally:
            printed.flush()
            workspace.release()
            self._idle.append(workspace)
        if faults is None:
            found.done()

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
        """Run blocks 0 .. blocks-1 on several devices, whose arguments these are (`ptokit.run.arguments.divided`).

        Ranks run in their order, each until it has to wait for another. The other arguments are those of `launch`;
        the backend is NumPy. Raises `DiagnosticError` as `launch` does, and if ranks wait for each other for ever.
        """
        check_blocks(blocks)
        if backend not in (None, "", DEFAULT):
            message = f"the {backend} backend runs launches on one device"
            raise DiagnosticError(Diagnostic("RUN-BACKEND", Severity.ERROR, message, self.entry.location))
        asked = [self.asking(args) if any(isinstance(a, Query) for a in args) else (self, args) for args in devices]
        program = asked[0][0]
        workspace = Workspace(self.target, extended=self.extended)
        values = bind_devices(program.entry, [args for _, args in asked], program.effects.written, blocks, workspace)
        found = Faults(blocks)
        work = Launched([], blocks, matmul, Printed(), range(blocks), found, workspace)
        work.ranks, work.observer, work.progress = values, observer, progress or work.progress
        with np.errstate(all="ignore"), one_blas_thread(self.effects.multiplies):
            program.kernel(DEFAULT).launch(work)
        found.done()

    def backend_for(self, args: Sequence[Any], blocks: int) -> str:
        """The backend that a launch takes where none is stated. Raises `DiagnosticError` for wrong arguments."""
        values = bind_arguments(self.entry, args, self.effects.written, blocks)
        name = wanted(None) or self._best(values, blocks)
        return name if self._kernel(name) is not None else DEFAULT

    def asking(self, args: Sequence[Any]) -> tuple[Program, list[Any]]:
        """The kernel with the numbers that each core supplies itself filled in, and the other arguments."""
        kernel, rest = filled_in(self.entry, args)
        key = tuple((i, arg) for i, arg in enumerate(args) if isinstance(arg, Query))
        found = self._supplied.get(key)
        if found is None:
            cores = self.vector_cores
            found = Program(self.module, kernel, self.target, extended=self.extended, vector_cores=cores)
            found.name = self.name
            self._supplied[key] = found
        return found, rest

    def kernel(self, name: str) -> Prepared:
        """The kernel as a backend has it. Raises `DiagnosticError` (RUN-BACKEND) if it cannot run it."""
        found = self._kernel(name)
        if found is not None:
            return found
        message = f"the {name} backend cannot run this kernel: {self._kernels[name]}"
        hint = f"leave the choice to ptokit, or take --backend {DEFAULT}"
        raise DiagnosticError(Diagnostic("RUN-BACKEND", Severity.ERROR, message, self.entry.location, hint))

    def _kernel(self, name: str) -> Prepared | None:
        """The same; None if the backend cannot run it."""
        found = self._prepared(name)
        if not isinstance(found, Unable):
            try:
                found.ready()
                return found
            except Unable as error:
                self._kernels[name] = error
        return None

    def _prepared(self, name: str) -> Prepared | Unable:
        if name not in self._kernels:
            self._kernels[name] = prepare(name, self)
        return self._kernels[name]

    def _best(self, values: list[Argument], blocks: int) -> str:
        """The backend that will be fastest: another one than the default once much has been done, or is to be done."""
        key = (blocks, *(value for value in values if isinstance(value, int)))
        work = self._work.get(key)
        if work is None:
            if len(self._work) >= _REMEMBERED:
                self._work.clear()
            work = self._work[key] = Work(
                self.module, self.entry, {p: v for p, v in zip(self.entry.params, values) if type(v) is int}
            )
        alone = work.seconds(blocks, min(blocks, self.chunk_blocks))
        self._done += alone
        best, least = DEFAULT, alone
        for name in Backend if self._done >= PAYS else ():
            if name != DEFAULT and not isinstance(found := self._prepared(name), Unable):
                seconds = found.seconds(work, blocks)
                best, least = (name, seconds) if seconds < least else (best, least)
        return best

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
    program.kernel(DEFAULT)  # refused now, if at all
    return program


# Which function of a module is launched.


def choose_entry(module: Module, name: str | None) -> Function:
    """The kernel called `name`, or the only one. Raises `DiagnosticError`.

    A cube function and the vector function at the other ends of its pipes are one kernel: either name chooses both, and
    so does what ``NAME_aic`` and ``NAME_aiv`` have in common.
    """
    kernels = kernels_of(module)
    at = Location(module.file)
    if name is not None:
        wanted = name.removeprefix("@")
        function = module.function(wanted) or module.function(wanted.partition("+")[0])
        if function is not None and function.body is not None:
            return _whole(module, _kernel(function))
        halves = [f for f in module.functions if f.body is not None and stem(f) == wanted]
        if len(halves) == 2:
            return pair(*halves)
        joined = [f for f in _pairs(module, module.functions) if f.name == wanted]
        if len(joined) == 1:
            return joined[0]
        known = ", ".join(f.name for f in kernels) or "none"
        message = f"there is no kernel {name!r}; kernels in this file: {known}"
        raise DiagnosticError(Diagnostic("RUN-ENTRY", Severity.ERROR, message, at))
    if len(kernels) != 1:
        names = ", ".join(f.name for f in kernels) or ", ".join(f.name for f in module.functions if f.body) or "none"
        message = f"which kernel? The file has {len(kernels) or 'no'} marked entries (functions: {names})"
        raise DiagnosticError(
            Diagnostic("RUN-ENTRY", Severity.ERROR, message, at, "name one with --entry, or mark one with pto.entry")
        )
    return _kernel(kernels[0])


def kernels_of(module: Module) -> list[Function]:
    """The kernels of a file: those marked, or the only function, or the pairs of a cube and a vector function."""
    marked = module.entries()
    if not marked:
        return _pairs(module, module.functions)
    halves = [f for f in marked if any(partner(module, f) is other for other in marked)]
    return [*(f for f in marked if f not in halves), *_pairs(module, halves)]


def _pairs(module: Module, functions: Sequence[Function]) -> list[Function]:
    """The kernels that some functions are halves of."""
    found: dict[frozenset[int], Function] = {}
    for function in functions:
        other = partner(module, function)
        if other is not None:
            found.setdefault(frozenset((id(function), id(other))), pair(function, other))
    return list(found.values())


def _kernel(function: Function) -> Function:
    """The function itself. Raises `DiagnosticError` if threads execute it, which others launch."""
    if function.of_threads:
        message = f"@{function.name} is what threads execute, no kernel"
        hint = "name the function that launches them"
        raise DiagnosticError(Diagnostic("RUN-ENTRY", Severity.ERROR, message, function.location, hint))
    return function


def _whole(module: Module, function: Function) -> Function:
    """The function, or the kernel that it is one half of."""
    other = partner(module, function)
    return function if other is None else pair(function, other)


# One instruction at a time, on operands made from bytes: for the eager session, conformance cases and tests.


class Single:
    """A machine with one block that executes single instructions."""

    def __init__(
        self, target: Target, *, extended: bool = False, matmul: str = "exact", chunk: Chunk | None = None
    ) -> None:
        self.chunk = chunk or Chunk(target, 1, 1, matmul, extended=extended)
        self.target, self.extended = target, extended

    def tile(
        self,
        spec: TileSpec,
        data: Any = None,
        *,
        valid: tuple[int, int] | None = None,
        name: str = "",
        address: int | None = None,
    ) -> Tile:
        """A tile with memory of its own, or at a byte address of its buffer.

        ``data``: bytes of the physical tile; ``valid``: valid rows and columns where the type leaves them open.
        """
        storage = Arena(1, spec.nbytes).window(spec, 0) if address is None else self.chunk.at(address, spec)
        rows, cols = valid or (spec.valid_row, spec.valid_col)
        rows, cols = (spec.rows if rows == DYNAMIC else rows), (spec.cols if cols == DYNAMIC else cols)
        tile = Tile(storage, spec, rows, cols, name, address)
        if data is not None:
            tile.raw()[0] = np.frombuffer(bytes(data), np.uint8)
        return tile

    def view(
        self,
        dtype: DType,
        array: np.ndarray,
        shape: tuple[int, ...],
        stride: tuple[int, ...],
        layout: Layout | None = None,
        *,
        offset: int = 0,
        name: str = "",
    ) -> View:
        """A view of the memory of `array` (contiguous; written in place). Sizes and offset count elements."""
        buffer = Buffer(name, array, dtype)
        buffer.written = True
        return View(buffer, offset, tuple(shape), tuple(stride), dtype, layout)

    def execute(
        self,
        instr: Instr,
        operands: Mapping[str, Any],
        attrs: Mapping[str, Any] | None = None,
        op: Op | None = None,
        stated: Mapping[str, Info | None] | None = None,
    ) -> Any:
        """Check and run one instruction; absent optional operands may be left out. Returns the scalar it yields.

        ``op``: its place in a program, which the machine's observer is told; ``stated``: what the types of its operands
        say, which those do not tell.
        Raises `ptokit.machine.lanes.Fault` for the first rule that is broken.
        """
        assert instr.run is not None
        given = {o.name: operands.get(o.name) for o in instr.operands}
        complete = instr.attributes(attrs or {})
        check_operands(instr, self.target, given, complete, extended=self.extended, stated=stated)
        try:
            with np.errstate(all="ignore"):
                if op is None:
                    return instr.run(self.chunk, *given.values(), **complete)
                step = Step(op, "instruction", names=tuple(given), instr=instr, attrs=complete)
                return done(step, self.chunk, tuple(given.values()))
        finally:
            printed = Printed()
            printed.add(0, self.chunk.printed[0])
            printed.flush()
            self.chunk.printed[0].clear()
