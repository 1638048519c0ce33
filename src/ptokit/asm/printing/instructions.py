"""Printing of instructions on tiles, registers and pointers (assembly 5, 6; vector-path 2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ptokit.ir import Op, Value
from ptokit.ir.control import passed
from ptokit.isa.table import ALSO, LEVEL1, Instr, Kind, Operand, Role
from ptokit.types.tile import TileSpec
from ptokit.types.values import result_list

from ..forms.attributes import at_name, attribute, integers, positional, quote
from ..forms.operands import (
    Element,
    Form,
    attr_named,
    beside_values,
    compile_form,
    first_source,
    fit,
    keys_of,
    operands_of,
    orders,
    placed_attributes,
    trailing_operands,
)
from ..forms.operations import FLAG_NAMES, flags_text
from .values import Names, ValueTile

# Printing of operations whose written form is one line of the notation (`forms.operands`).


_COMMA: Form = (Element("=", ","),)


class Printing:
    """Prints one operation after its form."""

    def __init__(self, op: Op, instr: Instr | None, form: Form, name: Callable[[Value], str]) -> None:
        self.op, self.instr, self.form, self.name = op, instr, form, name
        self.out: list[str] = []

    def print(self, form: Form) -> None:
        for e in form:
            text = e.name if e.kind == "=" else self.element(e)
            if not text:
                continue
            glued = text[0] in ",)]}" or (e.flag == "~" and e.kind == "=") or e.kind in "DZ"
            last = self.out[-1][-1] if self.out else ""
            self.out.append(text if glued or last in ("(", "[", "{") else " " + text)

    def element(self, e: Element) -> str | None:
        op = self.op
        if e.kind == "%":
            value = op.operands.get(e.name)
            return self.name(value) if isinstance(value, Value) else ", ".join(map(self.name, value or ()))
        if e.kind == "T":
            if e.flag == "+":
                return listed(op.group(e.name))
            types = ", ".join(str(v.type) for v in op.group(e.name))
            return f", {types}" if e.flag == "?" and types else types
        if e.kind == "D":
            return f"<<<{', '.join(map(self.name, op.group(e.name)))}>>>"
        if e.kind == "R":
            if e.flag == ">":
                return f"-> {op.results[0].type}"
            if e.flag == ",":
                return f", {op.results[-1].type}"
            if e.flag == "+":
                return result_list([r.type for r in op.results])
            if e.flag == "!":
                return listed(op.results)
            return None if e.more else ", ".join(str(r.type) for r in op.results)
        if e.kind == "?":
            if self.present(e.group):
                self.print(e.group)
            return None
        if e.kind == "&":
            present = [clause.group for clause in e.group if self.present(clause.group)]
            for k, group in enumerate(present):
                self.print((*_COMMA[: bool(k)], *group))
            return None
        if e.kind == "M":
            values = iter(op.group(e.name))
            shown = str(op.attrs[e.name])[1:-1].split(", ")
            return ", ".join(self.name(next(values)) if text == "?" else text for text in shown)
        if e.kind == "J":
            return self._block(e.name)
        if e.kind == "F":
            return flags_text(op.attrs)
        if e.kind == "{":
            return self._dictionary() if op.attrs and not e.flag else None
        value = op.attrs.get(e.name)
        if value is None and e.kind == "N" and self.instr is not None:
            value = attr_named(self.instr, e.name).default
        if e.kind == "L":
            return ", ".join(map(str, value if isinstance(value, list) else integers(str(value)) or ()))
        if e.kind in "WYQS":
            return {"Q": quote, "S": at_name}.get(e.kind, str)(str(value))
        assert self.instr is not None
        attr = attr_named(self.instr, e.name)
        return positional(attr, value, full=e.flag == "!" or e.kind == "N")

    def _dictionary(self) -> str:
        placed = {*placed_attributes(self.form), *(FLAG_NAMES if any(e.kind == "F" for e in self.form) else ())}
        return attribute_dictionary(self.op, self.instr, placed)

    def _block(self, name: str) -> str:
        """``^bb1(%a : T)`` of the successor that takes these operands."""
        groups = [key for key, value in self.op.operands.items() if isinstance(value, list)]
        return successor(self.op, groups.index(name), self.name)

    def present(self, group: Form) -> bool:
        """An optional group is printed if it holds something the operation has, or nothing but words."""
        named = [e for e in group if e.kind in "%ANLTW"]
        return not named or any(
            bool(self.op.group(e.name)) if e.kind in "%T" else self.op.attrs.get(e.name) is not None for e in named
        )


def listed(values: Sequence[Value]) -> str:
    """The types of values in parentheses."""
    return f"({', '.join(str(v.type) for v in values)})"


def successor(op: Op, k: int, name: Callable[[Value], str]) -> str:
    """``^bb1(%a : T)``: a block that a branch leads to, and what it passes."""
    assert isinstance(name, Names)
    values = passed(op, k)
    types = ", ".join(str(v.type) for v in values)
    return name.label(op.successors[k]) + (f"({', '.join(map(name, values))} : {types})" if values else "")


def attribute_dictionary(op: Op, instr: Instr | None, placed: set[str] | frozenset[str] = frozenset()) -> str:
    """``{key = value, ...}`` of the attributes that have no other place; empty if there are none."""
    if not op.attrs:
        return ""
    parts = []
    by_name = {a.name: a for a in instr.text_attrs} if instr is not None else {}
    for key, value in op.attrs.items():
        if key not in placed and value is not None:
            parts.append(attribute(key, value, by_name.get(key)))
    return "{" + ", ".join(parts) + "}" if parts else ""


def print_form(op: Op, instr: Instr, forms: tuple[str, ...], name: Callable[[Value], str]) -> str:
    """The operation after its name, with a blank in front unless it is empty.

    Of several forms the first is taken all of whose operands it has.
    """
    compiled = [compile_form(form) for form in forms]
    form = next((form for form in compiled if _has_operands(op, form)), compiled[0])
    return _printed(op, instr, form, name)


def print_structure(op: Op, form: str, name: Callable[[Value], str]) -> str:
    """An operation outside the instruction table after its name, with a blank in front unless it is empty."""
    return _printed(op, None, compile_form(form), name)


def _printed(op: Op, instr: Instr | None, form: Form, name: Callable[[Value], str]) -> str:
    printing = Printing(op, instr, form, name)
    printing.print(form)
    return "".join(printing.out)


def _has_operands(op: Op, form: Form) -> bool:
    return all(e.flag or op.get(e.name) is not None for e in form if e.kind == "%")


# Printing of operations on registers and pointers (vector-path 2).


_NAMED = frozenset(("loop", "pad"))
"""Groups whose word stands before their types too."""


def _order(op: Op, instr: Instr) -> list[Operand]:
    """The operands in the order of the table, or in that of the form that has exactly those of the operation."""
    present = {name for name, value in op.operands.items() if value is not None}
    if instr.form.choices:
        return [o for o in instr.operands if o.name in present]
    if any(o.name not in present and not o.optional and not o.variadic for o in instr.operands):
        order = instr.in_order(ALSO)
        if {o.name for o in order} == present:
            return order
    return list(instr.operands)


def print_micro(op: Op, instr: Instr, name: Callable[[Value], str]) -> str:
    """The operation after its name, with a blank in front."""
    parts: list[str] = []
    groups: list[str] = []
    types: list[str] = []
    tokens = [a for a in instr.attrs if a.token and op.attrs.get(a.name) is not None]
    for operand in _order(op, instr):
        values = op.group(operand.name)
        if not operand.form.group:
            parts += [quote(str(op.attrs[a.name])) for a in tokens if a.before == operand.name]
        if operand.form.offset:
            for value in values:
                parts[-1] += f"[{name(value)}]"
            if not operand.form.listed:
                continue
        elif not operand.form.group:
            parts += map(name, values)
        types += [str(v.type) for v in values] if not (operand.form.group or operand.form.implied) else []
    for word in dict.fromkeys(o.form.group for o in instr.operands if o.form.group):
        members = [o for o in instr.operands if o.form.group == word]
        values = [v for o in members for v in op.group(o.name)]
        size = members[0].variadic or max(1, len(values))
        for k in range(0, len(values), size):
            part = values[k : k + size]
            groups.append(f"{word}({', '.join(map(name, part))})")
            listed = [str(v.type) for v in part]
            types += [f"{word} {listed[0]}" if word in _NAMED else listed[0], *listed[1:]]
    parts += [quote(str(op.attrs[a.name])) for a in tokens if not a.before]
    text = " " + ", ".join(parts) if parts else ""
    text += "".join(f" {group}" for group in groups)
    attrs = attribute_dictionary(op, instr, {a.name for a in tokens})
    text += f" {attrs}" if attrs else ""
    results = ", ".join(str(v.type) for v in op.results)
    if types:
        text += f" : {', '.join(types)}"
        return f"{text} -> {results}" if results else text
    return f"{text} : {results}" if results else text


# Printing of tile instructions: ``pto.name ins(...) outs(...) {attributes}`` (assembly 5, 6).


def print_dps(op: Op, instr: Instr, name: Callable[[Value], str]) -> str:
    """A tile instruction after its name."""
    worded = [(o, v) for o in instr.ins if o.form.word for v in op.group(o.name)]
    ins = [v for o in instr.ins if not o.form.word for v in op.group(o.name)]
    outs = [v for o in instr.outs for v in op.group(o.name)]
    comma = instr.form.syntax == "dps-comma"
    inside = instr.form.syntax == "dps-attrs-in" or (comma and len(outs) == 1)
    placed = {"scalar_first"} if instr.form.syntax == "dps-either" else set[str]()
    placed.update(e.name for e in instr.form.trailing)
    if instr.form.syntax == "dps-either" and op.attrs.get("scalar_first"):
        ins.reverse()
    beside = beside_values(instr.name).beside
    string = op.attrs.get(beside.name) if beside is not None and op.attrs.get("mask") is not None else None
    if beside is not None and string is not None:
        placed.add(beside.name)
    attrs = attribute_dictionary(op, instr, placed)
    shown = f"{',' if comma else ''} {attrs}" if inside and attrs else ""
    for absent in beside_values(instr.name).absent.values():
        if len(ins) > 1 and op.get(absent.name) is None and _may_have(instr, absent, op):
            shown = f" {absent.form.absent}{shown}"
    text = f" ins({_printed_values(ins, instr, name, shown)}"
    text += "".join(f" {o.form.word} {name(v)} : {v.type}" for o, v in worded)
    text += ")" if string is None else f', "{string.text}")'
    if outs:
        text += f" outs({_printed_values(outs, instr, name, '')})"
    if attrs and not inside:
        text += f" {attrs}"
    return text + print_trailing(op, instr, name)


def _may_have(instr: Instr, operand: Operand, op: Op) -> bool:
    """True if a form of the instruction has the operation's operands and this one."""
    present = {key for key, value in op.operands.items() if value is not None}
    return any(present | {operand.name} == set(form.split()) for form in instr.form.choices)


def _printed_values(values: list[Value], instr: Instr, name: Callable[[Value], str], attrs: str) -> str:
    if instr.form.syntax == "dps-typed":
        return ", ".join(f"{name(v)} : {v.type}" for v in values)
    if not values:
        return ""
    named = ", ".join(map(name, values))
    return f"{named}{attrs} : {', '.join(str(v.type) for v in values)}"


def print_trailing(op: Op, instr: Instr, name: Callable[[Value], str]) -> str:
    """The same, each with a blank in front, and the type of the result."""
    parts = []
    for key, entry in keys_of(instr.name).items():
        if isinstance(entry, Operand):
            value = op.get(entry.name)
            if value is not None:
                parts.append(f" {key} = {name(value)} : {value.type}")
        elif op.attrs.get(entry.name) is not None:
            attr = entry if entry.mnemonic else None
            parts.append(f" {key} = {positional(attr, op.attrs[entry.name], full=False)}")
    if instr.form.tensor and op.results:
        parts.append(f" -> {op.result.type}")
    return "".join(parts)


# Printing of tile instructions as statements: ``%d = pto.tadd %a, %b {attributes} : (T, T) -> T`` (assembly 5).


NO_PARTS: Mapping[Value, tuple[Value, Sequence[Value]]] = {}


def written_order(instr: Instr, *, destinations: bool) -> list[Operand]:
    """Operands in the order of a statement: tiles written (in place, or all: `destinations`), sources, views."""
    ins, outs, _ = operands_of(instr.name)
    tiles = [o for o in outs if o.kind is Kind.TILE and (destinations or o.role is Role.INOUT)]
    views = [o for o in outs if o.kind is Kind.VIEW]
    return instr.in_order(LEVEL1) or [*(tiles if not views else ()), *ins, *views]


def lacks_scratch(op: Op, instr: Instr) -> bool:
    """True if reading a statement would supply a scratch tile that the operation does not have (rule 5)."""
    return instr.supplied is not None and op.get(instr.supplied.name) is None


def obstacle(op: Op, instr: Instr, *, destinations: bool) -> str:
    """Why reading the operation's statement would not give the same operation; empty if it would.

    A statement has no place for what follows ``outs`` in level 2, and tells operands by their types: a view where
    a tile belongs would be taken for another operand.
    """
    if op.results:
        return f"gives a result of type {op.result.type} beside what it writes"
    source = first_source(instr, op.operands)
    if lacks_scratch(op, instr) and source is not None and isinstance(source.type, TileSpec) and source.type.dynamic:
        return f"has no scratch tile, and %{source.name}, after which reading would supply one, has open valid sizes"
    for operand in trailing_operands(instr):
        if op.get(operand.name) is not None:
            return f"has {operand.name}"
    written = [(o.name, v) for o in written_order(instr, destinations=destinations) for v in op.group(o.name)]
    swapped = instr.form.syntax == "dps-either" and bool(op.attrs.get("scalar_first"))
    if swapped:
        written[-2:] = reversed(written[-2:])
    views = any(o.kind is Kind.VIEW for o in instr.outs)
    types = [v.type.spec if isinstance(v.type, ValueTile) else v.type for _, v in written]
    found = fit(instr, orders(instr, not destinations or views), types)
    names: list[str] = []
    if found is not None:
        names = [o.name for o, count in zip(*found[:2]) for _ in range(count)]
        if found[2]:
            names[-2:] = reversed(names[-2:])
    if names == [name for name, _ in written] and found is not None and found[2] == swapped:
        return ""
    return f"with ({', '.join(map(str, types))}) would be read as something else, or not at all"


def print_statement(
    op: Op,
    instr: Instr,
    name: Callable[[Value], str],
    *,
    destinations: bool = False,
    results: Sequence[Value] | None = None,
    parts: Mapping[Value, tuple[Value, Sequence[Value]]] = NO_PARTS,
) -> str:
    """The statement after its name, with a blank in front.

    ``destinations``: the first operands are the tiles it writes, and it has no results. ``results``: other
    values than its own results. ``parts``: views that are written as a tensor and the place in it.
    """
    values = [v for o in written_order(instr, destinations=destinations) for v in op.group(o.name)]
    placed = frozenset(("scalar_first",)) if instr.form.syntax == "dps-either" else frozenset[str]()
    if placed and op.attrs.get("scalar_first"):
        values[-2:] = reversed(values[-2:])
    shown: list[str] = []
    types: list[str] = []
    for value in values:
        base, at = parts.get(value, (value, ()))
        shown.append(name(base) + (f"[{', '.join(map(name, at))}]" if at else ""))
        types += [str(base.type), *(str(i.type) for i in at)]
    attrs = attribute_dictionary(op, instr, placed)
    text = f" {', '.join(shown)}{' ' + attrs if attrs else ''} : ({', '.join(types)})"
    if destinations:
        return text
    made = [str(r.type) for r in (op.results if results is None else results)]
    return f"{text} -> {made[0]}" if len(made) == 1 else f"{text} -> ({', '.join(made)})"
