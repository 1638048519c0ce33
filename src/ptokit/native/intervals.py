"""Between which numbers an integer of the program lies, where its text says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptokit.ir.core import Block, Op, Value
from ptokit.ir.facts import instr_of

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
    """Of the variable of a loop whose ends are known, or of a count of lanes that its turns take from."""
    for op in w.module.loops:
        body = op.regions[0]
        if value not in body.args:
            continue
        if value is not body.args[0]:
            return _counted(w, op, body.args.index(value) - 1, depth)
        ends = [interval(w, op[name], depth - 1) for name in ("lower", "upper")]
        if ends[0] is None or ends[1] is None:
            return None
        step = w.facts.constants.get(op["step"])
        low, high = ends[0][0], max(ends[0][0], ends[1][1] - 1)
        if isinstance(step, int) and step > 1 and ends[0][0] == ends[0][1]:
            high = low + (high - low) // step * step
        return low, high
    return None


def turns(w: Writer, loop: Op) -> int | None:
    """How often a loop turns, if its text says so."""
    lower, upper, step = (w.facts.constants.get(loop[name]) for name in ("lower", "upper", "step"))
    if isinstance(lower, int) and isinstance(upper, int) and isinstance(step, int) and step > 0:
        return max(0, -((lower - upper) // step))
    return None


def _counted(w: Writer, loop: Op, carried: int, depth: int) -> tuple[int, int] | None:
    """Of what a loop carries, where each turn takes a register's lanes off it."""
    first, count = interval(w, loop.group("init")[carried], depth - 1), turns(w, loop)
    taker = loop.regions[0].ops[-1].group("values")[carried].owner
    if first is None or count is None or first[0] < 0 or not isinstance(taker, Op):
        return None
    instr = instr_of(taker)
    if instr is None or not instr.counts or taker.get(instr.operands[0].name) is not loop.regions[0].args[carried + 1]:
        return None
    return max(0, first[0] - instr.counts * max(0, count - 1)), first[1]
