"""Each rule of TCVT: a site that passes, and one that breaks it."""

from __future__ import annotations

import pytest

from ptokit.types.enums import RoundMode, SaturationMode

from .fake import spec
from .rule_cases import Case, F, H, I, at, case_ids, check_case, untested

CASES: list[Case] = [
    ("TCVT-01", "TCVT", "a2a3", {"dst": spec("bf16", 16, 64), "src": F}, {"dst": spec("bf16", 16, 64), "src": H}),
    ("TCVT-02", "TCVT", "a5", {"dst": H, "src": F}, {"dst": H, "src": spec("f32", 16, 64, 16, 60)}),
    ("TCVT-03", "TCVT", "a5", {"dst": H, "src": F}, {"dst": H, "src": spec("f32", 16, 64, boxed=True)}),
    (
        "TCVT-04",
        "TCVT",
        "a5",
        {"dst": H, "src": F, "attrs": {"rmode": RoundMode.ODD}},
        {"dst": I, "src": F, "attrs": {"rmode": RoundMode.ODD}},
    ),
    (
        "TCVT-05",
        "TCVT",
        "a2a3",
        {"dst": spec("i16", 16, 64), "src": F, "attrs": {"sat_mode": SaturationMode.OFF}},
        {"dst": I, "src": spec("bf16", 16, 64), "attrs": {"sat_mode": SaturationMode.OFF}},
    ),
    (
        "TCVT-06",
        "TCVT",
        "a5",
        {"dst": spec("e4m3", 16, 64), "src": F, "attrs": {"rmode": RoundMode.RINT}},
        {"dst": spec("hif8", 16, 64), "src": F, "attrs": {"rmode": RoundMode.RINT}},
    ),
    (
        "TCVT-A3-01",
        "TCVT",
        "a2a3",
        {"dst": spec("i16", 16, 64), "src": H, "tmp": spec("u8", 1, 256)},
        {"dst": spec("i16", 16, 64), "src": H, "tmp": spec("u8", 1, 224)},
    ),
    (
        "TCVT-A3-02",
        "TCVT",
        "a2a3",
        {"dst": spec("int4", 4, 256), "src": spec("f16", 4, 256)},
        {"dst": spec("int4", 4, 192), "src": spec("f16", 4, 192)},
    ),
    (
        "TCVT-A5-01",
        "TCVT",
        "a5",
        {"dst": spec("e2m1", 4, 64), "src": spec("bf16", 4, 64)},
        {"dst": spec("e2m1", 4, 64, 4, 62), "src": spec("bf16", 4, 63, 4, 62)},
    ),
    (
        "TCVT-A5-02",
        "TCVT",
        "a5",
        {"dst": spec("e2m1", 4, 64, 4, 62), "src": spec("bf16", 4, 64, 4, 62)},
        {"dst": spec("e2m1", 4, 64, 4, 61), "src": spec("bf16", 4, 64, 4, 61)},
    ),
    ("TCVT-CPU-01", "TCVT", "cpu", {"dst": H, "src": F}, {"dst": H, "src": F, "tmp": F}),
    ("TCVT-INP-01", "TCVT", "a5", {"dst": at(I, 0), "src": at(F, 0)}, {"dst": at(F, 0), "src": at(H, 0)}),
    ("TCVT-INP-01", "TCVT", "a2a3", {"dst": at(H, 0), "src": at(F, 0)}, {"dst": at(F, 0), "src": at(H, 32)}),
    ("TCVT-INP-01", "TCVT", "a5", {"dst": at(H, 0), "src": at(F, 32)}, {"dst": at(H, 32), "src": at(F, 0)}),
    ("TCVT-INP-01", "TCVT", "a5", {"dst": at(F, 4096), "src": at(H, 0)}, {"dst": at(F, 1024), "src": at(H, 0)}),
    (
        "TCVT-INP-01",
        "TCVT",
        "a5",
        {"dst": at(spec("f16", 16, 128, 16, 64), 0), "src": at(F, 0)},
        {"dst": at(spec("f16", 16, 144, 16, 64), 0), "src": at(F, 0)},
    ),
    ("CV-1", "TCVT", "a5", {"dst": H, "src": F}, {"dst": H, "src": spec("f32", 16, 128, 16, 64)}),
]


@pytest.mark.parametrize("case", CASES, ids=case_ids(CASES))
def test_rule(case: Case) -> None:
    check_case(case)


def test_every_rule_has_a_case() -> None:
    assert untested(CASES, "TCVT-", "CV-") == set()
