"""Printing of tile instructions: ``pto.name ins(...) outs(...) {attributes}`` (assembly 5, 6)."""

from __future__ import annotations

from collections.abc import Callable

from ptokit.ir import Op, Value
from ptokit.isa.table import Instr, Operand

from ..forms.operands import beside_values, keys_of
from ..forms.spelling import positional
from .written import attribute_dictionary


def print_dps(op: Op, instr: Instr, name: Callable[[Value], str]) -> str:
    """A tile instruction behind its name."""
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
    text = f" ins({_printed(ins, instr, name, shown)}"
    text += "".join(f" {o.form.word} {name(v)} : {v.type}" for o, v in worded)
    text += ")" if string is None else f', "{string.text}")'
    if outs:
        text += f" outs({_printed(outs, instr, name, '')})"
    if attrs and not inside:
        text += f" {attrs}"
    return text + print_trailing(op, instr, name)


def _may_have(instr: Instr, operand: Operand, op: Op) -> bool:
    """True if a form of the instruction has the operation's operands and this one."""
    present = {key for key, value in op.operands.items() if value is not None}
    return any(present | {operand.name} == set(form.split()) for form in instr.form.choices)


def _printed(values: list[Value], instr: Instr, name: Callable[[Value], str], attrs: str) -> str:
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
