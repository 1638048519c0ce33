"""Candidates of a space: which are right, and their order."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ptokit as pto
from tests.cli.conftest import Run, ptokit  # noqa: F401

SOURCE = """
import ptokit as pto

@pto.kernel(target="a2a3")
def scaled(x: pto.Ptr[pto.f32], y: pto.Ptr[pto.f32], ROWS: pto.Static, n: int, ordered: pto.Static = True):
    if ROWS == 32:
        raise ValueError("not made for 32")
    for k in range(pto.get_block_idx(), n // ROWS, pto.get_block_num()):
        t = pto.Tile(pto.TileType.Vec, pto.f32, ROWS, 64, addr=0)
        top = k * ROWS
        pto.TLOAD(t, pto.GlobalTensor(x, (n, 64))[top : top + ROWS])
        if ordered:
            pto.pipe_barrier(pto.PIPE_ALL)
        pto.TMULS(t, t, 3.0)
        pto.pipe_barrier(pto.PIPE_ALL)
        pto.TSTORE(pto.GlobalTensor(y, (n, 64))[top : top + ROWS], t)
        pto.pipe_barrier(pto.PIPE_ALL)
"""
"""1024 rows need more than UB, 32 are refused by the kernel itself; without order there is a race."""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "kernels.py"
    path.write_text(SOURCE)
    return path


def arrays() -> list[Any]:
    return [np.ones((128, 64), np.float32), np.zeros((128, 64), np.float32), 128]


SPACE = {"ROWS": [8, 64, 1024], "ordered": [True, False]}
OUT = [
    ((1024, True), "refused", "UB-CAPACITY"),
    ((1024, False), "refused", "UB-CAPACITY"),
    ((8, False), "faulty", "RACE-RAW"),
    ((64, False), "faulty", "RACE-RAW"),
]


def told(found: pto.Tuned) -> list[Any]:
    return [(tuple(c.values.values()), c.status, c.rule) for c in found.candidates]


@pytest.mark.parametrize("where", ["here", "threads"])
def test_what_is_right_is_ranked(file: Path, where: str) -> None:
    args = arrays()
    with ThreadPoolExecutor(2) as pool:
        executor = {"here": None, "threads": pool}[where]
        found = pto.tune(f"{file}:scaled", args, space=SPACE, blocks=2, executor=executor)
    assert told(found) == [((64, True), "ranked", ""), ((8, True), "ranked", ""), *OUT]
    assert found.best is found.candidates[0]
    assert 0 < found.ranked[0].us < found.ranked[1].us
    assert not args[1].any()
    assert "UB has 196608 on a2a3" in str(found)
    assert "ROWS=8, ordered=False and 1 more: " in str(found)
    # the model says the same of the kernel by itself
    (origin,) = pto.api.files.kernels_at(str(file), "scaled")
    assert origin.kernel.time[2](args[0], args[1], 64, 128).us == pytest.approx(found.ranked[0].us)


def test_blocks_are_part_of_a_space_and_a_raise_refuses(file: Path) -> None:
    (origin,) = pto.api.files.kernels_at(str(file), "scaled")
    found = origin.kernel.tune(*arrays(), space={"ROWS": [8, 32], "blocks": [1, 16]}, measure="warm")
    assert told(found)[:2] == [((8, 16), "ranked", ""), ((8, 1), "ranked", "")]
    assert [c.status for c in found.candidates[2:]] == ["refused", "refused"]
    assert "not made for 32" in found.candidates[2].why
    assert found.as_json()["best"] == {"ROWS": 8, "blocks": 16}
    assert found.measure == "warm"


def test_without_the_sanitizer_races_are_ranked(file: Path) -> None:
    found = pto.tune(f"{file}:scaled", arrays(), space={"ROWS": [64], "ordered": [False]}, sanitize=False)
    assert found
    assert found.best is not None


@pytest.mark.parametrize(
    ("space", "why"),
    [
        ({"COLS": [1]}, "scaled has no parameter COLS; of pto.Static it has ROWS, ordered"),
        ({"n": [1]}, "n of scaled is no pto.Static parameter"),
        ({"ROWS": []}, "ROWS has no values"),
        ({}, "a space names parameters"),
        ({"ROWS": [8], "blocks": [0]}, "blocks are numbers from 1"),
        ({"ROWS": range(5000)}, "5000 candidates are more than 4096"),
    ],
)
def test_spaces_that_the_kernel_does_not_have(file: Path, space: Any, why: str) -> None:
    with pytest.raises(pto.UsageError, match=why):
        pto.tune(f"{file}:scaled", arrays(), space=space)


def test_arguments_that_no_candidate_can_use(file: Path) -> None:
    with pytest.raises(pto.DiagnosticError, match="kernel scaled lacks y and n") as caught:
        pto.tune(f"{file}:scaled", arrays()[:1], space={"ROWS": [8]})
    assert caught.value.diagnostics[0].location.file == str(file)
    with pytest.raises(pto.DiagnosticError, match="RUN-ARG-DTYPE"):
        pto.tune(f"{file}:scaled", [np.ones(8), *arrays()[1:]], space={"ROWS": [8]})
    with pytest.raises(pto.UsageError, match="4 parameters that are not in the space, 5 are given"):
        pto.tune(f"{file}:scaled", [*arrays(), 1, 2], space={"ROWS": [8]})
    with pytest.raises(pto.UsageError, match="'size' is not one of time, warm"):
        pto.tune(f"{file}:scaled", arrays(), space={"ROWS": [8]}, measure="size")
    with pytest.raises(pto.UsageError, match="only kernels in Python"):
        pto.tune("func.func @f() { return }\n", [], space={"ROWS": [8]})


def test_the_command(ptokit: Run, file: Path) -> None:  # noqa: F811
    args = ("-a", "ones:f32:128x64", "-a", "zeros:f32:128x64", "-a", 128, "--blocks", 8)
    ran = ptokit("tune", f"{file}:scaled", "--space", "ROWS=8,64,1024", "--space", "ordered=true", *args)
    assert ran.status == 0
    assert ran.out.splitlines()[0] == "scaled on a2a3, 910B1: 3 candidates, 2 of them right"
    assert ran.out.splitlines()[2].split()[:2] == ["64", "True"]
    ran = ptokit("tune", f"{file}:scaled", "--space", "ROWS=1024", *args, "--format", "json")
    assert ran.status == 1
    assert json.loads(ran.out)["candidates"][0]["rule"] == "UB-CAPACITY"
    assert ptokit("tune", f"{file}:scaled", "--space", "ROWS", *args).status == 2
