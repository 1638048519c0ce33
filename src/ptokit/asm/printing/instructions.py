"""Printing of instructions on tiles, registers and pointers (assembly 5, 6; vector-path 2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from ptokit.ir import Op, Value
from ptokit.ir.control import passed
from ptokit.isa.table import ALSO, LEVEL1, TABLE, Attr, Instr, Kind, Operand, Role
from ptokit.types.tile import TileSpec
from ptokit.types.values import result_list

from ..forms.attributes import at_name, attribute, integers, positional, quote
from ..forms.operands import (
    Element,
    Form,
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
    """Prints one operation after its form. Subclasses have further kinds of elements."""

    __slots__ = ("op", "instr", "form", "name", "out")

    shown: dict[str, Callable[[Any, Element], str | None]] = {}
    """The text of an element by kind; nothing where it has been printed already, or is absent."""

    def __init__(self, op: Op, instr: Instr | None, form: Form, name: Callable[[Value], str]) -> None:
        self.op, self.instr, self.form, self.name = op, instr, form, name
        self.out: list[str] = []

    def print(self, form: Form) -> None:
        out, shown = self.out, self.shown
        for e in form:
            kind = e.kind
            text = e.name if kind == "=" else shown[kind](self, e)
            if text:
                glued = text[0] in ",)]}" or (kind == "=" and e.flag == "~") or kind in "DZ"
                out.append(text if glued or (out and out[-1][-1] in "([{") else " " + text)

    def _operand(self, e: Element) -> str:
        value = self.op.operands.get(e.name)
        return self.name(value) if isinstance(value, Value) else ", ".join(map(self.name, value or ()))

    def _types(self, e: Element) -> str:
        values = self.op.group(e.name)
        if e.flag == "+":
            return listed(values)
        types = ", ".join([str(v.type) for v in values])
        return f", {types}" if e.flag == "?" and types else types

    def _sizes(self, e: Element) -> str:
        return f"<<<{', '.join(map(self.name, self.op.group(e.name)))}>>>"

    def _results(self, e: Element) -> str | None:
        results = self.op.results
        if e.flag == ">":
            return f"-> {results[0].type}"
        if e.flag == ",":
            return f", {results[-1].type}"
        if e.flag == "+":
            return result_list([r.type for r in results])
        if e.flag == "!":
            return listed(results)
        return None if e.more else ", ".join([str(r.type) for r in results])

    def _optional(self, e: Element) -> None:
        if self.present(e.group):
            self.print(e.group)

    def _clauses(self, e: Element) -> None:
        present = [clause.group for clause in e.group if self.present(clause.group)]
        for k, group in enumerate(present):
            self.print((*_COMMA[: bool(k)], *group))

    def _mixed(self, e: Element) -> str:
        values = iter(self.op.group(e.name))
        shown = str(self.op.attrs[e.name])[1:-1].split(", ")
        return ", ".join(self.name(next(values)) if text == "?" else text for text in shown)

    def _block(self, e: Element) -> str:
        """``^bb1(%a : T)`` of the successor that takes these operands."""
        groups = [key for key, value in self.op.operands.items() if isinstance(value, list)]
        return successor(self.op, groups.index(e.name), self.name)

    def _flags(self, e: Element) -> str:
        return flags_text(self.op.attrs)

    def _dictionary(self, e: Element) -> str | None:
        if e.flag or not self.op.attrs:
            return None
        placed = {*placed_attributes(self.form), *(FLAG_NAMES if any(e.kind == "F" for e in self.form) else ())}
        return attribute_dictionary(self.op, self.instr, placed)

    def _integers(self, e: Element) -> str:
        value = self.op.attrs.get(e.name)
        return ", ".join(map(str, value if isinstance(value, list) else integers(str(value)) or ()))

    def _word(self, e: Element) -> str:
        return str(self.op.attrs.get(e.name))

    def _quoted(self, e: Element) -> str:
        return quote(self._word(e))

    def _symbol(self, e: Element) -> str:
        return at_name(self._word(e))

    def _attribute(self, e: Element) -> str:
        assert self.instr is not None
        attr, value = self.instr.attribute(e.name), self.op.attrs.get(e.name)
        if e.kind == "N":
            return positional(attr, attr.default if value is None else value, full=True)
        return positional(attr, value, full=e.flag == "!")

    shown.update(
        {
            "%": _operand,
            "T": _types,
            "D": _sizes,
            "R": _results,
            "?": _optional,
            "&": _clauses,
            "M": _mixed,
            "J": _block,
            "F": _flags,
            "{": _dictionary,
            "L": _integers,
            "W": _word,
            "Y": _word,
            "Q": _quoted,
            "S": _symbol,
            "A": _attribute,
            "N": _attribute,
        }
    )

    def present(self, group: Form) -> bool:
        """An optional group is printed if it holds something the operation has, or nothing but words."""
        named = False
        for e in group:
            if e.kind in "%T":
                if self.op.group(e.name):
                    return True
            elif e.kind not in "ANLW":
                continue
            elif self.op.attrs.get(e.name) is not None:
                return True
            named = True
        return not named


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
    by_name = instr.text_attrs if instr is not None else {}
    for key, value in op.attrs.items():
        if key not in placed and value is not None:
            parts.append(attribute(key, value, by_name.get(key)))
    return "{" + ", ".join(parts) + "}" if parts else ""


def print_form(op: Op, instr: Instr, forms: tuple[str, ...], name: Callable[[Value], str]) -> str:
    """The operation after its name, with a blank in front unless it is empty.

    Of several forms the first is taken all of whose operands it has.
    """
    form = compile_form(forms[0])
    if len(forms) > 1:
        form = next((other for other in map(compile_form, forms) if _has_operands(op, other)), form)
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


class _Places(NamedTuple):
    """What is the same for all tile instructions of a name: where their operands and attributes are written."""

    ins: tuple[str, ...]
    worded: tuple[tuple[str, str], ...]  # operands that follow a word
    outs: tuple[str, ...]
    comma: bool  # before the attributes
    inside: bool  # the attributes are in ``ins``
    either: bool  # the first two in either order
    typed: bool  # each with its type
    placed: frozenset[str]  # attributes with a place of their own
    absent: tuple[Operand, ...]
    beside: str
    trailing: tuple[tuple[str, Operand | Attr], ...]
    tensor: bool


@cache
def _places(name: str) -> _Places:
    instr, beside = TABLE[name], beside_values(name)
    syntax = instr.form.syntax
    either = syntax == "dps-either"
    return _Places(
        tuple(o.name for o in instr.ins if not o.form.word),
        tuple((o.name, o.form.word) for o in instr.ins if o.form.word),
        tuple(o.name for o in instr.outs),
        syntax == "dps-comma",
        syntax == "dps-attrs-in",
        either,
        syntax == "dps-typed",
        frozenset((*(e.name for e in instr.form.trailing), *(("scalar_first",) if either else ()))),
        tuple(beside.absent.values()),
        beside.beside.name if beside.beside is not None else "",
        tuple(keys_of(name).items()),
        instr.form.tensor,
    )


def print_dps(op: Op, instr: Instr, name: Callable[[Value], str]) -> str:
    """A tile instruction after its name."""
    places = _places(instr.name)
    ins, outs = _values(op, places.ins), _values(op, places.outs)
    placed = places.placed
    if places.either and op.attrs.get("scalar_first"):
        ins.reverse()
    string = op.attrs.get(places.beside) if places.beside and op.attrs.get("mask") is not None else None
    if string is not None:
        placed |= {places.beside}
    attrs = attribute_dictionary(op, instr, placed) if op.attrs else ""
    inside = places.inside or (places.comma and len(outs) == 1)
    shown = f"{',' if places.comma else ''} {attrs}" if inside and attrs else ""
    for absent in places.absent:
        if len(ins) > 1 and op.get(absent.name) is None and _may_have(instr, absent, op):
            shown = f" {absent.form.absent}{shown}"
    text = f" ins({_printed_values(ins, places, name, shown)}"
    for key, word in places.worded:
        text += "".join([f" {word} {name(v)} : {v.type}" for v in op.group(key)])
    text += ")" if string is None else f', "{string.text}")'
    if outs:
        text += f" outs({_printed_values(outs, places, name, '')})"
    if attrs and not inside:
        text += f" {attrs}"
    return text + print_trailing(op, instr, name) if places.trailing or places.tensor else text


def _values(op: Op, names: tuple[str, ...]) -> list[Value]:
    """The operands of these names, groups flattened."""
    out: list[Value] = []
    for name in names:
        value = op.operands.get(name)
        if isinstance(value, list):
            out += value
        elif value is not None:
            out.append(value)
    return out


def _may_have(instr: Instr, operand: Operand, op: Op) -> bool:
    """True if a form of the instruction has the operation's operands and this one."""
    present = {key for key, value in op.operands.items() if value is not None}
    return any(present | {operand.name} == set(form.split()) for form in instr.form.choices)


def _printed_values(values: list[Value], places: _Places, name: Callable[[Value], str], attrs: str) -> str:
    if places.typed:
        return ", ".join([f"{name(v)} : {v.type}" for v in values])
    if not values:
        return ""
    if len(values) == 1:
        return f"{name(values[0])}{attrs} : {values[0].type}"
    return f"{', '.join(map(name, values))}{attrs} : {', '.join([str(v.type) for v in values])}"


def print_trailing(op: Op, instr: Instr, name: Callable[[Value], str]) -> str:
    """What follows ``outs``, each with a blank in front, and the type of the result."""
    places, parts = _places(instr.name), []
    for key, entry in places.trailing:
        if isinstance(entry, Operand):
            value = op.get(entry.name)
            if value is not None:
                parts.append(f" {key} = {name(value)} : {value.type}")
        elif op.attrs.get(entry.name) is not None:
            attr = entry if entry.mnemonic else None
            parts.append(f" {key} = {positional(attr, op.attrs[entry.name], full=False)}")
    if places.tensor and op.results:
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
