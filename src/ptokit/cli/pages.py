"""``ptokit isa`` and ``ptokit explain``: pages of instructions and rules."""

from __future__ import annotations

from .console import remark, show_parts


def show_instruction(name: str | None) -> None:
    """The page of an instruction, or a list of all. An unknown name is a usage error."""
    from ptokit.api.instruction import isa, listing

    show_parts([listing()] if name is None else isa(name).parts())


def show_rule(id: str | None) -> None:
    """The page of a rule, or of an open reading of an instruction, or a list of all rules.

    An unknown id is a usage error.
    """
    from ptokit.api.rule import explain, listing
    from ptokit.diagnostics import CATALOGUE

    if id is None:
        show_parts(listing())
        remark(f"\n{len(CATALOGUE)} rules; 'ptokit explain RULE-ID' shows one of them")
        return
    page = explain(id)
    show_parts(page.parts())
    if page.id not in CATALOGUE:
        remark(f"\n'ptokit isa {page.id}' shows the instruction")
