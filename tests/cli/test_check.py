"""ptokit check: all findings, text and JSON, exit status."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ptokit.targets import TARGETS

from .conftest import KERNELS, Run

FAULTY = KERNELS / "faulty.pto"


def test_a_clean_file(ptokit: Run) -> None:
    ran = ptokit("check", KERNELS / "softmax.pto", "--target", "a2a3")
    assert (ran.status, ran.err) == (0, "")
    assert ran.out == f"{KERNELS / 'softmax.pto'}: no findings for a2a3, level 2\n"


def test_all_errors_are_reported_with_lines_and_carets(ptokit: Run) -> None:
    ran = ptokit("check", FAULTY, "--target", "a2a3")
    assert (ran.status, ran.out) == (1, "")
    heads = [line for line in ran.err.splitlines() if ": error: " in line]
    assert len(heads) == 2
    source = FAULTY.read_text().splitlines()
    for head in heads:
        assert head.startswith(f"{FAULTY}:")
        line = int(head.removeprefix(f"{FAULTY}:").split(":")[0])
        quoted = ran.err.splitlines()[ran.err.splitlines().index(head) + 1]
        assert quoted.startswith(f"{line:5d} | ")
        assert quoted.split(" | ", 1)[1].strip("…")[:40] in source[line - 1]
    assert ran.err.splitlines()[-1] == f"{FAULTY}: {len(heads)} errors"


def test_the_last_line_says_what_the_assembler_accepts(ptokit: Run, tmp_path: Path) -> None:
    file = tmp_path / "k.pto"
    text = "func.func @f(%%v: %s) { %%t = pto.alloc_tile : %s pto.tload ins(%%v : %s) outs(%%t : %s) return }"
    view, tile = "!pto.partition_tensor_view<1x16xf32>", "!pto.tile_buf<scaling, 1x16xf32>"
    file.write_text(text % (view, tile, view, tile))  # loads go to UB and L1
    assert ptokit("check", file, "-t", "a5", "--rules", "assembler").status == 0
    ran = ptokit("check", file, "-t", "a5")
    assert ran.status == 1
    assert ran.err.splitlines()[-1] == f"{file}: 1 error; the assembler accepts the file (--rules assembler)"
    wide = view.replace("f32", "f16")
    file.write_text(text % (wide, tile, wide, tile))
    assert ptokit("check", file, "-t", "a5").err.splitlines()[-1] == f"{file}: 2 errors"
    file.write_text("func.func @f(")  # of no target, and nobody can read it
    assert ptokit("check", file).err.splitlines()[-1] == f"{file}: 1 error"


def test_json_has_the_same_findings_in_a_stable_form(ptokit: Run) -> None:
    text = ptokit("check", FAULTY, "-t", "a2a3").err
    ran = ptokit("check", FAULTY, "-t", "a2a3", "--format", "json")
    assert (ran.status, ran.err) == (1, "")
    report = json.loads(ran.out)
    assert list(report) == ["version", "diagnostics", "summary"]
    assert report["summary"] == {"errors": len(report["diagnostics"]), "warnings": 0, "left_out": 0}
    for found in report["diagnostics"]:
        keys = ["rule", "severity", "message", "file", "line", "column", "end_column", "hint", "notes", "target"]
        assert list(found) == keys
        assert found["target"] == "a2a3"
        assert found["column"] < found["end_column"] <= len(FAULTY.read_text().splitlines()[found["line"] - 1]) + 1
        head = "{file}:{line}:{column}: {severity}: {message} [{rule}]".format(**found)
        assert head in text
        for note in found["notes"]:
            assert list(note) == ["message", "file", "line", "column", "end_column"]


def test_json_of_a_clean_file(ptokit: Run) -> None:
    ran = ptokit("check", KERNELS / "gemm.pto", "-t", "a5", "--format", "json")
    assert ran.status == 0
    assert json.loads(ran.out) == {
        "version": 1,
        "diagnostics": [],
        "summary": {"errors": 0, "warnings": 0, "left_out": 0},
    }


def test_the_target_decides(ptokit: Run, tmp_path: Path) -> None:
    file = tmp_path / "big.pto"
    file.write_text("func.func @f() { %t = pto.alloc_tile : !pto.tile_buf<vec, 200x256xf32> return }")
    assert ptokit("check", file, "-t", "a5").status == 0
    ran = ptokit("check", file, "-t", "a2a3")
    assert ran.status == 1
    assert "196608" in ran.err


def test_without_any_target_usage_is_wrong(ptokit: Run) -> None:
    ran = ptokit("check", FAULTY)
    assert ran.status == 2
    assert ", ".join(TARGETS) in ran.err


PLACED = "func.func @f() { %a = arith.constant 0 : i64 %t = pto.alloc_tile addr = %a : T return }"
SSA = "func.func @f(%a: T) { %b = pto.tadd %a, %a : (T, T) -> T return }"


@pytest.mark.parametrize(("text", "level"), [(PLACED, 3), (SSA, 1), (PLACED.replace("addr = %a ", ""), 2)])
def test_the_text_says_its_level(ptokit: Run, tmp_path: Path, text: str, level: int) -> None:
    file = tmp_path / "k.pto"
    file.write_text(text.replace("T", "!pto.tile_buf<vec, 16x16xf32>"))
    assert ptokit("check", file, "-t", "a5").out == f"{file}: no findings for a5, level {level}\n"
    asked = 2 if level == 3 else 3
    for rules, severity in (("all", "warning" if level == 3 else "error"), ("assembler", "error")):
        ran = ptokit("check", file, "-t", "a5", "--level", asked, "--rules", rules, "--format", "json")
        (found,) = json.loads(ran.out)["diagnostics"]
        assert (found["rule"], found["line"], found["severity"]) == ("LV-1", 1, severity)
        assert ran.status == (severity == "error")


def test_there_are_three_levels(ptokit: Run) -> None:
    assert ptokit("check", FAULTY, "-t", "a5", "--level", "4").status == 2


def test_the_assemblers_verdict(ptokit: Run, tmp_path: Path) -> None:
    """A load to the fix-pipe buffer: legal text for the assembler, not for the target."""
    file = tmp_path / "k.pto"
    tile, view = "!pto.tile_buf<scaling, 1x16xf32>", "!pto.partition_tensor_view<1x16xf32>"
    load = f"pto.tload ins(%v : {view}) outs(%t : {tile})"
    file.write_text(f"func.func @f(%v: {view}) {{ %t = pto.alloc_tile : {tile} {load} return }}")
    assert ptokit("check", file, "-t", "a5").status == 1
    ran = ptokit("check", file, "-t", "a5", "--rules", "assembler")
    assert (ran.status, ran.err) == (0, "")
    file.write_text(file.read_text().replace("view<1x16xf32", "view<1x16xf16"))
    ran = ptokit("check", file, "-t", "a5", "--rules", "assembler", "--format", "json")
    assert [found["rule"] for found in json.loads(ran.out)["diagnostics"]] == ["LD-7"]


def test_functions_that_can_be_read_are_checked_beside_others_that_cannot(ptokit: Run, tmp_path: Path) -> None:
    file = tmp_path / "k.pto"
    wrong = "%t = pto.alloc_tile : !pto.tile_buf<vec, 16x3xf32>"
    file.write_text(f"func.func @f() {{ {wrong} pto.tadq return }}\nfunc.func @g() {{ {wrong} return }}\n")
    ran = ptokit("check", file, "-t", "a5", "--format", "json")
    found = [(d["rule"], d["line"]) for d in json.loads(ran.out)["diagnostics"]]
    assert found == [("TEXT-UNKNOWN-OP", 1), ("TILE-05", 2)]
    file.write_text("!t = !pto.nothing\n" + file.read_text().replace(" pto.tadq", ""))
    ran = ptokit("check", file, "-t", "a5", "--format", "json")
    assert [d["line"] for d in json.loads(ran.out)["diagnostics"]] == [1]
