"""Checks of loops and of sections of SIMT threads that the reference assembler makes of the whole text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ptokit.diagnostics import Diagnostics, Note, Scope, define

from .core import Op
from .facts import Facts
from .survey import Survey
from .views import Breach, Breaches


def _rule(id: str, what: str, function: str, rejected: str, accepted: str, **more: Any) -> None:
    more = {"source": f"PTOAS 2026-08 {function}", "rejected": rejected, "accepted": accepted, **more}
    define(id, what, scope=Scope.ASSEMBLER, **more)


_rule(
    "FOR-1",
    "The step of a loop is positive, where it is constant.",
    "ptoas.cpp validateSCFForConstantSteps",
    "scf.for %i = %a to %b step %c0",
    "scf.for %i = %a to %b step %c1",
)
_rule(
    "SIMT-1",
    "A section of SIMT threads stands in no other, and in no function that threads run.",
    "PTO.cpp SectionSimtOp",
    "pto.section.simt<<<32, 1, 1>>> { pto.section.simt<<<32, 1, 1>>> { } }",
    "pto.section.simt<<<32, 1, 1>>> { }",
)

_SIMT, _THREADS = "pto.section.simt", "pto.simt_entry"


def loop(op: Op, facts: Facts) -> Breaches:
    """FOR-1."""
    step = facts.size(op.get("step"))
    if step <= 0:
        yield Breach("FOR-1", f"the step is {step}")


CHECKS: dict[str, Callable[[Op, Facts], Breaches]] = {"scf.for": loop}
"""By operation."""


def check_sections(survey: Survey, found: Diagnostics) -> None:
    """Report SIMT-1."""
    sections = survey.named(_SIMT)
    if not sections:
        return
    if _THREADS in survey.function.attrs:
        note = Note(f"@{survey.function.name} is run by threads", survey.function.location)
        found.error("SIMT-1", f"{_SIMT} in a function that threads run", sections[0].location, notes=[note])
    inside = {inner: op for op in sections for region in op.regions for inner in region.walk()}
    for op in sections:
        if op in inside:
            note = Note("this section is around it", inside[op].location)
            found.error("SIMT-1", f"{_SIMT} in another one", op.location, notes=[note])
