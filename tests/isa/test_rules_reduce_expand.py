"""Each rule of reductions and expansions: a site that passes, and one that breaks it."""

from __future__ import annotations

import pytest

from .fake import spec
from .rule_cases import DN, ROW, U8, Case, F, H, I, at, case_ids, check_case, untested

I_ROW = spec("i32", 1, 64)
PART_ARG = {"src0": at(F, 0), "src1": at(F, 4096), "src0i": at(I, 8192), "src1i": at(I, 12288)}

CASES: list[Case] = [
    # rows
    ("RRED-COM-01", "TROWSUM", "a5", {"dst": DN, "src": F}, {"dst": DN, "src": spec("f32", 16, 64, dn=True)}),
    (
        "RRED-COM-02",
        "TROWSUM",
        "a5",
        {"dst": DN, "src": F},
        {"dst": DN, "src": H},
    ),
    ("RRED-COM-03", "TROWMAX", "a5", {"dst": DN, "src": F}, {"dst": DN, "src": spec("f32", 16, 64, 12, 64)}),
    (
        "RRED-COM-04",
        "TROWMAX",
        "a5",
        {"dst": spec("f32", 16, 8, 16, 1), "src": F},
        {"dst": spec("f32", 16, 8), "src": F},
    ),
    ("RRED-CPU-01", "TROWSUM", "cpu", {"dst": DN, "src": F}, {"dst": DN, "src": spec("f32", 32, 64, 16, 64)}),
    (
        "RRED-A3-01",
        "TROWMAX",
        "a2a3",
        {"dst": spec("i16", 16, 1, dn=True), "src": spec("i16", 16, 64)},
        {"dst": spec("i64", 16, 1, dn=True), "src": spec("i64", 16, 64)},
    ),
    (
        "RRED-A3-02",
        "TROWSUM",
        "a2a3",
        {"dst": DN, "src": spec("f32", 16, 128), "tmp": F},
        {"dst": DN, "src": spec("f32", 16, 128), "tmp": spec("f32", 16, 8)},
    ),
    ("RRED-AS-01", "TROWPROD", "a2a3", {"dst": DN, "src": F, "tmp": F}, {"dst": DN, "src": F, "tmp": H}),
    (
        "RRED-A5-01",
        "TROWMAX",
        "a5",
        {"dst": spec("i64", 16, 1, dn=True), "src": spec("i64", 16, 64)},
        {"dst": spec("bf16", 16, 1, dn=True), "src": spec("bf16", 16, 64)},
    ),
    (
        "RRED-A5-02",
        "TROWMAX",
        "a5",
        {"dst": spec("i64", 16, 1, dn=True), "src": spec("i64", 16, 64)},
        {"dst": spec("i64", 16, 1, dn=True), "src": spec("i64", 16, 68)},
    ),
    (
        "RR-1",
        "TROWMAX",
        "a5",
        {"dst": DN, "src": F},
        {"dst": spec("i8", 32, 1, dn=True), "src": spec("i8", 32, 64)},
    ),
    # columns
    ("CRED-COM-01", "TCOLMAX", "a5", {"dst": ROW, "src": F}, {"dst": ROW, "src": spec("f32", 16, 64, 16, 60)}),
    (
        "CRED-COM-02",
        "TCOLMAX",
        "a5",
        {"dst": ROW, "src": F},
        {"dst": ROW, "src": spec("f32", 16, 64, 0, 64)},
    ),
    (
        "CRED-COM-03",
        "TCOLSUM",
        "a5",
        {"dst": ROW, "src": F, "tmp": F, "attrs": {"is_binary": True}},
        {"dst": ROW, "src": F, "tmp": F},
    ),
    (
        "CRED-COM-04",
        "TCOLSUM",
        "a5",
        {"dst": ROW, "src": F, "tmp": spec("f32", 8, 64), "attrs": {"is_binary": True}},
        {"dst": ROW, "src": F, "tmp": spec("f32", 7, 64), "attrs": {"is_binary": True}},
    ),
    ("CRED-CPU-01", "TCOLMAX", "cpu", {"dst": ROW, "src": F}, {"dst": ROW, "src": spec("f32", 16, 128, 16, 64)}),
    (
        "CRED-A3-01",
        "TCOLMAX",
        "a2a3",
        {"dst": ROW, "src": F},
        {"dst": spec("bf16", 1, 64), "src": spec("bf16", 16, 64)},
    ),
    (
        "CRED-A5-01",
        "TCOLSUM",
        "a5",
        {"dst": ROW, "src": F, "tmp": F, "attrs": {"is_binary": True}},
        {
            "dst": spec("i64", 1, 64),
            "src": spec("i64", 16, 64),
            "tmp": spec("i64", 16, 64),
            "attrs": {"is_binary": True},
        },
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
        "TCOLMAX",
        "a5",
        {"dst": at(ROW, 0), "src": at(F, 0)},
        {"dst": at(ROW, 256), "src": at(F, 0)},
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
        "TCOLARGMAX",
        "a5",
        {"dst": at(I_ROW, 8192), "src": at(F, 0)},
        {"dst": at(I_ROW, 0), "src": at(F, 0)},
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
    ("REXP-COM-01", "TROWEXPAND", "a5", {"dst": F, "src": DN}, {"dst": F, "src": spec("f32", 8, 1, dn=True)}),
    (
        "REXP-A5-01",
        "TROWEXPAND",
        "a5",
        {"dst": F, "src": spec("f32", 16, 8, 16, 1)},
        {"dst": F, "src": spec("f32", 16, 8)},
    ),
    (
        "REXP-A5-02",
        "TROWEXPAND",
        "a5",
        {"dst": spec("i64", 16, 64), "src": spec("i64", 16, 1, dn=True)},
        {"dst": spec("i64", 16, 68), "src": spec("i64", 16, 1, dn=True)},
    ),
    (
        "REXP-COM-10",
        "TROWEXPANDADD",
        "a2a3",
        {"dst": F, "src0": F, "src1": DN},
        {"dst": U8, "src0": U8, "src1": spec("u8", 17, 1, dn=True)},
    ),
    ("REXP-COM-11", "TROWEXPANDSUB", "a5", {"dst": F, "src0": DN, "src1": F}, {"dst": F, "src0": F, "src1": ROW}),
    (
        "REXP-COM-11",
        "TROWEXPANDSUB",
        "a5",
        {"dst": F, "src0": F, "src1": spec("f32", 16, 8)},
        {"dst": F, "src0": F, "src1": spec("f32", 16, 16)},
    ),
    (
        "REXP-COM-12",
        "TROWEXPANDSUB",
        "a2a3",
        {"dst": F, "src0": F, "src1": DN, "tmp": F},
        {"dst": F, "src0": F, "src1": spec("f32", 16, 8), "tmp": F},
    ),
    (
        "REXP-A3-10",
        "TROWEXPANDSUB",
        "a2a3",
        {"dst": at(F, 0), "src0": at(F, 4096), "src1": at(DN, 8192)},
        {"dst": at(F, 0), "src0": at(F, 190016), "src1": at(DN, 8192)},
    ),
    (
        "REXP-A3-11",
        "TROWEXPANDSUB",
        "a2a3",
        {"dst": F, "src0": F, "src1": DN, "tmp": spec("f32", 16, 8)},
        {"dst": F, "src0": F, "src1": DN, "tmp": spec("f32", 8, 8)},
    ),
    ("REXP-AS-01", "TROWEXPANDADD", "a5", {"dst": F, "src0": F, "src1": DN}, {"dst": F, "src0": DN, "src1": F}),
    ("CEXP-COM-01", "TCOLEXPAND", "a5", {"dst": F, "src": ROW}, {"dst": F, "src": spec("f32", 1, 32)}),
    (
        "CEXP-A5-01",
        "TCOLEXPAND",
        "a5",
        {"dst": spec("i64", 16, 64), "src": spec("i64", 1, 64)},
        {"dst": spec("i64", 16, 68), "src": spec("i64", 1, 68)},
    ),
    ("CEXP-COM-02", "TCOLEXPANDADD", "cpu", {"dst": F, "src0": F, "src1": ROW}, {"dst": F, "src0": ROW, "src1": F}),
    ("CEXP-COM-02", "TCOLEXPANDADD", "a5", {"dst": F, "src0": ROW, "src1": F}, {"dst": F, "src0": ROW, "src1": ROW}),
    (
        "CEXP-AS-01",
        "TCOLEXPANDADD",
        "a5",
        {"dst": F, "src0": F, "src1": ROW},
        {"dst": F, "src0": ROW, "src1": F},
    ),
]


@pytest.mark.parametrize("case", CASES, ids=case_ids(CASES))
def test_rule(case: Case) -> None:
    check_case(case)


def test_every_rule_has_a_case() -> None:
    assert untested(CASES, "RRED-", "CRED-", "REXP-", "CEXP-", "CMP-INP-", "RR-", "CR-") == set()
