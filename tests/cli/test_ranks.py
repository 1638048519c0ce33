"""``--ranks``: arguments, results and reports of launches on several devices."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import ptokit as library

from .conftest import KERNELS, Run

RING = KERNELS / "ring_all_reduce.pto"
OTHERS = ("-a", "peer:box:+1", "-a", "zeros:i32:2x2x1", "-a", "peer:arrived:+1")
ON = ("-t", "a2a3", "--ranks", "2")


def test_arrays_have_a_leading_axis(ptokit: Run, tmp_path: Path) -> None:
    out = tmp_path / "out"
    args = ("-a", "arange:f32:2x2x256", *OTHERS, "-a", "zeros:f32:2x256", "-a", "ranks", "--out", out)
    ran = ptokit("run", RING, *ON, *args)
    assert ran.status == 0, ran.err
    assert "ring_all_reduce on a2a3: 2 ranks of 1 block in " in ran.out
    rows = np.arange(2 * 2 * 256, dtype=np.float32).reshape(2, 2, 256)[:, 0]
    assert (np.load(out / "y.npy") == rows.sum(axis=0)).all()
    assert sorted(path.name for path in out.iterdir()) == ["arrived.npy", "box.npy", "y.npy"]


def test_a_file_for_each_rank(ptokit: Run, tmp_path: Path) -> None:
    for rank in range(2):
        (tmp_path / f"in{rank}").mkdir()
        np.save(tmp_path / f"in{rank}" / "box.npy", np.full((2, 256), rank + 1, np.float32))
    out = tmp_path / "out"
    args = ("-a", tmp_path / "in{rank}" / "box.npy", *OTHERS, "-a", "zeros:f32:2x256", "-a", "ranks", "--out", out)
    for _ in range(2):  # what is there is replaced
        ran = ptokit("run", RING, *ON, *args)
        assert ran.status == 0, ran.err
    assert (np.load(out / "y.npy") == 3).all()
    assert (np.load(out / "rank1" / "box.npy")[1] == 1).all()
    assert sorted(str(path.relative_to(out)) for path in out.rglob("*.npy"))[1:3] == ["rank0/box.npy", "rank1/box.npy"]


def test_the_sanitizer_names_ranks(ptokit: Run, tmp_path: Path) -> None:
    text = RING.read_text(encoding="utf-8").replace("pto.fence.barrier_all #pto.fence_scope<gm>", "")
    (tmp_path / "ring.pto").write_text(text, encoding="utf-8")
    args = ("-a", "arange:f32:2x2x256", *OTHERS, "-a", "uninit:f32:2x256", "-a", "ranks")
    ran = ptokit("sanitize", tmp_path / "ring.pto", *ON, *args, "--format", "json")
    report = json.loads(ran.out)
    assert ran.status == 1
    assert report["launch"]["ranks"] == 2
    assert "order of ranks" in report["coverage"]["checked"]
    raced = next(d for d in report["diagnostics"] if d["rule"] == "RACE-XRANK-RAW")
    assert {access["core"] for access in raced["race"]["accesses"]} == {"rank 0, block 0", "rank 1, block 0"}
    ran = ptokit("sanitize", RING, *ON, *args)
    assert ran.status == 0
    assert "2 ranks of 1 block, strict order" in ran.out


def test_a_run_looks_for_races_first(ptokit: Run, tmp_path: Path) -> None:
    text = RING.read_text(encoding="utf-8").replace("pto.fence.barrier_all #pto.fence_scope<gm>", "")
    (tmp_path / "ring.pto").write_text(text, encoding="utf-8")
    args = ("-a", "arange:f32:2x2x256", *OTHERS, "-a", "zeros:f32:2x256", "-a", "ranks")
    assert "RACE-XRANK" in ptokit("run", tmp_path / "ring.pto", *ON, *args, "--sanitize").err
    assert ptokit("run", RING, *ON, *args, "--sanitize").status == 0


@pytest.mark.parametrize("arg", ["rank", "comm", "peer:box:+1", "in{rank}/x.npy"])
def test_one_device_has_no_ranks(ptokit: Run, arg: str) -> None:
    ran = ptokit("run", RING, "-t", "a2a3", "-a", arg)
    assert ran.status == 2
    assert "need several devices" in " ".join(ran.err.replace("│", " ").split())


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ((*ON, "--threads", "2"), "--threads: a launch on several devices runs in this process"),
        ((*ON, "--jobs", "2"), "--jobs: a launch on several devices runs in this process"),
        ((*ON, "--executor", "processes"), "--executor: a launch on several devices runs in this process"),
        (("-t", "a2a3", "--jobs", "2", "--threads", "2"), "--threads: the processes of an executor run one thread"),
    ],
)
def test_who_runs_the_blocks_is_not_ignored(ptokit: Run, more: tuple[str, ...], why: str) -> None:
    ran = ptokit("run", RING, "-a", "zeros:f32:2x2x256", *OTHERS, "-a", "zeros:f32:2x256", "-a", "ranks", *more)
    assert ran.status == 2
    assert why in " ".join(ran.err.split())
    with pytest.raises(library.UsageError):
        library.run(RING, [np.zeros((2, 256), np.float32)] * 5, target="a2a3", ranks=2, jobs=1)


@pytest.mark.parametrize("arg", ["peer:box", "peer::+1", "peer:box:next", "peer:box:+1:2"])
def test_a_peer_is_a_parameter_and_a_rank(ptokit: Run, arg: str) -> None:
    assert ptokit("run", RING, *ON, "-a", arg).status == 2


def test_workers_run_one_device(ptokit: Run) -> None:
    ran = ptokit("run", RING, *ON, "-a", "arange:f32:2x2x256", *OTHERS, "--executor", "processes")
    assert ran.status == 2


def test_the_library_takes_ranks() -> None:
    box = np.ones((2, 2, 256), np.float32)
    signals, y = np.zeros((2, 2, 1), np.int32), np.zeros((2, 256), np.float32)
    args = [box, library.Peer("box", 1), signals, "peer:arrived:+1", y, library.RANKS]
    result = library.run(RING, args, target="a5", ranks=2)
    assert (result.arrays["y"] == 2).all()
    assert result.ranks == 2
    signals[:] = 0
    assert library.sanitize(RING, args, target="a5", ranks=2).clean
    with pytest.raises(library.UsageError):
        library.run(RING, args, target="a5", ranks=65)


def test_kernels_in_python(ptokit: Run) -> None:
    example = KERNELS.parent / "python" / "ring_all_gather.py"
    args = ("-a", "ones:f32:2x2x256", "-a", "peer:rows:+1", "-a", "zeros:i32:2x2", "-a", "peer:arrived:+1")
    ran = ptokit("run", f"{example}:ring_all_gather", "--ranks", "2", *args, "-a", "rank", "-a", "ranks")
    assert ran.status == 0, ran.err


def test_a_tile_of_one_rank_is_shown(ptokit: Run) -> None:
    args = ("-a", "arange:f32:2x2x256", *OTHERS, "-a", "zeros:f32:2x256", "-a", "ranks")
    ran = ptokit("run", RING, *ON, *args, "--dump", "part:rank=1")
    assert ran.status == 0, ran.err
    assert "rank 1, block 0, step=1" in ran.out
    assert "rank 0" not in ran.out


def test_a_witness_is_looked_for_where_something_can_be_put_off(ptokit: Run, tmp_path: Path) -> None:
    text = RING.read_text(encoding="utf-8").replace("pto.fence.barrier_all #pto.fence_scope<gm>", "")
    (tmp_path / "ring.pto").write_text(text, encoding="utf-8")
    args = ("-a", "arange:f32:2x2x256", *OTHERS, "-a", "uninit:f32:2x256", "-a", "ranks", "--witness", "--seed", "1")
    ran = ptokit("sanitize", tmp_path / "ring.pto", *ON, *args, "--html", tmp_path / "page.html")
    assert ran.status == 1
    assert "witness: not looked for; comm.tput cannot be put off here" in ran.err
    assert "rank 1" in (tmp_path / "page.html").read_text(encoding="utf-8")
