"""Outputs that a launch has written in part: GM-UNWRITTEN."""

from __future__ import annotations

from collections.abc import Iterable

from ptokit.diagnostics import Diagnostics
from ptokit.ir.core import Function, Module
from ptokit.machine.buffers import Buffer

from ..memory.gm import Located


def report_unwritten(
    module: Module, kernel: Function, blocks: int, outputs: Iterable[tuple[Buffer, Located]], found: Diagnostics
) -> None:
    """Report the outputs of which some elements are written and some are not, when all blocks have ended.

    ``outputs``: arguments that started uninitialised, with their memory.
    """
    ops = (op for f in module.functions if f.body is not None for op in f.body.walk())
    by_block = any(op.name == "pto.get_block_idx" for op in ops)
    for buffer, (memory, start) in outputs:
        if memory.valid is None or memory.read:
            continue
        first, last = start // memory.granule, (start + buffer.mem.nbytes) // memory.granule
        valid = memory.valid[first:last]
        per = buffer.nelem / len(valid) if len(valid) else 0  # elements of a granule
        written = int(valid.sum())
        if not 0 < written < len(valid):
            continue
        missing, total = int((len(valid) - written) * per), int(len(valid) * per)
        message = f"{missing:,} of {total:,} elements of {buffer.shown} were never written"
        hint = "store to all of it, or pass an argument of the size that is stored"
        share, left = divmod(written, blocks)
        if by_block and not left and len(valid) % share == 0 and valid[:written].all():
            each, needed = int(share * per), len(valid) // share
            now = "1 block has" if blocks == 1 else f"{blocks} blocks have"
            hint = f"launch {needed} blocks: {now} written {each:,} elements{'' if blocks == 1 else ' each'}"
        found.warning("GM-UNWRITTEN", message, kernel.location, hint=hint)
