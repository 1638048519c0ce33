"""Comparisons into packed masks, and selection by mask (compute-elementwise 2, 3.5 and 5)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from ptokit.diagnostics import family
from ptokit.diagnostics.finding import Change
from ptokit.diagnostics.rules import need
from ptokit.targets import A2A3, Target
from ptokit.types.enums import CmpMode

from ..checks.compiling import Message
from ..checks.tiles import assembler_rule
from ..machine import Machine, TileOperand
from ..meaning.expressions import (
    Axis,
    Bit,
    Element,
    Expr,
    Index,
    Scalar,
    equal,
    greater,
    greater_equal,
    less,
    less_equal,
    select,
    unequal,
)
from ..meaning.words import Lane, Python, Write
from ..numerics.arith import element
from ..operands import (
    ASM_8,
    ASM_16,
    ASM_I32_F,
    ASM_INT,
    BF16,
    BITS,
    FB,
    FIRST_SOURCE,
    I8,
    I32_F32,
    INT16_32,
    N11,
    F,
    Kind,
    types,
    types_of,
)
from ..scratch import EW_10, EW_10_APART, EW_11_SEL, EW_11_SELS, on_a2a3
from ..site import Site, TileInfo
from ..table import Access, Attr, TextForm, derived_footprint, dst, scalar, src, tmp
from .text_rules import EW_AS_12, EW_AS_13
from .vector_unit import (
    EW_01,
    EW_02,
    EW_03,
    EW_06,
    EW_07,
    EW_1,
    EW_A5_01,
    EW_CPU_01,
    SCALAR,
    SRC,
    SRC0,
    SRC1,
    computed,
    vector,
)

# Rules of TCMP, TCMPS, TSEL and TSELS (compute-elementwise 2 and 5).


SOURCE = "compute-elementwise 2"
rule = family(f"{SOURCE}.3")


def compared(o: Site) -> TileInfo:
    """The first compared tile: its valid region is the domain."""
    found: TileInfo = o.operands[o.instr.typed_operand]  # type: ignore[assignment]
    return found


@rule(
    "EW-CMP-01",
    "TCMP(Tile(Vec, u8, 16, 32), Tile(Vec, f32, 16, 64), Tile(Vec, {f32|f16}, 16, 64))",
    source=f"{SOURCE}.1, 3.5, 5",
    evidence="static_assert device assertion",
)
def EW_CMP_01(o: Site) -> Message:
    """Compared tiles have one type and valid region; dst is an integer mask with a bit for each column.

    Decision: u8, i8 and u32 masks on a5 and cpu (also u16 on cpu), u8 and i8 on a2a3.
    """
    a = compared(o)
    if o.has_operand("src1"):
        b = o.src1
        if b.dtype is not a.dtype:
            return f"{o:src0} has element type {a.dtype}, {o:src1} has {b.dtype}"
        if b.vr != a.vr or b.vc != a.vc:
            return f"{o:src0} has valid region {a.vr}x{a.vc}, {o:src1} has {b.vr}x{b.vc}"
    number = o.operands.get("scalar")
    if isinstance(number, TileInfo) and number.dtype is not a.dtype:
        return f"{o:src} has element type {a.dtype}, {o:scalar} has {number.dtype}"
    allowed = ("u8", "i8") if o.target.is_a(A2A3) else ("u8", "i8", "u32", "u16")
    if o.dst.dtype.name not in allowed:
        hint = f"give {o.dst.name} elements of u8: it holds a bit for each column"
        message = f"{o:dst} has element type {o.dst.dtype}; a mask is {' or '.join(allowed)}"
        return message, Change(hint, o.dst.dtype.name, "u8", of="dst")
    if o.dst.cols * o.dst.dtype.bits < a.vc:
        return f"{o:dst} has {o.dst.cols * o.dst.dtype.bits} bits per row, {a.vc} columns are compared"
    return None


def _written(a: TileInfo, on: Target) -> int | None:
    """Mask bytes that a device writes per row (section 5)."""
    if not isinstance(a.vc, int):
        return None
    size = a.dtype.size
    if on.is_a(A2A3):
        return -(-a.vc * size // 256) * (32 // size)
    if size == 8:
        return 32
    return -(-a.vc // 256) * 32 if size == 1 else -(-a.vc // 128) * 16


EW_A3_03 = rule(
    "EW-A3-03",
    "t = Tile(Vec, f32, 16, {64|320}); TCMP(Tile(Vec, u8, 16, 32), t, t)",
    source=f"{SOURCE}.2",
    evidence="device",
)(
    "A mask row holds the whole repeats that a2a3 writes.",
    "need = _written(compared(o), A2A3)",
    "dst.cols >= need if need is not None",
    "{dst} has {dst.cols} bytes per row; a2a3 writes {need}",
)

EW_A5_06 = rule("EW-A5-06", "t = Tile(Vec, f32, 16, {64|320}); TCMP(Tile(Vec, u8, 16, 32), t, t)", evidence="device")(
    "A mask row is a multiple of 4 bytes and holds what a5 writes.",
    "row = dst.cols * dst.dtype.size",
    "need = _written(compared(o), A5)",
    "row % 4 == 0 and (need is None or row >= need)",
    "{dst} has {row} bytes per row; a5 needs a multiple of 4, at least {need}",
)


_WITH_U32 = ("i8", "u8", "i16", "u16", "i32", "u32", "f16", "bf16", "f32")
"""Types that cpu compares into masks of u32."""

EW_CPU_04 = rule(
    "EW-CPU-04",
    "t = Tile(Vec, {f32|i16}, 16, 64); TCMP(Tile(Vec, u8, 16, 32), t, t)",
    source=f"{SOURCE}, 3.7",
    evidence="static_assert",
)(
    "TCMP on cpu: u8 mask with i32 f16 f32, or u32 mask with 8- to 32-bit types; equal valid rows.",
    "d = dst.dtype.name",
    "s = src0.dtype.name",
    "d == 'u8' and s in ('i32', 'f16', 'f32') or d == 'u32' and s in _WITH_U32",
    "TCMP on cpu has no {s} into {d} form; u8 takes i32 f16 f32, u32 takes {' '.join(_WITH_U32)}",
    need("dst.vr == src0.vr"),
)


EW_AS_07 = assembler_rule(
    "EW-AS-07",
    "pto.tcmp ins(%t, %t : !pto.tile_buf<vec, 16x64xf32>, !pto.tile_buf<vec, 16x64xf32>) "
    "outs(%a : !pto.tile_buf<vec, {16x64xui8|16x32xui8}>)",
    source=f"{SOURCE}.4",
)(
    "tcmp: dst is an 8-bit integer tile; on a5 all shapes are equal.",
    "dst.dtype.bits == 8",
    "{dst} has element type {dst.dtype}; the assembler wants an 8-bit integer",
    "(t.rows, t.cols) == (dst.rows, dst.cols) for t in data if target.is_a(A5) and src1 is not None",
    "{t} is {t.rows}x{t.cols}, {dst} is {dst.rows}x{dst.cols}",
)


_BOTH = (
    EW_01,
    EW_02,
    EW_03,
    EW_06,
    EW_10_APART,
    EW_1,
    EW_CMP_01,
    rule(
        "EW-A3-01",
        "t = Tile(Vec, i32, 16, 64); TCMP(Tile(Vec, u8, 16, 32), t, t, cmp=CmpMode.{NE|LT})",
        source=f"{SOURCE}.2",
        evidence="legal",
    )(
        """i32 comparisons are EQ or NE on a2a3.

        Decision: The executor compares as the mode says.
        """,
        "cmp in (CmpMode.EQ, CmpMode.NE) if compared(o).dtype.name == 'i32'",
        "i32 comparisons on a2a3 know EQ and NE; {cmp.name} yields EQ",
    ),
)
TILE_RULES = (
    *_BOTH,
    EW_A3_03,
    rule(
        "EW-A5-02",
        "TCMP(Tile(Vec, u8, 16, 32), Tile(Vec, f32, 16, 64), Tile(Vec, f32, 16, {64|128}))",
        evidence="device",
    )(
        "TCMP of 4-byte types has equal columns in both sources on a5.",
        need("src0.cols == src1.cols if src0.dtype.size == 4", "; a5 swaps their pitches"),
    ),
    EW_A5_06,
    EW_CPU_04,
    EW_AS_07,
)
"""Rules of TCMP."""

SCALAR_RULES = (
    *_BOTH,
    rule(
        "EW-A3-02",
        "TCMPS(Tile(Vec, u8, 16, 32), Tile(Vec, {f16|i16}, 16, 64), 1)",
        source=f"{SOURCE}.2",
        evidence="legal",
    )(
        """TCMPS compares 16-bit integers as f16 bit patterns on a2a3.

        Decision: The executor compares integers.
        """,
        "compared(o).dtype.name not in ('i16', 'u16')",
        "{compared(o).dtype} is compared as if its bits were f16 on a2a3",
    ),
    EW_A3_03,
    EW_A5_06,
    EW_AS_07,
)
"""Rules of TCMPS."""

# Selection -----------------------------------------------------------------------------------------------------------


EW_A5_03 = rule(
    "EW-A5-03", "t = Tile(Vec, f32, 16, 64); TSEL(t, Tile(Vec, {u8|u32}, 16, {32|8}), t, t)", evidence="device"
)(
    "The mask of TSEL has 1-byte elements on a5.",
    "mask.dtype.size == 1 if dst.dtype.size < 8",
    "{mask} has element type {mask.dtype}; TSEL on a5 takes its pitch in bytes and needs 1-byte elements",
)

EW_A5_04 = rule(
    "EW-A5-04",
    "t = Tile(Vec, i8, 16, {256|320}); TSEL(t, Tile(Vec, u8, 16, 64), t, t, Tile(Vec, u8, 16, 32))",
    evidence="device",
)(
    "TSEL of 1-byte elements has at most 256 valid columns on a5.",
    "dst.vc <= 256 if dst.dtype.size == 1",
    "{dst} has {dst.vc} valid columns of {dst.dtype}; a5 reads a wrong mask beyond 256",
)

EW_AS_10 = assembler_rule(
    "EW-AS-10",
    "pto.tsels ins(%a, %b, %c1_i32 : !pto.tile_buf<vec, 16x32xui8>, !pto.tile_buf<vec, 16x64xui32>, i32) "
    "outs(%c : !pto.tile_buf<vec, {16x64xi8|16x64xui32}>)",
    source=f"{SOURCE}.4",
)(
    "tsels: signless integers only.",
    "dst.dtype.kind != 'u'",
    "{dst} has element type {dst.dtype}; the assembler takes signless integers for tsels",
)

SELECT_RULES = (
    EW_01,
    EW_02,
    EW_03,
    EW_06,
    EW_10,
    EW_1,
    rule(
        "EW-SEL-01",
        "TSEL(Tile(Vec, f32, 16, 64), Tile(Vec, u8, 16, 32), Tile(Vec, f32, 16, 64), Tile(Vec, {f32|f16}, 16, 64))",
        source=f"{SOURCE}.1, 5",
        evidence="static_assert device",
    )(
        """Destination and sources have one type; the mask has a bit for each of dst's valid elements.

        Decision: The library compares dst with either source; all must agree here.
        """,
        need("t.dtype is dst.dtype for t in data if name not in ('dst', 'mask')"),
        "mask.cols * mask.dtype.bits >= dst.vc",
        "{mask} has {mask.cols * mask.dtype.bits} bits per row, {dst} has {dst.vc} valid columns",
        need("mask.vr >= dst.vr"),
    ),
)
"""Rules that TSEL and TSELS share."""


# Comparisons into packed masks, and selection by mask (compute-elementwise 3.5 and 5).


COMPARISONS: dict[CmpMode, Callable[..., Expr]] = {
    CmpMode.EQ: equal,
    CmpMode.NE: unequal,
    CmpMode.LT: less,
    CmpMode.LE: less_equal,
    CmpMode.GT: greater,
    CmpMode.GE: greater_equal,
}


IN_NUMPY: dict[CmpMode, Callable[..., np.ndarray]] = {
    CmpMode.EQ: np.equal,
    CmpMode.NE: np.not_equal,
    CmpMode.LT: np.less,
    CmpMode.LE: np.less_equal,
    CmpMode.GT: np.greater,
    CmpMode.GE: np.greater_equal,
}


def _comparison(a: Element, b: Expr) -> Callable[[Site], Lane]:
    """A bit for every valid element of `a`."""
    return lambda o: Lane((Write("dst", COMPARISONS[o.cmp](a, b), packed=True),), over=a.name)


def _with_number(o: Site) -> Lane | Python:
    """The assembler's template for TCMPS packs one row after the other; the library gives each a row of dst."""
    if isinstance(o.operands["scalar"], TileInfo):
        return _comparison(SRC, Element("scalar", Index(Axis(), Axis())))(o)
    return Python(_packed_without_gaps) if o.target.templates else _comparison(SRC, SCALAR)(o)


def _packed_without_gaps(m: Machine, dst: TileOperand, src: TileOperand, scalar: Any, cmp: CmpMode) -> None:
    """Bits follow each other where src is contiguous and dst has a byte for each element.

    Else each row fills whole stores of 128 bits, or 256 of elements of one byte.
    """
    x = src.read()
    number = scalar if isinstance(scalar, np.ndarray) else element(src.spec.dtype, scalar)
    bits = IN_NUMPY[cmp](x, np.asarray(number).astype(x.dtype))
    stored = 256 if src.spec.dtype.size == 1 else 128
    if src.vr > 1 and (src.vc != src.spec.cols or dst.spec.cols * dst.spec.dtype.size < src.spec.cols):
        bits = np.pad(bits, ((0, 0), (0, 0), (0, -src.vc % stored)))
    packed = np.packbits(bits.reshape(len(bits), -1), axis=1, bitorder="little")
    raw = dst.raw()
    raw[:, : packed.shape[1]] = packed[:, : raw.shape[1]]


def _rows_of_source(o: Site) -> Iterator[Access]:
    """The rows of src are compared. Of a mask that has more, bits without gaps leave some as they are."""
    for a in derived_footprint(o):
        yield replace(a, kept=o.target.templates and o.src.vr < o.dst.vr) if a.write else a


CMP_MODE = (Attr("cmp", CmpMode, CmpMode.EQ, "cmpMode", "cmp"),)
ASM_SELECT = (ASM_16 | ASM_I32_F, ASM_8 | ASM_16 | ASM_I32_F)
ASM_SELECT_TILE = (ASM_SELECT[0] | BF16, ASM_SELECT[1] | BF16)

_MASK = replace(dst(), type=BITS)
_CHOICE = replace(src("mask"), type=BITS)

TCMP = vector(
    "TCMP",
    "bit (r,c) of dst = src0 cmp src1",
    (_MASK, src("src0"), src("src1")),
    types(I32_F32 | F, N11, asm=(ASM_I32_F, ASM_INT | FB)),
    _comparison(SRC0, SRC1),
    common=(*TILE_RULES, EW_A5_01),
    attrs=CMP_MODE,
    form=TextForm("dps-attrs-in"),
    cpp="TCMP(dst, src0, src1, cmp)",
)
TCMPS = vector(
    "TCMPS",
    "bit (r,c) of dst = src cmp scalar, a number or the first element of a tile",
    (_MASK, src(), replace(scalar(), also=(Kind.TILE,))),
    types(types_of("i16 u16 i32") | F, N11, asm=(ASM_16 | ASM_I32_F, ASM_INT | F)),
    _with_number,
    common=(*SCALAR_RULES, EW_A5_01, EW_07),
    attrs=CMP_MODE,
    footprint=_rows_of_source,
    form=TextForm("dps-attrs-in"),
    cpp="TCMPS(dst, src, scalar, cmp)",
)
TSEL = computed(
    "TSEL",
    select(Bit("mask"), SRC0, SRC1),
    (dst(), _CHOICE, src("src0"), src("src1"), tmp(optional=True, like=FIRST_SOURCE, needed=on_a2a3())),
    types(INT16_32 | FB, N11, asm=ASM_SELECT_TILE),
    common=(*SELECT_RULES, EW_A5_03, EW_A5_04, EW_11_SEL, EW_AS_12, EW_A5_01, EW_CPU_01),
    cpp="TSEL(dst, mask, src0, src1, tmp)",
)
TSELS = computed(
    "TSELS",
    select(Bit("mask"), SRC, Scalar("scalar", "dst")),
    (dst(), _CHOICE, src(), tmp(optional=True, like=FIRST_SOURCE, needed=on_a2a3("src")), scalar()),
    types(INT16_32 | FB, I8 | F, asm=ASM_SELECT),
    common=(*SELECT_RULES, EW_AS_10, EW_11_SELS, EW_AS_13, EW_A5_01),
    cpp="TSELS(dst, mask, src, tmp, scalar)",
)
