"""What an operation writes of global memory."""

from __future__ import annotations

from ptokit.ir.core import Op, Value
from ptokit.ir.facts import instr_of
from ptokit.isa.table import Kind, Role
from ptokit.types.values import Ptr, Type


def stored(op: Op) -> list[Value]:
    """The views and pointers an operation writes global memory through."""
    if op.name == "pto.store_scalar":
        return [op["ptr"]] if is_global(op["ptr"].type) else []
    instr = instr_of(op)
    if instr is None:
        return []
    return [
        value
        for operand in instr.operands
        if operand.role is not Role.IN
        and (value := op.get(operand.name)) is not None
        and (operand.kind is Kind.VIEW or (operand.kind is Kind.PTR and is_global(value.type)))
    ]


def is_global(type: Type) -> bool:
    """True for pointers to global memory."""
    return not isinstance(type, Ptr) or type.space in (None, "gm")
