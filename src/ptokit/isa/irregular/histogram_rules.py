"""Rules of THISTOGRAM (compute-layout-irregular 2.9)."""

from __future__ import annotations

from ptokit.diagnostics import family

from ..checks.tiles import boxed_or_columns, missing, not_of
from ..typesets import types_of

BINS = 256
_rule = family("compute-layout-irregular 2.9")


def byte_of(is_msb: bool, byte: int | None) -> int:
    """The byte that is counted; text of 16-bit sources says only whether it is the higher one."""
    return int(is_msb) if byte is None else byte


RULES = (
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
    _rule("HIST-06", "on a5", "on a2a3", what="THISTOGRAM exists on a5 and cpu.", targets=("a2a3",))(missing),
)
