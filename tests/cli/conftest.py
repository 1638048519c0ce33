"""Runs the command in this process, or as a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from ptokit.cli.main import main

KERNELS = Path(__file__).parents[2] / "examples" / "pto"


@dataclass
class Ran:
    """What a command did."""

    status: int
    out: str
    err: str


Run = Callable[..., Ran]


@pytest.fixture
def ptokit(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """``ptokit("run", "x.pto", …)``, in this process; an exception that escapes fails the test."""

    def run(*args: object) -> Ran:
        monkeypatch.setattr(sys, "argv", ["ptokit", *map(str, args)])
        with pytest.raises(SystemExit) as exit:
            main()
        streams = capsys.readouterr()
        status = exit.value.code
        return Ran(status if isinstance(status, int) else 0 if status is None else 1, streams.out, streams.err)

    return run


def process(*args: object, **env: str) -> subprocess.CompletedProcess[str]:
    """The same as a new process."""
    return subprocess.run(
        [sys.executable, "-m", "ptokit", *map(str, args)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
        env={**os.environ, "PYTHONIOENCODING": "utf-8", **env},
    )
