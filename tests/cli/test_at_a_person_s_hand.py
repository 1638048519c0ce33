"""Completion by the shell, Ctrl-C, and what notebooks and pages show."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import ptokit as pto
from ptokit.cli import options
from ptokit.cli.console import Progress

from .conftest import Run

EXAMPLES = Path(__file__).parents[2] / "examples"


def completed(words: str) -> list[str]:
    """What bash is told for these words."""
    count = str(len(words.split()) - (not words.endswith(" ")))
    env = {**os.environ, "_PTOKIT_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": count}
    code = "from ptokit.cli.main import app; app(prog_name='ptokit')"
    ran = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, cwd=EXAMPLES)
    return ran.stdout.split()


def test_a_shell_completes_what_commands_take() -> None:
    assert "sanitize" in completed("ptokit san")
    assert "TLOAD" in completed("ptokit isa TLO")
    assert "tload" in completed("ptokit isa tlo")
    assert "EW-04" in completed("ptokit explain EW-0")
    assert completed("ptokit check pto/rac") == ["pto/racy.pto"]
    assert completed("ptokit run pto/racy.pto --target a2") == ["a2a3"]


def test_kernels_of_a_python_file_are_completed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(EXAMPLES / "python")
    assert options.programs("saxpy_registers.py:") == ["saxpy_registers.py:saxpy"]
    assert options.programs("nothing.py:") == []
    assert options.programs("no/such/folder") == []


@pytest.mark.parametrize(
    ("command", "where", "words"),
    [
        (["sanitize"], "ptokit.api.sanitize.sanitize", "nothing was reported or written"),
        (["run"], "ptokit.cli.run.prepare", "no output was saved"),
    ],
)
def test_an_interrupted_command_says_what_was_kept(
    command: list[str], where: str, words: str, monkeypatch: pytest.MonkeyPatch, ptokit: Run
) -> None:
    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(where, interrupted)
    ran = ptokit(*command, str(EXAMPLES / "pto" / "racy.pto"), "-t", "a2a3")
    assert ran.status == 130
    assert f"ptokit: interrupted: {words}" in ran.err


def test_an_interrupted_campaign_says_that_it_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ptokit: Run
) -> None:
    def interrupted(*_: Any, progress: Any, **__: Any) -> None:
        progress(2, 9)
        raise KeyboardInterrupt

    monkeypatch.setattr("ptokit.cli.campaign.run_campaign", interrupted)
    out = tmp_path / "r.sqlite"
    ran = ptokit("campaign", str(EXAMPLES / "pto"), "-o", str(out))
    assert ran.status == 130
    assert f"{out} keeps the results of 2 of 9 cases; the same command goes on where it stopped" in ran.err


def test_a_bar_that_waits_is_drawn_before_a_unit_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = []
    monkeypatch.setattr("ptokit.cli.console.is_terminal", lambda stream: True)
    monkeypatch.setattr("ptokit.cli.console._QUIET_SECONDS", 0.0)
    monkeypatch.setattr(Progress, "_draw", lambda self, total: drawn.append(total))
    with Progress("sanitize", waits=True) as progress:
        assert progress._timer is not None
        progress._timer.join()
    assert drawn == [None]


def test_sanitize_tells_which_blocks_are_done() -> None:
    told: list[tuple[int, int]] = []
    args = ["random:f32:64x256", "zeros:f32:64x256", "4"]
    pto.sanitize(EXAMPLES / "pto" / "racy.pto", args, target="a2a3", blocks=3, progress=lambda *seen: told.append(seen))
    assert told == [(1, 3), (2, 3), (3, 3)]


def test_notebooks_show_findings_and_pages() -> None:
    """Findings name their font: a theme's may be of letters of several widths. Pages have tables and lines of code."""
    shown = pto.check(EXAMPLES / "pto" / "faulty.pto", target="a2a3")._repr_html_()
    assert "monospace" in shown.split(">")[0]
    page = pto.isa("TADD")._repr_html_()
    assert "<td" in page
    assert page.count("<pre") == 2
    assert "    pto.TADD(dst, src0, src1)" in page
    assert "EW-04" in pto.explain("EW-04")._repr_html_()


def test_pages_fit_their_screens() -> None:
    report = pto.sanitize(EXAMPLES / "pto" / "racy.pto", ["random:f32:64x256", "uninit:f32:64x256", "4"], target="a2a3")
    assert isinstance(report, pto.Report)
    assert "view.scrollLeft" in report.html()
    style = (Path(pto.__file__).parent / "campaign" / "page.css").read_text(encoding="utf-8")
    assert "@media (max-width" in style
