"""`ptokit targets`: side by side, and what differs."""

from __future__ import annotations

import json

from ptokit.api.target_page import compared, targets
from ptokit.diagnostics import CATALOGUE
from ptokit.isa.check import rules_of
from ptokit.isa.checks.tiles import has
from ptokit.isa.table import TABLE
from ptokit.targets import A2A3, A5, A6, TARGETS

from .conftest import Run


def test_all_targets_are_in_columns(ptokit: Run) -> None:
    ran = ptokit("targets")
    assert (ran.status, ran.err) == (0, "")
    lines = ran.out.splitlines()
    for name, target in TARGETS.items():
        assert any(line.split(maxsplit=1) == [name, target.title] for line in lines)
    assert lines.count(" ".join(TARGETS)) == 0
    (vec,) = (line.split() for line in lines if line.startswith("Vec (UB)"))
    sizes = dict(zip(TARGETS, vec[2:], strict=True))
    known = {"cpu": "524,288", "a2a3": "196,608", "a5": "262,144", "a6": "262,144", "kirin9030": "131,072"}
    assert sizes | known == sizes
    (accumulators,) = (line for line in lines if line.startswith("accumulators"))
    assert accumulators.split()[1:] == [kind for on in TARGETS.values() for kind in on.accumulators]


def test_tables_fit_80_columns() -> None:
    lines = str(targets()).splitlines()
    tables = [line for line in lines if not line.startswith("  T")]  # names of instructions are broken by the terminal
    assert max(map(len, tables)) <= 80


def test_what_a_target_has_or_lacks(ptokit: Run) -> None:
    found = json.loads(ptokit("targets", "--format", "json").out)
    assert list(found) == list(TARGETS)
    assert found["a5"]["lacking"] == []
    assert "TPRINT" in found["kirin9030"]["lacking"]
    assert found["a6"]["Buffers, in bytes"]["Acc (L0C)"] == 256 * 1024
    assert found["kirin9030"]["Buffers, in bytes"]["ScaleLeft (SCALE)"] is None
    assert not set(found["a6"]["lacking"]) & {"TADD", "TLOAD", "ALLOC_TILE"}


def test_two_targets_are_compared_rule_by_rule(ptokit: Run) -> None:
    """Against the rules that are evaluated: what binds some instruction on one target, and none on the other."""
    for a, b in ((A2A3, A5), (A5, A6)):
        found = compared(a, b)
        bound = {
            on.name: {rule.id for instr in TABLE.values() if has(instr, on) for rule in rules_of(instr, on)}
            for on in (a, b)
        }
        for name, other in ((a.name, b.name), (b.name, a.name)):
            ids = {id for id, _ in found.rules[name]}
            only = {id for id in bound[name] - bound[other] if CATALOGUE[id].scope in ("isa", "sync")}
            assert only <= ids, sorted(only - ids)
            assert not ids & bound[other]
    text = ptokit("targets", "a2a3", "a5").out
    assert "Rules that bind only on a5" in text
    assert f"  EW-A5-01 {'':.0}" in text
    assert "EW-04" not in text


def test_what_differs_as_json(ptokit: Run) -> None:
    found = json.loads(ptokit("targets", "a5", "kirin9030", "--format", "json").out)
    assert found["targets"] == ["a5", "kirin9030"]
    assert found["facts"]["Left (L0A)"] == [64 * 1024, 32 * 1024]
    assert "TPRINT" in found["instructions"]["a5"]
    assert found["instructions"]["kirin9030"] == []
    assert [rule["id"] for rule in found["rules"]["kirin9030"]] == [f"K90-0{n}" for n in range(1, 7)]


def test_wrong_targets_are_wrong_usage(ptokit: Run) -> None:
    for names, said in (
        (["kirin"], "Did you mean kirin9030?"),
        (["a9"], f"'a9' is not one of {', '.join(TARGETS)}"),
        (["a5", "a5"], "a target is named twice"),
    ):
        ran = ptokit("targets", *names)
        assert (ran.status, ran.out) == (2, "")
        assert said in " ".join(ran.err.split())


def test_an_unknown_target_gets_a_guess_everywhere(ptokit: Run) -> None:
    assert "Did you mean kirin9030?" in " ".join(ptokit("check", "x.pto", "-t", "kirin930").err.split())
