"""Canonical text of a module: two blanks per level, canonical types, short forms (assembly 2, 10, 11)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import groupby
from typing import Any

from ptokit.ir import Block, Function, Module, Op, Part, Value
from ptokit.ir.control import CONTROL, Control
from ptokit.ir.launch import SIMT_SIZES
from ptokit.isa.table import BY_TEXT, Instr
from ptokit.types.values import I1, INDEX, Type, result_list

from ..forms.attributes import at_name, attribute, quote
from ..forms.operands import FORMS, Element, Form, compile_form
from ..forms.operations import FLAG_NAMES, constant_text, flags_text
from .instructions import Printing, listed, print_dps, print_form, print_micro, print_structure, successor
from .values import Names, head_of

# Printing of operations outside the instruction table (assembly 10, 11).


Name = Callable[[Value], str]

INDENT = "  "


def _more(op: Op, *placed: str) -> str:
    """The dictionary, with a blank in front."""
    rest = [attribute(k, v) for k, v in op.attrs.items() if k not in placed and v is not None]
    return f" {{{', '.join(rest)}}}" if rest else ""


def constant(op: Op, name: Name) -> str:
    """``arith.constant``."""
    return f"arith.constant{_more(op, 'value')} {constant_text(op.attrs['value'], op.results[0].type)}"


def select(op: Op, name: Name) -> str:
    listed = ", ".join(name(op[k]) for k in ("condition", "true", "false"))
    first = "" if op["condition"].type == I1 else f"{op['condition'].type}, "
    flags = flags_text(op.attrs)
    more = (f" {flags}" if flags else "") + _more(op, *FLAG_NAMES)
    return f"{op.name} {listed}{more} : {first}{op['true'].type}"


def _of_form(op: Op, name: Names) -> str:
    return op.name + print_structure(op, FORMS[op.name], name)


PRINTERS: dict[str, Callable[[Op, Names], str]] = {
    "arith.constant": constant,
    "arith.select": select,
    **dict.fromkeys(FORMS, _of_form),
}
"""By name; operations of control flow are printed by their forms."""


# Printing of operations of control flow, with their regions, by their forms.


@cache
def _plan(control: Control) -> tuple[Form, bool]:
    """The parts of the form, and whether the first region is not the first to be written."""
    form = compile_form(control.form)
    return form, any(e.flag == "<" for e in form if e.kind == "G")


class _FlowPrinting(Printing):
    """Prints one operation. Results are named after the regions, where they come into sight."""

    __slots__ = ("p", "depth", "carries", "regions", "args", "successors", "case")

    def __init__(self, p: FunctionPrinter, op: Op, control: Control, depth: int) -> None:
        name: Name = p.names
        if op.regions:  # before their arguments have names
            name = {value: p.names(value) for value in op.values}.__getitem__
        form, first = _plan(control)
        super().__init__(op, None, form, name)
        self.p, self.depth, self.carries = p, depth, control.carries
        self.regions = op.regions[first:]
        self.args: list[str] | None = None  # names of the arguments of the next region, if it has been entered
        self.successors = self.case = 0
        self.out.append(control.short if control.shortened else op.name)

    def whole(self) -> None:
        """Append the lines of the operation."""
        p, place = self.p, len(self.p.lines)
        self.print(self.form)
        self._flush()
        indent = INDENT * self.depth
        p.lines[place] = indent + p.results(self.op.results) + p.lines[place][len(indent) :]

    def _arguments(self, e: Element) -> str:
        names = self._entered()
        return ", ".join(names[: len(names) - len(self.op.group(self.carries))])

    def _carried(self, e: Element) -> str:
        values = self.op.group(e.name)
        names = self._entered()[-len(values) :] if values else []
        return ", ".join(f"{name} = {self.name(value)}" for name, value in zip(names, values))

    def _listed(self, e: Element) -> str:
        return listed(self.op.group(e.name))

    def _counted(self, e: Element) -> str | None:
        type = self.op[e.name].type
        return f": {type}" if type != INDEX else None

    def _type(self, e: Element) -> str:
        return str(self.op[e.name].type)

    def _case(self, e: Element) -> str:
        self.case += 1
        return str(self.op.attrs[e.name][self.case - 1])

    def _block(self, e: Element) -> str:
        self.successors += 1
        return successor(self.op, self.successors - 1, self.p.names)

    def _unit(self, e: Element) -> str | None:
        return e.name if e.name in self.op.attrs else None

    def _threads(self, e: Element) -> str | None:
        sizes = [str(self.op.attrs[key]) for key in SIMT_SIZES if key in self.op.attrs]
        return f"<<<{', '.join(sizes)}>>>" if sizes else None

    def _repeated(self, e: Element) -> None:
        counted = next(inner.name for inner in e.group if inner.kind == "C")
        for _ in self.op.attrs[counted]:
            self.print(e.group)

    def present(self, group: Form) -> bool:
        for e in group:
            if e.kind == "G":
                return bool(self.regions)
            if e.kind == "R":
                return bool(self.op.results)
            if e.kind == "O":
                return bool(self.op.group(e.name))
        return super().present(group)

    def _entered(self) -> list[str]:
        """The names of the arguments of the next region, which begins the names of that region."""
        if self.args is None:
            self.p.names.enter()
            self.args = [self.p.names.define(a) for a in self.regions[0].args]
        return self.args

    def _region(self, e: Element) -> None:
        if e.flag == "<":
            self.regions.insert(0, self.op.regions[0])
        self.out.append(" {")
        self._flush()
        names, region = self._entered(), self.regions.pop(0)
        if e.flag == "^" and names:
            shown = ", ".join(f"{name}: {a.type}" for name, a in zip(names, region.args))
            self.p.lines.append(f"{INDENT * self.depth}^bb0({shown}):")
        self.args = None
        self.p.region(region, self.depth)
        self.out.append("}")

    def _flush(self, e: Element | None = None) -> None:
        """End the line."""
        self.p.lines.append(INDENT * self.depth + "".join(self.out).lstrip())
        self.out.clear()

    shown = Printing.shown | {
        "X": _arguments,
        "U": _carried,
        "O": _listed,
        "I": _counted,
        "H": _type,
        "C": _case,
        "J": _block,
        "K": _unit,
        "Z": _threads,
        "*": _repeated,
        "G": _region,
        "/": _flush,
    }


# Canonical text of a module: two blanks per level, canonical types, short forms (assembly 2).


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
        control = CONTROL.get(op.name)
        if control is not None:
            _FlowPrinting(self, op, control, depth).whole()
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
