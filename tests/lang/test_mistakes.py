"""Ordinary mistakes in Python kernels: one finding at its place, from every way to come to it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import ptokit
from ptokit.diagnostics import Diagnostic

from .support import finding_of

KERNEL = """\
import math
import numpy as np
import ptokit as pto


def helper(t):
    pto.TADDD(t, t, t)


@pto.kernel(target="a5")
def k(x: pto.Ptr[pto.f32], y: pto.Ptr[pto.f32], n: int):
    gx, gy = pto.GlobalTensor(x, (n, 64)), pto.GlobalTensor(y, (n, 64))
    t, u = pto.Tile(pto.TileType.Vec, pto.f32, 16, 64), pto.Tile(pto.TileType.Vec, pto.f32, 16, 64)
    pto.TLOAD(t, gx[0:16])
{}
    pto.TSTORE(gy[0:16], t)


def main():
    x = np.ones((16, 64), np.float32)
    k[1](x, np.zeros_like(x), 16)


if __name__ == "__main__":
    main()
STATE, LOG = {{"n": 0}}, []
"""

MISTAKES = Path(__file__).with_name("mistakes.txt").read_text(encoding="utf-8")
CASES = [[part.strip() for part in line.split(" | ")] for line in MISTAKES.splitlines() if not line.startswith("#")]


def kernel_file(folder: Path, statement: str) -> tuple[Path, str]:
    text = KERNEL.format("    " + statement.replace(" ;; ", "\n    "))
    file = folder / "kernels.py"
    file.write_text(text)
    return file, text


def of(file: Path, text: str) -> ModuleType:
    module = ModuleType("kernels")
    exec(compile(text, str(file), "exec"), module.__dict__)
    return module


def judged(finding: Diagnostic, text: str, case: list[str]) -> None:
    _, rule, message, hint, caret = case
    assert finding.rule == rule
    assert message in finding.message
    assert finding.hint is None if hint == "-" else hint in (finding.hint or "")
    line = text.splitlines()[finding.location.line - 1]
    start = finding.location.column - 1
    assert caret == "-" or line[start : start + finding.location.length].startswith(caret)


@pytest.mark.parametrize("case", CASES, ids=[case[0] for case in CASES])
def test_a_mistake_is_one_finding_from_everywhere(case: list[str], tmp_path: Path) -> None:
    statement, everywhere = case[0].removeprefix("* "), not case[0].startswith("* ")
    file, text = kernel_file(tmp_path, statement)
    module = of(file, text)
    x = np.ones((16, 64), np.float32)
    found = finding_of(lambda: module.k[1](x, x.copy(), 16))
    judged(found, text, case)
    (checked,) = (d for d in ptokit.check(str(file)).diagnostics if d.severity == "error")
    assert (checked.rule, checked.message, checked.hint) == (found.rule, found.message, found.hint)
    assert checked.location.line == found.location.line
    if everywhere:
        interpreted = finding_of(lambda: module.k.interpret[1](x, x.copy(), 16))
        judged(interpreted, text, case)


@pytest.mark.parametrize("condition", ["if t:", "while t:", "while t > u:", "if n > 1 and t:"])
def test_tiles_are_no_conditions(condition: str, tmp_path: Path) -> None:
    file, text = kernel_file(tmp_path, f"{condition}\n        pto.TADD(t, t, t)")
    x = np.ones((16, 64), np.float32)
    for launch in (of(file, text).k, of(file, text).k.interpret):
        found = finding_of(lambda launch=launch: launch[1](x, x.copy(), 16))
        assert found.rule == "LANG-KIND"
        assert found.location.line == 15


def test_a_mistake_in_a_helper_names_the_call(tmp_path: Path) -> None:
    file, text = kernel_file(tmp_path, "helper(u)")
    module = of(file, text)
    x = np.ones((16, 64), np.float32)
    for launch in (module.k, module.k.interpret):
        found = finding_of(lambda launch=launch: launch[1](x, x.copy(), 16))
        assert (found.location.line, [(n.message, n.location.line) for n in found.notes]) == (7, [("called here", 15)])


def test_a_call_in_the_same_line_is_no_note(tmp_path: Path) -> None:
    file, text = kernel_file(tmp_path, 'rows = [int(n) for n in ["1", "x"]]')
    found = finding_of(of(file, text).k.check)
    assert (found.location.line, found.notes) == (15, ())


def test_a_script_ends_with_the_finding_and_its_own_frames(tmp_path: Path) -> None:
    file, _ = kernel_file(tmp_path, "u = t + 1")
    ran = subprocess.run([sys.executable, str(file)], capture_output=True, text=True)
    lines = ran.stderr.splitlines()
    assert ran.returncode == 1
    assert [line.strip() for line in lines if line.startswith('  File "')] == [
        f'File "{file}", line 25, in <module>',
        f'File "{file}", line 21, in main',
    ]
    assert f"ptokit.DiagnosticError: {file}:15:9: error: a tile has no + [LANG-KIND]" in lines
    debugged = subprocess.run(
        [sys.executable, str(file)], capture_output=True, text=True, env={"PTOKIT_DEBUG": "1"}, check=False
    )
    assert "in launch" in debugged.stderr


@pytest.mark.parametrize("way", ["", ".interpret"])
def test_leaving_the_debugger_ends_a_script_quietly(way: str, tmp_path: Path) -> None:
    file, text = kernel_file(tmp_path, "breakpoint()")
    file.write_text(text.replace("k[1](x,", f"k{way}[1](x,"))
    ran = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, input="q\n")
    assert (ran.returncode, ran.stderr) == (1, "")


def test_a_debugger_comes_to_the_users_line(tmp_path: Path) -> None:
    file, text = kernel_file(tmp_path, "m = 1 // 0")
    module = of(file, text)
    for launch in (module.k, module.k.interpret):
        with pytest.raises(ptokit.DiagnosticError) as caught:
            launch[1](np.ones((16, 64), np.float32), np.ones((16, 64), np.float32), 16)
        assert (str(caught.traceback[-1].path), caught.traceback[-1].lineno + 1) == (str(file), 15)


def test_a_mistake_at_the_top_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "kernels.py"
    file.write_text("import ptokit as pto\n\nWIDTH = pto.float32\n")
    (found,) = ptokit.check(str(file)).diagnostics
    assert (found.rule, found.location.line, found.hint) == ("LANG-NAME", 3, "did you mean f32?")


PRINTED = """
import ptokit as pto

@pto.kernel(target="a5")
def k(y: pto.Ptr[pto.f32], n: int, f: float):
    print("compiling", 100, "%")
    for i in range(n):
        if i > 0:
            print("i =", i, "of", n, "100%", f, sep=" ", end=";\\n")
    print(n)
"""


def test_numbers_of_the_run_are_printed_by_the_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "kernels.py"
    file.write_text(PRINTED)
    module = of(file, PRINTED)
    block = "i = 1 of 3 100% 0.5;\ni = 2 of 3 100% 0.5;\n3\n"
    module.k[2](np.zeros(8, np.float32), 3, 0.5)
    assert capsys.readouterr().out == "compiling 100 %\n" + block * 2
    module.k[1](np.zeros(8, np.float32), 3, 0.5)
    assert capsys.readouterr().out == block
    module.k.interpret[2](np.zeros(8, np.float32), 3, 0.5)
    assert capsys.readouterr().out == ("compiling 100 %\n" + block) * 2


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("for i in range(n):\n        print('here')", "how often it prints this, in a loop"),
        ("if n > 3:\n        print('here')", "how often it prints this, in a branch"),
        ("print(n, file=open('/dev/null', 'w'))", "printed where the run prints"),
    ],
)
def test_what_cannot_be_printed_each_time_is_refused(statement: str, words: str, tmp_path: Path) -> None:
    file, text = kernel_file(tmp_path, statement)
    x = np.ones((16, 64), np.float32)
    found = finding_of(lambda: of(file, text).k[1](x, x.copy(), 16))
    assert (found.rule, words in found.message) == ("LANG-SCALAR", True)


def launches(module: ModuleType) -> list[Callable[..., None]]:
    return [module.k[1], module.k.interpret[1]]


@pytest.mark.parametrize("way", [0, 1])
def test_what_the_kernel_raises_has_no_frames_of_ptokit(way: int, tmp_path: Path) -> None:
    file, text = kernel_file(tmp_path, 'raise LookupError("mine")')
    x = np.ones((16, 64), np.float32)
    with pytest.raises(LookupError, match="mine") as caught:
        launches(of(file, text))[way](x, x.copy(), 16)
    names = [entry.path.name for entry in caught.traceback]
    assert names[1:] == ["kernels.py"]
