"""Rules of TGATHER, TGATHERB, TSCATTER and THISTOGRAM (compute-layout-irregular 2.2 to 2.4, 2.9)."""

from __future__ import annotations

from typing import Any

from ptokit.diagnostics import Doubt, define, family
from ptokit.diagnostics.rules import need
from ptokit.targets import A5, Target
from ptokit.types.enums import MaskAxis, MaskPattern

from ..checks.compiling import DEVICES, Message
from ..checks.tiles import boxed_or_columns, differ, missing, not_of, not_plain, not_vec, overlapping
from ..operands import BF16, I6, I8, INT16_32, INT64, F, types_of
from ..site import Site, known

# Rules of TGATHER and TGATHERB (compute-layout-irregular 2.2 and 2.3).


_rule = family("compute-layout-irregular 2.2")
_block = family("compute-layout-irregular 2.3")
_32 = types_of("i32 u32")


def by_index(o: Site) -> bool:
    """The index form."""
    return o.has("idx") and not o.has("count")


def by_mask(o: Site) -> bool:
    """The mask form."""
    return not o.has("idx") and not o.has("count")


def rows_of(dst: Any, src: Any, mask: MaskPattern, target: Target) -> tuple[int, int]:
    """Of each row of src, how many elements a mask of columns selects, and how far apart in dst rows begin."""
    if target.is_a(A5) and dst.spec.dtype.bits == 64 and dst.vc != dst.spec.cols:
        return src.vc // mask.period, dst.spec.cols // mask.period
    return (len(range(mask.first, src.vc, mask.period)),) * 2


def _places(o: Site) -> int:
    """How far into dst the elements of a mask of columns reach."""
    count, apart = rows_of(o.dst, o.src, o.mask, o.target)
    return (o.src.vr - 1) * apart + count if o.src.vr else 0


_A5_INDEX = {1: (2,), 2: (2, 4), 4: (4,), 8: (4,)}


_A5_MASK = I8 | F | BF16 | types_of("e4m3 e5m2 hif8")


_A5_COMPARE = types_of("i8 u8 i16 u16 i32 u32") | F


RULES = (
    _rule(
        "TGATH-COM-01",
        "TGATHER(Tile(Vec, f32, 16, 64), Tile(Vec, {f32|f16}, 16, 64), Tile(Vec, i32, 16, 64))",
        evidence="static_assert",
    )(
        "By index, dst and src have one element type, and the indices are integers.",
        "idx.dtype.is_integer if by_index(o)",
        "{idx} has element type {idx.dtype}; indices are integers",
        lambda o: differ(o, "src", "dst") if by_index(o) else None,
    ),
    define(
        "TGATH-COM-02",
        "Indices are element offsets inside the source tile.",
        source="compute-layout-irregular 2.2",
        example="""
            # ptokit run
            i = Tile(Vec, i32, 16, 64)
            TEXPANDS(i, {1023|1024})
            t = Tile(Vec, f32, 16, 64)
            TEXPANDS(t, 1.0)
            TGATHER(Tile(Vec, f32, 16, 64), t, i, tmp=Tile(Vec, i32, 16, 64))
        """,
        decision="The simulator reads 0 there; on the devices it is an error.",
        evidence="device",
    ),
    _rule(
        "TGATH-COM-03",
        "TGATHER(Tile(Vec, f32, 16, 32), Tile(Vec, {f32|f16}, 16, 64), mask=MaskPattern.P0101)",
        evidence="static_assert",
    )(
        """By mask, elements have one size, and tiles are row-major.

        By columns, they are written one after the other from the start of dst, whatever of it is valid. Rows of 64-bit
        elements begin on a5 a period's part of the columns of dst after each other.
        """,
        "mask is not None if by_mask(o)",
        "neither an index tile nor a mask pattern nor a threshold says what to gather",
        "src.dtype.bits == dst.dtype.bits if by_mask(o)",
        "{src} has {src.dtype.bits}-bit elements, {dst} {dst.dtype.bits}-bit ones",
        lambda o: not_plain(o) if by_mask(o) else None,
    ),
    _rule(
        "TGATH-COM-07",
        "TGATHER(Tile(Vec, f32, 16, 32{|, valid_col=24}), Tile(Vec, f32, 16, 64), mask=MaskPattern.P0101)",
        evidence="assertion",
        targets=("cpu", "a2a3"),
    )(
        "By mask of columns, dst is valid in full rows.",
        "dst.vc == dst.cols if by_mask(o) and axis is MaskAxis.Row",
        "{dst} has {dst.vc} valid columns of {dst.cols}; the elements are written one after the other",
    ),
    _rule(
        "TGATH-COM-04",
        "TGATHER(Tile(Vec, f32, {16|8}, 32), Tile(Vec, f32, 16, 64), mask=MaskPattern.P0101)",
        evidence="device",
        on="a2a3",
    )(
        """By mask of columns, dst has room for the elements that the mask selects, whatever of it is valid.

        Decision: What is left of a larger dst keeps its value.
        """,
        "dst.rows * dst.cols >= _places(o) if mask and by_mask(o) and axis is MaskAxis.Row and known(src.vr, src.vc)",
        "what {mask.name} selects takes {_places(o)} elements, {dst} has room for {dst.rows * dst.cols}",
    ),
    _rule(
        "TGATH-COM-05",
        "TGATHER(Tile(Vec, f32, 8, 64), Tile(Vec, f32, {16|14}, 64), mask=MaskPattern.P0101, axis=MaskAxis.Col)",
        evidence="device assertion",
        on="a2a3",
    )(
        "By mask of rows, src has as many valid rows as the mask spreads dst's over.",
        "src.vr == mask.period * dst.vr if mask and by_mask(o) and axis is MaskAxis.Col",
        "{src} has {src.vr} valid rows; {mask.name} into {dst.vr} rows takes {mask.period * dst.vr}",
    ),
    _rule(
        "TGATH-COM-06",
        "TGATHER(Tile(Vec, i32, 16, 64), Tile(Vec, f16, 16, 64), threshold=1.0, count=Tile(Vec, i32, 1, 64), "
        "cmp=CmpMode.{GT|LT})",
        evidence="static_assert",
    )(
        "A comparison is eq or gt, and its result is 32-bit integers.",
        "cmp in (CmpMode.EQ, CmpMode.GT) if count",
        "the comparison is {cmp.text}; tgather has eq and gt",
        lambda o: not_of(o, _32, "dst") if o.has("count") else None,
    ),
    _rule(
        "TGATH-A23-01",
        "TGATHER(Tile(Vec, {f32|u8}, 16, 64), Tile(Vec, {f32|u8}, 16, 64), Tile(Vec, i32, 16, 64))",
        evidence="static_assert",
    )(
        "By index, a2a3 gathers 2- and 4-byte elements with 32-bit indices, and tmp has their type.",
        "if by_index(o)",
        "dst.dtype.size in (2, 4) and idx.dtype in _32",
        "{dst.dtype} by {idx.dtype}: a2a3 gathers 2- and 4-byte elements by 32-bit indices",
        need("tmp.dtype is idx.dtype"),
    ),
    _rule(
        "TGATH-A23-02",
        "TGATHER(Tile(Vec, f32, 16, {|64, addr=}64), Tile(Vec, f32, 16, {|64, addr=}64), Tile(Vec, i32, 16, 64))",
        evidence="device",
    )(
        "By index, dst does not overlap src on a2a3.",
        "not overlap(dst, src) if by_index(o)",
        "{dst} and {src} share bytes; a2a3 computes byte offsets in {dst}",
    ),
    _rule(
        "TGATH-A23-03",
        "TGATHER(Tile(Vec, {f16|i8}, 4, 32), Tile(Vec, {f16|i8}, 4, 64), mask=MaskPattern.P0101)",
        evidence="static_assert",
    )(
        "By mask, a2a3 takes elements of 2 and 4 bytes.",
        "dst.dtype.size in (2, 4) if by_mask(o)",
        "{dst} has element type {dst.dtype}; a2a3 masks elements of 2 or 4 bytes",
    ),
    _rule(
        "TGATH-A23-04",
        "n: f16; TGATHER(Tile(Vec, i32, 16, 64), Tile(Vec, {f16|i16}, 16, 64), "
        "threshold=n, count=Tile(Vec, i32, 1, 64), cmp=CmpMode.GT)",
        evidence="static_assert",
    )(
        "a2a3 compares f16, f32, and 32-bit integers with eq.",
        "src.dtype in _32 and cmp is CmpMode.EQ if count and src.dtype not in F",
        "{src} has element type {src.dtype}; a2a3 compares f16, f32, and i32 with eq",
    ),
    _rule(
        "TGATH-A23-04-T",
        "TGATHER(Tile(Vec, i32, 16, 64), Tile(Vec, f16, 16, 64), threshold=1.0, count=Tile(Vec, i32, 1, 64), "
        "tmp=Tile(Vec, {i32, 64|u8, 16}, 64), cmp=CmpMode.GT)",
        evidence="legal",
    )(
        """The scratch tile of a comparison holds a bitmap, an index per element, and the thresholds.

        The library writes past a smaller tile; the assembler's own examples have one of 32 bytes.
        """,
        "need = tmp.rows * tmp.cols + src.rows * src.cols * 4 + src.rows * src.dtype.size",
        "tmp.spec.nbytes >= need if count",
        "{tmp} has {tmp.spec.nbytes} bytes; the comparison uses {need}",
    ),
    _rule(
        "TGATH-A5-01",
        "t = Tile(Vec, f32, 16, 64); TGATHER(t, t, Tile(Vec, {i32|i16}, 16, 64))",
        evidence="static_assert",
    )(
        "By index, a5 has 4-byte indices for 4- and 8-byte elements, 2-byte ones for 1-byte elements.",
        "idx.dtype.size in _A5_INDEX.get(dst.dtype.size, ()) if by_index(o)",
        "{dst.dtype} by {idx.dtype}: a5 has no such gather",
    ),
    _rule(
        "TGATH-A5-02",
        "TGATHER(Tile(Vec, i64, {16|8}, {32|64}), Tile(Vec, i64, 16, 64), "
        "mask=MaskPattern.P0101{|, axis=MaskAxis.Col})",
        evidence="static_assert",
    )(
        "By mask, a5 takes integers of 8 to 64 bits, f16, bf16, f32 and 8-bit floats; 64-bit ones by columns.",
        "axis is not MaskAxis.Col if by_mask(o) and dst.dtype.size == 8",
        "64-bit elements are masked by columns only",
        lambda o: not_of(o, _A5_MASK, "dst") if by_mask(o) else None,
    ),
    _rule(
        "TGATH-A5-03",
        "TGATHER(Tile(Vec, i32, 16, 64), Tile(Vec, {f16|bf16}, 16, 64), "
        "threshold=1.0, count=Tile(Vec, i32, 1, 64), cmp=CmpMode.GT)",
        evidence="static_assert document",
    )(
        """a5 compares 8- to 32-bit integers, f16 and f32; below 32 bits in multiples of 64 columns.

        Decision: Comparisons are of numbers; A5 compares some types as unsigned integers.
        """,
        "src.vc % 64 == 0 if count and src.dtype.size < 4 and known(src.vc)",
        "{src} has {src.vc} valid columns of {src.dtype}; the tail of 64 lanes is not masked",
        lambda o: not_of(o, _A5_COMPARE, "src") if o.has("count") else None,
    ),
)


BLOCK_RULES = (
    _block(
        "GATHB-01",
        "TGATHERB(Tile(Vec, {f16|i64}, 16, {64|4}), Tile(Vec, f16, 16, 64), Tile(Vec, u32, 16, 8))",
        evidence="static_assert",
        on="a2a3",
    )(
        "TGATHERB works on Vec tiles with elements of 1, 2 or 4 bytes; dst is row-major on a2a3 and cpu.",
        "dst.dtype.size in (1, 2, 4) and (not dst.dtype.packed)",
        "{dst} has element type {dst.dtype}; TGATHERB moves elements of 1, 2 or 4 bytes",
        lambda o: None if o.target.is_a(A5) else boxed_or_columns(o, "dst"),
        lambda o: not_vec(o, "dst", "src", "offset"),
    ),
    _block(
        "GATHB-02",
        "TGATHERB(Tile(Vec, f16, 16, 64), Tile(Vec, f16, 16, 64), Tile(Vec, {u32|i16}, 16, {8|16}))",
        evidence="static_assert",
    )(
        "Offsets are 32-bit integers.",
        lambda o: not_of(o, _32, "offset"),
    ),
    define(
        "GATHB-03",
        "A block lies inside the source tile.",
        source="compute-layout-irregular 2.3",
        example="""
            # ptokit run
            o = Tile(Vec, u32, 1, 8)
            TEXPANDS(o, {32|64})
            t = Tile(Vec, f32, 1, 16)
            TEXPANDS(t, 1.0)
            TGATHERB(Tile(Vec, f32, 1, 64), t, o)
        """,
        decision="The simulator leaves the block as it is; on the devices it is an error.",
        evidence="device",
    ),
    _block(
        "GATHB-04",
        "TGATHERB(Tile(Vec, f16, 16, 64{|, valid_col=60}), Tile(Vec, f16, 16, 64), Tile(Vec, u32, 16, 8))",
        evidence="device",
        on="cpu",
    )(
        """The valid columns of dst are whole blocks of 32 bytes.

        Decision: a5 masks the last block.
        """,
        "dst.vc % dst.spec.c0 == 0 if not target.is_a(A5) and known(dst.vc)",
        "{dst} has {dst.vc} valid columns of {dst.dtype}; blocks have {dst.spec.c0}",
    ),
    _block(
        "GATHB-05",
        "TGATHERB(Tile(Vec, f16, 16, {|64, addr=}64), Tile(Vec, f16, 16, {|64, addr=}64), Tile(Vec, u32, 16, 8))",
        what="dst does not overlap the source or the offsets.",
        targets=DEVICES,
        evidence="device",
    )(overlapping),
)


# Rules of TSCATTER (compute-layout-irregular 2.4).


_rule = family("compute-layout-irregular 2.4")
_WIDTHS = {4: 4, 2: 2, 1: 2, 8: 4}


@_rule(
    "TSCAT-COM-01",
    "TSCATTER(Tile(Vec, f32, 16, 64), Tile(Vec, {f32|f16}, 16, 64), Tile(Vec, i32, 16, 64))",
    evidence="static_assert",
)
def TSCAT_COM_01(o: Site) -> Message:
    """dst and src have one type: 8-, 16-, 32-bit integers, f16, bf16, f32; on a5 64-bit integers."""
    allowed = I6 | F | BF16 | (INT64 if o.target.is_a(A5) else frozenset())
    return differ(o, "dst", "src") or not_of(o, allowed, "dst")


def _spread(o: Site) -> Message:
    """A message if dst is not valid where the mask spreads the source to; a doubt where all of it lies in dst."""
    times = o.mask.period
    rows, cols = (times * o.src.vr, o.src.vc) if o.axis is MaskAxis.Col else (o.src.vr, times * o.src.vc)
    if (o.dst.vr == rows and o.dst.vc == cols) or not known(rows, cols, o.dst.vr, o.dst.vc):
        return None
    says = f"{o:src} is valid in {o.src.vr}x{o.src.vc}; with {o.mask.name}"
    message = f"{says} {o:dst} is {rows}x{cols}, not {o.dst.vr}x{o.dst.vc}"
    fits = rows <= o.dst.rows and cols <= o.dst.cols
    return Doubt(message) if fits and o.target.is_device else message


SCATTER_RULES = (
    TSCAT_COM_01,
    _rule(
        "TSCAT-COM-02",
        "TSCATTER(Tile(Vec, f16, 4, 32), Tile(Vec, f16, 4, 32), Tile(Vec, {i16|i32}, 4, 32))",
        evidence="static_assert",
        on="a2a3",
    )(
        "Indices have 4 bytes for 4- and 8-byte elements, 2 bytes for smaller ones.",
        "wanted = _WIDTHS.get(dst.dtype.size)",
        "idx.dtype.size == wanted",
        "{idx} has element type {idx.dtype}; {dst.dtype} elements take {wanted}-byte indices",
        lambda o: not_of(o, INT16_32, "idx") if o.has("idx") else None,
    ),
    _rule(
        "TSCAT-COM-03",
        "TSCATTER(Tile({Vec|Mat}, f32, 16, 64), Tile(Vec, f32, 16, 64), Tile(Vec, i32, 16, 64))",
        evidence="static_assert",
    )(
        "All tiles are Vec tiles.",
        lambda o: not_vec(o, "dst", "src", "idx"),
    ),
    define(
        "TSCAT-COM-04",
        "Indices are element offsets inside the destination tile.",
        source="compute-layout-irregular 2.4",
        example="""
            # ptokit run
            i = Tile(Vec, i32, 16, 64)
            TEXPANDS(i, {1023|1024})
            t = Tile(Vec, f32, 16, 64)
            TEXPANDS(t, 1.0)
            d = Tile(Vec, f32, 16, 64)
            TEXPANDS(d, 0.0)
            TSCATTER(d, t, i)
        """,
        decision="The simulator passes over others; on the devices they are an error.",
        evidence="device",
    ),
    _rule(
        "TSCAT-COM-05",
        "TSCATTER(Tile(Vec, f32, 16, 64), Tile(Vec, f32, 16, {32|64}), mask=MaskPattern.P0101)",
        evidence="device assertion",
    )(
        """By mask, dst is valid in the source's region, spread by the mask's period along its axis.

        Decision: The devices clear all of dst and write what is valid in the source, wherever dst is valid.
        """,
        "if idx is None",
        "mask is not None",
        "neither an index tile nor a mask pattern says where the elements go",
        _spread,
    ),
    _rule(
        "TSCAT-COM-07",
        "TSCATTER(Tile(Vec, f32, 16, {|64, addr=}64), Tile(Vec, f32, 16, {|64, addr=}64), Tile(Vec, i32, 16, 64))",
        what="dst does not overlap the source or the indices: it is cleared first.",
        targets=DEVICES,
        evidence="device",
    )(overlapping),
    _rule(
        "TSCAT-CPU-01",
        "TSCATTER(Tile(Vec, {f32|u8}, 16, 64), Tile(Vec, {f32|u8}, 16, 32), mask=MaskPattern.P0101)",
        evidence="static_assert",
    )(
        "By mask, the simulator scatters elements of 2 and 4 bytes.",
        "dst.dtype.size in (2, 4) if idx is None",
        "{dst} has element type {dst.dtype}; the simulator scatters by mask elements of 2 and 4 bytes",
    ),
)


# Rules of THISTOGRAM (compute-layout-irregular 2.9).


BINS = 256
_rule = family("compute-layout-irregular 2.9")


def byte_of(is_msb: bool, byte: int | None) -> int:
    """The byte that is counted; text of 16-bit sources says only whether it is the higher one."""
    return int(is_msb) if byte is None else byte


HISTOGRAM_RULES = (
    _rule(
        "HIST-01",
        "THISTOGRAM(Tile(Vec, u32, 16, 256), Tile(Vec, {u16|i16}, 16, 64), Tile(Vec, u8, 32, 1, ColMajor))",
        evidence="static_assert",
    )(
        "dst is u32, idx u8, src u16 or u32; dst and src are row-major.",
        lambda o: not_of(o, types_of("u32"), "dst"),
        lambda o: not_of(o, types_of("u8"), "idx"),
        lambda o: not_of(o, types_of("u16 u32"), "src"),
        lambda o: boxed_or_columns(o, "dst", "src"),
    ),
    _rule(
        "HIST-02",
        "THISTOGRAM(Tile(Vec, u32, 16, 256), Tile(Vec, u16, 16, 64), Tile(Vec, u8, 32, 1, ColMajor){|, byte=2})",
        evidence="static_assert",
    )(
        "Of 16-bit elements byte 0 or 1 is counted, and idx is one column.",
        "if src.dtype.size == 2",
        "byte_of(is_msb, byte) in (0, 1)",
        "byte {byte} of a 16-bit element does not exist",
        "not idx.row_major and idx.cols == 1 and (not idx.boxed)",
        "{idx} is {idx.layout_name} {idx.rows}x{idx.cols}; for 16-bit sources it is one column",
    ),
    _rule(
        "HIST-03",
        "THISTOGRAM(Tile(Vec, u32, 16, 256), Tile(Vec, u32, 16, 64), Tile(Vec, u8, 32, 64, valid_row=1), byte={2|1})",
        evidence="static_assert",
        on="cpu",
    )(
        "Of 32-bit elements idx has a row for each byte above the counted one, as wide as src.",
        "if src.dtype.size == 4",
        "byte_of(is_msb, byte) in range(4)",
        "byte {byte_of(is_msb, byte)} of a 32-bit element does not exist",
        "idx.row_major and idx.cols == src.cols if byte_of(is_msb, byte) != 3",
        "{idx} is {idx.layout_name} with {idx.cols} columns; it is ND with {src}'s {src.cols}",
        "idx.vr == 3 - byte_of(is_msb, byte) if byte_of(is_msb, byte) != 3",
        "{idx} has {idx.vr} valid rows; byte {byte_of(is_msb, byte)} has {3 - byte_of(is_msb, byte)} bytes above it",
    ),
    _rule(
        "HIST-04",
        "THISTOGRAM(Tile(Vec, u32, 16, {256|128}), Tile(Vec, u16, 16, 64), Tile(Vec, u8, 32, 1, ColMajor))",
        evidence="static_assert",
        on="cpu",
    )(
        "dst has 256 columns, for the bins.",
        "dst.vc >= BINS",
        "{dst} has {dst.vc} valid columns; there are {BINS} bins",
        "dst.cols == BINS if target.is_a(A5)",
        "{dst} has {dst.cols} columns; a5 writes rows of {BINS}",
    ),
    _rule(
        "HIST-06",
        """
            t = Tile(Vec, f32, 16, 64)
            {TADDS(t, t, 1.0)|THISTOGRAM(Tile(Vec, u32, 16, 256), Tile(Vec, u16, 16, 64), Tile(Vec, u8, 32, 1,
                ColMajor, valid_row=16))}
        """,
        what="THISTOGRAM exists on a5 and cpu.",
        targets=("a2a3",),
        evidence="static_assert",
    )(missing),
)
