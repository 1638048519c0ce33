"""The registers that put loops around DMA copies, left set (vector-path 3.2, 8)."""

from __future__ import annotations

from ptokit.diagnostics import Diagnostic, Diagnostics, Severity, define
from ptokit.isa.site import known
from ptokit.isa.vector.dma.rules import loop_counts
from ptokit.targets import Target

from .facts import Facts
from .survey import Survey

_SIZES = ("pto.set_loop_size_outtoub", "pto.set_loop_size_ubtoout")

define(
    "DMA-A5-11",
    "The loop counts of each direction are back at 1, 1 when the kernel ends.",
    source="vector-path 3.2, 8",
    why="The counts stay until they are set again: the next copy of this direction would be repeated, too.",
    decision="The last counts in the text count, whatever branch or loop they stand in; unknown ones pass.",
    example="""
        {|%eight = arith.constant 2097160 : i64
        }pto.set_loop_size_outtoub %eight : i64
    """,
    evidence="legal",
)


def check_copy_loops(survey: Survey, facts: Facts, target: Target, found: Diagnostics) -> None:
    """DMA-A5-11, at the operation that sets the counts."""
    for op in (survey.named(name)[-1] for name in _SIZES if survey.named(name)):
        site = facts.site(op, target)
        if site is not None and any(known(count) and count != 1 for count in loop_counts(site)):
            message = "the counts are still set when the kernel ends"
            hint = f"{op.name} with 1, 1 after the copies"
            found.add(Diagnostic("DMA-A5-11", Severity.WARNING, message, op.location, hint))
