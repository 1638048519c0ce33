"""`tools/histories.py`: texts of a history, deleted ones too, each once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ptokit.campaign.case import Action
from ptokit.campaign.spec import read_spec

TOOL = Path(__file__).parents[1] / "tools" / "histories.py"
GOOD = "func.func @f(%x: !pto.ptr<f32>) attributes {pto.entry} {\n  return\n}\n"


def git(folder: Path, *words: str) -> None:
    who = ("-c", "user.name=t", "-c", "user.email=t@t", "-c", "commit.gpgsign=false")
    subprocess.run(["git", "-C", str(folder), *who, *words], check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Two texts, one of which is renamed and deleted."""
    repository = tmp_path / "kernels"
    repository.mkdir()
    git(repository, "init", "-q")
    for number, texts in enumerate(({"a.pto": GOOD, "b.pto": GOOD.replace("f32", "f99")}, {"sub.pto": GOOD}, {})):
        for old in repository.glob("*.pto"):
            old.unlink()
        for name, text in texts.items():
            (repository / name).write_text(text)
        git(repository, "add", "-A")
        git(repository, "commit", "-q", "--allow-empty", "-m", str(number))
    return repository


def test_a_history(repository: Path) -> None:
    ran = subprocess.run(
        [sys.executable, str(TOOL), f"{repository}=a5", "--list"], capture_output=True, text=True, check=True
    )
    row, refused = ran.stdout.splitlines()[2:]
    assert row == "| kernels | 2 | 1 | 0 | 1 | 0 | 0 | 1 |"
    assert refused.startswith("refused: b.pto: TEXT-")


def test_a_campaign_over_a_history(repository: Path, tmp_path: Path) -> None:
    subprocess.run([sys.executable, str(TOOL), f"{repository}=a5", "--write", str(tmp_path / "out")], check=True)
    spec = read_spec(tmp_path / "out" / "campaign.toml")
    cases = {case.program: case for case in spec.cases() if case.action is Action.CHECK}
    assert [name[:10] for name in sorted(cases)] == ["kernels/b.", "kernels/su"]
    assert {case.default_target for case in cases.values()} == {"a5"}
    assert sorted(case.text for case in cases.values()) == sorted((GOOD, GOOD.replace("f32", "f99")))


def test_other_files_of_a_history(repository: Path, tmp_path: Path) -> None:
    (repository / "k.cpp").write_text("int k;\n")
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "-m", "c")
    out = tmp_path / "out"
    how = ["--files", "*.cpp", "--write", str(out)]
    subprocess.run([sys.executable, str(TOOL), f"{repository}=a5", *how], check=True)
    (file,) = out.rglob("k.*.cpp")
    assert file.read_text() == "int k;\n"
    assert 'programs = ["*/**/*.cpp"]' in (out / "campaign.toml").read_text()


def test_no_repository(tmp_path: Path) -> None:
    with pytest.raises(subprocess.CalledProcessError):
        subprocess.run([sys.executable, str(TOOL), str(tmp_path / "none")], capture_output=True, check=True)
