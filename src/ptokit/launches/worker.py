"""A worker's part of a launch: some blocks, on arrays that are there or come with the task."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import lru_cache
from typing import Any

import numpy as np

from ptokit.diagnostics import DiagnosticError
from ptokit.ir.serial import loads
from ptokit.run.outcome import redirected
from ptokit.run.program import Program, compile_program
from ptokit.targets import target

from .arrays import MissingError, empty, number, open_file, opened, put, take, transfer, unpack_runs

RUN_BLOCKS = "ptokit.launches.worker:run_blocks"


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
