"""Operations outside of the instruction table that have a written form: arithmetic, calls, branches, memrefs."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any, ClassVar, NamedTuple

from ptokit.diagnostics.finding import suggest
from ptokit.ir import Block, Op, RawAttr, Value
from ptokit.isa.scalar.arithmetic import ARITH_BINARY, ARITH_CASTS, ARITH_EXTENDED, ARITH_UNARY
from ptokit.types.values import I1, INDEX, Type

from ...forms.attributes import generic_attrs, read_dictionary, symbol, unquote
from ...forms.notation import FORMS, PREDICATES, Element, Form, compile_form
from ...text import rules
from ...text.cursor import is_string
from ...types.parse import scalar
from ..parser import READERS, Parser
from ..regions import branch_to, read_successor
from ..result_types import (
    check_alloc,
    check_dealloc,
    check_reinterpret_cast,
    check_subview,
    check_types,
    like,
    read_flags,
)
from ..written import Read, Reading, Steps

Check = Callable[[Parser, Op, int], None]
_VECTOR = re.compile(r"vector<\s*\d+\s*x\s*(\w+)\s*>\Z", re.ASCII)


class StructureReading(Reading):
    """What has been read of one operation outside of the table."""

    __slots__ = ("name", "type", "places", "successors")
    type: Type  # the last one of operands

    def __init__(self, p: Parser, name: str) -> None:
        self.p, self.name, self.instr = p, name, None
        self.operands, self.first, self.attrs, self.results = {}, {}, {}, []
        self.places: list[int] = []  # tokens of types
        self.successors: list[Block] = []

    def _dictionary(self, e: Element) -> None:
        if self.p.texts[self.p.i] == "{":
            self.attrs.update(generic_attrs(self.p, read_dictionary(self.p)))

    def _flags(self, e: Element) -> None:
        if self.p.texts[self.p.i] != ":":
            self.attrs.update(read_flags(self.p, self.name))

    def _types(self, e: Element) -> None:
        p, value = self.p, self.operands[e.name]
        if e.flag == "?" and not p.accept(","):
            return
        self.places.append(p.i)
        if e.flag == "+":
            p.typed_list(value, self.first[e.name], "passed")  # type: ignore[arg-type]
            return
        if isinstance(value, list):
            p.typed(value, self.first[e.name])
            return
        self.type = p.type()
        p.match(value, self.type, self.first[e.name])

    def _common_type(self, e: Element) -> None:
        p = self.p
        self.places.append(p.i)
        type = self.type = p.type()
        for name in e.more.split(","):
            p.match(self.operands[name], type, self.first[name])  # type: ignore[arg-type]

    def _result(self, e: Element) -> None:
        p = self.p
        if e.flag == "+":
            self.results += p.result_types()
        elif e.more == "element":
            m = _VECTOR.match(str(self.type))
            inner = scalar(m[1]) if m is not None else None
            if inner is None:
                p.fail(rules.TYPE, f"{self.type} is not a short vector", self.places[-1])
            self.results.append(inner)
        elif e.flag == "*":
            super()._result(e)
        elif p.accept(","):
            self._written_result(e)
        else:
            self.results.append(like(self.type, I1))

    def _written_result(self, e: Element) -> None:
        self.places.append(self.p.i)
        self.results.append(self.p.type())

    def _same(self, e: Element) -> None:
        self.results.append(self.type)

    def _numbers(self, e: Element) -> None:
        super()._numbers(e)
        self.attrs[e.name] = RawAttr(f"array<i32: {', '.join(map(str, self.attrs[e.name]))}>")

    def _predicate(self, e: Element) -> None:
        p, known = self.p, PREDICATES[self.name]
        word = p.texts[p.i].strip('"')
        if word not in known:
            p.fail(rules.TY_8, f"{p.found()} is not a predicate of {self.name}", hint=suggest(word, known))
        self.attrs[e.name] = word
        p.i += 1

    def _symbol(self, e: Element) -> None:
        token = self.p.texts[self.p.i]
        if token[0] != "@" or len(token) < 2:
            self.p.unexpected("a function name")
        self.attrs[e.name] = symbol(token)
        self.p.i += 1

    def _string(self, e: Element) -> None:
        token = self.p.texts[self.p.i]
        self.p.check_string()
        if not is_string(token):
            self.p.unexpected("a string")
        self.attrs[e.name] = unquote(token)
        self.p.i += 1

    def _type(self, e: Element) -> None:
        self.attrs[e.name] = RawAttr(str(self.p.type()))

    def _mixed(self, e: Element) -> None:
        """Numbers stand in the attribute, with question marks for values."""
        p = self.p
        values: list[Value] = []
        shown: list[str] = []
        places: list[int] = []
        while p.texts[p.i] != "]":
            if shown:
                p.expect(",")
            if p.texts[p.i][0] == "%":
                places.append(p.i)
                values.append(p.value())
                if not e.flag:
                    p.match(values[-1], INDEX, places[-1])
                shown.append("?")
            else:
                shown.append(str(p.integer("a value or an integer")))
        self.operands[e.name], self.first[e.name] = values, places
        self.attrs[e.name] = RawAttr("[" + ", ".join(shown) + "]")

    def _block(self, e: Element) -> None:
        to = read_successor(self.p)
        self.operands[e.name] = to.values
        self.successors.append(branch_to(self.p, to, to.values))

    @classmethod
    def reader(cls, e: Element) -> Read:
        if e.kind == "T" and "," in e.more:
            return StructureReading._common_type
        if e.kind == "R" and not e.flag and e.more in ("", "same"):
            return StructureReading._same if e.more else StructureReading._written_result
        return super().reader(e)

    STEPS: ClassVar[Steps] = {}
    READERS: ClassVar[dict[str, Read]] = {
        **Reading.READERS,
        "T": _types,
        "R": _result,
        "{": _dictionary,
        "F": _flags,
        "L": _numbers,
        "W": _predicate,
        "S": _symbol,
        "Q": _string,
        "Y": _type,
        "M": _mixed,
        "J": _block,
    }


class _Plan(NamedTuple):
    """What reading an operation needs to know of it, found once."""

    form: Form
    lists: tuple[str, ...]  # all its operands, if some are lists
    check: Check | None


@cache
def _plan(name: str) -> _Plan:
    form = compile_form(FORMS[name])
    parts = [inner for e in form for inner in (e.group or (e,)) if inner.kind in "%MJ"]
    lists = any(e.kind != "%" or e.flag for e in parts)
    return _Plan(form, tuple(e.name for e in parts) if lists else (), _CHECKS.get(name))


def read_structure(p: Parser, name: str, at: int) -> Op:
    """Read an operation behind its name."""
    plan = _plan(name)
    reading = StructureReading(p, name)
    reading.read(plan.form)
    operands: Any = reading.operands
    if plan.lists:
        operands = {key: operands.get(key, []) for key in plan.lists}
    op = Op(name, operands, reading.attrs, [Value(type) for type in reading.results])
    if reading.successors:
        op.successors = reading.successors
    if plan.check is not None:
        plan.check(p, op, reading.places[0 if name in _AT_SOURCE else -1])
    return op


def _read_call(p: Parser, name: str, at: int) -> Op:
    at = p.i
    op = read_structure(p, "func.call", at)
    p.calls.append((op, at))  # the callee is looked up at the end of the file
    return op


def _check_carry(p: Parser, op: Op, at: int) -> None:
    check_types(p, op, at)
    wanted = like(op.results[0].type, I1)
    if op.results[1].type != wanted:
        p.fail(rules.TYPE, f"the carry of {op.name} is {wanted}", at)


_CHECKS: dict[str, Check] = {
    **dict.fromkeys((*ARITH_BINARY, *ARITH_UNARY, *ARITH_CASTS, *ARITH_EXTENDED, *PREDICATES), check_types),
    "arith.addui_extended": _check_carry,
    "memref.alloc": check_alloc,
    "memref.alloca": check_alloc,
    "memref.dealloc": check_dealloc,
    "memref.reinterpret_cast": check_reinterpret_cast,
    "memref.subview": check_subview,
}

_AT_SOURCE = frozenset(("memref.reinterpret_cast", "memref.subview"))
"""Operations whose checks report at the type of the source, not at that of the result."""

READERS.update(dict.fromkeys(FORMS, read_structure))
READERS["return"] = lambda p, name, at: read_structure(p, "func.return", at)
READERS.update({"call": _read_call, "func.call": _read_call})
