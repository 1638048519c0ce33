"""Control flow by the forms of `ptokit.ir.control`; constants and selections (assembly 2, 10, 11)."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, ClassVar

from ptokit.ir import Op, Value
from ptokit.ir.control import CONTROL, TERMINATORS, Control
from ptokit.ir.launch import SIMT_SIZES
from ptokit.types.values import I1, INDEX, Scalar, Type

from ...forms.attributes import UNIT, read_attrs
from ...forms.operands import SIZES, Element, Form, compile_form, elements
from ...forms.operations import constant_value
from ...text import rules
from ...types.parse import POISON
from ..blocks import read_region
from ..parser import FLOW, READERS, Parser, Reader
from ..result_types import check_select, read_flags
from ..written import IMPLIED, Read, Steps
from .forms import StructureReading, branch_to, kind_of, read_successor

# Operations of control flow, read by their forms.


_SIZES = re.compile(r"<<<\s*(\d{1,9})\s*,\s*(\d{1,9})\s*,\s*(\d{1,9})\s*>>>\Z", re.ASCII)


class _FlowReading(StructureReading):
    """What has been read of one operation of control flow."""

    __slots__ = ("at", "control", "form", "named", "op")

    def __init__(self, p: Parser, name: str, control: Control, at: int) -> None:
        super().__init__(p, name)
        self.control, self.at, self.form = control, at, compile_form(control.form)
        self.named: list[int] = []  # tokens that name arguments of the next region
        self.op: Op | None = None
        self.attrs.update((attr, []) for attr in _listed_attributes(self.form))

    def made(self) -> Op:
        """The operation, as soon as all but its regions and some attributes have been read."""
        if self.op is None:
            operands: Any = {name: self.operands.get(name, []) for name in _operand_names(self.form)}
            self.op = Op(self.name, operands, self.attrs, [Value(type) for type in self.results])
            self.op.successors = self.successors
        return self.op

    def _region(self, e: Element) -> None:
        p, op, control = self.p, self.made(), self.control
        k = len(op.regions)
        named, types = self.named, control.takes(op, k)
        if named and len(named) != len(types):
            p.fail(rules.YIELD, f"a region of {op.name} takes {_listed(types)}, but {len(named)} are named", named[0])
        self.named = []
        hidden = p.scope.hide() if control.isolated else None
        try:
            region = read_region(p, list(zip(named, types)), kind_of(control, k, labelled=e.flag == "^"))
        finally:  # an error in what stands before the brace leaves the values as they were
            if hidden is not None:
                p.scope.reveal(hidden)
        op.regions.append(region)
        if e.flag == "^":
            _check_arguments(p, op, control, k, self.at, p.error)
        _check_end(p, op, control, k, self.at)
        if e.flag == "<":
            op.regions.insert(0, op.regions.pop())

    def _arguments(self, e: Element) -> None:
        self.named.append(self.p.name())
        while self.p.accept(","):
            self.named.append(self.p.name())

    def _bindings(self, e: Element) -> None:
        p = self.p
        values: list[Value] = []
        places: list[int] = []
        while p.texts[p.i] != ")":
            if values:
                p.expect(",")
            self.named.append(p.name())
            p.expect("=")
            places.append(p.i)
            values.append(p.value())
        self.operands[e.name], self.first[e.name] = values, places

    def _carried(self, e: Element) -> None:
        values: Any = self.operands.get(e.name, [])
        types = self.p.typed_list(values, self.first.get(e.name, []), "carried", single=True)
        self.results += types if e.flag else ()

    def _counts(self, e: Element) -> None:
        p = self.p
        type: Type = p.type() if p.accept(":") else INDEX
        _check_counts(p, type)
        for name in e.more.split(","):
            p.match(self.operands[name], type, self.first[name])  # type: ignore[arg-type]

    def _flag(self, e: Element) -> None:
        p, value, place = self.p, self.operands[e.name], self.p.i
        assert isinstance(value, Value)
        p.match(value, p.type(), self.first[e.name])
        _check_flag(p, self.name, value.type, place)

    def _case(self, e: Element) -> None:
        cases, p = self.attrs[e.name], self.p
        cases.append(p.integer("the number of a case"))
        _check_cases(p, cases[-1:], set(cases[:-1]), p.i - 1)

    def _unit(self, e: Element) -> None:
        if self.p.accept(e.name):
            self.attrs[e.name] = UNIT

    def _threads(self, e: Element) -> None:
        m = _SIZES.match(self.p.texts[self.p.i])
        if m is None:
            self.p.unexpected("'<<<x, y, z>>>'")
        self.p.i += 1
        self.attrs.update(zip(SIMT_SIZES, map(int, m.groups())))

    def _block(self, e: Element) -> None:
        if not e.flag:
            super()._block(e)
            return
        to = read_successor(self.p)
        self.operands[e.name] = [*self.operands.get(e.name, ()), *to.values]  # type: ignore[misc]
        self.attrs[SIZES].append(len(to.values))
        self.successors.append(branch_to(self.p, to, to.values))

    def _repeated(self, e: Element) -> None:
        """A group as often as its first word stands there."""
        word = next(inner.name for inner in e.group if inner.kind == "=")
        while self.p.texts[self.p.i] == word:
            self.read(e.group)

    def _optional(self, e: Element) -> None:
        if self._written(e):
            self.read(e.group)
        elif self.results and any(inner.kind == "G" for inner in e.group):
            self.p.error(rules.YIELD, f"{self.name} with results needs an {e.group[0].name} region", self.at)

    def _line(self, e: Element) -> None:
        """No line ends in what is read."""

    STEPS: ClassVar[Steps] = {}
    READERS: ClassVar[dict[str, Read]] = {
        **StructureReading.READERS,
        "G": _region,
        "X": _arguments,
        "U": _bindings,
        "O": _carried,
        "I": _counts,
        "H": _flag,
        "C": _case,
        "K": _unit,
        "Z": _threads,
        "J": _block,
        "*": _repeated,
        "?": _optional,
        "/": _line,
    }


@cache
def _operand_names(form: Form) -> tuple[str, ...]:
    return tuple(dict.fromkeys(e.name for e in elements(form) if e.kind in "%UJ"))


@cache
def _listed_attributes(form: Form) -> tuple[str, ...]:
    """Attributes that begin as empty lists."""
    return tuple(
        SIZES if e.kind == "J" else e.name for e in elements(form) if e.kind == "C" or (e.kind == "J" and e.flag)
    )


def _read_control(p: Parser, name: str, at: int) -> Op:
    control, first = CONTROL[name], p.i
    reading = _FlowReading(p, name, control, at)
    reading.read(reading.form)
    op = reading.made()
    if control.calls:
        p.calls.append((op, first))  # the callee is looked up at the end of the file
    return op


def _short(name: str) -> Reader:
    return lambda p, word, at: _read_control(p, name, at)


READERS[FLOW] = _read_control
READERS.update({control.short: _short(name) for name, control in CONTROL.items() if control.short})


# What holds of an operation of control flow in every form.


def check_control(p: Parser, op: Op, control: Control, at: int) -> None:
    """What the form of an operation that has been read otherwise says: types, cases, and its regions."""
    for e in elements(compile_form(control.form)):
        if e.kind == "%" and e.more:
            for value in op.group(e.name):
                p.match(value, IMPLIED[e.more], at)
        elif e.kind == "I":
            first, *others = (op[name] for name in e.more.split(","))
            if first.type is not POISON:
                _check_counts(p, first.type, at)
            for value in others:
                p.match(value, first.type, at)
        elif e.kind == "O" and e.flag:
            _check_carried(p, op, op.group(e.name), at)
        elif e.kind == "H":
            _check_flag(p, op.name, op[e.name].type, at)
        elif e.kind == "C":
            cases = op.attrs.setdefault(e.name, [])
            _check_cases(p, cases, set(), at)
            what, ways = ("successor", op.successors) if op.successors else ("region", op.regions)
            if len(ways) != len(cases) + 1:
                p.fail(rules.UNEXPECTED, f"{op.name} has a {what} for the default and one for each case", at)
        elif e.kind == "J" and e.flag:
            sizes = op.attrs.setdefault(SIZES, [0] * (len(op.successors) - 1))
            if len(sizes) != len(op.successors) - 1 or sum(sizes) != len(op.group(e.name)) or min(sizes, default=0) < 0:
                p.fail(rules.OPERANDS, "'case_operand_segments' does not fit the cases and their operands", at)
    for k in range(len(op.regions)):
        _check_arguments(p, op, control, k, at, p.fail)
        _check_end(p, op, control, k, at)


def _check_counts(p: Parser, type: Type, at: int | None = None) -> None:
    """The type of a loop variable (TEXT-TYPE): MLIR compares signless integers and index, as signed numbers."""
    if not (isinstance(type, Scalar) and type.is_integer):
        p.fail(rules.TYPE, f"a loop variable cannot be of type {type}", at)
    if type.signed or type.name.startswith("ui"):
        signless = type.name.lstrip("u")
        p.fail(rules.TYPE, f"a loop variable cannot be of type {type}; it is signless", at, hint=f"use {signless}")


def _check_carried(p: Parser, op: Op, init: Sequence[Value], at: int) -> None:
    types = [r.type for r in op.results]
    if len(init) != len(types):
        p.fail(rules.OPERANDS, f"{op.name} carries {len(init)} values, but {len(types)} types are written", at)
    for value, wanted in zip(init, types):
        p.match(value, wanted, at)


def _check_flag(p: Parser, name: str, type: object, at: int) -> None:
    """What chooses among blocks is an integer other than index (TEXT-TYPE)."""
    if type is not POISON and not (isinstance(type, Scalar) and type.is_integer and type.name != "index"):
        p.fail(rules.TYPE, f"{name} chooses by an integer like i32, not by {type}", at)


def _check_cases(p: Parser, cases: Sequence[int], seen: set[int], at: int) -> None:
    """No case stands twice (TEXT-CASE); `seen` are those before."""
    for case in cases:
        if case in seen:
            p.error(rules.CASE, f"case {case} is written twice", at)
        seen.add(case)


def _check_arguments(p: Parser, op: Op, control: Control, k: int, at: int, report: Callable[..., None]) -> None:
    """A region takes what the operation hands to it (TEXT-YIELD)."""
    given, wanted = [a.type for a in op.regions[k].args], control.takes(op, k)
    if not same_types(given, wanted):
        report(rules.YIELD, f"a region of {op.name} takes {_listed(wanted)}, not {_listed(given)}", at)


def _check_end(p: Parser, op: Op, control: Control, k: int, at: int) -> None:
    """Blocks yield what the operation declares (TEXT-YIELD); an implied end may be missing if that is nothing."""
    if not control.ends:
        return
    region, end, types = op.regions[k], control.end(k), control.gives(op, k)
    for block in region.blocks:
        last = block.ops[-1] if block.ops else None
        if last is None or last.name not in TERMINATORS:
            if (types or not CONTROL[end].implied) and block not in p.broken and not region.more:
                p.error(rules.YIELD, f"the region of {op.name} must end with {end} of {_listed(types)}", at)
        elif last.name == end:
            yielded = [v.type for v in last.group("values")]
            if not same_types(yielded, types):
                message = f"{op.name} declares {_listed(types)}, but its region yields {_listed(yielded)}"
                p.error(rules.YIELD, message, last.location)


def same_types(given: Sequence[Type], wanted: Sequence[Type]) -> bool:
    """True if the types agree one by one; those of undefined values agree with all."""
    return len(given) == len(wanted) and all(a is POISON or b is POISON or a == b for a, b in zip(given, wanted))


def _listed(types: Sequence[Type]) -> str:
    return f"({', '.join(map(str, types))})" if types else "nothing"


# Constants and selections (assembly 11).


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
