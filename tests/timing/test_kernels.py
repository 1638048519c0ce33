"""Kernels timed from their instructions: flash attention as it was measured, clusters, launches that follow another."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import ptokit as pto
from ptokit.conformance.published import FLASH_ATTENTION
from ptokit.conformance.timed_attention import attention, attention_arguments, flash_attention
from ptokit.targets.base import B2
from ptokit.timing.model import stream_cycles
from ptokit.timing.report import timed


def test_the_attention_that_is_timed_is_attention() -> None:
    args = attention_arguments(128, 1024, 1)
    rng = np.random.default_rng(0)
    for array in args[:3]:
        array[:] = rng.standard_normal(array.shape)
    attention[1](*args)
    q, k, v = (array.astype(np.float64) for array in args[:3])
    scores = q @ k.T / 128**0.5
    weights = np.exp(scores - scores.max(1, keepdims=True))
    assert np.abs(weights / weights.sum(1, keepdims=True) @ v - args[3]).max() < 1e-3


def test_flash_attention_takes_as_long_as_published() -> None:
    (row,) = (row for row in FLASH_ATTENTION.rows if row.sizes == (1, 128, 4096))
    timing = flash_attention(row)
    assert timing.us == pytest.approx(row.us, rel=0.1)
    assert not timing.run.stuck


def test_blocks_beyond_the_clusters_of_a_part_follow_others() -> None:
    """Three blocks on one cluster take three times as long as one, and less than a tenth more."""
    part = replace(B2, cores=1)

    def work(blocks: int) -> float:
        args = attention_arguments(128 * blocks, 1024, 1)
        kernel = attention._program(attention._signature(attention.parameters.bind(args, {})))
        return timed(kernel, args, blocks, part, warm=True).work

    assert 3 * work(1) <= work(3) <= 3.1 * work(1)


def test_a_warm_launch_is_shorter() -> None:
    args = attention_arguments(256, 1024, 2)
    cold, warm = (attention.time[2](*args, part="910B2", warm=warm) for warm in (False, True))
    assert warm.cycles < cold.cycles
    assert warm.run.missed == 0 < cold.run.missed


@pytest.mark.parametrize(
    ("name", "rows", "cols", "cycles"),
    [
        ("TROWMAX", 64, 64, 7 * 64 + 32),  # a repeat of each row to one number
        ("TROWMAX", 64, 128, (14 + 128 + 17) + (10 + 2 * 8 + 14) + (14 + 8 + 17)),  # blocks, pairs, blocks
        ("TROWEXPANDSUB", 32, 256, 18 + 10 + 2 * 128 + 14),
        ("TADD", 64, 64, 10 + 2 * 64 + 14),
    ],
)
def test_vector_instructions_of_a2a3_cost_what_they_issue(name: str, rows: int, cols: int, cycles: int) -> None:
    found = stream_cycles(name, rows, cols, 4, whole=True)
    assert found is not None
    assert found[0] == cycles


def scaled(rows: int) -> Any:
    """y = 2 x, with barriers that two tiles of a loop share."""

    @pto.kernel(target="a2a3")
    def kernel(x: pto.Ptr[pto.f32], y: pto.Ptr[pto.f32], n: Any) -> None:
        gx, gy = pto.GlobalTensor(x, (n, 64)), pto.GlobalTensor(y, (n, 64))
        tiles = [pto.Tile(pto.TileType.Vec, pto.f32, rows, 64, addr=i * rows * 256) for i in pto.static_range(2)]
        for first in range(pto.get_block_idx() * 2 * rows, n, pto.get_block_num() * 2 * rows):
            for i in pto.static_range(2):
                top = first + i * rows
                pto.TLOAD(tiles[i], gx[top : top + rows])
                pto.pipe_barrier(pto.PIPE_ALL)
                pto.TMULS(tiles[i], tiles[i], 2.0)
                pto.pipe_barrier(pto.PIPE_ALL)
                pto.TSTORE(gy[top : top + rows], tiles[i])
                pto.pipe_barrier(pto.PIPE_ALL)

    x = np.zeros((16384, 64), np.float32)
    return kernel.time[48](x, x, len(x), part="910B2")


def test_a_barrier_is_named_once_and_global_memory_where_it_is_the_limit() -> None:
    few, many = (scaled(rows) for rows in (8, 64))
    lines = [wait.line for wait in few.waits]
    assert len(lines) == len(set(lines)) == 3
    assert max(wait.gain or 0 for wait in few.waits) > 0.2
    assert not any("global memory" in text for text in few.findings)
    (text,) = (text for text in many.findings if "global memory" in text)
    reached, most = (int(word) for word in text.split() if word.isdigit())
    assert 0.6 * most < reached <= most == 1078


@pytest.mark.parametrize("buffers", [1, 2])
def test_a_barrier_that_orders_nothing_is_told_from_one_that_does(buffers: int) -> None:
    """Two tiles with flags of their own need no barrier between them; one buffer for both does."""

    @pto.kernel(target="a2a3")
    def kernel(x: pto.Ptr[pto.f32], y: pto.Ptr[pto.f32], n: pto.i32) -> None:
        tiles = [pto.Tile(pto.TileType.Vec, pto.f32, 32, 128, addr=k % buffers * 0x8000) for k in pto.static_range(2)]
        gx, gy = pto.GlobalTensor(x, (64, 128)), pto.GlobalTensor(y, (64, 128))
        for _ in range(n):
            for k in pto.static_range(2):
                event = (pto.EVENT_ID0, pto.EVENT_ID1)[k]
                pto.TLOAD(tiles[k], gx[k * 32 : k * 32 + 32])
                pto.set_flag(pto.PIPE_MTE2, pto.PIPE_V, event)
                pto.wait_flag(pto.PIPE_MTE2, pto.PIPE_V, event)
                pto.TADDS(tiles[k], tiles[k], 1.0)
                pto.set_flag(pto.PIPE_V, pto.PIPE_MTE3, event)
                pto.wait_flag(pto.PIPE_V, pto.PIPE_MTE3, event)
                pto.TSTORE(gy[k * 32 : k * 32 + 32], tiles[k])
                pto.pipe_barrier(pto.PIPE_ALL)
            pto.pipe_barrier(pto.PIPE_ALL)

    x, y = np.zeros((64, 128), np.float32), np.zeros((64, 128), np.float32)
    (said,) = (text for text in kernel.time(x, y, 8).findings if "the barrier in line" in text)
    assert said.endswith("it orders nothing that needs it" if buffers == 2 else "flags would let pipes go on")
    assert (y == 0).all()


def test_unit_flags_order_products_and_drains() -> None:
    """With one accumulator both wait for each other, with two they work at the same time."""

    @pto.kernel(target="a2a3")
    def products(
        c: pto.Ptr[pto.f32], n: pto.i32, buffers: pto.Static[int], first: pto.Static, last: pto.Static
    ) -> None:
        left, right = pto.TileLeft(pto.f16, 128, 64, addr=0), pto.TileRight(pto.f16, 64, 128, addr=0)
        results = [pto.TileAcc(pto.f32, 128, 128, addr=k * 0x10000) for k in pto.static_range(buffers)]
        for _ in range(n):
            for k in pto.static_range(buffers):
                pto.TMATMUL(results[k], left, right, phase=first)
                pto.TMATMUL_ACC(results[k], results[k], left, right, phase=last)
                pto.TSTORE(pto.GlobalTensor(c, (128, 128)), results[k], phase=pto.STPhase(last.value))
            pto.set_flag(pto.PIPE_M, pto.PIPE_S, pto.EVENT_ID0)
            pto.wait_flag(pto.PIPE_M, pto.PIPE_S, pto.EVENT_ID0)

    c, phases = np.zeros((128, 128), np.float32), (pto.AccPhase.Partial, pto.AccPhase.Final)
    one, two = (products.time(c, 24 // buffers, buffers, *phases) for buffers in (1, 2))
    free = products.time(c, 24, 1, pto.AccPhase.Unspecified, pto.AccPhase.Unspecified)
    busy = {pipe.name: pipe.busy * one.cycles for pipe in one.pipes}
    assert one.work > busy["M"] + busy["FIX"]
    assert free.work < two.work < 0.75 * one.work
    assert any("FIX at unit flags of L0C byte 0" in text for text in one.findings)


@pytest.mark.campaign
def test_a_million_instructions_are_timed_in_eight_seconds_and_300_mb() -> None:
    code = """
import resource, time
import numpy as np
from ptokit.conformance.timed_kernels import addition
from ptokit.targets.base import B2
from ptokit.timing.report import timed
n = 4096 * 102000
x = np.zeros(n, np.float32)
kernel = addition(2)
program = kernel._program(kernel._signature(kernel.parameters.bind((x, x, x, n), {})))
begun = time.process_time()
timing = timed(program, (x, x, x, n), 48, B2, complete=True)
print(timing.found.executed, time.process_time() - begun, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    executed, seconds, megabytes = map(float, ran.stdout.split())
    assert executed > 1e6
    assert seconds < 8
    assert megabytes < 300


@pto.kernel(target="a2a3")
def told(arrived: pto.Ptr[pto.i32], next_arrived: pto.Ptr[pto.i32], n: int, wanted: int):
    """Each rank works twice for n instructions, and tells the next one after each; that one waits for one or both."""
    tile = pto.Tile(pto.TileType.Vec, pto.f32, 64, 64, addr=0)
    for _ in pto.static_range(2):
        for _ in range(n):
            pto.TEXP(tile, tile)
            pto.pipe_barrier(pto.PIPE_ALL)
        pto.TNOTIFY(pto.GlobalTensor(next_arrived, (1, 1)), 1, op=pto.NotifyOp.AtomicAdd)
    pto.TWAIT(pto.GlobalTensor(arrived, (1, 1)), wanted, cmp=pto.CmpMode.GE)
    for _ in range(10):
        pto.TEXP(tile, tile)
        pto.pipe_barrier(pto.PIPE_ALL)


def test_ranks_wait_for_signals_of_others() -> None:
    def work(wanted: int, *n: int) -> float:
        args = np.zeros((2, 1), np.int32), pto.Peer("arrived", 1), list(n), wanted
        program = told._program(told._signature(told.parameters.bind(args, {})))
        timing = timed(program, args, 1, B2, ranks=2)
        assert not timing.run.stuck
        assert not timing.found.untimed
        assert any("1.04 µs, which is assumed" in text for text in timing.findings)
        return timing.work

    signal = B2.signal_us * B2.clock * 1000
    each = (work(2, 107, 107) - work(2, 7, 7)) / 200
    assert each == pytest.approx(159, abs=5)  # TEXP, and its barrier
    assert work(2, 107, 7) == pytest.approx(work(2, 107, 107), abs=5)  # the first is waited for
    assert work(1, 107, 7) == pytest.approx(work(2, 107, 7) - signal, abs=5)  # it is over before the late one is
    assert work(2, 7, 7) == pytest.approx(B2.starts(1)[0] + 24 * each + signal, abs=5)


def test_what_nobody_has_published_counts_as_assumed() -> None:
    @pto.kernel(target="a2a3")
    def patches(x: pto.Ptr[pto.f16]):
        image = pto.ConvTile(pto.TileType.Mat, pto.f16, None, pto.Layout.NC1HWC0, (1, 2, 5, 8, 16), addr=0)
        left = pto.Tile(pto.TileType.Left, pto.f16, 16, 32, pto.BLayout.RowMajor, slayout=pto.SLayout.RowMajor, addr=0)
        pto.TIMG2COL(left, image)

    timing = patches.time[1](np.zeros(16, np.float16), part="910B2")
    (place,) = timing.places
    assert (place.name, place.cycles, place.evidence) == ("TIMG2COL", B2.mte1_start + 16 * 32 * 2 / B2.l1_a, "assumed")
    assert timing.assumed == 1
