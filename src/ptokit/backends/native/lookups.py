"""Tables with an entry for every code of a type of at most 16 bits: functions, and conversions of small floats.

A conversion of f32 to a type of at most 8 bits goes by way of bf16 with the lost bits made odd: those types have fewer
bits of fraction than bf16 by two at least, so that rounding it once more gives what rounding f32 at once would.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ptokit.isa.numerics.convert import conversion_table
from ptokit.isa.numerics.unary import table16
from ptokit.types.dtypes import DTYPES, DType
from ptokit.types.enums import RoundMode

from . import maths
from .elements import storage
from .primitives import Elements, Maker

_CONVERT = "convert"
_WIDE = DTYPES["bf16"]


def table_of(name: str, *of: Any) -> np.ndarray:
    """The table of a function of a 16-bit type, or of a conversion: source, target, rounding, saturation."""
    return conversion_table(*of) if name == _CONVERT else table16(name, *of)


def by_table(source: DType, target: DType) -> bool:
    """True for conversions of and to floats of at most 8 bits."""
    small = [t.is_float and t.bits <= 8 for t in (source, target)]
    narrows = source.name == "f32" and target.name != "e8m0"  # whose limits are no numbers of bf16
    return any(small) and (source.size <= 2 or narrows) and not (source.packed and target.packed)


def converted(m: Maker, source: DType, target: DType, rounding: RoundMode, saturate: bool, x: Elements) -> Elements:
    """Elements converted by a table."""
    codes, of = x.narrow, source
    if source.name == "f32":
        codes, of = _odd(m, codes), _WIDE
    entry, index = storage(target), f"i{8 * of.size}"
    table = m.tables(_CONVERT, of, target, rounding, saturate)
    return m.narrow(target, maths.looked_up(m.code, m.n, table, codes, index, entry))


def _odd(m: Maker, x: str) -> str:
    """The upper halves of f32 numbers, odd where bits are lost."""
    i, h = m.type("i32"), m.type("i16")
    bits = m.value(f"bitcast {m.type('float')} {x} to {i}")
    low = m.value(f"and {i} {bits}, {m.same('i32', 0xFFFF)}")
    lost = m.value(f"icmp ne {i} {low}, {m.same('i32', 0)}")
    high = m.value(f"lshr {i} {bits}, {m.same('i32', 16)}")
    upper = m.value(f"trunc {i} {high} to {h}")
    sticky = m.value(f"zext {m.type('i1')} {lost} to {h}")
    return m.value(f"or {h} {upper}, {sticky}")
