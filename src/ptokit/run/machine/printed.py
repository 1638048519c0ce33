"""What kernels print: block by block, lower blocks first, each text once, however the blocks run."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

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
