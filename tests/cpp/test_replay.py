"""A suite with its own host program, data and comparison, which decide what passes."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ptokit.cpp.replay import SuiteReport, host_compilers, replay
from ptokit.diagnostics import DiagnosticError
from ptokit.targets import target

SUITE = Path(__file__).parent / "suite"
pytestmark = [
    pytest.mark.usefixtures("compiler"),
    pytest.mark.skipif(sys.platform != "linux", reason="host programs are built on Linux only"),
]


@pytest.fixture(scope="module")
def report() -> SuiteReport:
    return replay(SUITE, target("a2a3"), sanitize=True)


def test_the_suite_decides(report: SuiteReport) -> None:
    outcomes = {test.name.removeprefix("ScaleTest."): test.outcome for test in report.tests}
    assert outcomes == {
        "floats": "passed",
        "few_rows": "passed",
        "integers": "passed",
        "wrong_golden": "failed",
        "refused": "refused",
        "crash": "crashed",
    }
    assert (report.passed, report.stated, report.ok, report.failure) == (3, 6, False, "")


def test_refusals_name_rule_and_line(report: SuiteReport) -> None:
    reasons = {test.name.removeprefix("ScaleTest."): test.reason for test in report.tests}
    assert "scale_kernel.cpp:13" in reasons["refused"]
    assert "i64" in reasons["refused"]
    assert reasons["wrong_golden"] == "line 39: (right<int32_t, 32>(3, 16))"


def test_clean_launches_break_no_rule(report: SuiteReport) -> None:
    assert not report.findings


def test_without_launches_tests_fail(tmp_path: Path) -> None:
    """The comparison judges: a suite that launches nothing passes no test."""
    folder = shutil.copytree(SUITE, tmp_path / "suite")
    kernel = folder / "scale_kernel.cpp"
    text = kernel.read_text()
    kernel.write_text(text.replace("scale<T, N><<<1, nullptr, stream>>>(out, x, factor, rows);", ""))
    found = replay(folder, target("a2a3"), names=["ScaleTest.floats", "ScaleTest.integers"])
    assert [test.outcome for test in found.tests] == ["failed", "failed"]


def test_the_build_file_says_how_a_file_is_compiled() -> None:
    """For which cores and with which macros. A file that does not compile refuses only what calls it."""
    found = replay(SUITE.parent / "builds", target("a2a3"))
    assert [(test.name, test.outcome) for test in found.tests] == [
        ("Built.both_cores", "passed"),
        ("Built.absent", "refused"),
    ]
    reason = found.tests[1].reason
    assert "launch_absent" in reason
    assert "of_another_runtime" in reason


def test_ranks_run_together() -> None:
    """A test runs on as many ranks as it takes; their kernels wait for each other, in one launch or a later one."""
    found = replay(SUITE.parent / "ranks", target("a2a3"))
    assert {test.name.removeprefix("Ring."): test.outcome for test in found.tests} == {
        "passes": "passed",
        "sums": "passed",
        "later_launch": "passed",
        "two_streams": "passed",
        "nobody_tells": "refused",
        "launches_nothing": "failed",
        "one_rank_is_wrong": "failed",
        "always_skips": "skipped",
        "broadcast": "passed",
    }
    (stuck,) = [test.reason for test in found.tests if test.outcome == "refused"]
    assert stuck.startswith("DEADLOCK ring_kernel.cpp:24: rank 1: deadlock: block 0 waits here for element 0 of memory")
    assert stuck.endswith("to be == 7; it is 0")


def test_command_counts_tests() -> None:
    command = [sys.executable, "-m", "ptokit", "replay", str(SUITE), "-t", "a2a3", "--test"]
    done = subprocess.run([*command, "ScaleTest.floats"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "suite on a2a3: 1 of 1 tests passed\n")
    none = subprocess.run([*command, "ScaleTest.nothing"], capture_output=True, text=True)
    assert (none.returncode, none.stdout) == (1, "suite on a2a3: 0 of 0 tests passed\n")


def test_findings_are_shown_once(tmp_path: Path) -> None:
    """A wait is missing: the answer is right, and the race is told at its line, whichever test has met it."""
    folder = shutil.copytree(SUITE, tmp_path / "suite")
    kernel = folder / "scale_kernel.cpp"
    kernel.write_text(kernel.read_text().replace("TMULS(t, t, factor, loaded)", "TMULS(t, t, factor)"))
    command = [sys.executable, "-m", "ptokit", "replay", str(folder), "-t", "a2a3", "--sanitize"]
    command += ["--test", "ScaleTest.floats", "--test", "ScaleTest.few_rows"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0
    assert done.stdout.splitlines() == [
        "ScaleTest.floats: passed  (FLAG-UNMATCHED, RACE-RAW, RACE-WAW)",
        "ScaleTest.few_rows: passed  (FLAG-UNMATCHED, RACE-RAW, RACE-WAW)",
        "suite on a2a3: 2 of 2 tests passed",
    ]
    assert done.stderr.count("TMULS on PIPE_V reads t while TLOAD") == 1
    told = json.loads(subprocess.run([*command, "--format", "json"], capture_output=True, text=True).stdout)
    (suite,) = told
    assert (suite["ok"], [len(test["findings"]) for test in suite["tests"]]) == (True, [4, 4])


def test_folder_that_is_no_suite(tmp_path: Path) -> None:
    with pytest.raises(DiagnosticError, match="CPP-REPLAY"):
        replay(tmp_path, target("a5"))


def test_suite_that_does_not_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, *_ = host_compilers()
    monkeypatch.setenv("PTOKIT_HOST_CXX", " ".join(first))  # the next would try, and may build its library first
    folder = shutil.copytree(SUITE, tmp_path / "suite")
    (folder / "main.cpp").write_text("int broken(\n")
    found = replay(folder, target("a5"))
    assert (found.tests, found.ok) == ([], False)
    assert found.failure.startswith("CPP-COMPILE")
