"""The rule catalogue is complete: every rule of the specification's tables, and no rule that nobody evaluates."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import ptokit.asm
import ptokit.lang
import ptokit.run  # noqa: F401
from ptokit.diagnostics import CATALOGUE, Scope
from ptokit.isa.table import TABLE
from ptokit.targets import TARGETS
from tests.each import each

# Ids in the rule tables of types-and-layouts, load-store and move-gather-scatter. Every one has an entry of its own:
# none is merged into another or renamed.
RULE_IDS = (Path(__file__).parent / "data" / "rule_ids.txt").read_text().split()

FAMILIES = re.compile(r"(SA|TILE|LS-COM|LOAD|STORE|PREF|PREFA|TMOV|GATHER|SCATTER)-")

# Rules that ptokit adds to these families, and why the specification's tables do not have them.
ADDED = {
    "TILE-D3": "the element would lie past the tile's storage",
    "TMOV-COM-13": "said in the text of the section",
    "TMOV-COM-14": "said in the text of the section",
    "TMOV-COM-15": "said in the text of the section",
    "TMOV-COM-16": "said in the text of the section",
    "TMOV-COM-17": "legal, but hardly meant",
    "TMOV-COM-18": "what the library's code does",
    "TMOV-COM-19": "static assertions of the library",
    "TMOV-A5-N2": "said in the text of the section",
    "TMOV-SUFFIX": "text form",
    "GATHER-CPU-04": "the library would read past the index tile",
    "GATHER-A5-11": "the softer of the two limits of GATHER-A5-10",
    "GATHER-A5-12": "legal, but hardly meant",
    "SCATTER-CPU-03": "the library would read past the index tile",
    "SCATTER-A5-06": "said of the gather only",
    "SCATTER-COM-06": "documents disagree about the order of operands",
    "SCATTER-ROW-01": "legal, but hardly meant",
    "SCATTER-ALIAS": "the sanitizer's finding, of memory-model-and-sync 10",
}

# Rules that belong to no instruction: of tile types, for every tile; of the core a pipe is on, for every instruction.
GENERAL = re.compile(r"(TILE|SA)-|PIPE-CORE$|(INSTR|TYPE)-ABSENT$")


def test_the_data_file_names_each_rule_once() -> None:
    assert len(RULE_IDS) == len(set(RULE_IDS)) == 233
    assert all(FAMILIES.match(i) for i in RULE_IDS)


@each("rule", RULE_IDS)
def test_every_rule_of_the_tables_is_in_the_catalogue(rule: str) -> None:
    entry = CATALOGUE[rule]
    assert entry.what.endswith(".")
    assert entry.source
    assert entry.targets
    assert set(entry.targets) <= set(TARGETS)
    assert entry.scope is Scope.ISA


def test_additions_are_known() -> None:
    assert {i for i in CATALOGUE if FAMILIES.match(i)} - set(RULE_IDS) == set(ADDED)


# Ids of the assembler's rules (assembly 13 and 14), with the number of the last one of a family.
ASSEMBLER = {
    "TY": 9,
    "TC": 3,
    "AL": 6,
    "MV": 3,
    "PV": 8,
    "AP": 2,
    "TA": 2,
    "VS": 3,
    "RS": 1,
    "BC": 1,
    "SS": 1,
    "LS": 1,
    "LD": 9,
    "PF": 4,
    "ST": 15,
    "SF": 5,
    "MO": 10,
    "MF": 2,
    "GA": 9,
    "SC": 10,
    "FL": 1,
    "EV": 2,
    "BA": 2,
    "TS": 1,
    "BF": 1,
    "SY": 4,
    "EW": 1,
    "CV": 1,
    "MM": 4,
    "GV": 1,
    "EX": 3,
    "IN": 3,
    "FP": 1,
    "TQ": 1,
    "CC": 1,
    "MS": 1,
    "RN": 1,
    "A5": 1,
    "RR": 1,
    "CR": 1,
    "PI": 8,
    "RB": 2,
    "AS": 1,
    "FN": 4,
    "LV": 2,
    "PM": 1,
}


@pytest.mark.parametrize("family", ASSEMBLER)
def test_every_rule_of_the_assembler_is_in_the_catalogue(family: str) -> None:
    for number in range(1, ASSEMBLER[family] + 1):
        rule = CATALOGUE[f"{family}-{number}"]
        assert rule.source.startswith(("assembly", "compute-", "PTOAS ")), rule.id
        assert rule.example or rule.reported_as, rule.id


def test_ids_are_spelled_alike() -> None:
    assert [i for i in CATALOGUE if not re.fullmatch(r"[A-Z][A-Z0-9]*(-[A-Z0-9]+)+|DEADLOCK", i)] == []


def test_every_check_is_evaluated_somewhere() -> None:
    attached = {rule.id for instr in TABLE.values() for rule in instr.rules}
    attached |= {rule.id for target in TARGETS.values() for rules in target.added.values() for rule in rules}
    idle = {i for i, rule in CATALOGUE.items() if rule.check is not None} - attached
    assert {i for i in idle if not GENERAL.match(i)} == set()


def test_rules_of_instructions_are_catalogued() -> None:
    for instr in TABLE.values():
        assert [r.id for r in instr.rules if CATALOGUE[r.id].what != r.what] == []  # one rule, perhaps another check
        assert len({r.id for r in instr.rules}) == len(instr.rules), instr.name
