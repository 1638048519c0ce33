"""Evaluate the rules of an instruction at a site."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

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
    for rule in site.instr.rules:
        if bare and not rule.always:
            continue
        if site.target.name not in rule.targets or rule.check is None:
            continue
        if rule.scope is Scope.ASSEMBLER and (not text or (lowered and not rule.always)):
            continue
        found = rule.check(site)
        if not found:
            continue
        if isinstance(found, tuple):
            yield Broken(rule, found[0], found[1])
        else:
            yield Broken(rule, found if isinstance(found, str) else rule.what, None)


def first_error(site: Site) -> Broken | None:
    """The first broken rule of error severity that binds a call; text has been checked before it runs."""
    return next((b for b in broken_rules(site, text=False) if b.rule.severity is Severity.ERROR), None)
