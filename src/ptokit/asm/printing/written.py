"""Printing of operations whose written form is one line of the notation (`forms.notation`)."""

from __future__ import annotations

from collections.abc import Callable

from ptokit.ir import Op, Value
from ptokit.ir.control import passed
from ptokit.isa.table import Instr
from ptokit.types.values import result_list

from ..forms.arith import FLAG_NAMES, flags_text
from ..forms.attributes import integers
from ..forms.notation import Element, Form, attr_named, compile_form, placed_attributes
from ..forms.spelling import attribute, positional, quote, symbol
from .names import Names

_COMMA: Form = (Element("=", ","),)


class _Printing:
    """Prints one operation after its form."""

    def __init__(self, op: Op, instr: Instr | None, form: Form, name: Callable[[Value], str]) -> None:
        self.op, self.instr, self.form, self.name = op, instr, form, name
        self.out: list[str] = []

    def print(self, form: Form) -> None:
        for e in form:
            text = e.name if e.kind == "=" else self._element(e)
            if not text:
                continue
            glued = text[0] in ",)]}" or (e.flag == "~" and e.kind == "=") or e.kind == "D"
            last = self.out[-1][-1] if self.out else ""
            self.out.append(text if glued or last in ("(", "[", "{") else " " + text)

    def _element(self, e: Element) -> str | None:
        op = self.op
        if e.kind == "%":
            value = op.operands.get(e.name)
            return self.name(value) if isinstance(value, Value) else ", ".join(map(self.name, value or ()))
        if e.kind == "T":
            types = ", ".join(str(v.type) for v in op.group(e.name))
            if e.flag == "+":
                return f"({types})"
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
            return None if e.more else ", ".join(str(r.type) for r in op.results)
        if e.kind == "?":
            if self._present(e.group):
                self.print(e.group)
            return None
        if e.kind == "&":
            present = [clause.group for clause in e.group if self._present(clause.group)]
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
            return self._dictionary() if op.attrs else None
        value = op.attrs.get(e.name)
        if value is None and e.kind == "N" and self.instr is not None:
            value = attr_named(self.instr, e.name).default
        if e.kind == "L":
            return ", ".join(map(str, value if isinstance(value, list) else integers(str(value)) or ()))
        if e.kind in "WYQS":
            return {"Q": quote, "S": symbol}.get(e.kind, str)(str(value))
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

    def _present(self, group: Form) -> bool:
        """An optional group is printed if it holds something the operation has, or nothing but words."""
        named = [e for e in group if e.kind in "%ANLTW"]
        return not named or any(
            bool(self.op.group(e.name)) if e.kind in "%T" else self.op.attrs.get(e.name) is not None for e in named
        )


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
    """The operation behind its name, with a blank in front unless it is empty.

    Of several forms the first is taken all of whose operands it has.
    """
    compiled = [compile_form(form) for form in forms]
    form = next((form for form in compiled if _has_operands(op, form)), compiled[0])
    return _printed(op, instr, form, name)


def print_structure(op: Op, form: str, name: Callable[[Value], str]) -> str:
    """An operation outside the instruction table behind its name, with a blank in front unless it is empty."""
    return _printed(op, None, compile_form(form), name)


def _printed(op: Op, instr: Instr | None, form: Form, name: Callable[[Value], str]) -> str:
    printing = _Printing(op, instr, form, name)
    printing.print(form)
    return "".join(printing.out)


def _has_operands(op: Op, form: Form) -> bool:
    return all(e.flag or op.get(e.name) is not None for e in form if e.kind == "%")
