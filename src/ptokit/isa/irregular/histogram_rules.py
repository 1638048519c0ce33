"""Rules of THISTOGRAM (compute-layout-irregular 2.9)."""

from __future__ import annotations

from ptokit.diagnostics import family
from ptokit.targets import A5

from ..checks.operands import Message
from ..checks.tiles import boxed_or_columns, missing, not_of
from ..site import Site
from ..typesets import types_of

BINS = 256
_rule = family("compute-layout-irregular 2.9")


def byte_of(is_msb: bool, byte: int | None) -> int:
    """The byte that is counted; text of 16-bit sources says only whether it is the higher one."""
    return int(is_msb) if byte is None else byte


@_rule("HIST-01", "u16 into u32", "i16 into u32")
def HIST_01(o: Site) -> Message:
    """dst is u32, idx u8, src u16 or u32; dst and src are row-major."""
    return (
        not_of(o, types_of("u32"), "dst")
        or not_of(o, types_of("u8"), "idx")
        or not_of(o, types_of("u16 u32"), "src")
        or boxed_or_columns(o, "dst", "src")
    )


@_rule("HIST-02", "idx 32x1 col_major", "idx 1x32")
def HIST_02(o: Site) -> Message:
    """Of 16-bit elements byte 0 or 1 is counted, and idx is one column."""
    if o.src.dtype.size != 2:
        return None
    if byte_of(o.is_msb, o.byte) not in (0, 1):
        return f"byte {o.byte} of a 16-bit element does not exist"
    if o.idx.row_major or o.idx.cols != 1 or o.idx.boxed:
        return f"{o:idx} is {o.idx.layout_name} {o.idx.rows}x{o.idx.cols}; for 16-bit sources it is one column"
    return None


@_rule("HIST-03", "byte 2, idx of one row", "byte 1, idx of one row")
def HIST_03(o: Site) -> Message:
    """Of 32-bit elements idx has a row for each byte above the counted one, as wide as src."""
    if o.src.dtype.size != 4:
        return None
    which = byte_of(o.is_msb, o.byte)
    if which not in range(4):
        return f"byte {which} of a 32-bit element does not exist"
    if which == 3:
        return None
    if not o.idx.row_major or o.idx.cols != o.src.cols:
        return f"{o:idx} is {o.idx.layout_name} with {o.idx.cols} columns; it is ND with {o:src}'s {o.src.cols}"
    if o.idx.vr != 3 - which:
        return f"{o:idx} has {o.idx.vr} valid rows; byte {which} has {3 - which} bytes above it"
    return None


@_rule("HIST-04", "4x256", "4x128")
def HIST_04(o: Site) -> Message:
    """dst has 256 columns, for the bins."""
    if o.dst.vc < BINS:
        return f"{o:dst} has {o.dst.vc} valid columns; there are {BINS} bins"
    if o.target.is_a(A5) and o.dst.cols != BINS:
        return f"{o:dst} has {o.dst.cols} columns; a5 writes rows of {BINS}"
    return None


RULES = (
    HIST_01,
    HIST_02,
    HIST_03,
    HIST_04,
    _rule("HIST-06", "on a5", "on a2a3", what="THISTOGRAM exists on a5 and cpu.", targets=("a2a3",))(missing),
)
