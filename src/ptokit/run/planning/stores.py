"""What an operation writes and reads of global memory."""

from __future__ import annotations

from ptokit.ir.core import Function, Op, Value
from ptokit.ir.facts import instr_of
from ptokit.isa.table import Kind, Operand, Role
from ptokit.types.values import Ptr, Type


def _through(op: Op, operand: Operand) -> list[Value]:
    """What an operand gives of global memory."""
    through = operand.kind in (Kind.VIEW, Kind.PTR, Kind.GROUP) or operand.or_ptr
    given = op.group(operand.name) if through else []
    whole = operand.kind in (Kind.VIEW, Kind.GROUP)
    return [v for v in given if whole or (is_global(v.type) and _pointer(v.type, operand))]


def _role(operand: Operand) -> Role:
    """What happens to the memory behind an operand."""
    return operand.members if operand.kind is Kind.GROUP else operand.role


def _pointer(type: Type, operand: Operand) -> bool:
    return operand.kind is Kind.PTR or isinstance(type, Ptr)


def stored(op: Op) -> list[Value]:
    """The views and pointers an operation writes global memory through."""
    if op.name == "pto.store_scalar":
        return [op["ptr"]] if is_global(op["ptr"].type) else []
    instr = instr_of(op)
    if instr is None:
        return []
    return [value for o in instr.operands if _role(o) is not Role.IN for value in _through(op, o)]


def loaded(op: Op) -> list[Value]:
    """The views and pointers an operation reads global memory through, atomic updates among them."""
    if op.name == "pto.load_scalar":
        return [op["ptr"]] if is_global(op["ptr"].type) else []
    instr = instr_of(op)
    if instr is None:
        return []
    updates = bool(op.attrs.get("atomic"))
    return [value for o in instr.operands if _role(o) is not Role.OUT or updates for value in _through(op, o)]


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
