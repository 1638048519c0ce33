"""Evaluate the rules of an instruction at a site."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

from ptokit.diagnostics import Rule, Scope, Severity

from .site import LoweredInfo, Site


class Broken(NamedTuple):
    """A rule that a site breaks."""

    rule: Rule
    message: str
    hint: str | None


def broken_rules(site: Site, *, text: bool = True, lowered: bool = False, covered: bool = False) -> Iterator[Broken]:
    """The rules of `site` that are broken as far as its operands are known.

    ``text`` is False for calls that no `.pto` text stands for: the reference assembler's rules do not bind them. Nor do
    most of them if operands are ``lowered``; of tiles that are memrefs, no other rule speaks. ``covered``: also those
    that another broken rule covers.
    """
    broken = list(_broken(site, text, lowered))
    ids = {b.rule.id for b in broken}
    return (b for b in broken if covered or not ids.intersection(b.rule.covered_by))


def _broken(site: Site, text: bool, lowered: bool) -> Iterator[Broken]:
    bare = lowered and any(isinstance(info, LoweredInfo) for info in site.operands.values())
    for rule, check in _binding(site.instr.rules, site.target.name, text, lowered, bare):
        found = check(site)
        if not found:
            continue
        if isinstance(found, tuple):
            yield Broken(rule, found[0], found[1])
        else:
            yield Broken(rule, found if isinstance(found, str) else rule.what, None)


@cache
def _binding(
    rules: tuple[Rule, ...], target: str, text: bool, lowered: bool, bare: bool
) -> tuple[tuple[Rule, Callable[[Any], Any]], ...]:
    """The rules of an instruction that bind it on a target, with their checks."""
    return tuple(
        (rule, rule.check)
        for rule in rules
        if rule.check is not None
        and target in rule.targets
        and (rule.always or not bare)
        and (rule.scope is not Scope.ASSEMBLER or (text and (rule.always or not lowered)))
    )


def first_error(site: Site) -> Broken | None:
    """The first broken rule of error severity that binds a call; text has been checked before it runs."""
    return next((b for b in broken_rules(site, text=False) if b.rule.severity is Severity.ERROR), None)
