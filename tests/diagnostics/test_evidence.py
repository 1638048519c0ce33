"""Every rule of the instruction set says what stands behind it, and errors have more than a debug assertion."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ptokit.api.catalogue import load_catalogue
from ptokit.cli.reference_commands import explain
from ptokit.diagnostics import CATALOGUE, Evidence, Rule, Scope, Severity, catalogue
from ptokit.diagnostics.evidence import EVIDENCE

load_catalogue()
ISA = [rule for rule in catalogue() if rule.scope is Scope.ISA and rule.enforced]


def test_the_table_names_rules_of_the_catalogue() -> None:
    assert not set(EVIDENCE) - set(CATALOGUE)
    assert all(CATALOGUE[id].scope is not Scope.ASSEMBLER for id in EVIDENCE)


@pytest.mark.parametrize("rule", ISA, ids=lambda rule: rule.id)
def test_an_error_has_evidence(rule: Rule) -> None:
    assert rule.evidence
    assert rule.refuses or rule.severity is not Severity.ERROR
    assert len(set(rule.evidence)) == len(rule.evidence)


def test_what_the_assembler_refuses_is_its_own_evidence() -> None:
    rules = [rule for rule in catalogue() if rule.scope is Scope.ASSEMBLER]
    assert rules
    assert {rule.evidence for rule in rules} == {(Evidence.ASSEMBLER,)}


def test_kinds_that_do_not_make_an_error() -> None:
    weak = (Evidence.ASSERTION, Evidence.DOCUMENT)
    assert not Rule("X-1", "", evidence=weak).refuses
    assert {rule.targets for rule in ISA if Evidence.SIMULATOR in rule.evidence} == {("cpu",)}
    assert all(Rule("X-1", "", evidence=(*weak, kind)).refuses for kind in Evidence if kind not in weak)


def test_the_page_of_a_rule_names_its_evidence(capsys: pytest.CaptureFixture[str]) -> None:
    explain("LOAD-A5-D3")
    assert "a manual or specification says so" in capsys.readouterr().out


def test_the_page_of_all_rules_is_current() -> None:
    tool = Path(__file__).parents[2] / "tools" / "evidence.py"
    done = subprocess.run([sys.executable, str(tool), "--check"], check=False)
    assert done.returncode == 0, "run: python tools/evidence.py"
