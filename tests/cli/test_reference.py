"""ptokit isa and ptokit explain."""

from __future__ import annotations

import pytest

import ptokit.isa.all
from ptokit.cli.catalogue import load_catalogue
from ptokit.diagnostics import CATALOGUE, catalogue
from ptokit.isa.table import TABLE

from .conftest import Run

assert ptokit.isa.all  # the table is complete
load_catalogue()


def test_the_list_has_every_instruction(ptokit: Run) -> None:
    ran = ptokit("isa")
    assert ran.status == 0
    assert [line.split()[0] for line in ran.out.splitlines()[1:]] == list(TABLE)


@pytest.mark.parametrize("name", list(TABLE))
def test_every_instruction_has_a_page(ptokit: Run, name: str) -> None:
    ran = ptokit("isa", name)
    instr = TABLE[name]
    assert ran.status == 0
    assert ran.out.startswith(f"{instr.signature}    pto.{instr.text}\n{instr.summary}\n")
    first_words = {line.split()[0] for line in ran.out.splitlines() if line}
    assert {o.name for o in instr.operands} <= first_words
    assert {a.name for a in instr.attrs} <= first_words
    assert {r.id for r in instr.rules} <= first_words


@pytest.mark.parametrize("name", ["tload", "TLOAD", "pto.tload", "Pto.TLoad"])
def test_names_are_found_in_any_spelling(ptokit: Run, name: str) -> None:
    assert ptokit("isa", name).out.startswith("TLOAD(")


def test_the_rules_are_listed(ptokit: Run) -> None:
    ran = ptokit("explain")
    assert ran.status == 0
    assert [line.split()[0] for line in ran.out.splitlines()[1:]] == sorted(CATALOGUE)


@pytest.mark.parametrize("rule", catalogue(), ids=lambda r: r.id)
def test_every_rule_has_a_page(ptokit: Run, rule: object) -> None:
    rule = CATALOGUE[rule.id]  # type: ignore[attr-defined]
    ran = ptokit("explain", rule.id.lower())
    assert ran.status == 0
    assert ran.out.startswith(f"{rule.id}  {rule.what}\n")
    assert f"targets   {', '.join(rule.targets)}\n" in ran.out
    for text in (rule.why, rule.decision, rule.accepted, rule.rejected):
        assert all(word in ran.out for word in text.split())


@pytest.mark.parametrize(("command", "name", "guess"), [("isa", "TLOAF", "TLOAD"), ("explain", "TY-99", "TY-9")])
def test_unknown_names_are_wrong_usage_with_a_guess(ptokit: Run, command: str, name: str, guess: str) -> None:
    ran = ptokit(command, name)
    assert ran.status == 2
    assert f"{name!r}" in ran.err
    assert guess in ran.err
    assert ran.out == ""
