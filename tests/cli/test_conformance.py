"""ptokit conformance."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from ptokit.targets import TARGETS

from ..conformance.suites import PROGRAMS, SYNC_CASES, VECTORS, Blob, add_case, write_vectors
from .conftest import Run, process

TWICE = np.arange(0, 16, 2, dtype=np.float32)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """P0 passes on a2a3 and a5, P1 fails on a5, P2 and P3 are of an instruction that there is not."""
    blob = Blob()
    cases = [{**add_case(blob, TWICE + np.float32(i == 1)), "id": f"P{i}"} for i in range(4)]
    cases[0]["legal_on"] = ["a2a3", "a5"]
    cases[2]["op"] = cases[3]["op"] = "TNOSUCH"
    (tmp_path / "cases").mkdir()
    return write_vectors(tmp_path / "cases", cases, blob)


def test_what_is_printed(ptokit: Run, folder: Path) -> None:
    ran = ptokit("conformance", folder)
    assert ran.status == 1
    assert ran.err == ""
    assert ran.out == (
        "instruction  target  passed  failed  skipped\n"
        "TADD         a2a3         1       -        -\n"
        "TADD         a5           1       1        -\n"
        "TNOSUCH      a5           -       -        2\n"
        "\n"
        "Skipped\n"
        "cases  why\n"
        "    2  TNOSUCH is not implemented\n"
        "\n"
        "Failed\n"
        "case  target  first difference\n"
        "P1    a5      dst at row 0, col 0, byte 0: expected 0x3f800000 (1), got 0x00000000 (0)\n"
        "\n"
        "2 passed, 1 failed, 2 skipped\n"
    )


def test_processes_print_the_same(ptokit: Run, folder: Path) -> None:
    assert ptokit("conformance", folder, "--jobs", 2) == ptokit("conformance", folder)


@pytest.mark.parametrize(
    ("options", "status", "last"),
    [
        (["--target", "a2a3"], 0, "1 passed, 0 failed, 0 skipped"),
        (["--target", "A3"], 0, "1 passed, 0 failed, 0 skipped"),
        (["--target", "cpu"], 0, "0 passed, 0 failed, 0 skipped"),
        (["--op", "TNOSUCH"], 0, "0 passed, 0 failed, 2 skipped"),
        (["--op", "pto.tadd"], 1, "2 passed, 1 failed, 0 skipped"),
        (["--op", "tadd", "--target", "a5"], 1, "1 passed, 1 failed, 0 skipped"),
    ],
)
def test_filters(ptokit: Run, folder: Path, options: list[str], status: int, last: str) -> None:
    ran = ptokit("conformance", folder, *options)
    assert ran.status == status
    assert ran.out.splitlines()[-1] == last


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--op", "TAD"], "Did you mean TADD?"),
        (["--target", "a9"], f"'a9' is not one of {', '.join(TARGETS)}"),
        (["--jobs", "0"], "--jobs"),
        (["--root", "/no/such/folder"], "there is no folder '/no/such/folder'"),
    ],
)
def test_wrong_usage(ptokit: Run, folder: Path, options: list[str], message: str) -> None:
    ran = ptokit("conformance", folder, *options)
    assert ran.status == 2
    assert message in " ".join(ran.err.split())
    assert ran.out == ""


def test_movement_vectors_of_one_instruction(ptokit: Run) -> None:
    ran = ptokit("conformance", VECTORS, "--op", "TMOV_FP")
    assert (ran.status, ran.out.splitlines()[-1]) == (0, "18 passed, 0 failed, 0 skipped")


def test_programs_by_kernel_and_by_instruction(ptokit: Run) -> None:
    ran = ptokit("conformance", PROGRAMS, "--op", "matmul_nz")
    assert ran.status == 0
    assert ran.out == "program    target  passed  failed  skipped\nmatmul_nz  a2a3         1       -        -\n\n" + (
        "1 passed, 0 failed, 0 skipped\n"
    )
    users = {line.split()[0] for line in ptokit("conformance", PROGRAMS, "--op", "tcolmax").out.splitlines()[1:-2]}
    assert users == {"col_stats"}


def test_root(ptokit: Run, tmp_path: Path) -> None:
    manifest = tmp_path / "cases"
    manifest.mkdir()
    for part in ("manifest.json", "expected"):
        source = PROGRAMS / part
        (shutil.copytree if source.is_dir() else shutil.copy)(source, manifest / part)
    without = ptokit("conformance", manifest, "--op", "vec_add")
    assert without.status == 1
    assert "there is no program kernels/vec_add.pto in " in without.out
    ran = ptokit("conformance", manifest, "--op", "vec_add", "--root", PROGRAMS)
    assert (ran.status, ran.out.splitlines()[-1]) == (0, "3 passed, 0 failed, 0 skipped")


def test_synchronisation_cases(ptokit: Run) -> None:
    ran = ptokit("conformance", SYNC_CASES)
    assert (ran.status, ran.out.splitlines()[-1]) == (0, "71 passed, 0 failed, 0 skipped")


def test_junit(ptokit: Run, folder: Path, tmp_path: Path) -> None:
    report = tmp_path / "results.xml"
    ran = ptokit("conformance", folder, "--junit", report)
    assert ran.status == 1
    cases = ElementTree.parse(report).getroot().findall("testsuite/testcase")
    assert [c.get("name") for c in cases] == ["P0[a2a3]", "P0[a5]", "P1[a5]", "P2[a5]", "P3[a5]"]
    assert [[e.tag for e in c] for c in cases] == [[], [], ["failure"], ["skipped"], ["skipped"]]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["cases", "results.xml"]


def test_reports_that_cannot_be_written(ptokit: Run, folder: Path, tmp_path: Path) -> None:
    for path, why in ((tmp_path, "it is a directory"), (tmp_path / "no" / "x.xml", "there is no directory")):
        ran = ptokit("conformance", folder, "--junit", path)
        assert (ran.status, ran.out) == (1, "")
        assert f"cannot write the report to {path}: {why}" in ran.err
        assert "[CLI-04]" in ran.err


def test_control_characters_do_not_reach_the_terminal(ptokit: Run, tmp_path: Path) -> None:
    blob = Blob()
    case = {**add_case(blob, TWICE), "id": "P\x1b[2J", "op": "T\x1b[2J"}
    ran = ptokit("conformance", write_vectors(tmp_path, [case], blob))
    assert "\x1b" not in ran.out
    assert "T\\x1b[2J" in ran.out


@pytest.mark.parametrize("content", [b"", b"{", b"\x00" * 100, b'{"cases": [{}]}', b"[1]", b'{"cases": 1}'])
def test_broken_folders_are_diagnosed(ptokit: Run, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "manifest.json").write_bytes(content)
    ran = ptokit("conformance", tmp_path)
    assert (ran.status, ran.out) == (1, "")
    assert ran.err.startswith(f"{tmp_path / 'manifest.json'}: error: ")
    assert len(ran.err.splitlines()) == 1


def test_as_a_process(folder: Path) -> None:
    ran = process("conformance", os.fspath(folder), "--jobs", "2")
    assert ran.returncode == 1
    assert ran.stdout.splitlines()[-1] == "2 passed, 1 failed, 2 skipped"
    assert ran.stderr == ""


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs the list of child processes in /proc")
def test_an_interrupt_ends_all_processes_quietly() -> None:
    command = [sys.executable, "-m", "ptokit", "conformance", os.fspath(VECTORS), "--jobs", "2"]
    run = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    threads = Path(f"/proc/{run.pid}/task")  # each starts a process of its own
    deadline = time.monotonic() + 30
    workers: list[str] = []
    while len(workers) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.02)
        workers = [pid for children in threads.glob("*/children") for pid in children.read_text().split()]
    time.sleep(0.2)  # they import now
    os.killpg(run.pid, signal.SIGINT)
    out, err = run.communicate(timeout=30)
    assert (run.returncode, out, err) == (130, b"", b"")
    while any(map(is_running, workers)):
        assert time.monotonic() < deadline + 30
        time.sleep(0.02)


def is_running(process_id: str) -> bool:
    try:
        return Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
