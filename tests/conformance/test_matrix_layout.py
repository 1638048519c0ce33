"""The matrix and layout vectors of the instructions that are in the table, one test per instruction and target."""

from __future__ import annotations

from ptokit.conformance.bench import EXECUTOR, replay
from ptokit.conformance.compare import Outcome
from ptokit.isa.table import TABLE
from ptokit.targets import TARGETS
from tests.each import each

from .suites import DATA, read_suite

SUITE = read_suite(DATA / "vectors-compute-matrix-layout")


def executable(op: str) -> bool:
    """True if the table holds the meaning of the instruction, or the executor implements it."""
    return op in EXECUTOR or (op in TABLE and TABLE[op].run is not None)


CLAIMS = sorted({(case.op, name) for case in SUITE for name in TARGETS if case.claims(name) and executable(case.op)})


@each("op, on", CLAIMS, ids=[f"{op}-{on}" for op, on in CLAIMS])
def test_instruction(op: str, on: str) -> None:
    results = [replay(case, TARGETS[on]) for case in SUITE if case.op == op and case.claims(on)]
    assert {r.case: r.reason for r in results if r.outcome is not Outcome.PASSED} == {}
