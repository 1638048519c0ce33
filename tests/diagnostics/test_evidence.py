"""Every rule of the instruction set says what it rests on, and errors have more than a debug assertion."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ptokit.api.findings import load_catalogue
from ptokit.cli.page_commands import explain
from ptokit.diagnostics import Evidence, Rule, Scope, Severity, catalogue, define
from tests.each import each

load_catalogue()
ISA = [rule for rule in catalogue() if rule.scope is Scope.ISA and rule.enforced]
ASSEMBLER = [rule for rule in catalogue() if rule.scope is Scope.ASSEMBLER]


def test_evidence_is_a_word() -> None:
    with pytest.raises(ValueError, match="'hearsay' is not a valid Evidence"):
        define("X-1", "", evidence="hearsay")


@each("rule", [*ISA, *ASSEMBLER], ids=lambda rule: rule.id)
def test_the_evidence_of_a_rule_decides_its_verdict(rule: Rule) -> None:
    strong = {Evidence.STATIC_ASSERT, Evidence.DEVICE, Evidence.SIMULATOR, Evidence.PTOKIT}
    assert rule.evidence
    assert rule.severity is (Severity.ERROR if strong & set(rule.evidence) else Severity.WARNING)
    assert len(set(rule.evidence)) == len(rule.evidence)


def test_a_verdict_is_said_once() -> None:
    with pytest.raises(ValueError, match="the severity of X-1 follows from its evidence"):
        define("X-1", "", evidence="document", severity=Severity.ERROR)


def test_what_the_assembler_refuses_is_evidence_of_its_rules() -> None:
    assert ASSEMBLER
    assert all(Evidence.ASSEMBLER in rule.evidence for rule in ASSEMBLER)
    warned = {rule.id for rule in ASSEMBLER if rule.severity is Severity.WARNING}
    assert warned >= {"LD-5", "ST-5", "MO-4", "EX-3", "EW-1"}
    assert not warned & {"A5-1", "FN-3", "PI-6", "VMI-03"}


def test_simulators_speak_of_their_own_target() -> None:
    assert {rule.targets for rule in ISA if Evidence.SIMULATOR in rule.evidence} == {("cpu",)}


def test_the_page_of_a_rule_names_its_evidence(capsys: pytest.CaptureFixture[str]) -> None:
    explain("LOAD-A5-D3")
    assert "a manual or specification says so" in capsys.readouterr().out


def test_the_page_of_all_rules_is_current() -> None:
    tool = Path(__file__).parents[2] / "tools" / "evidence.py"
    done = subprocess.run([sys.executable, str(tool), "--check"], check=False)
    assert done.returncode == 0, "run: python tools/evidence.py"
