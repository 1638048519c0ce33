"""Between which numbers an integer of the program lies, where its text says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptokit.ir.core import Value
from ptokit.plan.steps import Operand, Step, constant

if TYPE_CHECKING:
    from .function import Writer

_DEPTH = 8


def interval(w: Writer, operand: Operand, depth: int = _DEPTH) -> tuple[int, int] | None:
    """The least and the greatest number that an operand can be: of constants, counts of loops and sums of them."""
    known = constant(operand)
    if isinstance(known, int):
        return int(known), int(known)
    if depth == 0 or not isinstance(operand, Value) or str(operand.type) not in ("index", "i64", "i32"):
        return None  # narrow types wrap
    loop = w.relations.around(operand)
    if loop is not None:
        return _of_loop(w, operand, loop, depth)
    step = w.relations.giver.get(operand)
    if step is None or step.word != "compute" or step.name not in ("addi", "subi", "muli", "index_cast"):
        return None
    found = [interval(w, given, depth - 1) for given in step.operands]
    if any(f is None for f in found):
        return None
    (low, high), *more = [f for f in found if f is not None]
    for a, b in more:
        if step.name == "addi":
            low, high = low + a, high + b
        elif step.name == "subi":
            low, high = low - b, high - a
        else:
            products = (low * a, low * b, high * a, high * b)
            low, high = min(products), max(products)
    return (low, high) if low >= -(1 << 31) and high < 1 << 31 else None


def _of_loop(w: Writer, value: Value, loop: Step, depth: int) -> tuple[int, int] | None:
    """Of the variable of a loop whose ends are known, or of a count of lanes that its turns take from."""
    if loop.word != "for":
        return None
    args = loop.regions[0][0].args
    if value not in args:
        return None
    if value is not args[0]:
        return _counted(w, loop, args.index(value), depth)
    ends = [interval(w, end, depth - 1) for end in loop.operands[:2]]
    if ends[0] is None or ends[1] is None:
        return None
    step = constant(loop.operands[2])
    low, high = ends[0][0], max(ends[0][0], ends[1][1] - 1)
    if isinstance(step, int) and step > 1 and ends[0][0] == ends[0][1]:
        high = low + (high - low) // step * step
    return low, high


def turns(loop: Step) -> int | None:
    """How often a loop turns, if its text says so."""
    lower, upper, step = map(constant, loop.operands[:3])
    if isinstance(lower, int) and isinstance(upper, int) and isinstance(step, int) and step > 0:
        return max(0, -((lower - upper) // step))
    return None


def _counted(w: Writer, loop: Step, number: int, depth: int) -> tuple[int, int] | None:
    """Of an argument of a loop's turns, where each takes a register's lanes off it."""
    (body, *more) = loop.regions[0]
    first, count = interval(w, loop.operands[2 + number], depth - 1), turns(loop)
    last = body.steps[-1]
    if more or last.word != "yield" or first is None or count is None or first[0] < 0:
        return None
    taker = w.relations.giver.get(last.operands[number - 1])
    instr = None if taker is None else taker.instr
    if taker is None or instr is None or not instr.counts or taker.get(instr.operands[0].name) is not body.args[number]:
        return None
    return max(0, first[0] - instr.counts * max(0, count - 1)), first[1]
