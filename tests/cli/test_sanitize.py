"""ptokit sanitize, and run --sanitize: what is printed, exit statuses, arguments that start uninitialised."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .conftest import KERNELS, Run

CASES = Path(__file__).parents[1] / "data" / "sync-cases"
RACY, CLEAN = CASES / "03_loop_reload_war.pto", CASES / "04_loop_reload_primed.pto"
ARGS = ("-a", "ones:f32:2048", "-a", "uninit:f32:2048")


def test_a_race_is_told_with_its_fix(ptokit: Run) -> None:
    ran = ptokit("sanitize", RACY, "-t", "a2a3", *ARGS)
    assert ran.status == 1
    assert f"{RACY}:21:7: error: TLOAD on PIPE_MTE2 writes %a while TADDS on PIPE_V may still be reading %a" in ran.err
    assert "[RACE-WAR]" in ran.err
    assert "hint: insert set_flag(PIPE_V, PIPE_MTE2, EVENT_ID0) after line 25 and wait_flag(" in ran.err
    assert f"{RACY}:25:7: note: TADDS reads %a here (%i = 0)" in ran.err
    assert "note: at block 0, %i = 1; in 3 iterations" in ran.err
    assert ran.out.startswith("loop_reload_war on a2a3, 1 block, strict order: 12 instructions in ")
    assert ran.out.endswith("1 error\n")


def test_a_clean_program(ptokit: Run) -> None:
    ran = ptokit("sanitize", CLEAN, "-t", "a5", *ARGS)
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.endswith("no findings\n")


def test_json_has_the_schema_of_check(ptokit: Run) -> None:
    ran = ptokit("sanitize", RACY, "-t", "a5", *ARGS, "--format", "json")
    report = json.loads(ran.out)
    assert (ran.status, ran.err) == (1, "")
    assert report["summary"] == {"errors": 1, "warnings": 0}
    assert report["launch"] == {"kernel": "loop_reload_war", "target": "a5", "blocks": 1, "order": "strict"}
    (finding,) = report["diagnostics"]
    assert (finding["rule"], finding["line"], finding["notes"][0]["line"]) == ("RACE-WAR", 21, 25)


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


@pytest.mark.parametrize("wrong", [("-a", "uninit:f32"), ("--order", "loose"), ("-t", "a6")])
def test_wrong_usage(ptokit: Run, wrong: tuple[str, str]) -> None:
    assert ptokit("sanitize", RACY, "-t", "a5", *ARGS, *wrong).status == 2


def test_wrong_arguments(ptokit: Run) -> None:
    ran = ptokit("sanitize", RACY, "-t", "a5", "-a", "ones:f32:2048")
    assert (ran.status, ran.out) == (1, "")
    assert "[RUN-ARG-COUNT]" in ran.err


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
    ran = ptokit("sanitize", KERNELS / "vec_add.pto", "-t", "a5", *args, "-a", 4096)
    assert (ran.status, ran.err) == (0, "")
