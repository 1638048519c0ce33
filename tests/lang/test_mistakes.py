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
"""

# statement | rule | part of message | part of hint | columns of the caret; interpreted kernels find the same but where
# the statement begins with a star.
MISTAKES = """
pto.TADDD(t, t, t) | LANG-NAME | no instruction or name TADDD | did you mean TADD? | pto.TADDD
pto.tadd(t, t, t) | LANG-NAME | no instruction or name tadd | did you mean TADD? | pto.tadd
pto.exp(t, t) | LANG-NAME | no instruction or name exp | did you mean TEXP? | pto.exp
pto.TSOFTMAX(t, t) | LANG-NAME | no instruction or name TSOFTMAX | - | pto.TSOFTMAX
v = pto.Tile(pto.TileType.Vec, pto.float32, 16, 64) | LANG-NAME | name float32 | did you mean f32? | pto.float32
v = pto.Tile(pto.TileType.Vec, pto.half, 16, 64) | LANG-NAME | name half | did you mean f16? | pto.half
v = pto.Tile(pto.TileType.Vector, pto.f32, 16, 64) | LANG-NAME | TileType has no Vector | did you mean Vec? | pto.TileTy
v = pto.Tile(pto.TileType.UB, pto.f32, 16, 64) | LANG-NAME | TileType has no UB | it has: Vec, | pto.TileType.UB
b = pto.program_id() | LANG-NAME | name program_id | did you mean get_block_idx? | pto.program_id
TADD(t, t, t) | LANG-NAME | no variable TADD | write pto.TADD | TADD
hepler(t) | LANG-NAME | no variable hepler | did you mean helper? | hepler
pto.TADD(t, t, missing) | LANG-NAME | no variable missing | - | missing
v = math.sqr(2.0) | LANG-NAME | module math has no sqr | did you mean sqrt? | math.sqr
r = t.shape | LANG-NAME | a tile has no shape | t.rows and t.cols | t.shape
r = u.dtyp | LANG-NAME | a tile has no dtyp | did you mean dtype? | u.dtyp
r = t.T | LANG-NAME | a tile has no T | pto.TTRANS(dst, t, tmp) | t.T
r = t.sum() | LANG-NAME | a tile has no sum | pto.TROWSUM(dst, t, tmp) | t.sum
r = gx.shap | LANG-NAME | GlobalTensor has no shap | did you mean shape? | gx.shap
u = t + 1 | LANG-KIND | a tile has no + | write pto.TADDS(u, t, 1) | t + 1
u = t + u | LANG-KIND | a tile has no + | write pto.TADD(u, t, u) | t + u
u = t * 2.0 | LANG-KIND | a tile has no * | write pto.TMULS(u, t, 2.0) | t * 2.0
u = 2.0 * t | LANG-KIND | a tile has no * | write pto.TMULS(u, t, 2.0) | 2.0 * t
u = t - n | LANG-KIND | a tile has no - | write pto.TSUBS(u, t,  | t - n
u = t / u | LANG-KIND | a tile has no / | write pto.TDIV(u, t, u) | t / u
u = 1 / t | LANG-KIND | a tile has no / | write pto.TDIVS(u, 1, t) | 1 / t
u = t ** 2 | LANG-KIND | a tile has no ** | compute it with instructions | t ** 2
u = t @ u | LANG-KIND | a tile has no @ | write pto.TMATMUL(u, t, u) | t @ u
u = -t | LANG-KIND | a tile has no - | write pto.TNEG(u, t) | -t
u = abs(t) | LANG-KIND | a tile has no abs() | write pto.TABS(u, t) | abs(t)
u = t > 0 | LANG-KIND | compared with > | pto.TCMPS(u, t, 0, pto.CmpMode.GT) | t > 0
u = t == 0.0 | LANG-KIND | compared with == | pto.TCMPS(u, t, 0.0, pto.CmpMode.EQ) | t == 0.0
t += u | LANG-KIND | a tile has no + | pto.TADD( | t += u
t[0, 0] = 1 | LANG-KIND | no items that can be set | pto.TEXPANDS(t, value) | t[0, 0]
v = t[0] | LANG-KIND | a tile has no items | t.subview(row, col, rows, cols) | t[0]
r = len(t) | LANG-KIND | a tile has no length | t.rows and t.cols | len(t)
r = 1 in t | LANG-KIND | a tile cannot be searched | known only on the device | 1 in t
r = float(t) | LANG-KIND | a tile is no number | pto.TGETVAL | float(t)
r = [row for row in t] | LANG-KIND | cannot be iterated over | range(t.rows) | -
t.valid_row = 3 | LANG-KIND | no valid_row that can be set | set_valid(rows, cols) | t.valid_row
t.stage = 3 | LANG-KIND | no stage that can be set | a variable of its own | t.stage
m = 1 // 0 | LANG-RAISES | ZeroDivisionError: integer division or modulo by zero | - | 1 // 0
m = [1, 2][2] | LANG-RAISES | IndexError: list index out of range | - | [1, 2][2]
m = {}["a"] | LANG-RAISES | KeyError: 'a' | - | {}["a"]
m = int("a") | LANG-RAISES | ValueError: invalid literal | - | int("a")
m = np.zeros(-1) | LANG-RAISES | ValueError: negative dimensions | - | np.zeros(-1)
m = "a" + 1 | LANG-RAISES | TypeError: can only concatenate | - | "a" + 1
m = None.rows | LANG-NAME | NoneType has no rows | - | None.rows
(lambda a: a)(t, t) | LANG-RAISES | TypeError: | - | (lambda a: a)(t, t)
pto.TADD(t, t) | LANG-CALL | lacks src1 | - | pto.TADD(t, t)
pto.TADD(t, t, t, t) | LANG-CALL | takes no further argument | - | pto.TADD(t, t, t, t)
pto.TADD(t, t, None) | LANG-KIND | is a tile, not None | return nothing | pto.TADD(t, t, None)
pto.TADD(t, t, 1) | LANG-KIND | src1 of TADD(dst, src0, src1) is a tile, not 1 | pto.TADDS takes | pto.TADD(t, t, 1)
pto.TADD(t, t, "u") | LANG-KIND | is a tile, not 'u' | - | pto.TADD(t, t, "u")
pto.TADD(t, t, np.ones((16, 64))) | LANG-KIND | not an array of shape (16, 64) | with TLOAD | pto.TADD(t, t, np
pto.TADD(t, gx, gx) | LANG-KIND | is a tile, not | load it into a tile with TLOAD first | pto.TADD(t, gx, gx)
pto.TLOAD(gx[0:16], t) | LANG-KIND | dst of TLOAD | destinations come first | pto.TLOAD(gx[0:16], t)
pto.TMULS(t, t, (1, 2)) | LANG-KIND | is a number, not (1, 2) | - | pto.TMULS(t, t, (1, 2))
pto.TLOAD(dest=t, src=gx[0:16]) | LANG-ATTR | no operand or attribute 'dest' | it has: dst, src | pto.TLOAD(de
pto.set_flag("V", "MTE9", 0) | LANG-ATTR | cannot be 'V' | it is: S, V | pto.set_flag("V", "MTE9", 0)
pto.TLOAD(t, gx[0:16:2]) | LANG-VIEW | step of 1 | other strides | gx[0:16:2]
v = pto.Tile(pto.TileType.Vec, pto.f32, 16, "64") | LANG-TILE | must be a positive integer, not '64' | - | pto.Tile(pto
v = pto.Tile(pto.TileType.Vec, "floaty", 16, 64) | LANG-TILE | 'floaty' is not an element type | pto.f32, | pto.Tile(pto
return t | LANG-CONTROL | a kernel returns nothing, and k returns | TSTORE | return t
helper(t) | LANG-NAME | no instruction or name TADDD | did you mean TADD? | pto.TADDD
* v = pto.Tile(pto.TileType.Vec, pto.f32, n, 64) | LANG-TILE | rows of a tile must be a Python integer | set its | -
* v = np.sin(n) | LANG-SCALAR | NumPy cannot compute with a number that only the run knows | Python's operators | np.sin
* v = math.sqrt(n) | LANG-SCALAR | cannot become a Python float | pto.cast(x, pto.f32) | math.sqrt(n)
* v = [1, 2][n] | LANG-SCALAR | a list is indexed by <int n> | pto.static_range | [1, 2][n]
* v = f"{n}" | LANG-SCALAR | has no text | print("n =", n) | -
* print(t) | LANG-SCALAR | a tile has no contents | pto.TPRINT(t) | print(t)
* v = t.numpy() | LANG-CONTEXT | a tile has no contents | kernel.interpret | t.numpy()
"""
CASES = [[part.strip() for part in line.split(" | ")] for line in MISTAKES.strip().splitlines()]


def kernel_file(folder: Path, statement: str) -> tuple[Path, str]:
    text = KERNEL.format("    " + statement)
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
