"""Vector registers exist on some targets only."""

from __future__ import annotations

from ptokit.diagnostics import Diagnostics, define
from ptokit.targets import Target
from ptokit.types.values import Align, Mask, VReg

from .core import Op
from .survey import Survey

RULE = define(
    "VEC-A3-01",
    "Vector registers and predicates are of a5; the vector unit of a2a3 works on UB itself.",
    targets=("a2a3",),
    source="library headers for a2a3, none of which has a register; micro instruction reference, for a5 only",
    decision="A manual calls these operations emulated on a2a3, where nothing emulates them. The cpu target runs them.",
    example="""
        pto.vecscope {
        {|%r = pto.vlds %p[%c0] : !pto.ptr<f32, ub> -> !pto.vreg<64xf32>
        }}
    """,
    evidence="static_assert",
)


def check_registers(survey: Survey, target: Target, found: Diagnostics) -> None:
    """Report the first operation on registers of a function, for a target without them."""
    if target.vector_registers:
        return
    users = [op for op in survey.ops if _uses_registers(op)]
    if users:
        count = f"; {len(users)} operations of @{survey.function.name} use them" if len(users) > 1 else ""
        hint = f"compile it for a5, or compute on tiles, which {target.name} has instructions for"
        found.error(RULE.id, f"{target.name} has no vector registers{count}", users[0].location, hint=hint)


def _uses_registers(op: Op) -> bool:
    return any(isinstance(value.type, VReg | Mask | Align) for value in (*op.results, *op.values))
