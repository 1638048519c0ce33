"""`targets`: what the targets are, side by side, and what differs between two of them, rule by rule."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from ptokit.diagnostics import Rule, Scope, UsageError, catalogue
from ptokit.isa.checks.tile_types import buffer_name
from ptokit.isa.checks.tiles import has
from ptokit.isa.order.sync_rules import flag_ids
from ptokit.isa.reference import all_rules
from ptokit.isa.table import TABLE, Instr
from ptokit.records import dataclass
from ptokit.targets import TARGETS, Target
from ptokit.types.dtypes import DTYPES
from ptokit.types.enums import EVENT_ID_COUNT, BLayout, TileType

from .findings import load_catalogue
from .parts import Part, Table, Words, html, one_of, plain

Fact = str | int | bool | None
Facts = dict[str, dict[str, Fact]]
"""By title and name; sizes are bytes, None is what a target does not have."""

_SHOWN_PIPES = ("S", "V", "M", "MTE1", "MTE2", "MTE3", "FIX")
_SPACES = [space for space in TileType if space is not TileType.Ctrl]


def _buffers(target: Target) -> dict[str, Fact]:
    found: dict[str, Fact] = {
        f"{space.name} ({buffer_name(space)})": target.capacity[space] or None for space in _SPACES
    }
    found["UB for users"] = target.user_ub or target.capacity[TileType.Vec]
    found["UB without scratch"] = target.library_ub or target.capacity[TileType.Vec]
    found["UB beside threads"] = (target.simt_ub or target.capacity[TileType.Vec]) if target.vector_registers else None
    return found


def _machine(target: Target) -> dict[str, Fact]:
    return {
        "like": target.like.name if target.like is not None else None,
        "hardware": target.is_device,
        "vector registers": target.vector_registers,
        "left tiles": "Nz" if target.left_blayout is BLayout.ColMajor else "Zz",
        "accumulators": " ".join(target.accumulators),
        "HF32 mantissa": f"{target.hf32_bits} bits" if target.hf32_bits else None,
        "assembler": target.assembled,
    }


def _pipes(target: Target) -> dict[str, Fact]:
    """Whether instructions of a pipe complete in order."""
    return {name: name in target.in_order for name in _SHOWN_PIPES}


def _order(target: Target) -> dict[str, Fact]:
    return {
        "event ids": EVENT_ID_COUNT,
        "flags of events": _but(target.event_pipes),
        "TSYNC<Op>": _but(target.barrier_pipes),
        "ids between cores": flag_ids(target),
        "a wait stops": "core" if target.waits_hold_core else "pipe",
        "pipes of cores": None if _lacks(target, "TPUSH") else "buffers" if target.pipes_are_local else "memory",
        "other devices": not _lacks(target, "TPUT"),
    }


def _lacks(target: Target, name: str) -> bool:
    return not has(TABLE[name], target)


def _but(pipes: frozenset[str] | None) -> str:
    """Which of the pipes are among some: all, some, or all but some."""
    if pipes is None:
        return "all"
    out = [name for name in _SHOWN_PIPES if name not in pipes]
    some = [name for name in _SHOWN_PIPES if name in pipes]
    return f"no {' '.join(out)}" if len(out) < len(some) else " ".join(some)


def _types(target: Target) -> dict[str, Fact]:
    """Whether tiles of an element type are loaded and stored."""
    return {name: dtype in target.dtypes for name, dtype in DTYPES.items() if name != "int4"}


def _counts(target: Target) -> dict[str, Fact]:
    tiles = [instr for instr in TABLE.values() if _of_tiles(instr)]
    bound = sum(_binds(rule, target, users) for rule, users in _isa_rules())
    return {"of tiles": sum(has(instr, target) for instr in tiles), "rules that bind": bound}


_SECTIONS: dict[str, Callable[[Target], dict[str, Fact]]] = {
    "Machine": _machine,
    "Buffers, in bytes": _buffers,
    "Instructions complete in order on": _pipes,
    "Flags and barriers": _order,
    "Element types of loads and stores": _types,
    "Instructions and rules": _counts,
}


def facts(target: Target) -> Facts:
    """What there is to say of a target in a word or a number, by title."""
    load_catalogue()
    return {title: section(target) for title, section in _SECTIONS.items()}


def _of_tiles(instr: Instr) -> bool:
    return instr.name[0].isupper()


@cache
def _isa_rules() -> list[tuple[Rule, list[tuple[Instr, Rule]]]]:
    """Rules of the instruction set, with the instructions that they bind and their variants there."""
    users: dict[str, list[tuple[Instr, Rule]]] = {}
    for instr in TABLE.values():
        for rule in all_rules(instr):
            users.setdefault(rule.id, []).append((instr, rule))
    return [(rule, users.get(rule.id, [])) for rule in catalogue() if rule.scope in (Scope.ISA, Scope.SYNC)]


def _binds(rule: Rule, target: Target, users: Sequence[tuple[Instr, Rule]]) -> bool:
    """True if a rule binds on a target, which has an instruction that it is about."""
    return target.obeys(rule) if not users else any(target.obeys(own) and has(instr, target) for instr, own in users)


@dataclass(frozen=True)
class TargetsPage:
    """Targets side by side.

    ``facts``: of each, by title and name; ``lacking``: the instructions of tiles, and between devices and cores, that
    each does not have although others do.
    """

    facts: dict[str, Facts]
    lacking: dict[str, list[str]]

    def parts(self) -> Iterator[Part]:
        """What the terminal shows."""
        names = list(self.facts)
        for name in names:
            yield Words(TARGETS[name].title, first=name, indent=11)
        first = self.facts[names[0]]
        for title, section in first.items():
            rows = [(word, *(shown(self.facts[name][title][word]) for name in names)) for word in section]
            same = [row[0] for row in rows if len(names) > 1 and set(row[1:]) == {"yes"}]
            yield Words()
            yield Words(strong=title)
            yield Table(("", *names), [row for row in rows if row[0] not in same], right=())
            if same:
                yield Words(f"all: {' '.join(same)}")
        have = [instr.name for instr in TABLE.values() if _of_tiles(instr)]
        for name, lacking in self.lacking.items():
            own = [other for other in have if other not in lacking]
            few = len(own) < len(lacking)
            if lacking:
                yield Words()
                yield Words(strong=f"{name} has only these instructions of tiles" if few else f"{name} has no")
                yield Words(" ".join(own if few else lacking), indent=2, first="  ")

    def json(self) -> str:
        """As JSON: by target its facts and ``lacking``."""
        return _json({name: {**self.facts[name], "lacking": self.lacking[name]} for name in self.facts})

    def __str__(self) -> str:
        return plain(self.parts())

    def _repr_html_(self) -> str:
        return html(self.parts())


@dataclass(frozen=True)
class Comparison:
    """What differs between two targets.

    ``facts``: rows of name and both values; ``instructions`` and ``rules``: what only one of both has, by target;
    rules are pairs of id and what must hold.
    """

    names: tuple[str, str]
    facts: list[tuple[str, Fact, Fact]]
    instructions: dict[str, list[str]]
    rules: dict[str, list[tuple[str, str]]]

    def parts(self) -> Iterator[Part]:
        """What the terminal shows."""
        if not (self.facts or any(self.instructions.values()) or any(self.rules.values())):
            yield Words(f"{self.names[0]} and {self.names[1]} differ in nothing")
            return
        if self.facts:
            yield Table(("", *self.names), [(word, shown(a), shown(b)) for word, a, b in self.facts])
        for name, found in self.instructions.items():
            if found:
                yield Words()
                yield Words(strong=f"Instructions that only {name} has: {len(found)}")
                yield Words(" ".join(found), indent=2, first="  ")
        for name, bound in self.rules.items():
            if bound:
                yield Words()
                yield Words(strong=f"Rules that bind only on {name}: {len(bound)}")
                width = max(len(id) for id, _ in bound) + 4
                yield from (Words(what, first=f"  {id}", indent=width) for id, what in bound)

    def json(self) -> str:
        """As JSON: ``targets``, ``facts``, ``instructions`` and ``rules``."""
        return _json(
            {
                "targets": self.names,
                "facts": {word: [a, b] for word, a, b in self.facts},
                "instructions": self.instructions,
                "rules": {name: [{"id": id, "what": what} for id, what in bound] for name, bound in self.rules.items()},
            }
        )

    def __str__(self) -> str:
        return plain(self.parts())

    def _repr_html_(self) -> str:
        return html(self.parts())


def targets(*names: str) -> TargetsPage | Comparison:
    """All targets side by side, those named, or, of two, what differs.

    Raises `UsageError` for a target that there is not, and one that is named twice.
    """
    chosen = [TARGETS[one_of(name, TARGETS, "names")] for name in names]
    if len(set(names)) < len(names):
        raise UsageError("a target is named twice.", "names")
    if len(chosen) == 2:
        return compared(chosen[0], chosen[1])
    return side_by_side(chosen or list(TARGETS.values()))


def side_by_side(chosen: Sequence[Target]) -> TargetsPage:
    """Targets in columns."""
    lacking = {
        target.name: [instr.name for instr in TABLE.values() if not has(instr, target) and _of_tiles(instr)]
        for target in chosen
    }
    return TargetsPage({target.name: facts(target) for target in chosen}, lacking)


def compared(a: Target, b: Target) -> Comparison:
    """What differs between two targets."""
    both = facts(a), facts(b)
    rows = [
        (word if title in _PLAIN else f"{title.split()[0].lower()}: {word}", value, both[1][title][word])
        for title, section in both[0].items()
        for word, value in section.items()
        if value != both[1][title][word]
    ]
    instructions: dict[str, list[str]] = {a.name: [], b.name: []}
    for instr in TABLE.values():
        here, there = has(instr, a), has(instr, b)
        if here is not there:
            instructions[a.name if here else b.name].append(instr.name)
    rules: dict[str, list[tuple[str, str]]] = {a.name: [], b.name: []}
    for rule, users in _isa_rules():
        here, there = _binds(rule, a, users), _binds(rule, b, users)
        if here is not there:
            rules[a.name if here else b.name].append((rule.id, rule.what))
    return Comparison((a.name, b.name), rows, instructions, rules)


_PLAIN = ("Machine", "Buffers, in bytes", "Flags and barriers")


def shown(fact: Fact) -> str:
    """A fact as a word: sizes with commas, - for what there is not."""
    if fact is None or fact is False:
        return "-"
    return "yes" if fact is True else f"{fact:,}" if isinstance(fact, int) else fact


def _json(value: Mapping[str, Any]) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)
