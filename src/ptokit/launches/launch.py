"""A launch on other processes: blocks in chunks to workers, what each runs, and what they wrote back."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack
from functools import lru_cache
from typing import Any

import numpy as np

from ptokit.diagnostics import Diagnostic, DiagnosticError, Severity
from ptokit.ir.launch import VECTOR_CORES, Query
from ptokit.ir.serial import dumps, loads
from ptokit.run.arguments import bind_arguments
from ptokit.run.backends import Faults, redirected, show
from ptokit.run.program import Program, check_blocks, compile_program
from ptokit.targets import target
from ptokit.workers.executors import drive, open_executor, workers_of
from ptokit.workers.minder import Answer, How, Task

from .access import Entangled, footprints, shared_arguments
from .arrays import LOST, MissingError, Placed, empty, number, open_file, opened, put, take, transfer, unpack_runs

# A worker's part of a launch: some blocks, on arrays that are there or come with the task.


RUN_BLOCKS = "ptokit.launches.launch:run_blocks"


def run_blocks(given: dict[str, Any], data: Sequence[bytes]) -> tuple[dict[str, Any], list[bytes]]:
    """The task: run blocks ``first`` .. ``last`` - 1 of a launch.

    Its value says what they printed, or ``failed`` if one of them has, or ``missing`` if an array is not there; its
    bytes are what they wrote to arrays that go back so.
    """
    program = _program(given["program"], given["target"], given["entry"], given["extended"], given["vector_cores"])
    printed: list[str] = []
    with ExitStack() as stack:
        try:
            arguments = [_Argument(entry, iter_data, stack) for entry, iter_data in _shares(given["args"], data)]
        except MissingError as error:
            return {"missing": str(error)}, []
        try:
            with redirected(printed.append):
                program.launch(
                    [argument.value for argument in arguments],
                    given["blocks"],
                    matmul=given["matmul"],
                    backend=given["backend"],
                    threads=1,
                    span=range(given["first"], given["last"]),
                )
        except DiagnosticError:
            return {"failed": True}, []
        out = [part for argument in arguments for part in argument.finish()]
        return {"printed": "".join(printed)}, out


@lru_cache(maxsize=4)
def _program(module: str, on: str, entry: str, extended: bool, vector_cores: int) -> Program:
    return compile_program(loads(module), target(on), entry=entry, extended=extended, vector_cores=vector_cores)


def _shares(entries: Sequence[Mapping[str, Any]], data: Sequence[bytes]) -> Iterator[tuple[Mapping[str, Any], Any]]:
    """Each argument with a function that gives the next of the bytes that came with the task."""
    rest = iter(data)
    for entry in entries:
        yield entry, lambda: next(rest)


class _Argument:
    """An argument on the worker. Raises `MissingError`."""

    def __init__(self, given: Mapping[str, Any], following: Callable[[], bytes], stack: ExitStack) -> None:
        self.memory: np.ndarray | None = None
        self._target: np.ndarray | None = None
        self._writes: list[tuple[int, int]] = []
        self._replies = False
        if "number" in given:
            self.value: Any = number(given["number"])
            return
        element = np.dtype(f"u{given['element']}")
        nbytes = element.itemsize * int(np.prod(given["shape"], dtype=np.int64))
        source, target = given["source"], given["target"]
        reads = unpack_runs(following()) if given["copy"] else []
        came = following() if given["copy"] and source and "bytes" in source else b""
        if given["copy"] and target:
            self._writes = unpack_runs(following())
        there = _open(source, nbytes, stack, write=False)
        self._target = _open(target, nbytes, stack, write=True)
        self._replies = bool(given["copy"] and target and self._target is None)
        if given["copy"]:
            self.memory = empty(nbytes)
            if there is None:
                put(self.memory, reads, came)
            else:
                transfer(self.memory, there, reads)
        else:
            self.memory = there if self._target is None else self._target
        assert self.memory is not None
        self.value = self.memory.view(element).reshape(given["shape"])

    def finish(self) -> list[bytes]:
        """All blocks have run: what they wrote goes to its place, or is returned."""
        if self._replies:
            assert self.memory is not None
            return [take(self.memory, self._writes)]
        if self._target is not None and self.memory is not self._target:
            assert self.memory is not None
            transfer(self._target, self.memory, self._writes)
        return []


def _open(given: Mapping[str, Any] | None, nbytes: int, stack: ExitStack, *, write: bool) -> np.ndarray | None:
    if given is None or "bytes" in given:
        return None
    if "shared" in given:
        return stack.enter_context(opened(given["shared"], nbytes))
    return open_file(given, nbytes, write=write)


# A launch on other processes: blocks in chunks to workers, and what they wrote back.


Progress = Callable[[int, int], None]

PARTS = 4
"""Tasks for each worker: enough for the last ones to end together, few enough to cost little."""

MOST_BYTES = 64 << 20
"""That go to a worker and back with one task."""


class LaunchWarning(UserWarning):
    """A launch could not be divided; the message says why."""


def _warn(text: str) -> None:
    warnings.warn(text, LaunchWarning, stacklevel=3)


def launch(
    program: Program,
    args: Sequence[Any],
    blocks: int = 1,
    *,
    executor: Executor | str,
    jobs: int | None = None,
    matmul: str = "exact",
    backend: str | None = None,
    progress: Progress | None = None,
    say: Callable[[str], None] = _warn,
) -> None:
    """`Program.launch` on the workers of an executor; the arrays hold the same bytes afterwards.

    ``executor``: as for `ptokit.workers.executors.open_executor`; ``jobs``: how many processes, or workers that it has.
    Blocks that touch what others write are run by one worker in one piece, and by this process where arguments overlap;
    ``say`` is told why. Raises `DiagnosticError`: as `Program.launch` does, and if an executor cannot be had or workers
    are lost (RUN-LOST).
    """
    if any(isinstance(arg, Query) for arg in args):
        program, args = program.asking(args)
    check_blocks(blocks)
    bind_arguments(program.entry, args, program.effects.written, blocks)  # refused before anything is shared
    if (pair := shared_arguments(program, args)) is not None:
        say(f"this process runs all blocks of {program.name}: arguments {pair[0]} and {pair[1]} overlap")
        program.launch(args, blocks, matmul=matmul, backend=backend, progress=progress)
        return
    run = _Launch(program, args, blocks, matmul, backend or program.backend_for(args, blocks), progress)
    found = None
    try:
        found = footprints(program, args, blocks)
    except Entangled as why:
        say(f"one worker runs all blocks of {program.name}: {why}")
    with open_executor(executor, jobs or workers_of(executor)) as (opened, workers):
        near = True
        left = [range(blocks)]
        while left:
            with ExitStack() as stack:
                placed = Placed(program, args, found, stack, near=near)
                spans = left
                if found is not None:
                    spans = [part for span in left for part in _parts(span, run, placed, workers)]
                left = run.work(spans, placed, opened, workers)
                near = False  # for those that could not open what was shared
    run.finish()


def _parts(span: range, run: _Launch, placed: Placed, workers: int) -> Iterator[range]:
    size = max(1, -(-run.blocks // (PARTS * workers)))
    together = run.program.chunk_blocks
    if size > together:
        size -= size % together
    size = max(1, min(size, MOST_BYTES * run.blocks // max(1, placed.bytes_sent)))
    for first in range(span.start, span.stop, size):
        yield range(first, min(first + size, span.stop))


class _Launch:
    """One launch, and what is known of its blocks so far."""

    def __init__(
        self, program: Program, args: Sequence[Any], blocks: int, matmul: str, backend: str, progress: Progress | None
    ) -> None:
        self.program, self.args, self.blocks, self.matmul, self.backend = program, args, blocks, matmul, backend
        self.progress = progress
        cores = program.cores
        self.whole = cores.waits or cores.mixed  # a fault ends the launch at once
        self._done = 0
        self._failed: list[range] = []
        self._kept: list[tuple[Placed, range, Sequence[bytes]]] = []
        self._printed: dict[int, tuple[int, str]] = {}  # by first block: end and text
        self._shown = 0  # blocks
        vector_cores = sum(role.kind == "vector" for role in cores.roles) or VECTOR_CORES
        self._common = {
            "program": dumps(program.module),
            "target": program.target.name,
            "entry": program.entry.name,
            "extended": program.extended,
            "vector_cores": min(vector_cores, VECTOR_CORES),
            "blocks": blocks,
            "matmul": matmul,
            "backend": backend,
        }

    def work(self, spans: Sequence[range], placed: Placed, executor: Executor, workers: int) -> list[range]:
        """Run spans of blocks; those whose worker could not open what was shared."""
        missing: list[range] = []
        at = {str(span.start): span for span in spans}
        for answers in drive((self._task(span, placed) for span in spans), executor, workers, together=1):
            for answer in answers:
                span = at[answer.id]
                if answer.how is not How.DONE:
                    raise _lost(span, answer)
                if "missing" in answer.value:
                    missing.append(span)
                    continue
                self._done += len(span)
                if "failed" in answer.value:
                    self._failed.append(span)
                    self._print(span, "")
                else:
                    self._take(placed, span, answer)
                if self.progress is not None:
                    self.progress(self._done, self.blocks)
        if self._kept and not self._failed:
            for kept in self._kept:
                kept[0].take_back(*kept[1:])
        self._kept.clear()
        return missing

    def _task(self, span: range, placed: Placed) -> Task:
        args, data = placed.given(span)
        given = {**self._common, "args": args, "first": span.start, "last": span.stop}
        return Task(str(span.start), RUN_BLOCKS, given, data)

    def _take(self, placed: Placed, span: range, answer: Answer) -> None:
        if self.whole:
            self._kept.append((placed, span, answer.data))
        else:
            placed.take_back(span, answer.data)
        self._print(span, answer.value["printed"])

    def _print(self, span: range, text: str) -> None:
        """Lower blocks first; after those that failed nothing before they have run again."""
        self._printed[span.start] = (span.stop, text)
        while not self.whole and not self._failed and self._shown in self._printed:
            self._shown, text = self._printed.pop(self._shown)
            show(text)

    def finish(self) -> None:
        """Run what failed in this process, for its findings. Raises `DiagnosticError`."""
        run = self.program.launch
        if self._failed and self.whole:
            run(self.args, self.blocks, matmul=self.matmul, backend=self.backend)
            return
        faults = Faults()
        failed = {span.start: span for span in self._failed}
        while self._shown < self.blocks:
            span = failed.get(self._shown)
            if span is not None:
                run(self.args, self.blocks, matmul=self.matmul, backend=self.backend, span=span, faults=faults)
            end, text = self._printed.pop(self._shown)
            show(text)
            self._shown = end
        faults.done()


def _lost(span: range, answer: Answer) -> DiagnosticError:
    which = f"block {span.start}" if len(span) == 1 else f"blocks {span.start} to {span.stop - 1}"
    return DiagnosticError(Diagnostic(LOST.id, Severity.ERROR, f"{which} did not run: {answer.message}"))
