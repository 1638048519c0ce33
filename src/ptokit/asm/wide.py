"""Texts of the register level, whose pointers name a space; foreign operations that ptokit does not read."""

from __future__ import annotations

import re
from functools import cache

from ptokit.isa.table import BY_TEXT, Instr

KNOWN_FOREIGN = frozenset(
    "scf.parallel scf.forall scf.reduce memref.load memref.store memref.subview memref.cast".split()
)
"""Operations of other dialects the reference assembler takes and ptokit does not (assembly 11)."""

_OTHERS = frozenset(("castptr", "tile_buf_addr", "vecscope", "strict_vecscope"))  # make or hold such pointers
_NAME = re.compile(r"//[^\n]*|\bpto\.(\w+)")  # a comment gives an empty name


@cache
def _names() -> frozenset[str]:
    return _OTHERS | {text for text, instr in BY_TEXT.items() if _on_pointers(instr)}


def _on_pointers(instr: Instr) -> bool:
    return instr.syntax == "micro" or any(operand.space for operand in instr.operands)


def uses_wide_operations(text: str) -> bool:
    """True if a register-level operation, or one that makes pointers to on-chip buffers, is named in the text."""
    return not _names().isdisjoint(_NAME.findall(text))
