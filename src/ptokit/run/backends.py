"""What carries out a launch, what it is told, what comes of it (prints and faults of blocks), and the rules that only a
run can break.

A chunk in which a block fails is run again one block at a time, so that each is by itself. That needs what the
chunk has read: it is still there unless the program writes what it reads. Such memory is kept before it is changed.

A backend is one of `ptokit.types.choices.Backend`, and the module of that name in `ptokit.backends`, with a function
``prepare(program)``, which gives a kernel that is `Prepared`, or raises `Unable` and says what it cannot do.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import replace
from functools import cache, partial
from importlib import import_module
from threading import Lock
from typing import TYPE_CHECKING, Any, Protocol

from ptokit.diagnostics import Diagnostic, DiagnosticError, Note, Scope, Severity, define
from ptokit.machine.buffers import Buffer
from ptokit.machine.signals import block_text
from ptokit.types.choices import Backend

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

    from ptokit.machine.chunk import Workspace
    from ptokit.machine.observer import Observer
    from ptokit.plan.effects import Work


_rule = partial(define, scope=Scope.RUN)

_rule(
    "RUN-ARG-COUNT",
    "A launch gives one argument per kernel parameter.",
    why="Arguments are matched by position.",
    example="""
        // ptokit run --arg zeros:f32:64{| --arg 4}
        func.func @example(%x: !pto.ptr<f32>) { return }
    """,
)
_rule(
    "RUN-ARG-TYPE",
    "Pointer parameters take arrays, scalar parameters numbers of their kind.",
    example="""
        // ptokit run --arg {zeros:f32:64|7}
        func.func @example(%x: !pto.ptr<f32>) { return }
    """,
)
_rule(
    "RUN-ARG-DTYPE",
    "An array has the parameter's element type, or unsigned integers of its width (raw bits).",
    why="Nothing is converted. Signed integers are taken by their bits for unsigned ones; a note says so.",
    example="""
        // ptokit run --arg zeros:{f32|i64}:64
        func.func @example(%x: !pto.ptr<f32>) { return }
    """,
)
_rule(
    "RUN-ARG-LAYOUT",
    "An array argument is contiguous in memory (C order), or its strides are stated.",
    why="A pointer has none: an argument or a constant of the kernel has to be the distance of the rows of a view.",
    example="""
        @kernel(target="a5")
        def clear(x: Ptr[f32]):
            x[0] = 0.0
        x = np.zeros((4, 16), np.float32)
        clear({x|x[:, ::2]})
    """,
)
_rule(
    "RUN-ARG-SHAPE",
    "The array for a memref with open sizes has its rank and its stated sizes.",
    why="The sizes that the type leaves open are those of the array.",
    example="""
        // ptokit run --arg zeros:f32:{4x16|64}
        func.func @example(%x: memref<?x16xf32>) { return }
    """,
)
_rule(
    "RUN-ARG-READONLY",
    "An array that the kernel writes is writable.",
    example="""
        @kernel(target="a5")
        def clear(x: Ptr[f32]):
            x[0] = 0.0
        x = np.zeros(64, np.float32)
        x.flags.writeable = {True|False}
        clear(x)
    """,
)
_rule(
    "RUN-ARG-RANGE",
    "An integer argument fits the parameter's type.",
    example="""
        // ptokit run --arg {1|1099511627776}
        func.func @example(%n: i32) { return }
    """,
)
_rule(
    "RUN-RANKS",
    "A launch on several devices gives each of its ranks, 1 to 64, arguments of its own.",
    why="Every rank has global memory of its own: an array has a leading axis for the ranks, or is one of a list.",
    example="""
        // ptokit run --ranks 4 --arg zeros:f32:{4|3}x64
        func.func @example(%x: !pto.ptr<f32>) { return }
    """,
)
_rule(
    "RUN-BACKEND",
    "A backend that is named exists and can run the kernel.",
    why="Asked for by name, a backend does not give way to another one silently.",
    example="""
        # ptokit run --backend {numpy|native}
        with cube_section():
            sync.set(PIPE_FIX, 3)
        with vector_section():
            sync.wait(PIPE_V, 3)
    """,
    on="a2a3",
)
_rule(
    "RUN-BLOCKS",
    "A launch has at least one block, and at most 2147483647: the number of a block is an int32.",
    example="""
        // ptokit run --blocks {1|0}
        func.func @example() { return }
    """,
)
_rule(
    "RUN-ENTRY",
    "A launch names a kernel, or the file has exactly one.",
    source="assembly 2.2, 14",
    example="""
        func.func @first(){| attributes {pto.entry}} { return }
        func.func @second() attributes {pto.entry} { return }
    """,
)
_rule(
    "RUN-DIV-ZERO",
    "Integers of the scalar unit are not divided by zero.",
    example="n: int = {2|0}; x: Ptr[i32]; x[0] = 8 // n",
)
_rule(
    "RUN-SHIFT",
    "Scalar shifts are by 0 .. width-1 bits.",
    example="n: int = {3|64}; x: Ptr[i64]; x[0] = x[1] << n",
)
_rule(
    "RUN-CONVERT",
    "A float converted to an integer is one that the type can hold, without its fraction.",
    why="MLIR leaves other results undefined.",
    example="""
        // ptokit run --arg {100.0|300.0}
        %b = arith.fptosi %a : f32 to i8
        %c = arith.negf %a : f32
    """,
)
_rule(
    "RUN-ASSERT",
    "The condition of cf.assert is true.",
    example='n: int = {4|3}; assert n % 2 == 0, "n is even"',
)
_rule(
    "RUN-ASSUME",
    "A launch keeps what its kernel assumes.",
    why="A proof of the kernel holds for such launches only.",
    example='n: int = {32|33}; assume("n % 16 == 0")',
)
_rule(
    "RUN-RANGE",
    "A number of type index fits 64 bits where it is used.",
    example="{1 << 40|the product of two indices of 1 << 40 as an offset that differs between blocks}",
    unrun="a guard: checks before it find such programs",
)
_rule(
    "RUN-STEP",
    "The step of scf.for is positive.",
    source="assembly 11",
    example="""
        n: int = {1|0}; x: Ptr[i32]
        for i in range(0, 4, n):
            x[i] = 1
    """,
)
_rule(
    *("RUN-LIMIT", "A run that a proof asks for begins at most 65536 iterations of loops."),
    example="{a loop of 8 iterations|a loop without end}",
    unrun="proofs alone ask for it",
)
_rule(
    "RUN-REGION",
    "What an instruction reads and writes lies inside its tiles.",
    why="Instructions take their extent from one operand; a smaller one would be read or written past its end.",
    example="{operands with the same valid region|TMULS(dst valid 64x32, src of 16x32)}",
    unrun="a guard: checks before it find such programs",
)
define(
    "GM-OOB",
    "Transfers stay inside the argument's memory.",
    scope=Scope.SYNC,
    why="The device reads or overwrites whatever lies there.",
    source="memory-model-and-sync 10; seed: not allowed",
    example="x: Ptr[f32]; g = GlobalTensor(x, ({512|1024}, 32)); TLOAD(Tile(Vec, f32, 16, 32), g[{496:512|1008:1024}])",
)
define(
    "GM-SLICE",
    "A slice stays inside the declared shape of its tensor.",
    scope=Scope.SYNC,
    severity=Severity.WARNING,
    why="What it reaches past a dimension is the beginning of the next row or plane: mostly a mistake, and no fault.",
    source="memory-model-and-sync 10",
    example="x: Ptr[f32]; g = GlobalTensor(x, (32, 16)); TLOAD(Tile(Vec, f32, 4, {8|16}), g[0:4, 8:{16|24}])",
)
define(
    "GM-NULL",
    "A view that is used has memory.",
    scope=Scope.SYNC,
    source="memory-model-and-sync 10",
    example="{x: Ptr[f32]; |}TLOAD(Tile(Vec, f32, 16, 32), GlobalTensor({x|f32}, (16, 32)))",
)
_rule(
    "RUN-INDEX",
    "An index into an array on the stack, or of one of several tiles, is one that there is.",
    why="The device would read and write what lies beside it.",
    example="""
        // ptokit run --arg {3|4}
        %a = pto.declare_local_array -> !pto.local_array<4xi32>
        %v = pto.local_array_get %a[%i] : !pto.local_array<4xi32> -> i32
    """,
)


# What kernels print: block by block, lower blocks first, each text once, however the blocks run.


Write = Callable[[str], object]


def _to_stdout(text: str) -> None:
    if sys.stdout is not None:
        sys.stdout.write(text)


_WRITE: ContextVar[Write] = ContextVar("write", default=_to_stdout)


@contextmanager
def redirected(write: Write) -> Iterator[None]:
    """Have kernels that run inside print by `write`."""
    token = _WRITE.set(write)
    try:
        yield
    finally:
        _WRITE.reset(token)


def show(text: str) -> None:
    """Write what blocks have printed."""
    if text:
        _WRITE.get()(text)


class Printed:
    """The texts of one launch. Those of a block appear when it and all lower ones are done."""

    def __init__(self, cores: int = 1, first: int = 0) -> None:
        self.cores = cores  # of a block
        self.known = 0  # blocks below run again: what they print was written before
        self._texts: dict[int, list[str]] = {}
        self._done: dict[int, int] = {}
        self._next = first  # block

    def add(self, block: int, texts: list[str]) -> None:
        """Keep what a core of a block has printed, until its turn comes."""
        if texts and block >= self.known:
            self._texts.setdefault(block, []).extend(texts)

    def done(self, block: int) -> None:
        """A core of a block prints no more."""
        self._done[block] = self._done.get(block, 0) + 1
        while self._done.get(self._next, 0) >= self.cores:
            self._write(self._next)
            del self._done[self._next]
            self._next += 1

    def flush(self) -> None:
        """Write all that is there."""
        for block in sorted(self._texts):
            self._write(block)

    def _write(self, block: int) -> None:
        text = "".join(self._texts.pop(block, ()))
        if text:  # a line that no newline ends is not continued by another block
            _WRITE.get()(text if text.endswith("\n") else text + "\n")


# What happens after a fault: every other block still runs, and the caller's arrays hold what that leaves.


_TOLD = 4  # runs of blocks that a note lists


class Again(Exception):
    """The launch has to start over, one block at a time."""


class Faults:
    """The faults of a launch, by block. ``blocks``: of each rank, where there are several: blocks count on."""

    def __init__(self, blocks: int = 0) -> None:
        self._blocks = blocks
        self._found: list[tuple[int, Diagnostic]] = []

    def add(self, block: int, found: Diagnostic) -> None:
        """A block has failed."""
        self._found.append((block, found))

    def done(self) -> None:
        """Raise `DiagnosticError` if there are any: for each place and rule the lowest block's, and who else fails."""
        same: dict[object, list[tuple[int, Diagnostic]]] = {}
        for block, found in sorted(self._found, key=lambda pair: pair[0]):
            same.setdefault((found.rule, found.location), []).append((block, found))
        if same:
            raise DiagnosticError(
                [self._with_others(found, [block for block, _ in rest]) for (_, found), *rest in same.values()]
            )

    def _with_others(self, found: Diagnostic, blocks: list[int]) -> Diagnostic:
        if not self._blocks or not blocks:
            return _with_others(found, blocks)
        texts = [block_text(*divmod(block, self._blocks)) for block in blocks[:_TOLD]]
        told = "; ".join(texts) + ("; ..." if len(blocks) > _TOLD else "")
        return replace(found, notes=(*found.notes, Note(f"likewise at {told}", found.location)))


def _with_others(found: Diagnostic, blocks: list[int]) -> Diagnostic:
    if not blocks:
        return found
    runs: list[list[int]] = []
    for block in blocks:
        if runs and runs[-1][1] == block - 1:
            runs[-1][1] = block
        else:
            runs.append([block, block])
    told = ", ".join(str(a) if a == b else f"{a}..{b}" for a, b in runs[:_TOLD])
    more = ", ..." if len(runs) > _TOLD else ""
    noun = f"block {told}" if len(blocks) == 1 else f"{len(blocks)} more blocks: {told}{more}"
    return replace(found, notes=(*found.notes, Note(f"likewise in {noun}", found.location)))


class Kept:
    """The original contents of arguments that a launch both reads and writes."""

    def __init__(self, buffers: Iterable[Buffer]) -> None:
        self.buffers = list(buffers)
        for buffer in self.buffers:
            buffer.keep = True

    def restore(self) -> bool:
        """Put it back, and keep it no more. False if nothing was changed."""
        changed = False
        for buffer in self.buffers:
            if buffer.before is not None:
                buffer.before_write()
                buffer.mem[:] = buffer.before
                changed = True
            buffer.keep, buffer.before = False, None
        return changed


# What carries out a launch: a backend, and what it is told.


DEFAULT = Backend.NUMPY
"""The backend that runs every kernel, and is watched."""


class Unable(Exception):
    """A backend cannot run a kernel; the message says why."""


class Launched:
    """Blocks to run: those of ``span``, of a launch of ``blocks``.

    What they print is added to ``printed``, where they fail to ``faults``; ``progress`` is told how many are done.
    Backends may take memory from ``workspace`` and run blocks on ``threads`` threads at most. What only the default
    backend does: ``chunk`` blocks together, with an ``observer``, on several ``ranks``, which have these arguments.
    """

    def __init__(
        self,
        values: list[Any],
        blocks: int,
        matmul: str,
        printed: Printed,
        span: range,
        faults: Faults,
        workspace: Workspace,
    ) -> None:
        self.values, self.blocks, self.matmul, self.printed, self.span = values, blocks, matmul, printed, span
        self.faults, self.workspace = faults, workspace
        self.threads = 1
        self.chunk: int | None = None
        self.observer: Observer | None = None
        self.ranks: Sequence[list[Any]] = ()
        self.progress: Callable[[int, int], None] = lambda done, total: None


class Prepared(Protocol):
    """A kernel as a backend has it."""

    def launch(self, work: Launched) -> None:
        """Run the blocks of a launch."""

    def ready(self) -> None:
        """Do what has to be done before the first launch. Raises `Unable`."""

    def seconds(self, work: Work, blocks: int) -> float:
        """How long a launch will take, roughly."""


def wanted(stated: str | None) -> str:
    """The backend that is asked for, by argument or PTOKIT_BACKEND, or "" for the best.

    Raises `DiagnosticError` (RUN-BACKEND) if there is none of this name.
    """
    name = stated or os.environ.get("PTOKIT_BACKEND", "")
    if name in ("", "auto"):
        return ""
    if name not in tuple(Backend):
        known = ", ".join(Backend)
        raise DiagnosticError(
            Diagnostic("RUN-BACKEND", Severity.ERROR, f"there is no backend {name!r}; known: {known}")
        )
    return name


def threads_wanted(stated: int | None) -> int:
    """How many threads may run blocks: as stated, by PTOKIT_THREADS, or one for each processor."""
    if stated is None:
        given = os.environ.get("PTOKIT_THREADS", "")
        stated = int(given) if given.isdigit() else 0
    if stated > 0:
        return stated
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def prepare(name: str, program: object) -> Prepared | Unable:
    """A compiled `Program` for a backend, or why it cannot be had."""
    try:
        prepared: Prepared = import_module(f"ptokit.backends.{name}").prepare(program)
    except Unable as error:
        return error
    return prepared


# One BLAS thread while tiles are multiplied (docs/decisions/0016-one-blas-thread.md).


@cache
def _controller() -> ThreadpoolController:
    from threadpoolctl import ThreadpoolController  # kernels without products start without it

    return ThreadpoolController()  # finds the loaded libraries, which takes milliseconds


class _Limit:
    """The limit of this process: set by the first thread that wants it, lifted by the last."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._users = 0
        self._limits = ExitStack()

    def __enter__(self) -> None:
        with self._lock:
            self._users += 1
            if self._users == 1 and any(library["num_threads"] != 1 for library in _controller().info()):
                self._limits.enter_context(_controller().limit(limits=1, user_api="blas"))

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._users -= 1
            if not self._users:
                self._limits.close()


_LIMIT = _Limit()


def one_blas_thread(wanted: bool) -> AbstractContextManager[object]:
    """A context in which BLAS works in the calling thread only; nothing if not `wanted`."""
    return _LIMIT if wanted else nullcontext()
