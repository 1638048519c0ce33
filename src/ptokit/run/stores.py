"""What an operation writes and reads of global memory."""

from __future__ import annotations

from ptokit.ir.core import Function, Op, Value
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


def loaded(op: Op) -> list[Value]:
    """The views and pointers an operation reads global memory through, atomic updates among them."""
    if op.name == "pto.load_scalar":
        return [op["ptr"]] if is_global(op["ptr"].type) else []
    instr = instr_of(op)
    if instr is None:
        return []
    updates = bool(op.attrs.get("atomic"))
    return [
        value
        for operand in instr.operands
        if (operand.role is not Role.OUT or updates)
        and isinstance(value := op.get(operand.name), Value)
        and (operand.kind is Kind.VIEW or (operand.kind is Kind.PTR and is_global(value.type)))
    ]


def stores_last(entry: Function) -> bool:
    """True if no operation that may fail can follow a store."""
    assert entry.body is not None
    ops = [op for op in entry.body.ops if not _harmless(op)]
    if entry.body.more or any(op.regions or op.name == "func.call" for op in ops):
        return False
    return not any(stored(op) for op in ops[:-1])


def _harmless(op: Op) -> bool:
    instr = instr_of(op)
    return op.name in ("func.return", "arith.constant") or (instr is not None and instr.ordering)


def is_global(type: Type) -> bool:
    """True for pointers to global memory."""
    return not isinstance(type, Ptr) or type.space in (None, "gm")
