"""``ptokit explain``: what is behind a rule id."""

from __future__ import annotations

import typer

from ptokit.diagnostics import Rule, Scope, catalogue, lookup
from ptokit.diagnostics.evidence import WORDS
from ptokit.isa.table import TABLE, Instr
from ptokit.targets import TARGETS

from .catalogue import load_catalogue
from .console import bold, paragraph, remark, say
from .families import by_family
from .isa import named
from .lookup import unknown

_SCOPES = {
    Scope.ISA: "the instruction set",
    Scope.ASSEMBLER: "the reference assembler, for .pto text",
    Scope.TEXT: "reading .pto text",
    Scope.RUN: "arguments, launch and execution",
    Scope.SYNC: "ordering, initialisation and flags",
}
_NEVER = "never enforced"
_READING = "Reading chosen by ptokit, sources leave it open"
_FEW = 8  # instructions named on the page of a rule


def list_rules() -> None:
    """One line per rule, by family."""
    load_catalogue()
    rules = catalogue()
    for number, (title, group) in enumerate(by_family(rules).items()):
        say(("\n" if number else "") + bold(f"{title}: {_count(len(group), 'rule')}"))
        width = max(len(rule.id) for rule in group)
        for rule in group:
            text = rule.what if rule.enforced else f"{rule.what} ({_NEVER})"
            first = f"  {rule.id.ljust(width)}  {_short(rule.targets)}  "
            paragraph(text, first=first, indent=len(first))
    remark(f"\n{_count(len(rules), 'rule')}; 'ptokit explain RULE-ID' shows one of them")


def show_rule(id: str) -> None:
    """The page of one rule. An unknown id is a usage error."""
    load_catalogue()
    try:
        rule = lookup(id)
    except KeyError:
        instr = named(id)
        if instr is None:
            raise unknown("rule", id, (r.id for r in catalogue()), "ptokit explain", "RULE-ID") from None
        if not instr.decision:
            raise typer.BadParameter(
                f"{id!r} is an instruction, not a rule: 'ptokit isa {instr.name}' shows its page.", param_hint="RULE-ID"
            ) from None
        show_reading(instr)
        return
    show(rule)


def show_reading(instr: Instr) -> None:
    """What ptokit takes an instruction to mean where the sources leave it open."""
    paragraph(f"{bold(instr.name)}  {instr.summary}")
    say(f"\n{bold(_READING)}")
    paragraph(instr.decision, first="", indent=4)
    remark(f"\n'ptokit isa {instr.name}' shows the instruction")


def show(rule: Rule) -> None:
    """The page of `rule`."""
    paragraph(f"{bold(rule.id)}  {rule.what}")
    say()
    users = [name for name, instr in TABLE.items() if rule.id in _bound(instr)]
    more = f" and {len(users) - _FEW} more" if len(users) > _FEW else ""
    facts = {
        "severity": str(rule.severity) if rule.enforced else f"{_NEVER}: no case that can occur breaks it",
        "targets": ", ".join(rule.targets),
        "about": _SCOPES[rule.scope],
        "used by": ", ".join(users[:_FEW]) + more,
        "said by": ", ".join(rule.covered_by),
        "evidence": ", ".join(WORDS[kind] for kind in rule.evidence),
        "source": rule.source,
    }
    for word, text in facts.items():
        if text:
            paragraph(text, first=word, indent=10)
    for title, text in (("Why", rule.why), (_READING, rule.decision)):
        if text:
            say(f"\n{bold(title)}")
            paragraph(" ".join(text.split()), first="", indent=4)
    for title, text in (("Accepted", rule.accepted), ("Rejected", rule.rejected)):
        if text:
            say(f"\n{bold(title)}")
            for line in text.strip("\n").splitlines():
                paragraph(line, indent=4)


def _bound(instr: Instr) -> set[str]:
    """The rules of an instruction on all targets together."""
    added = (rule for target in TARGETS.values() for rule in target.own_rules(instr.name))
    return {rule.id for rule in (*instr.rules, *added)}


def _short(targets: tuple[str, ...]) -> str:
    """The targets of a rule in a column of their own: ``cpu a2a3 a5``, blanks where it does not bind."""
    return " ".join(name if name in targets else " " * len(name) for name in ("cpu", "a2a3", "a5"))


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"
