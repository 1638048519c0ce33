"""`explain`: what is behind a rule id."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import overload

from ptokit.diagnostics import ALL_TARGETS, Rule, Scope, catalogue, lookup
from ptokit.diagnostics.evidence import WORDS
from ptokit.diagnostics.render import link_to
from ptokit.diagnostics.render import page_of as page_of_rule
from ptokit.isa.reference import all_rules, symbols
from ptokit.isa.table import TABLE
from ptokit.records import dataclass
from ptokit.targets import TARGETS

from .errors import UsageError
from .findings import load_catalogue
from .instruction import by_family, named
from .parts import Part, Words, html, pages_of, plain, unknown

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


@dataclass(frozen=True)
class RulePage:
    """The page of a rule.

    ``what`` must hold on the ``targets``; ``about``: who states it; ``used_by``: names of instructions; ``said_by``:
    rules that say the same; ``evidence``: what stands behind it; ``source``: where it is from; ``decision``: the
    reading chosen where sources leave it open. ``accepted``, ``refused``: programs for the target ``shown_for``;
    ``said``: what is said of the refused one, where the page is asked for by its id; ``reported_as``: rules that
    findings name instead.
    The page of an instruction has its name for an id, and its reading.
    """

    id: str
    what: str
    severity: str = ""
    targets: tuple[str, ...] = ()
    about: str = ""
    used_by: tuple[str, ...] = ()
    said_by: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    source: str = ""
    why: str = ""
    decision: str = ""
    shown_for: str = ""
    accepted: str = ""
    refused: str = ""
    said: tuple[str, ...] = ()
    reported_as: str = ""

    @property
    def page(self) -> str:
        """The page of a rule in the documentation: a link where it is known where that is, else a path below it."""
        return (link_to(page_of_rule(self.id)) or page_of_rule(self.id)) if self.severity else ""

    def parts(self) -> Iterator[Part]:
        """What the terminal shows."""
        yield Words(f"  {self.what}", strong=self.id)
        more = f" and {len(self.used_by) - _FEW} more" if len(self.used_by) > _FEW else ""
        facts = {
            "severity": self.severity,
            "targets": ", ".join(self.targets),
            "about": self.about,
            "used by": ", ".join(self.used_by[:_FEW]) + more,
            "said by": ", ".join(self.said_by),
            "found as": ", ".join(self.reported_as.split()),
            "evidence": ", ".join(self.evidence),
            "source": self.source,
            "to read": "; ".join(pages_of(self.source)),
            "page": self.page,
        }
        if any(facts.values()):
            yield Words()
        for word, text in facts.items():
            if text:
                yield Words(text, first=word, indent=10)
        for title, text in (("Why", self.why), (_READING, self.decision)):
            if text:
                yield from (Words(), Words(strong=title), Words(" ".join(text.split()), indent=4))
        on = f" on {self.shown_for}" if len(self.targets) > 1 and self.shown_for else ""
        for title, program, said in (("Accepted", self.accepted, ()), ("Refused", self.refused, self.said)):
            if program:
                yield from (Words(), Words(strong=f"{title}{on}"))
                yield from (Words(line, first=" " * 4, code=True) for line in program.splitlines())
                yield from (Words(f"→ {line}", indent=4) for line in said)
        letters = symbols((self.what, self.why, self.decision))
        if letters:
            yield Words()
        for letter, text in letters.items():
            yield Words(text, first=letter, indent=10)

    def __str__(self) -> str:
        return plain(self.parts())

    def _repr_html_(self) -> str:
        return html(self.parts())


@overload
def explain(id: str) -> RulePage: ...
@overload
def explain(id: None = None) -> list[RulePage]: ...
def explain(id: str | None = None) -> RulePage | list[RulePage]:
    """The page of a rule, or of an instruction where sources leave something open; without an id those of all rules.

    Raises `UsageError` for an id that there is not.
    """
    load_catalogue()
    if id is None:
        users = _users()
        return [page_of(rule, users.get(rule.id, ())) for rule in catalogue()]
    try:
        return page_of(lookup(id), said=True)
    except KeyError:
        instr = named(id)
        if instr is None:
            raise unknown("rule", id, (r.id for r in catalogue()), "ptokit explain", "id") from None
        if not instr.decision:
            message = f"{id!r} is an instruction, not a rule: 'ptokit isa {instr.name}' shows its page."
            raise UsageError(message, "id") from None
        return RulePage(instr.name, instr.summary, decision=instr.decision)


def page_of(rule: Rule, users: Sequence[str] | None = None, *, said: bool = False) -> RulePage:
    """The page of `rule`; ``users``: the instructions that it binds; ``said``: with what its refused program gives."""
    users = _users().get(rule.id, ()) if users is None else users
    return RulePage(
        id=rule.id,
        what=rule.what,
        severity=str(rule.severity) if rule.enforced else f"{_NEVER}: no case that can occur breaks it",
        targets=tuple(name for name, target in TARGETS.items() if target.obeys(rule)),
        about=_SCOPES[rule.scope],
        used_by=tuple(users),
        said_by=rule.covered_by,
        evidence=tuple(WORDS[kind] for kind in rule.evidence),
        source=rule.source,
        why=rule.why,
        decision=rule.decision,
        shown_for=rule.example_target if rule.example and not rule.unrun else "",
        accepted=rule.accepted,
        refused=rule.refused,
        said=_said(rule) if said and rule.example and not rule.unrun else (),
        reported_as=rule.reported_as,
    )


def _said(rule: Rule) -> tuple[str, ...]:
    """The messages of a rule for the program that breaks it."""
    from .rule_examples import found_in

    found = [d for d in found_in(rule.refused, rule) if d.rule == rule.id]
    return tuple(f"{d.severity}: {d.message}" for d in found[:1])


def _users() -> dict[str, list[str]]:
    """The names of the instructions that a rule binds, on all targets together, by its id."""
    users: dict[str, list[str]] = {}
    for name, instr in TABLE.items():
        for id in dict.fromkeys(rule.id for rule in all_rules(instr)):
            users.setdefault(id, []).append(name)
    return users


def listing(search: str = "") -> Iterator[Part]:
    """One line per rule, by family; ``search``: those whose id or sentence has this word, in any case."""
    load_catalogue()
    word = search.lower()
    found = (rule for rule in catalogue() if word in f"{rule.id} {rule.what}".lower())
    for number, (title, group) in enumerate(by_family(found).items()):
        if number:
            yield Words()
        yield Words(strong=f"{title}: {len(group)} rule{'s' * (len(group) > 1)}")
        width = max(len(rule.id) for rule in group)
        for rule in group:
            text = rule.what if rule.enforced else f"{rule.what} ({_NEVER})"
            first = f"  {rule.id.ljust(width)}  {_short(rule.targets)}  "
            yield Words(text, first=first, indent=len(first))


def _short(targets: tuple[str, ...]) -> str:
    """The targets of a rule in a column of their own: ``cpu a2a3 a5``, blanks where it does not bind."""
    if not set(targets) <= set(ALL_TARGETS):
        return " ".join(targets).ljust(len(" ".join(ALL_TARGETS)))
    return " ".join(name if name in targets else " " * len(name) for name in ALL_TARGETS)
