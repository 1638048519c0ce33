"""Every movement vector on every target that it makes a claim about."""

from __future__ import annotations

from pathlib import Path

from ptokit.conformance.bench import replay
from ptokit.conformance.cases import Case
from ptokit.diagnostics import ALL_TARGETS
from ptokit.targets import TARGETS
from tests.each import each

from .suites import read_suite

SUITE = read_suite(Path(__file__).parents[1] / "data" / "vectors")
CLAIMS = [(case, name) for case in SUITE for name in TARGETS if case.claims(name)]


@each("case, on", CLAIMS, ids=[f"{case.id}-{on}" for case, on in CLAIMS])
def test_vector(case: Case, on: str) -> None:
    result = replay(case, TARGETS[on])
    assert result.passed, result.reason
    rule = case.illegal.get(on)
    if rule is not None:  # and nothing is reported that the case does not break
        known = {rule, *case.accept.get(on, ()), *case.also_broken.get(on, ())}
        assert set(result.reported) <= known


def test_the_suite_is_complete() -> None:
    assert len(SUITE) == 916
    assert SUITE.profiles == ALL_TARGETS
