"""Looking into a run from the command line: --dump, --dump-all, --step, and ptokit diff."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path

import pytest

from .conftest import KERNELS, Run

SOFTMAX = KERNELS / "softmax.pto"
ARGS = ["-t", "a5", "-a", "random:f32:40x512", "-a", "zeros:f32:40x512", "-a", 40]
LINES = SOFTMAX.read_text(encoding="utf-8").splitlines()


def line_of(text: str) -> int:
    return next(number for number, line in enumerate(LINES, 1) if text in line)


SUM, STORE = line_of("pto.trowsum"), line_of("pto.tstore")


def test_dump_shows_tiles_as_the_run_goes(ptokit: Run) -> None:
    ran = ptokit("run", SOFTMAX, *ARGS, "--dump", "%sum", "--dump", f"@{STORE}:g=1")
    assert ran.status == 0, ran.err
    heads = [line for line in ran.out.splitlines() if " after " in line]
    sums = [f"sum after TROWSUM in line {SUM} (block 0, g={g}): vec {rows}x1xf32" for g, rows in enumerate((16, 16, 8))]
    store = f"ys after TSTORE in line {STORE} (block 0, g=1): view 16x512xf32"
    assert heads == [*sums[:2], store, sums[2]]
    assert ran.out.index(heads[-1]) < ran.out.index("softmax on a5")
    assert ran.err == ""


def test_dump_says_what_was_not_seen(ptokit: Run) -> None:
    ran = ptokit("run", SOFTMAX, *ARGS, "--dump", "sum:block=7")
    assert ran.status == 0
    assert ran.err == "--dump sum:block=7: no instruction that was executed fits\n"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--dump", "smu"], "nothing is called 'smu'; did you mean sum?"),
        (["--dump", "@1"], "there is no operation in line 1; the next one is in line"),
        (["--dump", "a b"], "'a b' is not NAME"),
        (["--dump", "t:g=x"], "'g=x' in 't:g=x' is not block=NUMBER"),
        (["--dump", "t", "--step"], "exclude each other"),
        (["--dump-all", "x", "--step"], "exclude each other"),
        (["--dump-all", KERNELS], "it is not empty"),
        (["--dump", "t", "--jobs", "2"], "what is to be watched runs in this process"),
    ],
)
def test_wrong_choices_are_wrong_usage(ptokit: Run, options: list[object], message: str) -> None:
    ran = ptokit("run", SOFTMAX, *ARGS, *options)
    assert ran.status == 2
    assert message in " ".join(ran.err.split())
    assert ran.out == ""


def test_dump_all_saves_everything(ptokit: Run, tmp_path: Path) -> None:
    ran = ptokit("run", SOFTMAX, *ARGS, "--dump-all", tmp_path / "all")
    assert ran.status == 0, ran.err
    lines = [json.loads(line) for line in (tmp_path / "all" / "index.jsonl").read_text().splitlines()]
    assert len(lines) == 21
    assert sorted(os.listdir(tmp_path / "all")) == sorted([*(line["file"] for line in lines), "index.jsonl"])
    assert "saved 21 results of instructions, 0.4 MB" in ran.err


def test_a_refused_run_leaves_no_folder(ptokit: Run, tmp_path: Path) -> None:
    ran = ptokit("run", KERNELS / "faulty.pto", "-t", "a5", "--dump-all", tmp_path / "all")
    assert ran.status == 1
    assert not (tmp_path / "all").exists()


@pytest.mark.parametrize(("typed", "status"), [(f"u {SUM}\np sum\nc\n", 0), ("q\n", 130), ("", 130), (None, 130)])
def test_step(ptokit: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, typed: str | None, status: int) -> None:
    monkeypatch.setattr("sys.stdin", None if typed is None else io.StringIO(typed))
    ran = ptokit("run", SOFTMAX, *ARGS, "--step", "--out", tmp_path / "out")
    assert ran.status == status
    assert (tmp_path / "out").exists() == (status == 0)
    assert "TLOAD (block 0, g=0)" in ran.out
    if status == 0:
        assert f" ->{SUM:5} | {LINES[SUM - 1]}" in ran.out
        assert "sum: vec 16x1xf32\ncolumn [" in ran.out
    else:
        assert "stopped: nothing is saved" in ran.err


# --- diff -------------------------------------------------------------------------------------------------------------


def test_diff_names_the_first_result_that_differs(ptokit: Run, tmp_path: Path) -> None:
    other = tmp_path / "other.pto"
    other.write_text(SOFTMAX.read_text().replace("trowexpanddiv ins(%t, %sum", "trowexpanddiv ins(%t, %max"))
    ran = ptokit("diff", SOFTMAX, other, *ARGS)
    assert ran.status == 1
    line = line_of("pto.trowexpanddiv")
    assert f"A  {SOFTMAX}:{line}:7: TROWEXPANDDIV into t (block 0, g=0)" in ran.out
    assert f"B  {other}:{line}:7: TROWEXPANDDIV into t (block 0, g=0)" in ran.out
    assert "8192 of 8192 elements differ; the first at (0, 0): " in ran.out
    report = json.loads(ptokit("diff", SOFTMAX, other, *ARGS, "--format", "json").out)
    assert report["first"]["a"]["line"] == line
    assert report["first"]["index"] == [0, 0]
    assert [argument["count"] for argument in report["arguments"]] == [0, 40 * 512]
    assert not report["same"]


@pytest.mark.parametrize("two", [["-t", "a2a3", "--rtol", "1e-6"], ["--backend", "numpy", "--backend", "native"]])
def test_diff_of_two_ways_of_running(ptokit: Run, two: list[str]) -> None:
    pytest.importorskip("llvmlite")
    ran = ptokit("diff", SOFTMAX, *ARGS, *two)
    assert ran.status == 0, ran.err
    assert "no difference in" in ran.out
    assert ran.out.count(" on a2a3") == ("a2a3" in two)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-t", "a5", "-t", "cpu"], "it is given 3 times; there are two sides"),
        (["--rtol", "-1"], "-1.0 is not a number from 0 on"),
        (["--atol", "inf"], "inf is not a number from 0 on"),
    ],
)
def test_wrong_usage_of_diff(ptokit: Run, options: list[str], message: str) -> None:
    ran = ptokit("diff", SOFTMAX, *ARGS, *options)
    assert ran.status == 2
    assert message in ran.err


def test_diff_refuses_what_run_refuses(ptokit: Run) -> None:
    ran = ptokit("diff", SOFTMAX, KERNELS / "faulty.pto", *ARGS)
    assert ran.status == 1
    assert ran.out == ""
    assert "faulty.pto" in ran.err


def test_diff_tells_what_fails(ptokit: Run) -> None:
    ran = ptokit("diff", SOFTMAX, "-t", "a5", "-a", "zeros:f32:8x512", "-a", "zeros:f32:40x512", "-a", 40)
    assert ran.status == 1
    assert "A fails: " in ran.out
    assert "[GM-OOB]" in ran.out


def test_a_step_ends_at_bytes_that_are_no_text(ptokit: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"\xff\x00"), "utf-8"))
    assert ptokit("run", SOFTMAX, *ARGS, "--step").status == 130
