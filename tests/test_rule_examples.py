"""Every rule's example: the accepted program is free of findings, the refused one gives the rule."""

from __future__ import annotations

import pytest

from ptokit.api.catalogue import load_catalogue
from ptokit.api.rule_examples import found_in
from ptokit.diagnostics import CATALOGUE, catalogue

load_catalogue()

_ACCOMPANIED = """
    ARG-A5-01: UB-CAPACITY
    DMA-A5-05: DMA-A5-11
    EW-A3-03: EW-CMP-01
    EW-A5-02: EW-CMP-01
    EW-A5-06: EW-CMP-01
    EW-AS-06: AL-8
    EW-AS-08: EW-08
    GATHB-05: AL-5
    GATHER-A23-03: GATHER-A23-07
    GATHER-A23-05: TILE-05
    GATHER-COM-05: PV-5
    INS-A23-01: INS-COM-02
    LOAD-A3-13: LOAD-A3-D2
    LOAD-A3-14: LOAD-A3-D2
    LOAD-A3-16: LOAD-A3-D3
    LOAD-A3-21: L1-CAPACITY
    LOAD-A5-06: LOAD-A5-D1
    LOAD-A5-09: L1-CAPACITY
    LOAD-A5-11: LOAD-A5-D2
    LOAD-A5-15: LOAD-A5-D1
    LS-COM-03: PV-5
    MXM-A3-01: SPACE-ABSENT
    MXM-A5-02: MXM-A5-03
    MXM-A5-04: L0C-CAPACITY
    PAD-READ: EW-05
    PIPE-FREED: PI-7
    REXP-COM-10: TILE-06
    SCATTER-A23-04: TILE-05
    SCATTER-COM-04: PV-5
    SIGNAL-01: CM-4
    SORT-COM-05: AL-5
    STORE-A3-08: STORE-A3-D1
    TGATH-A23-02: AL-5
    TMOV-COM-15: TILE-04
    TRANS-A5-01: TILE-05
    TSCAT-COM-07: AL-5
"""
ACCOMPANIED = dict(line.strip().split(": ") for line in _ACCOMPANIED.strip().splitlines())
"""Rules whose refused program breaks others too, with these."""


@pytest.mark.parametrize("id", [rule.id for rule in catalogue() if rule.example])
def test_example(id: str) -> None:
    rule = CATALOGUE[id]
    accepted, refused = ({d.rule for d in found_in(text, rule)} for text in (rule.accepted, rule.refused))
    assert not accepted
    assert refused == {id, *ACCOMPANIED.get(id, "").split()}
