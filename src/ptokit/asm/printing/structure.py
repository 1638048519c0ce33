"""Printing of operations outside the instruction table (assembly 10, 11)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from ptokit.ir import Block, Op, Value
from ptokit.ir.graph import passed
from ptokit.ir.launch import SIMT_SIZES
from ptokit.ir.structure import ARITH_BINARY, ARITH_CASTS, ARITH_EXTENDED, ARITH_UNARY
from ptokit.types.values import I1, INDEX, Type, result_list

from ..forms.arith import FLAGS, WORDS, constant_text
from ..forms.attributes import integers
from ..forms.llvm import OPERATIONS as LLVM
from ..forms.spelling import attribute, quote, symbol
from .llvm import llvm
from .names import Names

Name = Callable[[Value], str]
_WRITTEN = frozenset((*FLAGS, *WORDS, "rounding"))  # with words of their own


class FunctionPrinter(Protocol):
    """What the printing of a region needs of the function's printer."""

    names: Names
    lines: list[str]

    def region(self, block: Block, depth: int) -> None: ...
    def results(self, results: list[Value]) -> str: ...


def _types(types: Sequence[Type]) -> str:
    """``(T, T)``."""
    return f"({', '.join(map(str, types))})"


def _of(values: Sequence[Value]) -> str:
    return ", ".join(str(v.type) for v in values)


def _more(op: Op, *placed: str) -> str:
    """Flags and dictionary, with a blank in front."""
    flags = f" {op.attrs['rounding']}" if "rounding" in op.attrs else ""
    flags += "".join(f" {word}" for word in WORDS if word in op.attrs)
    flags += "".join(f" {f}{op.attrs[f]}" for f in FLAGS if f in op.attrs)
    own = _WRITTEN if op.name.startswith("arith.") else ()
    rest = [attribute(k, v) for k, v in op.attrs.items() if k not in placed and k not in own and v is not None]
    return flags + (f" {{{', '.join(rest)}}}" if rest else "")


def constant(op: Op, name: Name) -> str:
    """``arith.constant``."""
    return f"arith.constant{_more(op, 'value')} {constant_text(op.attrs['value'], op.results[0].type)}"


def binary(op: Op, name: Name) -> str:
    return f"{op.name} {name(op['lhs'])}, {name(op['rhs'])}{_more(op)} : {op['lhs'].type}"


def unary(op: Op, name: Name) -> str:
    return f"{op.name} {name(op['in'])}{_more(op)} : {op['in'].type}"


def extended(op: Op, name: Name) -> str:
    more = f", {op.results[1].type}" if op.name == "arith.addui_extended" else ""
    return binary(op, name) + more


def compare(op: Op, name: Name) -> str:
    operands = f"{name(op['lhs'])}, {name(op['rhs'])}"
    return f"{op.name} {op.attrs['predicate']}, {operands}{_more(op, 'predicate')} : {op['lhs'].type}"


def cast(op: Op, name: Name) -> str:
    return f"{op.name} {name(op['in'])}{_more(op)} : {op['in'].type} to {op.result.type}"


def select(op: Op, name: Name) -> str:
    listed = ", ".join(name(op[k]) for k in ("condition", "true", "false"))
    first = "" if op["condition"].type == I1 else f"{op['condition'].type}, "
    return f"{op.name} {listed}{_more(op)} : {first}{op['true'].type}"


def terminator(op: Op, name: Name) -> str:
    word = "return" if op.name == "func.return" else op.name
    return word + _listed(op.group("values"), name)


def condition(op: Op, name: Name) -> str:
    return f"scf.condition({name(op['condition'])}){_listed(op.group('values'), name)}"


def _listed(values: Sequence[Value], name: Name) -> str:
    return f" {', '.join(map(name, values))} : {_of(values)}" if values else ""


def call(op: Op, name: Name) -> str:
    args = op.group("args")
    results = [v.type for v in op.results]
    shown = str(results[0]) if len(results) == 1 else _types(results)
    types = _types([v.type for v in args])
    head = f"func.call {symbol(str(op.attrs['callee']))}({', '.join(map(name, args))})"
    return f"{head}{_more(op, 'callee')} : {types} -> {shown}"


def alloc(op: Op, name: Name) -> str:
    return f"{op.name}({', '.join(map(name, op.group('sizes')))}){_more(op)} : {op.result.type}"


def dealloc(op: Op, name: Name) -> str:
    return f"{op.name} {name(op['in'])}{_more(op)} : {op['in'].type}"


def reinterpret_cast(op: Op, name: Name) -> str:
    parts = [f"{key}: {_sizes(op, name, key)}" for key in ("offset", "sizes", "strides")]
    more = _more(op, "offset", "sizes", "strides")
    return f"{op.name} {name(op['in'])} to {', '.join(parts)}{more} : {op['in'].type} to {op.result.type}"


def memref_subview(op: Op, name: Name) -> str:
    parts = " ".join(_sizes(op, name, key) for key in ("offsets", "sizes", "strides"))
    more = _more(op, "offsets", "sizes", "strides")
    return f"{op.name} {name(op['in'])}{parts}{more} : {op['in'].type} to {op.result.type}"


def _sizes(op: Op, name: Name, key: str) -> str:
    values = iter(op.group(key))
    shown = [name(next(values)) if s == "?" else s for s in str(op.attrs[key])[1:-1].split(", ") if s]
    return f"[{', '.join(shown)}]"


def unrealized(op: Op, name: Name) -> str:
    values = op.group("in")
    given = f"{', '.join(map(name, values))} : {_of(values)} " if values else ""
    return f"{op.name} {given}to {_of(op.results)}{_more(op)}"


def _leads_to(op: Op, name: Names) -> list[str]:
    """``^bb1(%a : T)`` for each successor."""
    out = []
    for k, block in enumerate(op.successors):
        values = passed(op, k)
        out.append(name.label(block) + (f"({', '.join(map(name, values))} : {_of(values)})" if values else ""))
    return out


def br(op: Op, name: Names) -> str:
    return f"{op.name} {_leads_to(op, name)[0]}{_more(op)}"


def cond_br(op: Op, name: Names) -> str:
    weights = op.attrs.get("branch_weights")
    shown = "" if weights is None else f" weights([{', '.join(map(str, integers(str(weights)) or ()))}])"
    listed = ", ".join(_leads_to(op, name))
    return f"{op.name} {name(op['condition'])}{shown}, {listed}{_more(op, 'branch_weights')}"


def switch(op: Op, name: Names) -> str:
    cases = ["default", *map(str, op.attrs["values"])]
    listed = ", ".join(f"{case}: {to}" for case, to in zip(cases, _leads_to(op, name)))
    return f"{op.name} {name(op['flag'])} : {op['flag'].type}, [{listed}]{_more(op, 'values', 'sizes')}"


def assertion(op: Op, name: Name) -> str:
    return f"{op.name} {name(op['condition'])}, {quote(op.attrs['msg'])}{_more(op, 'msg')}"


PRINTERS: dict[str, Callable[[Op, Names], str]] = {
    "arith.constant": constant,
    "arith.cmpi": compare,
    "arith.cmpf": compare,
    "arith.select": select,
    **dict.fromkeys(ARITH_BINARY, binary),
    **dict.fromkeys(ARITH_UNARY, unary),
    **dict.fromkeys(ARITH_EXTENDED, extended),
    **dict.fromkeys(ARITH_CASTS, cast),
    "scf.yield": terminator,
    "func.return": terminator,
    "scf.condition": condition,
    "func.call": call,
    "cf.br": br,
    "cf.cond_br": cond_br,
    "cf.switch": switch,
    "cf.assert": assertion,
    "memref.alloc": alloc,
    "memref.alloca": alloc,
    "memref.dealloc": dealloc,
    "memref.reinterpret_cast": reinterpret_cast,
    "memref.subview": memref_subview,
    "builtin.unrealized_conversion_cast": unrealized,
    **dict.fromkeys(LLVM, llvm),
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
