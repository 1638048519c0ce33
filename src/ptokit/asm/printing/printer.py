"""Canonical text of a module: two blanks per level, canonical types, short forms (assembly 2, 10, 11)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any, Protocol

from ptokit.ir import Block, Function, Module, Op, Part, Value
from ptokit.ir.launch import SIMT_SIZES
from ptokit.isa.table import BY_TEXT, Instr
from ptokit.types.values import I1, INDEX, Type, result_list

from ..forms.attributes import at_name, attribute, quote
from ..forms.operands import FORMS
from ..forms.operations import FLAG_NAMES, constant_text, flags_text
from .instructions import print_dps, print_form, print_micro, print_structure, successor
from .values import Names, head_of

# Printing of operations outside the instruction table (assembly 10, 11).


Name = Callable[[Value], str]


class RegionPrinter(Protocol):
    """What the printing of a region needs of the function's printer."""

    names: Names
    lines: list[str]

    def region(self, block: Block, depth: int) -> None: ...
    def results(self, results: list[Value]) -> str: ...


def _types(types: Sequence[Type]) -> str:
    """``(T, T)``."""
    return f"({', '.join(map(str, types))})"


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


def switch(op: Op, name: Names) -> str:
    cases = ["default", *map(str, op.attrs["values"])]
    listed = ", ".join(f"{case}: {successor(op, k, name)}" for k, case in enumerate(cases))
    return f"{op.name} {name(op['flag'])} : {op['flag'].type}, [{listed}]{_more(op, 'values', 'sizes')}"


def _of_form(op: Op, name: Names) -> str:
    return ("return" if op.name == "func.return" else op.name) + print_structure(op, FORMS[op.name], name)


PRINTERS: dict[str, Callable[[Op, Names], str]] = {
    "arith.constant": constant,
    "arith.select": select,
    "cf.switch": switch,
    **dict.fromkeys(FORMS, _of_form),
}
"""By name of operations without regions."""


# ------------------------------------------------------------------- regions


def _open(p: RegionPrinter, args: Sequence[Value]) -> list[str]:
    """Begin a region's names and define its arguments."""
    p.names.enter()
    return [p.names.define(a) for a in args]


def _start(p: RegionPrinter, depth: int) -> tuple[int, str]:
    """Keep a line for the head; the results are named after the regions, where they come into sight."""
    p.lines.append("")
    return len(p.lines) - 1, "  " * depth


def loop(p: RegionPrinter, op: Op, depth: int) -> None:
    """``scf.for``."""
    place, indent = _start(p, depth)
    name, init = p.names, op.group("init")
    bounds = f"{name(op['lower'])} to {name(op['upper'])} step {name(op['step'])}"
    starts = [name(v) for v in init]
    args = op.regions[0].args
    variable, *carried = _open(p, args)
    head = f"scf.for {variable} = {bounds}"
    if init:
        pairs = ", ".join(f"{c} = {s}" for c, s in zip(carried, starts))
        head += f" iter_args({pairs}) -> {_types([v.type for v in init])}"
    if args[0].type != INDEX:
        head += f" : {args[0].type}"
    p.region(op.regions[0], depth)
    p.lines.append(indent + "}" + _more(op))
    p.lines[place] = indent + p.results(op.results) + head + " {"


def branch(p: RegionPrinter, op: Op, depth: int) -> None:
    """``scf.if``."""
    place, indent = _start(p, depth)
    head = f"scf.if {p.names(op['condition'])}"
    if op.results:
        head += f" -> {_types([v.type for v in op.results])}"
    for k, region in enumerate(op.regions):
        if k:
            p.lines.append(indent + "} else {")
        _open(p, ())
        p.region(region, depth)
    p.lines.append(indent + "}" + _more(op))
    p.lines[place] = indent + p.results(op.results) + head + " {"


def while_loop(p: RegionPrinter, op: Op, depth: int) -> None:
    """``scf.while``."""
    place, indent = _start(p, depth)
    init = op.group("init")
    starts = [p.names(v) for v in init]
    before, after = op.regions
    names = _open(p, before.args)
    pairs = ", ".join(f"{n} = {s}" for n, s in zip(names, starts))
    types = _types([v.type for v in init])
    head = f"scf.while ({pairs}) : {types} -> {_types([v.type for v in op.results])}"
    p.region(before, depth)
    p.lines.append(indent + "} do {")
    shown = ", ".join(f"{n}: {a.type}" for n, a in zip(_open(p, after.args), after.args))
    if after.args:
        p.lines.append(f"{indent}^bb0({shown}):")
    p.region(after, depth)
    p.lines.append(indent + "}" + _more(op))
    p.lines[place] = indent + p.results(op.results) + head + " {"


def execute_region(p: RegionPrinter, op: Op, depth: int) -> None:
    """``scf.execute_region``."""
    place, indent = _start(p, depth)
    head = op.name + (" no_inline" if "no_inline" in op.attrs else "") + _arrow(op)
    _open(p, ())
    p.region(op.regions[0], depth)
    p.lines.append(indent + "}" + _more(op, "no_inline"))
    p.lines[place] = indent + p.results(op.results) + head + " {"


def index_switch(p: RegionPrinter, op: Op, depth: int) -> None:
    """``scf.index_switch``, whose first region is the default."""
    place, indent = _start(p, depth)
    head = f"{op.name} {p.names(op['index'])}{_arrow(op)}"
    heads = [*(f"case {n}" for n in op.attrs["cases"]), "default"]
    for region_head, region in zip(heads, [*op.regions[1:], op.regions[0]]):
        p.lines.append(f"{indent}{region_head} {{")
        _open(p, ())
        p.region(region, depth)
        p.lines.append(indent + "}")
    p.lines[-1] += _more(op, "cases")
    p.lines[place] = indent + p.results(op.results) + head


def _arrow(op: Op) -> str:
    """``-> T`` or ``-> (T, ..)`` with a blank in front; empty without results."""
    if not op.results:
        return ""
    return f" -> {result_list([v.type for v in op.results])}"


def section(p: RegionPrinter, op: Op, depth: int) -> None:
    """``pto.section.cube`` and its like."""
    indent = "  " * depth
    sizes = [str(op.attrs[key]) for key in SIMT_SIZES if key in op.attrs]
    p.lines.append(f"{indent}{op.name}{(sizes and '<<<' + ', '.join(sizes) + '>>>') or ''} {{")
    _open(p, ())
    p.region(op.regions[0], depth)
    p.lines.append(indent + "}" + _more(op, *SIMT_SIZES))


def strict_scope(p: RegionPrinter, op: Op, depth: int) -> None:
    """``pto.strict_vecscope``."""
    indent = "  " * depth
    captured = op.group("captured")
    p.lines.append(f"{indent}{op.name}({', '.join(map(p.names, captured))}) {{")
    args = op.regions[0].args
    shown = ", ".join(f"{n}: {a.type}" for n, a in zip(_open(p, args), args))
    p.lines.append(f"{indent}^bb0({shown}):")
    p.region(op.regions[0], depth)
    p.lines.append(f"{indent}}}{_more(op)} : {_types([v.type for v in captured])} -> ()")


REGION_PRINTERS: dict[str, Callable[[Any, Op, int], None]] = {
    "scf.for": loop,
    "scf.if": branch,
    "scf.while": while_loop,
    "scf.execute_region": execute_region,
    "scf.index_switch": index_switch,
    "pto.section.cube": section,
    "pto.section.vector": section,
    "pto.section.simt": section,
    "pto.vecscope": section,
    "pto.strict_vecscope": strict_scope,
}
"""By name of operations with regions."""


# Canonical text of a module: two blanks per level, canonical types, short forms (assembly 2).


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
