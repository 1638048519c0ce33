"""JSON reports are of the published schema, and have no key that it does not name."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from .conftest import KERNELS, Run

ROOT = Path(__file__).parents[2]
SCHEMA = json.loads((ROOT / "docs" / "report.schema.json").read_text())
CASES = ROOT / "tests" / "data" / "sync-cases"


def closed(schema: Any) -> Any:
    """The schema without room for keys that it does not name."""
    if isinstance(schema, list):
        return [closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    out = {key: closed(part) for key, part in schema.items()}
    if "required" in out and isinstance(out.get("properties"), dict):
        out.setdefault("additionalProperties", False)
    return out


STRICT = Draft202012Validator(closed(SCHEMA))


def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(SCHEMA)


COMMANDS = [
    ("check", KERNELS / "faulty.pto", "-t", "a2a3"),
    ("check", KERNELS / "gemm.pto", "-t", "a5"),
    ("check", ROOT / "nowhere.pto", "-t", "a5"),
    ("check", KERNELS / "faulty.pto", "-t", "a2a3", "-t", "a5", "--max-errors", "1"),
    (
        *("sanitize", CASES / "01_load_compute_nosync.pto", "-t", "a2a3"),
        *("-a", "arange:f32:512", "-a", "uninit:f32:512", "--witness", "--seed", "4"),
    ),
    (
        *("sanitize", CASES / "01_load_compute_nosync.pto", "-t", "a2a3", "-t", "a5"),
        *("-a", "arange:f32:512", "-a", "uninit:f32:512", "--witness", "--seed", "4", "--explain-sync"),
    ),
]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda c: f"{c[0]}-{c[1].stem}")
def test_reports_have_the_form_of_the_schema(ptokit: Run, command: tuple[object, ...]) -> None:
    report = json.loads(ptokit(*command, "--format", "json").out)
    assert [error.message for error in STRICT.iter_errors(report)] == []
    if command[0] == "sanitize":
        assert all(run["shuffled"] for run in report.get("runs", [report]))
        assert [d["race"]["witness"] for d in report["diagnostics"] if "race" in d]


def test_another_form_is_told_apart(ptokit: Run) -> None:
    report = json.loads(ptokit("check", KERNELS / "faulty.pto", "-t", "a2a3", "--format", "json").out)
    changes: list[tuple[str, Any]] = [("severity", "fatal"), ("line", -1), ("notes", None), ("extra", 1), ("rule", "")]
    for key, value in changes:
        other = copy.deepcopy(report)
        other["diagnostics"][0][key] = value
        assert list(STRICT.iter_errors(other)), key
    del report["summary"]
    assert list(STRICT.iter_errors(report))
