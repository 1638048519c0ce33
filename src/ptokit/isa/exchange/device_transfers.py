"""What transfers between devices do to memory: every device's part is a view of global memory (pto-isa docs/isa/comm).

The tiles that they pass through hold nothing of interest afterwards. Rows are the fourth of five dimensions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ptokit.diagnostics import Scope, define
from ptokit.types.enums import AtomicType, ReduceOp

from ..machine import Machine, ViewOperand

define(
    "COMM-01",
    "The parts of a transfer between devices have one element type, and sizes that fit together.",
    scope=Scope.RUN,
    source="pto-isa docs/isa/comm",
    why="Each is as large as the source; where parts are put together, the whole has the rows of all of them.",
    rejected="comm.tput of 128 elements into 64",
    accepted="comm.tput of 128 elements into 128",
)

_COMBINE: dict[ReduceOp, Callable[..., np.ndarray]] = {
    ReduceOp.Sum: np.add,
    ReduceOp.Max: np.maximum,
    ReduceOp.Min: np.minimum,
}
_ATOMIC: dict[AtomicType, Any] = {
    AtomicType.AtomicAdd: np.add,
    AtomicType.AtomicMax: np.maximum,
    AtomicType.AtomicMin: np.minimum,
}


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
        else:
            combine.at(memory, where, new)

    view.check_bounds()
    view.begin_store(whole=False)
    view.scatter(offsets.reshape(1, 1, -1), values, put, m.blocks, _describe)


def _describe(block: int, row: int, col: int) -> str:
    return f"element {col}"


def _fit(m: Machine, whole: ViewOperand, part: ViewOperand, count: int = 1) -> None:
    """``whole`` has at least the rows of ``count`` parts, and their other sizes."""
    if whole.dtype is not part.dtype:
        m.refuse("COMM-01", f"one part has element type {part.dtype}, the other {whole.dtype}")
    *outer, rows, cols = part.shape
    (*others, have, width) = whole.shape
    if count == 1:
        fits = (*others, have, width) == (*outer, rows, cols)
    else:
        fits = (others, width) == (outer, cols) and have >= count * rows
    if not fits:
        sizes = "x".join(map(str, whole.shape)), "x".join(map(str, part.shape))
        m.refuse("COMM-01", f"{sizes[0]} elements do not hold {count} times {sizes[1]}")


def send(
    m: Machine, dst: ViewOperand, src: ViewOperand, ping: Any, pong: Any, *, atomic: AtomicType | None = None
) -> None:
    """comm.tput, comm.tget: ``dst = src``, or combined with what is there."""
    _fit(m, dst, src)
    _write(m, dst, _offsets(dst), _read(src, _offsets(src)), _ATOMIC.get(atomic) if atomic is not None else None)


def broadcast(
    m: Machine, src: ViewOperand, ping: Any, pong: Any, members: Sequence[ViewOperand], *, root: int | None
) -> None:
    """Every member becomes src."""
    values = _read(src, _offsets(src))
    for member in members:
        _fit(m, member, src)
        _write(m, member, _offsets(member), values)


def collect(
    m: Machine, dst: ViewOperand, ping: Any, pong: Any, members: Sequence[ViewOperand], *, root: int | None
) -> None:
    """comm.tgather: the members' rows one below the other."""
    offsets = _offsets(dst)
    for k, member in enumerate(members):
        _fit(m, dst, member, len(members))
        rows = member.shape[3]
        _write(m, dst, offsets[:, :, :, k * rows : (k + 1) * rows], _read(member, _offsets(member)))


def deal(
    m: Machine, src: ViewOperand, ping: Any, pong: Any, members: Sequence[ViewOperand], *, root: int | None
) -> None:
    """comm.tscatter: every member becomes its rows of src."""
    offsets = _offsets(src)
    for k, member in enumerate(members):
        _fit(m, src, member, len(members))
        rows = member.shape[3]
        _write(m, member, _offsets(member), _read(src, offsets[:, :, :, k * rows : (k + 1) * rows]))


def reduce(
    m: Machine,
    dst: ViewOperand,
    acc: Any,
    ping: Any,
    pong: Any,
    members: Sequence[ViewOperand],
    *,
    op: ReduceOp | None,
    root: int | None,
) -> None:
    """Element by element over the members, in their order."""
    combine = _COMBINE[op if op is not None else ReduceOp.Sum]
    total: np.ndarray | None = None
    for member in members:
        _fit(m, dst, member)
        values = _read(member, _offsets(member))
        total = values if total is None else combine(total, values)
    if total is not None:
        _write(m, dst, _offsets(dst), total)
