"""Printing of operations on registers and pointers (vector-path 2)."""

from __future__ import annotations

from collections.abc import Callable

from ptokit.ir import Op, Value
from ptokit.isa.table import ALSO, Instr, Operand

from ..forms.spelling import quote
from .written import attribute_dictionary

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
    """The operation behind its name, with a blank in front."""
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
