"""Runs of bytes, compared with sets of single bytes."""

from __future__ import annotations

import random
from itertools import pairwise, product

import numpy as np

from ptokit.launches.access import Runs, joined, merged, of_blocks, of_boxes, pieces, quarrel, reach, union

Touched = dict[int, set[int]]
"""Bytes by block."""


def touched(runs: Runs) -> Touched:
    out: Touched = {}
    for start, end, block in zip(runs.starts.tolist(), runs.ends.tolist(), runs.blocks.tolist()):
        out.setdefault(block, set()).update(range(start, end))
    return out


def box(rng: random.Random) -> tuple[list[tuple[int, int]], int]:
    """Axes in any order, some backwards, and the bytes that each place has."""
    strides = [-20, -6, -3, -1, 0, 1, 2, 3, 4, 6, 9, 20]
    axes = [(rng.randint(1, 3), rng.choice(strides)) for _ in range(rng.randint(0, 3))]
    return axes, rng.randint(1, 5)


def bytes_of(offset: int, axes: list[tuple[int, int]], nbytes: int) -> set[int]:
    places = product(*(range(n) for n, _ in axes))
    starts = [offset + sum(i * s for i, (_, s) in zip(at, axes)) for at in places]
    return {start + k for start in starts for k in range(nbytes)}


def test_boxes() -> None:
    for seed in range(2000):
        rng = random.Random(seed)
        axes, nbytes = box(rng)
        blocks = np.arange(3, 3 + rng.randint(1, 4))
        offsets = rng.choice([np.array([200]), 200 + np.array([rng.randrange(50) for _ in blocks])])
        runs = of_boxes(offsets, axes, nbytes, blocks)
        for k, block in enumerate(blocks.tolist()):
            offset = int(offsets[k % len(offsets)])
            wanted = bytes_of(offset, axes, nbytes)
            assert touched(runs)[block] == wanted, (seed, axes)
            low, end = reach(axes, nbytes)
            assert (offset + low, offset + end) == (min(wanted), max(wanted) + 1), (seed, axes)
        assert len(runs) <= pieces(axes, nbytes) * len(blocks)


def some(rng: random.Random, blocks: int, count: int) -> Runs:
    starts = np.array([rng.randrange(24) for _ in range(count)], np.int64)
    ends = starts + np.array([rng.randint(1, 6) for _ in range(count)], np.int64)
    return Runs(starts, ends, np.array([rng.randrange(blocks) for _ in range(count)], np.int64))


def test_joined() -> None:
    for seed in range(1000):
        rng = random.Random(seed)
        parts = [some(rng, 4, rng.randint(0, 5)) for _ in range(rng.randint(0, 3))]
        runs = joined(parts)
        wanted: Touched = {}
        for part in parts:
            for block, bytes_ in touched(part).items():
                wanted.setdefault(block, set()).update(bytes_)
        assert touched(runs) == wanted
        order = list(zip(runs.blocks.tolist(), runs.starts.tolist(), runs.ends.tolist()))
        assert order == sorted(order)
        assert all(b > a or s > e for (a, _, e), (b, s, _) in pairwise(order))  # none touches the next one
        starts, ends = union(runs)
        assert {k for s, e in zip(starts, ends) for k in range(s, e)} == set().union(*wanted.values())
        span = range(rng.randrange(3), rng.randint(3, 5))
        assert touched(of_blocks(runs, span)) == {block: b for block, b in wanted.items() if block in span}
        assert merged(starts, ends)[0].tolist() == starts.tolist()


def test_quarrels() -> None:
    some_quarrel = none = 0
    for seed in range(4000):
        rng = random.Random(seed)
        writes = joined([some(rng, 4, rng.randint(0, 3))])
        reads = joined([some(rng, 4, rng.randint(0, 3))])
        w, r = touched(writes), touched(reads)
        pairs = {
            (min(a, b), max(a, b)) for a in w for b in {*w, *r} if a != b and w[a] & (w.get(b, set()) | r.get(b, set()))
        }
        found = quarrel(writes, reads)
        assert (found is None) is not bool(pairs), seed
        assert found is None or found in pairs, (seed, found, pairs)
        some_quarrel, none = some_quarrel + bool(pairs), none + (not pairs)
    assert min(some_quarrel, none) > 300
