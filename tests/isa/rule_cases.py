"""Sites for rule tests: each case has operands that pass a rule and operands that break it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ptokit.diagnostics import CATALOGUE, Scope
from ptokit.isa.check import broken_rules
from ptokit.isa.site import TileInfo

from .fake import site, spec

F = spec("f32", 16, 64)
H = spec("f16", 16, 64)
I = spec("i32", 16, 64)
U8 = spec("u8", 17, 64)
DN = spec("f32", 16, 1, dn=True)
ROW = spec("f32", 1, 64)

Case = tuple[str, str, str, dict[str, Any], dict[str, Any]]
"""Rule, instruction, target, operands that pass, operands that break it; attributes under ``attrs``."""


def at(tile: Any, addr: int) -> TileInfo:
    """The tile at a byte address of its buffer."""
    return replace(TileInfo.static("t", tile), addr=addr)


def broken(name: str, target: str, operands: dict[str, Any]) -> dict[str, str]:
    """Messages of the rules that the operands break, by id."""
    given = dict(operands)
    return {b.rule.id: b.message for b in broken_rules(site(name, target, given.pop("attrs", None), **given))}


def case_ids(cases: list[Case]) -> list[str]:
    """Names of the cases for test reports."""
    return [f"{rule}-{name}-{target}-{i}" for i, (rule, name, target, *_) in enumerate(cases)]


def check_case(case: Case) -> None:
    """The rule holds for the good operands, and is broken, with a message, by the bad ones."""
    rule, name, target, good, bad = case
    assert rule not in broken(name, target, good)
    found = broken(name, target, bad)
    assert rule in found, found
    assert len(found[rule]) > 10


def untested(cases: list[Case], *prefixes: str) -> set[str]:
    """Rules with one of these prefixes that no case is about; the assembler's newer ones have texts in tests/ir."""
    older = {i for i, r in CATALOGUE.items() if r.scope is not Scope.ASSEMBLER or not r.source.startswith("PTOAS")}
    return {i for i in older if i.startswith(prefixes)} - {case[0] for case in cases}
