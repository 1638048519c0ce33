"""The word for rules of the reference assembler, which bind .pto text for the devices."""

from __future__ import annotations

from typing import Any

from ptokit.diagnostics import Rule, Scope, define

from .operands import DEVICES


def assembler_rule(id: str, what: str, check: Any, accepted: str, rejected: str, **more: Any) -> Rule:
    """A rule of scope `assembler` for a2a3 and a5; ``source``, other targets and the rest of `define` in `more`."""
    more = {"targets": DEVICES, **more}
    return define(id, what, check, scope=Scope.ASSEMBLER, accepted=accepted, rejected=rejected, **more)
