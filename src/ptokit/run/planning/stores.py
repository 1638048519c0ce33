"""What operations and steps write and read of global memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ptokit.ir.core import Function, Op, Value
from ptokit.ir.facts import instr_of
from ptokit.isa.table import Instr, Kind, Operand, Role
from ptokit.types.values import Ptr, Type

from .plan import Step

Group = Callable[[str], Sequence[Any]]
"""The operands that have a name."""


def _through(group: Group, operand: Operand) -> list[Value]:
    """What an operand gives of global memory."""
    through = operand.kind in (Kind.VIEW, Kind.PTR, Kind.GROUP) or Kind.PTR in operand.also
    given = group(operand.name) if through else []
    whole = operand.kind in (Kind.VIEW, Kind.GROUP)
    return [v for v in given if whole or (is_global(v.type) and _pointer(v.type, operand))]


def _pointer(type: Type, operand: Operand) -> bool:
    return operand.kind is Kind.PTR or isinstance(type, Ptr)


def _element(pointer: Value) -> list[Value]:
    return [pointer] if is_global(pointer.type) else []


def _written(instr: Instr, group: Group) -> list[Value]:
    return [value for o in instr.operands if o.role is not Role.IN for value in _through(group, o)]


def _read(instr: Instr, group: Group, *, updates: bool) -> list[Value]:
    return [value for o in instr.operands if o.role is not Role.OUT or updates for value in _through(group, o)]


def stored(op: Op) -> list[Value]:
    """The views and pointers an operation writes global memory through."""
    if op.name == "pto.store_scalar":
        return _element(op["ptr"])
    instr = instr_of(op)
    return [] if instr is None else _written(instr, op.group)


def stored_by(step: Step) -> list[Value]:
    """The views and pointers a step writes global memory through."""
    if step.word == "store_scalar":
        return _element(step["ptr"])
    return [] if step.instr is None else _written(step.instr, step.group)


def loaded(op: Op) -> list[Value]:
    """The views and pointers an operation reads global memory through, atomic updates among them."""
    if op.name == "pto.load_scalar":
        return _element(op["ptr"])
    instr = instr_of(op)
    return [] if instr is None else _read(instr, op.group, updates=bool(op.attrs.get("atomic")))


def loaded_by(step: Step) -> list[Value]:
    """The views and pointers a step reads global memory through, atomic updates among them."""
    if step.word == "load_scalar":
        return _element(step["ptr"])
    return [] if step.instr is None else _read(step.instr, step.group, updates=bool(step.attrs.get("atomic")))


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
