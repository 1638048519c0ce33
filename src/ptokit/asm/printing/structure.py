"""Printing of operations outside the instruction table (assembly 10, 11)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from ptokit.ir import Block, Op, Value
from ptokit.ir.launch import SIMT_SIZES
from ptokit.types.values import I1, INDEX, Type, result_list

from ..forms.arith import FLAG_NAMES, constant_text, flags_text
from ..forms.attributes import attribute
from ..forms.notation import FORMS
from .instructions import print_structure, successor
from .values import Names

Name = Callable[[Value], str]


class FunctionPrinter(Protocol):
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


def _open(p: FunctionPrinter, args: Sequence[Value]) -> list[str]:
    """Begin a region's names and define its arguments."""
    p.names.enter()
    return [p.names.define(a) for a in args]


def _head(p: FunctionPrinter, depth: int) -> tuple[int, str]:
    """Keep a line for the head; the results are named after the regions, where they come into sight."""
    p.lines.append("")
    return len(p.lines) - 1, "  " * depth


def loop(p: FunctionPrinter, op: Op, depth: int) -> None:
    """``scf.for``."""
    place, indent = _head(p, depth)
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


def branch(p: FunctionPrinter, op: Op, depth: int) -> None:
    """``scf.if``."""
    place, indent = _head(p, depth)
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


def while_loop(p: FunctionPrinter, op: Op, depth: int) -> None:
    """``scf.while``."""
    place, indent = _head(p, depth)
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


def execute_region(p: FunctionPrinter, op: Op, depth: int) -> None:
    """``scf.execute_region``."""
    place, indent = _head(p, depth)
    head = op.name + (" no_inline" if "no_inline" in op.attrs else "") + _arrow(op)
    _open(p, ())
    p.region(op.regions[0], depth)
    p.lines.append(indent + "}" + _more(op, "no_inline"))
    p.lines[place] = indent + p.results(op.results) + head + " {"


def index_switch(p: FunctionPrinter, op: Op, depth: int) -> None:
    """``scf.index_switch``, whose first region is the default."""
    place, indent = _head(p, depth)
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


def section(p: FunctionPrinter, op: Op, depth: int) -> None:
    """``pto.section.cube`` and its like."""
    indent = "  " * depth
    sizes = [str(op.attrs[key]) for key in SIMT_SIZES if key in op.attrs]
    p.lines.append(f"{indent}{op.name}{(sizes and '<<<' + ', '.join(sizes) + '>>>') or ''} {{")
    _open(p, ())
    p.region(op.regions[0], depth)
    p.lines.append(indent + "}" + _more(op, *SIMT_SIZES))


def strict_scope(p: FunctionPrinter, op: Op, depth: int) -> None:
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
