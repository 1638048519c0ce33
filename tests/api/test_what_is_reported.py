"""Several targets at once, rules selected and ignored, comments that ignore, limits, annotations, project settings."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ptokit as pto
from ptokit.api.findings import Selection, workflow_lines
from ptokit.diagnostics import Diagnostic, Diagnostics, Location, Note, Severity
from ptokit.targets import TARGETS

from ..cli.conftest import Run
from .kernels import RACY, WRONG, written

LARGE = """func.func @large() {
  %t = pto.alloc_tile : !pto.tile_buf<vec, 200x256xf32>
  return
}
"""
TWO_RULES = """func.func @f(%x: !pto.tile_buf<vec, 16x64xf32>) {
  %half = pto.alloc_tile : !pto.tile_buf<vec, 16x64xf16>
  %odd = pto.alloc_tile : !pto.tile_buf<vec, 16x3xf32>
  pto.texp ins(%x : !pto.tile_buf<vec, 16x64xf32>) outs(%half : !pto.tile_buf<vec, 16x64xf16>)
  return
}
"""


def places(report: pto.CheckReport) -> list[tuple[str, int]]:
    return [(d.rule, d.location.line) for d in report.diagnostics]


# --- several targets ---------------------------------------------------------------------------------------------


def test_each_finding_says_of_which_target_it_is(ptokit: Run, tmp_path: Path) -> None:
    file = tmp_path / "k.pto"
    file.write_text(LARGE)
    ran = ptokit("check", file, "-t", "a2a3", "-t", "a5")
    assert ran.status == 1
    assert "[UB-CAPACITY on a2a3]" in ran.err
    assert ran.err.splitlines()[-1].startswith(f"{file}: 1 error on a2a3;")
    file.write_text(TWO_RULES)
    ran = ptokit("check", file, "-t", "a2a3", "-t", "a5", "--select", "EW")
    assert ran.err.count("[EW-04 on a2a3, a5]") == 1
    ran = ptokit("check", file, "-t", "a2a3", "-t", "a5", "--select", "EW", "--format", "json")
    report = json.loads(ran.out)
    assert [(d["rule"], d["target"]) for d in report["diagnostics"]] == [("EW-04", "a2a3"), ("EW-04", "a5")]
    assert report["summary"] == {"errors": 2, "warnings": 0, "left_out": 0}
    runs = json.loads(ptokit("check", file, "-t", "a2a3", "-t", "a5", "--format", "sarif").out)["runs"]
    assert [run["properties"]["target"] for run in runs] == ["a2a3", "a5"]


def test_targets_are_asked_for_once_each() -> None:
    assert list(pto.check(LARGE, target=["a5", "a2a3", "a5"]).findings) == ["a5", "a2a3"]
    with pytest.raises(pto.UsageError, match="no target is named"):
        pto.check(LARGE, target=[])


# --- selected and ignored ----------------------------------------------------------------------------------------


def test_rules_are_selected_by_beginnings() -> None:
    every = places(pto.check(TWO_RULES, target="a5"))
    assert every == [("TILE-05", 3), ("EW-04", 4)]
    assert places(pto.check(TWO_RULES, target="a5", select=["ew"])) == [("EW-04", 4)]
    assert places(pto.check(TWO_RULES, target="a5", ignore=["TILE"])) == [("EW-04", 4)]
    assert places(pto.check(TWO_RULES, target="a5", select=["TILE-05"], ignore=["TILE"])) == [("TILE-05", 3)]
    assert places(pto.check(TWO_RULES, target="a5", select=["TILE"], ignore=["TILE-05"])) == []
    assert pto.check(TWO_RULES, target="a5", ignore=["TILE", "EW"]).ok


@given(st.text("AB-1", min_size=1, max_size=6), st.lists(st.text("AB-1", min_size=1, max_size=6), max_size=3))
def test_ignoring_what_is_selected_to_the_letter_wins(rule: str, words: list[str]) -> None:
    assert not Selection((rule,), (rule, *words)).allows(rule)
    assert Selection((rule,), tuple(w for w in words if w != rule)).allows(rule)
    assert Selection().allows(rule)
    assert Selection((), tuple(words)).allows(rule) == (not any(rule.startswith(word) for word in words))


def test_what_cannot_be_read_is_always_reported(ptokit: Run) -> None:
    unreadable = TWO_RULES.replace("texp", "tepx")
    for options in ({"ignore": ["TEXT"]}, {"select": ["EW"]}):
        assert [d.rule for d in pto.check(unreadable, target="a5", **options).errors] == ["TEXT-UNKNOWN-OP"]
    assert not pto.check(unreadable.replace("\n  return", " // ptokit: ignore[TEXT]\n  return"), target="a5").ok
    assert pto.check("nowhere.pto", target="a5", ignore=["TEXT"]).errors


def test_rules_that_there_are_not(ptokit: Run, tmp_path: Path) -> None:
    ran = ptokit("check", tmp_path / "k.pto", "-t", "a5", "--ignore", "EWE")
    assert ran.status == 2
    assert "no rule begins with 'EWE'" in ran.err


# --- comments ----------------------------------------------------------------------------------------------------


def test_a_comment_hides_findings_of_its_line() -> None:
    hidden = TWO_RULES.replace("16x64xf16>)", "16x64xf16>)  // ptokit: ignore[EW-04] mended next week")
    assert places(pto.check(hidden, target="a5")) == [("TILE-05", 3)]
    above = TWO_RULES.replace("  %odd", "\n  // ptokit: ignore[EW, TILE] odd\n  // on purpose\n\n  %odd")
    assert places(pto.check(above, target="a5")) == [("IGNORE-UNUSED", 4), ("EW-04", 8)]


USELESS = [
    ("  return", "  return  // ptokit: ignore[EW-04]", "IGNORE-UNUSED", "nothing here breaks EW-04"),
    ("  return", "  return  // ptokit: ignore[EWE]", "IGNORE-UNUSED", "there is no rule EWE"),
    ("  return", "  return  // ptokit: ignore", "IGNORE-FORM", "it names none"),
    ("  return", "  return  // ptokit: ignore[ , ]", "IGNORE-FORM", "it names none"),
]


@pytest.mark.parametrize(("line", "new", "rule", "message"), USELESS)
def test_a_comment_that_hides_nothing_is_reported(line: str, new: str, rule: str, message: str) -> None:
    text = TWO_RULES.replace(line, new)
    report = pto.check(text, target="a5")
    (found,) = report.warnings
    assert (found.rule, found.location.line) == (rule, 5)
    assert message in found.message
    assert new[found.location.column - 1 :].startswith("// ptokit")
    assert pto.check(text, target="a5", ignore=["IGNORE"]).warnings == []


def test_a_comment_counts_where_one_target_needs_it() -> None:
    tile = "!pto.tile_buf<vec, 16x64xi8>"
    line = f"pto.tadd ins(%x, %x : {tile}, {tile}) outs(%x : {tile}) // ptokit: ignore[EW-06, EW-1] for a5 only"
    text = f"func.func @f(%x: {tile}) {{\n{line}\nreturn\n}}\n"
    assert pto.check(text.split(" //")[0] + "\nreturn\n}\n", target="a2a3").errors
    assert pto.check(text, target=["a2a3", "a5"]).diagnostics == []
    assert [d.rule for d in pto.check(text, target="a5").warnings] == ["IGNORE-UNUSED"] * 2


def test_comments_for_the_sanitizer_are_none_of_the_check(ptokit: Run, tmp_path: Path) -> None:
    text = RACY.replace("64)), t)", "64)), t)  # ptokit: ignore[RACE] benign")
    file = written(tmp_path, text)
    assert pto.check(file).diagnostics == []
    ran = ptokit("sanitize", file, "-a", "random:f32:16x64", "-a", "uninit:f32:16x64", "--format", "json")
    assert json.loads(ran.out)["diagnostics"] == []
    assert ran.status == 0
    written(tmp_path, text.replace("RACE", "DEADLOCK"))
    ran = ptokit("sanitize", file, "-a", "random:f32:16x64", "-a", "uninit:f32:16x64", "--format", "json")
    assert [(d["rule"], d["line"]) for d in json.loads(ran.out)["diagnostics"]] == [
        ("RACE-RAW", 8),
        ("IGNORE-UNUSED", 8),
    ]


def test_comments_in_python(tmp_path: Path) -> None:
    text = WRONG.replace("300, 256)", '300, 256)  # ptokit: ignore[UB-CAPACITY] "large"').replace(
        "    pto.TADD", '    note = "# ptokit: ignore[EW-04]"\n    pto.TADD'
    )
    assert places(pto.check(written(tmp_path, text))) == [("EW-04", 15)]
    hidden = WRONG.replace("a, a)", "a, a)  # ptokit: ignore[EW-04]")
    assert places(pto.check(f"{written(tmp_path, hidden)}:mixed")) == []
    unused = hidden.replace("f16", "f32")
    assert places(pto.check(f"{written(tmp_path, unused)}:mixed")) == [("IGNORE-UNUSED", 14)]
    assert places(pto.check(f"{written(tmp_path, unused)}:large")) == [("UB-CAPACITY", 6)]  # that one alone


# --- limits and status -------------------------------------------------------------------------------------------


def test_only_the_first_errors_are_shown(ptokit: Run, tmp_path: Path) -> None:
    file, other = tmp_path / "a.pto", tmp_path / "b.pto"
    file.write_text(TWO_RULES)
    other.write_text(TWO_RULES)
    ran = ptokit("check", file, other, "-t", "a5", "--max-errors", 3)
    assert ran.status == 1
    assert ran.err.count(": error: ") == 3
    assert ran.err.splitlines()[-1] == "2 files: 4 errors, 1 of the errors not shown (--max-errors)"
    report = json.loads(ptokit("check", file, other, "-t", "a5", "--max-errors", 3, "--format", "json").out)
    assert len(report["diagnostics"]) == 3
    assert report["summary"] == {"errors": 4, "warnings": 0, "left_out": 1}


def test_warnings_may_count_as_errors(ptokit: Run, tmp_path: Path) -> None:
    file = tmp_path / "k.pto"
    file.write_text(LARGE.replace("return", "return  // ptokit: ignore[EW-04]"))
    assert ptokit("check", file, "-t", "a5").status == 0
    ran = ptokit("check", file, "-t", "a5", "--error-on-warning")
    assert ran.status == 1
    assert ran.err.splitlines()[-1] == f"{file}: 1 warning; warnings count as errors"


# --- annotations -------------------------------------------------------------------------------------------------


def parsed(line: str) -> tuple[str, dict[str, str], str]:
    """A workflow command as the runner reads it."""
    found = re.fullmatch(r"::(\w+) (.*?)::(.*)", line)
    assert found is not None
    properties = dict(part.split("=", 1) for part in found[2].split(","))

    def plain(text: str) -> str:
        for code, character in (("%3A", ":"), ("%2C", ","), ("%0D", "\r"), ("%0A", "\n"), ("%25", "%")):
            text = text.replace(code, character)
        return text

    return found[1], {key: plain(value) for key, value in properties.items()}, plain(found[3])


@given(st.text(max_size=30), st.text("a:,%\n/ ", min_size=1, max_size=10), st.sampled_from(list(Severity)))
def test_annotations_keep_every_letter(message: str, name: str, severity: Severity) -> None:
    found = Diagnostics()
    found.add(Diagnostic("EW-04", severity, message, Location(f"d/{name}x", 3, 7, 4), "mend it", (Note("there"),)))
    (line,) = workflow_lines([{"a5": found}], Path("/root"))
    assert "\n" not in line
    assert "\r" not in line
    word, facts, text = parsed(line)
    assert word == {"error": "error", "warning": "warning", "note": "notice"}[severity]
    assert (facts["line"], facts["col"], facts["endColumn"], facts["title"]) == ("3", "7", "11", "EW-04")
    assert text == f"{message}\nhint: mend it\nnote: there"


def test_annotations_of_files(ptokit: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "k.pto").write_text(TWO_RULES)
    monkeypatch.chdir(tmp_path)
    ran = ptokit("check", tmp_path / "k.pto", "-t", "a2a3", "-t", "a5", "--format", "github")
    assert ran.status == 1
    lines = [parsed(line) for line in ran.out.splitlines()]
    assert [(facts["file"], facts["line"], facts["title"]) for _, facts, _ in lines] == [
        ("k.pto", "3", "TILE-05 on a2a3, a5"),
        ("k.pto", "4", "EW-04 on a2a3, a5"),
    ]
    (line,) = ptokit("check", "none.pto", "-t", "a5", "--format", "github").out.splitlines()
    assert parsed(line)[1] == {"file": "none.pto", "title": "TEXT-FILE"}


# --- settings of a project ---------------------------------------------------------------------------------------


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Writes the section of a project, whose kernel is in a folder below; returns the kernel's file."""
    numbers = iter(range(100))

    def write(section: str) -> Path:
        folder = tmp_path / f"p{next(numbers)}"
        (folder / "kernels").mkdir(parents=True)
        (folder / "pyproject.toml").write_text(f'[project]\nname = "x"\n\n[tool.ptokit]\n{section}\n')
        file = folder / "kernels" / "k.pto"
        file.write_text(TWO_RULES)
        return file

    return write


def test_a_project_says_what_is_reported(ptokit: Run, project: Any) -> None:
    def found(file: Path, *options: str) -> list[tuple[str, str]]:
        report = json.loads(ptokit("check", file, "--format", "json", *options).out)
        return [(d["rule"], d["target"]) for d in report["diagnostics"]]

    both = project('target = ["a2a3", "a5"]\nignore = ["TILE"]')
    assert found(both) == [("EW-04", "a2a3"), ("EW-04", "a5")]
    assert found(both, "-t", "a5") == [("EW-04", "a5")]
    assert found(both, "-t", "a5", "--ignore", "EW") == [("TILE-05", "a5")]
    both.write_text('module attributes {pto.target_arch = "a5"} {\n' + TWO_RULES + "}\n")
    assert found(both) == [("EW-04", "a5")]  # what the file states counts more
    assert found(project('target = "a5"\nmax-errors = 1')) == [("TILE-05", "a5")]
    strict = project('target = "a5"\nerror-on-warning = true')
    strict.write_text(LARGE.replace("return", "return  // ptokit: ignore[EW-04]"))
    assert ptokit("check", strict).status == 1
    assert ptokit("check", project('target = "a5"\nlevel = 3\nselect = ["LV"]')).status == 1


def test_the_nearest_section_counts(ptokit: Run, project: Any) -> None:
    file = project('target = "a5"')
    (file.parent / "pyproject.toml").write_text("[tool.other]\nptokit = 1\n")
    assert ptokit("check", file, "--select", "EW").status == 1
    (file.parent / "pyproject.toml").write_text('[tool.ptokit]\nselect = ["UB"]\n')
    assert ptokit("check", file).status == 2  # no target
    assert ptokit("check", file, "-t", "a5").status == 0


WRONG_SECTIONS = [
    ('targets = "a5"', 5, "[tool.ptokit] has no key 'targets'", "did you mean 'target'?"),
    ('target = "a9"', 5, f"target is one of {', '.join(TARGETS)}, or a list of them, not 'a9'", ""),
    ("target = []", 5, "target is one of", ""),
    ('select = ["EW"]\nlevel = true', 6, "level is 1, 2 or 3, not True", ""),
    ("ignore = [1]", 5, "ignore is a list of rules", ""),
    ("max-errors = 0", 5, "max-errors is a number from 1, not 0", ""),
    ("error_on_warning = true", 5, "has no key 'error_on_warning'", "did you mean 'error-on-warning'?"),
    ('ignore = ["EWE"]', 0, "ignore: no rule begins with 'EWE'", ""),
    ("ignore = [", 0, "the file is no TOML", ""),
]


@pytest.mark.parametrize(("section", "line", "message", "hint"), WRONG_SECTIONS)
def test_a_wrong_section_is_refused(
    ptokit: Run, project: Any, section: str, line: int, message: str, hint: str
) -> None:
    file = project(section)
    place = f"{file.parents[1] / 'pyproject.toml'}" + (f":{line}:1" if line else "")
    for command in (("check", file), ("sanitize", file)):
        ran = ptokit(*command, "-t", "a5")
        assert (ran.status, ran.out) == (1, "")
        assert ran.err.startswith(f"{place}: error: ")
        assert message in ran.err
        assert hint in ran.err
        assert "[CLI-07]" in ran.err


def test_runs_take_the_target_of_the_project(ptokit: Run, project: Any) -> None:
    empty = "func.func @k() {\n  return\n}\n"
    file = project('target = "a5"')
    file.write_text(empty)
    assert ptokit("run", file).out.startswith("k on a5:")
    assert "k on a5" in ptokit("sanitize", file, "--mode", "auto").out
    assert "k on a2a3" in ptokit("run", file, "-t", "a2a3").out
    several = project('target = ["a5", "a2a3"]')
    several.write_text(empty)
    assert [line.split(":")[0] for line in ptokit("run", several).out.splitlines() if line] == ["k on a5", "k on a2a3"]
    several.write_text('module attributes {pto.target_arch = "a5"} {\n' + empty + "}\n")
    assert ptokit("run", several).out.count("k on") == 1  # what the file states counts more


# --- fixes -------------------------------------------------------------------------------------------------------


MISSPELLED = """import ptokit as pto


@pto.kernel(target="a2a3")
def k(x: pto.Ptr[pto.f32]) -> None:
    a = pto.Tile(pto.TileTyp.Vec, pto.f32, 16, 32)
    pto.TLOAD(a, pto.GlobalTensor(x, (16, 32)))


@pto.kernel(target="a2a3")
def g(x: pto.Ptr[pto.f32]) -> None:
    tile = pto.Tile(pto.TileType.Vec, pto.f32, 16, 32)
    pto.TADDD(tile, tile, tile); pto.TEXP(tile, tille)
"""


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_report_of_a_text_writes_what_is_meant(end: str, tmp_path: Path) -> None:
    text = TWO_RULES.replace("pto.texp", "pto.texxp").replace("16x3xf32", "16x3xf23").replace("\n", end)
    right = TWO_RULES.replace("\n", end)
    assert pto.check(text, target="a5").fix(text) == right
    file = tmp_path / "k.pto"
    file.write_bytes(text.encode())
    assert pto.check(str(file), target="a5").fix(text) == right
    assert pto.check(text, target="a5").fix(text, "other.pto") == text


def test_a_report_of_python_writes_what_is_meant(tmp_path: Path) -> None:
    file, text = tmp_path / "k.py", MISSPELLED
    for _ in range(2):  # the first wrong name of a kernel ends it
        file.write_text(text)
        text = pto.check(str(file)).fix(text)
    right = MISSPELLED.replace("TileTyp.", "TileType.").replace("TADDD", "TADD").replace("tille)", "tile)")
    assert text == right
