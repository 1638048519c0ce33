"""Folders of cases: recognised by content, refused with a diagnostic, replayed in the same order by any processes."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from ptokit.campaign.run import Job, open_cases, replay_all
from ptokit.conformance.compare import Outcome, Result, junit_xml, report
from ptokit.diagnostics import DiagnosticError

from ..workers.cluster import children
from .suites import PROGRAMS, SYNC_CASES, VECTORS, Blob, add_case, program_case, stored, write_programs, write_vectors

TWICE = np.arange(0, 16, 2, dtype=np.float32)


def refusal(folder: Path) -> tuple[str, str]:
    """Rule and message of the diagnostic about a folder."""
    with pytest.raises(DiagnosticError) as caught:
        open_cases(folder)
    (diagnostic,) = caught.value.diagnostics
    assert str(folder) in str(diagnostic.location)
    return diagnostic.rule, diagnostic.message


def test_folders_are_recognised_by_their_manifest() -> None:
    assert open_cases(VECTORS).kind == "instruction"
    programs = open_cases(PROGRAMS)
    assert programs.kind == "program"
    assert programs.jobs[0].ops


def test_vectors_are_recognised_without_a_format(tmp_path: Path) -> None:
    blob = Blob()
    write_vectors(tmp_path, [add_case(blob, TWICE)], blob)
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    del manifest["format"], manifest["version"]
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    assert open_cases(tmp_path).kind == "instruction"


def test_synchronisation_cases_are_recognised() -> None:
    cases = open_cases(SYNC_CASES)
    assert cases.kind == "program"
    assert all(job.case.endswith(".pto") for job in cases.jobs)


@pytest.mark.parametrize(
    ("text", "rule", "message"),
    [
        (b"", "CONF-FILE", "cannot read conformance cases: Expecting value"),
        (b"{", "CONF-FILE", "cannot read conformance cases: "),
        (b"\xff\xfe", "CONF-FILE", "cannot read conformance cases: "),
        (b"[" * 100_000, "CONF-FILE", "cannot read conformance cases: "),
        (b"[]", "CONF-FORMAT", "it has no list 'cases'"),
        (b"{}", "CONF-FORMAT", "it has no list 'cases'"),
        (b'{"cases": {}}', "CONF-FORMAT", "it has no list 'cases'"),
        (b'{"cases": [1]}', "CONF-FILE", "not objects"),
        (b'{"cases": []}', "CONF-FORMAT", "cases with nothing"),
        (b'{"cases": [{"id": 1, "b": 2}]}', "CONF-FORMAT", "cases with b, id"),
        (b'{"format": "other", "cases": []}', "CONF-FORMAT", "format 'other'"),
        (b'{"format": "pto-move-vectors", "version": 2, "cases": []}', "CONF-FORMAT", "version 2; ptokit knows 1"),
        (b'{"format": "pto-move-vectors", "cases": [], "data": 3}', "CONF-FILE", "name of the data file is 3"),
        (b'{"format": "pto-move-vectors", "cases": [], "profiles": 0.5}', "CONF-FILE", "the profiles are 0.5"),
        (b'{"format": "pto-move-vectors", "cases": [], "profiles": [1]}', "CONF-FILE", "the profiles are [1]"),
    ],
)
def test_manifests_that_are_none(tmp_path: Path, text: bytes, rule: str, message: str) -> None:
    (tmp_path / "manifest.json").write_bytes(text)
    found = refusal(tmp_path)
    assert found[0] == rule
    assert message in found[1]


def test_folders_that_are_not_there(tmp_path: Path) -> None:
    assert refusal(tmp_path / "no") == ("CONF-FILE", "cannot read conformance cases: there is no such folder")
    assert refusal(tmp_path) == ("CONF-FILE", "cannot read conformance cases: No such file or directory")


def without(key: str) -> Callable[[dict[str, Any]], None]:
    return lambda case: case.pop(key)


def setting(*path: Any) -> Callable[[dict[str, Any]], None]:
    """Change the case at a path of keys to the last value."""

    def change(case: Any) -> None:
        *keys, last, value = path
        for key in keys:
            case = case[key]
        case[last] = value

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (without("op"), "case P1: no or unknown 'op'"),
        (without("id"), "case number 0: no or unknown 'id'"),
        (without("tiles"), "case P1: no or unknown 'tiles'"),
        (setting("tiles", []), "case P1: "),
        (setting("tiles", "dst", "dtype", "f33"), "case P1: no or unknown 'f33'"),
        (setting("tiles", "dst", "loc", "Moon"), "case P1: no or unknown 'Moon'"),
        (setting("tiles", "dst", "rows", "8"), "case P1: '8' is not a size"),
        (setting("tiles", "dst", "rows", -1), "case P1: -1 is not a size"),
        (setting("tiles", "dst", "rows", True), "case P1: True is not a size"),
        (setting("tiles", "dst", "rows", 1 << 29), "case P1: dst has 17179869184 bytes, more than 1073741824"),
        (setting("tiles", "dst", "pad", "0xzz"), "case P1: invalid literal"),
        (setting("tiles", "dst", "alias", "other"), "case P1: there is no tile 'other' to share storage with"),
        (setting("in", "src0", [0, 31]), "case P1: 31 bytes for 'src0', which needs 32"),
        (setting("in", "src0", [99999, 32]), "case P1: bytes [99999, 100031) of the "),
        (setting("in", "src0", [0]), "case P1: not enough values"),
        (setting("in", "what", [0, 32]), "case P1: no or unknown 'what'"),
        (setting("expect", 0, "out", {"dst": [0, 4]}), "case P1: 4 bytes for 'dst', which needs 32"),
        (setting("expect", 0, "care", {"dst": [0, 4]}), "case P1: 4 bytes for 'dst', which needs 32"),
        (setting("expect", 0, "tol", {"dst": [0, 4]}), "case P1: 4 bytes for 'dst', which needs 32"),
        (setting("expect", 0, "tol", {"dst": {"ulp": "2"}}), "case P1: a tolerance is "),
        (setting("expect", 0, "tol", {"dst": {"ulp": -1}}), "case P1: a tolerance is "),
        (setting("expect", 0, "tol", {"dst": {"steps": 1}}), "case P1: a tolerance is "),
        (
            setting("gms", {"g": {"dtype": "f32", "shape": [1, 1], "stride": [1], "layout": "ND", "nelem": 1}}),
            "case P1",
        ),
        (setting("legal_on", 5), "case P1: "),
    ],
)
def test_broken_cases_of_instructions(tmp_path: Path, change: Callable[[dict[str, Any]], None], message: str) -> None:
    blob = Blob()
    case = add_case(blob, TWICE)
    change(case)
    found = refusal(write_vectors(tmp_path, [case], blob))
    assert found[0] == "CONF-FILE"
    assert found[1].startswith(message)


def test_ids_are_unique(tmp_path: Path) -> None:
    blob = Blob()
    case = add_case(blob, TWICE)
    assert refusal(write_vectors(tmp_path, [case, case], blob)) == ("CONF-FILE", "case P1 occurs twice")


def test_data_files_that_are_none(tmp_path: Path) -> None:
    blob = Blob()
    write_vectors(tmp_path, [add_case(blob, TWICE)], blob)
    data = tmp_path / "data.npz"
    whole = data.read_bytes()
    for broken in (b"", b"PK", whole[: len(whole) // 2], b"\x93NUMPY", b"rubbish"):
        data.write_bytes(broken)
        rule, message = refusal(tmp_path)
        assert rule == "CONF-FILE"
        assert message.startswith("cannot read arrays: ")
    np.savez(data, other=np.zeros(3, np.uint8))
    assert refusal(tmp_path)[1] == "there is no array 'blob' of bytes"
    np.savez(data, blob=np.zeros(3, np.uint8))
    assert "the hash differs" in refusal(tmp_path)[1]
    data.unlink()
    assert refusal(tmp_path)[1] == "cannot read arrays: No such file or directory"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (without("entry"), "no or unknown 'entry'"),
        (setting("file", 7), "file is 7, not a text"),
        (setting("arch", "a9"), "'a9' is no architecture"),
        (setting("arch", 3), "3 is no architecture"),
        (setting("blocks", 0), "blocks is 0, not a number from 1 on"),
        (setting("args", 0, "kind", "tile"), "argument 0 is neither a scalar nor a pointer"),
        (setting("args", 0, "index", 3), "argument 0 has index 3"),
        (setting("args", 0, "dtype", "f99"), "no or unknown 'f99'"),
        (setting("args", 0, "dtype", "e2m1"), "argument 0: there is no data of type e2m1"),
        (setting("args", 0, "elements", 1 << 29), "argument 0 has 2147483648 bytes, more than 1073741824"),
        (setting("args", 0, "elements", -1), "elements of argument 0 is -1"),
        (setting("args", 0, "init", {"kind": "noise"}), "init has one of the kinds "),
        (setting("args", 0, "init", "seed", "x"), "init of kind uniform needs a number 'seed'"),
        (setting("args", 0, "init", "seed", -1), "init of kind uniform needs a whole number 'seed'"),
        (
            setting("args", 0, "init", {"kind": "ints", "lo": 0, "hi": 2**63, "seed": 1}),
            "init of kind ints has no range",
        ),
        (setting("args", 0, "init", {"kind": "lattice", "lo": 9, "hi": 8, "seed": 1}), "init of kind lattice has no"),
        (setting("args", 0, "init", {"kind": "const"}), "init of kind const needs a number 'value'"),
        (setting("args", 0, "init", "period", 0), "the period of an init is a number of elements, not 0"),
        (setting("args", 3, "value", "1"), "argument 3 has the value '1'"),
        (setting("outputs", 0, "index", 3), "output 3 is no pointer argument"),
        (setting("outputs", 0, "index", 9), "output 9 is no pointer argument"),
        (setting("outputs", 0, "stored", "all"), "output 2 is stored as 'all'"),
        (setting("outputs", 0, "atol", "x"), "could not convert string to float"),
        (setting("outputs", 0, "touched", {"elements": 1, "first": 0, "last": 4096}), "output 2 has touched elements"),
    ],
)
def test_broken_cases_of_programs(tmp_path: Path, change: Callable[[dict[str, Any]], None], message: str) -> None:
    case = program_case("kernels.vec_add--1")
    values = stored(case)
    write_programs(tmp_path, case, values)
    change(case)
    (tmp_path / "manifest.json").write_text(json.dumps({"format": 1, "cases": [case]}))
    found = refusal(tmp_path)
    assert found[0] == "CONF-FILE"
    assert found[1].startswith(f"case kernels.vec_add--1: {message}")


@pytest.mark.parametrize("content", [None, b"", b"rubbish"])
def test_a_program_without_its_values_fails(tmp_path: Path, content: bytes | None) -> None:
    case = program_case("kernels.vec_add--1")
    folder = write_programs(tmp_path, case, stored(case))
    if content is None:
        (folder / "expected.npz").unlink()
    else:
        (folder / "expected.npz").write_bytes(content)
    cases = open_cases(folder)
    (result,) = replay_all(folder, cases, cases.jobs)
    assert result.outcome is Outcome.FAILED
    assert result.message.startswith("cannot read arrays: ")


def timeless(results: list[Result]) -> list[tuple[Any, ...]]:
    return [(r.case, r.op, r.target, r.outcome, r.message, r.reported) for r in results]


def test_processes_change_nothing(tmp_path: Path) -> None:
    blob = Blob()
    cases = []
    for i in range(40):
        want = TWICE + np.float32(i % 3 == 0)
        cases.append({**add_case(blob, want), "id": f"P{i:02d}", "legal_on": ["a5", "a2a3"]})
    cases[7]["op"] = "TNOSUCH"
    folder = write_vectors(tmp_path, cases, blob)
    opened = open_cases(folder)
    one = list(replay_all(folder, opened, opened.jobs))
    assert [(r.case, r.target) for r in one] == [(f"P{i:02d}", t) for i in range(40) for t in ("a2a3", "a5")]
    seen: list[tuple[int, int]] = []
    two = list(
        replay_all(folder, opened, opened.jobs, processes=2, progress=lambda done, total: seen.append((done, total)))
    )
    assert timeless(two) == timeless(one)
    assert seen == [(n, 80) for n in range(1, 81)]


def test_a_folder_that_goes_away_fails_every_case(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    blob = Blob()
    folder = write_vectors(tmp_path, [{**add_case(blob, TWICE), "id": f"P{i}"} for i in range(4)], blob)
    opened = open_cases(folder)
    (folder / "manifest.json").unlink()  # before the processes read it
    results = list(replay_all(folder, opened, opened.jobs, processes=2))
    assert {r.message for r in results} == {
        "the folder changed while it was replayed, or it is not there for the worker"
    }
    assert not any(r.passed for r in results)
    assert capfd.readouterr().err == ""


def test_a_process_that_dies_costs_nothing(tmp_path: Path) -> None:
    blob = Blob()
    folder = write_vectors(tmp_path, [{**add_case(blob, TWICE), "id": f"P{i}"} for i in range(300)], blob)
    opened = open_cases(folder)

    def kill(done: int, total: int) -> None:
        if done == 1:
            for child in children(os.getpid()):
                os.kill(child, signal.SIGKILL)

    results = list(replay_all(folder, opened, opened.jobs, processes=2, progress=kill))
    assert [r.case for r in results] == [job.case for job in opened.jobs]
    assert all(r.passed for r in results)


@pytest.mark.parametrize(
    ("name", "found"),
    [("TADD", True), ("tadd", True), ("pto.tadd", True), ("vec_add", True), ("TMUL", False), ("pto.tmov.fp", True)],
)
def test_names_of_instructions_in_any_spelling(name: str, found: bool) -> None:
    assert Job(0, "case", "vec_add", "a5", ("pto.tadd", "pto.tmov.fp")).concerns(name) == found


def result(case: str, op: str, target: str, outcome: Outcome, message: str = "") -> Result:
    return Result(case, op, target, outcome, message, (), 0.25)


RESULTS = [
    result("P1", "TSTORE", "a5", Outcome.PASSED),
    result("P1", "TSTORE", "cpu", Outcome.FAILED, "dst <&> \x1b[0m\ud800"),
    result("P2", "TQUANT", "a2a3", Outcome.SKIPPED, "TQUANT is not implemented"),
    result("P3", "TQUANT", "a2a3", Outcome.SKIPPED, "TQUANT is not implemented"),
]


def test_a_report_counts_by_instruction_and_target() -> None:
    found = report(RESULTS)
    assert [(op, target, dict(counts)) for op, target, counts in found.rows] == [
        ("TQUANT", "a2a3", {Outcome.SKIPPED: 2}),
        ("TSTORE", "cpu", {Outcome.FAILED: 1}),
        ("TSTORE", "a5", {Outcome.PASSED: 1}),
    ]
    assert found.failures == (RESULTS[1],)
    assert found.skipped == (("TQUANT is not implemented", 2),)
    assert found.last_line == "1 passed, 1 failed, 2 skipped"


def test_junit_has_one_test_case_per_case_and_target() -> None:
    top = ElementTree.fromstring(junit_xml("some/folder", RESULTS))
    (suite,) = top
    assert suite.attrib == {
        "name": "some/folder",
        "tests": "4",
        "failures": "1",
        "errors": "0",
        "skipped": "2",
        "time": "1.000",
    }
    assert [(c.get("classname"), c.get("name"), [e.tag for e in c]) for c in suite] == [
        ("TSTORE.a5", "P1[a5]", []),
        ("TSTORE.cpu", "P1[cpu]", ["failure"]),
        ("TQUANT.a2a3", "P2[a2a3]", ["skipped"]),
        ("TQUANT.a2a3", "P3[a2a3]", ["skipped"]),
    ]
    assert suite[1][0].get("message") == "dst <&> ?[0m?"
