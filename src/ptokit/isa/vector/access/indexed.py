"""Gathers and scatters within the unified buffer (vector-path 4.6)."""

from __future__ import annotations

from dataclasses import replace

from ptokit.diagnostics import ALL_TARGETS, define, family
from ptokit.types.dtypes import dtype, i64, u8

from ...checks.operands import Message
from ...meaning.expressions import Bit, Convert, Element, Expr, Fetched, Index, Place, Scalar, lane, less
from ...meaning.words import Lane, Write
from ...site import Site, VregInfo
from ...table import Operand, Role
from ..lanes import VREG_BYTES
from ..rules import VEC_05, mask_bits, wrong_mask
from ..words import mask, micro, number, out_vreg, types, ub, vreg

rule = family("vector-path 4.6, 8", targets=ALL_TARGETS)

BLOCK, BLOCKS = 32, 8

_SELECTION: tuple[Operand, ...] = (mask(), number("active_lanes", "index", optional=True))
"""A predicate, or how many of the first lanes take part."""


@rule("VEC-A5-11", "64xi32 offsets for 64xf32", "128xi16 offsets for 64xf32")
def VEC_11(o: Site) -> Message:
    """A gather or scatter has an integer offset for each lane, and lanes of the memory's width; bytes take 16 bits."""
    data = o.dst if "dst" in {r.name for r in o.instr.produces} else o.value
    offsets = o.offsets
    if not isinstance(offsets, VregInfo) or not isinstance(data, VregInfo):
        return None
    if o.instr.produces:
        held = o.src.dtype
        if data.dtype.bits == 8:
            return f"elements of {data.dtype} cannot be gathered; those of bytes go to 16-bit integers"
        if data.dtype.bits != held.bits and (held.bits, data.dtype.bits, data.dtype.is_integer) != (8, 16, True):
            return f"elements of {held} are not gathered into lanes of {data.dtype}"
    lanes = data.lanes // 2 if data.dtype.bits == 8 else data.lanes  # every second byte is scattered
    if not offsets.dtype.is_integer or offsets.lanes != lanes:
        return (
            f"{data.lanes} lanes of {data.dtype} need {lanes} offsets of an integer type, "
            f"not {offsets.lanes} of {offsets.dtype}"
        )
    return None


def _block_offsets(o: Site) -> Message:
    offsets = o.offsets
    if isinstance(offsets, VregInfo) and (not offsets.dtype.is_integer or offsets.dtype.bits != 32):
        return f"offsets of blocks are 32-bit integers, not {offsets.dtype}"
    return None


define(
    "VEC-A5-10",
    "Active lanes of a scatter write to different elements.",
    source="vector-path 4.6, 8",
    why="Which lane wins is for the target to say: the lowest one on cpu and a5.",
    decision="Reported when a run sees it.",
    accepted="offsets 3, 1, 2",
    rejected="offsets 3, 3",
)


def _let_in(o: Site, width: int) -> Expr | None:
    """The lanes of `width` bytes that take part."""
    if o.has("active_lanes"):
        return less(Place(i64), Scalar("active_lanes", i64))
    return Bit("mask", width=width) if o.has("mask") else None


def _offset(o: Site, at: Index) -> Expr:
    """Offsets are numbers without a sign."""
    return Convert(Element("offsets", at, dtype(f"u{o.offsets.dtype.bits}")), i64)


def _gathered(o: Site) -> Lane:
    """Bytes are extended with zeros."""
    kind, held = (dtype(f"u{8 * d.size}") for d in (o.dst.dtype, o.src.dtype))
    found: Expr = Fetched("src", held, _offset(o, lane()), _let_in(o, kind.size))
    return Lane((Write("dst", found if held is kind else Convert(found, kind)),), lanes=VREG_BYTES // kind.size)


_DATA = types("i16 u16 f16 bf16 i32 u32 f32 i8 u8 i64 u64")
for _name, _note in (("vgather2", ""), ("vgather2_bc", ", as older programs write it")):
    micro(
        _name,
        f"Load the elements that a register of offsets chooses, bytes as 16 bits, 0 in inactive lanes{_note}.",
        (ub(), vreg("offsets"), *_SELECTION),
        (out_vreg(like="src"),),
        None,
        replace(VEC_05, check=lambda o: wrong_mask(o, mask_bits(o.dst))),
        VEC_11,
        meaning=_gathered,
        types=_DATA,
        source="4.6",
    )


def _blocks(o: Site) -> Lane:
    found = Fetched("src", u8, _offset(o, lane()), _let_in(o, 4), unit=1, run=BLOCK, alignment=BLOCK)
    return Lane((Write("dst", found),), lanes=VREG_BYTES)


VGATHERB = micro(
    "vgatherb",
    "Load 8 blocks of 32 bytes at the byte offsets in the first 8 lanes; lane b of a 32-bit predicate lets block b in.",
    (ub(), vreg("offsets"), *_SELECTION),
    (out_vreg(like="src"),),
    None,
    replace(VEC_05, check=lambda o: wrong_mask(o, 32)),
    replace(VEC_11, check=_block_offsets),
    meaning=_blocks,
    source="4.6",
)


def _scattered(o: Site) -> Lane:
    """Of bytes every second one."""
    kind = dtype(f"u{o.value.dtype.bits}")
    apart = max(kind.size, 2)  # bytes from one lane that is scattered to the next
    value = Element("value", lane(apart // kind.size), kind)
    write = Write("dst", value, place=_offset(o, lane()), where=_let_in(o, apart), apart="VEC-A5-10")
    return Lane((write,), lanes=VREG_BYTES // apart)


VSCATTER = micro(
    "vscatter",
    "Store active lanes to the elements that a register of offsets chooses, of bytes every second one; "
    "of two at one place the lowest lane wins.",
    (vreg("value"), ub("dst", Role.OUT), vreg("offsets"), *_SELECTION),
    (),
    None,
    replace(VEC_05, check=lambda o: wrong_mask(o, max(16, o.value.dtype.bits))),
    VEC_11,
    meaning=_scattered,
    types=types("i8 u8 i16 u16 f16 bf16 i32 u32 f32"),
    source="4.6",
)
