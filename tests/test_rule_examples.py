"""Every rule's example: the accepted program is free of findings, the refused one gives the rule."""

from __future__ import annotations

import pytest

from ptokit.api.catalogue import load_catalogue
from ptokit.api.rule_examples import found_in
from ptokit.diagnostics import CATALOGUE, catalogue

load_catalogue()

ACCOMPANIED: dict[str, str] = {}
"""Rules whose refused program breaks others too, with these."""


@pytest.mark.parametrize("id", [rule.id for rule in catalogue() if rule.example])
def test_example(id: str) -> None:
    rule = CATALOGUE[id]
    accepted, refused = ({d.rule for d in found_in(text, rule)} for text in (rule.accepted, rule.refused))
    assert not accepted
    assert refused - set(ACCOMPANIED.get(id, "").split()) == {id}
