"""How an instruction is written, in every form: lines with the names of the table, for its reference page.

They are made by the printers. ``!tile``, ``!view`` and so on stand for types, as aliases in a text do. What may be
missing is left out, but for attributes of a dictionary.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

from ptokit.ir import Block, Function, Module, Op, Value
from ptokit.isa.table import Attr, Instr, Kind, Operand, Role
from ptokit.types.values import Opaque

from .forms.attributes import WORDS
from .forms.notation import compile_form
from .forms.operands import DPS_WORDS
from .printing.generic import print_generic
from .printing.instructions import print_statement
from .printing.printer import FunctionPrinter

PLACEHOLDERS = {
    Kind.TILE: "!tile",
    Kind.VIEW: "!view",
    Kind.PTR: "!ptr",
    Kind.RECORD: "vector<4xi16>",
    Kind.VREG: "!vreg",
    Kind.MASK: "!mask",
    Kind.ALIGN: "!pto.align",
    Kind.GROUP: "!pto.group",
    Kind.PIPE: "!pto.pipe",
    Kind.VECTOR: "!vector",
    Kind.LANES: "!lanes",
    Kind.LOGICAL: "!vector",
    Kind.PART: "!register",
}
"""What stands for the type of an operand; a number has the element type f32 where the table tells no other."""


def text_forms(instr: Instr) -> dict[str, str]:
    """The line of an instruction by form: ``level 2``, ``level 1``, ``sync`` and ``generic``, those that it has."""
    op = _operation(instr)
    printer = FunctionPrinter(Function("f", []))
    name = printer.names
    for value in (*op.values, *op.results):
        name.define(value)
    results = f"{', '.join(map(name, op.results))} = " if op.results else ""
    found = {"level 2": results + printer.instruction(op, instr)}
    if instr.form.syntax in DPS_WORDS and not op.results:
        made = [v for o in instr.outs if o.role is Role.OUT and o.kind is Kind.TILE for v in op.group(o.name)]
        whole = print_statement(op, instr, name, results=made)
        found["level 1"] = (f"{', '.join(map(name, made))} = " if made else "") + f"pto.{instr.shown}{whole}"
        found["sync"] = instr.shown + print_statement(op, instr, name, destinations=True)
    found["generic"] = _generic(op)
    return found


def _generic(op: Op) -> str:
    function = Function("f", [], body=Block())
    assert function.body is not None
    function.params = function.body.args = op.values
    function.body.add(op)
    lines = print_generic(Module([function])).splitlines()
    return next(line.strip() for line in lines if '"pto.' in line)


def _operation(instr: Instr) -> Op:
    """An operation with what the instruction needs."""
    chosen = instr.chosen(instr.form.choices[0], instr.operands) if instr.form.choices else instr.operands
    operands: dict[str, Any] = {}
    for operand in chosen:
        type = Opaque(_type(operand, instr))
        if operand.variadic and not operand.optional:
            operands[operand.name] = [Value(type, f"{operand.name}{k}") for k in range(max(2, operand.variadic))]
        elif not operand.optional or operand.form.offset:
            operands[operand.name] = Value(type, operand.name)
    kinds = [a.kind for a in instr.attrs]
    left_out = _in_groups(instr)
    attrs = {a.name: _example(a, kinds[:k].count(a.kind)) for k, a in enumerate(instr.attrs) if a.name not in left_out}
    results = [Value(Opaque(_type(o, instr)), o.name) for o in instr.returned]
    missing = instr.results - len(results)
    results += [Value(Opaque("!result"), f"result{k}" if missing > 1 else "result") for k in range(missing)]
    return Op(f"pto.{instr.text}", operands, attrs, results)


def _in_groups(instr: Instr) -> set[str]:
    """Attributes that stand in parts of the written form that may be missing."""
    forms = instr.form.grammar
    groups = [e for e in compile_form(forms[0]) if e.kind in "?&"] if forms else []
    out: set[str] = set()
    while groups:
        group = groups.pop()
        inside = group.group
        if group.flag != "!":
            out.update(e.name for e in inside if e.name)
        groups += [e for e in inside if e.kind in "?&"]
    return out


def _type(operand: Operand, instr: Instr) -> str:
    if operand.kind is Kind.PTR and operand.space:
        return f"!pto.ptr<f32, {operand.space}>"
    if operand.kind is Kind.SCALAR and not operand.type:
        elements = any(o.kind in (Kind.TILE, Kind.VREG, Kind.PTR) for o in (*instr.operands, *instr.returned))
        return "f32" if elements else "!type"
    return PLACEHOLDERS.get(operand.kind, operand.type)


def _example(attr: Attr, number: int) -> Any:
    """A value of an attribute; ``number`` tells apart those of one kind."""
    if attr.default is not None:
        return attr.default
    if issubclass(attr.kind, Enum):
        return list(attr.kind)[number]
    if attr.kind is str:
        return next(iter(attr.words or sorted(WORDS.get(attr.mnemonic, ()))), attr.name)
    return {bool: True, int: 0, float: 0.0, list: [0, 0]}.get(attr.kind)
