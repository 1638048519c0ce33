"""What operations and steps write and read of global memory."""

from __future__ import annotations

from functools import cache

from ptokit.ir.core import Function, Op, Value
from ptokit.ir.facts import instr_of
from ptokit.isa.table import Instr, Kind, Operand, Role
from ptokit.types.values import Ptr, Type

from .plan import Step


@cache
def _touching(instr: Instr, but: Role | None) -> tuple[Operand, ...]:
    """The operands that may lead to global memory, but those of one role."""
    kinds = (Kind.VIEW, Kind.PTR, Kind.GROUP)
    return tuple(o for o in instr.operands if o.role is not but and (o.kind in kinds or Kind.PTR in o.also))


def _through(of: Op | Step, operand: Operand) -> list[Value]:
    """What an operand gives of global memory."""
    given = of.group(operand.name)
    whole = operand.kind in (Kind.VIEW, Kind.GROUP)
    return [v for v in given if whole or (is_global(v.type) and _pointer(v.type, operand))]


def _pointer(type: Type, operand: Operand) -> bool:
    return operand.kind is Kind.PTR or isinstance(type, Ptr)


def _instr(of: Op | Step) -> Instr | None:
    return of.instr if isinstance(of, Step) else instr_of(of)


def _element(pointer: Value) -> list[Value]:
    return [pointer] if is_global(pointer.type) else []


def stored(of: Op | Step) -> list[Value]:
    """The views and pointers an operation or a step writes global memory through."""
    if of.name in ("pto.store_scalar", "store_scalar"):
        return _element(of["ptr"])
    instr = _instr(of)
    if instr is None:
        return []
    return [value for o in _touching(instr, Role.IN) for value in _through(of, o)]


def loaded(of: Op | Step) -> list[Value]:
    """The views and pointers an operation or a step reads global memory through, atomic updates among them."""
    if of.name in ("pto.load_scalar", "load_scalar"):
        return _element(of["ptr"])
    instr = _instr(of)
    if instr is None:
        return []
    updates = bool(of.attrs.get("atomic"))
    return [value for o in _touching(instr, None if updates else Role.OUT) for value in _through(of, o)]


def stores_last(entry: Function) -> bool:
    """True if no operation that may fail can follow a store."""
    assert entry.body is not None
    ops = [op for op in entry.body.ops if not _harmless(op)]
    if entry.body.more or any(op.regions or op.name == "func.call" for op in ops):
        return False
    return not any(stored(op) for op in ops[:-1])


def _harmless(op: Op) -> bool:
    instr = instr_of(op)
    return op.name in ("func.return", "arith.constant") or (instr is not None and instr.order.only)


def is_global(type: Type) -> bool:
    """True for pointers to global memory."""
    return not isinstance(type, Ptr) or type.space in (None, "gm")
