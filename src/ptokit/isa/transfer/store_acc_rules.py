"""Rules of stores from accumulators on a2a3 and a5: the fix-pipe (load-store 11.6, 11.7)."""

from __future__ import annotations

from ptokit.types.enums import Layout

from . import store_acc_checks as check
from .transfer_rules import rule

A3 = (
    rule(
        "STORE-A3-10",
        "Accumulators are stored to ND, NZ, NC1HWC0 and NDC1HWC0.",
        check.only_to(Layout.ND, Layout.NZ, Layout.NC1HWC0, Layout.NDC1HWC0),
        accepted="an NZ view",
        rejected="a DN view",
    ),
    rule("STORE-A3-11", "An accumulator is f32 or i32.", check.wrong_source, accepted="f32", rejected="f16"),
    rule(
        "STORE-A3-12",
        "Without quantisation an accumulator goes to i32, f32, f16 or bf16.",
        check.cast_type,
        accepted="f32 to bf16",
        rejected="i32 to i8",
    ),
    rule(
        "STORE-A3-13",
        "Without quantisation: f32 to f32, f16, bf16; i32 to i32.",
        check.cast_pair,
        accepted="f32 to f16",
        rejected="f32 to i32",
    ),
    rule(
        "STORE-A3-14",
        "With quantisation: f32 to i8, u8; i32 to i8, u8, f16.",
        check.quant_a3,
        accepted="i32 to f16",
        rejected="f32 to f16",
    ),
    rule(
        "STORE-A3-15", "An accumulator has 1 to 4095 columns.", check.too_many_columns, accepted="4080", rejected="4096"
    ),
    rule(
        "STORE-A3-16",
        "To ND an accumulator has 1 to 8192 rows; else 1 to 65535, and its columns are a multiple of 16.",
        check.too_many_rows,
        accepted="8192x16 to ND",
        rejected="8208x16 to ND",
    ),
    rule(
        "STORE-A3-17",
        "1 to 4095 columns of an accumulator are valid.",
        check.valid_columns,
        accepted="4095",
        rejected="4096",
    ),
    rule(
        "STORE-A3-18",
        "From Acc to ND: g0 = g1 = g2 = 1, Cv = g4, Rv = g3, 1 <= Rv <= 8192.",
        check.a3_nd,
        accepted="g = (1, 1, 1, 96, 64)",
        rejected="g = (1, 1, 2, 48, 64)",
    ),
    rule(
        "STORE-A3-19",
        "From Acc to NZ: g3 = 16; g4 = 16 for i32, 16 or 8 for f32, else 32 bytes; Rv = g2*g3, Cv = g0*g1*g4, "
        "Rv <= 65535, Cv a multiple of 16.",
        check.a3_nz,
        accepted="bf16 g = (1, 3, 1, 16, 16)",
        rejected="bf16 g = (1, 6, 1, 16, 8)",
    ),
    rule(
        "STORE-A3-20",
        "From Acc to NC1HWC0: g4 as for NZ; Rv = g0*g2*g3, Cv = g1*g4, Rv <= 65535.",
        check.nc1hwc0,
        accepted="f16 g = (1, 2, 4, 4, 16) and valid 16x32",
        rejected="f16 g = (1, 4, 4, 4, 8)",
    ),
    rule(
        "STORE-A3-21",
        "From Acc to NDC1HWC0: f32, i32, f16, bf16, i8, u8; Rv = g0*g3*g4, Cv = g1*g2*C0.",
        check.ndc1hwc0,
        accepted="f16 g = (1, 1, 2, 4, 4) and valid 16x32",
        rejected="f16 g = (1, 1, 1, 4, 4) and valid 16x32",
    ),
    rule(
        "STORE-A3-24",
        "The parameters of TSTORE_FP are u64 words in a Scaling tile, one per valid column.",
        check.fp_tile,
        accepted="scaling, 1x32 u64",
        rejected="scaling, 1x32 i64",
        decision="In `.pto` text i64 is taken too: its integers have no sign.",
    ),
    rule(
        "STORE-A3-D1",
        "Strides that the transfer takes for granted hold: plain stores as TLOAD; Acc to ND t4 = 1, to other layouts "
        "packed.",
        check.a3_assumed,
        accepted="ND t = (4096, 4096, 4096, 64, 1)",
        rejected="ND t4 = 4",
    ),
    rule(
        "STORE-A3-D2",
        "From Acc to NC1HWC0 and NDC1HWC0: g0 = 1.",
        check.a3_single,
        accepted="g = (1, 2, 4, 4, 16)",
        rejected="g = (2, 2, 4, 4, 16)",
        why="The device puts C1 outside N.",
    ),
    rule(
        "STORE-A3-D3",
        "Bit 46 of every parameter word says whether an 8-bit destination is signed, and the parameters of TSTORE_FP "
        "start at a multiple of 128 bytes.",
        check.wrong_words,
        accepted="bit 46 set for i8",
        rejected="bit 46 clear for i8",
    ),
)

A5 = (
    rule("STORE-A5-08", "An accumulator is f32 or i32.", check.wrong_source, accepted="i32", rejected="f16"),
    rule(
        "STORE-A5-09",
        "Accumulators are stored to ND, NZ, NHWC, NCHW and NCDHW.",
        check.only_to(Layout.ND, Layout.NZ, Layout.NHWC, Layout.NCHW, Layout.NCDHW),
        accepted="an NHWC view",
        rejected="a DN view",
    ),
    rule(
        "STORE-A5-10",
        "An accumulator has 1 to 4095 columns; to ND at most 8192 rows, else at most 65535 and columns in 16s.",
        lambda o: check.too_many_columns(o) or check.too_many_rows(o),
        accepted="8192x16 to ND",
        rejected="16x4096",
    ),
    rule(
        "STORE-A5-11",
        "Without quantisation an accumulator goes to i32, f32, f16 or bf16.",
        check.cast_type,
        accepted="f32 to bf16",
        rejected="f32 to u8",
    ),
    rule(
        "STORE-A5-12",
        "Without quantisation: f32 to f32, f16, bf16; i32 to i32.",
        check.cast_pair,
        accepted="i32 to i32",
        rejected="i32 to f16",
    ),
    rule(
        "STORE-A5-13",
        "With quantisation: f32 to i8, u8, f16, bf16, hif8, e4m3, f32; i32 to i8, u8, f16, bf16.",
        check.quant_a5,
        accepted="f32 to e4m3",
        rejected="f32 to e5m2",
    ),
    rule(
        "STORE-A5-14",
        "From Acc to NZ: g3 = 16; g4 = 16 for i32, 16 or 8 for f32, else 32 bytes; Rv = g2*g3, Cv = g0*g1*g4.",
        check.to_nz,
        accepted="bf16 g = (1, 3, 2, 16, 16)",
        rejected="bf16 g = (1, 6, 2, 16, 8)",
    ),
    rule(
        "STORE-A5-15",
        "From Acc: NHWC Rv = g1*g2*g3, Cv = g4; NCHW Rv = g1*g3*g4, Cv = g2; NCDHW Rv = g0*g3*g4 (or with the depth, "
        "g0*g2*g3*g4), Cv = g1.",
        check.images,
        accepted="NCHW g = (1, 1, 32, 4, 4) and valid 16x32",
        rejected="NCHW g = (1, 1, 16, 4, 4) and valid 16x32",
        decision="The header leaves the depth of NCDHW out and stores the first plane; whole volumes are taken too.",
    ),
    rule(
        "STORE-A5-21",
        "The parameters of TSTORE_FP are u64 words in a Scaling tile, one per valid column.",
        check.fp_tile,
        accepted="scaling, 1x32 u64",
        rejected="scaling, 1x32 i64",
        decision="In `.pto` text i64 is taken too: its integers have no sign.",
    ),
    rule(
        "STORE-A5-D1",
        "From Acc to ND: g0 = g1 = g2 = 1, Rv = g3, Cv = g4, t4 = 1; to NZ packed strides; from Vec the strides that "
        "TLOAD takes for granted.",
        check.a5_assumed,
        accepted="g = (1, 1, 1, 96, 48)",
        rejected="g = (1, 1, 2, 48, 48)",
        decision="NZ strides are required to be packed as on a2a3: the device computes the pitch from the shape.",
    ),
    rule(
        "STORE-A5-D2",
        "From Acc to NHWC, NCHW and NCDHW: one image (g0 = 1, NCHW also g1 = 1), whose rows lie together.",
        check.contiguous_rows,
        accepted="NHWC g = (1, 1, 4, 4, 32) with t = (512, 512, 128, 32, 1)",
        rejected="NCHW g = (1, 2, 16, 4, 4)",
    ),
    rule(
        "STORE-A5-D3",
        "Bit 46 of every parameter word says whether an 8-bit destination is signed, and the parameters of TSTORE_FP "
        "start at a multiple of 128 bytes.",
        check.wrong_words,
        accepted="bit 46 clear for u8",
        rejected="bit 46 set for u8",
    ),
)
