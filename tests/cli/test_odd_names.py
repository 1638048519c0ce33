"""Names come from programs and command lines: none steers the terminal, none makes a line of its own."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from .conftest import Run

ODD = "ev\x1b[31mil\nk: 0 errors\r\u202e\x07\x9b2J"
QUOTED = "".join(f"\\{ord(c):02X}" if ord(c) < 32 or 126 < ord(c) < 256 else c for c in ODD)
TEXT = f"""module attributes {{pto.target_arch = "a5"}} {{
  func.func @"{QUOTED}"(%x: !pto.ptr<f32>, %n: index) attributes {{pto.entry}} {{
    %c1 = arith.constant 1 : index
    return
  }}
  func.func @waits(%x: !pto.ptr<f32>, %n: index) attributes {{pto.entry, pto.kernel_kind = #pto.kernel_kind<vector>}} {{
    pto.set_flag[<PIPE_V>, <PIPE_MTE3>, <EVENT_ID0>]
    return
  }}
  func.func @"other {QUOTED}"(%x: !pto.ptr<f32>, %n: index) attributes {{pto.entry}} {{
    return
  }}
}}
"""
FORGED = "o\x1b[2J\nk: 0 errors\u202e"
"""A name of files, whose second line looks like what ptokit says."""

ARGS = ("-a", "zeros:f32:4", "-a", "0")


@pytest.fixture
def odd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "f\x1b[7m\nclean: no findings"
    folder.mkdir()
    path = folder / "k.pto"
    path.write_text(TEXT)
    return path


def harmless(*streams: str) -> None:
    for stream in streams:
        assert not re.search(r"[^\n\t\x20-\x7e…×·≤≥–²³µ]", stream), stream
        for line in stream.splitlines():
            assert not line.startswith(("k: 0 errors", "clean: no findings")), stream


@pytest.mark.parametrize(
    "command",
    [
        ("run", "--entry", ODD),
        ("run", "--entry", ODD, "--out", FORGED),
        ("run", "--entry", ODD, "--targets", "all"),
        ("run", "--entry", "nobody"),
        ("run",),
        ("sanitize", "--entry", ODD),
        ("sanitize", "--entry", ODD, "--html", FORGED),
        ("sanitize", "--entry", ODD, "--explain-sync"),
        ("sanitize", "--entry", "waits"),
        ("run", "--entry", "waits", "--sanitize"),
        ("run", "--entry", ODD, "--dump", "x@2"),
        ("diff", "--entry", ODD),
        ("diff", "--entry", ODD, "--entry", f"other {ODD}"),
    ],
)
def test_names_of_kernels(command: tuple[str, ...], odd: Path, ptokit: Run) -> None:
    ran = ptokit(command[0], odd, *ARGS, *command[1:])
    assert ran.out + ran.err
    assert ran.status != 70
    harmless(ran.out, ran.err)


def test_too_few_arguments(odd: Path, ptokit: Run) -> None:
    ran = ptokit("run", odd, "--entry", ODD)
    assert ran.status == 1
    harmless(ran.out, ran.err)


@pytest.mark.parametrize(
    "command", [("check",), ("fmt", "--check"), ("convert", "--to", "generic", "-o", "c\x1b[2J.pto")]
)
def test_names_of_files(command: tuple[str, ...], odd: Path, ptokit: Run) -> None:
    ran = ptokit(command[0], odd, *command[1:])
    harmless(ran.out, ran.err)


@pytest.mark.parametrize("format", ["text", "json"])
def test_a_campaign(format: str, odd: Path, ptokit: Run) -> None:
    odd.rename(odd.parent / f"{FORGED}.pto")
    results = odd.parent / f"{FORGED}.sqlite"
    ran = ptokit("campaign", odd.parent, "-j", "1", "--do", "check,run", "-o", results, "--format", format)
    assert ran.status == 1  # several kernels, of which none is chosen
    harmless(ran.out, ran.err)
    ran = ptokit("campaign", "report", results)
    assert "run 1: 1 passed, 1 refused" in ran.out
    harmless(ran.out, ran.err)
    missing = ptokit("campaign", "report", f"{results}.none")
    harmless(missing.out, missing.err)
