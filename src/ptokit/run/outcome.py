"""What comes of a launch: what blocks print, and their faults.

A chunk in which a block fails is run again one block at a time, so that each stands for itself. That needs what the
chunk has read: it is still there unless the program writes what it reads. Such memory is kept before it is changed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace

from ptokit.diagnostics import Diagnostic, DiagnosticError, Note
from ptokit.machine.buffers import Buffer
from ptokit.machine.signals import block_text

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


# What happens after a fault: every other block still runs, and the caller's arrays hold what that leaves behind.


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
