"""Rules of stores from accumulators on a2a3 and a5: the fix-pipe (load-store 11.6, 11.7)."""

from __future__ import annotations

from ptokit.types.enums import Layout

from . import store_acc_checks as check
from .transfer_rules import rule

A3 = (
    rule(
        "STORE-A3-10",
        "x: Ptr[{i8|f16}]; TSTORE(GlobalTensor(x, (1, 1, 1, 32, 32){|, (1024, 1024, 1024, 1, 32), "
        "layout=Layout.DN}), TileAcc(f32, 32, 32){, 70369801142272|})",
        what="Accumulators are stored to ND, NZ, NC1HWC0 and NDC1HWC0.",
        evidence="static_assert",
    )(check.only_to(Layout.ND, Layout.NZ, Layout.NC1HWC0, Layout.NDC1HWC0)),
    rule(
        "STORE-A3-11",
        "x: Ptr[{i8|f16}]; TSTORE(GlobalTensor(x, (32, 32)), TileAcc({f32|f16}, 32, 32){, 70369801142272|})",
        evidence="static_assert",
    )(check.wrong_source),
    rule(
        "STORE-A3-12",
        "x: Ptr[u8]; TSTORE(GlobalTensor(x, (32, 32)), TileAcc(f32, 32, 32){, 1056964608|})",
        evidence="static_assert",
    )(check.cast_type),
    rule(
        "STORE-A3-13",
        "x: Ptr[{i8|f16}]; TSTORE(GlobalTensor(x, (32, 32)), TileAcc({f32|i32}, 32, 32){, 70369801142272|})",
        evidence="document ptokit",
    )(check.cast_pair),
    rule(
        "STORE-A3-14",
        "x: Ptr[{i8|f16}]; TSTORE(GlobalTensor(x, (32, 32)), TileAcc(f32, 32, 32), 70369801142272)",
        evidence="static_assert",
    )(check.quant_a3),
    rule("STORE-A3-15", "4080", "4096")(check.too_many_columns),
    rule("STORE-A3-16", "8192x16 to ND", "8208x16 to ND")(check.too_many_rows),
    rule("STORE-A3-17", "4095", "4096")(check.valid_columns),
    rule(
        "STORE-A3-18",
        "x: Ptr[{i8|f16}]; TSTORE(GlobalTensor(x, ({32|2, 16}, 32)), TileAcc(f32, 32, 32){, 70369801142272|})",
        evidence="device assertion",
    )(check.a3_nd),
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
    rule(
        "STORE-A3-D1",
        "x: Ptr[f32]; TSTORE(GlobalTensor(x, (16, 16){|, (64, 4)}), Tile(Vec, f32, 16, 16))",
        evidence="device",
    )(check.a3_assumed),
    rule("STORE-A3-D2", "g = (1, 2, 4, 4, 16)", "g = (2, 2, 4, 4, 16)", why="The device puts C1 outside N.")(
        check.a3_single
    ),
    rule(
        "STORE-A3-D3",
        "x: Ptr[{i8|u8}]; TSTORE(GlobalTensor(x, (32, 32)), TileAcc(f32, 32, 32), 70369801142272)",
        evidence="device",
    )(check.wrong_words),
)


A5 = (
    rule(
        "STORE-A5-08",
        "x: Ptr[{u8|f16}]; TSTORE(GlobalTensor(x, (32, 32)), TileAcc({f32|f16}, 32, 32){, 1056964608|})",
        evidence="static_assert",
    )(check.wrong_source),
    rule("STORE-A5-09", "an NHWC view", "a DN view", what="Accumulators are stored to ND, NZ, NHWC, NCHW and NCDHW.")(
        check.only_to(Layout.ND, Layout.NZ, Layout.NHWC, Layout.NCHW, Layout.NCDHW)
    ),
    rule("STORE-A5-10", "8192x16 to ND", "16x4096")(
        "An accumulator has 1 to 4095 columns; to ND at most 8192 rows, else at most 65535 and columns in 16s.",
        lambda o: check.too_many_columns(o),
        lambda o: check.too_many_rows(o),
    ),
    rule(
        "STORE-A5-11",
        "x: Ptr[u8]; TSTORE(GlobalTensor(x, (32, 32)), TileAcc(f32, 32, 32){, 1056964608|})",
        evidence="static_assert",
    )(check.cast_type),
    rule(
        "STORE-A5-12",
        "x: Ptr[{u8|f16}]; TSTORE(GlobalTensor(x, (32, 32)), TileAcc({f32|i32}, 32, 32){, 1056964608|})",
        evidence="document ptokit",
    )(check.cast_pair),
    rule(
        "STORE-A5-13",
        "x: Ptr[{u8|e5m2}]; TSTORE(GlobalTensor(x, (32, 32)), TileAcc(f32, 32, 32), {1056964608|70369801142272})",
        evidence="static_assert",
    )(check.quant_a5),
    rule(
        "STORE-A5-14",
        "x: Ptr[{f16]; TSTORE(GlobalTensor(x, (1, 1, 1, 16, 32)), Tile(Vec, f16, 16|i32]; "
        "TSTORE(GlobalTensor(x, (1, 4, 2, 16, 8), layout=Layout.NZ), TileAcc(i32, 32}, 32))",
        evidence="static_assert device",
    )(check.to_nz),
    rule(
        "STORE-A5-15",
        "x: Ptr[f16]; TSTORE(GlobalTensor(x, (1, 1, {1, 4, 32)), Tile(Vec, f16, 4|16, 4, 8), "
        "layout=Layout.NCHW), TileAcc(f32, 32}, 32))",
        decision="The header leaves the depth of NCDHW out and stores the first plane; whole volumes are taken too.",
        evidence="device assertion",
    )(check.images),
    rule(
        "STORE-A5-21",
        "scaling, 1x32 u64",
        "scaling, 1x32 i64",
        decision="In `.pto` text i64 is taken too: its integers have no sign.",
    )(check.fp_tile),
    rule(
        "STORE-A5-D1",
        "x: Ptr[f32]; TSTORE(GlobalTensor(x, ({4|16}, 16{|), (64, 4})), Tile(Vec, f32, {4|16}, 16))",
        decision="NZ strides are required to be packed as on a2a3: the device computes the pitch from the shape.",
        evidence="device",
    )(check.a5_assumed),
    rule(
        "STORE-A5-D2",
        "x: Ptr[f16]; TSTORE(GlobalTensor(x, (1, {1, 1, 4, 32)), Tile(Vec, f16, 4|2, 32, 4, 4), "
        "layout=Layout.NCHW), TileAcc(f32, 32}, 32))",
        evidence="device",
    )(check.contiguous_rows),
    rule(
        "STORE-A5-D3",
        "x: Ptr[{u8|i8}]; TSTORE(GlobalTensor(x, (32, 32)), TileAcc(f32, 32, 32), 1056964608)",
        evidence="device",
    )(check.wrong_words),
)
