"""Rules of quantisation, products of one row, block-scaled products and image to column."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import ptokit.isa.all  # noqa: F401  (completes the table)
from ptokit.isa.site import TileInfo
from ptokit.types.dtypes import DTYPES
from ptokit.types.enums import BLayout, Layout, MxQuantAlg, QuantType, SLayout, TileType
from ptokit.types.tensor import ConvState, conv_tile
from ptokit.types.tile import TileSpec, tile

from .fake import spec
from .rule_cases import Case, at, broken, case_ids, check_case, untested


def cube(loc: TileType, dtype: str, rows: int, cols: int, layout: str, fractal: int = 512, *valid: int) -> TileSpec:
    """A tile of the cube unit with a layout by name: Nz, Zz, Zn, Nn."""
    blocks = BLayout.RowMajor if layout[0] == "Z" else BLayout.ColMajor
    inner = SLayout.RowMajor if layout[1] == "z" else SLayout.ColMajor
    return tile(loc, DTYPES[dtype], rows, cols, *valid, blayout=blocks, slayout=inner, fractal=fractal)


def owned(tile: TileSpec, origin: int) -> TileInfo:
    """The tile, whose memory is that of all tiles with this origin."""
    return replace(TileInfo.static("t", tile), origin=origin)


L, R, ACC = TileType.Left, TileType.Right, TileType.Acc
SRC = spec("f32", 6, 64)
COLUMN = spec("f32", 8, 1, 6, 1, dn=True)
SYM = {"dst": spec("i8", 6, 64), "src": SRC, "scale": COLUMN}
ASYM = {"dst": spec("u8", 6, 64), "src": SRC, "scale": COLUMN, "offset": COLUMN}
DEQ = {"dst": SRC, "src": spec("i8", 6, 64), "scale": COLUMN, "offset": COLUMN}
MXQ = {
    "dst": spec("u8", 64, 64),
    "src": spec("f16", 64, 64),
    "exp": spec("u8", 1, 128),
    "max": spec("f16", 1, 128),
    "scaling": spec("f16", 1, 128),
}
ROW = cube(L, "f16", 1, 256, "Nz")
GEMV: dict[str, Any] = {
    "dst": cube(ACC, "f32", 1, 32, "Nz", 1024),
    "lhs": ROW,
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
MX_ROW = {
    **MX,
    "dst": GEMV["dst"],
    "lhs": cube(L, "e4m3", 1, 512, "Nz", 512, 1, 64),
    "lhs_scale": cube(TileType.ScaleLeft, "e8m0", 1, 16, "Zz", 32),
}


def image(layout: Layout = Layout.NC1HWC0, dims: tuple[int, ...] = (1, 2, 5, 8, 16), **state: Any) -> TileSpec:
    """A convolution tile in L1."""
    return conv_tile(TileType.Mat, DTYPES["f16"], layout, dims, state=ConvState(**state))


PATCHES = {"dst": cube(L, "f16", 16, 32, "Nz"), "src": image()}
ZZ = cube(L, "f16", 16, 32, "Zz")

CASES: list[Case] = [
    ("QNT-COM-01", "TQUANT", "a5", SYM, {**SYM, "dst": ASYM["dst"]}),
    ("QNT-COM-01", "TQUANT", "a5", ASYM, {**ASYM, "attrs": {"quant_type": QuantType.INT8_SYM}}),
    ("QNT-COM-01", "TQUANT", "a5", SYM, {**SYM, "attrs": {"quant_type": QuantType.INT8_ASYM}}),
    ("QNT-COM-01", "TQUANT", "cpu", SYM, {**SYM, "src": spec("f16", 6, 64)}),
    ("QNT-COM-02", "TQUANT", "a5", SYM, {**SYM, "dst": spec("i8", 6, 32)}),
    ("QNT-COM-02", "TQUANT", "a5", SYM, {**SYM, "scale": spec("f32", 4, 1, dn=True)}),
    ("QNT-COM-02", "TQUANT", "a2a3", SYM, {**SYM, "scale": spec("f32", 6, 8)}),
    ("QNT-A3-01", "TQUANT", "a2a3", {**SYM, "tmp": SRC}, {**SYM, "tmp": spec("f32", 3, 64)}),
    ("QNT-A3-01", "TQUANT", "a2a3", {**SYM, "tmp": SRC}, SYM),
    ("DEQ-COM-01", "TDEQUANT", "a5", DEQ, {**DEQ, "src": spec("u8", 6, 64)}),
    ("DEQ-COM-01", "TDEQUANT", "a5", DEQ, {**DEQ, "offset": spec("f32", 16, 1, 6, 1, dn=True)}),
    ("DEQ-COM-02", "TDEQUANT", "a2a3", DEQ, {**DEQ, **dict.fromkeys(("scale", "offset"), spec("f32", 8, 1, dn=True))}),
    ("DEQ-COM-03", "TDEQUANT", "a5", DEQ, {**DEQ, **dict.fromkeys(("scale", "offset"), spec("f32", 6, 8))}),
    ("QMX-COM-01", "TQUANT_MX", "a5", MXQ, {**MXQ, "src": spec("i16", 64, 64)}),
    ("QMX-COM-01", "TQUANT_MX", "a5", MXQ, {**MXQ, "attrs": {"alg": MxQuantAlg.OcpMxFp4E2M1}}),
    ("QMX-COM-01", "TQUANT_MX", "a5", MXQ, {**MXQ, "dst": spec("u8", 32, 64)}),
    ("QMX-COM-02", "TQUANT_MX", "a5", MXQ, {**MXQ, "src": spec("f16", 64, 48), "dst": spec("u8", 64, 48)}),
    ("QMX-COM-02", "TQUANT_MX", "a5", MXQ, {**MXQ, "attrs": {"grp_axis": 2}}),
    ("QMX-COM-03", "TQUANT_MX", "cpu", MXQ, {**MXQ, "exp": spec("u8", 1, 96)}),
    ("QMX-A5-01", "TQUANT_MX", "a5", MXQ, {**MXQ, "src": spec("f16", 64, 64, 64, 60)}),
    (
        "QMX-A5-03",
        "TQUANT_MX",
        "a5",
        {**MXQ, "attrs": {"grp_axis": 0, "interleave": True}},
        {**MXQ, "attrs": {"interleave": True}},
    ),
    ("MAT-COM-08", "TGEMV_BIAS", "a5", {**GEMV, "bias": BIAS}, {**GEMV, "bias": spec("f32", 1, 32)}),
    ("MAT-COM-08", "TGEMV_BIAS", "a5", {**GEMV, "bias": BIAS}, {**GEMV, "bias": spec("f32", 1, 16, loc=BIAS.loc)}),
    ("MAT-COM-08", "TGEMV_BIAS", "a5", {**GEMV, "bias": BIAS}, {**GEMV, "bias": spec("f32", 2, 32, loc=BIAS.loc)}),
    ("GEMV-COM-01", "TGEMV", "a5", GEMV, {**GEMV, "lhs": cube(L, "f16", 16, 256, "Nz")}),
    ("GEMV-COM-01", "TGEMV", "a5", GEMV, {**GEMV, "rhs": cube(R, "f16", 128, 32, "Zn")}),
    ("GEMV-COM-02", "TGEMV", "a5", GEMV, {**GEMV, "lhs": cube(L, "f16", 1, 128, "Nz")}),
    ("MXM-A5-01", "TMATMUL_MX", "a5", MX, {**MX, "rhs": cube(R, "e2m1", 64, 32, "Zn")}),
    ("MXM-A5-01", "TMATMUL_MX", "a5", MX, {**MX, "lhs_scale": cube(TileType.ScaleLeft, "u8", 16, 2, "Zz", 32)}),
    ("MXM-A5-02", "TMATMUL_MX", "a5", MX, {**MX, "lhs": cube(L, "e4m3", 16, 32, "Nz")}),
    ("MXM-A5-03", "TMATMUL_MX", "a5", MX, {**MX, "lhs": cube(L, "e4m3", 16, 64, "Zz")}),
    ("MXM-A5-03", "TMATMUL_MX", "a5", MX, {**MX, "rhs_scale": cube(TileType.ScaleRight, "e8m0", 4, 32, "Nn", 32)}),
    ("MXM-A5-04", "TMATMUL_MX", "a5", MX, {**MX, "lhs": cube(L, "e4m3", 16, 64, "Nz", 512, 16, 0)}),
    ("MXM-A5-04", "TMATMUL_MX", "a5", MX, {**MX, "dst": cube(ACC, "f32", 1024, 1024, "Nz", 1024)}),
    (
        "MXM-A5-06",
        "TMATMUL_MX",
        "a5",
        {**MX, "lhs": at(MX["lhs"], 4096), "lhs_scale": at(MX["lhs_scale"], 256)},
        {**MX, "lhs": at(MX["lhs"], 4096), "lhs_scale": at(MX["lhs_scale"], 0)},
    ),
    (
        "MXM-A5-07",
        "TMATMUL_MX_ACC",
        "a5",
        {**MX, "dst": owned(MX["dst"], 1), "acc": owned(MX["dst"], 1)},
        {**MX, "dst": owned(MX["dst"], 1), "acc": owned(MX["dst"], 2)},
    ),
    ("MXM-A5-08", "TGEMV_MX", "a5", MX_ROW, MX),
    (
        "MXM-SA-01",
        "TGET_SCALE_ADDR",
        "a5",
        {"dst": MX["lhs_scale"], "src": MX["lhs"]},
        {"dst": MX["lhs_scale"], "src": MX["dst"]},
    ),
    ("IMG-COM-01", "TIMG2COL", "a5", PATCHES, {**PATCHES, "src": spec("f16", 16, 16, loc=TileType.Mat, boxed=True)}),
    ("IMG-COM-01", "TIMG2COL", "a5", PATCHES, {**PATCHES, "dst": spec("f16", 16, 16, loc=TileType.Mat, boxed=True)}),
    ("IMG-COM-02", "SETFMATRIX", "a5", {"config": image()}, {"config": spec("f16", 16, 16, loc=TileType.Mat)}),
    ("IMG-COM-03", "TIMG2COL", "a5", PATCHES, {**PATCHES, "src": image(transpose=True)}),
    ("IMG-COM-04", "TIMG2COL", "cpu", PATCHES, {**PATCHES, "src": image(filter=(9, 9))}),
    ("IMG-COM-04", "TIMG2COL", "cpu", PATCHES, {**PATCHES, "src": image(stride=(0, 1))}),
    ("IMG-A23-01", "TIMG2COL", "a2a3", {**PATCHES, "dst": ZZ}, PATCHES),
    ("IMG-A5-01", "TIMG2COL", "a5", PATCHES, {**PATCHES, "dst": ZZ}),
    ("IMG-CPU-01", "TIMG2COL", "cpu", PATCHES, {**PATCHES, "dst": ZZ}),
]
ABSENT = [("QMX-A3-01", "TQUANT_MX", MXQ), ("MXM-A3-01", "TMATMUL_MX", MX)]


@pytest.mark.parametrize("case", CASES, ids=case_ids(CASES))
def test_rule(case: Case) -> None:
    check_case(case)


@pytest.mark.parametrize(("rule", "name", "operands"), ABSENT)
def test_absent_instructions(rule: str, name: str, operands: dict[str, Any]) -> None:
    assert rule in broken(name, "a2a3", operands)
    assert broken(name, "a5", operands).keys() <= {"MX-SCALE"}, "text has scales in scaling, C++ in scale_left"


def test_a_quantised_source_is_lost() -> None:
    assert "QNT-A3-02" in broken("TQUANT", "a2a3", SYM)
    assert "QNT-A3-02" not in broken("TQUANT", "a5", SYM)


def test_every_rule_has_a_case() -> None:
    prefixes = "QNT- DEQ- QMX- GEMV- MXM- IMG-".split()
    assert untested(CASES, *prefixes) == {"QNT-A3-02", *(rule for rule, *_ in ABSENT)}
