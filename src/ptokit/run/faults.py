"""What happens after a fault: every other block still runs, and the caller's arrays hold what that leaves behind.

A chunk in which a block fails is run again one block at a time, so that each stands for itself. That needs what the
chunk has read: it is still there unless the program writes what it reads. Such memory is kept before it is changed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ptokit.diagnostics import Diagnostic, DiagnosticError, Note

from .cores.signals import block_text
from .memory.buffers import Buffer

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
