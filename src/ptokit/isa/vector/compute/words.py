"""Words to define operations on registers with, and their rules (vector-path 8).

A word is given the expression of a lane; lanes that the mask leaves out become 0 in the result (vector-path 1.3).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ptokit.diagnostics import ALL_TARGETS, Rule, family
from ptokit.types.dtypes import DTYPES, DType, dtype, from_numpy, is_dtype, u32

from ...checks.compiling import Message
from ...meaning.expressions import Convert, Element, Expr, Scalar, greater_equal, maximum, select
from ...meaning.footprint import sentence
from ...meaning.words import Lane, Refusal, Write, lane
from ...site import UNKNOWN, MaskInfo, ScalarInfo, Site, Size, VregInfo
from ...table import Instr, Kind, Operand
from ..words import (
    SOURCE,
    VEC_05,
    VEC_06,
    Types,
    mask,
    mask_bits,
    micro,
    number,
    other_mask,
    out_mask,
    out_vreg,
    registers,
    vreg,
)

# Rules of the operations on registers: types, masks, numbers and words (vector-path 8).


rule = family(SOURCE, targets=ALL_TARGETS)


def element_of(o: Site) -> DType | None:
    """The element type an operation works on: of its first register, or of its result if it reads none."""
    return next((info.dtype for _, info in registers(o)), None)


def _granularity(o: Site) -> Message:
    data = next((info for _, info in registers(o)), None)
    if data is None:
        return None
    for _, info in _masks(o):
        if info.bits not in (0, mask_bits(data)):
            message = f"{info.name} is a mask of b{info.bits}; lanes of {data.dtype} have b{mask_bits(data)}"
            return message, other_mask(mask_bits(data))
    return None


def _masks(o: Site) -> Iterator[tuple[str, MaskInfo]]:
    for name, info in o.operands.items():
        if isinstance(info, MaskInfo):
            yield name, info


MASKED = replace(VEC_05, check=_granularity)
"""VEC-A5-05 of operations that may read several masks, and give some."""


def _same(o: Site, *, results: bool = True) -> Message:
    made = {result.name for result in o.instr.produces}
    found = [info for name, info in registers(o) if results or name not in made]
    for info in found[1:]:
        if info.dtype is not found[0].dtype:
            return f"{info.name} has lanes of {info.dtype}, {found[0].name} of {found[0].dtype}"
    return None


SAME = replace(VEC_06, check=_same)
"""VEC-A5-06 of operations whose registers all have one type."""

ALIKE = replace(VEC_06, check=partial(_same, results=False))
"""VEC-A5-06 of operations whose sources have one type, their results another."""


def _fits(o: Site) -> Message:
    found = element_of(o)
    for operand in o.instr.operands:
        info = o.operands.get(operand.name)
        if not isinstance(info, ScalarInfo) or operand.kind is not Kind.SCALAR or operand.type:
            continue  # counts are OPERAND-KIND
        fits = not is_dtype(info.type) or dtype(info.type) is found or (found and _signless(info.type, found))
        if found is not None and not fits:
            return f"{operand.name} is a number of type {info.type}; lanes of {found.text} need {_wanted(found)}"
    return None


def _signless(type: str, found: DType) -> bool:
    """True for iW where lanes of W bits are integers, or 8-bit floats, which have no numbers of their own."""
    return type == f"i{found.bits}" and (found.is_integer or found.bits == 8)


def _wanted(found: DType) -> str:
    return found.text if found.is_float or found.signed else f"{found.text} or i{found.bits}"


FITS = replace(VEC_06, check=_fits)
"""VEC-A5-06 of numbers that meet lanes: of their type, or signless of their width."""


def follows(table: str, result: str = "dst") -> Rule:
    """VEC-A5-06 of a result type that follows from the source: source and result in pairs.

    Sources that the table does not name give their own type.
    """
    words = table.split()
    allowed = [(DTYPES[a], DTYPES[b]) for a, b in zip(words[::2], words[1::2], strict=True)]
    named = {a for a, _ in allowed}

    def check(o: Site) -> Message:
        src, made = element_of(o), o.operands.get(result)
        if src is None or not isinstance(made, VregInfo):
            return None
        wanted = [b for a, b in allowed if a is src] if src in named else [src]
        if made.dtype in wanted:
            return None
        return f"lanes of {src} give {' or '.join(t.name for t in wanted)}, not {made.dtype}"

    return replace(VEC_06, check=check)


VEC_08 = rule(
    "VEC-A5-08",
    """
        pto.vecscope {
        %r = pto.{vintlvv2|vselrv2} %a, %b{, "LOWER"|} : !pto.vreg<64xf32>, !pto.vreg<64xf32> -> !pto.vreg<64xf32>
        }
    """,
    evidence="ptokit",
    on="cpu",
)(
    "The target has the operation or distribution mode, and what it does is published.",
    "any(instr.types.values())",
    "its meaning is not published",
    "target.of(instr.types)",
    "{target.name} does not have it",
)


VEC_17 = rule(
    "VEC-A5-17",
    """
        pto.vecscope {
        %r = pto.vselr %a, %b : !pto.vreg<64xf32>, !pto.vreg<64x{i32|f32}> -> !pto.vreg<64xf32>
        }
    """,
    evidence="ptokit",
)(
    """An index register has integer lanes of the source's width.

    Decision: An index outside the register counts modulo its number of lanes.
    """,
    "index.dtype.is_integer and index.dtype.bits == src.dtype.bits if isinstance(src, VregInfo) and "
    "isinstance(index, VregInfo)",
    "{index.name} has lanes of {index.dtype}; lanes of {src.dtype} are chosen by i{src.dtype.bits} or "
    "ui{src.dtype.bits}",
)


def words_listed(o: Site) -> Message:
    """A message if an attribute is none of the words that the table lists for it."""
    for attr in o.instr.attrs:
        value = o.attrs.get(attr.name)
        if attr.words and value is not None and value not in attr.words:
            return f"there is no {attr.name} '{value}'; known are {', '.join(attr.words)}"
    return None


def worded(rule: Rule) -> Rule:
    """`rule` of attributes that are one of the words the table lists."""
    return replace(rule, check=words_listed)


# Words to define operations on registers with: one call says all that distinguishes the operation.


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
    """The sentence of an expression, and what is to be said after it."""
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
