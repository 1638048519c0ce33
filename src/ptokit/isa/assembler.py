"""Rules of the reference assembler, which bind .pto text for the devices: the word for them, and one for many."""

from __future__ import annotations

from typing import Any

from ptokit.diagnostics import Rule, Scope, define

from .operands import DEVICES


def assembler_rule(id: str, what: str, check: Any, accepted: str, rejected: str, **more: Any) -> Rule:
    """A rule of scope `assembler` for a2a3 and a5; ``source``, other targets and the rest of `define` in `more`."""
    more = {"targets": DEVICES, **more}
    return define(id, what, check, scope=Scope.ASSEMBLER, accepted=accepted, rejected=rejected, **more)


A5_ONLY = assembler_rule(
    "A5-1",
    "The operation exists on a5 only.",
    lambda o: f"{o.instr.text} is written for a5, not {o.target.name}",
    "thistogram on a5",
    "thistogram on a2a3",
    targets=("a2a3",),
    source="assembly 13.9",
    why="Of mgather and mscatter GA-1 and SC-1 say it.",
)
