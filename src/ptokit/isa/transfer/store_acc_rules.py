"""Rules of stores from accumulators on a2a3 and a5: the fix-pipe (load-store 11.6, 11.7)."""

from __future__ import annotations

from ptokit.types.enums import Layout

from ..site import Site
from . import store_acc_checks as check
from .transfer_rules import Message, rule

A3 = (
    rule("STORE-A3-10", "an NZ view", "a DN view", what="Accumulators are stored to ND, NZ, NC1HWC0 and NDC1HWC0.")(
        check.only_to(Layout.ND, Layout.NZ, Layout.NC1HWC0, Layout.NDC1HWC0)
    ),
    rule("STORE-A3-11", "f32", "f16", what="An accumulator is f32 or i32.")(check.wrong_source),
    rule(
        "STORE-A3-12",
        "f32 to bf16",
        "i32 to i8",
        what="Without quantisation an accumulator goes to i32, f32, f16 or bf16.",
    )(check.cast_type),
    rule("STORE-A3-13", "f32 to f16", "f32 to i32", what="Without quantisation: f32 to f32, f16, bf16; i32 to i32.")(
        check.cast_pair
    ),
    rule("STORE-A3-14", "i32 to f16", "f32 to f16", what="With quantisation: f32 to i8, u8; i32 to i8, u8, f16.")(
        check.quant_a3
    ),
    rule("STORE-A3-15", "4080", "4096", what="An accumulator has 1 to 4095 columns.")(check.too_many_columns),
    rule(
        "STORE-A3-16",
        "8192x16 to ND",
        "8208x16 to ND",
        what="To ND an accumulator has 1 to 8192 rows; else 1 to 65535, and its columns are a multiple of 16.",
    )(check.too_many_rows),
    rule("STORE-A3-17", "4095", "4096", what="1 to 4095 columns of an accumulator are valid.")(check.valid_columns),
    rule(
        "STORE-A3-18",
        "g = (1, 1, 1, 96, 64)",
        "g = (1, 1, 2, 48, 64)",
        what="From Acc to ND: g0 = g1 = g2 = 1, Cv = g4, Rv = g3, 1 <= Rv <= 8192.",
    )(check.a3_nd),
    rule(
        "STORE-A3-19",
        "bf16 g = (1, 3, 1, 16, 16)",
        "bf16 g = (1, 6, 1, 16, 8)",
        what=(
            "From Acc to NZ: g3 = 16; g4 = 16 for i32, 16 or 8 for f32, else 32 bytes; Rv = g2*g3, Cv = g0*g1*g4, Rv "
            "<= 65535, Cv a multiple of 16."
        ),
    )(check.a3_nz),
    rule(
        "STORE-A3-20",
        "f16 g = (1, 2, 4, 4, 16) and valid 16x32",
        "f16 g = (1, 4, 4, 4, 8)",
        what="From Acc to NC1HWC0: g4 as for NZ; Rv = g0*g2*g3, Cv = g1*g4, Rv <= 65535.",
    )(check.nc1hwc0),
    rule(
        "STORE-A3-21",
        "f16 g = (1, 1, 2, 4, 4) and valid 16x32",
        "f16 g = (1, 1, 1, 4, 4) and valid 16x32",
        what="From Acc to NDC1HWC0: f32, i32, f16, bf16, i8, u8; Rv = g0*g3*g4, Cv = g1*g2*C0.",
    )(check.ndc1hwc0),
    rule(
        "STORE-A3-24",
        "scaling, 1x32 u64",
        "scaling, 1x32 i64",
        what="The parameters of TSTORE_FP are u64 words in a Scaling tile, one per valid column.",
        decision="In `.pto` text i64 is taken too: its integers have no sign.",
    )(check.fp_tile),
    rule(
        "STORE-A3-D1",
        "ND t = (4096, 4096, 4096, 64, 1)",
        "ND t4 = 4",
        what=(
            "Strides that the transfer takes for granted hold: plain stores as TLOAD; Acc to ND t4 = 1, to other "
            "layouts packed."
        ),
    )(check.a3_assumed),
    rule(
        "STORE-A3-D2",
        "g = (1, 2, 4, 4, 16)",
        "g = (2, 2, 4, 4, 16)",
        what="From Acc to NC1HWC0 and NDC1HWC0: g0 = 1.",
        why="The device puts C1 outside N.",
    )(check.a3_single),
    rule(
        "STORE-A3-D3",
        "bit 46 set for i8",
        "bit 46 clear for i8",
        what=(
            "Bit 46 of every parameter word says whether an 8-bit destination is signed, and the parameters of "
            "TSTORE_FP start at a multiple of 128 bytes."
        ),
    )(check.wrong_words),
)


@rule("STORE-A5-10", "8192x16 to ND", "16x4096")
def STORE_A5_10(o: Site) -> Message:
    """An accumulator has 1 to 4095 columns; to ND at most 8192 rows, else at most 65535 and columns in 16s."""
    return check.too_many_columns(o) or check.too_many_rows(o)


A5 = (
    rule("STORE-A5-08", "i32", "f16", what="An accumulator is f32 or i32.")(check.wrong_source),
    rule("STORE-A5-09", "an NHWC view", "a DN view", what="Accumulators are stored to ND, NZ, NHWC, NCHW and NCDHW.")(
        check.only_to(Layout.ND, Layout.NZ, Layout.NHWC, Layout.NCHW, Layout.NCDHW)
    ),
    STORE_A5_10,
    rule(
        "STORE-A5-11",
        "f32 to bf16",
        "f32 to u8",
        what="Without quantisation an accumulator goes to i32, f32, f16 or bf16.",
    )(check.cast_type),
    rule("STORE-A5-12", "i32 to i32", "i32 to f16", what="Without quantisation: f32 to f32, f16, bf16; i32 to i32.")(
        check.cast_pair
    ),
    rule(
        "STORE-A5-13",
        "f32 to e4m3",
        "f32 to e5m2",
        what="With quantisation: f32 to i8, u8, f16, bf16, hif8, e4m3, f32; i32 to i8, u8, f16, bf16.",
    )(check.quant_a5),
    rule(
        "STORE-A5-14",
        "bf16 g = (1, 3, 2, 16, 16)",
        "bf16 g = (1, 6, 2, 16, 8)",
        what="From Acc to NZ: g3 = 16; g4 = 16 for i32, 16 or 8 for f32, else 32 bytes; Rv = g2*g3, Cv = g0*g1*g4.",
    )(check.to_nz),
    rule(
        "STORE-A5-15",
        "NCHW g = (1, 1, 32, 4, 4) and valid 16x32",
        "NCHW g = (1, 1, 16, 4, 4) and valid 16x32",
        what=(
            "From Acc: NHWC Rv = g1*g2*g3, Cv = g4; NCHW Rv = g1*g3*g4, Cv = g2; NCDHW Rv = g0*g3*g4 (or with the "
            "depth, g0*g2*g3*g4), Cv = g1."
        ),
        decision="The header leaves the depth of NCDHW out and stores the first plane; whole volumes are taken too.",
    )(check.images),
    rule(
        "STORE-A5-21",
        "scaling, 1x32 u64",
        "scaling, 1x32 i64",
        what="The parameters of TSTORE_FP are u64 words in a Scaling tile, one per valid column.",
        decision="In `.pto` text i64 is taken too: its integers have no sign.",
    )(check.fp_tile),
    rule(
        "STORE-A5-D1",
        "g = (1, 1, 1, 96, 48)",
        "g = (1, 1, 2, 48, 48)",
        what=(
            "From Acc to ND: g0 = g1 = g2 = 1, Rv = g3, Cv = g4, t4 = 1; to NZ packed strides; from Vec the strides "
            "that TLOAD takes for granted."
        ),
        decision="NZ strides are required to be packed as on a2a3: the device computes the pitch from the shape.",
    )(check.a5_assumed),
    rule(
        "STORE-A5-D2",
        "NHWC g = (1, 1, 4, 4, 32) with t = (512, 512, 128, 32, 1)",
        "NCHW g = (1, 2, 16, 4, 4)",
        what="From Acc to NHWC, NCHW and NCDHW: one image (g0 = 1, NCHW also g1 = 1), whose rows lie together.",
    )(check.contiguous_rows),
    rule(
        "STORE-A5-D3",
        "bit 46 clear for u8",
        "bit 46 set for u8",
        what=(
            "Bit 46 of every parameter word says whether an 8-bit destination is signed, and the parameters of "
            "TSTORE_FP start at a multiple of 128 bytes."
        ),
    )(check.wrong_words),
)
