"""Conversions of logical vectors, whose elements may be pairs of numbers."""

from __future__ import annotations

from collections.abc import Callable

from ptokit.types.dtypes import SINGLES, f32, u8, u16
from ptokit.types.dtypes import dtype as named

from ..meaning.expressions import Const, Convert, Element, Expr, Place, Reinterpret, equal, lane, select
from ..meaning.words import Lane
from ..numerics.rounding import LETTERS
from ..site import Site
from .words import over


def converted(o: Site) -> Lane:
    """Numbers rounded once; without saturation integers keep their low bits. NaN saturates to 0."""
    source, to = o.source.dtype, o.result.dtype
    one, other = (SINGLES.get(t, t) for t in (source, to))
    paired = source in SINGLES or to in SINGLES
    saturate = o.attrs.get("saturate") == "SAT"
    mode = LETTERS[o.attrs.get("rounding") or "R"]

    def cast(x: Expr) -> Expr:
        if saturate and other.is_float and one.is_float:
            x = Convert(x, f32) if one.value is None else x
            x = select(equal(x, x), x, Const(0, x))
        return x if one is other else Convert(x, other, mode, saturate)

    def single(step: int, first: int) -> Expr:
        """Numbers `first`, `first` + `step`, … of the source."""
        if one.bits > 4:
            return Element("source", lane(step, first), one)
        if step == 1:
            byte = Element("source", lane(over=2), u8)
            return Reinterpret(select(equal(Place(u16) & 1, 1), byte >> 4, byte & 15), one)
        byte = Element("source", dtype=u8)
        return Reinterpret(byte >> 4 if first else byte & 15, one)

    if not paired:
        return over(cast(Element("source")))
    lanes = 2 * o.result.lanes
    if other.bits > 4:
        return over(cast(single(1, 0)), lanes=lanes)
    low, high = (Reinterpret(cast(single(2, first)), u8) for first in (0, 1))
    return over(low | high << 4, lanes=lanes // 2)


def extended(kind: str) -> Callable[[Site], Lane]:
    """Integers as wider ones, filled with zeros (``u``) or the sign (``i``)."""

    def meaning(o: Site) -> Lane:
        bits = Reinterpret(Element("source"), named(f"{kind}{o.source.dtype.bits}"))
        return over(Reinterpret(Convert(bits, named(f"{kind}{o.result.dtype.bits}")), o.result.dtype))

    return meaning
