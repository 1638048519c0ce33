"""Operations on the bits of elements, whatever numbers they are."""

from __future__ import annotations

from collections.abc import Callable

from ptokit.types.dtypes import dtype

from ..site import Site
from .expressions import Expr, Reinterpret


def on_bits(fn: Callable[..., Expr], first: str, *values: Expr) -> Callable[[Site], Expr]:
    """`fn` of the bits of `values`, all in the element type of the operand `first`, and so is the result."""

    def meaning(o: Site) -> Expr:
        element = o.operands[first].dtype  # type: ignore[union-attr]
        if element.is_integer:
            return fn(*values)
        bits = dtype(f"u{element.bits}")
        return Reinterpret(fn(*(Reinterpret(value, bits) for value in values)), first)

    return meaning
