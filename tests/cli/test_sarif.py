"""Findings as SARIF 2.1.0: the structure its schema asks for, and what is in it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ptokit.asm.text.rules import FILE
from ptokit.diagnostics import Diagnostic, Location, Note, Severity
from ptokit.diagnostics.render import sarif

from .conftest import KERNELS, Run

FAULTY = KERNELS / "faulty.pto"
RULE = FILE

# Key, whether it must be there, and the form of its value, as far as SARIF 2.1.0 has what ptokit prints.
MESSAGE = {"text": (True, str)}
REGION = {"startLine": (True, int), "startColumn": (True, int), "endColumn": (True, int)}
PLACE = {"artifactLocation": (True, {"uri": (True, str)}), "region": (False, REGION)}
LOCATION = {"id": (False, int), "physicalLocation": (True, PLACE), "message": (False, MESSAGE)}
LEVEL = {"none", "note", "warning", "error"}
DESCRIPTOR = {
    "id": (True, str),
    "shortDescription": (True, MESSAGE),
    "fullDescription": (False, MESSAGE),
    "help": (True, MESSAGE),
    "defaultConfiguration": (True, {"level": (True, LEVEL)}),
}
POINT = {"startLine": (True, int), "startColumn": (True, int), "endLine": (True, int), "endColumn": (True, int)}
REPLACEMENT = {"deletedRegion": (True, POINT), "insertedContent": (True, MESSAGE)}
CHANGE = {"artifactLocation": (True, {"uri": (True, str)}), "replacements": (True, [REPLACEMENT])}
FIX = {"description": (True, MESSAGE), "artifactChanges": (True, [CHANGE])}
RESULT = {
    "ruleId": (True, str),
    "ruleIndex": (True, int),
    "level": (True, LEVEL),
    "message": (True, MESSAGE),
    "locations": (False, [LOCATION]),
    "relatedLocations": (False, [LOCATION]),
    "properties": (False, dict),
    "fixes": (False, [FIX]),
}
DRIVER = {"name": (True, str), "semanticVersion": (True, str), "rules": (True, [DESCRIPTOR])}
RUN = {
    "tool": (True, {"driver": (True, DRIVER)}),
    "columnKind": (True, {"unicodeCodePoints", "utf16CodeUnits"}),
    "results": (True, [RESULT]),
    "properties": (False, dict),
    "automationDetails": (False, {"id": (True, str)}),
}
LOG = {"$schema": (True, str), "version": (True, {"2.1.0"}), "runs": (True, [RUN])}


def conforms(value: Any, form: Any, where: str = "") -> None:
    """`value` has the keys and kinds of values of `form`, and what refers to something refers to what there is."""
    if isinstance(form, dict):
        assert isinstance(value, dict), where
        assert set(value) <= set(form), where
        for key, (needed, inner) in form.items():
            assert key in value or not needed, f"{where}.{key}"
            if key in value:
                conforms(value[key], inner, f"{where}.{key}")
    elif isinstance(form, list):
        assert isinstance(value, list), where
        for item in value:
            conforms(item, form[0], f"{where}[]")
    elif isinstance(form, set):
        assert value in form, where
    else:
        assert type(value) is form, where
        assert form is not int or value >= 0, where


def checked(log: dict[str, Any]) -> dict[str, Any]:
    """The run of a log, which is well formed."""
    conforms(log, LOG)
    (run,) = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert len({rule["id"] for rule in rules}) == len(rules)
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        for place in result.get("locations", []) + result.get("relatedLocations", []):
            region = place["physicalLocation"].get("region")
            if region:
                assert region["startLine"] >= 1
                assert 1 <= region["startColumn"] <= region["endColumn"]
    assert isinstance(run, dict)
    return run


def one(diagnostic: Diagnostic, root: Path = Path("/here")) -> dict[str, Any]:
    """The result of a single finding."""
    (result,) = checked(sarif({"": [diagnostic]}, "1.2.3", root))["results"]
    assert isinstance(result, dict)
    return result


def test_nothing_found() -> None:
    run = checked(sarif({"": []}, "1.2.3", Path("/here")))
    assert run["results"] == []
    assert run["tool"]["driver"] == {"name": "ptokit", "semanticVersion": "1.2.3", "rules": []}


def test_hint_and_notes() -> None:
    result = one(
        Diagnostic(
            RULE,
            Severity.WARNING,
            "expected '{'",
            Location("a b.pto", 3, 7, 4),
            "write it",
            (Note("opened here", Location("c.pto", 2, 5, 1)), Note("as always"), Note("twice", Location("c.pto"))),
        )
    )
    assert result["level"] == "warning"
    assert result["message"] == {"text": "expected '{{'\nhint: write it\nnote: as always"}
    (place,) = result["locations"]
    assert place["physicalLocation"] == {
        "artifactLocation": {"uri": "a%20b.pto"},
        "region": {"startLine": 3, "startColumn": 7, "endColumn": 11},
    }
    first, second = result["relatedLocations"]
    assert (first["id"], first["message"]["text"]) == (1, "opened here")
    assert first["physicalLocation"]["region"] == {"startLine": 2, "startColumn": 5, "endColumn": 6}
    assert (second["id"], second["physicalLocation"]) == (2, {"artifactLocation": {"uri": "c.pto"}})


def test_a_finding_without_a_place() -> None:
    assert "locations" not in one(Diagnostic(RULE, Severity.NOTE, "so it is"))


@pytest.mark.parametrize(
    ("file", "uri"),
    [
        ("/here/x/y.pto", "x/y.pto"),
        ("./x/../y.pto", "y.pto"),
        ("../y.pto", "file:///y.pto"),
        ("/heretic/ü.pto", "file:///heretic/%C3%BC.pto"),
        ("a:b.pto", "a%3Ab.pto"),  # not a URI with the scheme a
    ],
)
def test_uris(file: str, uri: str) -> None:
    (place,) = one(Diagnostic(RULE, Severity.ERROR, "no", Location(file)))["locations"]
    assert place["physicalLocation"]["artifactLocation"]["uri"] == uri


def test_regions_stay_in_their_line(tmp_path: Path) -> None:
    file = tmp_path / "x.pto"
    file.write_text("12345\nabc\n")
    for at, columns in [((1, 4, 9), (4, 6)), ((2, 4, 1), (4, 4)), ((2, 1, 2), (1, 3))]:
        (place,) = one(Diagnostic(RULE, Severity.ERROR, "no", Location(str(file), *at)), tmp_path)["locations"]
        region = place["physicalLocation"]["region"]
        assert (region["startColumn"], region["endColumn"]) == columns


def test_check(ptokit: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(KERNELS.parent)
    name = f"{KERNELS.name}/{FAULTY.name}"
    expected = json.loads(ptokit("check", name, "-t", "a2a3", "--format", "json").out)["diagnostics"]
    ran = ptokit("check", name, "-t", "a2a3", "--format", "sarif")
    assert (ran.status, ran.err) == (1, "")
    assert ptokit("check", name, "-t", "a2a3", "--format", "sarif").out == ran.out
    run = checked(json.loads(ran.out))
    lines = FAULTY.read_text().splitlines()
    assert len(run["results"]) == len(expected) > 0
    for result, found in zip(run["results"], expected, strict=True):
        assert (result["ruleId"], result["level"]) == (found["rule"], found["severity"])
        assert result["message"]["text"].startswith(found["message"])
        (place,) = result["locations"]
        assert place["physicalLocation"]["artifactLocation"] == {"uri": name}
        region = place["physicalLocation"]["region"]
        assert (region["startLine"], region["startColumn"]) == (found["line"], found["column"])
        part = lines[region["startLine"] - 1][region["startColumn"] - 1 : region["endColumn"] - 1]
        assert part
        assert part == part.strip()
    for rule in run["tool"]["driver"]["rules"]:
        assert rule["shortDescription"]["text"] in rule["help"]["text"]
        assert "Refused:\n    " in rule["help"]["text"]


def test_check_of_a_clean_file(ptokit: Run) -> None:
    ran = ptokit("check", KERNELS / "softmax.pto", "-t", "a5", "--format", "sarif")
    assert ran.status == 0
    assert checked(json.loads(ran.out))["results"] == []


def test_a_file_that_cannot_be_read(ptokit: Run) -> None:
    ran = ptokit("check", "no/such.pto", "-t", "a5", "--format", "sarif")
    assert ran.status == 1
    (result,) = checked(json.loads(ran.out))["results"]
    assert result["ruleId"] == RULE
    assert result["locations"] == [{"physicalLocation": {"artifactLocation": {"uri": "no/such.pto"}}}]


def test_sanitize(ptokit: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.pto").write_text(
        "module {\n  func.func @f(%p: !pto.ptr<f32>) {\n    pto.wait_flag[<PIPE_V>, <PIPE_MTE3>, <EVENT_ID0>]\n"
        "    return\n  }\n}\n"
    )
    ran = ptokit("sanitize", "x.pto", "-t", "a5", "-a", "zeros:f32:8", "--format", "sarif")
    assert (ran.status, ran.err) == (1, "")
    run = checked(json.loads(ran.out))
    assert run["properties"]["launch"] == {"kernel": "f", "target": "a5", "blocks": 1, "order": "strict"}
    (result,) = run["results"]
    (place,) = result["locations"]
    assert place["physicalLocation"]["region"]["startLine"] == 3
    assert ptokit("sanitize", "x.pto", "-t", "a5", "-a", "zeros:f32:8").status == ran.status
