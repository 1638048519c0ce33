"""Kernels timed from their instructions: flash attention as it was measured, clusters, launches that follow another."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

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
