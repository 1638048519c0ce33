"""Several targets for `run` and `sanitize`: a result for each, and findings that name their targets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ptokit as pto

from ..cli.conftest import Run

VIEW = "!pto.partition_tensor_view<1x64xf32>"
TILE = "!pto.tile_buf<vec, 1x64xf32>"
DOUBLED = f"""func.func @doubled(%x: !pto.ptr<f32>) {{
  %one = arith.constant 1 : index
  %side = arith.constant 64 : index
  %zero = arith.constant 0 : index
  %at = arith.constant 0 : i64
  %v = pto.make_tensor_view %x, shape = [%one, %side], strides = [%side, %one] : !pto.tensor_view<?x?xf32>
  %p = pto.partition_view %v, offsets = [%zero, %zero], sizes = [%one, %side] : !pto.tensor_view<?x?xf32> -> {VIEW}
  %t = pto.alloc_tile addr = %at : {TILE}
  pto.tload ins(%p : {VIEW}) outs(%t : {TILE})
  pto.tadd ins(%t, %t : {TILE}, {TILE}) outs(%t : {TILE})
  pto.tstore ins(%t : {TILE}) outs(%p : {VIEW})
  return
}}
"""
LARGE = DOUBLED.replace("%at = arith.constant 0", "%at = arith.constant 196608")  # on a5 only there is room
BOTH = ["a2a3", "a5"]
RACES = {"RACE-RAW", "RACE-WAR", "RACE-WAW"}  # nothing orders the three pipes: five pairs


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "k.pto"
    path.write_text(DOUBLED)
    return path


# --- run ---------------------------------------------------------------------------------------------------------


def test_a_run_on_each_target() -> None:
    x = np.ones((1, 64), np.float32)
    results = pto.run(DOUBLED, [x], target=BOTH)
    assert list(results) == BOTH
    assert all((result.arrays["x"] == 2).all() for result in results.values())
    assert (x == 1).all()  # each has copies
    assert str(results).count("doubled on") == 2
    assert [result.target for result in pto.run(DOUBLED, [x], target=("a5", "a5")).values()] == ["a5"]


SUMMED = DOUBLED.replace("@doubled(%x: !pto.ptr<f32>)", "@summed(%x: !pto.ptr<f32>, %y: !pto.ptr<f32>)").replace(
    "  return",
    f"""  %w = pto.make_tensor_view %y, shape = [%one, %side], strides = [%side, %one] : !pto.tensor_view<?x?xf32>
  %q = pto.partition_view %w, offsets = [%zero, %zero], sizes = [%one, %side] : !pto.tensor_view<?x?xf32> -> {VIEW}
  pto.tload ins(%q : {VIEW}) outs(%t : {TILE})
  pto.tadd ins(%t, %t : {TILE}, {TILE}) outs(%t : {TILE})
  pto.tstore ins(%t : {TILE}) outs(%q : {VIEW})
  return""",
)


def test_copies_share_memory_where_the_arrays_do() -> None:
    memory = np.ones((2, 64), np.float32)
    results = pto.run(SUMMED, [memory[:1], memory[:1]], target=BOTH)  # one array, twice
    assert all((result.arrays["x"] == 4).all() for result in results.values())
    flat = memory.reshape(-1)
    results = pto.run(SUMMED, [flat[:64].reshape(1, 64), flat[32:96].reshape(1, 64)], target=BOTH)
    assert all((result.arrays["x"][0, 32:] == 4).all() for result in results.values())
    assert (memory == 1).all()
    reports = pto.sanitize(SUMMED, [memory[:1], memory[:1]], target=BOTH)
    apart = pto.sanitize(SUMMED, [memory[:1], memory[1:]], target=BOTH)
    races = [sum(len(report.symptoms) for report in each.values()) for each in (reports, apart)]
    assert races[0] > races[1]  # the second load may overtake the first store


def test_texts_are_made_for_each_target() -> None:
    results = pto.run(DOUBLED, ["random:f32:1x64"], target=BOTH, watch=["t"])
    assert results["a5"].arrays["x"].tobytes() == results["a2a3"].arrays["x"].tobytes()
    assert [len(result.seen) for result in results.values()] == [2, 2]


def test_what_one_target_refuses_says_which() -> None:
    with pytest.raises(pto.DiagnosticError) as error:
        pto.run(LARGE, ["ones:f32:1x64"], target=BOTH)
    assert "[UB-CAPACITY on a2a3]" in str(error.value)
    with pytest.raises(pto.DiagnosticError) as error:
        pto.run(DOUBLED.replace("pto.tadd", "pto.tad"), ["ones:f32:1x64"], target=BOTH)
    assert "[TEXT-UNKNOWN-OP on a2a3, a5]" in str(error.value)
    with pytest.raises(pto.DiagnosticError) as error:
        pto.run(DOUBLED, ["ones:f32:1x16"], target=BOTH)  # found while it runs
    assert "on a2a3, a5]" in str(error.value)


@pytest.mark.parametrize("targets", [[], ["a5", "a9"]])
def test_targets_that_there_are_not(targets: list[str]) -> None:
    for function in (pto.run, pto.sanitize):
        with pytest.raises(pto.UsageError) as error:
            function(DOUBLED, ["ones:f32:1x64"], target=targets)
        assert error.value.parameter == "target"


def test_a_kernel_in_python_on_each_target() -> None:
    @pto.kernel(target="a5")
    def doubled(x: pto.Ptr[pto.f32]):
        t = pto.Tile(pto.TileType.Vec, pto.f32, 1, 64)
        g = pto.GlobalTensor(x, (1, 64))
        pto.TADD(t, t, t, pto.TLOAD(t, g))
        pto.TSTORE(g, t)

    results = pto.run(doubled, [np.ones(64, np.float32)], target=["cpu", "a5"])
    assert [result.arrays["x"][0] for result in results.values()] == [2, 2]


def test_the_command_runs_on_each_target(ptokit: Run, file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    ran = ptokit("run", file, "-t", "a2a3", "-t", "a5", "-a", "ones:f32:1x64", "--out", out)
    assert (ran.status, ran.out.count("doubled on a2a3"), ran.out.count("doubled on a5")) == (0, 1, 1)
    assert sorted(path.name for path in out.iterdir()) == ["x-a2a3.npy", "x-a5.npy"]
    assert (np.load(out / "x-a5.npy") == 2).all()
    assert "saved 2 arrays" in ran.err


def test_nothing_is_saved_where_one_target_refuses(ptokit: Run, file: Path, tmp_path: Path) -> None:
    file.write_text(LARGE)
    out = tmp_path / "out"
    ran = ptokit("run", file, "-t", "a2a3", "-t", "a5", "-a", "ones:f32:1x64", "--out", out)
    assert (ran.status, ran.out, out.exists()) == (1, "", False)
    assert "[UB-CAPACITY on a2a3]" in ran.err


def test_dumps_of_each_target(ptokit: Run, file: Path, tmp_path: Path) -> None:
    targets = ("-t", "a2a3", "-t", "a5", "-a", "ones:f32:1x64")
    out = ptokit("run", file, *targets, "--dump", "t@10").out.splitlines()
    assert [line for line in out if line.startswith(("on ", "t after"))] == [
        "on a2a3:",
        "t after TADD in line 10 (block 0): vec 1x64xf32 at 0x0 of UB",
        "on a5:",
        "t after TADD in line 10 (block 0): vec 1x64xf32 at 0x0 of UB",
    ]
    assert ptokit("run", file, *targets, "--dump-all", tmp_path / "all").status == 0
    assert sorted(path.name for path in (tmp_path / "all").iterdir()) == ["a2a3", "a5"]


# --- sanitize ----------------------------------------------------------------------------------------------------


def test_a_report_on_each_target() -> None:
    reports = pto.sanitize(DOUBLED, ["ones:f32:1x64"], target=BOTH)
    assert list(reports) == BOTH
    assert {d.rule for d in reports["a5"].symptoms} == RACES
    assert len(reports["a5"].symptoms) == 5
    assert len(reports.diagnostics) == len(reports["a5"].diagnostics) == 2  # two flags mend all of them
    assert "[RACE-RAW on a2a3, a5]" in str(reports)
    assert not reports.clean
    with pytest.raises(pto.DiagnosticError, match="RACE-RAW on a2a3, a5"):
        reports.raise_if_errors()
    assert pto.sanitize(DOUBLED, ["ones:f32:1x64"], target=BOTH, select=["FLAG"]).clean


def test_a_finding_whose_rule_is_not_reported_hides_no_other() -> None:
    """Five findings have two causes; what is left of a cause still tells it."""

    def rules(**chosen: list[str]) -> list[str]:
        report = pto.sanitize(DOUBLED, ["ones:f32:1x64"], target="a5", **chosen)
        assert all(d.hint is not None and report.fixes[d].text == d.hint for d in report.errors)
        return [d.rule for d in report.symptoms]

    every = rules()
    for rule in RACES:
        assert rules(ignore=[rule]) == [each for each in every if each != rule]
        assert rules(select=[rule]) == [rule] * every.count(rule)
    assert rules(ignore=sorted(RACES)) == []


def test_arrays_for_output_only_are_copied_with_what_they_are() -> None:
    reports = pto.sanitize(DOUBLED, [pto.uninit((1, 64), pto.f32)], target=BOTH)
    assert {"UNINIT-READ"} <= {d.rule for d in reports["a2a3"].errors} & {d.rule for d in reports["a5"].errors}


def test_errors_of_one_target_leave_the_other_to_run() -> None:
    reports = pto.sanitize(LARGE, ["ones:f32:1x64"], target=BOTH)
    assert [report.ran for report in reports.values()] == [False, True]
    assert {d.rule for d in reports["a2a3"].errors} == {"UB-CAPACITY"}
    assert {d.rule for d in reports["a5"].symptoms} == RACES


def test_a_comment_counts_where_one_target_needs_it() -> None:
    lines = LARGE.replace("outs(%t : " + TILE + ")\n  pto.tstore", "outs(%t : " + TILE + ")\n  pto.tstore").splitlines()
    at = next(i for i, line in enumerate(lines) if "alloc_tile" in line)
    lines[at] += "  // ptokit: ignore[UB-CAPACITY]"
    reports = pto.sanitize("\n".join(lines), ["ones:f32:1x64"], target=BOTH)
    assert "IGNORE-UNUSED" not in {d.rule for d in reports.diagnostics}


def sanitized(ptokit: Run, file: Path, *options: object) -> Any:
    return ptokit("sanitize", file, "-t", "a2a3", "-t", "a5", "-a", "ones:f32:1x64", *options)


def test_the_command_looks_at_each_target(ptokit: Run, file: Path, tmp_path: Path) -> None:
    ran = sanitized(ptokit, file, "--html", tmp_path / "r.html")
    assert ran.status == 1
    assert ran.err.count(" on a2a3, a5]") == 2
    assert "2 errors on a2a3, 2 errors on a5" in ran.err
    assert [line.split(",")[0] for line in ran.out.splitlines()] == ["doubled on a2a3", "doubled on a5"]
    assert sorted(path.name for path in tmp_path.glob("*.html")) == ["r-a2a3.html", "r-a5.html"]


def test_reports_name_the_target(ptokit: Run, file: Path) -> None:
    report = json.loads(sanitized(ptokit, file, "--format", "json").out)
    assert [d["target"] for d in report["diagnostics"]] == BOTH * 2
    assert all("race" in d for d in report["diagnostics"])
    assert [run["launch"]["target"] for run in report["runs"]] == BOTH
    assert "launch" not in report
    assert report["summary"]["errors"] == 4
    runs = json.loads(sanitized(ptokit, file, "--format", "sarif").out)["runs"]
    assert [run["properties"]["launch"]["target"] for run in runs] == BOTH
    assert [len(run["results"]) for run in runs] == [2, 2]
    single = json.loads(ptokit("sanitize", file, "-t", "a5", "-a", "ones:f32:1x64", "--format", "json").out)
    assert (single["launch"]["target"], "runs" in single) == ("a5", False)


def test_unchecked_order_of_one_target_counts(ptokit: Run, file: Path) -> None:
    file.write_text(DOUBLED.replace("addr = %at ", ""))
    assert sanitized(ptokit, file).status == 3
    assert sanitized(ptokit, file, "--mode", "auto").status == 0
