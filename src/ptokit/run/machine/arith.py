"""Operations of `arith` as Python expressions, in line where numbers are enough."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ptokit.ir.core import Op
from ptokit.ir.facts import scalar_type

from . import scalars

_OPERATORS = {"addi": "+", "subi": "-", "muli": "*"}
_COMPARISONS = {"eq": "==", "ne": "!=", "slt": "<", "sle": "<=", "sgt": ">", "sge": ">="}


def inline(op: Op, args: Sequence[str], *, varying: bool) -> str | None:
    """The expression for operands `args`; None where it takes a function. ``varying``: the result differs by block."""
    name = op.name.removeprefix("arith.")
    result, operand = scalar_type(op.result) or "", scalar_type(op.values[0]) or ""
    if name in _OPERATORS and result == "index":
        fits = f"{-1 << 63} <= (w := {args[0]} {_OPERATORS[name]} {args[1]}) < {1 << 63}"
        if varying:  # by block, as it may be
            fits = f"type(w := {args[0]} {_OPERATORS[name]} {args[1]}) is not int or {-1 << 63} <= w < {1 << 63}"
        return f"w if {fits} else wrapped(w, 64)"
    if name == "index_cast" and {operand, result} == {"i64", "index"}:
        return args[0]
    if varying:
        return None
    if operand == "i1":
        return f"{args[1]} if {args[0]} else {args[2]}" if name == "select" else None
    if name == "cmpi" and op.attrs["predicate"] in _COMPARISONS:
        return f"{args[0]} {_COMPARISONS[op.attrs['predicate']]} {args[1]}"
    if name in ("minsi", "maxsi"):
        return f"{name[:3]}({args[0]}, {args[1]})"
    return None


def function(op: Op) -> Callable[..., Any]:
    """The function of an operation's operands; of one with two results, both of them."""
    name = op.name.removeprefix("arith.")
    if len(op.results) > 1:
        first, second = scalars.extended(name, scalar_type(op.results[0]) or "")
        return lambda *args: (first(*args), second(*args))
    result, operand = scalar_type(op.result) or "", scalar_type(op.values[0]) or ""
    if name in ("cmpi", "cmpf"):
        return scalars.compare(name, op.attrs["predicate"], operand)
    if name == "select":
        return scalars.select(result)
    if name == "negf":
        return scalars.negate(result)
    if name in scalars.INTEGER or name in scalars.FLOAT:
        return scalars.binary(name, result)
    return scalars.cast(name, operand, result, op.attrs.get("rounding", ""))
