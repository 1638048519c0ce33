"""Objects of Python that a kernel changes: right where it is compiled, refused where the run decides."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import ptokit as pto

from .state_cases import ACCEPTED, COUNTER, REFUSED
from .support import finding_of
from .test_syntax import OUT

HEAD = "import ptokit as pto\n"
KERNEL = "def f(x: pto.Ptr[pto.i64], y: pto.Ptr[pto.i64], n: int):\n"


def module(folder: Path, text: str, body: str) -> tuple[Callable[..., None], Path, str]:
    """The function ``f`` of a file, with its place and text: functions of a file are compiled with a kernel."""
    whole = HEAD + text + "\n\n" + KERNEL + "".join(f"    {line}\n" for line in body.strip("\n").splitlines())
    file = folder / "state.py"
    file.write_text(whole, encoding="utf-8")
    made = sys.modules["state_of_tests"] = ModuleType("state_of_tests")
    exec(compile(whole, str(file), "exec"), made.__dict__)
    return made.__dict__["f"], file, whole


def agree(folder: Path, text: str, body: str, *sizes: int) -> None:
    """Compiled, interpreted and as plain Python the function does the same; its module is made anew for each."""
    for n in sizes or (0, 1, 4):
        results = []
        for way in ("plain", "compiled", "interpreted"):
            function, _, _ = module(folder, text, body)
            x, y = np.arange(40, dtype=np.int64) * 7 % 23, np.zeros(OUT, np.int64)
            kernel = pto.kernel(target="a5")(function)
            launch = {"plain": function, "compiled": kernel, "interpreted": kernel.interpret}[way]
            launch(x, y, n)
            results.append(y)
        assert np.array_equal(results[0], results[1]), (n, results)
        assert np.array_equal(results[0], results[2]), (n, results)


@pytest.mark.parametrize("case", REFUSED)
def test_a_change_that_the_run_decides_is_refused_at_its_place(case: str, tmp_path: Path) -> None:
    text, body, words = REFUSED[case]
    function, file, whole = module(tmp_path, text, body)
    finding = finding_of(lambda: pto.kernel(target="a5")(function).trace())
    assert finding.rule == "LANG-CARRIED"
    assert words in finding.message
    assert finding.location.file == str(file)
    marks = [k for k, line in enumerate(whole.splitlines(), 1) if line.endswith("# here")]
    assert finding.location.line in marks
    assert finding.location.column > 1
    assert finding.hint


@pytest.mark.parametrize("case", ACCEPTED)
def test_what_python_decides_is_right(case: str, tmp_path: Path) -> None:
    text, body, _ = ACCEPTED[case]
    if case == "tiles in objects":  # plain Python has none
        function, _, _ = module(tmp_path, text, body)
        y = np.zeros(OUT, np.int64)
        pto.kernel(target="a5")(function)(np.zeros(40, np.int64), y, 3)
        assert y.tolist() == [1] * 3 + [0] * (OUT - 3)
        return
    agree(tmp_path, text, body)


@pytest.mark.parametrize(
    "body",
    [
        "a = [1, 2]\nb = a\nfor i in range(n):\n    a = [i, 3]\na[0] = 7  # here\ny[0] = b[0]",
        "a, b = [1, 2], [3, 4]\nc = a if n > 2 else b\nc[0] = 7  # here\ny[0] = a[0]",
        "a, b = [1, 2], [3, 4]\nif n > 2:\n    a = b\na.append(7)  # here\ny[0] = len(b)",
    ],
)
def test_a_list_that_may_be_one_of_several_is_not_changed(body: str, tmp_path: Path) -> None:
    function, file, whole = module(tmp_path, "", body)
    finding = finding_of(lambda: pto.kernel(target="a5")(function).trace())
    assert finding.rule == "LANG-CARRIED"
    assert "comes out of a branch or loop" in finding.message
    assert finding.location.file == str(file)
    assert whole.splitlines()[finding.location.line - 1].endswith("# here")
    assert finding.hint == f"change a copy: {finding.message[1]} = list({finding.message[1]})"


@pytest.mark.parametrize(
    ("text", "body"),
    [
        (COUNTER, "s = Counter()\nwhile s.c < 5:  # here\n    y[0] = s.c"),
        ("import itertools", "for v in itertools.count():  # here\n    y[0] = v"),
    ],
)
def test_loops_that_nothing_ends_are_refused(
    text: str, body: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ptokit.lang.syntax.loops.MOST_ITERATIONS", 50)
    function, _, whole = module(tmp_path, text, body)
    finding = finding_of(lambda: pto.kernel(target="a5")(function).trace())
    assert finding.rule == "LANG-CONTROL"
    assert "50 iterations" in finding.message
    assert whole.splitlines()[finding.location.line - 1].endswith("# here")


@pytest.mark.parametrize("count", [3, 4])
def test_as_many_turns_as_may_be_are_unrolled(count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ptokit.lang.syntax.loops.MOST_ITERATIONS", 3)
    function, _, _ = module(tmp_path, "", f"for v in iter(range({count})):\n    y[v] = 1")
    kernel = pto.kernel(target="a5")(function)
    if count > 3:
        assert finding_of(kernel.trace).rule == "LANG-CONTROL"
        return
    y = np.zeros(OUT, np.int64)
    kernel(np.zeros(40, np.int64), y, 1)
    assert y.sum() == count
