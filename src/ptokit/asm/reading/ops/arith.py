"""Constants and selections (assembly 11)."""

from __future__ import annotations

from ptokit.ir import Op, Value
from ptokit.types.values import I1

from ...forms.arith import constant_value
from ...forms.attributes import read_attrs
from ...types.parse import POISON
from ..arith_types import check_select, read_flags
from ..parser import Parser
from ..registry import READERS


def read_constant(p: Parser, name: str, at: int) -> Op:
    """``N : T``, ``true``, ``false``, ``1.5e-01 : f32``, ``dense<..> : vector<..>``."""
    attrs = read_attrs(p)
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


def read_select(p: Parser, name: str, at: int) -> Op:
    """``%c, %a, %b : T``."""
    first = p.i
    condition = p.value()
    p.expect(",")
    true = p.value()
    p.expect(",")
    false = p.value()
    attrs = read_flags(p, name)
    attrs.update(read_attrs(p))
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


READERS.update({"arith.constant": read_constant, "arith.select": read_select})
