"""Launches whose loops go on evenly, timed with and without the iterations that repeat others."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import ptokit as pto
from ptokit.targets.base import B1
from ptokit.timing.report import Timing, timed

MTE2, V, MTE3 = pto.PIPE_MTE2, pto.PIPE_V, pto.PIPE_MTE3
WIDTH = 1024


def both(kernel: Any, blocks: int, *args: Any) -> tuple[Timing, Timing]:
    """Timed with every iteration, and without what repeats."""
    program = kernel._program(kernel._signature(kernel.parameters.bind(args, {})))
    full, short = (timed(program, args, blocks, B1, complete=complete) for complete in (True, False))
    assert full.run.repeated == 0
    return full, short


def alike(full: Timing, short: Timing) -> None:
    assert short.work == pytest.approx(full.work, rel=0.005)
    assert sum(short.run.counts.values()) == sum(full.run.counts.values())
    assert short.nbytes == full.nbytes
    for one, other in zip(full.pipes, short.pipes):
        assert one.busy == pytest.approx(other.busy, abs=0.005)


def copies(seed: int) -> Any:
    """y = f(x), piece by piece, with one to three buffers: what a piece is, and what is done to it, is random."""
    rng = random.Random(seed)
    buffers, steps, flags = rng.randint(1, 3), rng.randint(1, 3), rng.random() < 0.7
    sizes = [WIDTH // rng.choice((1, 2, 4)) for _ in range(buffers)]
    odd, once, few = rng.random() < 0.4, rng.randrange(40), rng.choice((0, 0, 3, 20))
    across = rng.choice((1, buffers))

    @pto.kernel(target="a2a3")
    def kernel(x: Any, y: Any, n: Any) -> None:
        gx, gy = pto.GlobalTensor(x, (1, n)), pto.GlobalTensor(y, (1, n))
        tiles = []
        for b in pto.static_range(buffers):
            tiles.append(pto.Tile(pto.TileType.Vec, pto.f32, 1, sizes[b], addr=b * WIDTH * 4))
            if flags:
                pto.set_flag(MTE3, MTE2, b)
        for at in range(pto.get_block_idx() * WIDTH * buffers, n, pto.get_block_num() * WIDTH * buffers):
            for b in pto.static_range(buffers):
                begin = at + b * WIDTH
                if flags:
                    pto.wait_flag(MTE3, MTE2, b)
                pto.TLOAD(tiles[b], gx[:, begin : begin + sizes[b]])
                if flags:
                    pto.set_flag(MTE2, V, b)
                    pto.wait_flag(MTE2, V, b)
                for _ in pto.static_range(steps):
                    pto.TEXP(tiles[b], tiles[b])
                for _ in range(few):
                    pto.TMULS(tiles[b], tiles[b], 2.0)
                if at == once * WIDTH * across:
                    for _ in range(100):
                        pto.TSQRT(tiles[b], tiles[b])
                if odd:  # noqa: SIM102
                    if at // (WIDTH * buffers) % 3 == 1:
                        pto.TADD(tiles[b], tiles[b], tiles[b])
                if flags:
                    pto.set_flag(V, MTE3, b)
                    pto.wait_flag(V, MTE3, b)
                pto.TSTORE(gy[:, begin : begin + sizes[b]], tiles[b])
                if flags:
                    pto.set_flag(MTE3, MTE2, b)
        if flags:
            for b in pto.static_range(buffers):
                pto.wait_flag(MTE3, MTE2, b)

    return kernel, buffers


def compare(seed: int) -> int:
    rng = random.Random(seed)
    kernel, buffers = copies(seed)
    blocks = rng.choice((1, 2, 7, 24))
    n = WIDTH * buffers * blocks * rng.randint(20, 3000 // blocks // buffers)
    full, short = both(kernel, blocks, np.zeros(n, np.float32), np.zeros(n, np.float32), n)
    alike(full, short)
    return short.run.repeated


def test_what_repeats_takes_as_long_as_in_full() -> None:
    for seed in (2, 16, 33):
        assert compare(seed) > 0, seed


@pytest.mark.campaign
def test_what_repeats_takes_as_long_as_in_full_in_many_launches() -> None:
    for seed in range(400):
        compare(seed)


def test_what_a_branch_does_in_the_middle_is_not_left_out() -> None:
    @pto.kernel(target="a2a3")
    def kernel(x: Any, n: Any) -> None:
        tile = pto.Tile(pto.TileType.Vec, pto.f32, 8, 64, addr=0)
        for i in range(n):
            pto.TLOAD(tile, pto.GlobalTensor(x, (8, 64)))
            if i == 700:
                pto.TSQRT(tile, tile)
            if i > 1200:
                pto.TEXP(tile, tile)
            elif i % 4 == 3:
                pto.TMULS(tile, tile, 2.0)

    full, short = both(kernel, 1, np.zeros(512, np.float32), 2000)
    alike(full, short)
    assert short.run.repeated > 2000
    names = {full.found.items[k].name: times for k, times in full.run.counts.items()}
    assert {short.found.items[k].name: times for k, times in short.run.counts.items()} == names
    assert names["TSQRT"] == 1


def test_sizes_that_change_are_followed() -> None:
    """Rows left over, and a number of rows that is no even function of the iteration."""

    @pto.kernel(target="a2a3")
    def kernel(x: Any, n: Any) -> None:
        whole = pto.GlobalTensor(x, (n * 8 - 3, 64))
        tile = pto.Tile(pto.TileType.Vec, pto.f32, 8, 64, valid_row=pto.DYNAMIC, valid_col=pto.DYNAMIC, addr=0)
        for i in range(n):
            rows = pto.minimum(8, n * 8 - 3 - i * 8)
            tile.set_valid(rows, 64)
            pto.TLOAD(tile, whole[i * 8 : i * 8 + rows])
        for i in range(n):
            rows = i * i % 7 + 1
            tile.set_valid(rows, 64)
            pto.TLOAD(tile, whole[0:rows])

    full, short = both(kernel, 1, np.zeros((400 * 8 - 3, 64), np.float32), 400)
    alike(full, short)
    assert 300 < short.run.repeated < 400  # the second loop is followed
