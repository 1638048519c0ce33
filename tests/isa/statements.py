"""Single statements as the assembler's verifiers judge them."""

from __future__ import annotations

import re

from ptokit.asm import parse_module
from ptokit.diagnostics import Severity
from ptokit.ir.verify import verify
from ptokit.targets import target

Case = tuple[str, str, tuple[str, ...]]
"""A rule, statements that keep it, statements that break it."""

_SHORT = {"V": "!pto.vmi.vreg<{}>", "M": "!pto.vmi.mask<{}>", "P": "!pto.ptr<{}>", "R": "!pto.vreg<{}>"}


def spelled(text: str) -> str:
    """``V<64xf32>`` stands for a logical vector, ``M<..>`` a predicate, ``R<..>`` a register, ``P<..>`` a pointer.

    ``L[..]`` stands for a layout.
    """
    text = re.sub(r"L\[([^\]]*)\]", r"#pto.vmi.layout<\1>", text)
    return re.sub(r"\b([VMPR])<((?:[^<>]|<[^<>]*>)*)>", lambda m: _SHORT[m[1]].format(m[2]), text)


def found(statements: str, *, assembler: bool = True) -> list[tuple[str, int]]:
    """Rules of the assembler, or of everybody, that the statements break, with their lines."""
    a5 = target("a5")
    read = parse_module(spelled(statements) + "\n", "x.pto", target=a5)
    broken = [*read.diagnostics, *verify(read.module, a5, assembler=assembler)]
    return [(d.rule, d.location.line) for d in broken if d.severity is Severity.ERROR]


def breaks(rule: str, statements: str, *, assembler: bool = True) -> bool:
    """True if the last of the statements breaks the rule."""
    return (rule, statements.count("\n") + 1) in found(statements, assembler=assembler)
