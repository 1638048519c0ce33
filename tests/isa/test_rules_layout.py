"""Rules of TTRANS, TCONCAT, TFILLPAD, TINTERLEAVE and TPACK: a site that passes, one that breaks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import ptokit.isa.all  # noqa: F401  (completes the table)
from ptokit.isa.site import TileInfo
from ptokit.types.dtypes import DTYPES
from ptokit.types.enums import Layout, TileType
from ptokit.types.tensor import conv_tile

from .fake import spec
from .rule_cases import Case, at, broken, case_ids, check_case, untested

T = spec("f32", 16, 64)
TT = spec("f32", 64, 16)
H = spec("f16", 16, 64)
MAT: dict[str, Any] = {"loc": TileType.Mat, "boxed": True}


def conv(layout: Layout, *dims: int, dtype: str = "f16") -> Any:
    """A convolution tile in UB."""
    return conv_tile(TileType.Vec, DTYPES[dtype], layout, dims)


def starting_at(tile: Any, origin: int) -> TileInfo:
    """The tile, whose memory is that of all tiles with this origin."""
    return replace(TileInfo.static("t", tile), origin=origin)


NCHW = conv(Layout.NCHW, 1, 32, 4, 8)
NC1HWC0 = conv(Layout.NC1HWC0, 1, 2, 4, 8, 16)
TRANS = {"dst": TT, "src": T}
CONCAT = {"dst": spec("f32", 16, 128), "src0": T, "src1": T}
IDX = spec("i32", 16, 1, dn=True)
COUNTED = {**CONCAT, "idx0": IDX, "idx1": IDX, "didx": IDX}
PAD = spec("f32", 16, 64, pad=2)
FILL = {"dst": PAD, "src": spec("f32", 16, 64, 10, 60)}
PAIRS = {"dst0": T, "dst1": T, "src0": T, "src1": T}
HALF = {"dst0": spec("f32", 16, 32), "dst1": spec("f32", 16, 32), "src0": T}
PACKED = {"dst": spec("i16", 16, 64), "src": spec("i32", 16, 64)}

CASES: list[Case] = [
    ("TRANS-COM-01", "TTRANS", "a5", TRANS, {"dst": spec("f16", 64, 16), "src": T}),
    ("TRANS-COM-01", "TTRANS", "a5", TRANS, {"dst": spec("i64", 64, 16), "src": spec("i64", 16, 64)}),
    ("TRANS-COM-02", "TTRANS", "a2a3", TRANS, {"dst": TT, "src": spec("f32", 16, 64, dn=True)}),
    ("TRANS-COM-03", "TTRANS", "cpu", TRANS, {"dst": spec("e4m3", 64, 32), "src": spec("e4m3", 32, 64)}),
    ("TRANS-COM-04", "TTRANS", "cpu", TRANS, {"dst": T, "src": T}),
    ("TRANS-COM-05", "TTRANS", "a2a3", {"dst": at(TT, 0), "src": at(T, 4096)}, {"dst": at(TT, 0), "src": at(T, 4064)}),
    ("TRANS-A5-01", "TTRANS", "a5", TRANS, {"dst": spec("f32", 64, 4), "src": spec("f32", 4, 64)}),
    (
        "TRANS-CONV-01",
        "TTRANS",
        "a5",
        {"dst": NC1HWC0, "src": NCHW},
        {"dst": conv(Layout.NC1HWC0, 1, 1, 4, 8, 16), "src": NCHW},
    ),
    (
        "TRANS-CONV-01",
        "TTRANS",
        "a2a3",
        {"dst": NC1HWC0, "src": NCHW},
        {"dst": conv(Layout.NC1HWC0, 1, 2, 3, 5, 16), "src": conv(Layout.NCHW, 1, 32, 3, 5)},
    ),
    (
        "TRANS-CONV-01",
        "TTRANS",
        "cpu",
        {"dst": conv(Layout.FRACTAL_Z, 64, 1, 16, 16), "src": NC1HWC0},
        {"dst": conv(Layout.FRACTAL_Z, 32, 2, 16, 16), "src": NC1HWC0},
    ),
    (
        "TRANS-CONV-02",
        "TTRANS",
        "a2a3",
        {"dst": NC1HWC0, "src": NCHW},
        {"dst": conv(Layout.NC1HWC0, 1, 2, 64, 32, 16), "src": conv(Layout.NCHW, 1, 32, 64, 32)},
    ),
    ("TRANS-CONV-03", "TTRANS", "a5", {"dst": NC1HWC0, "src": NCHW}, {"dst": NCHW, "src": NC1HWC0}),
    ("TRANS-CONV-03", "TTRANS", "a5", {"dst": NC1HWC0, "src": NCHW}, {"dst": T, "src": NC1HWC0}),
    ("CONC-COM-01", "TCONCAT", "a5", CONCAT, {**CONCAT, "src1": H}),
    ("CONC-COM-01", "TCONCAT", "cpu", CONCAT, {**CONCAT, "src1": spec("f32", 16, 64, loc=TileType.Mat)}),
    ("CONC-COM-02", "TCONCAT", "a2a3", CONCAT, {**CONCAT, "src1": spec("f32", 16, 64, 15)}),
    ("CONC-COM-03", "TCONCAT", "cpu", COUNTED, {**COUNTED, "idx1": spec("f32", 16, 1, dn=True)}),
    ("CONC-COM-03", "TCONCAT", "cpu", COUNTED, {**COUNTED, "didx": spec("i32", 16, 8)}),
    ("CONC-A23-01", "TCONCAT", "a2a3", CONCAT, {**CONCAT, "dst": spec("f32", 16, 120)}),
    ("CONC-A23-01", "TCONCAT", "a5", CONCAT, {**CONCAT, "dst": spec("f32", 16, 192)}),
    ("CONC-A5-01", "TCONCAT", "a5", CONCAT, {**CONCAT, "src1": spec("f32", 16, 64, dn=True)}),
    ("FILL-COM-01", "TFILLPAD", "a5", FILL, {**FILL, "dst": T}),
    ("FILL-COM-02", "TFILLPAD", "a5", FILL, {**FILL, "src": H}),
    ("FILL-COM-03", "TFILLPAD", "a2a3", FILL, {**FILL, "src": spec("f32", 16, 32)}),
    ("FILL-COM-03-X", "TFILLPAD_EXPAND", "a2a3", {**FILL, "src": spec("f32", 8, 32)}, {**FILL, "src": TT}),
    (
        "FILL-COM-04",
        "TFILLPAD_INPLACE",
        "a5",
        {"dst": starting_at(PAD, 1), "src": starting_at(T, 1)},
        {"dst": starting_at(PAD, 1), "src": starting_at(T, 2)},
    ),
    ("FILL-COM-05", "TFILLPAD", "a5", FILL, {"dst": spec("f32", 16, 64, 9, 60, pad=2), "src": FILL["src"]}),
    (
        "FILL-COM-06",
        "TFILLPAD",
        "a2a3",
        {"dst": spec("f16", 16, 64, **MAT), "src": spec("f16", 16, 64, **MAT)},
        {"dst": spec("f16", 16, 64, loc=TileType.Mat), "src": spec("f16", 16, 64, loc=TileType.Mat)},
    ),
    (
        "FILL-COM-06",
        "TFILLPAD",
        "a2a3",
        {"dst": spec("f16", 16, 64, pad=1, **MAT), "src": spec("f16", 16, 64, pad=1, **MAT)},
        {"dst": spec("f16", 16, 64, pad=2, **MAT), "src": spec("f16", 16, 64, pad=2, **MAT)},
    ),
    ("INTLV-01", "TINTERLEAVE", "a5", PAIRS, {**PAIRS, "src1": H}),
    ("INTLV-02", "TINTERLEAVE", "cpu", PAIRS, {**PAIRS, "dst1": spec("f32", 16, 64, 16, 62)}),
    ("INTLV-02", "TDEINTERLEAVE", "a5", PAIRS, dict.fromkeys(PAIRS, spec("f32", 16, 64, 16, 63))),
    ("INTLV-03", "TDEINTERLEAVE", "a5", HALF, {**HALF, "dst1": T}),
    ("INTLV-03", "TDEINTERLEAVE", "a5", HALF, {**HALF, "src0": spec("f32", 16, 64, 16, 63)}),
    ("INTLV-04", "TINTERLEAVE", "a5", PAIRS, {**PAIRS, "dst0": at(T, 64), "src0": at(T, 64)}),
    ("PACK-02", "TPACK", "a5", PACKED, {**PACKED, "src": spec("i32", 16, 64, dn=True)}),
    ("PACK-03", "TPACK", "a5", PACKED, {**PACKED, "src": spec("i32", 16, 64, 16, 60)}),
    ("PACK-04", "TPACK", "a5", PACKED, {**PACKED, "src": spec("i16", 16, 64)}),
    ("PACK-05", "TPACK", "a5", PACKED, {**PACKED, "dst": spec("int4", 16, 64)}),
]


@pytest.mark.parametrize("case", CASES, ids=case_ids(CASES))
def test_rule(case: Case) -> None:
    check_case(case)


@pytest.mark.parametrize(
    ("rule", "name", "operands"), [("INTLV-NPU", "TINTERLEAVE", PAIRS), ("PACK-01", "TPACK", PACKED)]
)
def test_absent_instructions(rule: str, name: str, operands: dict[str, Any]) -> None:
    assert rule in broken(name, "a2a3", operands)
    assert broken(name, "a5", operands) == {}


def test_every_rule_has_a_case() -> None:
    assert untested(CASES, "TRANS-", "CONC-", "FILL-", "INTLV-", "PACK-") == {"INTLV-NPU", "PACK-01"}
