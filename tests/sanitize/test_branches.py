"""The sanitizer on blocks and branches: what is found in a loop that branches make (assembly 2)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ptokit.asm import read_module
from ptokit.sanitize import Report, sanitize
from ptokit.targets import A5

from ..run.test_branches import GOOD, WAIT

PLACED = GOOD.replace("pto.alloc_tile :", "pto.alloc_tile addr = %zero :").replace(
    "%b = pto", "%zero = arith.constant 0 : i64\n%b = pto"
)


def run(text: str, path: Path) -> tuple[Report, np.ndarray]:
    path.write_text(text)
    parsed = read_module(str(path), target=A5)
    parsed.diagnostics.raise_if_errors()
    x = np.arange(128, dtype=np.float32).reshape(8, 16)
    y = np.zeros_like(x)
    return sanitize(parsed.module, "a5", [x, y, 1], 8), y


def line_of(text: str, what: str) -> int:
    return next(k for k, line in enumerate(text.splitlines(), 1) if what in line)


def test_a_clean_program(tmp_path: Path) -> None:
    report, y = run(PLACED, tmp_path / "a.pto")
    assert list(report.diagnostics) == []
    assert np.array_equal(y, np.arange(128).reshape(8, 16) * 2.0 ** (1 + np.arange(8))[:, None])


@pytest.mark.parametrize(
    ("left_out", "rule", "at"),
    [
        (WAIT, "RACE-RAW", "pto.tmuls"),
        ("pto.wait_flag[<PIPE_V>, <PIPE_MTE3>, <EVENT_ID0>]", "RACE-RAW", "pto.tstore"),
        ("pto.tload ins(%xp : !pto.partition_tensor_view<1x16xf32>) outs(%t : !pto.tile_buf<vec, 1x16xf32>)",
         "UNINIT-READ", "pto.tmuls"),
    ],
)  # fmt: skip
def test_findings(left_out: str, rule: str, at: str, tmp_path: Path) -> None:
    text = PLACED.replace(left_out, "")
    report, _ = run(text, tmp_path / "a.pto")
    found = {(d.rule, d.location.line) for d in report.symptoms}
    assert (rule, line_of(text, at)) in found


def test_the_fix_of_a_race_mends_it(tmp_path: Path) -> None:
    flags = "pto.set_flag[<PIPE_MTE2>, <PIPE_V>, <EVENT_ID0>]\n"
    text = PLACED.replace(WAIT, "").replace(flags, "")
    report, _ = run(text, tmp_path / "a.pto")
    assert {d.rule for d in report.symptoms} == {"RACE-RAW", "RACE-WAW"}
    fix = next(race.fix for race in report.races.values())
    assert fix is not None
    mended, _ = run(fix.apply(text), tmp_path / "b.pto")
    assert list(mended.diagnostics) == []
