"""Other legal orders: they keep what is ordered, change nothing in clean programs, and show races."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import ptokit as pto
from ptokit.asm import parse_module
from ptokit.sanitize import Report, reorder, sanitize
from ptokit.sanitize.findings import race
from ptokit.targets import target

from . import test_clusters as clusters
from . import test_cross_core as cross_core
from .mini import Mini
from .test_model import TILES, draw, ordered
from .test_python import copy_plus_one
from .test_repair import repaired, varied

X = np.arange(512, dtype=np.float32).reshape(16, 32)


def watched(program: Mini | str, blocks: int = 1, **more: Any) -> Report:
    text = program.text if isinstance(program, Mini) else program
    module = parse_module(text, "k.pto", target=target("a2a3")).module
    return sanitize(module, "a2a3", [X.copy(), np.zeros_like(X)], blocks, causes=False, **more)


def executed(lines: list[str], monkeypatch: pytest.MonkeyPatch, **more: Any) -> list[list[int]]:
    """For each further run: the lines of the program in the order in which they were carried out."""
    program = Mini("\n".join(lines), tiles=TILES)
    runs: list[list[int]] = []
    start = reorder.Scheduler.__init__

    def begin(self: reorder.Scheduler, *args: Any) -> None:
        runs.append([])
        start(self, *args)

    monkeypatch.setattr(reorder.Scheduler, "__init__", begin)
    push = reorder.Delayed.push

    def noted(self: reorder.Delayed, item: Any) -> None:
        action = getattr(item, "action", None)
        if action is not None:
            line = item.op.location.line - program.first
            item.action = lambda: (runs[-1].append(line), action())
        push(self, item)

    monkeypatch.setattr(reorder.Delayed, "push", noted)
    watched(program, **more)
    return runs


@pytest.mark.parametrize("order", ["strict", "profile"])
@pytest.mark.parametrize("seed", range(8))
def test_every_order_is_legal(seed: int, order: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = draw(random.Random(seed))
    before = ordered(lines, order == "profile")
    runs = executed(lines, monkeypatch, order=order, witness=True, seed=seed)
    assert runs
    for run in runs:
        assert sorted(run) == [
            i for i, line in enumerate(lines) if line.split()[0] in ("load", "store", "adds", "fill")
        ]
        for place, j in enumerate(run):
            assert not any(before[j, i] for i in run[:place]), (lines, run)


def test_orders_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = ["fill a", "fill b", "load c x", "load d x", "store a y", "fill c"]
    runs = {tuple(executed(lines, monkeypatch, seed=seed)[-1]) for seed in range(6)}
    assert len(runs) > 2
    assert executed(lines, monkeypatch, seed=3)[-1] == executed(lines, monkeypatch, seed=3)[-1]


@pytest.mark.parametrize("seed", range(6))
def test_clean_programs_have_one_outcome(seed: int, tmp_path: Any) -> None:
    lines = [line for line in varied(random.Random(seed)).split("\n") if not line.startswith(("set", "wait"))]
    text = repaired(Mini("\n".join(lines), tiles=TILES).text, tmp_path)
    for number in range(3):
        report = watched(text, seed=number)
        assert not report.races
        assert report.shuffled is not None
        assert (report.shuffled.counts, report.shuffled.failure) == ({}, None)


def one(body: str, blocks: int = 1, rule: str = "", **setup: Any) -> pto.Witness:
    """The witness of the one race of a program."""
    report = watched(Mini(body, **setup), blocks, witness=True)
    (found,) = ((d, r) for d, r in report.races.items() if not rule or d.rule == rule)
    diagnostic, race = found
    assert race.witness is not None
    assert diagnostic.notes[-1].message == f"witness: {race.witness}"
    return race.witness


def test_a_load_that_comes_late() -> None:
    """The tile still holds what on-chip memory starts with: NaN."""
    shown = one("load a x\nadds a b\nbarrier ALL\nstore b y")
    assert shown.counts == {"y": (512, 512)}
    assert [(c.argument, c.index, c.value) for c in shown.changes] == [("y", (0, i), i + 1.0) for i in range(4)]
    assert all(np.isnan(c.other) for c in shown.changes)
    assert str(shown).startswith("let TLOAD in line ")
    assert "512 of 512 elements of %y change: %y[0, 0] = nan instead of 1, %y[0, 1] = nan instead of 2, " in str(shown)


def test_a_read_that_comes_late() -> None:
    """The reader sees what is loaded after it."""
    body = "load a x\nbarrier ALL\nadds a b\nload a y\nbarrier ALL\nstore b y"
    shown = one(body, rule="RACE-WAR")
    assert shown.counts == {"y": (511, 512)}  # 0 + 1 is 1 either way, where x is 0
    assert {c.other for c in shown.changes} == {1.0}


def test_a_write_that_comes_late() -> None:
    shown = one("load a x\nfill a\nbarrier ALL\nstore a y", rule="RACE-WAW")
    assert shown.counts == {"y": (511, 512)}  # 1 is 1 either way
    assert [(c.index, c.value, c.other) for c in shown.changes[:2]] == [((0, 0), 1.0, 0.0), ((0, 2), 1.0, 2.0)]


def test_blocks_the_other_way_round() -> None:
    body = "load a x\nbarrier ALL\nfirst\nstore a y\nelse\nadds a b\nbarrier ALL\nstore b y\nend"
    shown = one(body, 2, rule="RACE-XCORE-WAW")
    assert shown.counts == {"y": (512, 512)}
    assert [(c.value, c.other) for c in shown.changes[:2]] == [(1.0, 0.0), (2.0, 1.0)]


def test_stores_of_scalars_are_posted() -> None:
    body = "pto.store_scalar %one, %x[%c4] : !pto.ptr<f32>, f32\nload a x\nbarrier ALL\nstore a y"
    shown = one(body, rule="RACE-RAW")
    assert shown.counts == {"y": (1, 512)}
    assert [(c.index, c.value, c.other) for c in shown.changes] == [((0, 4), 1.0, 4.0)]


def test_scalar_reads_come_when_the_program_needs_them() -> None:
    """The branch is decided by memory: with the store of it late, the other way is taken."""
    body = """
fill a
barrier ALL
store a y
%v = pto.load_scalar %y[%c0] : !pto.ptr<f32> -> f32
%yes = arith.cmpf oeq, %v, %one : f32
scf.if %yes {
barrier ALL
store a x
}
"""
    shown = one(body, rule="RACE-RAW")
    assert shown.counts == {"x": (511, 512)}  # x keeps its values, of which one is 1
    assert one(body.replace("store a y", "store a y\nset MTE3 S 0"), rule="RACE-RAW").counts
    ordered_ = watched(Mini(body.replace("store a y", "store a y\nset MTE3 S 0\nwait MTE3 S 0")), seed=5)
    assert not ordered_.races
    assert ordered_.shuffled is not None
    assert ordered_.shuffled.counts == {}


def test_a_race_without_effect_says_so() -> None:
    shown = one(
        "fill a\nbarrier ALL\nload b x\nadds b a\nbarrier ALL\nload b x\nbarrier ALL\nstore b y", rule="RACE-RAW"
    )
    assert (shown.counts, shown.changes, shown.failure) == ({}, [], None)
    assert str(shown).endswith(", and no value changes with these arguments")


def test_arguments_are_those_of_the_program_order() -> None:
    x, y = X.copy(), np.zeros_like(X)
    module = parse_module(Mini("load a x\nadds a b\nbarrier ALL\nstore b y").text, "k.pto").module
    sanitize(module, "a2a3", [x, y], witness=True, seed=1)
    assert (y == X + 1).all()
    assert (x == X).all()


def test_overlapping_arguments_still_overlap() -> None:
    memory = np.arange(1024, dtype=np.float32)
    args = [memory[:512].reshape(16, 32), memory[256:768].reshape(16, 32), np.ones(3), 5]
    made = race.copies(args)
    made[1][0, 0] = -1
    assert made[0].reshape(-1)[256] == -1
    assert memory[256] == 256
    assert not np.shares_memory(made[0], made[2])
    assert (made[2] == 1).all()
    assert made[3] == 5


def test_in_python() -> None:
    y = pto.uninit((16, 32), pto.f32)
    report = copy_plus_one("a5", False, True).sanitize(X.copy(), y, witness=True, seed=2)
    (race,) = report.races.values()
    assert race.witness is not None
    assert race.witness.counts == {"y": (512, 512)}
    assert report.shuffled is not None
    clean = copy_plus_one("a5", True, True)[1].sanitize(X.copy(), y, witness=True, seed=2)
    assert clean.clean
    assert clean.shuffled is not None
    assert clean.shuffled.counts == {}


@pytest.mark.parametrize(("dtype", "expected"), [("f32", 0x7FC00000), ("i32", 0xA5A5A5A5), ("u8", 0xA5)])
def test_memory_that_nobody_wrote(dtype: str, expected: int) -> None:
    on = getattr(pto, dtype)

    @pto.kernel(target="a5")
    def k(y: pto.Ptr[on]) -> None:
        a = pto.Tile(pto.TileType.Vec, on, 8, 32)
        pto.TASSIGN(a, 64)
        pto.TSTORE(pto.GlobalTensor(y, (8, 32)), a)

    y = np.zeros((8, 32), np.dtype(on.value))
    report = k.sanitize(y)
    assert [d.rule for d in report.errors] == ["UNINIT-READ"]
    assert set(y.view(f"u{y.itemsize}").reshape(-1).tolist()) == {expected}


@pytest.mark.parametrize("case", clusters.CASES, ids=lambda case: case.name)
def test_clusters_have_one_outcome(case: clusters.Case) -> None:
    text, _ = clusters.cluster_text(clusters.expand(case.good))
    module = parse_module(text, "k.pto", target=target(case.on)).module
    for seed in range(3):
        shuffled = sanitize(module, case.on, clusters.arrays(), extended=True, seed=seed).shuffled
        assert shuffled is not None
        assert (shuffled.counts, shuffled.failure) == ({}, None)


@pytest.mark.parametrize("pair", cross_core.PAIRS, ids=lambda pair: pair.name)
def test_blocks_that_wait_have_one_outcome(pair: Any) -> None:
    program = Mini(pair.good, params="%sig: !pto.ptr<i32>")
    module = parse_module(program.text, "k.pto", target=target("a2a3")).module
    for seed in range(3):
        args = program.values({"sig": np.zeros(1, np.int32)})
        shuffled = sanitize(module, "a2a3", args, pair.launch.get("blocks", 1), seed=seed).shuffled
        assert shuffled is not None
        assert (shuffled.counts, shuffled.failure) == ({}, None)


REBOUND = """
func.func @k(%y: !pto.ptr<f32>) attributes {pto.kernel_kind = #pto.kernel_kind<vector>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %at = arith.constant 0 : i64
  %one = arith.constant 1.0 : f32
  %v = pto.make_tensor_view %y, shape = [%c16, %c32], strides = [%c32, %c1] : !pto.tensor_view<?x?xf32>
  %p = pto.partition_view %v, offsets = [%c0, %c0], sizes = [%c16, %c32]
    : !pto.tensor_view<?x?xf32> -> !pto.partition_tensor_view<16x32xf32>
  %a = pto.alloc_tile addr = %at : !pto.tile_buf<vec, 16x32xf32>
  pto.texpands ins(%one : f32) outs(%a : !pto.tile_buf<vec, 16x32xf32>)
  %b = pto.treshape %a : !pto.tile_buf<vec, 16x32xf32> -> !pto.tile_buf<vec, 8x64xf32>
  %c = pto.treshape %b : !pto.tile_buf<vec, 8x64xf32> -> !pto.tile_buf<vec, 16x32xf32>
  pto.barrier <PIPE_ALL>
  pto.tstore ins(%c : !pto.tile_buf<vec, 16x32xf32>) outs(%p : !pto.partition_tensor_view<16x32xf32>)
  return
}
"""


@pytest.mark.parametrize("seed", range(3))
def test_tiles_that_are_bound_later_keep_what_is_there(seed: int) -> None:
    y = np.zeros((16, 32), np.float32)
    report = sanitize(parse_module(REBOUND, "k.pto", target=target("a2a3")).module, "a2a3", [y], seed=seed)
    assert not report.errors
    assert (y == 1).all()
    assert report.shuffled is not None
    assert report.shuffled.counts == {}
