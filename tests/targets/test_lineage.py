"""A target that descends from another one: its rules and tables, but for what it changes."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import ptokit as pto
from ptokit.api.rule import page_of
from ptokit.asm import parse_module
from ptokit.diagnostics import CATALOGUE, lookup
from ptokit.ir.functions import stated_target
from ptokit.isa.check import rules_of
from ptokit.isa.table import TABLE
from ptokit.run.program import compile_program
from ptokit.sanitize import sanitize
from ptokit.targets import A2A3, A5, CPU, TARGETS, Target
from tests.each import each
from tests.isa import test_rules_compute, test_rules_irregular
from tests.isa.fake import spec
from tests.isa.rule_cases import broken
from tests.isa.test_load_rules import CASES as LOADS
from tests.isa.transfer_sites import broken as broken_at
from tests.isa.transfer_sites import site as transfer

from .a7 import A7, ROWS

del CATALOGUE[ROWS.id]  # other tests look at the catalogue as it is without this target

CASES = [c for c in (*test_rules_compute.CASES, *test_rules_irregular.CASES) if c[2] == "a5"]


@pto.kernel(target="a5")
def double(x: pto.Ptr[pto.f32], y: pto.Ptr[pto.f32]) -> None:
    tile = pto.Tile(pto.TileType.Vec, pto.f32, 16, 64)
    pto.TLOAD(tile, pto.GlobalTensor(x, (16, 64)))
    pto.TADD(tile, tile, tile)
    pto.TSTORE(pto.GlobalTensor(y, (16, 64)), tile)


@pytest.fixture
def a7(monkeypatch: pytest.MonkeyPatch) -> Target:
    """A7, as if a file of `targets` defined it."""
    monkeypatch.setitem(TARGETS, "a7", A7)
    monkeypatch.setitem(CATALOGUE, ROWS.id, ROWS)
    return A7


def test_the_file_is_short() -> None:
    lines = (Path(__file__).parent / "a7.py").read_text().splitlines()
    assert sum(bool(line.strip()) for line in lines) < 20


@each("name", TABLE)
def test_every_rule_of_the_older_target_binds_the_newer_one(name: str) -> None:
    older, newer = ([rule.id for rule in rules_of(TABLE[name], on)] for on in (A5, A7))
    assert newer == [id for id in older if id != "EW-A5-01"] + (["A7-01"] if name == "TADD" else [])


@each("case", CASES, ids=[f"{case[0]}-{case[1]}-{i}" for i, case in enumerate(CASES)])
def test_what_breaks_a_rule_breaks_it_on_the_newer_target(case: tuple, a7: Target) -> None:
    _, name, _, good, bad = case
    for operands in (good, bad):
        older, newer = broken(name, "a5", operands), broken(name, "a7", operands)
        assert newer.keys() - {"A7-01"} == older.keys() - {"EW-A5-01"}


@each("case", [c for c in LOADS if c[1] == "a5"], ids=lambda case: case[0])
def test_transfers_look_up_the_same_rules_and_tables(case: tuple, a7: Target) -> None:
    for operands in case[2:4]:
        older, newer = (broken_at(transfer("TLOAD", on, *operands)) for on in ("a5", "a7"))
        assert newer.keys() == older.keys()


def test_a_rule_is_lifted_and_another_one_added(a7: Target) -> None:
    long = dict.fromkeys(("dst", "src"), spec("i64", 16, 128)) | {"scalar": 1}
    assert "EW-A5-01" in broken("TADDS", "a5", long)
    assert "EW-A5-01" not in broken("TADDS", "a7", long)
    wide = dict.fromkeys(("dst", "src0", "src1"), spec("f32", 16, 72))
    assert not broken("TADD", "a5", wide)
    assert broken("TADD", "a7", wide) == {"A7-01": "TADD works on rows of at most 256 bytes."}


def test_a_program_for_the_newer_target_is_checked_and_run(a7: Target) -> None:
    text = double.to_pto().replace('"a5"', '"a7"')
    read = parse_module(text)
    assert stated_target(read.module) is A7
    x = np.arange(1024, dtype=np.float32)
    program = compile_program(read.module, A7)
    for run in (lambda *args: program.launch(args), double.on("a7")):
        y = np.zeros_like(x)
        run(x, y)
        assert (y == 2 * x).all()
    assert sanitize(read.module, A7, (x, y), 1).clean


def test_the_page_of_an_added_rule_names_the_instruction(a7: Target, capsys: pytest.CaptureFixture[str]) -> None:
    print(page_of(ROWS))
    assert "TADD" in capsys.readouterr().out


def test_questions_that_targets_answer() -> None:
    assert [A7.is_a(on) for on in (A7, A5, A2A3, CPU)] == [True, True, False, False]
    assert not A5.is_a(A7)
    assert A7.lineage == ("a7", "a5")
    assert [on.is_device for on in (A7, A5, A2A3, CPU)] == [True, True, True, False]
    table = {"a5": 1, "asm-a5": 2, "a7": 3}
    assert (A7.of(table), A5.of(table), A2A3.of(table), A7.of(table, "asm-")) == (3, 1, None, 2)
    assert A7.entry({"a5": 1}) == 1
    with pytest.raises(KeyError):
        A2A3.entry({"a5": 1})
    assert A7.obeys(lookup("EW-04"))
    assert not A7.obeys(lookup("EW-A5-01"))
    assert not A7.obeys(lookup("EW-A3-08"))


def test_a_target_two_steps_down_inherits_what_its_parent_changed() -> None:
    for a8 in (replace(A7, name="a8", like=A7), replace(A7, name="a8", like=A7, lifted=frozenset(), added={})):
        assert not a8.obeys(lookup("EW-A5-01"))
        assert [rule.id for rule in a8.own_rules("TADD")] == ["A7-01"]
        assert rules_of(TABLE["TADD"], a8) == rules_of(TABLE["TADD"], A7)


def test_a_target_survives_pickling() -> None:
    again = pickle.loads(pickle.dumps(A5))
    assert again == A5
    assert hash(again) == hash(A5)
