"""Fixes mend every known program that races on one core: the pairs, and the synchronisation cases."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from ptokit.asm import read_module
from ptokit.conformance.programs import Buffer, SyncCase, SyncSuite
from ptokit.diagnostics import Severity
from ptokit.sanitize import Report, sanitize
from ptokit.targets import target

from .test_pairs import PAIRS, Pair, launch, program

CASES = Path(__file__).parents[1] / "data" / "sync-cases"
ONE_CORE = {"RACE-RAW", "RACE-WAR", "RACE-WAW", "RACE-INTRAPIPE"}
_numbers = count()


def mended(text: str, folder: Path, run: Callable[[Path], Report]) -> tuple[set[str], set[str]]:
    """Rules found before and after as many fixes as it takes; every fix leaves fewer races."""
    first: set[str] | None = None
    left = 1000
    while True:
        path = folder / f"k{next(_numbers)}.pto"
        path.write_text(text)
        report = run(path)
        rules = {d.rule for d in report.symptoms if d.severity is not Severity.NOTE}
        first = rules if first is None else first
        fixes = [race.fix for race in report.races.values() if race.same_core]
        assert len(fixes) < left, text
        left = len(fixes)
        if not fixes:
            return first, rules
        assert fixes[0] is not None
        assert fixes[0].edits, fixes[0].text
        text = fixes[0].apply(text)


def sanitized(path: Path, on: str, args: list[Any], blocks: int, order: str) -> Report:
    parsed = read_module(str(path), target=target(on))
    parsed.diagnostics.raise_if_errors()
    return sanitize(parsed.module, on, args, blocks, order=order)


@pytest.mark.parametrize("pair", [p for p in PAIRS if ONE_CORE & set(p.rules)], ids=lambda pair: pair.name)
def test_pairs(pair: Pair, tmp_path: Path) -> None:
    bad = program(pair, good=False)

    def run(path: Path) -> Report:
        more = {"target": "a2a3", **launch(pair)}
        on = more.pop("target")
        args = bad.values(more.pop("args", None))
        return sanitized(path, on, args, more.pop("blocks", 1), more.pop("order", "strict"))

    before, after = mended(bad.text, tmp_path, run)
    assert before == set(pair.rules)
    assert after == before - ONE_CORE


def cases() -> list[tuple[SyncCase, str]]:
    suite = SyncSuite.read(CASES, json.loads((CASES / "manifest.json").read_text()))
    return [(case, on) for case in suite.cases for on in case.targets if ONE_CORE & case.expect[on]]


@pytest.mark.parametrize(("case", "on"), cases(), ids=lambda value: getattr(value, "name", value))
def test_cases(case: SyncCase, on: str, tmp_path: Path) -> None:
    def run(path: Path) -> Report:
        args = [arg.make() if isinstance(arg, Buffer) else arg for arg in case.args]
        return sanitized(path, on, args, case.blocks, case.order)

    before, after = mended((CASES / case.file).read_text(), tmp_path, run)
    assert case.expect[on] <= before
    assert after == before - ONE_CORE - {"UB-OVERLAP"}


def test_there_are_many() -> None:
    assert sum(bool(ONE_CORE & set(pair.rules)) for pair in PAIRS) >= 12
    assert len(cases()) >= 12
