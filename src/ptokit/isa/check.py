"""Evaluate the rules of an instruction at a site, and what the text leaves open there.

A rule that looks at none of it says at every call what it said of the text, so nobody has to ask it again. Which rules
look at it is not declared anywhere: they are watched while they look.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, replace
from functools import cache
from typing import Any, NamedTuple

from ptokit.diagnostics import Rule, Scope, Severity
from ptokit.diagnostics.rules import Check
from ptokit.targets import Target

from .checks.tiles import INSTR_ABSENT, TYPE_ABSENT
from .site import Info, LoweredInfo, PtrInfo, ScalarInfo, Site, TileInfo, ViewInfo, known, type_alone, without_marks
from .table import Instr

# Evaluate the rules of an instruction at a site.


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

    ``text`` is False for calls that are no `.pto` text: the reference assembler's rules do not bind them. Nor do
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
    typed = (TYPE_ABSENT,) if target.lost and not (instr.threaded or instr.data_names) else ()
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


# What the text leaves open at a site: the rules that look at something which only the run knows, and what that is.


Note = Callable[[str, str], None]
"""Is told of an operand and a field that a rule looks at."""

Asked = tuple[Rule, Check]

_FIELDS: Mapping[type, tuple[str, ...]] = {
    TileInfo: ("vr", "vc", "addr", "origin", "data"),
    ViewInfo: ("shape", "stride", "layout", "data"),
    ScalarInfo: ("value",),
    PtrInfo: ("addr",),
}
"""What the run may know better than the text, by kind of operand."""


def open_fields(info: Info | None) -> frozenset[str]:
    """What only the run knows of an operand. Where a tile lies is known if the text says where it begins."""
    match info:
        case TileInfo():
            sizes = [name for name in ("vr", "vc") if not known(getattr(info, name))]
            return frozenset(sizes if known(info.origin) else (*sizes, "addr", "origin", "data"))
        case ViewInfo():
            sizes = [name for name in ("shape", "stride") if not known(*getattr(info, name))]
            return frozenset((*sizes, "data", *(("layout",) if info.layout is None else ())))
        case ScalarInfo():
            return frozenset() if known(info.value) else frozenset(("value",))
        case PtrInfo():
            return frozenset() if known(info.addr) else frozenset(("addr",))
    return frozenset()  # registers, which are their types


def open_operands(site: Site) -> dict[str, frozenset[str]]:
    """What only the run knows of the operands of a site, by name; the others are left out."""
    found = {name: open_fields(info) for name, info in site.operands.items()}
    return {name: names for name, names in found.items() if names}


def open_rules(site: Site) -> tuple[Asked, ...]:
    """The rules whose verdict the text leaves open, with their checks. ``site``: as the text has it."""
    opened = open_operands(site)
    if not opened:
        return ()
    key = _key(site)
    try:
        if key in _KNOWN:
            return _KNOWN[key]
    except TypeError:  # an attribute is a list
        key = None
    found = _found(site, opened)
    if key is not None:
        if len(_KNOWN) >= _REMEMBERED:
            _KNOWN.clear()
        _KNOWN[key] = found
    return found


_REMEMBERED = 4096  # sites that rules can tell apart
_KNOWN: dict[tuple[Any, ...] | None, tuple[Asked, ...]] = {}


def _key(site: Site) -> tuple[Any, ...] | None:
    """Equal for sites that no rule can tell apart, whatever their operands are called; None if it looks around."""
    if site.around is not None:
        return None
    parts: list[Any] = [site.instr, site.target, site.extended, site.text, site.core]
    places: dict[Any, int] = {}
    for name, info in site.operands.items():
        parts += (name, type(info))
        if isinstance(info, TileInfo):
            parts += (info.spec, info.vr, info.vc, info.addr, known(info.origin))
            parts += (places.setdefault(p, len(places)) for p in (("origin", info.origin), ("tile", id(info))))
        elif isinstance(info, ScalarInfo):
            parts += (info.type, info.signed, type(info.value), repr(info.value))
        elif info is not None:
            kind: Any = type(info)
            parts += (getattr(info, field) for field in _told(kind))
    parts += (item for pair in site.attrs.items() for item in pair)
    return tuple(parts)


@cache
def _told(kind: Any) -> tuple[str, ...]:
    """The fields of an operand that rules can depend on."""
    return tuple(field.name for field in fields(kind) if field.name not in ("name", "data"))


def _found(site: Site, opened: Mapping[str, frozenset[str]]) -> tuple[Asked, ...]:
    looked: list[str] = []
    seen = watched(site, opened, lambda operand, field: looked.append(operand))
    found = []
    for rule, check in bound_at_run(site.instr, site.target):
        looked.clear()
        check(seen)
        if looked:
            found.append((rule, check))
    return tuple(found)


def watched(site: Site, opened: Mapping[str, frozenset[str]], note: Note) -> Site:
    """The same site, that notes when something looks at those fields of its operands."""
    made: dict[int, Info] = {}  # one operand twice stays one

    def operand(name: str, info: Info | None) -> Info | None:
        names = opened.get(name)
        if not names or info is None:
            return info
        if id(info) not in made:
            kind: Any = type(info)
            made[id(info)] = _watching(kind, names)(info, name, note)
        return made[id(info)]

    return replace(site, operands={name: operand(name, info) for name, info in site.operands.items()})


@cache
def _watching(kind: Any, names: frozenset[str]) -> Callable[[Info, str, Note], Info]:
    """What makes an operand that tells who looks at some of its fields."""
    members = {field.name: kind.__dict__[field.name] for field in fields(kind)}
    body: dict[str, Any] = {"__slots__": ("told",), **dict(_properties(members, names))}
    watching: Any = type(kind.__name__, (kind,), body)
    told = watching.__dict__["told"]

    def made(info: Info, operand: str, note: Note) -> Info:
        found: Info = watching.__new__(watching)
        for member in members.values():
            member.__set__(found, member.__get__(info))
        told.__set__(found, lambda field: note(operand, field))
        return found

    return made


def _properties(members: Mapping[str, Any], names: frozenset[str]) -> Iterator[tuple[str, property]]:
    for name in names:
        yield name, _property(name, members[name])


def _property(name: str, member: Any) -> property:
    def get(self: Any) -> Any:
        told = getattr(self, "told", None)  # a copy with another field has none
        if told is not None:
            told(name)
        return member.__get__(self)

    return property(get, member.__set__)
