"""Constants and arithmetic (assembly 11)."""

from __future__ import annotations

from typing import Any

from ptokit.diagnostics.suggestions import suggest
from ptokit.ir import Op, Value
from ptokit.ir.structure import (
    ARITH_BINARY,
    ARITH_CASTS,
    ARITH_EXTENDED,
    ARITH_UNARY,
    FLOAT_PREDICATES,
    INTEGER_PREDICATES,
)
from ptokit.types.values import I1

from ...forms.arith import constant_value
from ...forms.attributes import generic_attrs, read_dictionary
from ...text import rules
from ...types.parse import POISON
from ..arith_types import check_select, check_types, like, read_flags
from ..parser import Parser
from ..registry import READERS

# ------------------------------------------------------------------ constants


def read_constant(p: Parser, name: str, at: int) -> Op:
    """``N : T``, ``true``, ``false``, ``1.5e-01 : f32``, ``dense<..> : vector<..>``."""
    attrs = {}
    if p.texts[p.i] == "{":
        attrs = generic_attrs(p, read_dictionary(p))
    index = p.i
    token = p.texts[index]
    if not (token[0].isalnum() or token[0] in '-[@"#'):
        p.unexpected("a constant")
    if token in ("true", "false"):
        p.i += 1
        if p.accept(":"):
            p.type()
        return Op(name, {}, {"value": token == "true", **attrs}, [Value(I1)])
    p.i += 1
    p.expect(":")
    type = p.type()
    return Op(name, {}, {"value": constant_value(p, token, type, index), **attrs}, [Value(type)])


# ----------------------------------------------------------------- arithmetic


def read_binary(p: Parser, name: str, at: int) -> Op:
    """``%a, %b : T``, with flags before the colon; one type for operands and result."""
    first = p.i
    lhs = p.value()
    p.expect(",")
    rhs = p.value()
    attrs = _flags(p, name)
    p.expect(":")
    place = p.i
    type = p.type()
    p.match(lhs, type, first)
    p.match(rhs, type, first + 2)
    op = Op(name, {"lhs": lhs, "rhs": rhs}, attrs, [Value(type)])
    check_types(p, op, place)
    return op


def read_unary(p: Parser, name: str, at: int) -> Op:
    """``%a : T``, with flags before the colon."""
    first = p.i
    value = p.value()
    attrs = _flags(p, name)
    p.expect(":")
    place = p.i
    type = p.type()
    p.match(value, type, first)
    op = Op(name, {"in": value}, attrs, [Value(type)])
    check_types(p, op, place)
    return op


def read_extended(p: Parser, name: str, at: int) -> Op:
    """``%a, %b : T`` with two results: sum and carry (``: T, i1``), or the low and the high half of a product."""
    op = read_binary(p, name, at)
    second = op.result.type
    if name == "arith.addui_extended":
        second = like(second, I1)
        if p.accept(","):
            index = p.i
            if p.type() != second:
                p.fail(rules.TYPE, f"the carry of arith.addui_extended is {second}", index)
    return Op(name, op.operands, op.attrs, [Value(op.result.type), Value(second)])


def _flags(p: Parser, name: str) -> dict[str, Any]:
    """Flags and a dictionary."""
    attrs = read_flags(p, name)
    if p.texts[p.i] == "{":
        attrs.update(generic_attrs(p, read_dictionary(p)))
    return attrs


def read_compare(p: Parser, name: str, at: int) -> Op:
    """``pred, %a, %b : T``; the result is i1, one for each element."""
    token = p.texts[p.i]
    predicate = token.strip('"')
    known = INTEGER_PREDICATES if name == "arith.cmpi" else FLOAT_PREDICATES
    if predicate not in known:
        p.fail(rules.TY_8, f"{p.found()} is not a predicate of {name}", hint=suggest(predicate, known))
    p.i += 1
    p.expect(",")
    op = read_binary(p, name, at)
    return Op(name, op.operands, {"predicate": predicate, **op.attrs}, [Value(like(op.result.type, I1))])


def read_cast(p: Parser, name: str, at: int) -> Op:
    """``%a : T to T2``."""
    first = p.i
    value = p.value()
    attrs = _flags(p, name)
    p.expect(":")
    p.match(value, p.type(), first)
    p.expect("to")
    place = p.i
    op = Op(name, {"in": value}, attrs, [Value(p.type())])
    check_types(p, op, place)
    return op


def read_select(p: Parser, name: str, at: int) -> Op:
    """``%c, %a, %b : T``."""
    first = p.i
    condition = p.value()
    p.expect(",")
    true = p.value()
    p.expect(",")
    false = p.value()
    attrs = _flags(p, name)
    p.expect(":")
    type = p.type()
    written = type is not POISON and p.accept(",")  # type of the condition, type of the result
    if written:
        p.match(condition, type, first)
        type = p.type()
    p.match(true, type, first + 2)
    p.match(false, type, first + 4)
    op = Op(name, {"condition": condition, "true": true, "false": false}, attrs, [Value(type)])
    if written:
        check_select(p, op, first)
    else:
        p.match(condition, I1, first)
    return op


READERS.update(
    {
        "arith.constant": read_constant,
        "arith.cmpi": read_compare,
        "arith.cmpf": read_compare,
        "arith.select": read_select,
        **dict.fromkeys(sorted(ARITH_BINARY), read_binary),
        **dict.fromkeys(sorted(ARITH_UNARY), read_unary),
        **dict.fromkeys(sorted(ARITH_EXTENDED), read_extended),
        **dict.fromkeys(sorted(ARITH_CASTS), read_cast),
    }
)
