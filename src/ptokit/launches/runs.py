"""Sets of bytes as runs [start, end), and who touches them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ptokit.records import dataclass

Axis = tuple[int, int]
"""Count, and stride in bytes."""


@dataclass(frozen=True)
class Runs:
    """Runs [starts, ends) of bytes and the block of each, int64 arrays of one length."""

    starts: np.ndarray
    ends: np.ndarray
    blocks: np.ndarray

    def __len__(self) -> int:
        return len(self.starts)


NONE = Runs(*(np.empty(0, np.int64),) * 3)


def of_boxes(offsets: np.ndarray, axes: Sequence[Axis], nbytes: int, blocks: np.ndarray) -> Runs:
    """What blocks touch that have `nbytes` bytes at offset + sum(i * stride) each. ``offsets``: one, or one a block."""
    length, low = nbytes, 0
    outer: list[Axis] = []
    for count, stride in sorted(((n, s) for n, s in axes if n > 1 and s), key=lambda axis: abs(axis[1])):
        if stride < 0:
            low, stride = low + (count - 1) * stride, -stride
        if stride <= length:  # the shorter strides come first: so for none after one that is longer
            length += (count - 1) * stride
        else:
            outer.append((count, stride))
    inside: np.ndarray = np.zeros(1, np.int64)
    for count, stride in outer:
        inside = (inside[:, None] + np.arange(count, dtype=np.int64) * stride).reshape(-1)
    starts = np.asarray(offsets, np.int64).reshape(-1, 1) + low + inside
    starts = np.broadcast_to(starts, (len(blocks), len(inside)))
    owners = np.repeat(np.asarray(blocks, np.int64), starts.shape[1])
    flat = starts.reshape(-1)
    return Runs(flat, flat + length, owners)


def pieces(axes: Sequence[Axis], nbytes: int) -> int:
    """How many runs `of_boxes` makes for one block, at most."""
    out, length = 1, nbytes
    for count, stride in sorted(((n, abs(s)) for n, s in axes if n > 1 and s), key=lambda axis: axis[1]):
        if stride <= length:
            length += (count - 1) * stride
        else:
            out *= count
    return out


def reach(axes: Sequence[Axis], nbytes: int) -> tuple[int, int]:
    """The first byte and the end of what `of_boxes` touches, from the offset on."""
    low = sum((n - 1) * s for n, s in axes if s < 0)
    return low, sum((n - 1) * s for n, s in axes if s > 0) + nbytes


def joined(parts: Sequence[Runs]) -> Runs:
    """All runs, those of one block that touch each other as one, sorted by block and place."""
    if not parts:
        return NONE
    starts, ends, blocks = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("starts", "ends", "blocks")
    )
    if not len(starts):
        return NONE
    low, span = int(starts.min()), int(ends.max() - starts.min()) + 1
    firsts, lasts = merged((starts - low) + blocks * span, (ends - low) + blocks * span)
    owners = firsts // span
    return Runs(firsts - owners * span + low, lasts - owners * span + low, owners)


def union(runs: Runs) -> tuple[np.ndarray, np.ndarray]:
    """Starts and ends of the bytes that any block touches, ascending."""
    return merged(runs.starts, runs.ends)


def merged(starts: np.ndarray, ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Runs that touch each other as one, ascending."""
    if not len(starts):
        return starts, ends
    order = np.argsort(starts, kind="stable")
    starts, ends = starts[order], np.maximum.accumulate(ends[order])
    first = np.flatnonzero(np.concatenate(([True], starts[1:] > ends[:-1])))
    last = np.concatenate((first[1:], [len(starts)])) - 1
    return starts[first], ends[last]


def quarrel(writes: Runs, reads: Runs) -> tuple[int, int] | None:
    """Two blocks of which one writes bytes that the other writes or reads; None if there are none. Both `joined`."""
    order = np.argsort(writes.starts, kind="stable")
    starts, ends, owners = writes.starts[order], writes.ends[order], writes.blocks[order]
    bad = np.flatnonzero(starts[1:] < np.maximum.accumulate(ends)[:-1])
    if len(bad):
        return _pair(owners[bad[0]], owners[bad[0] + 1])
    first = np.searchsorted(ends, reads.starts, "right")
    last = np.searchsorted(starts, reads.ends, "left")
    met = np.flatnonzero(last > first)
    if not len(met):
        return None
    changes = np.concatenate(([0], np.cumsum(owners[1:] != owners[:-1])))
    mine = owners[first[met]] == reads.blocks[met]
    bad = np.flatnonzero(~mine | (changes[last[met] - 1] != changes[first[met]]))
    if not len(bad):
        return None
    k = met[bad[0]]
    others = owners[first[k] : last[k]]
    return _pair(others[others != reads.blocks[k]][0], reads.blocks[k])


def _pair(a: int, b: int) -> tuple[int, int]:
    return min(int(a), int(b)), max(int(a), int(b))


def of_blocks(runs: Runs, span: range) -> Runs:
    """The runs of the blocks of a span. ``runs``: `joined`."""
    a, b = np.searchsorted(runs.blocks, [span.start, span.stop])
    return Runs(runs.starts[a:b], runs.ends[a:b], runs.blocks[a:b])
