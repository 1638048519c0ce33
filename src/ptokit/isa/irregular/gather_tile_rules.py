"""Rules of TGATHER and TGATHERB (compute-layout-irregular 2.2 and 2.3)."""

from __future__ import annotations

from ptokit.diagnostics import Severity, define, family
from ptokit.targets import A5
from ptokit.types.enums import CmpMode, MaskAxis

from ..checks.operands import DEVICES, Message, overlap
from ..checks.tiles import boxed_or_columns, differ, not_of, not_plain, not_vec, overlapping
from ..site import Site
from ..typesets import BF16, I8, F, types_of
from ..unknown import known

_rule = family("compute-layout-irregular 2.2")
_block = family("compute-layout-irregular 2.3")
_32 = types_of("i32 u32")


def by_index(o: Site) -> bool:
    """The index form."""
    return o.has("idx") and not o.has("count")


def by_mask(o: Site) -> bool:
    """The mask form."""
    return not o.has("idx") and not o.has("count")


@_rule("TGATH-COM-01", "f32 into f32", "f16 into f32")
def TGATH_COM_01(o: Site) -> Message:
    """By index, dst and src have one element type, and the indices are integers."""
    if not by_index(o):
        return None
    if not o.idx.dtype.is_integer:
        return f"{o:idx} has element type {o.idx.dtype}; indices are integers"
    return differ(o, "src", "dst")


@_rule("TGATH-COM-03", "dst 1x32 wholly valid", "dst valid in 30 of 32 columns")
def TGATH_COM_03(o: Site) -> Message:
    """By mask, elements have one size, tiles are row-major; by columns dst is valid in full rows."""
    if not by_mask(o):
        return None
    if o.mask is None:
        return "neither an index tile nor a mask pattern nor a threshold says what to gather"
    if o.src.dtype.bits != o.dst.dtype.bits:
        return f"{o:src} has {o.src.dtype.bits}-bit elements, {o:dst} {o.dst.dtype.bits}-bit ones"
    if o.axis is MaskAxis.Row and o.dst.vc != o.dst.cols:
        return f"{o:dst} has {o.dst.vc} valid columns of {o.dst.cols}; the elements are written one after the other"
    return not_plain(o)


@_rule("TGATH-COM-04", "P0101 of 4x32 into 1x64", "P0101 of 4x32 into 1x32")
def TGATH_COM_04(o: Site) -> Message:
    """By mask of columns, dst has room for the elements that the mask selects.

    Decision: What is left of a larger dst keeps its value.
    """
    if not by_mask(o) or o.mask is None or o.axis is not MaskAxis.Row or not known(o.src.vr, o.src.vc):
        return None
    chosen = o.src.vr * len(range(o.mask.first, o.src.vc, o.mask.period))
    total = o.dst.vr * o.dst.vc
    return f"{o.mask.name} selects {chosen} elements, {o:dst} takes {total}" if total < chosen else None


@_rule("TGATH-COM-05", "P0101 of 8 rows into 4", "P0101 of 6 rows into 4")
def TGATH_COM_05(o: Site) -> Message:
    """By mask of rows, src has as many valid rows as the mask spreads dst's over."""
    if not by_mask(o) or o.mask is None or o.axis is not MaskAxis.Col:
        return None
    rows = o.mask.period * o.dst.vr
    return (
        f"{o:src} has {o.src.vr} valid rows; {o.mask.name} into {o.dst.vr} rows takes {rows}"
        if o.src.vr != rows
        else None
    )


@_rule("TGATH-A23-01", "f16 by i32", "i8 by i32")
def TGATH_A23_01(o: Site) -> Message:
    """By index, a2a3 gathers 2- and 4-byte elements with 32-bit indices, and tmp has their type."""
    if not by_index(o):
        return None
    if o.dst.dtype.size not in (2, 4) or o.idx.dtype not in _32:
        return f"{o.dst.dtype} by {o.idx.dtype}: a2a3 gathers 2- and 4-byte elements by 32-bit indices"
    if o.has("tmp") and o.tmp.dtype is not o.idx.dtype:
        return f"{o:tmp} has element type {o.tmp.dtype}, {o:idx} has {o.idx.dtype}"
    return None


@_rule("TGATH-A23-02", "two tiles", "dst at the address of src")
def TGATH_A23_02(o: Site) -> Message:
    """By index, dst does not overlap src on a2a3."""
    return (
        f"{o:dst} and {o:src} share bytes; a2a3 computes byte offsets in {o:dst}"
        if by_index(o) and overlap(o.dst, o.src)
        else None
    )


@_rule("TGATH-A23-03", "u16", "u8")
def TGATH_A23_03(o: Site) -> Message:
    """By mask, a2a3 takes elements of 2 and 4 bytes."""
    if by_mask(o) and o.dst.dtype.size not in (2, 4):
        return f"{o:dst} has element type {o.dst.dtype}; a2a3 masks elements of 2 or 4 bytes"
    return None


@_rule("TGATH-COM-06", "gt into i32", "lt")
def TGATH_COM_06(o: Site) -> Message:
    """A comparison is eq or gt, and its result is 32-bit integers."""
    if not o.has("count"):
        return None
    if o.cmp not in (CmpMode.EQ, CmpMode.GT):
        return f"the comparison is {o.cmp.text}; tgather has eq and gt"
    return not_of(o, _32, "dst")


@_rule("TGATH-A23-04", "f16 with gt", "i16")
def TGATH_A23_04(o: Site) -> Message:
    """a2a3 compares f16, f32, and 32-bit integers with eq."""
    if not o.has("count") or o.src.dtype in F or (o.src.dtype in _32 and o.cmp is CmpMode.EQ):
        return None
    return f"{o:src} has element type {o.src.dtype}; a2a3 compares f16, f32, and i32 with eq"


@_rule("TGATH-A23-04-T", "16 KiB for 16x64", "1 KiB for 16x64", severity=Severity.WARNING)
def TGATH_A23_04_T(o: Site) -> Message:
    """The scratch tile of a comparison holds a bitmap, an index per element, and the thresholds.

    The library writes past a smaller tile; the assembler's own examples have one of 32 bytes.
    """
    if not o.has("count") or o.tmp is None:
        return None
    t, s = o.tmp.spec, o.src.spec
    need = t.rows * t.cols + s.rows * s.cols * 4 + s.rows * s.dtype.size
    return f"{o:tmp} has {t.nbytes} bytes; the comparison uses {need}" if t.nbytes < need else None


_A5_INDEX = {1: (2,), 2: (2, 4), 4: (4,), 8: (4,)}


@_rule("TGATH-A5-01", "i8 by i16", "f32 by i16")
def TGATH_A5_01(o: Site) -> Message:
    """By index, a5 has 4-byte indices for 4- and 8-byte elements, 2-byte ones for 1-byte elements."""
    if by_index(o) and o.idx.dtype.size not in _A5_INDEX.get(o.dst.dtype.size, ()):
        return f"{o.dst.dtype} by {o.idx.dtype}: a5 has no such gather"
    return None


_A5_MASK = I8 | F | BF16 | types_of("e4m3 e5m2 hif8")


@_rule("TGATH-A5-02", "e4m3", "i64 by rows")
def TGATH_A5_02(o: Site) -> Message:
    """By mask, a5 takes integers of 8 to 64 bits, f16, bf16, f32 and 8-bit floats; 64-bit ones by columns."""
    if not by_mask(o):
        return None
    if o.dst.dtype.size == 8 and o.axis is MaskAxis.Col:
        return "64-bit elements are masked by columns only"
    return not_of(o, _A5_MASK, "dst")


_A5_COMPARE = types_of("i8 u8 i16 u16 i32 u32") | F


@_rule("TGATH-A5-03", "f16 with 64 columns", "f16 with 60 columns")
def TGATH_A5_03(o: Site) -> Message:
    """a5 compares 8- to 32-bit integers, f16 and f32; below 32 bits in multiples of 64 columns.

    Decision: Comparisons are of numbers; A5 compares some types as unsigned integers.
    """
    if not o.has("count"):
        return None
    narrow = o.src.dtype.size < 4
    if narrow and known(o.src.vc) and o.src.vc % 64:
        return f"{o:src} has {o.src.vc} valid columns of {o.src.dtype}; the tail of 64 lanes is not masked"
    return not_of(o, _A5_COMPARE, "src")


RULES = (
    TGATH_COM_01,
    define(
        "TGATH-COM-02",
        "Indices are element offsets inside the source tile.",
        source="compute-layout-irregular 2.2",
        accepted="indices 0..1023 of a 16x64 tile",
        rejected="index 1024",
        decision="The simulator reads 0 there; on the devices it is an error.",
    ),
    TGATH_COM_03,
    TGATH_COM_04,
    TGATH_COM_05,
    TGATH_COM_06,
    TGATH_A23_01,
    TGATH_A23_02,
    TGATH_A23_03,
    TGATH_A23_04,
    TGATH_A23_04_T,
    TGATH_A5_01,
    TGATH_A5_02,
    TGATH_A5_03,
)


@_block("GATHB-01", "f16", "i64")
def GATHB_01(o: Site) -> Message:
    """TGATHERB works on Vec tiles with elements of 1, 2 or 4 bytes; dst is row-major on a2a3 and cpu."""
    if o.dst.dtype.size not in (1, 2, 4) or o.dst.dtype.packed:
        return f"{o:dst} has element type {o.dst.dtype}; TGATHERB moves elements of 1, 2 or 4 bytes"
    if o.target.is_a(A5):
        return not_vec(o, "dst", "src", "offset")
    return boxed_or_columns(o, "dst") or not_vec(o, "dst", "src", "offset")


@_block("GATHB-04", "64xf16", "60xf16")
def GATHB_04(o: Site) -> Message:
    """The valid columns of dst are whole blocks of 32 bytes.

    Decision: a5 masks the last block.
    """
    if o.target.is_a(A5) or not known(o.dst.vc) or o.dst.vc % o.dst.spec.c0 == 0:
        return None
    return f"{o:dst} has {o.dst.vc} valid columns of {o.dst.dtype}; blocks have {o.dst.spec.c0}"


@_block("GATHB-02", "u32", "i16")
def GATHB_02(o: Site) -> Message:
    """Offsets are 32-bit integers."""
    return not_of(o, _32, "offset")


BLOCK_RULES = (
    GATHB_01,
    GATHB_02,
    define(
        "GATHB-03",
        "A block lies inside the source tile.",
        source="compute-layout-irregular 2.3",
        accepted="offset 32 in a tile of 64 bytes",
        rejected="offset 64",
        decision="The simulator leaves the block as it is; on the devices it is an error.",
    ),
    GATHB_04,
    _block(
        "GATHB-05",
        "three tiles",
        "dst at the address of src",
        what="dst does not overlap the source or the offsets.",
        targets=DEVICES,
    )(overlapping),
)
