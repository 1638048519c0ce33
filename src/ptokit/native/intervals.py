"""Between which numbers an integer of the program lies, where its text says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptokit.ir.core import Block, Op, Value

if TYPE_CHECKING:
    from .function import Writer

_DEPTH = 8


def interval(w: Writer, value: Value, depth: int = _DEPTH) -> tuple[int, int] | None:
    """The least and the greatest number that a value can be: of constants, counts of loops and sums of them."""
    known = w.facts.constants.get(value)
    if isinstance(known, int):
        return int(known), int(known)
    if depth == 0 or str(value.type) not in ("index", "i64", "i32"):
        return None  # narrow types wrap
    if isinstance(value.owner, Block):
        return _of_loop(w, value, depth)
    op = value.owner
    if not isinstance(op, Op) or op.name not in ("arith.addi", "arith.subi", "arith.muli", "arith.index_cast"):
        return None
    found = [interval(w, v, depth - 1) for v in op.values]
    if any(f is None for f in found):
        return None
    (low, high), *more = [f for f in found if f is not None]
    for a, b in more:
        if op.name == "arith.addi":
            low, high = low + a, high + b
        elif op.name == "arith.subi":
            low, high = low - b, high - a
        else:
            products = (low * a, low * b, high * a, high * b)
            low, high = min(products), max(products)
    return (low, high) if low >= -(1 << 31) and high < 1 << 31 else None


def _of_loop(w: Writer, value: Value, depth: int) -> tuple[int, int] | None:
    """Of the variable of a loop whose ends are known."""
    for op in w.module.loops:
        body = op.regions[0]
        if body.args and body.args[0] is value:
            ends = [interval(w, op[name], depth - 1) for name in ("lower", "upper")]
            if ends[0] is None or ends[1] is None:
                return None
            step = w.facts.constants.get(op["step"])
            low, high = ends[0][0], max(ends[0][0], ends[1][1] - 1)
            if isinstance(step, int) and step > 1 and ends[0][0] == ends[0][1]:
                high = low + (high - low) // step * step
            return low, high
    return None
