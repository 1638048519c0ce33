"""``ptokit isa``: the reference pages, made from the instruction table."""

from __future__ import annotations

import ptokit.isa.all  # noqa: F401  (fills the table)
from ptokit.asm.instruction_forms import text_forms
from ptokit.isa.reference import attr_rows, facts, operand_rows, pipe_text, type_rows
from ptokit.isa.table import BY_TEXT, TABLE, Instr

from .console import bold, paragraph, say, table
from .lookup import unknown


def list_instructions() -> None:
    """One line per instruction."""
    table(
        ("instruction", "text", "pipe", "summary"),
        [(i.name, f"pto.{i.text}", pipe_text(i), i.summary) for i in TABLE.values()],
    )


def named(name: str) -> Instr | None:
    """The instruction with this C++ or text name, in any case."""
    by_name = {key.lower(): instr for key, instr in [*BY_TEXT.items(), *TABLE.items()]}
    return by_name.get(name.lower().removeprefix("pto."))


def find(name: str) -> Instr:
    """`named`; an unknown name is a usage error."""
    instr = named(name)
    if instr is None:
        raise unknown("instruction", name, TABLE, "ptokit isa", "NAME")
    return instr


def show_instruction(name: str) -> None:
    """The page of one instruction."""
    instr = find(name)
    results = ", ".join(result.name for result in instr.produces)
    say(f"{bold(f'{results} = ' * bool(results) + instr.signature)}    pto.{instr.text}")
    paragraph(instr.summary)
    say()
    for word, text in facts(instr).items():
        paragraph(text, first=word, indent=9)
    say()
    table(("form", "text"), list(text_forms(instr).items()))
    if instr.operands or instr.produces:
        say()
        table(("operand", "direction", "kind", ""), operand_rows(instr))
    if instr.attrs:
        say()
        table(("attribute", "text key", "values", "default"), attr_rows(instr))
    if instr.types:
        say()
        table(("target", "element types"), type_rows(instr))
    if instr.rules:
        say()
        table(("rule", "targets", "what must hold"), [(r.id, " ".join(r.targets), r.what) for r in instr.rules])
