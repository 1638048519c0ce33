"""Whatever is asked for on the command line: status 0 to 3 and no traceback, and outputs whole or untouched."""

from __future__ import annotations

from pathlib import Path

import pytest

from .command_lines import Inputs, status_of


def play(folder: Path, first: int, count: int) -> dict[int, int]:
    """How often each status came out of `count` command lines."""
    found: dict[int, int] = {}
    for seed in range(first, first + count):
        inputs = Inputs(folder, seed)
        words = inputs.line()
        stdin = inputs.rng.choice([b"", inputs.text().encode(errors="replace"), b"\xff\x00", None])
        status, errors = status_of(words, stdin)
        assert status in (0, 1, 2, 3) or (status == 130 and "--step" in words), (seed, words, errors)  # told to stop
        assert "Traceback" not in errors, (seed, words)
        found[status] = found.get(status, 0) + 1
    return found


def test_random_command_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = play(tmp_path, 0, 50)
    assert min(found[status] for status in (0, 1, 2)) > 2


@pytest.mark.campaign
def test_many_random_command_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    play(tmp_path, 1000, 10_000)
