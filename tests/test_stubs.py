"""The type stub: as the table has it, and what type checkers make of it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
WRONG = ROOT / "tests" / "data" / "stubs" / "wrong_calls.py"
RIGHT = [WRONG.with_name("right_calls.py"), *sorted((ROOT / "examples" / "python").glob("*.py"))]
LINES = {n for n, line in enumerate(WRONG.read_text(encoding="utf-8").splitlines(), 1) if line.endswith("# wrong")}


def test_the_stub_is_as_the_table() -> None:
    ran = subprocess.run(
        [sys.executable, ROOT / "tools" / "stubs.py", "--check"], capture_output=True, text=True, timeout=120
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_mypy_finds_every_wrong_call_and_nothing_in_right_ones(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--config-file=",
        "--check-untyped-defs",
        "--cache-dir",
        str(tmp_path),
        "--no-error-summary",
    ]
    ran = subprocess.run(
        [*command, str(WRONG), *map(str, RIGHT)], capture_output=True, text=True, timeout=300, cwd=ROOT
    )
    found = re.findall(r"^(.+?):(\d+): error: ", ran.stdout, re.MULTILINE)
    assert {Path(file).name for file, _ in found} == {WRONG.name}, ran.stdout
    assert {int(line) for _, line in found} == LINES
    assert len(LINES) == 50


def test_pyright_finds_them_too() -> None:
    pyright = shutil.which("basedpyright") or shutil.which("pyright")
    if pyright is None:
        pytest.skip("no pyright")
    ran = subprocess.run(
        [pyright, "--outputjson", "--level", "error", "--pythonpath", sys.executable, str(WRONG), *map(str, RIGHT)],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=ROOT,
    )
    found = [d for d in json.loads(ran.stdout)["generalDiagnostics"] if d["severity"] == "error"]
    assert {Path(d["file"]).name for d in found} == {WRONG.name}
    assert {d["range"]["start"]["line"] + 1 for d in found} == LINES
