"""``ptokit isa``: the reference pages, made from the instruction table."""

from __future__ import annotations

from enum import Enum
from typing import Any

import ptokit.isa.all  # noqa: F401  (fills the table)
from ptokit.diagnostics import Rule
from ptokit.isa.table import BY_TEXT, TABLE, Attr, Instr, Operand
from ptokit.types.dtypes import DTYPES, DType
from ptokit.types.enums import Pipe

from .console import bold, paragraph, say, table
from .lookup import unknown


def list_instructions() -> None:
    """One line per instruction."""
    table(
        ("instruction", "text", "pipe", "summary"),
        [(i.name, f"pto.{i.text}", pipe_text(i), i.summary) for i in TABLE.values()],
    )


def find(name: str) -> Instr:
    """The instruction with this C++ or text name, in any case. An unknown name is a usage error."""
    wanted = name.lower().removeprefix("pto.")
    by_name = {key.lower(): instr for key, instr in [*BY_TEXT.items(), *TABLE.items()]}
    if wanted not in by_name:
        raise unknown("instruction", name, TABLE, "ptokit isa")
    return by_name[wanted]


def show_instruction(name: str) -> None:
    """The page of one instruction."""
    instr = find(name)
    say(f"{bold(instr.signature)}    pto.{instr.text}")
    paragraph(instr.summary)
    say()
    facts = {
        "pipe": pipe_text(instr),
        "also": ", ".join(f"pto.{spelling}" for spelling in instr.spellings),
        "source": instr.source,
    }
    for word, text in facts.items():
        if text:
            paragraph(text, first=word, indent=9)
    if instr.operands:
        say()
        table(("operand", "direction", "kind", ""), [_operand_row(o) for o in instr.operands])
    if instr.attrs:
        say()
        table(("attribute", "text key", "values", "default"), [_attr_row(a) for a in instr.attrs])
    if instr.types:
        say()
        table(("target", "element types"), [_type_row(*item) for item in instr.types.items()])
    if instr.rules:
        say()
        table(("rule", "targets", "what must hold"), [_rule_row(r) for r in instr.rules])


def pipe_text(instr: Instr) -> str:
    """The pipe, or that it depends on the operands."""
    return instr.pipe.name if isinstance(instr.pipe, Pipe) else "by operands"


def _operand_row(operand: Operand) -> tuple[str, ...]:
    remarks = [word for word, true in (("optional", operand.optional), ("list", operand.variadic)) if true]
    return operand.name, str(operand.role), str(operand.kind), ", ".join(remarks)


def _attr_row(attr: Attr) -> tuple[str, ...]:
    return attr.name, attr.key or attr.name, _values(attr), _value_text(attr.default)


def _values(attr: Attr) -> str:
    if issubclass(attr.kind, Enum):
        return ", ".join(member.name for member in attr.kind)
    return "true, false" if attr.kind is bool else attr.kind.__name__


def _value_text(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return str(value).lower()
    return value.name if isinstance(value, Enum) else str(value)


def _type_row(target: str, dtypes: frozenset[DType]) -> tuple[str, ...]:
    return target, " ".join(name for name, dtype in DTYPES.items() if dtype in dtypes) or "-"


def _rule_row(rule: Rule) -> tuple[str, ...]:
    return rule.id, " ".join(rule.targets), rule.what
