"""A backend by the lines of CONTRIBUTING: one member of `Backend`, one module; nothing else has to know it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from shutil import copytree, ignore_patterns

import ptokit

PACKAGE = Path(ptokit.__file__).parent
PROGRAM = Path(__file__).parents[1] / "examples" / "pto" / "softmax.pto"


def test_a_copy_of_the_reference_backend_is_found_by_its_name(tmp_path: Path) -> None:
    copytree(PACKAGE, tmp_path / "ptokit", ignore=ignore_patterns("__pycache__", "site", "lsp"))
    new = tmp_path / "ptokit"
    walker = (new / "backends" / "reference.py").read_text(encoding="utf-8")
    said = walker.replace(
        "        program = self.program\n", '        program = self.program\n        print("by hand")\n'
    )
    assert said != walker
    (new / "backends" / "byhand.py").write_text(said, encoding="utf-8")
    choices = new / "types" / "choices.py"
    text = choices.read_text(encoding="utf-8")
    line = '    REFERENCE = "reference"\n'
    choices.write_text(text.replace(line, line + '    BY_HAND = "byhand"\n'), encoding="utf-8")
    environment = {"PYTHONPATH": str(tmp_path), "PATH": ""}
    given = "--target a2a3 --blocks 4 --arg random:f32:20x512 --arg zeros:f32:20x512 --arg 20 --backend".split()
    arguments = [sys.executable, "-m", "ptokit", "run", str(PROGRAM), *given]

    def run(name: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*arguments, name], capture_output=True, text=True, env=environment, check=False)

    mine, known = run("byhand"), run("reference")
    assert (mine.returncode, known.returncode) == (0, 0), mine.stderr
    first, *lines = mine.stdout.splitlines()
    assert first == "by hand"
    assert lines[1:] == known.stdout.splitlines()[1:]  # after how long it took
    assert "byhand" in run("none").stderr
