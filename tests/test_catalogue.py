"""The rule catalogue is complete: every rule of the specification's tables, and no rule that nobody evaluates."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import ptokit.asm
import ptokit.isa.all
import ptokit.lang
import ptokit.run  # noqa: F401
from ptokit.diagnostics import CATALOGUE, Scope
from ptokit.isa.table import TABLE
from ptokit.targets import TARGETS

# Ids in the rule tables of types-and-layouts, load-store and move-gather-scatter. Every one has an entry of its own:
# none is merged into another or renamed.
RULE_IDS = (Path(__file__).parent / "data" / "rule_ids.txt").read_text().split()

FAMILIES = re.compile(r"(SA|TILE|LS-COM|LOAD|STORE|PREF|PREFA|TMOV|GATHER|SCATTER)-")

# Rules that ptokit adds to these families, and why the specification's tables do not have them.
ADDED = {
    "TILE-D3": "the element would lie behind the tile's storage",
    "TMOV-COM-13": "said in the text of the section",
    "TMOV-COM-14": "said in the text of the section",
    "TMOV-COM-15": "said in the text of the section",
    "TMOV-COM-16": "said in the text of the section",
    "TMOV-COM-17": "legal, but hardly meant",
    "TMOV-A5-N2": "said in the text of the section",
    "TMOV-SUFFIX": "text form",
    "GATHER-CPU-04": "the library would read past the index tile",
    "GATHER-A5-11": "the softer of the two limits of GATHER-A5-10",
    "GATHER-A5-12": "legal, but hardly meant",
    "SCATTER-CPU-03": "the library would read past the index tile",
    "SCATTER-A5-06": "said of the gather only",
    "SCATTER-ROW-01": "legal, but hardly meant",
}

# Rules that belong to no instruction: of tile types, for every tile; of the core a pipe is on, for every instruction.
GENERAL = re.compile(r"(TILE|SA)-|PIPE-CORE$")


def test_the_data_file_names_each_rule_once() -> None:
    assert len(RULE_IDS) == len(set(RULE_IDS)) == 233
    assert all(FAMILIES.match(i) for i in RULE_IDS)


@pytest.mark.parametrize("rule", RULE_IDS)
def test_every_rule_of_the_tables_is_in_the_catalogue(rule: str) -> None:
    entry = CATALOGUE[rule]
    assert entry.what.endswith(".")
    assert entry.source
    assert entry.targets
    assert set(entry.targets) <= set(TARGETS)
    assert entry.scope is Scope.ISA


def test_additions_are_known() -> None:
    assert {i for i in CATALOGUE if FAMILIES.match(i)} - set(RULE_IDS) == set(ADDED)


def test_ids_are_spelled_alike() -> None:
    assert [i for i in CATALOGUE if not re.fullmatch(r"[A-Z][A-Z0-9]*(-[A-Z0-9]+)+|DEADLOCK", i)] == []


def test_every_check_is_evaluated_somewhere() -> None:
    attached = {rule.id for instr in TABLE.values() for rule in instr.rules}
    idle = {i for i, rule in CATALOGUE.items() if rule.check is not None} - attached
    assert {i for i in idle if not GENERAL.match(i)} == set()


def test_rules_of_instructions_are_catalogued() -> None:
    for instr in TABLE.values():
        assert [r.id for r in instr.rules if CATALOGUE[r.id].what != r.what] == []  # one rule, perhaps another check
        assert len({r.id for r in instr.rules}) == len(instr.rules), instr.name
