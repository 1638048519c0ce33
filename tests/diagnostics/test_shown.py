"""How findings look in Python: in a session, a traceback, pytest, a notebook."""

from __future__ import annotations

import pickle
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ptokit as pto
from ptokit import DiagnosticError, GlobalTensor, Ptr, Tile, TileType, f16, f32
from ptokit.diagnostics import Diagnostic, Diagnostics, Location, Severity
from ptokit.diagnostics.finding import Change
from ptokit.diagnostics.render import render


@pytest.fixture
def found(tmp_path: Path) -> Diagnostics:
    file = tmp_path / "k.pto"
    file.write_text("first line\nwrong <b> here\n")
    found = Diagnostics()
    found.error("EW-04", "it is <wrong>", Location(str(file), 2, 7, 3), hint="mend it")
    found.warning("AL-1", "and this", Location(str(file), 1, 1, 5))
    return found


def test_findings_are_shown_as_on_the_terminal(found: Diagnostics) -> None:
    wanted = render(found.sorted()).rstrip("\n")
    assert "    2 | wrong <b> here\n      |       ^^^" in wanted
    assert str(found) == repr(found) == wanted
    assert str(DiagnosticError(found.sorted())) == wanted
    assert str(Diagnostics()) == repr(Diagnostics()) == "no findings"


def test_html_has_the_same_text(found: Diagnostics) -> None:
    shown = found._repr_html_()
    assert shown.startswith("<pre style=")
    assert "monospace" in shown.partition(">")[0]  # a theme may give <pre> another font
    assert "<b>" not in shown
    text = re.sub(r"</?(pre|span)[^>]*>", "", shown).replace("&lt;", "<").replace("&gt;", ">").replace("&#x27;", "'")
    assert text == f"{found}\n1 error, 1 warning"
    assert Diagnostics()._repr_html_().endswith(">no findings</pre>")


def test_a_refusal_crosses_processes() -> None:
    finding = Diagnostic("EW-04", Severity.ERROR, "m", Location("f", 1, 2, 3))
    error = pickle.loads(pickle.dumps(DiagnosticError([finding])))
    assert error.diagnostics == [finding]
    assert str(error) == "f:1:2: error: m [EW-04]"


def test_a_hint_that_changes_the_program_crosses_processes() -> None:
    """Whole, and as plain text in JSON: a campaign's workers answer with it."""
    hint = Change("give %t elements of f16", "f32", "f16", "dst")
    finding = Diagnostic("LS-COM-04", Severity.ERROR, "m", hint=hint)
    again = pickle.loads(pickle.dumps(finding)).hint
    assert (type(again), again, again.wrong, again.right, again.of) == (Change, hint, "f32", "f16", "dst")
    assert type(finding.as_json()["hint"]) is str


@pto.kernel(target="a5")
def mixed(x: Ptr[f32]):
    t, half = Tile(TileType.Vec, f32, 8, 8), Tile(TileType.Vec, f16, 8, 16)
    pto.TLOAD(t, GlobalTensor(x, (8, 8)))
    pto.TADD(t, t, half)


@pto.kernel(target="a5")
def broken(x: Ptr[f32]):
    helper(x)


def helper(x: pto.Pointer) -> None:
    GlobalTensor(x, ())


def lines(error: pytest.ExceptionInfo[DiagnosticError]) -> list[str]:
    """Lines of the traceback, outermost first."""
    return [str(entry.statement).strip() for entry in error.traceback]


def test_tracebacks_show_the_users_calls() -> None:
    x = np.zeros((8, 8), np.float32)
    with pytest.raises(DiagnosticError) as caught:
        mixed[2](x)
    assert lines(caught) == ["mixed[2](x)"]
    for call in (lambda: broken(x), broken.to_pto, broken.check, lambda: broken[3].sanitize(x)):
        with pytest.raises(DiagnosticError) as caught:
            call()
        assert {entry.path.name for entry in caught.traceback} == {"test_shown.py"}
        assert len(lines(caught)) <= 4  # this test, twice, and the functions traced
        assert "    GlobalTensor(x, ())\n" in str(caught.value)
    core = pto.Core("a5")
    with pytest.raises(DiagnosticError) as caught:
        core.TADD(core.Tile(TileType.Vec, f32, 8, 8))
    assert lines(caught) == ["core.TADD(core.Tile(TileType.Vec, f32, 8, 8))"]


@pto.kernel(target="a5")
def unordered(x: Ptr[f32], y: Ptr[f32]):
    t = Tile(TileType.Vec, f32, 8, 8, addr=0)
    pto.TLOAD(t, GlobalTensor(x, (8, 8)))
    pto.TSTORE(GlobalTensor(y, (8, 8)), t)


def test_reports_of_the_sanitizer() -> None:
    report = unordered.sanitize(np.zeros((8, 8), np.float32), np.zeros((8, 8), np.float32))
    assert str(report) == repr(report)
    assert str(report).startswith(f"{report.diagnostics}\nunordered: ")
    assert "pto.TSTORE(GlobalTensor(y, (8, 8)), t)\n" in str(report)
    assert report.verdict in report._repr_html_()


def test_a_failing_test_shows_the_line_and_the_caret(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "import numpy as np\nfrom tests.diagnostics.test_shown import mixed\n\n\n"
        "def test_it():\n    mixed(np.zeros((8, 8), np.float32))\n"
    )
    root = Path(__file__).parents[2]
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        str(tmp_path),
        str(tmp_path),
    ]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=root)
    assert "pto.TADD(t, t, half)\n" in ran.stdout
    assert "^^^^^^^^^^^^^^^^^^^^" in ran.stdout
    assert "/ptokit/lang/" not in ran.stdout.replace("tests/", "")
