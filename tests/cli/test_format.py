"""ptokit fmt: what is written, what is left alone, exit status."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from .conftest import Run

UGLY = "// f\nfunc.func @f( ) { return } // end"
NEAT = "// f\nfunc.func @f() {\n  return\n} // end\n"
BROKEN = "func.func @f( ) {\n  pto.tadd\n  return\n}\n"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory, with a file of each kind."""
    monkeypatch.chdir(tmp_path)
    for name, text in (("ugly", UGLY), ("neat", NEAT), ("broken", BROKEN)):
        (tmp_path / f"{name}.pto").write_bytes(text.encode())
    return tmp_path


def texts(folder: Path) -> dict[str, str]:
    return {p.name: p.read_bytes().decode() for p in folder.iterdir()}


def test_files_are_rewritten(ptokit: Run, here: Path) -> None:
    (here / "ugly.pto").chmod(0o640)
    neat = (here / "neat.pto").stat()
    ran = ptokit("fmt", "ugly.pto", "neat.pto")
    assert (ran.status, ran.out, ran.err) == (0, "", "ugly.pto: laid out\n")
    assert texts(here) == {"ugly.pto": NEAT, "neat.pto": NEAT, "broken.pto": BROKEN}
    assert (here / "ugly.pto").stat().st_mode & 0o777 == 0o640
    assert (here / "neat.pto").stat().st_ino == neat.st_ino  # not written at all
    again = ptokit("fmt", "ugly.pto", "neat.pto")
    assert (again.status, again.err) == (0, "")


def test_a_file_with_errors_is_left_and_the_others_are_written(ptokit: Run, here: Path) -> None:
    ran = ptokit("fmt", "broken.pto", "ugly.pto")
    assert ran.status == 1
    assert ran.err.startswith("broken.pto:3:3: error: ")
    assert "broken.pto: 1 error, left as it is\n" in ran.err
    assert texts(here) == {"ugly.pto": NEAT, "neat.pto": NEAT, "broken.pto": BROKEN}


def test_check_lists_and_writes_nothing(ptokit: Run, here: Path) -> None:
    ran = ptokit("fmt", "--check", "neat.pto", "ugly.pto")
    assert (ran.status, ran.out, ran.err) == (1, "ugly.pto\n", "")
    assert ptokit("fmt", "--check", "neat.pto").status == 0
    assert ptokit("fmt", "--check", "broken.pto").status == 1
    assert texts(here) == {"ugly.pto": UGLY, "neat.pto": NEAT, "broken.pto": BROKEN}


def test_stdout(ptokit: Run, here: Path) -> None:
    ran = ptokit("fmt", "ugly.pto", "--stdout")
    assert (ran.status, ran.out, ran.err) == (0, NEAT, "")
    assert texts(here)["ugly.pto"] == UGLY


def test_line_ends_stay_those_of_the_file(ptokit: Run, here: Path) -> None:
    """The first line end counts: LF and CR LF in one file become one of them."""
    windows = NEAT.replace("\n", "\r\n").encode()
    file = here / "ugly.pto"
    file.write_bytes(windows)
    assert ptokit("fmt", "--check", "ugly.pto").status == 0
    file.write_bytes(UGLY.replace("\n", "\r\n").encode() + b"\n")
    assert ptokit("fmt", "ugly.pto").status == 0
    assert file.read_bytes() == windows
    file.write_bytes(NEAT.replace("\n", "\r\n").replace("\r\n", "\n", 1).encode())
    assert ptokit("fmt", "ugly.pto").status == 0
    assert file.read_bytes() == NEAT.encode()


def test_links_stay_links(ptokit: Run, here: Path) -> None:
    (here / "link.pto").symlink_to("ugly.pto")
    assert ptokit("fmt", "link.pto").status == 0
    assert (here / "link.pto").is_symlink()
    assert texts(here)["ugly.pto"] == NEAT


@pytest.mark.skipif(os.geteuid() == 0, reason="the administrator may write everywhere")
def test_a_directory_that_cannot_be_written(ptokit: Run, here: Path) -> None:
    here.chmod(0o555)
    try:
        ran = ptokit("fmt", "ugly.pto")
    finally:
        here.chmod(0o755)
    assert (ran.status, texts(here)["ugly.pto"]) == (1, UGLY)
    assert "CLI-05" in ran.err


def test_a_failing_write_leaves_the_file(ptokit: Run, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    ran = ptokit("fmt", "ugly.pto")
    assert ran.status == 1
    assert "No space left on device [CLI-05]" in ran.err
    assert texts(here) == {"ugly.pto": UGLY, "neat.pto": NEAT, "broken.pto": BROKEN}


def test_usage(ptokit: Run, here: Path) -> None:
    assert ptokit("fmt").status == 2
    assert ptokit("fmt", "--check", "--stdout", "ugly.pto").status == 2
    ran = ptokit("fmt", "none.pto")
    assert ran.status == 1
    assert "TEXT-FILE" in ran.err
