"""Launches of a kernel: compiled for a state of what it reads, interpreted in Python, on several devices, watched.

Python executes the function itself, so that `breakpoint`, `print` and exceptions work as anywhere; every instruction is
executed at once, by the same semantics and on the same memory as in a compiled run. Cores that wait for each other are
threads, one running at a time, in the order in which a compiled run advances them.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from types import FunctionType
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, Protocol, SupportsIndex, overload

import numpy as np

from ptokit.diagnostics import DiagnosticError
from ptokit.ir import Module
from ptokit.ir.launch import VECTOR_CORES, Each, RankQuery, Role
from ptokit.ir.launch import Peer as Peer
from ptokit.isa.table import TABLE
from ptokit.machine.chunk import Chunk, Flight, core_ids, cores_of_blocks
from ptokit.machine.global_memory import Pointer as Address
from ptokit.machine.signals import Semaphores, deadlock
from ptokit.run import Program
from ptokit.run.tensors import constants, spans
from ptokit.sanitize import Report
from ptokit.types.values import Ptr
from ptokit.types.values import Scalar as ScalarType
from ptokit.watch import Recorder, Seen, Selection
from ptokit.watch.seen import SelectionError

from . import rules
from .control import SECTION_WORDS, Runs, explicit_words_as_python
from .core import Session
from .eager import typed
from .mistakes import refuse_result
from .outside import Snapshot, names_reached
from .params import Constant, Signature, as_array, count_hint, is_count, refuses
from .rules import refusal

# Interpreted runs: the kernel's own Python code, block by block, with real values.


ENVIRONMENT = "PTOKIT_INTERPRET"
"""Set to 1, kernels are interpreted wherever they are launched."""


def wanted() -> bool:
    """True where the environment asks for it."""
    return os.environ.get(ENVIRONMENT) == "1"


def interpret(
    function: FunctionType,
    machine: Callable[[int], Chunk],
    devices: Sequence[Mapping[str, Any]],
    types: Mapping[str, Any],
    blocks: int,
    left_alone: Callable[[], set[int]],
    ranks: int = 0,
) -> None:
    """Run the function for blocks 0 .. blocks-1 of every device, without compiling it.

    ``machine(blocks)`` makes a core. ``devices``: the arguments of each. ``types``: of the parameters that are no
    constants. ``left_alone()``: the lines of vector sections that vector core 0 alone runs; only a compiled kernel
    tells, and is asked where that may be so. ``ranks``: how many devices there are, 0 for a launch on one. Raises
    `DiagnosticError` at the call that is to blame, and whatever the function raises.
    """
    left_alone = cache(left_alone)
    made = explicit_words_as_python(function)
    roles, waits = _cores(function)
    target = machine(blocks).target
    semaphores: Semaphores[None] = Semaphores(core_ids(roles, blocks, ranks), target)
    cores: dict[int, _Core] = {}

    def chunks(first: int) -> list[Chunk]:
        return [machine(blocks) for _ in roles]

    def work(chunk: Chunk, role: Role, device: int, place: int) -> Iterator[None]:
        core = cores[chunk.number] = _Core(function, made, chunk, role, devices[device], types, left_alone)
        return iter(core) if waits else core.alone()

    stuck = Flight(cores_of_blocks(roles, chunks, semaphores, len(devices), range(blocks), work)).finish()
    if stuck:
        held = [(semaphores.cores[s.index], cores[s.index].session.waits_at, s.waits_for) for s in stuck]
        raise DiagnosticError(deadlock(held, function.__code__.co_filename))


def _cores(function: FunctionType) -> tuple[tuple[Role, ...], bool]:
    """The cores that run a function, by the sections in it, and whether some may wait for others."""
    names = names_reached(function)
    kinds = {kind for word, kind in SECTION_WORDS.items() if word in names}
    waiting = {name for name, instr in TABLE.items() if instr.order.waits}
    if len(kinds) < 2:
        return (Role(kinds.pop() if kinds else ""),), not waiting.isdisjoint(names)
    return (Role("cube"), *(Role("vector", sub) for sub in range(VECTOR_CORES))), True


class _Core:
    """One core of a block; iterating over it lets it go on until it waits for another one."""

    def __init__(
        self,
        function: FunctionType,
        made: Callable[[Runs], FunctionType],
        chunk: Chunk,
        role: Role,
        arguments: Mapping[str, Any],
        types: Mapping[str, Any],
        left_alone: Callable[[], set[int]],
    ) -> None:
        self.session = Session(chunk.target, extended=chunk.extended, matmul=chunk.matmul_mode, chunk=chunk)
        self.session.kind = role.kind
        self._pipes, self._role, self._local = chunk.pipes, role, chunk.target.pipes_are_local
        self._left_alone = left_alone
        self._written, self._function = function, made(self._runs)
        self._arguments, self._types = arguments, types

    def _runs(self, kind: str, line: int) -> bool:
        """True if this core runs a section for that kind, which begins in this line.

        Vector core 0 has come there first. It may be alone where it has used a pipe without halves, on a target where
        that leads to this core only.
        """
        if self._role.kind and self._role.kind != kind:
            return False
        self._pipes.section = line
        if not self._role.sub or not self._local or line not in self._pipes.board.whole:
            return True
        try:
            return line not in self._left_alone()
        except Exception:  # the kernel looks at contents, and cannot be compiled
            return False

    def run(self) -> None:
        """Run the whole function for the block."""
        values = {name: self._value(name, value) for name, value in self._arguments.items()}
        with self.session.running(), np.errstate(all="ignore"):
            refuse_result(self._written, self._function(**values))

    def alone(self) -> Iterator[None]:
        """The same as a stream of one piece, in the thread that asks for it."""
        self.run()
        yield

    def _value(self, name: str, value: Any) -> Any:
        type = self._types.get(name)
        if isinstance(type, Ptr):
            if isinstance(value, Address):
                return self.session.pointer_to(name, value)
            return self.session.argument_pointer(name, value, type.dtype)
        return typed(value, type) if isinstance(type, ScalarType) else value

    def __iter__(self) -> Iterator[None]:
        mine, others = threading.Semaphore(0), threading.Semaphore(0)
        failed: list[BaseException] = []
        done = False

        def go() -> None:
            nonlocal done
            mine.acquire()
            try:
                self.run()
            except BaseException as error:
                failed.append(error)
            done = True
            others.release()

        def pause() -> None:
            others.release()
            mine.acquire()

        self.session.pause = pause
        threading.Thread(target=go, daemon=True).start()
        while not done:
            mine.release()
            others.acquire()
            if not done:
                yield
        if failed:
            raise failed[0]


# What a kernel has been compiled to, for each state of what it reads from outside of its parameters.


MOST_STATES = 16
"""States that are kept: variables that change back find what was compiled for them."""


class Compiled:
    """The modules and programs of one state, by signature."""

    def __init__(self) -> None:
        self.modules: dict[Signature, Module] = {}
        self.programs: dict[Signature, Program] = {}


class States:
    """What a function has been compiled to."""

    def __init__(self, function: FunctionType) -> None:
        self._function = function
        self._snapshot: Snapshot | None = None
        self._now = Compiled()
        self._known: dict[Hashable, Compiled] = {}

    def now(self) -> Compiled:
        """What there is for the present state, which is another one where a variable or object has changed."""
        if self._snapshot is None or not self._snapshot.holds():
            self._snapshot = Snapshot(self._function)
            key = self._snapshot.key
            self._now = self._known.pop(key) if key in self._known else Compiled()
            self._known[key] = self._now
            while len(self._known) > MOST_STATES:
                del self._known[next(iter(self._known))]
        return self._now


# Kernels on several devices: ``k.ranks(4)[blocks](x, y, n)``.


RANK, RANKS, COMM = RankQuery.RANK, RankQuery.RANKS, RankQuery.COMM


def given(bound: Mapping[str, Any], signature: Signature, ranks: int, known: Callable[[], set[int]] = set) -> list[Any]:
    """The arguments that are no constants: those of pointers as arrays, for several `ranks` in lists.

    ``known``: the numbers that the kernel states, which may be strides of views.
    """
    pairs = zip(bound.items(), signature)
    found = [_given(name, arg, entry, ranks) for (name, arg), entry in pairs if not isinstance(entry, Constant)]
    return spans(found, known, bound.values())


def _given(name: str, arg: Any, entry: Any, ranks: int) -> Any:
    if not isinstance(entry, Ptr) or isinstance(arg, RankQuery | Peer | Each):
        return arg
    if ranks and isinstance(arg, list | tuple):
        return [as_array(name, each) for each in arg]
    return as_array(name, arg)


# `Watcher`: a kernel with the tiles to look at; its launches return what they held.


if TYPE_CHECKING:
    from concurrent.futures import Executor

    from typing_extensions import ParamSpec as ParamSpecWithDefault

    from ptokit.timing.report import Timing

    P = ParamSpecWithDefault("P", default=...)
else:
    P = ParamSpec("P")


class Launchable(Protocol):
    """A kernel, as its watcher needs it."""

    name: str

    def __getitem__(self, blocks: Any) -> Any:
        """The kernel for a number of blocks."""

    def compile(self, *args: Any, **named: Any) -> Program:
        """The program for the types of these arguments."""

    def launch(self, blocks: int, args: Any, named: Any, *, observer: Recorder) -> None:
        """Run it."""


class Watcher(Generic[P]):
    """A kernel whose launches return the contents of chosen tiles; see `Kernel.watch`."""

    def __init__(self, kernel: Launchable, selections: tuple[Selection, ...], blocks: int = 1) -> None:
        self.kernel, self.selections, self.blocks = kernel, selections, blocks

    def __getitem__(self, blocks: SupportsIndex) -> Watcher[P]:
        """The same for a number of blocks."""
        return Watcher(self.kernel, self.selections, self.kernel[blocks].blocks)

    @refuses
    def __call__(self, *args: P.args, **named: P.kwargs) -> list[Seen]:
        """Launch; returns what was seen, in the order of execution.

        Raises `DiagnosticError` (LANG-WATCH) for what the kernel does not have: before the launch; of an interpreted
        kernel, which need not be one that can be compiled, after it.
        """
        if not wanted():
            module = self.kernel.compile(*args, **named).module
            self._refuse(selection.missing(module) for selection in self.selections)
        found: list[Seen] = []
        recorder = Recorder(self.selections, found.append)
        self.kernel.launch(self.blocks, args, named, observer=recorder)
        if wanted():
            chosen = zip(self.selections, recorder.hits)
            self._refuse(f"{choice.text!r} is not met" for choice, hits in chosen if not hits and not choice.when)
        return found

    def _refuse(self, missing: Iterable[str]) -> None:
        for what in missing:
            if what:
                raise refusal(rules.WATCH, f"{what} in kernel {self.kernel.name}")

    def __repr__(self) -> str:
        chosen = ", ".join(repr(selection.text) for selection in self.selections)
        return f"{self.kernel!r}.watch({chosen})[{self.blocks}]"


def selections(texts: tuple[str, ...]) -> tuple[Selection, ...]:
    """The choices that texts name. Raises `DiagnosticError` (LANG-WATCH)."""
    try:
        return tuple(Selection.of(text) for text in texts)
    except SelectionError as error:
        raise refusal(rules.WATCH, str(error)) from None


# Kernels that are timed, not run.


class Timer:
    """A kernel to time on a number of blocks: ``k.time[24](x, y, n)``, or ``k.time(x, y, n)`` for one block."""

    def __init__(self, kernel: Any, blocks: int = 1) -> None:
        self.kernel, self.blocks = kernel, blocks

    def __getitem__(self, blocks: SupportsIndex) -> Timer:
        """The same for a number of blocks."""
        return Timer(self.kernel, self.kernel[blocks].blocks)

    @refuses
    def __call__(
        self, *args: Any, part: str | None = None, warm: bool = False, complete: bool = False, **named: Any
    ) -> Timing:
        """Follow what the cores would issue, and run that through a model of a part; arrays are not written.

        ``part``: a device that runs the target ("910B2"), by default one that the result names.
        ``warm``: the same launch has just ended: cores are awake, and L2 holds what fits of the arguments.
        ``complete``: carry out every iteration of loops, those too that repeat others. Raises
        `DiagnosticError` for what a launch refuses, and LANG-TARGET for a part that there is not.
        """
        from ptokit.sanitize.api import look_at_barriers
        from ptokit.targets.base import PartError, part_named
        from ptokit.timing.report import timed
        from ptokit.types.choices import LaunchOptions

        kernel = self.kernel
        try:
            chosen = part_named(part, kernel.target)
        except PartError as error:
            raise refusal(rules.TARGET, str(error)) from None
        bound = kernel.parameters.bind(args, named)
        signature = kernel._signature(bound)
        try:
            values = given(bound, signature, 0, lambda: constants(kernel._program(signature).entry))
            compiled = kernel._program(signature)
            how = {"named": part is not None, "warm": warm, "complete": complete}
            found = timed(compiled, values, self.blocks, chosen, **how)
            look_at_barriers(found, compiled, values, LaunchOptions(blocks=self.blocks))
            return found
        except DiagnosticError as error:
            raise DiagnosticError(kernel.parameters.at_the_call(d, args) for d in error.diagnostics) from None

    def __repr__(self) -> str:
        return f"{self.kernel!r}.time[{self.blocks}]"


# Kernels with what a launch needs beside the arguments.


class Launcher(Generic[P]):
    """A kernel with its number of blocks, and of devices (0: a launch on one); call it with the arguments.

    ``interpreted``: run as Python code, see `Kernel.interpret`; None: as the environment says.
    """

    def __init__(self, kernel: Any, blocks: Any = 1, *, ranks: int = 0, interpreted: bool | None = None) -> None:
        if not is_count(blocks):
            raise refusal(
                rules.BLOCKS, f"kernel {kernel.name} cannot be launched over {blocks!r} blocks", hint=count_hint(blocks)
            )
        self.kernel, self.blocks, self.count, self._interpreted = kernel, int(blocks), ranks, interpreted

    def __getitem__(self, blocks: SupportsIndex) -> Launcher[P]:
        """The same for a number of blocks, on each device."""
        return Launcher(self.kernel, blocks, ranks=self.count, interpreted=self._interpreted)

    @property
    def interpret(self) -> Launcher[P]:
        """The same, run as Python code: see `Kernel.interpret`."""
        return Launcher(self.kernel, self.blocks, ranks=self.count, interpreted=True)

    @overload
    def __call__(self, *args: P.args, **named: P.kwargs) -> None: ...
    @overload
    def __call__(self, *args: Any, executor: Executor | str, **named: Any) -> None: ...
    @refuses
    def __call__(self, *args: Any, **named: Any) -> None:
        """Launch; see `Kernel.launch`, and `Kernel.ranks` for the arguments on several devices.

        ``executor=``, unless the kernel has a parameter of that name: "processes", "dask://HOST:PORT", or an executor
        of `concurrent.futures`, whose workers run the blocks. The results are those of this process.
        """
        here_only = self.count or self._interpreted or "executor" in self.kernel.parameters.kinds
        executor = None if here_only else named.pop("executor", None)
        how: dict[str, Any] = {"ranks": self.count, "interpreted": self._interpreted, "executor": executor}
        self.kernel.launch(self.blocks, args, named, **how)

    @refuses
    def sanitize(self, *args: Any, **named: Any) -> Report:
        """Run under observation; see `Kernel.sanitize`."""
        return self.kernel.sanitize(*args, blocks=self.blocks, ranks=self.count, **named)

    def __repr__(self) -> str:
        ranks = f".ranks({self.count})" if self.count else ""
        return f"{self.kernel!r}{ranks}{'.interpret' if self._interpreted else ''}[{self.blocks}]"
