"""Evaluate the rules of an instruction at a site."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from typing import NamedTuple

from ptokit.diagnostics import Rule, Scope, Severity
from ptokit.diagnostics.conditions import Check
from ptokit.targets import Target

from .checks.tiles import INSTR_ABSENT, TYPE_ABSENT
from .site import LoweredInfo, Site, type_alone, without_marks
from .table import Instr


class Broken(NamedTuple):
    """A rule that a site breaks."""

    rule: Rule
    message: str
    hint: str | None
    operands: tuple[str, ...] = ()  # those that the message names, by their names in the table

    @property
    def severity(self) -> Severity:
        """That of the rule; of a `Doubt` at most a warning."""
        return self.rule.severity_of(self.message)


def broken_rules(site: Site, *, text: bool = True, lowered: bool = False, covered: bool = False) -> Iterator[Broken]:
    """The rules of `site` that are broken as far as its operands are known.

    ``text`` is False for calls that no `.pto` text stands for: the reference assembler's rules do not bind them. Nor do
    most of them if operands are ``lowered``; of tiles that are memrefs, no other rule speaks. ``covered``: also those
    that another broken rule covers. A warning covers no error.
    """
    broken = list(_broken(site, text, lowered))
    ids = {severity: {b.rule.id for b in broken if b.severity is severity} for severity in Severity}
    anything, errors = set().union(*ids.values()), ids[Severity.ERROR]
    return (
        b
        for b in broken
        if covered or (errors if b.severity is Severity.ERROR else anything).isdisjoint(b.rule.covered_by)
    )


def _broken(site: Site, text: bool, lowered: bool) -> Iterator[Broken]:
    bare = lowered and any(isinstance(info, LoweredInfo) for info in site.operands.values())
    return found_by(_evaluated(site.instr, site.target, text, lowered, bare), site)


def found_by(rules: Iterable[tuple[Rule, Check]], site: Site) -> Iterator[Broken]:
    """Those of some rules that a site breaks."""
    for rule, check in rules:
        found = check(site)
        if not found:
            continue
        message, hint = found if isinstance(found, tuple) else (found, None)
        shown, operands = without_marks(message if isinstance(message, str) else rule.what)
        yield Broken(rule, shown, hint and without_marks(hint)[0], operands)


@cache
def rules_of(instr: Instr, target: Target) -> tuple[Rule, ...]:
    """The rules that bind an instruction on a target, with those that the target adds."""
    if instr.name in target.missing:
        return (INSTR_ABSENT,)
    typed = (TYPE_ABSENT,) if target.absent and not instr.data_names else ()
    return typed + tuple(rule for rule in (*instr.rules, *target.own_rules(instr.name)) if target.obeys(rule))


@cache
def _evaluated(instr: Instr, target: Target, text: bool, lowered: bool, bare: bool) -> tuple[tuple[Rule, Check], ...]:
    """The rules that are to be evaluated, with their checks as functions."""
    return tuple(
        (rule, instr.function_of(rule.check))
        for rule in rules_of(instr, target)
        if rule.check is not None
        and (rule.always or not bare)
        and (rule.scope is not Scope.ASSEMBLER or (text and (rule.always or not lowered)))
    )


def bound_at_run(instr: Instr, target: Target) -> tuple[tuple[Rule, Check], ...]:
    """The rules that bind a call for which there is no text, with their checks."""
    return _evaluated(instr, target, False, False, False)


def is_about_type(rule: Rule, site: Site, operand: str) -> bool:
    """True if a broken rule would be so whatever is known of an operand beside its type."""
    info = site.operands.get(operand)
    if info is None or rule.check is None:
        return False
    plain = type_alone(info)
    return plain == info or bool(rule.check(replace(site, operands={**site.operands, operand: plain})))


def first_error(site: Site) -> Broken | None:
    """The first broken rule of error severity that binds a call; text has been checked before it runs."""
    return next((b for b in broken_rules(site, text=False) if b.severity is Severity.ERROR), None)
