"""Rows of bytes between memories, with the loops that registers hold around them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..atomics import combining
from ..machine import Axis, Machine


def loops_of(m: Machine, direction: str) -> list[Axis]:
    """The two outer loops as (count, destination stride, source stride), the outermost first."""
    counts = m.registers.get(f"loop_size_{direction}", (1, 1))
    out: list[Axis] = []
    for level in (2, 1):
        src, dst = m.registers.get(f"loop{level}_stride_{direction}", (0, 0))
        out.append((counts[level - 1], dst, src))
    return out


def levels(loops: Sequence[int]) -> list[Axis]:
    """Loop groups (count, source stride, destination stride), the first one innermost, as axes from outside."""
    out = [(loops[k], loops[k + 2], loops[k + 1]) for k in range(0, len(loops), 3)]
    return out[::-1]


def bursts(
    m: Machine,
    src: Any,
    dst: Any,
    axes: list[Axis],
    length: int,
    before: int,
    loops: str,
    alignment: int,
    *,
    unread: bool = False,
) -> None:
    """Copy rows of `length` bytes; those of the unified buffer begin at multiples of `alignment` bytes.

    What goes to global memory is combined with it as the control register says. ``unread``: what has not been written
    stays unwritten for whoever needs it.
    """
    if loops:
        axes = [*loops_of(m, loops), *axes]
    if alignment > 1:
        into = getattr(dst, "space", "") == "ub"
        for count, to, frm in axes:
            stride = to if into else frm
            if count > 1 and stride % alignment:
                m.refuse("DMA-A5-02", f"the UB stride of {stride} bytes is not a multiple of {alignment}")
    combine = None if getattr(dst, "space", "gm") != "gm" else combining(m)
    if unread:
        rows = m.fetch(src, 0, [(n, s) for n, _, s in axes], length, needed=((), 0))
        m.deposit(dst, before, [(n, d) for n, d, _ in axes], rows)
    elif combine is None:
        m.copy(dst, before, src, axes, length)
    else:
        element = combine[1].value or combine[1].storage
        rows = m.fetch(src, 0, [(n, s) for n, _, s in axes], length).view(element)
        m.deposit(dst, before, [(n, d) for n, d, _ in axes], rows, combine=combine)
