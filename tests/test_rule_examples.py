"""Every rule has evidence, and an example whose accepted program is free of findings, and whose refused one is not."""

from __future__ import annotations

import pytest

from ptokit.api.findings import load_catalogue
from ptokit.api.rule import found_in
from ptokit.diagnostics import CATALOGUE, Rule, Scope, catalogue

load_catalogue()

RULES = catalogue()
RUN = [rule.id for rule in RULES if rule.example and not rule.unrun]

_ACCOMPANIED = """
    A6-02: QMX-A5-01
    ARG-A5-01: UB-CAPACITY
    ARG-COM-02: TILE-08
    DMA-A5-05: DMA-A5-11
    EW-07: TILE-08
    EW-A3-03: EW-CMP-01
    EW-A3-08: L1-CAPACITY
    EW-A5-02: EW-CMP-01
    EW-A5-06: EW-CMP-01
    EW-AS-06: AL-8
    EW-AS-08: EW-08
    GATHB-05: AL-5
    GATHER-A23-01: GATHER-A23-08 GATHER-COM-03
    GATHER-A23-03: GATHER-A23-07
    GATHER-A23-05: TILE-05
    GATHER-COM-04: TILE-08
    GATHER-COM-05: PV-5
    GATHER-CPU-01: GATHER-CPU-02
    INS-A23-01: INS-COM-02
    LOAD-A3-13: LOAD-A3-D2
    LOAD-A3-14: LOAD-A3-D2
    LOAD-A3-16: LOAD-A3-D3
    LOAD-A3-20: LOAD-A3-D1
    LOAD-A3-21: L1-CAPACITY
    LOAD-A5-06: LOAD-A5-D1
    LOAD-A5-08: L1-CAPACITY LOAD-A5-09
    LOAD-A5-09: L1-CAPACITY
    LOAD-A5-15: LOAD-A5-D1
    LOAD-A5-19: LOAD-A5-D1
    LS-COM-03: PV-5
    MAT-COM-04: L0A-CAPACITY L0B-CAPACITY
    MRG-COM-04: UB-CAPACITY
    MX-K: AL-8
    MXM-A3-01: SPACE-ABSENT
    MXM-A5-04: L0C-CAPACITY
    PAD-READ: EW-05
    PIPE-FREED: PI-7
    PTR-A5-01: MIC-07
    RACE-RAW: RACE-WAW
    RACE-WARP: RACE-THREADS
    REXP-COM-10: TILE-06
    RRED-COM-04: RR-1
    SCATTER-A23-04: TILE-05
    SCATTER-COM-04: PV-5
    SIGNAL-01: CM-4
    SORT-A23-01: UB-CAPACITY
    SORT-COM-05: AL-5
    ST-3: ST-5
    ST-7: ST-10
    STORE-A3-08: STORE-A3-D1
    STORE-A3-09: STORE-A3-D4
    STORE-A3-15: L0C-CAPACITY
    STORE-A3-16: L0C-CAPACITY
    STORE-A3-17: L0C-CAPACITY STORE-A3-15
    STORE-A5-05: TILE-04 TILE-D3
    STORE-A5-07: STORE-A5-D1
    STORE-A5-20: STORE-A5-10
    STORE-A5-D4: STORE-A5-D1
    TC-3: TL-1
    TCVT-A5-01: TCVT-02 TCVT-03
    TGATH-A23-02: AL-5
    TMOV-A23-03: TMOV-COM-10
    TMOV-A5-03: TMOV-COM-18
    TMOV-A5-A2: TILE-03 TILE-06
    TMOV-COM-15: TILE-04
    TMOV-COM-19: TMOV-COM-18
    TRANS-A5-01: TILE-05
    TRANS-CONV-02: UB-CAPACITY
    TSCAT-COM-07: AL-5
    VEC-A5-11: MIC-09
"""
ACCOMPANIED = dict(line.strip().split(": ") for line in _ACCOMPANIED.strip().splitlines())
"""Rules whose refused program breaks others too, with these."""
ALWAYS = {"QNT-A3-01": {"QNT-A3-02"}, "UNIT-FLAG-LEFT": {"UNINIT-READ"}, "FLAG-LIBRARY": {"FN-CALL"}}
"""Rules of whose accepted program something else is said: the instruction always is warned of, or the program leaves
out its loads, or it calls what has no body."""


def found(text: str, rule: Rule) -> set[str]:
    """The rules that findings in a program name."""
    return {d.rule for d in found_in(text, rule)}


@pytest.mark.parametrize("id", RUN)
def test_example(id: str) -> None:
    rule = CATALOGUE[id]
    assert found(rule.accepted, rule) == ALWAYS.get(id, set())
    said = set(rule.reported_as.split()) or {id}
    assert found(rule.refused, rule) == {*said, *ACCOMPANIED.get(id, "").split(), *ALWAYS.get(id, ())}


def test_every_rule_has_an_example_or_says_why_not() -> None:
    assert [rule.id for rule in RULES if not (rule.example or rule.unrun or rule.reported_as)] == []
    named = {id for rule in RULES for id in rule.reported_as.split()}
    assert named - {rule.id for rule in RULES if rule.example} == set()


def test_all_but_few_examples_run() -> None:
    """Those about files, other machines and what cannot be broken are few."""
    assert len([rule for rule in RULES if rule.unrun]) < len(RULES) / 20


def test_rules_of_instructions_and_of_the_assembler_have_evidence() -> None:
    scopes = (Scope.ISA, Scope.ASSEMBLER)
    assert [rule.id for rule in RULES if rule.scope in scopes and rule.enforced and not rule.evidence] == []
