"""Rules of the reference assembler, which bind .pto text for the devices: the word for them, and one for many."""

from __future__ import annotations

from typing import Any

from ptokit.diagnostics import RuleDecorator, Scope, rule

from ..site import Site
from .operands import DEVICES, Message


def assembler_rule(id: str, *example: str, **more: Any) -> RuleDecorator:
    """A rule of scope `assembler` for a2a3 and a5; ``source``, other targets and the rest of `rule` in `more`."""
    more = {"targets": DEVICES, **more}
    return rule(id, *example, scope=Scope.ASSEMBLER, **more)


@assembler_rule("A5-1", "thistogram on a5", "thistogram on a2a3", targets=("a2a3",), source="assembly 13.9")
def A5_ONLY(o: Site) -> Message:
    """The operation exists on a5 only.

    Of mgather and mscatter GA-1 and SC-1 say it.
    """
    return f"{o.instr.text} is written for a5, not {o.target.name}"
