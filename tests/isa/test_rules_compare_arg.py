"""Rules of comparison, selection, arg reductions and partial operations: a site that passes, one that breaks."""

from __future__ import annotations

import pytest

from ptokit.types.enums import CmpMode

from .fake import spec
from .rule_cases import DN, ROW, Case, F, H, I, case_ids, check_case, untested

M = spec("u8", 16, 32)
IDX = spec("i32", 16, 1, dn=True)
IROW = spec("i32", 1, 64)
B = spec("i8", 16, 64)

CASES: list[Case] = [
    ("EW-CMP-01", "TCMP", "a5", {"dst": M, "src0": F, "src1": F}, {"dst": F, "src0": F, "src1": F}),
    ("EW-CMP-01", "TCMP", "a5", {"dst": M, "src0": F, "src1": F}, {"dst": M, "src0": F, "src1": H}),
    (
        "EW-A3-01",
        "TCMP",
        "a2a3",
        {"dst": M, "src0": I, "src1": I, "attrs": {"cmp": CmpMode.NE}},
        {"dst": M, "src0": I, "src1": I, "attrs": {"cmp": CmpMode.LT}},
    ),
    (
        "EW-A3-02",
        "TCMPS",
        "a2a3",
        {"dst": M, "src": H, "scalar": 1},
        {"dst": M, "src": spec("i16", 16, 64), "scalar": 1},
    ),
    (
        "EW-A3-03",
        "TCMP",
        "a2a3",
        {"dst": M, "src0": F, "src1": F},
        dict.fromkeys(("src0", "src1"), spec("f32", 16, 320)) | {"dst": M},
    ),
    ("EW-A5-02", "TCMP", "a5", {"dst": M, "src0": F, "src1": F}, {"dst": M, "src0": F, "src1": spec("f32", 16, 128)}),
    (
        "EW-A5-06",
        "TCMP",
        "a5",
        {"dst": M, "src0": F, "src1": F},
        dict.fromkeys(("src0", "src1"), spec("f32", 16, 320)) | {"dst": M},
    ),
    (
        "EW-CPU-04",
        "TCMP",
        "cpu",
        {"dst": M, "src0": F, "src1": F},
        dict.fromkeys(("src0", "src1"), spec("i16", 16, 64)) | {"dst": M},
    ),
    (
        "EW-AS-07",
        "TCMP",
        "a5",
        {"dst": spec("u8", 16, 64), "src0": F, "src1": F},
        {"dst": M, "src0": F, "src1": F},
    ),
    (
        "EW-SEL-01",
        "TSEL",
        "a5",
        {"dst": F, "mask": M, "src0": F, "src1": F},
        {"dst": F, "mask": M, "src0": F, "src1": H},
    ),
    (
        "EW-A5-03",
        "TSEL",
        "a5",
        {"dst": F, "mask": M, "src0": F, "src1": F},
        {"dst": F, "mask": spec("u32", 16, 8), "src0": F, "src1": F},
    ),
    (
        "EW-A5-04",
        "TSEL",
        "a5",
        {"dst": B, "mask": M, "src0": B, "src1": B},
        dict.fromkeys(("dst", "src0", "src1"), spec("i8", 16, 320)) | {"mask": spec("u8", 16, 64)},
    ),
    (
        "EW-AS-10",
        "TSELS",
        "a5",
        {"dst": I, "mask": M, "src": I, "scalar": 1},
        dict.fromkeys(("dst", "src"), spec("u32", 16, 64)) | {"mask": M, "scalar": 1},
    ),
    ("ARG-COM-01", "TROWARGMAX", "a5", {"dst": IDX, "src": F}, {"dst": spec("i32", 8, 1, dn=True), "src": F}),
    ("ARG-COM-01", "TCOLARGMAX", "a5", {"dst": IROW, "src": F}, {"dst": spec("i32", 1, 32), "src": F}),
    ("ARG-COM-02", "TROWARGMAX", "a5", {"dst": IDX, "src": F}, {"dst": IDX, "src": spec("f32", 16, 64, 16, 0)}),
    ("ARG-COM-03", "TROWARGMAX", "a5", {"dst": IDX, "src": F}, {"dst": DN, "src": F}),
    (
        "ARG-COM-03",
        "TCOLARGMAX",
        "a5",
        {"dst": spec("u16", 1, 64), "dst_val": spec("f16", 1, 64), "src": H},
        {"dst": IROW, "dst_val": spec("f16", 1, 64), "src": H},
    ),
    ("ARG-COM-04", "TROWARGMAX", "a2a3", {"dst": IDX, "src": F, "tmp": F}, {"dst": IDX, "src": F, "tmp": H}),
    (
        "ARG-A3-01",
        "TROWARGMAX",
        "a2a3",
        {"dst": IDX, "src": spec("f32", 16, 128), "tmp": spec("f32", 16, 16)},
        {"dst": IDX, "src": spec("f32", 16, 128), "tmp": spec("f32", 16, 8)},
    ),
    (
        "ARG-A3-02",
        "TCOLARGMAX",
        "a2a3",
        {"dst": IROW, "src": F, "tmp": spec("f32", 2, 64)},
        {"dst": IROW, "src": F, "tmp": ROW},
    ),
    (
        "ARG-A3-03",
        "TCOLARGMAX",
        "a2a3",
        {"dst": IROW, "src": spec("f16", 2048, 64)},
        {"dst": IROW, "src": spec("f16", 2064, 64)},
    ),
    ("ARG-A3-04", "TCOLARGMAX", "a2a3", {"dst": IROW, "src": F}, {"dst": IROW, "src": spec("u32", 16, 64)}),
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
    ("PART-COM-01", "TPARTADD", "a5", {"dst": F, "src0": F, "src1": F}, {"dst": F, "src0": F, "src1": H}),
    (
        "PART-COM-02",
        "TPARTADD",
        "a5",
        {"dst": F, "src0": F, "src1": spec("f32", 16, 64, 8, 64)},
        {"dst": F, "src0": spec("f32", 16, 64, 16, 32), "src1": spec("f32", 16, 64, 8, 64)},
    ),
    (
        "PART-A5-01",
        "TPARTADD",
        "a5",
        dict.fromkeys(("dst", "src0", "src1"), spec("i64", 4, 64)),
        dict.fromkeys(("dst", "src0", "src1"), spec("i64", 4, 68)),
    ),
    (
        "PART-COM-04",
        "TPARTARGMAX",
        "a5",
        dict.fromkeys(("dst", "src0", "src1"), F) | dict.fromkeys(("dsti", "src0i", "src1i"), I),
        dict.fromkeys(("dst", "src0", "src1"), F) | dict.fromkeys(("dsti", "src0i", "src1i"), spec("i16", 16, 64)),
    ),
    ("PAIR-COM-01", "TPairReduceSum", "a5", {"dst": F, "src": F}, {"dst": spec("f32", 16, 64, 16, 32), "src": F}),
    (
        "PAIR-COM-02",
        "TPairReduceSum",
        "a5",
        {"dst": F, "src": F},
        dict.fromkeys(("dst", "src"), spec("f32", 16, 64, 16, 61)),
    ),
    (
        "PAIR-A5-01",
        "TPairReduceSum",
        "a5",
        dict.fromkeys(("dst", "src"), spec("f32", 16, 64, 16, 60)),
        {"dst": F, "src": F},
    ),
    (
        "ARG-A5-01",
        "TCOLARGMAX",
        "a5",
        {"dst": IROW, "src": spec("i8", 1024, 64)},
        {"dst": IROW, "src": spec("i8", 40000, 64)},
    ),
]


@pytest.mark.parametrize("case", CASES, ids=case_ids(CASES))
def test_rule(case: Case) -> None:
    check_case(case)


def test_every_rule_has_a_case() -> None:
    assert untested(CASES, "ARG-", "EW-CMP-", "EW-SEL-", "PART-", "PAIR-") == set()
