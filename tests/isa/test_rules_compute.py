"""Rules of arithmetic on tiles, beside their examples: a site that passes, one that breaks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ptokit.types.dtypes import DTYPES
from ptokit.types.enums import BLayout, Layout, MxQuantAlg, QuantType, SLayout, TileType
from ptokit.types.tensor import ConvState, conv_tile
from ptokit.types.tile import TileSpec, tile

from .fake import spec
from .rule_cases import DN, ROW, U8, Case, F, H, I, at, broken, case_ids, check_case

M = spec("u8", 16, 32)
IDX = spec("i32", 16, 1, dn=True)
IROW = spec("i32", 1, 64)
PART_ARG = {"src0": at(F, 0), "src1": at(F, 4096), "src0i": at(I, 8192), "src1i": at(I, 12288)}


def cube(loc: TileType, dtype: str, rows: int, cols: int, layout: str, fractal: int = 512, *valid: int) -> TileSpec:
    """A tile of the cube unit with a layout by name: Nz, Zz, Zn, Nn."""
    blocks = BLayout.RowMajor if layout[0] == "Z" else BLayout.ColMajor
    inner = SLayout.RowMajor if layout[1] == "z" else SLayout.ColMajor
    return tile(loc, DTYPES[dtype], rows, cols, *valid, blayout=blocks, slayout=inner, fractal=fractal)


L, R, ACC = TileType.Left, TileType.Right, TileType.Acc
WIDE = spec("f32", 6, 64)
COLUMN = spec("f32", 8, 1, 6, 1, dn=True)
SYM = {"dst": spec("i8", 6, 64), "src": WIDE, "scale": COLUMN}
ASYM = {"dst": spec("u8", 6, 64), "src": WIDE, "scale": COLUMN, "offset": COLUMN}
DEQ = {"dst": WIDE, "src": spec("i8", 6, 64), "scale": COLUMN, "offset": COLUMN}
MXQ = {
    "dst": spec("u8", 64, 64),
    "src": spec("f16", 64, 64),
    "exp": spec("u8", 1, 128),
    "max": spec("f16", 1, 128),
    "scaling": spec("f16", 1, 128),
}
LEFT_ROW = cube(L, "f16", 1, 256, "Nz")
GEMV: dict[str, Any] = {
    "dst": cube(ACC, "f32", 1, 32, "Nz", 1024),
    "lhs": LEFT_ROW,
    "rhs": cube(R, "f16", 256, 32, "Zn"),
}
BIAS = spec("f32", 1, 32, loc=TileType.Bias)
MX: dict[str, Any] = {
    "dst": cube(ACC, "f32", 16, 32, "Nz", 1024),
    "lhs": cube(L, "e4m3", 16, 64, "Nz"),
    "lhs_scale": cube(TileType.ScaleLeft, "e8m0", 16, 2, "Zz", 32),
    "rhs": cube(R, "e5m2", 64, 32, "Zn"),
    "rhs_scale": cube(TileType.ScaleRight, "e8m0", 2, 32, "Nn", 32),
}


def image(layout: Layout = Layout.NC1HWC0, dims: tuple[int, ...] = (1, 2, 5, 8, 16), **state: Any) -> TileSpec:
    """A convolution tile in L1."""
    return conv_tile(TileType.Mat, DTYPES["f16"], layout, dims, state=ConvState(**state))


PATCHES = {"dst": cube(L, "f16", 16, 32, "Nz"), "src": image()}

CASES: list[Case] = [
    (
        "EW-02",
        "TADDS",
        "a2a3",
        {"dst": F, "src": F, "scalar": 1},
        {"dst": F, "src": spec("f32", 16, 64, dn=True), "scalar": 1},
    ),
    (
        "EW-03",
        "TADD",
        "cpu",
        {"dst": F, "src0": F, "src1": F},
        {"dst": F, "src0": F, "src1": replace(F, slayout=SLayout.RowMajor)},
    ),
    ("EW-04", "TADD", "a5", {"dst": F, "src0": F, "src1": F}, {"dst": F, "src0": H, "src1": F}),
    (
        "EW-05",
        "TADD",
        "a5",
        {"dst": F, "src0": F, "src1": F},
        {"dst": F, "src0": spec("f32", 16, 64, 16, 60), "src1": F},
    ),
    (
        "EW-05",
        "TMULS",
        "a5",
        {"dst": F, "src": spec("f32", 16, 64, 8, 64), "scalar": 1},
        {"dst": F, "src": spec("f32", 16, 64, 16, 60), "scalar": 1},
    ),
    (
        "EW-06",
        "TADD",
        "a2a3",
        {"dst": spec("i16", 4, 16), "src0": spec("i16", 4, 16), "src1": spec("i16", 4, 16)},
        {"dst": spec("u8", 4, 32), "src0": spec("u8", 4, 32), "src1": spec("u8", 4, 32)},
    ),
    ("EW-06", "TAXPY", "a5", {"dst": F, "src": H, "scalar": 1}, {"dst": H, "src": F, "scalar": 1}),
    (
        "EW-08",
        "TLRELU",
        "a5",
        {"dst": H, "src": H, "scalar": ("f32", 0.1)},
        {"dst": H, "src": H, "scalar": ("f16", 0.1)},
    ),
    (
        "EW-10",
        "TADD",
        "a5",
        {"dst": at(F, 0), "src0": at(F, 0), "src1": at(F, 4096)},
        {"dst": at(F, 0), "src0": at(F, 32), "src1": at(F, 8192)},
    ),
    (
        "EW-10",
        "TMAXS",
        "a5",
        {"dst": at(F, 2048), "src": at(spec("f32", 16, 64, 8, 64), 0), "scalar": ("f32", 1.0)},
        {"dst": at(F, 2048), "src": at(spec("f32", 16, 64, 9, 64), 0), "scalar": ("f32", 1.0)},
    ),
    (
        "EW-10",
        "TFMOD",
        "a2a3",
        {"dst": at(F, 0), "src0": at(F, 4096), "src1": at(F, 8192)},
        {"dst": at(F, 0), "src0": at(F, 0), "src1": at(F, 8192)},
    ),
    (
        "EW-10",
        "TXOR",
        "a2a3",
        {"dst": at(I, 0), "src0": at(I, 4096), "src1": at(I, 8192), "tmp": at(I, 12288)},
        {"dst": at(I, 0), "src0": at(I, 4096), "src1": at(I, 8192), "tmp": at(I, 8192)},
    ),
    (
        "EW-10",
        "TADDC",
        "a5",
        {"dst": at(F, 0), "src0": at(F, 0), "src1": at(F, 4096), "src2": at(F, 8192)},
        {"dst": at(F, 0), "src0": at(F, 4096), "src1": at(F, 8192), "src2": at(F, 0)},
    ),
    (
        "EW-1",
        "TMUL",
        "a5",
        {"dst": H, "src0": H, "src1": H},
        dict.fromkeys(("dst", "src0", "src1"), spec("bf16", 16, 64)),
    ),
    (
        "EW-11",
        "TPRELU",
        "a2a3",
        {"dst": F, "src0": F, "src1": F, "tmp": U8},
        {"dst": F, "src0": F, "src1": F, "tmp": spec("u8", 16, 64)},
    ),
    (
        "EW-11",
        "TREM",
        "a2a3",
        {"dst": F, "src0": F, "src1": F, "tmp": spec("f32", 1, 72)},
        {"dst": F, "src0": F, "src1": F, "tmp": spec("f32", 1, 64)},
    ),
    (
        "EW-11",
        "TXORS",
        "a2a3",
        {"dst": I, "src": I, "scalar": 2, "tmp": I},
        {"dst": I, "src": I, "scalar": 2, "tmp": F},
    ),
    (
        "EW-11",
        "TPOW",
        "a2a3",
        {"dst": F, "src0": F, "src1": F, "tmp": F},
        {"dst": F, "src0": F, "src1": F, "tmp": spec("f32", 16, 64, 8, 64)},
    ),
    (
        "EW-11",
        "TRSQRT",
        "a2a3",
        {"dst": F, "src": F, "tmp": spec("f32", 1, 8)},
        {"dst": F, "src": F, "tmp": spec("f32", 1, 8, dn=True)},
    ),
    (
        "EW-AS-01",
        "TANDS",
        "a5",
        {"dst": at(I, 0), "src": at(I, 4096), "scalar": 1},
        {"dst": at(I, 0), "src": at(I, 0), "scalar": 1},
    ),
    (
        "EW-AS-03",
        "TPRELU",
        "a5",
        {"dst": F, "src0": F, "src1": F, "tmp": spec("u8", 16, 64)},
        {"dst": F, "src0": F, "src1": spec("f32", 17, 64, 16, 64), "tmp": U8},
    ),
    *(
        (
            "EW-AS-03",
            "TPRELU",
            "a2a3",
            {"dst": F, "src0": F, "src1": F, "tmp": spec("u8", 17, 32, 16, 8)},
            {"dst": F, "src0": F, "src1": F, "tmp": tmp},
        )
        for tmp in (spec("u8", 16, 64), spec("f16", 17, 64), spec("u8", 17, 32, 16, 7))
    ),
    (
        "EW-AS-04",
        "TREM",
        "a2a3",
        {"dst": F, "src0": F, "src1": F, "tmp": F},
        {"dst": F, "src0": F, "src1": F, "tmp": H},
    ),
    ("EW-CMP-01", "TCMP", "a5", {"dst": M, "src0": F, "src1": F}, {"dst": F, "src0": F, "src1": F}),
    ("ARG-COM-01", "TROWARGMAX", "a5", {"dst": IDX, "src": F}, {"dst": spec("i32", 8, 1, dn=True), "src": F}),
    (
        "ARG-COM-03",
        "TCOLARGMAX",
        "a5",
        {"dst": spec("u16", 1, 64), "dst_val": spec("f16", 1, 64), "src": H},
        {"dst": IROW, "dst_val": spec("f16", 1, 64), "src": H},
    ),
    ("ARG-COM-04", "TROWARGMAX", "a2a3", {"dst": IDX, "src": F, "tmp": F}, {"dst": IDX, "src": F, "tmp": H}),
    (
        "ARG-A3-03",
        "TCOLARGMAX",
        "a2a3",
        {"dst": IROW, "src": spec("f16", 2048, 64)},
        {"dst": IROW, "src": spec("f16", 2064, 64)},
    ),
    (
        "EW-11",
        "TSEL",
        "a2a3",
        {"dst": H, "mask": M, "src0": H, "src1": H, "tmp": spec("u8", 1, 32)},
        {"dst": H, "mask": M, "src0": H, "src1": H, "tmp": spec("u8", 1, 8)},
    ),
    (
        "EW-11",
        "TSELS",
        "a2a3",
        {"dst": I, "mask": M, "src": I, "scalar": 1, "tmp": spec("u8", 1, 32)},
        {"dst": I, "mask": M, "src": I, "scalar": 1, "tmp": spec("u8", 1, 2)},
    ),
    ("PAIR-COM-01", "TPairReduceSum", "a5", {"dst": F, "src": F}, {"dst": spec("f32", 16, 64, 16, 32), "src": F}),
    ("TCVT-02", "TCVT", "a5", {"dst": H, "src": F}, {"dst": H, "src": spec("f32", 16, 64, 16, 60)}),
    ("TCVT-INP-01", "TCVT", "a5", {"dst": at(I, 0), "src": at(F, 0)}, {"dst": at(F, 0), "src": at(H, 0)}),
    ("TCVT-INP-01", "TCVT", "a5", {"dst": at(H, 0), "src": at(F, 32)}, {"dst": at(H, 32), "src": at(F, 0)}),
    (
        "TCVT-INP-01",
        "TCVT",
        "a5",
        {"dst": at(spec("f16", 16, 128, 16, 64), 0), "src": at(F, 0)},
        {"dst": at(spec("f16", 16, 144, 16, 64), 0), "src": at(F, 0)},
    ),
    # rows
    ("RRED-COM-01", "TROWSUM", "a5", {"dst": DN, "src": F}, {"dst": DN, "src": spec("f32", 16, 64, dn=True)}),
    (
        "RRED-COM-04",
        "TROWMAX",
        "a5",
        {"dst": spec("f32", 16, 8, 16, 1), "src": F},
        {"dst": spec("f32", 16, 8), "src": F},
    ),
    (
        "RRED-A3-02",
        "TROWSUM",
        "a2a3",
        {"dst": DN, "src": spec("f32", 16, 128), "tmp": F},
        {"dst": DN, "src": spec("f32", 16, 128), "tmp": spec("f32", 16, 8)},
    ),
    (
        "RR-1",
        "TROWMAX",
        "a5",
        {"dst": DN, "src": F},
        {"dst": spec("i8", 32, 1, dn=True), "src": spec("i8", 32, 64)},
    ),
    # columns
    (
        "CRED-COM-03",
        "TCOLSUM",
        "a5",
        {"dst": ROW, "src": F, "tmp": F, "attrs": {"is_binary": True}},
        {"dst": ROW, "src": F, "tmp": F},
    ),
    (
        "CR-1",
        "TCOLMAX",
        "a2a3",
        {"dst": ROW, "src": F},
        {"dst": spec("bf16", 1, 64), "src": spec("bf16", 16, 64)},
    ),
    (
        "CMP-INP-01",
        "TROWEXPANDSUB",
        "a5",
        {"dst": at(F, 0), "src0": at(F, 0), "src1": at(DN, 8192)},
        {"dst": at(F, 0), "src0": at(F, 4096), "src1": at(DN, 0)},
    ),
    (
        "CMP-INP-01",
        "TCOLSUM",
        "a2a3",
        {"dst": at(ROW, 0), "src": at(F, 0), "tmp": at(F, 8192), "attrs": {"is_binary": True}},
        {"dst": at(ROW, 256), "src": at(F, 0), "tmp": at(F, 8192), "attrs": {"is_binary": True}},
    ),
    (
        "CMP-INP-01",
        "TCOLARGMAX",
        "a5",
        {"dst": at(IROW, 8192), "src": at(F, 0)},
        {"dst": at(IROW, 0), "src": at(F, 0)},
    ),
    (
        "CMP-INP-01",
        "TROWARGMAX",
        "a5",
        {"dst": at(I, 8192), "src": at(F, 0), "dst_val": at(F, 16384)},
        {"dst": at(I, 8192), "src": at(F, 0), "dst_val": at(F, 2048)},
    ),
    (
        "CMP-INP-01",
        "TPARTARGMAX",
        "a2a3",
        PART_ARG | {"dst": at(F, 0), "dsti": at(I, 8192)},
        PART_ARG | {"dst": at(F, 0), "dsti": at(I, 4096)},
    ),
    # expansions
    (
        "REXP-COM-12",
        "TROWEXPANDSUB",
        "a2a3",
        {"dst": F, "src0": F, "src1": DN, "tmp": F},
        {"dst": F, "src0": F, "src1": spec("f32", 16, 8), "tmp": F},
    ),
    ("CEXP-COM-02", "TCOLEXPANDADD", "a5", {"dst": F, "src0": ROW, "src1": F}, {"dst": F, "src0": ROW, "src1": ROW}),
    (
        "CEXP-AS-01",
        "TCOLEXPANDADD",
        "a5",
        {"dst": F, "src0": F, "src1": ROW},
        {"dst": F, "src0": ROW, "src1": F},
    ),
    ("QNT-COM-01", "TQUANT", "a5", ASYM, {**ASYM, "attrs": {"quant_type": QuantType.INT8_SYM}}),
    ("QNT-COM-02", "TQUANT", "a5", SYM, {**SYM, "scale": spec("f32", 4, 1, dn=True)}),
    ("QNT-COM-02", "TQUANT", "a2a3", SYM, {**SYM, "scale": spec("f32", 6, 8)}),
    ("QNT-A3-01", "TQUANT", "a2a3", {**SYM, "tmp": WIDE}, SYM),
    ("DEQ-COM-01", "TDEQUANT", "a5", DEQ, {**DEQ, "offset": spec("f32", 16, 1, 6, 1, dn=True)}),
    ("QMX-COM-01", "TQUANT_MX", "a5", MXQ, {**MXQ, "src": spec("i16", 64, 64)}),
    ("QMX-COM-01", "TQUANT_MX", "a5", MXQ, {**MXQ, "attrs": {"alg": MxQuantAlg.OcpMxFp4E2M1}}),
    ("QMX-COM-02", "TQUANT_MX", "a5", MXQ, {**MXQ, "attrs": {"grp_axis": 2}}),
    (
        "QMX-A5-03",
        "TQUANT_MX",
        "a5",
        {**MXQ, "attrs": {"grp_axis": 0, "interleave": True}},
        {**MXQ, "attrs": {"interleave": True}},
    ),
    ("MAT-COM-08", "TGEMV_BIAS", "a5", {**GEMV, "bias": BIAS}, {**GEMV, "bias": spec("f32", 1, 32)}),
    ("GEMV-COM-01", "TGEMV", "a5", GEMV, {**GEMV, "lhs": cube(L, "f16", 16, 256, "Nz")}),
    ("GEMV-COM-02", "TGEMV", "a5", GEMV, {**GEMV, "lhs": cube(L, "f16", 1, 128, "Nz")}),
    ("MXM-A5-01", "TMATMUL_MX", "a5", MX, {**MX, "rhs": cube(R, "e2m1", 64, 32, "Zn")}),
    ("MXM-A5-03", "TMATMUL_MX", "a5", MX, {**MX, "lhs": cube(L, "e4m3", 16, 64, "Zz")}),
    ("MXM-A5-04", "TMATMUL_MX", "a5", MX, {**MX, "lhs": cube(L, "e4m3", 16, 64, "Nz", 512, 16, 0)}),
    ("IMG-COM-01", "TIMG2COL", "a5", PATCHES, {**PATCHES, "dst": spec("f16", 16, 16, loc=TileType.Mat, boxed=True)}),
    ("IMG-COM-03", "TIMG2COL", "a5", PATCHES, {**PATCHES, "src": image(transpose=True)}),
    ("IMG-COM-04", "TIMG2COL", "cpu", PATCHES, {**PATCHES, "src": image(filter=(9, 9))}),
    ("IMG-COM-04", "TIMG2COL", "cpu", PATCHES, {**PATCHES, "src": image(stride=(0, 1))}),
]


@pytest.mark.parametrize("case", CASES, ids=case_ids(CASES))
def test_rule(case: Case) -> None:
    check_case(case)


def test_unknown_sizes_break_nothing() -> None:
    dynamic = spec("f32", 16, 64, -1, -1)
    vector = spec("f32", 16, 1, -1, 1, dn=True)
    for name, operands in {
        "TADD": {"dst": dynamic, "src0": dynamic, "src1": F},
        "TROWSUM": {"dst": vector, "src": dynamic, "tmp": F},
        "TROWEXPANDSUB": {"dst": dynamic, "src0": dynamic, "src1": vector},
        "TCOLEXPANDADD": {"dst": dynamic, "src0": dynamic, "src1": spec("f32", 1, 64, 1, -1)},
        "TCVT": {"dst": spec("i32", 16, 64, -1, -1), "src": dynamic},
    }.items():
        for target in ("a2a3", "a5"):
            assert broken(name, target, operands) == {}, name


def test_message_names_the_value_and_what_is_allowed() -> None:
    u8 = spec("u8", 4, 32)
    message = broken("TADD", "a2a3", {"dst": u8, "src0": u8, "src1": u8})["EW-06"]
    assert message == "a2a3 has no u8 form; allowed: f32 f16 i16 i32"


def test_a_quantised_source_is_lost() -> None:
    assert "QNT-A3-02" in broken("TQUANT", "a2a3", SYM)
    assert "QNT-A3-02" not in broken("TQUANT", "a5", SYM)
