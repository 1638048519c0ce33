"""Each rule of the elementwise instructions: a site that passes, and one that breaks it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ptokit.types.enums import SLayout, TileType

from .fake import spec
from .rule_cases import ROW, U8, Case, F, H, I, at, broken, case_ids, check_case, untested
from .test_rules_compare_arg import CASES as COMPARE_CASES

CASES: list[Case] = [
    (
        "EW-01",
        "TADD",
        "a5",
        {"dst": F, "src0": F, "src1": F},
        {"dst": F, "src0": F, "src1": replace(F, loc=TileType.Mat)},
    ),
    (
        "EW-02",
        "TADDS",
        "a2a3",
        {"dst": F, "src": F, "scalar": 1},
        {"dst": F, "src": spec("f32", 16, 64, dn=True), "scalar": 1},
    ),
    (
        "EW-02",
        "TEXPANDS",
        "a5",
        {"dst": spec("f32", 16, 64, dn=True), "scalar": 1},
        {"dst": spec("i64", 16, 64, dn=True), "scalar": 1},
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
        "EW-07",
        "TADDS",
        "a2a3",
        {"dst": spec("f32", 4, 8, 1, 1), "src": spec("f32", 4, 8, 1, 1), "scalar": 1},
        {"dst": spec("f32", 4, 8, 0, 8), "src": spec("f32", 4, 8, 0, 8), "scalar": 1},
    ),
    ("EW-08", "TEXPANDS", "a5", {"dst": H, "scalar": ("f16", 1.0)}, {"dst": H, "scalar": ("f32", 1.0)}),
    (
        "EW-08",
        "TLRELU",
        "a5",
        {"dst": H, "src": H, "scalar": ("f32", 0.1)},
        {"dst": H, "src": H, "scalar": ("f16", 0.1)},
    ),
    ("EW-09", "TSHLS", "a5", {"dst": I, "src": I, "scalar": 3}, {"dst": I, "src": I, "scalar": -1}),
    (
        "EW-10",
        "TADD",
        "a5",
        {"dst": at(F, 0), "src0": at(F, 0), "src1": at(F, 4096)},
        {"dst": at(F, 0), "src0": at(F, 32), "src1": at(F, 8192)},
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
        "TDIVS",
        "a2a3",
        {"dst": at(F, 0), "src": at(F, 0), "scalar": 2.0},
        {"dst": at(F, 0), "src": at(F, 0), "scalar": 2.0, "attrs": {"scalar_first": True}},
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
        "EW-CPU-01",
        "TADD",
        "cpu",
        {"dst": F, "src0": F, "src1": F},
        {"dst": F, "src0": spec("f32", 16, 128, 16, 64), "src1": F},
    ),
    (
        "EW-CPU-02",
        "TMULS",
        "cpu",
        {"dst": F, "src": F, "scalar": 1},
        {"dst": spec("f32", 16, 64, dn=True), "src": F, "scalar": 1},
    ),
    ("EW-CPU-05", "TDIVS", "cpu", {"dst": F, "src": F, "scalar": 2}, {"dst": F, "src": F, "scalar": 0}),
    ("EW-A3-06", "TREM", "a2a3", {"dst": F, "src0": F, "src1": F}, {"dst": I, "src0": I, "src1": I}),
    (
        "EW-A3-07",
        "TEXPANDS",
        "a2a3",
        {"dst": spec("f32", 16, 64, 16, -1), "scalar": 1},
        {"dst": spec("f32", 16, 64, 16, 60), "scalar": 1},
    ),
    (
        "EW-A3-08",
        "TEXPANDS",
        "a2a3",
        {"dst": spec("f16", 128, 128, loc=TileType.Mat), "scalar": 1},
        {"dst": spec("f16", 1024, 512, loc=TileType.Mat), "scalar": 1},
    ),
    ("EW-A3-09", "TSUBS", "a2a3", {"dst": I, "src": I, "scalar": 1000}, {"dst": I, "src": I, "scalar": (1 << 25) + 1}),
    (
        "EW-A5-01",
        "TADDS",
        "a5",
        {"dst": spec("i64", 4, 64), "src": spec("i64", 4, 64), "scalar": 1},
        {"dst": spec("i64", 4, 68), "src": spec("i64", 4, 68), "scalar": 1},
    ),
    (
        "EW-A5-09",
        "TEXPANDS",
        "a5",
        {"dst": spec("f16", 128, 128, loc=TileType.Mat), "scalar": 1},
        {"dst": spec("i64", 16, 16, loc=TileType.Mat), "scalar": 1},
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
        "TREMS",
        "a2a3",
        {"dst": F, "src": F, "scalar": 2, "tmp": ROW},
        {"dst": F, "src": F, "scalar": 2, "tmp": spec("f32", 1, 56)},
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
    ("EW-AS-02", "TRECIP", "a2a3", {"dst": at(F, 0), "src": at(F, 4096)}, {"dst": at(I, 0), "src": at(I, 0)}),
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
    (
        "EW-AS-05",
        "TXOR",
        "a2a3",
        {"dst": I, "src0": I, "src1": I, "tmp": I},
        {"dst": I, "src0": I, "src1": I, "tmp": F},
    ),
    (
        "EW-AS-06",
        "TRSQRT",
        "a5",
        {"dst": F, "src": F, "tmp": spec("f32", 1, 8)},
        {"dst": F, "src": F, "tmp": spec("f16", 1, 8)},
    ),
    (
        "EW-AS-08",
        "TAXPY",
        "a5",
        {"dst": H, "src": H, "scalar": ("f16", 1.0)},
        {"dst": F, "src": H, "scalar": ("f32", 1.0)},
    ),
    (
        "EW-AS-09",
        "TADDC",
        "a5",
        {"dst": F, "src0": F, "src1": F, "src2": F},
        {"dst": F, "src0": F, "src1": F, "src2": spec("f32", 16, 128, 16, 64)},
    ),
]


@pytest.mark.parametrize("case", CASES, ids=case_ids(CASES))
def test_rule(case: Case) -> None:
    check_case(case)


def test_every_rule_has_a_case() -> None:
    assert untested([*CASES, *COMPARE_CASES], "EW-") == set()


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
