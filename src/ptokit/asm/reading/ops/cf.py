"""The switch between the blocks of a region (assembly 2), in the spelling of MLIR's `cf` dialect."""

from __future__ import annotations

from typing import Any

from ptokit.ir import Op
from ptokit.types.values import Scalar

from ...forms.attributes import read_attrs
from ...text import rules
from ...types.parse import POISON
from ..parser import Parser
from ..regions import Successor, branch_to, read_successor
from ..registry import READERS
from .control import check_cases


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
    attrs = {"values": numbers, "sizes": [len(case.values) for case in cases], **read_attrs(p)}
    return Op(name, operands, attrs, successors=[branch_to(p, to, to.values) for to in (default, *cases)])


def check_flag(p: Parser, type: object, at: int) -> None:
    """cf.switch chooses by an integer other than index (TEXT-TYPE)."""
    if type is not POISON and not (isinstance(type, Scalar) and type.is_integer and type.name != "index"):
        p.fail(rules.TYPE, f"cf.switch chooses by an integer like i32, not by {type}", at)


READERS["cf.switch"] = read_switch
