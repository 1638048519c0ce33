"""In which order elements become one: the stages of a fold.

Every order is written once for all that can be sliced: arrays (along their first axis), lists of registers, lanes of
registers.

``op`` combines two of one length, item by item, or two items. `FORWARD` wants the number it starts with; `NEIGHBOURS`
and `HALVES` a power of two of elements.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any, Literal

from ptokit.records import dataclass
from ptokit.types.dtypes import DType


class Order(Enum):
    """In which order elements x[0] … x[n-1] become one."""

    ANY = "any"
    """The result does not depend on it: integers wrap, a maximum or minimum is the same in every order."""
    FORWARD = "forward"
    """((start op x[0]) op x[1]) op …, where start is +0 of a sum, which is therefore never -0, and 1 of a product."""
    FROM_FIRST = "from the first"
    """((x[0] op x[1]) op x[2]) op …"""
    PAIRS = "pairs"
    """((x[0] op (x[1] op x[2])) op (x[3] op x[4])) op …; the last one of an even number is taken alone."""
    NEIGHBOURS = "neighbours"
    """Neighbours x[0] op x[1], x[2] op x[3], … until one is left; +0, or 1, in the place of elements that are missing
    to the next power of two.
    """
    HALVES = "halves"
    """x[k] op x[k + n/2] for the first half, until one is left. n is a power of two."""
    TREE_ODD_FIRST = "tree, odd to the first"
    """As `NEIGHBOURS`, but of an odd number the last one goes to the first result."""
    TREE_ODD_LAST = "tree, odd to the last"
    """The same, but of an odd number the last one goes to the last result; a single element to +0."""
    TREE_OF_REPEATS = "tree of repeats"
    """As `TREE_ODD_FIRST` in the first level, then as `TREE_ODD_LAST`. Runs only: a last one that is shorter takes no
    part in the tree; after the first level it goes to the first result.
    """
    TWO_ACCUMULATORS = "two accumulators"
    """Sums with two accumulators a[0] and a[1], which start as +0, for l = 0 and 1.

    While eight or more elements are left, x the next of them: ``a[l] = ((x[l] + x[l+2]) + (x[l+4] + x[l+6])) + a[l]``.
    Then, while any are left, x the next two (+0 for a missing one): ``a[l] = a[l] + x[l]``. The sum is ``a[0] + a[1]``.
    """


@dataclass(frozen=True, slots=True)
class Stage:
    """A step of a fold: elements become fewer, in a stated order.

    All of them become one; with `run` every `run` of them, with +0, or 1 of a product, for those that the last run
    lacks. ``across``: runs become one run, each lane of it from the lanes that the runs have there.

    Each value is converted to `accumulator` (``"f64"`` is binary64, None its own type), where the operations are
    made, each rounded to it; what the stage gives is rounded to the type of the elements.
    """

    order: Order = Order.ANY
    run: int = 0
    across: bool = False
    accumulator: DType | Literal["f64"] | None = None


Op = Callable[[Any, Any], Any]


def combined(order: Order, x: Any, op: Op, start: Any = None) -> Any:
    """The one that x[0], x[1], … become."""
    match order:
        case Order.FORWARD:
            return _forward(op(start, x[0]), x[1:], op)
        case Order.FROM_FIRST:
            return _forward(x[0], x[1:], op)
        case Order.PAIRS:
            total, last = x[0], len(x) - 1
            for k in range(1, last, 2):
                total = op(total, op(x[k], x[k + 1]))
            return op(total, x[last]) if last % 2 else total
        case Order.NEIGHBOURS:
            while len(x) > 1:
                x = op(x[::2], x[1::2])
            return x[0]
        case Order.HALVES:
            while len(x) > 1:
                half = len(x) // 2
                x = op(x[:half], x[half:])
            return x[0]
        case Order.TREE_ODD_FIRST:
            return _tree(x, op, 0)
        case Order.TREE_ODD_LAST:
            return op(x[0], start) if len(x) == 1 else _tree(x, op, -1)
    raise ValueError(order)


def of_repeats(x: Any, op: Op, rest: Any = None) -> Any:
    """`Order.TREE_OF_REPEATS` of whole runs; ``rest``: the last one that is shorter."""
    if len(x) == 0:
        return rest
    level = _level(x, op, 0) if len(x) > 1 else x
    if rest is None:
        return _tree(level, op, -1)
    first = op(level[0], rest)
    if len(level) == 1:
        return first
    level[0] = first
    return _tree(level, op, -1)


def _forward(total: Any, x: Any, op: Op) -> Any:
    for value in x:
        total = op(total, value)
    return total


def _tree(x: Any, op: Op, odd: int) -> Any:
    while len(x) > 1:
        x = _level(x, op, odd)
    return x[0]


def _level(x: Any, op: Op, odd: int) -> Any:
    """Neighbours combined; ``odd``: the result that the last one of an odd number goes to, 0 or -1."""
    made = op(x[:-1:2], x[1::2])
    if len(x) % 2:
        made[odd] = op(made[odd], x[-1])
    return made
