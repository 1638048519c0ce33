"""``--fix`` and ``--diff`` of `check` and `sanitize`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from .conftest import Run
from .test_sanitize import ARGS, EXAMPLES, RACY

WRONG = RACY.read_text().replace("pto.tload ", "pto.tlaod ").replace("pto.tadds ", "pto.taddds ")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "k.pto").write_text(RACY.read_text())
    return tmp_path


def test_sanitize_mends_the_file(ptokit: Run, here: Path) -> None:
    ran = ptokit("sanitize", "k.pto", "-t", "a2a3", *ARGS, "--fix")
    assert (ran.status, ran.err) == (
        0,
        "k.pto: 1 fix made\nconstants alone decide what it does to memory: this holds for all arguments\n",
    )
    assert ran.out.endswith("no findings\n")
    assert (here / "k.pto").read_text() != RACY.read_text()
    assert os.listdir(here) == ["k.pto"]


def test_a_difference_changes_nothing(ptokit: Run, here: Path) -> None:
    ran = ptokit("sanitize", "k.pto", "-t", "a2a3", *ARGS, "--diff")
    assert ran.status == 1
    added = [line for line in ran.out.splitlines() if line.startswith("+ ")]
    assert [line.split("[")[0].split()[-1] for line in added] == [
        *("pto.set_flag", "pto.wait_flag", "pto.set_flag", "pto.wait_flag")
    ]
    assert (here / "k.pto").read_text() == RACY.read_text()


def test_check_writes_what_is_meant(ptokit: Run, here: Path) -> None:
    (here / "k.pto").write_text(WRONG)
    ran = ptokit("check", "k.pto", "-t", "a2a3", "--fix")
    assert (ran.status, (here / "k.pto").read_text()) == (0, RACY.read_text())


def test_line_ends_are_kept(ptokit: Run, here: Path) -> None:
    (here / "k.pto").write_bytes(WRONG.replace("\n", "\r\n").encode())
    assert ptokit("check", "k.pto", "-t", "a2a3", "--fix").status == 0
    assert (here / "k.pto").read_bytes() == RACY.read_text().replace("\n", "\r\n").encode()


def test_a_file_without_a_fix_stays(ptokit: Run, here: Path) -> None:
    ran = ptokit("check", "k.pto", "-t", "a2a3", "--fix")
    assert ran.err == "k.pto: nothing to fix\n"
    assert (here / "k.pto").read_text() == RACY.read_text()


def test_a_file_that_cannot_be_written(ptokit: Run, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "k.pto").write_text(WRONG)
    monkeypatch.setattr(os, "access", lambda *_: False)
    ran = ptokit("check", "k.pto", "-t", "a2a3", "--fix")
    assert ran.status == 1
    assert "k.pto cannot be mended: no permission to write it [CLI-08]" in ran.err
    assert (here / "k.pto").read_text() == WRONG


def test_a_file_that_changes_meanwhile(ptokit: Run, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from ptokit.cli import check

    def edited(*args: object) -> str:
        (here / "k.pto").write_text("// another text\n")
        return whole(*args)  # type: ignore[arg-type]

    whole = check.edited
    monkeypatch.setattr(check, "edited", edited)
    ran = ptokit("sanitize", "k.pto", "-t", "a2a3", *ARGS, "--fix")
    assert ran.status == 1
    assert "it has been changed meanwhile [CLI-08]" in ran.err
    assert (here / "k.pto").read_text() == "// another text\n"


def test_stdin_is_no_file(ptokit: Run) -> None:
    assert ptokit("sanitize", "-", "-t", "a2a3", *ARGS, "--fix").status == 2


@pytest.mark.parametrize(
    ("example", "written", "wrong"),
    [
        ("vec_add", "f32, 1, WIDTH, valid_col", "f16, 1, WIDTH, valid_col"),  # of two tiles
        ("gemm_int8", "TileAcc(pto.i32", "TileAcc(pto.f32"),
        ("rms_norm", "TCVT(v, t)", "TMOV(v, t)"),
        ("softmax", "pto.TROWMAX(peak", "pto.TROWMAXX(peak"),
    ],
)
def test_what_a_hint_says_is_written_into_a_kernel(
    ptokit: Run, here: Path, example: str, written: str, wrong: str
) -> None:
    right = (EXAMPLES / f"{example}.py").read_text()
    assert written in right
    file = here / f"{example}.py"
    file.write_text(right.replace(written, wrong))
    assert ptokit("check", file.name).status == 1
    assert ptokit("check", file.name, "--fix").status == 0
    assert file.read_text() == right
