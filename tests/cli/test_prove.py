"""ptokit prove."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ..prove.kernels import COPY, kernel, load, loop
from .conftest import Run

pytest.importorskip("z3")


def test_statuses_and_forms(ptokit: Run, tmp_path: Path) -> None:
    good, wrong, strange = (tmp_path / f"{name}.pto" for name in ("good", "wrong", "strange"))
    good.write_text(COPY, encoding="utf-8")
    wrong.write_text(kernel(load("%t0", "%n"), rows="%c4096"), encoding="utf-8")
    strange.write_text(kernel("pto.sync.set #pto.pipe<PIPE_V>, 3", loop(load("%t0", "%r"))), encoding="utf-8")
    ran = ptokit("prove", good, "-t", "a2a3")
    assert ran.status == 0
    assert "k on a2a3: proved for all arguments" in ran.out
    ran = ptokit("prove", wrong, "-t", "a2a3")
    assert ran.status == 1
    assert "GM-OOB" in ran.out
    assert ptokit("prove", wrong, "-t", "a2a3", "--assume", "n <= 4080").status == 0
    ran = ptokit("prove", strange, "-t", "a2a3", "--format", "json")
    assert ran.status == 3
    found = json.loads(ran.out)
    assert {each["verdict"] for each in found["claims"]} == {"open"}
    assert ptokit("prove", strange, "-t", "a2a3", "--limit", "1").status == 3
    ran = ptokit("prove", wrong, "-t", "a2a3", "--format", "sarif")
    assert ran.status == 1
    (run,) = json.loads(ran.out)["runs"]
    assert [result["ruleId"] for result in run["results"]] == ["GM-OOB"]
    place = run["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"].endswith("wrong.pto")
    assert run["properties"]["proof"]["verdict"] == "refuted"


def test_wrong_usage(ptokit: Run, tmp_path: Path) -> None:
    file = tmp_path / "k.pto"
    file.write_text(COPY, encoding="utf-8")
    assert ptokit("prove", file, "-t", "a2a3", "--blocks", "0").status == 2
    assert ptokit("prove", file, "-t", "a2a3", "--blocks", "many").status == 2
    ran = ptokit("prove", file, "-t", "a2a3", "--assume", "n > 1 and n < 0")
    assert ran.status == 2
    assert "no arguments" in ran.err
    assert ptokit("prove", file).status == 2
    file.write_text(COPY.replace("%c32", "%c33", 3), encoding="utf-8")
    assert ptokit("prove", file, "-t", "a2a3").status == 1
