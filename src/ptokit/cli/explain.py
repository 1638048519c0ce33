"""``ptokit explain``: what is behind a rule id."""

from __future__ import annotations

from ptokit.diagnostics import Rule, Scope, catalogue, lookup

from .catalogue import load_catalogue
from .console import bold, paragraph, say, table
from .lookup import unknown

_SCOPES = {
    Scope.ISA: "the instruction set",
    Scope.ASSEMBLER: "the reference assembler, for .pto text",
    Scope.TEXT: "reading .pto text",
    Scope.RUN: "arguments, launch and execution",
    Scope.SYNC: "ordering, initialisation and flags",
}


def list_rules() -> None:
    """One line per rule."""
    load_catalogue()
    table(("rule", "targets", "what must hold"), [(r.id, " ".join(r.targets), r.what) for r in catalogue()])


def show_rule(id: str) -> None:
    """The page of one rule. An unknown id is a usage error."""
    load_catalogue()
    try:
        rule = lookup(id)
    except KeyError:
        raise unknown("rule", id, (r.id for r in catalogue()), "ptokit explain") from None
    show(rule)


def show(rule: Rule) -> None:
    """The page of `rule`."""
    paragraph(f"{bold(rule.id)}  {rule.what}")
    say()
    facts = {
        "severity": str(rule.severity),
        "targets": ", ".join(rule.targets),
        "about": _SCOPES[rule.scope],
        "source": rule.source,
    }
    for word, text in facts.items():
        if text:
            paragraph(text, first=word, indent=10)
    for title, text in (("Why", rule.why), ("Reading chosen by ptokit, sources leave it open", rule.decision)):
        if text:
            say(f"\n{bold(title)}")
            paragraph(" ".join(text.split()), first="", indent=4)
    for title, text in (("Accepted", rule.accepted), ("Rejected", rule.rejected)):
        if text:
            say(f"\n{bold(title)}")
            for line in text.strip("\n").splitlines():
                say(f"    {line}")
