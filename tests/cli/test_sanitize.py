"""ptokit sanitize, and run --sanitize: what is printed, exit statuses, arguments that start uninitialised."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ptokit.types.choices import Mode

from .conftest import KERNELS, Run

CASES = Path(__file__).parents[1] / "data" / "sync-cases"
RACY, CLEAN = CASES / "03_loop_reload_war.pto", CASES / "04_loop_reload_primed.pto"
EXAMPLES = Path(__file__).parents[2] / "examples" / "python"
ARGS = ("-a", "ones:f32:2048", "-a", "uninit:f32:2048")


def test_a_race_is_told_with_its_fix(ptokit: Run) -> None:
    ran = ptokit("sanitize", RACY, "-t", "a2a3", *ARGS)
    assert ran.status == 1
    assert f"{RACY}:21:7: error: TLOAD on PIPE_MTE2 writes %a while TADDS on PIPE_V may still be reading %a" in ran.err
    assert "[RACE-WAR]" in ran.err
    assert "hint: insert pto.set_flag[<PIPE_V>, <PIPE_MTE2>, <EVENT_ID0>] after line 25 and pto.wait_flag[" in ran.err
    assert f"{RACY}:25:7: note: TADDS reads %a here (%i = 0)" in ran.err
    assert "note: at block 0, %i = 1; in 3 iterations" in ran.err
    assert ran.out.startswith("loop_reload_war on a2a3, 1 block, strict order: 12 instructions in ")
    assert ran.out.endswith("1 error\n")


def test_a_clean_program(ptokit: Run) -> None:
    ran = ptokit("sanitize", CLEAN, "-t", "a5", *ARGS)
    said = "constants alone decide what it does to memory: this holds for all arguments\n"
    assert (ran.status, ran.err) == (0, said)
    assert ran.out.endswith("no findings\n")


def test_json_has_the_schema_of_check(ptokit: Run) -> None:
    ran = ptokit("sanitize", RACY, "-t", "a5", *ARGS, "--format", "json")
    report = json.loads(ran.out)
    assert (ran.status, ran.err) == (1, "")
    assert report["summary"] == {"errors": 1, "warnings": 0, "left_out": 0}
    assert report["launch"] == {"kernel": "loop_reload_war", "target": "a5", "blocks": 1, "order": "strict"}
    (finding,) = report["diagnostics"]
    assert (finding["rule"], finding["line"], finding["notes"][0]["line"]) == ("RACE-WAR", 21, 25)
    race = finding["race"]
    first, second = race["accesses"]
    assert (first["instruction"], first["pipe"], first["line"], first["access"]) == ("TADDS", "PIPE_V", 25, "read")
    assert (second["instruction"], second["pipe"], second["line"]) == ("TLOAD", "PIPE_MTE2", 21)
    assert (first["loops"], second["loops"]) == ([{"name": "i", "value": 0}], [{"name": "i", "value": 1}])
    assert (second["rows"], second["columns"], second["operand"]) == ([0, 16], [0, 32], "a")
    assert (race["space"], race["bytes"], race["ranges"]) == ("UB", 2048, [[0, 2048]])
    assert (race["last_sync"], race["times"], race["iterations"], race["blocks"]) == (None, 3, 3, [0])


def test_the_fix_in_json_and_sarif_mends_it(ptokit: Run, tmp_path: Path) -> None:
    """Both list the same lines, and with these the program is clean."""
    ran = ptokit("sanitize", RACY, "-t", "a5", *ARGS, "--format", "json")
    insert = json.loads(ran.out)["diagnostics"][0]["race"]["fix"]["insert"]
    sarif = json.loads(ptokit("sanitize", RACY, "-t", "a5", *ARGS, "--format", "sarif").out)
    (change,) = sarif["runs"][0]["results"][0]["fixes"][0]["artifactChanges"]
    parts = [(r["deletedRegion"]["startLine"], r["insertedContent"]["text"]) for r in change["replacements"]]
    assert parts == [(entry["before"], entry["text"] + "\n") for entry in insert]
    lines = RACY.read_text().splitlines(keepends=True)
    for line, text in reversed(parts):
        lines.insert(line - 1, text)
    mended = tmp_path / "mended.pto"
    mended.write_text("".join(lines))
    assert ptokit("sanitize", mended, "-t", "a5", *ARGS).status == 0


def test_a_deadlock_names_the_pipes_that_wait_for_each_other(ptokit: Run, tmp_path: Path) -> None:
    file = tmp_path / "k.pto"
    flag = "pto.{}_flag[<PIPE_{}>, <PIPE_{}>, <EVENT_ID0>]\n"
    order = [("wait", "MTE3", "V"), ("set", "V", "MTE3"), ("wait", "V", "MTE3"), ("set", "MTE3", "V")]
    file.write_text("func.func @k() {\n" + "".join(flag.format(*words) for words in order) + "return\n}\n")
    ran = ptokit("sanitize", file, "-t", "a5")
    assert ran.status == 1
    assert (
        f"{file}:2:1: error: deadlock: PIPE_V waits for flag (PIPE_MTE3, PIPE_V, EVENT_ID0), whose set in line 5 "
        "is queued after what PIPE_MTE3 waits for [DEADLOCK]"
    ) in ran.err
    assert f"{file}:4:1: note: PIPE_MTE3 waits for flag (PIPE_V, PIPE_MTE3, EVENT_ID0), whose set in line 3" in ran.err
    assert "note: the cycle: PIPE_V → PIPE_MTE3 → PIPE_V" in ran.err


def test_a_deadlock_without_a_set(ptokit: Run, tmp_path: Path) -> None:
    file = tmp_path / "k.pto"
    file.write_text("func.func @k() {\npto.wait_flag[<PIPE_V>, <PIPE_MTE3>, <EVENT_ID0>]\nreturn\n}\n")
    ran = ptokit("sanitize", file, "-t", "a5")
    assert "deadlock: PIPE_MTE3 waits for flag (PIPE_V, PIPE_MTE3, EVENT_ID0), and no set of it exists" in ran.err
    assert "the cycle" not in ran.err
    assert "hint: remove the wait_flag in line 2\n" in ran.err


def test_a_witness_shows_values(ptokit: Run) -> None:
    args = ("-t", "a2a3", "-a", "arange:f32:512", "-a", "uninit:f32:512")
    ran = ptokit("sanitize", CASES / "01_load_compute_nosync.pto", *args, "--witness", "--seed", 4)
    assert ran.status == 1
    assert "note: witness: let TLOAD in line " in ran.err
    assert " as late as it may, and 512 of 512 elements of %y change: %y[0] = nan instead of " in ran.err
    assert ran.out.splitlines()[1].startswith("order 4, and ")
    report = json.loads(
        ptokit(
            "sanitize", CASES / "01_load_compute_nosync.pto", *args, "--witness", "--seed", 4, "--format", "json"
        ).out
    )
    (finding,) = (d for d in report["diagnostics"] if "race" in d)
    assert finding["race"]["witness"]["counts"] == {"y": {"changed": 512, "size": 512}}
    assert finding["race"]["witness"]["changes"][0]["other"] == "nan"
    assert report["shuffled"]["order"] == "order 4"
    clean = ptokit("sanitize", CASES / "02_load_compute_sync.pto", *args, "--seed", 4)
    assert (clean.status, clean.out.splitlines()[1]) == (0, "order 4, and no value changes with these arguments")


@pytest.mark.parametrize(("order", "status", "rules"), [("strict", 0, []), ("profile", 0, ["RACE-INTRAPIPE"])])
def test_order(ptokit: Run, order: str, status: int, rules: list[str]) -> None:
    file = CASES / "34_vector_chain_profile.pto"
    args = ("-a", "ones:f32:512", "-a", "uninit:f32:512", "--order", order, "--format", "json")
    ran = ptokit("sanitize", file, "-t", "a2a3", *args)
    assert ran.status == status  # a warning is no error
    assert sorted({d["rule"] for d in json.loads(ran.out)["diagnostics"]}) == rules


def test_blocks(ptokit: Run) -> None:
    args = ("-t", "a5", "-a", "ones:f32:1536", "-a", "zeros:f32:1536", "--format", "json")
    alone = ptokit("sanitize", CASES / "24_blocks_store_plain.pto", *args)
    three = ptokit("sanitize", CASES / "24_blocks_store_plain.pto", *args, "--blocks", 3)
    assert (alone.status, three.status) == (0, 1)
    assert json.loads(three.out)["launch"]["blocks"] == 3


def test_static_errors_end_it_before_the_run(ptokit: Run) -> None:
    ran = ptokit("sanitize", CASES / "21_tile_fills_a5.pto", "-t", "a2a3", "-a", "ones:f32:65536")
    assert (ran.status, ran.out) == (1, "")
    assert "[UB-CAPACITY]" in ran.err


def test_text_errors(ptokit: Run, tmp_path: Path) -> None:
    broken = tmp_path / "broken.pto"
    broken.write_text("func.func @k() { pto.nothing }")
    ran = ptokit("sanitize", broken, "-t", "a2a3")
    assert (ran.status, ran.out) == (1, "")
    assert "[TEXT-UNKNOWN-OP]" in ran.err


@pytest.mark.parametrize("wrong", [("-a", "uninit:f32"), ("--order", "loose"), ("-t", "a9")])
def test_wrong_usage(ptokit: Run, wrong: tuple[str, str]) -> None:
    assert ptokit("sanitize", RACY, "-t", "a5", *ARGS, *wrong).status == 2


def test_wrong_arguments(ptokit: Run) -> None:
    ran = ptokit("sanitize", RACY, "-t", "a5", "-a", "ones:f32:2048")
    assert (ran.status, ran.out) == (1, "")
    assert "[RUN-ARG-COUNT]" in ran.err


def test_arguments_are_made_from_the_text(ptokit: Run) -> None:
    ran = ptokit("sanitize", RACY, "-t", "a2a3")
    assert ran.status == 1
    assert "error: TLOAD on PIPE_MTE2 writes %a while TADDS" in ran.err
    assert "arguments made from the text: -a random:f32:2048:seed=0 -a zeros:f32:2048\n" in ran.err
    report = json.loads(ptokit("sanitize", RACY, "-t", "a2a3", "--format", "json").out)
    assert report["launch"]["arguments"] == ["random:f32:2048:seed=0", "zeros:f32:2048"]
    given = json.loads(ptokit("sanitize", RACY, "-t", "a2a3", *ARGS, "--format", "json").out)
    assert "arguments" not in given["launch"]


@pytest.mark.parametrize("kernel", ["softmax", "gemm_double_buffered", "saxpy_registers", "rms_norm"])
def test_kernels_in_python_get_arguments_from_their_text(ptokit: Run, kernel: str) -> None:
    ran = ptokit("sanitize", EXAMPLES / f"{kernel}.py")
    assert (ran.status, ran.out.count("no findings")) == (3 if "NOT CHECKED" in ran.out else 0, 1)
    assert "arguments made from the text: -a " in ran.err


def test_no_arguments_are_made_where_others_decide(ptokit: Run) -> None:
    ran = ptokit("sanitize", EXAMPLES / "ring_all_gather.py")
    assert (ran.status, ran.out) == (2, "")
    assert "ring_all_gather notifies or waits for others" in ran.err


def test_run_refuses_races_first(ptokit: Run, tmp_path: Path) -> None:
    out = tmp_path / "out"
    ran = ptokit("run", RACY, "-t", "a2a3", *ARGS, "--sanitize", "--out", out)
    assert (ran.status, ran.out) == (1, "")
    assert "[RACE-WAR]" in ran.err
    assert not list(out.glob("*")) if out.exists() else True
    clean = ptokit("run", CLEAN, "-t", "a2a3", *ARGS, "--sanitize", "--out", out)
    assert clean.status == 0
    assert sorted(p.name for p in out.iterdir()) == ["x.npy", "y.npy"]


def test_examples_are_clean(ptokit: Run) -> None:
    args = ("-a", "random:f32:64x64", "-a", "random:f32:64x64", "-a", "uninit:f32:64x64")
    ran = ptokit("sanitize", KERNELS / "vec_add.pto", "-t", "a5", *args, "-a", 4096, "--mode", "auto")
    assert (ran.status, ran.err) == (0, "")


UNCHECKED = ("sanitize", KERNELS / "vec_add.pto", "-t", "a5", *("-a", "ones:f32:4096") * 2, "-a", "uninit:f32:4096")


def test_what_nobody_checked_is_not_clean(ptokit: Run) -> None:
    """The text has no addresses and no flags: the order of pipes is the compiler's."""
    ran = ptokit(*UNCHECKED, "-a", 4096)
    assert ran.status == 3
    last = ran.out.splitlines()[-1]
    assert ", checked order of blocks, data and bounds: no findings; order of pipes NOT CHECKED: " in last
    assert "--mode auto accepts that" in ran.err
    for accepted in (("--mode", "auto"), ("--explain-sync",)):
        ran = ptokit(*UNCHECKED, "-a", 4096, *accepted)
        assert (ran.status, ran.err) == (0, "")
        assert "no findings; order of pipes left alone: " in ran.out.splitlines()[0]
    ran = ptokit(*UNCHECKED[:3], "cpu", *UNCHECKED[4:], "-a", 4096)
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.endswith("checked order of pipes, order of cores, flags, data and bounds: no findings\n")


def test_reports_for_programs_say_what_was_checked(ptokit: Run) -> None:
    ran = ptokit(*UNCHECKED, "-a", 4096, "--format", "json")
    (gap,) = json.loads(ran.out)["coverage"]["unchecked"]
    assert (ran.status, gap["what"], gap["accepted"]) == (3, "order of pipes", False)
    assert json.loads(ran.out)["coverage"]["checked"] == ["order of blocks", "data", "bounds"]
    ran = ptokit(*UNCHECKED, "-a", 4096, "--format", "sarif")
    assert ran.status == 3
    assert json.loads(ran.out)["runs"][0]["properties"]["coverage"]["complete"] is False
    ran = ptokit("sanitize", CLEAN, "-t", "a5", *ARGS, "--format", "json")
    assert json.loads(ran.out)["coverage"]["unchecked"] == []
    ran = ptokit("sanitize", CASES / "21_tile_fills_a5.pto", "-t", "a2a3", "-a", "ones:f32:65536", "--format", "json")
    assert (ran.status, json.loads(ran.out)["coverage"]["complete"]) == (1, False)


def test_errors_come_before_what_was_not_checked(ptokit: Run) -> None:
    args = ("-a", "uninit:f32:4096", *UNCHECKED[6:])
    ran = ptokit(*UNCHECKED[:4], *args, "-a", 4096)
    assert ran.status == 1
    assert ": 1 error; order of pipes NOT CHECKED: " in ran.out.splitlines()[-1]


def test_a_page(ptokit: Run, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    ran = ptokit("sanitize", RACY, "-t", "a2a3", *ARGS, "--html", page)
    assert ran.status == 1
    assert f"page written to {page}" in ran.err
    text = page.read_text(encoding="utf-8")
    assert text.startswith("<!DOCTYPE html>")
    assert "RACE-WAR" in text
    assert ptokit("sanitize", CLEAN, "-t", "a2a3", *ARGS, "--html", page).status == 0
    assert "no findings" in page.read_text(encoding="utf-8")


def test_a_page_that_cannot_be_written(ptokit: Run, tmp_path: Path) -> None:
    for where in (tmp_path, tmp_path / "none" / "report.html"):
        ran = ptokit("sanitize", RACY, "-t", "a2a3", *ARGS, "--html", where)
        assert (ran.status, ran.out) == (1, "")
        assert "cannot write the page" in ran.err
        assert "[CLI-04]" in ran.err


@pytest.mark.parametrize("mode", Mode)
def test_every_mode_of_the_library_is_one_of_the_command(ptokit: Run, mode: Mode) -> None:
    ran = ptokit("sanitize", CLEAN, "-t", "a2a3", *ARGS, "--mode", mode.value)
    assert (ran.status, ran.err) == (0, "") or "[AUTO-RULE]" in ran.err
