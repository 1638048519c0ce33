"""The NumPy form of transfers between devices: every device's part is a view of global memory (pto-isa docs/isa/comm).

Rows are the fourth of five dimensions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from ptokit.diagnostics import Scope, define

from ..machine import Machine, ViewOperand

define(
    "COMM-01",
    "The parts of a transfer between devices have one element type, and sizes that fit together.",
    scope=Scope.RUN,
    source="pto-isa docs/isa/comm",
    why="What is stored has the sizes of a part, and as many rows as all parts that are put together; memory that has "
    "more rows keeps them.",
    rejected="comm.tput of 128 elements into 64",
    accepted="comm.tput of 128 elements into 128",
)


def transferred(
    m: Machine,
    dst: ViewOperand | Sequence[ViewOperand],
    src: ViewOperand | Sequence[ViewOperand],
    rows: bool,
    fold: Callable[..., np.ndarray] | None = None,
    combine: Callable[..., np.ndarray] | None = None,
    first: int = 0,
) -> None:
    """``dst = src``, as `words.Transfer` says."""
    if isinstance(dst, Sequence):
        assert not isinstance(src, Sequence)
        whole = src
        if rows:
            places = [_of_part(m, whole, part, k, len(dst)) for k, part in enumerate(dst)]
        else:
            places = [_offsets(whole)] * len(dst)
        for part, found in zip(dst, [_read(whole, place) for place in places]):
            _write(m, part, _of_part(m, part, part if rows else whole), found)
        return
    members = list(src) if isinstance(src, Sequence) else [src]
    count = len(members) if rows else 1
    to = [_of_part(m, dst, part, k if rows else 0, count) for k, part in enumerate(members)]
    values = [_read(part, _offsets(part)) for part in members]
    if fold is not None and values:
        order = sorted(range(len(values)), key=lambda k: k != first)
        to, values = to[:1], [reduce(fold, [values[k] for k in order])]
    for place, read in zip(to, values):
        _write(m, dst, place, read, combine)


def _of_part(m: Machine, whole: ViewOperand, part: ViewOperand, k: int = 0, count: int = 1) -> np.ndarray:
    """The elements of `whole` that are those of part `k` of `count`: its rows, of which it has at least so many."""
    if whole.dtype is not part.dtype:
        m.refuse("COMM-01", f"one part has element type {part.dtype}, the other {whole.dtype}")
    *outer, rows, cols = part.shape
    *others, have, width = whole.shape
    if (others, width) != (outer, cols) or have < count * rows:
        sizes = "x".join(map(str, whole.shape)), "x".join(map(str, part.shape))
        m.refuse("COMM-01", f"{sizes[0]} elements do not hold {count} times {sizes[1]}")
    return _offsets(whole)[:, :, :, k * rows : (k + 1) * rows]


def _offsets(view: ViewOperand) -> np.ndarray:
    """Offsets of the elements from the first, of the five dimensions of the view."""
    found: np.ndarray = np.zeros((), np.int64)
    for size, step in zip(view.shape, view.stride):
        found = found[..., None] + np.arange(size, dtype=np.int64) * step
    return found


def _read(view: ViewOperand, offsets: np.ndarray) -> np.ndarray:
    view.check_bounds()
    return view.gather(offsets.reshape(1, 1, -1), _describe)


def _write(m: Machine, view: ViewOperand, offsets: np.ndarray, values: np.ndarray, combine: Any = None) -> None:
    def put(memory: np.ndarray, where: np.ndarray, new: np.ndarray) -> None:
        if combine is None:
            memory[where] = new
            return
        for places, found in zip(where.reshape(m.blocks, -1), new.reshape(m.blocks, -1)):
            memory[places] = combine(memory[places], found)

    view.check_bounds()
    view.begin_store(whole=False)
    view.scatter(offsets.reshape(1, 1, -1), values, put, m.blocks, _describe)


def _describe(block: int, row: int, col: int) -> str:
    return f"element {col}"
