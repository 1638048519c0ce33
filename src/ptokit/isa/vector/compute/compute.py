"""Words to define operations on registers with: one call says all that distinguishes the operation.

A word is given the expression of a lane; lanes that the mask leaves out become 0 in the result (vector-path 1.3).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ptokit.diagnostics import Rule
from ptokit.types.dtypes import DType, from_numpy, u32

from ...meaning.expressions import Convert, Element, Expr, Scalar, greater_equal, maximum, select
from ...meaning.sentence import sentence
from ...meaning.words import Lane, Refusal, Write, lane
from ...site import ScalarInfo, Site
from ...table import Instr, Operand
from ...unknown import UNKNOWN, Size
from ..words import Types, mask, micro, number, out_mask, out_vreg, vreg
from .compute_rules import FITS, MASKED, SAME

SRC0, SRC1, SRC = (Element(name) for name in ("src0", "src1", "src"))
SCALAR = Scalar("scalar", "src")
"""The number, in the element type of src."""

Value = Expr | Callable[[Site], Expr]
"""The expression of a lane, or a function that chooses it."""


def number_of(o: Site, name: str) -> Size:
    """A number operand where it is known."""
    info = o.operands.get(name)
    return info.value if isinstance(info, ScalarInfo) else UNKNOWN


def dtype_of(x: np.ndarray) -> DType:
    """The element type of a register that NumPy can compute with."""
    found = from_numpy(x.dtype)
    assert found is not None, x.dtype
    return found


def relu(e: Expr) -> Expr:
    """max(e, 0)."""
    return maximum(e, 0)


def leaky(e: Expr, slope: Expr) -> Expr:
    """``e >= 0 ? e : e * slope``; NaN stays NaN."""
    return select(greater_equal(e, 0), e, e * slope)


def lanewise(text: str, summary: str, operands: tuple[Operand, ...], value: Value, *rules: Rule, **more: Any) -> Instr:
    """One register computed lane by lane from others, all of the type of the first; 0 where the mask is off."""
    first = operands[0].name

    def word(e: Expr) -> Lane:
        return lane(e, over=first, mask="mask")

    meaning = word(value) if isinstance(value, Expr) else lambda o: word(value(o))
    produced = (out_vreg(like=first),)
    return micro(text, summary, (*operands, mask()), produced, None, SAME, MASKED, *rules, meaning=meaning, **more)


def unary(text: str, value: Value, types: Types, *rules: Rule, note: str = "", **more: Any) -> Instr:
    """An operation on one register."""
    summary = more.pop("summary", "") or said(value, note)
    more.setdefault("source", "6.2")
    return lanewise(text, summary, (vreg(),), value, *rules, types=types, **more)


def binary(text: str, value: Value, types: Types, *rules: Rule, note: str = "", **more: Any) -> Instr:
    """Two registers."""
    summary = more.pop("summary", "") or said(value, note)
    more.setdefault("source", "6.3")
    return lanewise(text, summary, (vreg("src0"), vreg("src1")), value, *rules, types=types, **more)


def with_scalar(text: str, value: Expr, types: Types, *rules: Rule, note: str = "") -> Instr:
    """A register and a number in its element type."""
    operands = (vreg(), number("scalar"))
    return lanewise(text, said(value, note), operands, value, FITS, *rules, types=types, source="6.4")


def said(value: Value, note: str) -> str:
    """The sentence of an expression, and what is to be said behind it."""
    assert isinstance(value, Expr)
    return sentence(lane(value)) + (f"; {note}" if note else "")


def with_carry(
    text: str, total: Expr, carry: Expr, summary: str, types: Types, *, carried: bool = False, **more: Any
) -> Instr:
    """Two registers, and the bits carried in if `carried`; a register and the bits carried out.

    ``total`` is computed in 64 bits from lanes of 32 bits; its low half becomes the lane.
    """
    carry_in = (mask("carry_in", optional=False),) if carried else ()
    writes = Write("dst", Convert(total, u32)), Write("carry", carry, packed=True)
    return micro(
        text,
        summary,
        (vreg("src0"), vreg("src1"), *carry_in, mask()),
        (out_vreg(like="src0"), out_mask("carry", bits=32)),
        None,
        SAME,
        MASKED,
        meaning=Lane(writes, over="src0", mask="mask"),
        types=types,
        source="6.4" if carried else "6.3",
        **more,
    )


UNPUBLISHED = Refusal("VEC-A5-08", "no public source says what it computes")
"""The check refuses these before they could run."""
