"""The few operations of the `llvm` dialect that texts of threads have: memory on the stack, and bits.

| operation | written |
|---|---|
| llvm.alloca | ``%count x T {..} : (T) -> P`` |
| llvm.getelementptr | ``%base[%i, 4] : (P, T) -> P, T`` |
| llvm.load | ``%p {..} : P -> T`` |
| llvm.store | ``%v, %p {..} : T, P`` |
| llvm.extractelement | ``%v[%i : T] : vector<2xT>`` |
| llvm.bitcast, inttoptr, ptrtoint | ``%v : T to T`` |

They are carried and printed; nothing runs them.
"""

from __future__ import annotations

import re

from ptokit.ir import Op, RawAttr, Value
from ptokit.types.values import Type

from ...forms.attributes import generic_attrs, read_dictionary
from ...forms.llvm import ELEMENT, PLACES, PLAIN, arrow
from ...text import rules
from ...types.parse import scalar
from ..parser import Parser
from ..registry import READERS

_VECTOR = re.compile(r"vector<\s*\d+\s*x\s*(\w+)\s*>\Z", re.ASCII)


def _operands(p: Parser) -> tuple[list[Value], int]:
    first = p.i
    values = [p.value()]
    while p.accept(","):
        values.append(p.value())
    return values, first


def _behind(p: Parser, attrs: dict[str, object]) -> None:
    if p.texts[p.i] == "{":
        attrs.update(generic_attrs(p, read_dictionary(p)))
    p.expect(":")


def read_alloca(p: Parser, name: str, at: int) -> Op:
    """``%count x T {..} : (T) -> P``."""
    (count,), first = _operands(p)
    p.expect("x")
    attrs: dict[str, object] = {ELEMENT: RawAttr(str(p.type()))}
    _behind(p, attrs)
    (type,) = p.type_list()
    p.match(count, type, first)
    p.expect("->")
    return Op(name, {"args": [count]}, attrs, [Value(p.type())])


def read_place(p: Parser, name: str, at: int) -> Op:
    """A place further on: numbers stand in the attribute, a question mark for each operand."""
    (base,), first = _operands(p)
    p.expect("[")
    args, where, places = [base], [first], list[str]()
    while not p.accept("]"):
        if places:
            p.expect(",")
        if p.texts[p.i][0] == "%":
            where.append(p.i)
            args.append(p.value())
            places.append("?")
        else:
            places.append(str(p.integer("a place")))
    attrs: dict[str, object] = {PLACES: RawAttr(", ".join(places))}
    _behind(p, attrs)
    for value, type, index in zip(args, p.type_list(), where):
        p.match(value, type, index)
    p.expect("->")
    result = p.type()
    p.expect(",")
    attrs[ELEMENT] = RawAttr(str(p.type()))
    return Op(name, {"args": args}, attrs, [Value(result)])


def read_plain(p: Parser, name: str, at: int) -> Op:
    """Operands, their types, and what stands behind ``->`` or ``to``."""
    args, first = _operands(p)
    attrs: dict[str, object] = {}
    _behind(p, attrs)
    p.typed(args, first)
    results: list[Type] = []
    if name != "llvm.store":
        p.expect(arrow(name))
        results.append(p.type())
    return Op(name, {"args": args}, attrs, [Value(t) for t in results])


def read_lane(p: Parser, name: str, at: int) -> Op:
    """``%v[%i : T] : vector<2xT>``."""
    (vector,), first = _operands(p)
    p.expect("[")
    second = p.i
    lane = p.value()
    p.expect(":")
    p.match(lane, p.type(), second)
    p.expect("]")
    attrs: dict[str, object] = {}
    _behind(p, attrs)
    place = p.i
    type = p.type()
    p.match(vector, type, first)
    m = _VECTOR.match(str(type))
    if m is None or (inner := scalar(m[1])) is None:
        p.fail(rules.TYPE, f"{type} is not a short vector", place)
    return Op(name, {"args": [vector, lane]}, attrs, [Value(inner)])


READERS.update(
    {
        "llvm.alloca": read_alloca,
        "llvm.getelementptr": read_place,
        "llvm.extractelement": read_lane,
        **dict.fromkeys(PLAIN, read_plain),
    }
)
