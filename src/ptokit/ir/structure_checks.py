"""Checks of loops and of sections of SIMT threads that the reference assembler makes of the whole text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ptokit.diagnostics import Diagnostics, Note, Scope, define
from ptokit.isa.table import Instr, Kind
from ptokit.types.enums import Pipe, TileType
from ptokit.types.tile import TileSpec
from ptokit.types.values import Scalar

from .control import control_of, is_call
from .core import Op
from .facts import Facts, instr_of
from .survey import Survey
from .views import Breach, Breaches


def _rule(id: str, what: str, function: str, example: str = "", **more: Any) -> None:
    more = {"source": f"PTOAS 2026-08 {function}", "example": example, **more}
    define(id, what, scope=Scope.ASSEMBLER, **more)


_rule(
    "FOR-1",
    "The step of a loop is positive, where it is constant.",
    "ptoas.cpp validateSCFForConstantSteps",
    """
        func.func @k() {
          %z = arith.constant 0 : index %k = arith.constant {1|0} : index scf.for %i = %z to %k step %k { scf.yield }
          return
        }
    """,
    evidence="ptokit",
    on="a2a3",
)
_rule(
    "SIMT-1",
    "A section of SIMT threads stands in no other, and in no function that threads run.",
    "PTO.cpp SectionSimtOp",
    """
        func.func @k() attributes {pto.simt_entry} {
          {|pto.section.simt<<<32, 1, 1>>> {  }
          }return
        }
    """,
    evidence="ptokit",
)

_rule(
    "FN-5",
    "A helper of tile operations (pto.tileop.helper) takes tiles and numbers and returns nothing. It computes on "
    "registers or products: no allocation, tile operation, transfer, synchronisation, section, call or work of one "
    "thread.",
    "PTOMaterializeTileOpSections.cpp",
    """
        func.func private @h() attributes {pto.tileop.helper} {
          {|pto.barrier <PIPE_V>
          }return
        }
    """,
    evidence="ptokit",
)

_SIMT, _THREADS = "pto.section.simt", "pto.simt_entry"


def loop(op: Op, facts: Facts) -> Breaches:
    """FOR-1."""
    for induction in control_of(op).inductions(op):
        step = facts.size(induction.step)
        if step is True:
            step = -1  # of i1
        if step <= 0:
            yield Breach("FOR-1", f"the step is {step}")


def move(op: Op, facts: Facts) -> Breaches:
    """MO-12: exponents are put into Zz order in place of a result."""
    third = op.get("fp") or op.get("tmp")
    if op.results and third is not None and isinstance(third.type, TileSpec) and third.type.loc is not TileType.Scaling:
        yield Breach("MO-12", "the move has a result")


CHECKS: dict[str, Callable[[Op, Facts], Breaches]] = {"pto.tmov": move}
"""By operation."""


_HELPER = "pto.tileop.helper"
_MOVES = frozenset((Pipe.MTE1, Pipe.MTE2, Pipe.MTE3))
_OTHERS = {
    "pto.section.cube": "a section",
    "pto.section.vector": "a section",
    "pto.alloc_tile": "an allocation",
    "pto.alloc_multi_tile": "an allocation",
    "pto.reserve_buffer": "an allocation",
    "pto.tassign": "an allocation",
}


def check_helper(survey: Survey, found: Diagnostics) -> None:
    """Report FN-5."""
    function = survey.function
    if _HELPER not in function.attrs:
        return
    for value in function.params:
        if not isinstance(value.type, TileSpec | Scalar):
            found.error("FN-5", f"{value.shown} of @{function.name} has type {value.shown_type}", function.location)
    if function.results:
        found.error("FN-5", f"@{function.name} returns {function.results[0]}", function.location)
    for op in survey.ops:
        wrong = _OTHERS.get(op.name) or ("a call" if is_call(op) else None) or _foreign(instr_of(op))
        if wrong:
            found.error("FN-5", f"{op.name} is {wrong}", op.location)


def _foreign(instr: Instr | None) -> str | None:
    if instr is None:
        return None
    if instr.order.only or instr.order.between_cores:
        return "synchronisation"
    if instr.threaded:
        return "work of a single thread"
    if instr.pipe in _MOVES:
        return "a transfer"
    return "a tile operation" if any(o.kind is Kind.TILE for o in instr.outs) else None


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
