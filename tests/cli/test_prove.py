"""ptokit prove."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from ..prove.kernels import COPY, HANDED, add, kernel, load
from .conftest import Run
from .test_report_schema import closed

pytest.importorskip("z3")


def test_statuses_and_forms(ptokit: Run, tmp_path: Path) -> None:
    good, wrong, strange = (tmp_path / f"{name}.pto" for name in ("good", "wrong", "strange"))
    good.write_text(COPY, encoding="utf-8")
    wrong.write_text(kernel(load("%t0", "%n"), rows="%c4096"), encoding="utf-8")
    data = "%v = pto.load_scalar %x[%s] : !pto.ptr<f32> -> f32"
    far = f"scf.for %s = %c0 to %n step %c1 {{\n%d = arith.divui %n, %s : index\n{data.replace('%s', '%d')}\n}}"
    strange.write_text(kernel(far, rows="%c16"), encoding="utf-8")
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
    assert [each["claim"] for each in found["claims"] if each["verdict"] == "open"] == ["pipes", "blocks", "bounds"]
    assert ptokit("prove", strange, "-t", "a2a3", "--reasons", "1").status == 3
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


SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "proof.schema.json").read_text(encoding="utf-8"))


def test_reports_have_the_form_of_the_schema(ptokit: Run, tmp_path: Path) -> None:
    Draft202012Validator.check_schema(SCHEMA)
    strict = Draft202012Validator(closed(SCHEMA))
    file = tmp_path / "k.pto"
    racy = kernel(load("%t0", "%n"), add("%t1", "%t0"), rows="%c4096")
    fixed = kernel(load("%t0", "%c0"), *HANDED, add("%t1", "%t0"), params="", rows="%c16")
    for text, verdict in ((COPY, "proved"), (racy, "refuted"), (fixed, "proved")):
        file.write_text(text, encoding="utf-8")
        found = json.loads(ptokit("prove", file, "-t", "a2a3", "--format", "json").out)
        assert [error.message for error in strict.iter_errors(found)] == []
        assert (found["verdict"], found["file"], found["closed"]) == (verdict, str(file), text is fixed)
    for key in SCHEMA["required"]:
        assert list(strict.iter_errors({k: v for k, v in found.items() if k != key})), key


def test_each_claim_is_refuted_by_its_own_smallest_arguments(ptokit: Run, tmp_path: Path) -> None:
    """A race for every n, and rows past the end from n = 4081 on: the run for the second would show the first, too."""
    file = tmp_path / "k.pto"
    file.write_text(kernel(load("%t0", "%n"), add("%t1", "%t0"), rows="%c4096"), encoding="utf-8")
    found = json.loads(ptokit("prove", file, "-t", "a2a3", "--format", "json").out)
    shown = {c["claim"]: c["counterexample"]["arguments"][-1] for c in found["claims"] if "counterexample" in c}
    assert shown == {"pipes": "0", "bounds": "4081"}


def test_the_page(ptokit: Run, tmp_path: Path) -> None:
    file, page = tmp_path / "k.pto", tmp_path / "k.html"
    file.write_text(kernel(load("%t0", "%n"), add("%t1", "%t0"), rows="%c4096"), encoding="utf-8")
    ran = ptokit("prove", file, "-t", "a2a3", "--html", page)
    assert (ran.status, ran.err) == (1, f"page written to {page}\n")
    text = page.read_text(encoding="utf-8")
    assert "<h2>bounds: <span class='error'>refuted</span></h2>" in text
    assert "-a zeros:f32:131072 -a 4081" in text
    assert text.count("<tr class='marked'><td>●</td><td>19</td>") == 1
    assert "<h2>initialised: <span class='clean'>proved</span></h2>" in text
    assert ptokit("prove", file, "-t", "a2a3", "--html", tmp_path / "no" / "k.html").status == 1


def test_a_limit_of_questions(ptokit: Run, tmp_path: Path) -> None:
    file = tmp_path / "k.pto"
    file.write_text(COPY, encoding="utf-8")
    ran = ptokit("prove", file, "-t", "a2a3", "--limit", "3", "--reasons", "1")
    assert ran.status == 3
    assert "the limit of 3 questions was reached before this was decided" in ran.out
    assert ptokit("prove", file, "-t", "a2a3", "--limit", "300").status == 0


def test_bad_input(ptokit: Run, tmp_path: Path) -> None:
    file, two = tmp_path / "k.pto", tmp_path / "two.py"
    file.write_text(COPY, encoding="utf-8")
    body = "@pto.kernel(target='a5')\ndef {}(n: int):\n    pass\n"
    two.write_text(f"import ptokit as pto\n{body.format('a')}{body.format('b')}", encoding="utf-8")
    for given, status, said in (
        ([tmp_path / "nowhere.pto"], 1, "nowhere.pto: error: cannot read the file"),
        ([tmp_path], 1, "cannot read the file: Is a directory"),
        ([two], 2, "has several kernels; name one"),
        ([file, "--entry", "q"], 1, "there is no kernel 'q'; kernels in this file: k [RUN-ENTRY]"),
        ([file, "--assume", "q > 3"], 2, "there is no number 'q' in 'q > 3'; there are blocks, rank, ranks, n"),
        ([file, "--assume", "x is q"], 2, "there is no array 'q' in 'x is q'; there are x, y"),
        ([file, "--assume", "n %% 3"], 2, "is no comparison, as in n % 16 == 0"),
        ([file, "--assume", "n > 3 and n < 2"], 2, "there are no arguments for which n > 3 and n < 2"),
        ([file, "--limit", "0"], 2, "--limit"),
    ):
        ran = ptokit("prove", *given, *(["-t", "a2a3"] if given[0] != two else []))
        assert (ran.status, said in " ".join(ran.err.split())) == (status, True), ran.err
