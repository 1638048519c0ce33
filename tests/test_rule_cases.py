"""Every rule that something can break is asserted in a test, by its id."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import ptokit.api
import ptokit.cli.main
import ptokit.lang
import ptokit.launches
import ptokit.run
import ptokit.sanitize  # noqa: F401
from ptokit.diagnostics import CATALOGUE
from tests.isa.test_store_rules import CASES as STORES

HERE = Path(__file__).parent
_ID = re.compile(r"[A-Z][A-Z0-9]*(?:-[A-Z0-9]+)+|DEADLOCK")
_SANITIZED = re.compile(r"Found by `ptokit sanitize`")
UNREACHED = {"RUN-RANGE": "a guard: numbers of 64 bits wrap before they get there"}


@cache
def mentioned() -> set[str]:
    """Ids in tests and in the expectations beside them."""
    found = {case[0] for case in STORES}  # ids that are put together there
    for path in HERE.rglob("*"):
        if path.suffix in (".py", ".json", ".pto") and path != Path(__file__):
            found |= set(_ID.findall(path.read_text(encoding="utf-8", errors="ignore")))
    return found


def test_every_rule_is_asserted_by_its_id() -> None:
    """By its example, which runs, or in a test."""
    rules = (rule for rule in CATALOGUE.values() if rule.enforced and not rule.reported_as)
    others = {rule.id for rule in rules if (rule.unrun or not rule.example) and not _SANITIZED.search(rule.why)}
    assert others - mentioned() == UNREACHED.keys()
