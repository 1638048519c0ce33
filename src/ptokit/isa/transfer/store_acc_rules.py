"""Rules of stores from accumulators on a2a3 and a5: the fix-pipe (load-store 11.6, 11.7)."""

from __future__ import annotations

from ptokit.types.enums import Layout

from . import store_acc_checks as check
from .transfer_rules import rule

A3 = (
    rule("STORE-A3-10", "an NZ view", "a DN view", what="Accumulators are stored to ND, NZ, NC1HWC0 and NDC1HWC0.")(
        check.only_to(Layout.ND, Layout.NZ, Layout.NC1HWC0, Layout.NDC1HWC0)
    ),
    rule("STORE-A3-11", "f32", "f16")(check.wrong_source),
    rule("STORE-A3-12", "f32 to bf16", "i32 to i8")(check.cast_type),
    rule("STORE-A3-13", "f32 to f16", "f32 to i32")(check.cast_pair),
    rule("STORE-A3-14", "i32 to f16", "f32 to f16")(check.quant_a3),
    rule("STORE-A3-15", "4080", "4096")(check.too_many_columns),
    rule("STORE-A3-16", "8192x16 to ND", "8208x16 to ND")(check.too_many_rows),
    rule("STORE-A3-17", "4095", "4096")(check.valid_columns),
    rule("STORE-A3-18", "g = (1, 1, 1, 96, 64)", "g = (1, 1, 2, 48, 64)")(check.a3_nd),
    rule("STORE-A3-19", "bf16 g = (1, 3, 1, 16, 16)", "bf16 g = (1, 6, 1, 16, 8)")(check.a3_nz),
    rule("STORE-A3-20", "f16 g = (1, 2, 4, 4, 16) and valid 16x32", "f16 g = (1, 4, 4, 4, 8)")(check.nc1hwc0),
    rule("STORE-A3-21", "f16 g = (1, 1, 2, 4, 4) and valid 16x32", "f16 g = (1, 1, 1, 4, 4) and valid 16x32")(
        check.ndc1hwc0
    ),
    rule(
        "STORE-A3-24",
        "scaling, 1x32 u64",
        "scaling, 1x32 i64",
        decision="In `.pto` text i64 is taken too: its integers have no sign.",
    )(check.fp_tile),
    rule("STORE-A3-D1", "ND t = (4096, 4096, 4096, 64, 1)", "ND t4 = 4")(check.a3_assumed),
    rule("STORE-A3-D2", "g = (1, 2, 4, 4, 16)", "g = (2, 2, 4, 4, 16)", why="The device puts C1 outside N.")(
        check.a3_single
    ),
    rule("STORE-A3-D3", "bit 46 set for i8", "bit 46 clear for i8")(check.wrong_words),
)


A5 = (
    rule("STORE-A5-08", "i32", "f16")(check.wrong_source),
    rule("STORE-A5-09", "an NHWC view", "a DN view", what="Accumulators are stored to ND, NZ, NHWC, NCHW and NCDHW.")(
        check.only_to(Layout.ND, Layout.NZ, Layout.NHWC, Layout.NCHW, Layout.NCDHW)
    ),
    rule("STORE-A5-10", "8192x16 to ND", "16x4096")(
        "An accumulator has 1 to 4095 columns; to ND at most 8192 rows, else at most 65535 and columns in 16s.",
        lambda o: check.too_many_columns(o),
        lambda o: check.too_many_rows(o),
    ),
    rule("STORE-A5-11", "f32 to bf16", "f32 to u8")(check.cast_type),
    rule("STORE-A5-12", "i32 to i32", "i32 to f16")(check.cast_pair),
    rule("STORE-A5-13", "f32 to e4m3", "f32 to e5m2")(check.quant_a5),
    rule("STORE-A5-14", "bf16 g = (1, 3, 2, 16, 16)", "bf16 g = (1, 6, 2, 16, 8)")(check.to_nz),
    rule(
        "STORE-A5-15",
        "NCHW g = (1, 1, 32, 4, 4) and valid 16x32",
        "NCHW g = (1, 1, 16, 4, 4) and valid 16x32",
        decision="The header leaves the depth of NCDHW out and stores the first plane; whole volumes are taken too.",
    )(check.images),
    rule(
        "STORE-A5-21",
        "scaling, 1x32 u64",
        "scaling, 1x32 i64",
        decision="In `.pto` text i64 is taken too: its integers have no sign.",
    )(check.fp_tile),
    rule(
        "STORE-A5-D1",
        "g = (1, 1, 1, 96, 48)",
        "g = (1, 1, 2, 48, 48)",
        decision="NZ strides are required to be packed as on a2a3: the device computes the pitch from the shape.",
    )(check.a5_assumed),
    rule("STORE-A5-D2", "NHWC g = (1, 1, 4, 4, 32) with t = (512, 512, 128, 32, 1)", "NCHW g = (1, 2, 16, 4, 4)")(
        check.contiguous_rows
    ),
    rule("STORE-A5-D3", "bit 46 clear for u8", "bit 46 set for u8")(check.wrong_words),
)
