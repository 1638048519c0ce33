"""ptokit convert: what is written where, errors, exit status."""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import Run

FORMS = ("dps", "ssa", "sync", "generic")
TEXT = "func.func @f(%p: !pto.ptr<f32>) { // a comment\n  return\n}\n"
DPS = "module {\n  func.func @f(%p: !pto.ptr<f32>) {\n    return\n  }\n}\n"
GENERIC = """"builtin.module"() ({
  "func.func"() <{function_type = (!pto.ptr<f32>) -> (), sym_name = "f"}> ({
  ^bb0(%p: !pto.ptr<f32>):
    "func.return"() : () -> ()
  }) : () -> ()
}) : () -> ()
"""
BROKEN = "func.func @f() {\n  pto.tadd\n  return\n}\n"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "k.pto").write_text(TEXT)
    (tmp_path / "broken.pto").write_text(BROKEN)
    return tmp_path


def test_to_stdout(ptokit: Run, here: Path) -> None:
    ran = ptokit("convert", "k.pto", "--to", "generic")
    assert (ran.status, ran.out, ran.err) == (0, GENERIC, "")
    (here / "g.mlir").write_text(GENERIC)
    ran = ptokit("convert", "g.mlir", "--to", "dps")
    assert (ran.status, ran.out, ran.err) == (0, DPS, "")


def test_to_a_file(ptokit: Run, here: Path) -> None:
    ran = ptokit("convert", "k.pto", "--to", "generic", "-o", "out.mlir")
    assert (ran.status, ran.out, ran.err) == (0, "", "k.pto: written to out.mlir in the form generic\n")
    assert (here / "out.mlir").read_text() == GENERIC
    assert ptokit("convert", "k.pto", "--to", "dps", "--out", "k.pto").status == 0  # in place
    assert (here / "k.pto").read_text() == DPS
    assert sorted(p.name for p in here.iterdir()) == ["broken.pto", "k.pto", "out.mlir"]


def test_a_file_with_errors_gives_nothing(ptokit: Run, here: Path) -> None:
    for form in FORMS:
        ran = ptokit("convert", "broken.pto", "--to", form, "-o", "out.pto")
        assert (ran.status, ran.out) == (1, "")
        assert ran.err.startswith("broken.pto:3:3: error: ")
        assert ran.err.endswith("\nbroken.pto: 1 error, nothing written\n")
    assert not (here / "out.pto").exists()
    ran = ptokit("convert", "none.pto", "--to", "dps")
    assert (ran.status, ran.out) == (1, "")
    assert "[TEXT-FILE]" in ran.err


def test_what_a_form_cannot_express_gives_nothing(ptokit: Run, here: Path) -> None:
    body = "  %a = arith.constant 0 : i64\n  %t = pto.alloc_tile addr = %a : !pto.tile_buf<vec, 16x16xf32>\n"
    flag = "  pto.set_flag[<PIPE_V>, <PIPE_MTE3>, <EVENT_ID0>]\n"
    (here / "placed.pto").write_text(f"func.func @f() {{\n{body}{flag}  return\n}}\n")
    ran = ptokit("convert", "placed.pto", "--to", "ssa", "-o", "out.pto")
    assert (ran.status, ran.out) == (1, "")
    assert "placed.pto:3:8: error: pto.alloc_tile gives a tile an address" in ran.err
    assert "placed.pto:4:3: error: pto.set_flag states an order" in ran.err
    assert ran.err.endswith("\nplaced.pto: 2 errors, nothing written\n")
    assert not (here / "out.pto").exists()
    for form in ("dps", "sync", "generic"):
        assert ptokit("convert", "placed.pto", "--to", form, "-o", "out.pto").status == 0


def test_a_place_that_cannot_be_written(ptokit: Run, here: Path) -> None:
    (here / "folder").mkdir()
    for out in ("folder", "missing/out.pto"):
        ran = ptokit("convert", "k.pto", "--to", "dps", "-o", out)
        assert (ran.status, ran.out) == (1, "")
        assert "[CLI-06]" in ran.err


@pytest.mark.parametrize("args", [("k.pto",), ("k.pto", "--to", "level9"), ("--to", "dps"), ("a", "b", "--to", "dps")])
def test_wrong_usage(ptokit: Run, here: Path, args: tuple[str, ...]) -> None:
    ran = ptokit("convert", *args)
    assert (ran.status, ran.out) == (2, "")


def test_help_has_examples(ptokit: Run) -> None:
    ran = ptokit("convert", "--help")
    assert ran.status == 0
    assert all(f"\n    {form} " in ran.out for form in FORMS)
    assert "ptokit convert kernel.pto --to generic" in ran.out
