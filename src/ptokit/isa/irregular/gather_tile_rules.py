"""Rules of TGATHER and TGATHERB (compute-layout-irregular 2.2 and 2.3)."""

from __future__ import annotations

from functools import partial

from ptokit.diagnostics import Severity, define
from ptokit.types.enums import CmpMode, MaskAxis

from ..operands import DEVICES, Message, overlap
from ..site import Site
from ..tile_checks import boxed_or_columns, differ, not_of, not_plain, not_vec, overlapping
from ..typesets import BF16, I8, F, types_of
from ..unknown import known

_define = partial(define, source="compute-layout-irregular 2.2")
_block = partial(define, source="compute-layout-irregular 2.3")
_32 = types_of("i32 u32")


def by_index(o: Site) -> bool:
    """The index form."""
    return o.has("idx") and not o.has("count")


def by_mask(o: Site) -> bool:
    """The mask form."""
    return not o.has("idx") and not o.has("count")


def _index_types(o: Site) -> Message:
    if not by_index(o):
        return None
    if not o.idx.dtype.is_integer:
        return f"idx has element type {o.idx.dtype}; indices are integers"
    return differ(o, "src", "dst")


def _mask_form(o: Site) -> Message:
    if not by_mask(o):
        return None
    if o.mask is None:
        return "neither an index tile nor a mask pattern nor a threshold says what to gather"
    if o.src.dtype.bits != o.dst.dtype.bits:
        return f"src has {o.src.dtype.bits}-bit elements, dst {o.dst.dtype.bits}-bit ones"
    if o.axis is MaskAxis.Row and o.dst.vc != o.dst.cols:
        return f"dst has {o.dst.vc} valid columns of {o.dst.cols}; the elements are written one after the other"
    return not_plain(o)


def _mask_count(o: Site) -> Message:
    if not by_mask(o) or o.mask is None or o.axis is not MaskAxis.Row or not known(o.src.vr, o.src.vc):
        return None
    chosen = o.src.vr * len(range(o.mask.first, o.src.vc, o.mask.period))
    total = o.dst.vr * o.dst.vc
    return f"{o.mask.name} selects {chosen} elements, dst takes {total}" if total < chosen else None


def _mask_rows(o: Site) -> Message:
    if not by_mask(o) or o.mask is None or o.axis is not MaskAxis.Col:
        return None
    rows = o.mask.period * o.dst.vr
    return (
        f"src has {o.src.vr} valid rows; {o.mask.name} into {o.dst.vr} rows takes {rows}" if o.src.vr != rows else None
    )


def _a3_index(o: Site) -> Message:
    if not by_index(o):
        return None
    if o.dst.dtype.size not in (2, 4) or o.idx.dtype not in _32:
        return f"{o.dst.dtype} by {o.idx.dtype}: a2a3 gathers 2- and 4-byte elements by 32-bit indices"
    if o.has("tmp") and o.tmp.dtype is not o.idx.dtype:
        return f"tmp has element type {o.tmp.dtype}, idx has {o.idx.dtype}"
    return None


def _a3_overlap(o: Site) -> Message:
    return (
        "dst and src share bytes; a2a3 computes byte offsets in dst" if by_index(o) and overlap(o.dst, o.src) else None
    )


def _a3_mask(o: Site) -> Message:
    if by_mask(o) and o.dst.dtype.size not in (2, 4):
        return f"dst has element type {o.dst.dtype}; a2a3 masks elements of 2 or 4 bytes"
    return None


def _compare(o: Site) -> Message:
    if not o.has("count"):
        return None
    if o.cmp not in (CmpMode.EQ, CmpMode.GT):
        return f"the comparison is {o.cmp.text}; tgather has eq and gt"
    return not_of(o, _32, "dst")


def _a3_compare(o: Site) -> Message:
    if not o.has("count") or o.src.dtype in F or (o.src.dtype in _32 and o.cmp is CmpMode.EQ):
        return None
    return f"src has element type {o.src.dtype}; a2a3 compares f16, f32, and i32 with eq"


def _a3_compare_tmp(o: Site) -> Message:
    if not o.has("count") or o.tmp is None:
        return None
    t, s = o.tmp.spec, o.src.spec
    need = t.rows * t.cols + s.rows * s.cols * 4 + s.rows * s.dtype.size
    return f"tmp has {t.nbytes} bytes; the comparison uses {need}" if t.nbytes < need else None


_A5_INDEX = {1: (2,), 2: (2, 4), 4: (4,), 8: (4,)}


def _a5_index(o: Site) -> Message:
    if by_index(o) and o.idx.dtype.size not in _A5_INDEX.get(o.dst.dtype.size, ()):
        return f"{o.dst.dtype} by {o.idx.dtype}: a5 has no such gather"
    return None


_A5_MASK = I8 | F | BF16 | types_of("e4m3 e5m2 hif8")


def _a5_mask(o: Site) -> Message:
    if not by_mask(o):
        return None
    if o.dst.dtype.size == 8 and o.axis is MaskAxis.Col:
        return "64-bit elements are masked by columns only"
    return not_of(o, _A5_MASK, "dst")


_A5_COMPARE = types_of("i8 u8 i16 u16 i32 u32") | F


def _a5_compare(o: Site) -> Message:
    if not o.has("count"):
        return None
    narrow = o.src.dtype.size < 4
    if narrow and known(o.src.vc) and o.src.vc % 64:
        return f"src has {o.src.vc} valid columns of {o.src.dtype}; the tail of 64 lanes is not masked"
    return not_of(o, _A5_COMPARE, "src")


RULES = (
    _define(
        "TGATH-COM-01",
        "By index, dst and src have one element type, and the indices are integers.",
        _index_types,
        accepted="f32 into f32",
        rejected="f16 into f32",
    ),
    _define(
        "TGATH-COM-02",
        "Indices are element offsets inside the source tile.",
        accepted="indices 0..1023 of a 16x64 tile",
        rejected="index 1024",
        decision="The simulator reads 0 there; on the devices it is an error.",
    ),
    _define(
        "TGATH-COM-03",
        "By mask, elements have one size, tiles are row-major; by columns dst is valid in full rows.",
        _mask_form,
        accepted="dst 1x32 wholly valid",
        rejected="dst valid in 30 of 32 columns",
    ),
    _define(
        "TGATH-COM-04",
        "By mask of columns, dst has room for the elements that the mask selects.",
        _mask_count,
        accepted="P0101 of 4x32 into 1x64",
        rejected="P0101 of 4x32 into 1x32",
        decision="What is left of a larger dst keeps its value.",
    ),
    _define(
        "TGATH-COM-05",
        "By mask of rows, src has as many valid rows as the mask spreads dst's over.",
        _mask_rows,
        accepted="P0101 of 8 rows into 4",
        rejected="P0101 of 6 rows into 4",
    ),
    _define(
        "TGATH-COM-06",
        "A comparison is eq or gt, and its result is 32-bit integers.",
        _compare,
        accepted="gt into i32",
        rejected="lt",
    ),
    _define(
        "TGATH-A23-01",
        "By index, a2a3 gathers 2- and 4-byte elements with 32-bit indices, and tmp has their type.",
        _a3_index,
        targets=("a2a3",),
        accepted="f16 by i32",
        rejected="i8 by i32",
    ),
    _define(
        "TGATH-A23-02",
        "By index, dst does not overlap src on a2a3.",
        _a3_overlap,
        targets=("a2a3",),
        accepted="two tiles",
        rejected="dst at the address of src",
    ),
    _define(
        "TGATH-A23-03",
        "By mask, a2a3 takes elements of 2 and 4 bytes.",
        _a3_mask,
        targets=("a2a3",),
        accepted="u16",
        rejected="u8",
    ),
    _define(
        "TGATH-A23-04",
        "a2a3 compares f16, f32, and 32-bit integers with eq.",
        _a3_compare,
        targets=("a2a3",),
        accepted="f16 with gt",
        rejected="i16",
    ),
    _define(
        "TGATH-A23-04-T",
        "The scratch tile of a comparison holds a bitmap, an index per element, and the thresholds.",
        _a3_compare_tmp,
        targets=("a2a3",),
        severity=Severity.WARNING,
        why="The library writes past a smaller tile; the assembler's own examples have one of 32 bytes.",
        accepted="16 KiB for 16x64",
        rejected="1 KiB for 16x64",
    ),
    _define(
        "TGATH-A5-01",
        "By index, a5 has 4-byte indices for 4- and 8-byte elements, 2-byte ones for 1-byte elements.",
        _a5_index,
        targets=("a5",),
        accepted="i8 by i16",
        rejected="f32 by i16",
    ),
    _define(
        "TGATH-A5-02",
        "By mask, a5 takes integers of 8 to 64 bits, f16, bf16, f32 and 8-bit floats; 64-bit ones by columns.",
        _a5_mask,
        targets=("a5",),
        accepted="e4m3",
        rejected="i64 by rows",
    ),
    _define(
        "TGATH-A5-03",
        "a5 compares 8- to 32-bit integers, f16 and f32; below 32 bits in multiples of 64 columns.",
        _a5_compare,
        targets=("a5",),
        accepted="f16 with 64 columns",
        rejected="f16 with 60 columns",
        decision="Comparisons are of numbers; A5 compares some types as unsigned integers.",
    ),
)


def _block_tiles(o: Site) -> Message:
    if o.dst.dtype.size not in (1, 2, 4) or o.dst.dtype.packed:
        return f"dst has element type {o.dst.dtype}; TGATHERB moves elements of 1, 2 or 4 bytes"
    if o.target.name == "a5":
        return not_vec(o, "dst", "src", "offset")
    return boxed_or_columns(o, "dst") or not_vec(o, "dst", "src", "offset")


def _whole_blocks(o: Site) -> Message:
    if o.target.name == "a5" or not known(o.dst.vc) or o.dst.vc % o.dst.spec.c0 == 0:
        return None
    return f"dst has {o.dst.vc} valid columns of {o.dst.dtype}; blocks have {o.dst.spec.c0}"


BLOCK_RULES = (
    _block(
        "GATHB-01",
        "TGATHERB works on Vec tiles with elements of 1, 2 or 4 bytes; dst is row-major on a2a3 and cpu.",
        _block_tiles,
        accepted="f16",
        rejected="i64",
    ),
    _block(
        "GATHB-02",
        "Offsets are 32-bit integers.",
        lambda o: not_of(o, _32, "offset"),
        accepted="u32",
        rejected="i16",
    ),
    _block(
        "GATHB-03",
        "A block lies inside the source tile.",
        accepted="offset 32 in a tile of 64 bytes",
        rejected="offset 64",
        decision="The simulator leaves the block as it is; on the devices it is an error.",
    ),
    _block(
        "GATHB-04",
        "The valid columns of dst are whole blocks of 32 bytes.",
        _whole_blocks,
        accepted="64xf16",
        rejected="60xf16",
        decision="a5 masks the last block.",
    ),
    _block(
        "GATHB-05",
        "dst does not overlap the source or the offsets.",
        overlapping,
        targets=DEVICES,
        accepted="three tiles",
        rejected="dst at the address of src",
    ),
)
