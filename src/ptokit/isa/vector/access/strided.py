"""Loads and stores of blocks and elements that lie apart (vector-path 4.5)."""

from __future__ import annotations

from ptokit.diagnostics import ALL_TARGETS, define, family
from ptokit.types.dtypes import DType, dtype, i64, u8

from ...checks.operands import Message
from ...meaning.expressions import Bit, Const, Element, Expr, Fetched, Place, Scalar, Stored, apply, lane, select
from ...meaning.words import Advance, Lane, Need, Write
from ...site import Site
from ...table import Role
from ..lanes import VREG_BYTES
from ..rules import SOURCE
from ..words import at, mask, micro, number, out_vreg, token, ub, vreg
from .access_rules import known_token
from .posting import UPDATED, updated

rule = family("vector-path 4.5, 8", targets=ALL_TARGETS)

BLOCK = 32

define(
    "VEC-A5-15",
    "The predicate of a block access is the same for all lanes of a block of 32 bytes.",
    source=SOURCE,
    decision="The first byte of a block decides; reported when the sanitizer sees such a predicate.",
    accepted='pto.pset_b32 "PAT_VL8" for one block of f32',
    rejected='pto.pset_b32 "PAT_VL4"',
)


def _signed16(value: Expr) -> Expr:
    return ((value & 0xFFFF) ^ 0x8000) - 0x8000


def _places(o: Site) -> Expr:
    """Bytes from the pointer to each block. One number is a control word of both strides.

    Where the pointer is advanced by the repeat stride, that is the step, and the access is at the pointer itself.
    """
    block: Expr = Scalar("block_stride", i64)
    repeat: Expr = Scalar("repeat_stride", i64)
    if UPDATED in o.operands:
        return Place(i64) * block * BLOCK
    if not o.has("repeat_stride"):
        block, repeat = _signed16(block >> 16), _signed16(block)
    return (repeat + Place(i64) * block) * BLOCK


def _of_blocks(o: Site, pointer: str, size: int, write: Write) -> Lane:
    """An access to blocks; the first bit of the predicate in a block decides, and the others are to be the same."""
    needs: tuple[Need, ...] = ()
    if o.has("mask"):
        width = min(size, 4)
        lanes = BLOCK // width
        own, first = Bit("mask", width=width), Bit("mask", lane(over=lanes), BLOCK)
        same = select(apply("eq", own, first), Const(1, Place(i64)), Const(0, Place(i64)))
        message = "the predicate differs between lanes of one block of 32 bytes"
        needs = (Need(same, 1, 2, "VEC-A5-15", message, lanes=VREG_BYTES // width, remark=True),)
    advances: tuple[Advance, ...] = ()
    if UPDATED in o.operands:
        advances = (Advance(UPDATED, pointer, "repeat_stride" if o.has("repeat_stride") else "", BLOCK),)
    return Lane((write,), lanes=VREG_BYTES, advances=advances, needs=needs)


def _let_in(o: Site) -> Expr | None:
    return Bit("mask", width=BLOCK) if o.has("mask") else None


def _blocks_loaded(o: Site) -> Lane:
    found = Fetched("src", u8, _places(o), _let_in(o), unit=1, run=BLOCK, alignment=BLOCK)
    return _of_blocks(o, "src", o.dst.dtype.size, Write("dst", found))


def _blocks_stored(o: Site) -> Lane:
    value = Element("value", dtype=u8)
    write = Write("dst", value, place=_places(o), where=_let_in(o), unit=1, run=BLOCK, alignment=BLOCK)
    return _of_blocks(o, "dst", o.value.dtype.size, write)


_STRIDES = (number("block_stride", "i16"), number("repeat_stride", "i16", optional=True))
VSLDB = micro(
    "vsldb",
    "Load 8 blocks of 32 bytes at a stride: block b from 32 (repeat stride + b block stride) bytes behind the pointer.",
    (ub(), *_STRIDES, mask()),
    (out_vreg(like="src"), updated("src")),
    None,
    meaning=_blocks_loaded,
    source="4.5",
)
VSSTB = micro(
    "vsstb",
    "Store 8 blocks of 32 bytes at a stride.",
    (vreg("value"), ub("dst", Role.OUT), *_STRIDES, mask()),
    (updated("dst"),),
    None,
    meaning=_blocks_stored,
    source="4.5",
)

STRIDES = {"STRIDE_S3_B16": (3, 2), "STRIDE_S4_B64": (4, 8), "STRIDE_S8_B32": (8, 4), "STRIDE_S2_B64": (2, 8)}
"""Step and bytes of an element, by token."""


@rule("VEC-A5-09", "pto.vsld %p[%i]", 'pto.vsld %p[%i], "STRIDE_S3_B16"')
def VEC_09(o: Site) -> Message:
    """vsld and vsst have no stride, or one that means what ptokit takes it for.

    Decision: STRIDE_Ss_Bx takes every s-th element of x bits; no public source states the address pattern.
    """
    return None if o.stride is None else f"what {o.instr.name} with {o.stride} addresses is published nowhere"


_RULES = (known_token(STRIDES, "stride"), VEC_09)


def _strided(o: Site) -> tuple[DType, Expr | None]:
    """The unit that is moved, and the places of its elements where they lie apart."""
    if o.stride is None:
        return u8, None
    step, width = STRIDES[o.stride]
    return dtype(f"u{8 * width}"), Place(i64) * step


def _loaded(o: Site) -> Lane:
    unit, place = _strided(o)
    plain = Stored("src", unit, VREG_BYTES, BLOCK)
    found = plain if place is None else Fetched("src", unit, place, offset="offset")
    return Lane((Write("dst", found),), lanes=VREG_BYTES // unit.size)


VSLD = micro(
    "vsld",
    "Load elements at a fixed stride; without a stride as vlds does.",
    (ub(), at()),
    (out_vreg(like="src"),),
    None,
    *_RULES,
    meaning=_loaded,
    attrs=(token("stride", words=STRIDES, optional=True),),
    source="4.5",
)


def _stored(o: Site) -> Lane:
    unit, place = _strided(o)
    value = Element("value", dtype=unit)
    write = Write("dst", value, offset="offset", alignment=BLOCK if place is None else unit.size, place=place)
    return Lane((write,), lanes=VREG_BYTES // unit.size)


VSST = micro(
    "vsst",
    "Store elements at a fixed stride; without a stride as vsts does with all lanes active.",
    (vreg("value"), ub("dst", Role.OUT), at()),
    (),
    None,
    *_RULES,
    meaning=_stored,
    attrs=(token("stride", words=STRIDES, optional=True),),
    source="4.5",
)
