"""Branches between the blocks of a region (assembly 2), in the spelling of MLIR's `cf` dialect."""

from __future__ import annotations

from typing import Any

from ptokit.ir import Op, RawAttr
from ptokit.types.values import I1, Scalar

from ...forms.attributes import generic_attrs, read_dictionary, unquote
from ...text import rules
from ...text.cursor import is_string
from ...types.parse import POISON
from ..parser import Parser
from ..regions import Successor, branch_to, read_successor
from ..registry import READERS
from .control import check_cases


def _dictionary(p: Parser) -> dict[str, Any]:
    return generic_attrs(p, read_dictionary(p)) if p.texts[p.i] == "{" else {}


def read_br(p: Parser, name: str, at: int) -> Op:
    """``^bb1(%a : T)``."""
    to = read_successor(p)
    return Op(name, {"args": to.values}, _dictionary(p), successors=[branch_to(p, to, to.values)])


def read_cond_br(p: Parser, name: str, at: int) -> Op:
    """``%c (weights([1, 2]))?, ^bb1(%a : T), ^bb2``."""
    first = p.i
    condition = p.value()
    p.match(condition, I1, first)
    attrs: dict[str, Any] = {}
    if p.accept("weights"):
        p.expect("(")
        p.expect("[")
        weights = [p.integer()]
        while p.accept(","):
            weights.append(p.integer())
        p.expect("]")
        p.expect(")")
        attrs["branch_weights"] = RawAttr(f"array<i32: {', '.join(map(str, weights))}>")
    p.expect(",")
    true = read_successor(p)
    p.expect(",")
    false = read_successor(p)
    attrs.update(_dictionary(p))
    operands: dict[str, Any] = {"condition": condition, "true": true.values, "false": false.values}
    return Op(name, operands, attrs, successors=[branch_to(p, to, to.values) for to in (true, false)])


def read_switch(p: Parser, name: str, at: int) -> Op:
    """``%i : T, [default: ^bb1(%a : T), 2: ^bb2, ..]``."""
    first = p.i
    flag = p.value()
    p.expect(":")
    type_at = p.i
    p.match(flag, p.type(), first)
    check_flag(p, flag.type, type_at)
    p.expect(",")
    p.expect("[")
    p.expect("default")
    p.expect(":")
    default = read_successor(p)
    cases: list[Successor] = []
    numbers: list[int] = []
    seen: set[int] = set()
    while p.accept(","):
        numbers.append(p.integer("the number of a case"))
        check_cases(p, numbers[-1:], seen, p.i - 1)
        p.expect(":")
        cases.append(read_successor(p))
    p.expect("]")
    operands: dict[str, Any] = {
        "flag": flag,
        "default": default.values,
        "cases": [v for case in cases for v in case.values],
    }
    attrs = {"values": numbers, "sizes": [len(case.values) for case in cases], **_dictionary(p)}
    return Op(name, operands, attrs, successors=[branch_to(p, to, to.values) for to in (default, *cases)])


def check_flag(p: Parser, type: object, at: int) -> None:
    """cf.switch chooses by an integer other than index (TEXT-TYPE)."""
    if type is not POISON and not (isinstance(type, Scalar) and type.is_integer and type.name != "index"):
        p.fail(rules.TYPE, f"cf.switch chooses by an integer like i32, not by {type}", at)


def read_assert(p: Parser, name: str, at: int) -> Op:
    """``%c, "message"``."""
    first = p.i
    condition = p.value()
    p.match(condition, I1, first)
    p.expect(",")
    text = p.texts[p.i]
    p.check_string()
    if not is_string(text):
        p.unexpected("a string")
    p.i += 1
    return Op(name, {"condition": condition}, {"msg": unquote(text), **_dictionary(p)})


READERS.update({"cf.br": read_br, "cf.cond_br": read_cond_br, "cf.switch": read_switch, "cf.assert": read_assert})
