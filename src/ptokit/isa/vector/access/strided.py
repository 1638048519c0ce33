"""Loads and stores of blocks and elements that lie apart, gathers and scatters (vector-path 4.5, 4.6)."""

from __future__ import annotations

from dataclasses import replace

from ptokit.diagnostics import ALL_TARGETS, define, family
from ptokit.types.dtypes import DType, dtype, i64, u8

from ...checks.compiling import Message
from ...meaning.expressions import (
    Bit,
    Const,
    Convert,
    Element,
    Expr,
    Fetched,
    Index,
    Place,
    Scalar,
    Stored,
    apply,
    lane,
    less,
    select,
)
from ...meaning.words import Advance, Lane, Need, Write
from ...site import Site, VregInfo
from ...table import Operand, Role
from ..registers import VREG_BYTES
from ..words import SOURCE, VEC_05, at, mask, mask_bits, micro, number, out_vreg, token, types, ub, vreg, wrong_mask
from .load_store import UPDATED, known_token, updated

# Loads and stores of blocks and elements that lie apart (vector-path 4.5).


rule = family("vector-path 4.5, 8", targets=ALL_TARGETS)

BLOCK = 32

define(
    "VEC-A5-15",
    "The predicate of a block access is the same for all lanes of a block of 32 bytes.",
    source=SOURCE,
    decision="The first byte of a block decides; reported when the sanitizer sees such a predicate.",
    example="""
        // ptokit sanitize
        %z = arith.constant 0 : i64
        %n = arith.constant 64 : index
        %p = pto.castptr %z : i64 -> !pto.ptr<f32, ub>
        pto.vecscope {
          %m = pto.pset_b32 "PAT_ALL" : !pto.mask<b32>
          %v = pto.vbr %x : f32 -> !pto.vreg<64xf32>
          %s = arith.constant 1 : i16
          %d = pto.pset_b32 "PAT_VL{8|4}" : !pto.mask<b32>
          pto.vsstb %v, %p, %s, %s, %d : !pto.vreg<64xf32>, !pto.ptr<f32, ub>, i16, i16, !pto.mask<b32>
        }
    """,
    evidence="document",
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
    "Load 8 blocks of 32 bytes at a stride: block b from 32 (repeat stride + b block stride) bytes after the pointer.",
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


VEC_09 = rule(
    "VEC-A5-09",
    """
        pto.vecscope {
        %r = pto.vsld %p[%i]{|, "STRIDE_S3_B16"} : !pto.ptr<f32, ub> -> !pto.vreg<64xf32>
        }
    """,
    evidence="document",
)(
    """
    vsld and vsst have no stride, or one that means what ptokit takes it for.

    Decision: STRIDE_Ss_Bx takes every s-th element of x bits; no public source states the address pattern.
    """,
    "stride is None",
    "what {instr.name} with {stride} addresses is published nowhere",
)


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


# Gathers and scatters within the unified buffer (vector-path 4.6).


rule = family("vector-path 4.6, 8", targets=ALL_TARGETS)

GATHER_BLOCK, BLOCKS = 32, 8

_SELECTION: tuple[Operand, ...] = (mask(), number("active_lanes", "index", optional=True))
"""A predicate, or how many of the first lanes take part."""


@rule(
    "VEC-A5-11",
    "pto.vecscope {\n"
    "%r = pto.vgather2 %p, %w, %m : !pto.ptr<f32, ub>, !pto.vreg<{64xi32|128xi16}>, !pto.mask<b32> -> "
    "!pto.vreg<64xf32>\n"
    "}",
    evidence="ptokit",
)
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
    example="""
        // ptokit sanitize
        %z = arith.constant 0 : i64
        %n = arith.constant 64 : index
        %p = pto.castptr %z : i64 -> !pto.ptr<f32, ub>
        pto.vecscope {
          %m = pto.pset_b32 "PAT_ALL" : !pto.mask<b32>
          %v = pto.vbr %x : f32 -> !pto.vreg<64xf32>
          %e = arith.constant 0 : i32
          %d = pto.{vci %e : i32|vdup %e, %m : i32, !pto.mask<b32>} -> !pto.vreg<64xi32>
          pto.vscatter %v, %p, %d, %m : !pto.vreg<64xf32>, !pto.ptr<f32, ub>, !pto.vreg<64xi32>, !pto.mask<b32>
        }
    """,
    evidence="document",
)


def _lanes_let_in(o: Site, width: int) -> Expr | None:
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
    found: Expr = Fetched("src", held, _offset(o, lane()), _lanes_let_in(o, kind.size))
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
    found = Fetched(
        "src", u8, _offset(o, lane()), _lanes_let_in(o, 4), unit=1, run=GATHER_BLOCK, alignment=GATHER_BLOCK
    )
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
    write = Write("dst", value, place=_offset(o, lane()), where=_lanes_let_in(o, apart), apart="VEC-A5-10")
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
