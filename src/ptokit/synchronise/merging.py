"""One flag in place of two where control flow is straight: fewer waits, and more that waits for more."""

from __future__ import annotations

from collections.abc import Sequence

from ptokit.ir.core import Op

from .dependences import Flag, Order, Placed, suffices


def merged(order: Order, placed: Placed) -> Placed:
    """With a flag from P to R in place of one from P to Q and one from Q to R that begins no later, if that orders all.

    So it is where tiles are used again: what R waits for of Q is over when what P waited for is. In loops the two stay:
    there the one would keep the next iteration from starting.
    """
    flags = list(placed.flags)
    while (less := _one_less(order, placed, flags)) is not None:
        flags = less
    if len(flags) < len(placed.flags):
        for flag in flags:
            flag.needed = suffices(order, [other for other in flags if other is not flag], placed.barriers)
    return Placed(flags, placed.barriers)


def _one_less(order: Order, placed: Placed, flags: Sequence[Flag]) -> list[Flag] | None:
    if any(flag.needed is None for flag in flags):
        return None
    straight = [flag for flag in flags if flag.home is None and flag.around is None and not flag.at_once]
    places: dict[Op, int] = {op: k for flag in straight for k, op in enumerate(flag.block.ops)}
    for back in straight:
        for on in straight:
            if on.block is not back.block or back.pipes[0] is not on.pipes[1] or back.pipes[1] is on.pipes[0]:
                continue
            begin, end = places[back.after], places[back.before]
            if not begin <= places[on.after] < end <= places[on.before]:
                continue
            pipes = on.pipes[0], back.pipes[1]
            one = Flag(pipes, back.core, back.block, on.after, back.before, needed=back.needed)
            rest = [one if flag is back else flag for flag in flags if flag is not on]
            if suffices(order, rest, placed.barriers) is None:
                return rest
    return None
