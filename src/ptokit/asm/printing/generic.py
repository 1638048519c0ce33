"""Generic form of a module: ``"name"(operands) <{properties}> ({regions}) {attributes} : type`` for all operations.

Other tools that read MLIR take it without knowing the dialect. Attributes that an operation declares are properties,
further ones stand in the dictionary. Terminators that own forms leave out are written.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from ptokit.ir import Block, Function, Module, Op, Part, Value
from ptokit.isa.table import BY_TEXT, Instr
from ptokit.types.values import FunctionType, Type

from ..forms.attributes import attribute, quote
from ..forms.generic import SEGMENTS, SHAPES
from ..forms.operands import operand_order
from .values import Names, head_of

INDENT = "  "


def print_generic(module: Module) -> str:
    """The module in generic form; reading it gives an equal module, and printing that the same text."""
    inside: list[str] = []
    for part, functions in groupby(module.functions, lambda f: f.part):
        lines = [line for function in functions for line in _Printer(function).print()]
        inside += lines if part is None else [INDENT + line for line in _module(part, lines)]
    return "\n".join(_module(module, inside)) + "\n"


def _module(module: Module | Part, inside: list[str]) -> list[str]:
    """The lines of a module around those of what stands in it."""
    properties = {"sym_name": quote(module.name)} if module.name else {}
    head = f'"builtin.module"() {_properties(properties)}({{'
    # a module has one block, also an empty one
    return [head, *(inside or ["^bb0:"]), f"}}){_dictionary(module.attrs)} : () -> ()"]


def _properties(written: dict[str, str]) -> str:
    """``<{key = value, ..}>`` with a blank behind it; empty if there are none."""
    return "<{" + ", ".join(f"{key} = {value}" for key, value in written.items()) + "}> " if written else ""


def _dictionary(attrs: dict[str, Any]) -> str:
    """``{key = value, ..}`` with a blank in front; empty if there are none."""
    parts = [attribute(key, value) for key, value in attrs.items() if value is not None]
    return " {" + ", ".join(parts) + "}" if parts else ""


def _types(values: Sequence[Value]) -> tuple[Type, ...]:
    return tuple(v.type for v in values)


class _Printer:
    """Prints one function."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.names = Names(function)
        self.lines: list[str] = []

    def print(self) -> list[str]:
        f = self.function
        written = {
            "function_type": str(FunctionType(_types(f.params), tuple(f.results))),
            "sym_name": quote(f.name),
        }
        if f.visibility:
            written["sym_visibility"] = quote(f.visibility)
        for key, attrs in (("arg_attrs", f.param_attrs), ("res_attrs", f.result_attrs)):
            if any(attrs):
                written[key] = "[" + ", ".join(_dictionary(a).strip() or "{}" for a in attrs) + "]"
        self.lines.append(f'{INDENT}"func.func"() {_properties(written)}({{')
        if f.body is not None:
            self.region(f.body, 1, f.params)
        self.lines.append(f"{INDENT}}}){_dictionary(f.attrs)} : () -> ()")
        return self.lines

    def region(self, block: Block, depth: int, args: Sequence[Value], ends: str = "") -> None:
        """The lines of a region between its braces, in an operation at `depth`."""
        self.names.enter()
        if block.more:
            self.names.announce(block)
        if args:
            shown = ", ".join(f"{self.names.define(a)}: {a.type}" for a in args)
            self.lines.append(f"{INDENT * depth}{self.names.label(block)}({shown}):")
        for part in block.blocks:
            if part is not block:
                self.lines.append(INDENT * depth + head_of(part, self.names))
            for op in part.ops:
                self.op(op, depth + 1)
        if ends and not block.more and not (block.ops and block.ops[-1].name in (ends, "scf.condition")):
            self.lines.append(f"{INDENT * (depth + 1)}{quote(ends)}() : () -> ()")
        self.names.leave()

    def op(self, op: Op, depth: int) -> None:
        """One operation with its regions."""
        indent = INDENT * depth
        instr = BY_TEXT.get(op.name[4:]) if op.name.startswith("pto.") else None
        newer = BY_TEXT.get(instr.form.newest) if instr is not None else None
        if newer is not None and op.operands.keys() <= {o.name for o in newer.operands}:
            instr = newer
        shape = SHAPES.get(op.name)
        regions = list(op.regions)
        if shape is not None:
            values, properties, rest = _structure(op)
            regions += [Block()] * (shape.regions - len(regions))  # scf.if without else
        elif instr is not None:
            values, properties, rest = _instruction(op, instr)
        else:
            values, properties, rest = op.values, {}, op.attrs
        to = f"[{', '.join(map(self.names.label, op.successors))}]" if op.successors else ""
        name = op.name if instr is None else f"pto.{instr.shown}"
        head = f"{quote(name)}({', '.join(map(self.names, values))}){to} {_properties(properties)}"
        place = len(self.lines)
        self.lines.append("")  # the results are named behind the regions, where they come into sight
        ends = shape.ends if shape is not None else ""
        for k, region in enumerate(regions):
            if k:
                self.lines.append(indent + "}, {")
            present = k < len(op.regions)
            self.region(region, depth, region.args, ends if present else "")
        types = FunctionType(_types(values), _types(op.results))
        tail = f"{_dictionary(rest)} : {types}"
        first = indent + self.results(op.results) + head
        if regions:
            self.lines[place] = first + "({"
            self.lines.append(indent + "})" + tail)
        else:
            self.lines[place] = first.rstrip() + tail

    def results(self, results: list[Value]) -> str:
        """``%a, %b = ``; empty without results. Defines their names."""
        return self.names.results(results)


def _structure(op: Op) -> tuple[list[Value], dict[str, str], dict[str, Any]]:
    """Operands, properties and other attributes of an operation outside the table."""
    shape = SHAPES[op.name]
    values: list[Value] = []
    sizes: list[int] = []
    for name in shape.operands:
        group = op.group(name.removesuffix("*"))
        values += group
        sizes.append(len(group))
    properties = {key.name: key.show(op, op.attrs[name]) for name, key in shape.keys.items() if name in op.attrs}
    if shape.segments:
        properties[SEGMENTS] = f"array<i32: {', '.join(map(str, sizes))}>"
    return values, properties, {k: v for k, v in op.attrs.items() if k not in shape.keys}


def _instruction(op: Op, instr: Instr) -> tuple[list[Value], dict[str, str], dict[str, Any]]:
    """Operands, properties and other attributes of an instruction."""
    order = operand_order(instr)
    groups = [op.group(o.name) for o in order]
    values = [v for group in groups for v in group]
    placed = set[str]()
    if instr.form.syntax == "dps-either":
        placed.add("scalar_first")
        if op.attrs.get("scalar_first"):
            values[:2] = reversed(values[:2])
    declared = {a.name: a for a in instr.text_attrs}
    properties: dict[str, str] = {}
    for name, value in op.attrs.items():
        if name in declared and name not in placed and value is not None:
            key, _, text = attribute(name, value, declared[name]).partition(" = ")
            properties[key] = text
    if sum(o.optional or o.variadic for o in order) > 1:
        properties[SEGMENTS] = f"array<i32: {', '.join(str(len(g)) for g in groups)}>"
    return values, properties, {k: v for k, v in op.attrs.items() if k not in declared}
