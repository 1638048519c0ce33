"""Every rule that something can break is asserted in a test, by its id."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

import ptokit.api
import ptokit.cli.main
import ptokit.isa.all
import ptokit.lang
import ptokit.launches
import ptokit.run
import ptokit.sanitize  # noqa: F401
from ptokit.diagnostics import CATALOGUE, Rule
from tests.isa.test_store_rules import CASES as STORES

HERE = Path(__file__).parent
_ID = re.compile(r"[A-Z][A-Z0-9]*(?:-[A-Z0-9]+)+|DEADLOCK")
_OTHER = re.compile(r"[Rr]eported (as|under|while reading)|Found by `ptokit sanitize`")
UNREACHED = {"RUN-RANGE": "a guard: numbers of 64 bits wrap before they get there"}


@cache
def mentioned() -> set[str]:
    """Ids in tests and in the expectations beside them."""
    found = {case[0] for case in STORES}  # ids that are put together there
    for path in HERE.rglob("*"):
        if path.suffix in (".py", ".json", ".pto") and path != Path(__file__):
            found |= set(_ID.findall(path.read_text(encoding="utf-8", errors="ignore")))
    return found


def reported_as(rule: Rule) -> list[str] | None:
    """The rules that are reported in its place, perhaps none by id; None for a rule that is reported itself."""
    said = " ".join((rule.what, rule.why, rule.decision))
    place = _OTHER.search(said)
    return None if place is None else [id for id in _ID.findall(said[place.start() :]) if id in CATALOGUE]


def test_every_rule_is_asserted_by_its_id() -> None:
    reported = {id for id, rule in CATALOGUE.items() if rule.enforced and reported_as(rule) is None}
    assert reported - mentioned() == UNREACHED.keys()


@pytest.mark.parametrize("id", [id for id, rule in CATALOGUE.items() if rule.enforced and reported_as(rule)])
def test_what_is_reported_in_place_of_a_rule_is_asserted(id: str) -> None:
    others = reported_as(CATALOGUE[id]) or []
    assert {other for other in others if reported_as(CATALOGUE[other]) is None} <= mentioned()
