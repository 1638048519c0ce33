"""ptokit time: what is printed, JSON, traces, two versions, exit statuses."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import ptokit as pto

from .conftest import KERNELS, Run

CASES = Path(__file__).parents[1] / "data" / "sync-cases"
GEMM = Path(__file__).parents[2] / "examples" / "python" / "gemm_double_buffered.py"
SIZES = (
    "-a",
    "zeros:f16:256x256",
    "-a",
    "zeros:f16:256x256",
    "-a",
    "zeros:f32:256x256",
    "-a",
    256,
    "-a",
    256,
    "-a",
    256,
)
LOOP = ("-a", "ones:f32:2048", "-a", "uninit:f32:2048")


def test_the_report_names_part_limit_and_places(ptokit: Run) -> None:
    ran = ptokit("time", f"{GEMM}:gemm", "--blocks", 4, *SIZES)
    assert (ran.status, ran.err) == (0, "")
    first, second, *rest = ran.out.splitlines()
    assert (
        first == "gemm: 4 blocks on 910B1 (24 cores, 1.85 GHz, the part that is taken for a2a3 where --part names none)"
    )
    assert " cycles, " in second
    assert any(line.startswith("- TLOAD in line 40 moves 8192 bytes at a time and reaches") for line in rest)


def test_json_and_another_part(ptokit: Run) -> None:
    ran = ptokit("time", f"{GEMM}:gemm", "--blocks", 4, "--part", "910B4", "--format", "json", *SIZES)
    report = json.loads(ran.out)
    assert (report["part"], report["target"], report["blocks"], report["complete"]) == ("910B4", "a2a3", 4, True)
    counts = {(p["name"], p["line"]): p["count"] for p in report["places"]}
    assert counts["TLOAD", 40] == 4 * 4 * 4
    assert counts["TMATMUL", 51] + counts["TMATMUL_ACC", 53] == counts["TLOAD", 40]
    assert report["flops"] == 2 * 256**3
    path = report["critical_path"]
    assert sum(entry["cycles"] for entry in path) <= report["cycles"]
    assert path[0]["pipe"] == "MTE2"


def test_one_product_takes_the_sum_of_its_parts(ptokit: Run) -> None:
    """One load, one move: 264 + 8192/110 cycles, then 45 + 8192/256; the launch comes on top."""
    report = json.loads(ptokit("time", f"{GEMM}:gemm", "--format", "json", *SIZES).out)
    costs = {(p["name"], p["line"]): p["cycles"] / p["count"] for p in report["places"]}
    assert costs["TMOV", 45] == pytest.approx(45 + 8192 / 256)
    assert costs["TMATMUL", 51] == pytest.approx(14 + 4 * 4 * 4)


def test_a_trace_has_a_thread_for_each_pipe(ptokit: Run, tmp_path: Path) -> None:
    trace = tmp_path / "gemm.json"
    ran = ptokit("time", f"{GEMM}:gemm", "--blocks", 2, "--trace", trace, *SIZES)
    assert ran.err == f"trace written to {trace}\n"
    events = json.loads(trace.read_text())["traceEvents"]
    names = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    assert set(names.values()) == {"MTE2", "MTE1", "M", "FIX"}
    ends: dict[tuple[int, int], float] = {}
    for event in events:
        if event["ph"] == "X":  # in order, and one after the other
            lane = event["pid"], event["tid"]
            assert event["ts"] >= ends.get(lane, 0.0) - 1e-3
            ends[lane] = event["ts"] + event["dur"]
    assert ends.keys() == names.keys()
    assert ptokit("time", f"{GEMM}:gemm", "--trace", tmp_path / "no" / "x.json", *SIZES).status == 1


def test_two_versions_side_by_side(ptokit: Run) -> None:
    one, two = CASES / "04_loop_reload_primed.pto", CASES / "03_loop_reload_war.pto"
    ran = ptokit("time", one, two, "-t", "a2a3", *LOOP)
    assert ran.status == 0
    assert " µs -> " in ran.out.splitlines()[0]


def test_what_cannot_be_timed_is_told(ptokit: Run) -> None:
    ran = ptokit("time", KERNELS / "vec_add.pto", "-t", "cpu", "-a", "zeros:f32:64x64")
    assert ran.status in (1, 2)
    ran = ptokit("time", f"{GEMM}:gemm", "--part", "950PR_9599", *SIZES)
    assert ran.status == 2
    assert "'950PR_9599' is no part of a2a3: 910B1, 910B2, 910B3, 910B4." in " ".join(ran.err.split())


def test_a_number_from_a_tile_has_values_computed() -> None:
    @pto.kernel(target="a5")
    def chosen(x: pto.Ptr[pto.i32]):
        t = pto.Tile(pto.TileType.Vec, pto.i32, 1, 64)
        pto.TLOAD(t, pto.GlobalTensor(x, (1, 64)))
        for _ in range(pto.TGETVAL(t, 0)):
            pto.TADDS(t, t, 1)

    x = np.full((1, 64), 5, np.int32)
    timing = chosen.time[1](x, part="950DT_958x")
    assert (x == 5).all()
    assert "on-chip memory" in timing.values or "only the run knows" in timing.values
    assert next(p.count for p in timing.places if p.name == "TADDS") == 5
    assert timing.part.name == "950DT_958x"
    with pytest.raises(pto.DiagnosticError, match="is no part of a5"):
        chosen.time(x, part="910B1")


def test_ranks_and_kernels_in_cpp_are_timed(ptokit: Run) -> None:
    box = ("-a", "zeros:f32:4x4x512", "-a", "peer:box:+1", "-a", "zeros:i32:4x4x2", "-a", "peer:arrived:+1")
    launch = ("-t", "a2a3", "--ranks", 4, "--blocks", 2)
    ran = ptokit("time", KERNELS / "ring_all_reduce.pto", *launch, *box, "-a", "zeros:f32:4x512", "-a", "ranks")
    assert ran.status == 0
    assert "on 8 cores" in ran.out
    assert "1.04 µs, which is assumed" in ran.out
    assert "not followed" not in ran.out
    assert "comm.tput in line 43: 24 times" in ran.out
    source = Path(__file__).parents[2] / "examples" / "cpp" / "add_rows.cpp"
    ran = ptokit(
        "time", source, "-t", "a2a3", "--entry", "add_rows<float, 64>", *("-a", "zeros:f32:128x64") * 3, "-a", 8
    )
    assert (ran.status, ran.out.count("TADD")) == (0, 1)
