"""Operations outside the instruction table in generic form: what is written, made an operation and held to its rules.

The rules are those the operations' own forms keep by their grammar: types that are written once there, terminators,
arguments of regions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Any

from ptokit.ir import Block, Op, Operands, Value
from ptokit.ir.control import CONTROL, is_call, passed
from ptokit.isa.scalar.arithmetic import ARITH_BINARY, ARITH_CASTS, ARITH_EXTENDED, ARITH_UNARY
from ptokit.records import dataclass
from ptokit.types.values import I1, INDEX, Type

from ...forms.attributes import Dictionary, generic_attrs
from ...forms.operations import ANY, SEGMENTS, Shape, segments
from ...text import rules
from ...types.parse import POISON
from ..ops.control import check_control
from ..ops.forms import Successor, branch_to
from ..parser import Parser
from ..result_types import (
    check_alloc,
    check_dealloc,
    check_reinterpret_cast,
    check_select,
    check_subview,
    check_types,
    like,
)


@dataclass(slots=True)
class Statement:
    """What follows a quoted name; token ``at`` is the name."""

    name: str
    at: int
    values: list[Value] = field(default_factory=list)
    written: Dictionary = field(default_factory=dict)
    regions: list[Block] = field(default_factory=list)
    results: list[Type] = field(default_factory=list)
    successors: list[Successor] = field(default_factory=list)


def structure(p: Parser, shape: Shape, s: Statement) -> Op:
    """The operation of a statement. Errors: TEXT-OPERANDS, TEXT-RESULTS, TEXT-ATTRIBUTE, TY-9 and others."""
    if shape.successors not in (ANY, len(s.successors)):
        p.fail(rules.UNEXPECTED, f"{s.name} has {shape.successors} successors, not {len(s.successors)}", s.at)
    operands = _operands(p, shape, s)
    if shape.results not in (ANY, len(s.results)):
        p.fail(rules.RESULTS, f"{s.name} has {shape.results} results, not {len(s.results)}", s.at)
    if shape.regions not in (ANY, len(s.regions)):
        p.fail(rules.UNEXPECTED, f"{s.name} has {shape.regions} regions, not {len(s.regions)}", s.at)
    if shape.spare and not s.regions[-1].ops and not s.results:
        s.regions.pop()
    for k, region in enumerate(s.regions):
        _drop_implied(region, shape.control.end(k) if shape.control is not None else "")
    op = Op(s.name, operands, {}, [Value(t) for t in s.results], s.regions)
    op.successors = [to.block or Block() for to in s.successors]
    for name, key in shape.keys.items():
        written = s.written.pop(key.name, None)
        if written is None and key.required:
            p.fail(rules.ATTRIBUTE, f"the attribute '{key.name}' is missing", s.at)
        if written is not None and (value := key.read(p, written, op)) is not None:
            op.attrs[name] = value
    op.attrs.update(generic_attrs(p, s.written))
    if shape.control is not None:
        check_control(p, op, shape.control, s.at)
    elif (check := CHECKS.get(s.name)) is not None:
        check(p, op, s.at)
    if is_call(op):
        p.calls.append((op, s.at))
    for k, to in enumerate(s.successors):
        branch_to(p, to, passed(op, k))
    return op


def _operands(p: Parser, shape: Shape, s: Statement) -> Operands:
    names = shape.operands
    sizes = segments(p, s.written.pop(SEGMENTS, None)) if shape.segments else None
    if any(to.values for to in s.successors):  # what is passed stands with the labels
        if sizes is None and len(s.successors) + len(s.values) == len(names):
            sizes = [*(1 for _ in s.values), *(len(to.values) for to in s.successors)]
        s.values += [v for to in s.successors for v in to.values]
    if sizes is None:
        single = sum(not n.endswith("*") for n in names)
        sizes = [max(0, len(s.values) - single) if n.endswith("*") else 1 for n in names]
        if shape.segments:  # which values belong to which group is not said: all to the first
            groups = [k for k, n in enumerate(names) if n.endswith("*")]
            sizes = [0 if k in groups[1:] else size for k, size in enumerate(sizes)]
    wrong = len(sizes) != len(names) or sum(sizes) != len(s.values)
    if wrong or any((n != 1 and name[-1] != "*") or (n and name == "*") for n, name in zip(sizes, names)):
        listed = ", ".join(n.removesuffix("*") + ("..." if n.endswith("*") else "") for n in names if n != "*")
        p.fail(rules.OPERANDS, f"{s.name} takes ({listed}), but {len(s.values)} operands are written", s.at)
    out: Operands = {}
    position = 0
    for name, size in zip(names, sizes):
        part = s.values[position : position + size]
        position += size
        if name != "*":
            out[name.removesuffix("*")] = list(part) if name.endswith("*") else part[0]
    return out


def _drop_implied(region: Block, ends: str) -> None:
    """Own forms leave out an implied terminator without values."""
    if region.ops and region.ops[-1].name == ends and not region.ops[-1].values and CONTROL[ends].implied:
        region.ops.pop()


# -------------------------------------------------------------------- checks


def _same(p: Parser, op: Op, at: int) -> None:
    """Operands and result have one type."""
    for value in op.values:
        p.match(value, op.result.type, at)
    check_types(p, op, at)


def _compare(p: Parser, op: Op, at: int) -> None:
    p.match(op["lhs"], op["rhs"].type, at)
    wanted = like(op["lhs"].type, I1)
    if op.result.type != wanted:
        p.fail(rules.TYPE, f"the result of {op.name} is {wanted}, not {op.result.type}", at)
    check_types(p, op, at)


def _select(p: Parser, op: Op, at: int) -> None:
    check_select(p, op, at)
    p.match(op["true"], op.result.type, at)
    p.match(op["false"], op.result.type, at)


def _extended(p: Parser, op: Op, at: int) -> None:
    type = op["lhs"].type
    p.match(op["rhs"], type, at)
    wanted = [type, like(type, I1) if op.name == "arith.addui_extended" else type]
    if [r.type for r in op.results] != wanted and type is not POISON:
        p.fail(rules.TYPE, f"the results of {op.name} are {wanted[0]} and {wanted[1]}", at)
    check_types(p, op, at)


def _condition(p: Parser, op: Op, at: int) -> None:
    p.match(op["condition"], I1, at)


def _alloc(p: Parser, op: Op, at: int) -> None:
    for value in op.values:
        p.match(value, INDEX, at)
    check_alloc(p, op, at)


def _reinterpret(p: Parser, op: Op, at: int) -> None:
    for value in op.values[1:]:
        p.match(value, INDEX, at)
    check_reinterpret_cast(p, op, at)


def _subview(p: Parser, op: Op, at: int) -> None:
    for value in op.values[1:]:
        p.match(value, INDEX, at)
    check_subview(p, op, at)


Check = Callable[[Parser, Op, int], Any]

CHECKS: dict[str, Check] = {
    **dict.fromkeys(ARITH_BINARY | ARITH_UNARY, _same),
    **dict.fromkeys(ARITH_EXTENDED, _extended),
    **dict.fromkeys(ARITH_CASTS, check_types),
    "arith.cmpi": _compare,
    "arith.cmpf": _compare,
    "arith.select": _select,
    "memref.alloc": _alloc,
    "memref.alloca": _alloc,
    "memref.dealloc": check_dealloc,
    "memref.reinterpret_cast": _reinterpret,
    "memref.subview": _subview,
    "cf.assert": _condition,
}
"""By full name; ``check(parser, op, token)`` reports at the token."""
