"""Interpreted runs: the kernel's own Python code, block by block, with real values.

Python executes the function itself, so that `breakpoint`, `print` and exceptions work as anywhere; every instruction is
executed at once, by the same semantics and on the same memory as in a compiled run. Cores that wait for each other are
threads, of which one runs at a time, in the order in which a compiled run advances them.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from types import FunctionType
from typing import Any

import numpy as np

from ptokit.diagnostics import DiagnosticError
from ptokit.ir.launch import VECTOR_CORES, Role
from ptokit.isa.table import TABLE
from ptokit.machine.chunk import Chunk
from ptokit.machine.cluster import core_ids, cores_of_blocks, deadlock, run_clusters
from ptokit.machine.global_memory import Pointer as Address
from ptokit.machine.signals import Semaphores
from ptokit.types.values import Ptr
from ptokit.types.values import Scalar as ScalarType

from .control import SECTION_WORDS, Runs, explicit_words_as_python
from .core import Session
from .eager import typed
from .mistakes import refuse_result
from .outside import names_reached

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

    stuck = run_clusters(cores_of_blocks(roles, chunks, semaphores, len(devices), range(blocks), work))
    if stuck:
        held = [(semaphores.cores[s.index], cores[s.index].session.waits_at, s.waits_for) for s in stuck]
        raise DiagnosticError(deadlock(held, function.__code__.co_filename))


def _cores(function: FunctionType) -> tuple[tuple[Role, ...], bool]:
    """The cores that run a function, by the sections in it, and whether some may wait for others."""
    names = names_reached(function, function.__code__.co_names)
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
