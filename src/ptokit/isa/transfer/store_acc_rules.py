"""Rules of stores from accumulators on a2a3 and a5: the fix-pipe (load-store 11.6, 11.7)."""

from __future__ import annotations

from ptokit.types.enums import Layout

from ..site import Site
from . import store_acc_checks as check
from .transfer_rules import Message, rule

A3 = (
    rule(
        "STORE-A3-10",
        what="Accumulators are stored to ND, NZ, NC1HWC0 and NDC1HWC0.",
        accepted="an NZ view",
        rejected="a DN view",
    )(check.only_to(Layout.ND, Layout.NZ, Layout.NC1HWC0, Layout.NDC1HWC0)),
    rule("STORE-A3-11", what="An accumulator is f32 or i32.", accepted="f32", rejected="f16")(check.wrong_source),
    rule(
        "STORE-A3-12",
        what="Without quantisation an accumulator goes to i32, f32, f16 or bf16.",
        accepted="f32 to bf16",
        rejected="i32 to i8",
    )(check.cast_type),
    rule(
        "STORE-A3-13",
        what="Without quantisation: f32 to f32, f16, bf16; i32 to i32.",
        accepted="f32 to f16",
        rejected="f32 to i32",
    )(check.cast_pair),
    rule(
        "STORE-A3-14",
        what="With quantisation: f32 to i8, u8; i32 to i8, u8, f16.",
        accepted="i32 to f16",
        rejected="f32 to f16",
    )(check.quant_a3),
    rule("STORE-A3-15", what="An accumulator has 1 to 4095 columns.", accepted="4080", rejected="4096")(
        check.too_many_columns
    ),
    rule(
        "STORE-A3-16",
        what="To ND an accumulator has 1 to 8192 rows; else 1 to 65535, and its columns are a multiple of 16.",
        accepted="8192x16 to ND",
        rejected="8208x16 to ND",
    )(check.too_many_rows),
    rule("STORE-A3-17", what="1 to 4095 columns of an accumulator are valid.", accepted="4095", rejected="4096")(
        check.valid_columns
    ),
    rule(
        "STORE-A3-18",
        what="From Acc to ND: g0 = g1 = g2 = 1, Cv = g4, Rv = g3, 1 <= Rv <= 8192.",
        accepted="g = (1, 1, 1, 96, 64)",
        rejected="g = (1, 1, 2, 48, 64)",
    )(check.a3_nd),
    rule(
        "STORE-A3-19",
        what="From Acc to NZ: g3 = 16; g4 = 16 for i32, 16 or 8 for f32, else 32 bytes; Rv = g2*g3, Cv = g0*g1*g4, "
        "Rv <= 65535, Cv a multiple of 16.",
        accepted="bf16 g = (1, 3, 1, 16, 16)",
        rejected="bf16 g = (1, 6, 1, 16, 8)",
    )(check.a3_nz),
    rule(
        "STORE-A3-20",
        what="From Acc to NC1HWC0: g4 as for NZ; Rv = g0*g2*g3, Cv = g1*g4, Rv <= 65535.",
        accepted="f16 g = (1, 2, 4, 4, 16) and valid 16x32",
        rejected="f16 g = (1, 4, 4, 4, 8)",
    )(check.nc1hwc0),
    rule(
        "STORE-A3-21",
        what="From Acc to NDC1HWC0: f32, i32, f16, bf16, i8, u8; Rv = g0*g3*g4, Cv = g1*g2*C0.",
        accepted="f16 g = (1, 1, 2, 4, 4) and valid 16x32",
        rejected="f16 g = (1, 1, 1, 4, 4) and valid 16x32",
    )(check.ndc1hwc0),
    rule(
        "STORE-A3-24",
        what="The parameters of TSTORE_FP are u64 words in a Scaling tile, one per valid column.",
        accepted="scaling, 1x32 u64",
        rejected="scaling, 1x32 i64",
        decision="In `.pto` text i64 is taken too: its integers have no sign.",
    )(check.fp_tile),
    rule(
        "STORE-A3-D1",
        what="Strides that the transfer takes for granted hold: plain stores as TLOAD; Acc to ND t4 = 1, to other "
        "layouts "
        "packed.",
        accepted="ND t = (4096, 4096, 4096, 64, 1)",
        rejected="ND t4 = 4",
    )(check.a3_assumed),
    rule(
        "STORE-A3-D2",
        what="From Acc to NC1HWC0 and NDC1HWC0: g0 = 1.",
        accepted="g = (1, 2, 4, 4, 16)",
        rejected="g = (2, 2, 4, 4, 16)",
        why="The device puts C1 outside N.",
    )(check.a3_single),
    rule(
        "STORE-A3-D3",
        what="Bit 46 of every parameter word says whether an 8-bit destination is signed, and the parameters of "
        "TSTORE_FP "
        "start at a multiple of 128 bytes.",
        accepted="bit 46 set for i8",
        rejected="bit 46 clear for i8",
    )(check.wrong_words),
)


@rule("STORE-A5-10", accepted="8192x16 to ND", rejected="16x4096")
def STORE_A5_10(o: Site) -> Message:
    """An accumulator has 1 to 4095 columns; to ND at most 8192 rows, else at most 65535 and columns in 16s."""
    return check.too_many_columns(o) or check.too_many_rows(o)


A5 = (
    rule("STORE-A5-08", what="An accumulator is f32 or i32.", accepted="i32", rejected="f16")(check.wrong_source),
    rule(
        "STORE-A5-09",
        what="Accumulators are stored to ND, NZ, NHWC, NCHW and NCDHW.",
        accepted="an NHWC view",
        rejected="a DN view",
    )(check.only_to(Layout.ND, Layout.NZ, Layout.NHWC, Layout.NCHW, Layout.NCDHW)),
    STORE_A5_10,
    rule(
        "STORE-A5-11",
        what="Without quantisation an accumulator goes to i32, f32, f16 or bf16.",
        accepted="f32 to bf16",
        rejected="f32 to u8",
    )(check.cast_type),
    rule(
        "STORE-A5-12",
        what="Without quantisation: f32 to f32, f16, bf16; i32 to i32.",
        accepted="i32 to i32",
        rejected="i32 to f16",
    )(check.cast_pair),
    rule(
        "STORE-A5-13",
        what="With quantisation: f32 to i8, u8, f16, bf16, hif8, e4m3, f32; i32 to i8, u8, f16, bf16.",
        accepted="f32 to e4m3",
        rejected="f32 to e5m2",
    )(check.quant_a5),
    rule(
        "STORE-A5-14",
        what="From Acc to NZ: g3 = 16; g4 = 16 for i32, 16 or 8 for f32, else 32 bytes; Rv = g2*g3, Cv = g0*g1*g4.",
        accepted="bf16 g = (1, 3, 2, 16, 16)",
        rejected="bf16 g = (1, 6, 2, 16, 8)",
    )(check.to_nz),
    rule(
        "STORE-A5-15",
        what="From Acc: NHWC Rv = g1*g2*g3, Cv = g4; NCHW Rv = g1*g3*g4, Cv = g2; NCDHW Rv = g0*g3*g4 (or with the "
        "depth, "
        "g0*g2*g3*g4), Cv = g1.",
        accepted="NCHW g = (1, 1, 32, 4, 4) and valid 16x32",
        rejected="NCHW g = (1, 1, 16, 4, 4) and valid 16x32",
        decision="The header leaves the depth of NCDHW out and stores the first plane; whole volumes are taken too.",
    )(check.images),
    rule(
        "STORE-A5-21",
        what="The parameters of TSTORE_FP are u64 words in a Scaling tile, one per valid column.",
        accepted="scaling, 1x32 u64",
        rejected="scaling, 1x32 i64",
        decision="In `.pto` text i64 is taken too: its integers have no sign.",
    )(check.fp_tile),
    rule(
        "STORE-A5-D1",
        what="From Acc to ND: g0 = g1 = g2 = 1, Rv = g3, Cv = g4, t4 = 1; to NZ packed strides; from Vec the "
        "strides that "
        "TLOAD takes for granted.",
        accepted="g = (1, 1, 1, 96, 48)",
        rejected="g = (1, 1, 2, 48, 48)",
        decision="NZ strides are required to be packed as on a2a3: the device computes the pitch from the shape.",
    )(check.a5_assumed),
    rule(
        "STORE-A5-D2",
        what="From Acc to NHWC, NCHW and NCDHW: one image (g0 = 1, NCHW also g1 = 1), whose rows lie together.",
        accepted="NHWC g = (1, 1, 4, 4, 32) with t = (512, 512, 128, 32, 1)",
        rejected="NCHW g = (1, 2, 16, 4, 4)",
    )(check.contiguous_rows),
    rule(
        "STORE-A5-D3",
        what="Bit 46 of every parameter word says whether an 8-bit destination is signed, and the parameters of "
        "TSTORE_FP "
        "start at a multiple of 128 bytes.",
        accepted="bit 46 clear for u8",
        rejected="bit 46 set for u8",
    )(check.wrong_words),
)
