"""Rules of TSCATTER and THISTOGRAM (compute-layout-irregular 2.4, 2.9)."""

from __future__ import annotations

from ptokit.diagnostics import define, family
from ptokit.targets import A5

from ..checks.compiling import DEVICES, Message
from ..checks.tiles import boxed_or_columns, differ, missing, not_of, not_vec, overlapping
from ..operands import BF16, I6, INT16_32, INT64, F, types_of
from ..site import Site

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
        example="{0..1023 for 16x64|1024}",
        decision="The simulator passes over others; on the devices they are an error.",
        evidence="device",
        unrun="in words so far",
    ),
    _rule(
        "TSCAT-COM-05",
        "TSCATTER(Tile(Vec, f32, 16, 64), Tile(Vec, f32, 16, {32|64}), mask=MaskPattern.P0101)",
        evidence="device assertion",
    )(
        "By mask, dst is valid in the source's region, spread by the mask's period along its axis.",
        "if idx is None",
        "mask is not None",
        "neither an index tile nor a mask pattern says where the elements go",
        "wanted = (mask.period * src.vr, src.vc) if axis is MaskAxis.Col else (src.vr, mask.period * src.vc)",
        "dst.vr == wanted[0] and dst.vc == wanted[1]",
        "{src} is valid in {src.vr}x{src.vc}; with {mask.name} {dst} is {wanted[0]}x{wanted[1]}, not {dst.vr}x{dst.vc}",
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
        "{on a5|on a2a3}",
        what="THISTOGRAM exists on a5 and cpu.",
        targets=("a2a3",),
        evidence="static_assert",
        unrun="in words so far",
    )(missing),
)
