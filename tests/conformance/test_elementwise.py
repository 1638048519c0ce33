"""Every elementwise, reduction and expansion vector, one test per instruction and target."""

from __future__ import annotations

from ptokit.conformance.bench import replay
from ptokit.targets import TARGETS
from tests.each import each

from .suites import DATA, read_suite

SUITE = read_suite(DATA / "vectors-compute-elementwise")
CLAIMS = sorted({(case.op, name) for case in SUITE for name in TARGETS if case.claims(name)})
# 2^63 as i64: the cases want it to wrap, compute-elementwise 8.5 says that saturation gives the largest number.
WRAPS_AT_LIMIT = {"P0531_TCVT_f32_i64_RINT_ON", "P0532_TCVT_f32_i64_ROUND_ON"}


@each("op, on", CLAIMS, ids=[f"{op}-{on}" for op, on in CLAIMS])
def test_instruction(op: str, on: str) -> None:
    results = [replay(case, TARGETS[on]) for case in SUITE if case.op == op and case.claims(on)]
    assert {r.case: r.reason for r in results if not r.passed and r.case not in WRAPS_AT_LIMIT} == {}
    assert {r.case for r in results if r.case in WRAPS_AT_LIMIT and r.passed} == set()
