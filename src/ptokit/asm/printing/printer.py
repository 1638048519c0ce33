"""Canonical text of a module: two blanks per level, canonical types, short forms (assembly 2)."""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby
from typing import Any

from ptokit.ir import Block, Function, Module, Op, Part, Value
from ptokit.isa.table import BY_TEXT, Instr
from ptokit.types.values import Type, result_list

from ..forms.attributes import at_name, attribute, quote
from .instructions import print_dps, print_form, print_micro
from .structure import PRINTERS, REGION_PRINTERS
from .values import Names, head_of

INDENT = "  "


def print_module(module: Module, make: Callable[[Function], FunctionPrinter] | None = None) -> str:
    """The text of a module; reading it gives an equal module, and printing that the same text.

    ``make`` makes the printer of a function, if not in level 2.
    """
    lines = [_head(module)]
    for part, functions in groupby(module.functions, lambda f: f.part):
        inside = [line for function in functions for line in (make or FunctionPrinter)(function).print()]
        if part is not None:
            inside = [INDENT + line for line in (_head(part), *inside, "}")]
        lines.extend(inside)
    lines.append("}")
    return "\n".join(lines) + "\n"


def _head(module: Module | Part) -> str:
    name = f" {at_name(module.name)}" if module.name else ""
    attrs = f" attributes {_dictionary(module.attrs)}" if module.attrs else ""
    return f"module{name}{attrs} {{"


def _dictionary(attrs: dict[str, Any]) -> str:
    return "{" + ", ".join(attribute(k, v) for k, v in attrs.items() if v is not None) + "}"


class FunctionPrinter:
    """Prints one function. Subclasses print instructions in another form."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.names = Names(function)
        self.lines: list[str] = []

    def print(self) -> list[str]:
        f = self.function
        head = f"{INDENT}func.func {f.visibility + ' ' if f.visibility else ''}{at_name(f.name)}({self._parameters()})"
        if f.results:
            head += f" -> {self._results()}"
        if f.attrs:
            head += f" attributes {_dictionary(f.attrs)}"
        if f.body is None:
            return [head]
        self.lines.append(head + " {")
        self.names.enter()
        self.blocks(f.body, 2)
        self.lines.append(INDENT + "}")
        return self.lines

    def _parameters(self) -> str:
        f = self.function
        parts = []
        for k, value in enumerate(f.params):
            text = str(value.type) if f.body is None else f"{self.names.define(value)}: {value.type}"
            attrs = f.param_attrs[k] if k < len(f.param_attrs) else {}
            parts.append(f"{text} {_dictionary(attrs)}" if attrs else text)
        return ", ".join(parts)

    def _results(self) -> str:
        f = self.function
        attrs = f.result_attrs or [{} for _ in f.results]
        shown = ", ".join(f"{t} {_dictionary(a)}" if a else str(t) for t, a in zip(f.results, attrs))
        return result_list(f.results) if not any(attrs) else f"({shown})"

    def blocks(self, region: Block, depth: int) -> None:
        """Print the blocks of a region, whose first has its arguments."""
        if region.more:
            self.names.announce(region)
        for block in region.blocks:
            if block is not region:
                self.lines.append(INDENT * (depth - 1) + head_of(block, self.names))
            for op in block.ops:
                self.op(op, depth)

    def region(self, block: Block, depth: int) -> None:
        """Print the operations of a region, one level deeper, with names of its own."""
        self.blocks(block, depth + 1)
        self.names.leave()

    def op(self, op: Op, depth: int) -> None:
        """Print one operation with its regions."""
        indent = INDENT * depth
        nested = REGION_PRINTERS.get(op.name)
        if nested is not None:
            nested(self, op, depth)
            return
        printer = PRINTERS.get(op.name)
        if printer is not None:
            text = printer(op, self.names)
        elif op.name.startswith("pto.") and (instr := BY_TEXT.get(op.name[4:])) is not None:
            text = self.instruction(op, instr)
        else:
            text = _generic(op, self.names)
        self.lines.append(indent + self.results(op.results) + text)

    def instruction(self, op: Op, instr: Instr) -> str:
        """An instruction from its name on."""
        forms = instr.form.grammar
        if instr.form.syntax.startswith("generic"):
            return _generic(op, self.names)
        name = f"pto.{instr.form.newest or instr.shown}"
        if forms:
            return name + print_form(op, instr, forms, self.names)
        return name + (print_micro if instr.form.syntax == "micro" else print_dps)(op, instr, self.names)

    def results(self, results: list[Value]) -> str:
        """``%a, %b = ``; empty without results. Defines their names."""
        return self.names.results(results)


def _generic(op: Op, name: Callable[[Value], str]) -> str:
    """Generic form, for operations without a form of their own."""
    values = op.values
    attrs = f" {_dictionary(op.attrs)}" if op.attrs else ""

    def listed(types: list[Type]) -> str:
        return f"({', '.join(map(str, types))})"

    return (
        f"{quote(op.name)}({', '.join(map(name, values))}){attrs} : "
        f"{listed([v.type for v in values])} -> {result_list([v.type for v in op.results])}"
    )
