"""Printing of operations whose written form is one line of the notation (`forms.notation`)."""

from __future__ import annotations

from collections.abc import Callable

from ptokit.ir import Op, Value
from ptokit.isa.table import Instr

from ..forms.notation import Element, Form, attr_named, compile_form, placed_attributes
from ..forms.spelling import attribute, positional

_COMMA: Form = (Element("=", ","),)


class _Printing:
    """Prints one operation after its form."""

    def __init__(self, op: Op, instr: Instr, name: Callable[[Value], str]) -> None:
        self.op, self.instr, self.name = op, instr, name
        self.out: list[str] = []
        self.placed: set[str] = set()

    def print(self, form: Form) -> None:
        for e in form:
            text = self._element(e)
            if text is None or text == "":
                continue
            glued = (e.flag == "~" and e.kind == "=") or e.kind == "D" or text in (",", ")", "]", "}")
            last = self.out[-1][-1] if self.out else ""
            self.out.append(text if glued or last in ("(", "[", "{") else " " + text)

    def _element(self, e: Element) -> str | None:
        op = self.op
        if e.kind == "=":
            return e.name
        if e.kind == "%":
            return ", ".join(map(self.name, op.group(e.name)))
        if e.kind == "T":
            return (", " if e.flag == "?" else "") + ", ".join(str(v.type) for v in op.group(e.name))
        if e.kind == "D":
            return f"<<<{', '.join(map(self.name, op.group(e.name)))}>>>"
        if e.kind == "R":
            if e.flag == ">":
                return f"-> {op.results[0].type}"
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
        if e.kind == "{":
            return attribute_dictionary(op, self.instr, self.placed)
        self.placed.add(e.name)
        value = op.attrs.get(e.name)
        if value is None and e.kind == "N":
            value = attr_named(self.instr, e.name).default
        if e.kind == "L":
            return ", ".join(map(str, value or ()))
        if e.kind == "W":
            return str(value)
        attr = attr_named(self.instr, e.name)
        return positional(attr, value, full=e.flag == "!" or e.kind == "N")

    def _present(self, group: Form) -> bool:
        """An optional group is printed if it holds something the operation has, or nothing but words."""
        named = [e for e in group if e.kind in "%ANLTW"]
        return not named or any(
            bool(self.op.group(e.name)) if e.kind in "%T" else self.op.attrs.get(e.name) is not None for e in named
        )


def attribute_dictionary(op: Op, instr: Instr, placed: set[str] | frozenset[str] = frozenset()) -> str:
    """``{key = value, ...}`` of the attributes that have no other place; empty if there are none."""
    parts = []
    by_name = {a.name: a for a in instr.text_attrs}
    for key, value in op.attrs.items():
        if key not in placed and value is not None:
            parts.append(attribute(key, value, by_name.get(key)))
    return "{" + ", ".join(parts) + "}" if parts else ""


def print_form(op: Op, instr: Instr, forms: tuple[str, ...], name: Callable[[Value], str]) -> str:
    """The operation behind its name, with a blank in front unless it is empty.

    Of several forms the first is taken all of whose operands it has.
    """
    printing = _Printing(op, instr, name)
    compiled = [compile_form(form) for form in forms]
    form = next((form for form in compiled if _has_operands(op, form)), compiled[0])
    printing.placed.update(placed_attributes(form))
    printing.print(form)
    return "".join(printing.out)


def _has_operands(op: Op, form: Form) -> bool:
    return all(e.flag or op.get(e.name) is not None for e in form if e.kind == "%")
