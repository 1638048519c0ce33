"""Numbers, words and findings of campaigns: what is taken, and how much of it is kept."""

from __future__ import annotations

from typing import Any

import pytest

from ptokit.campaign import work as working
from ptokit.campaign.case import Action, Case, Result, Status, read_case
from ptokit.campaign.spec import _modes, read_bytes
from ptokit.diagnostics import Diagnostic, DiagnosticError, Severity

CASE = Case("k", "k.pto", "text", Action.RUN)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        (0, 0),
        ("17", 17),
        ("3 KB", 3000),
        ("3KiB", 3072),
        ("2MB", 2_000_000),
        ("2 MiB", 2 << 20),
        ("1gb", 10**9),
        ("1GiB", 1 << 30),
    ],
)
def test_bytes(text: Any, number: int) -> None:
    assert read_bytes(text) == number


@pytest.mark.parametrize("text", [True, "", "GiB", "1.5GiB", "-1", "3 B", "3TB", None])
def test_what_is_no_number_of_bytes(text: Any) -> None:
    with pytest.raises(ValueError, match="memory is"):
        read_bytes(text)


@pytest.mark.parametrize(
    "mode", [{"vector_cores": True}, {"vector_cores": 1.0}, {"vector_cores": [1, True]}, {"matmul": 1}]
)
def test_modes_of_another_kind(mode: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="mode has"):
        _modes(mode)
    assert _modes({"vector_cores": [1, 2]}) == ({"vector_cores": 1}, {"vector_cores": 2})


def finding(rule: str, line: int = 1) -> Diagnostic:
    return Diagnostic(rule, Severity.ERROR, f"finding {line}")


def result(monkeypatch: pytest.MonkeyPatch, *findings: Diagnostic) -> Result:
    def fails(case: Case) -> Result:
        raise DiagnosticError(list(findings))

    monkeypatch.setitem(working._DO, Action.RUN, fails)
    return working.work(CASE)


def test_arguments_that_cannot_be_used_are_no_finding_of_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless the program has others as well."""
    assert result(monkeypatch, finding("RUN-ARG-TYPE"), finding("RUN-ARG-COUNT")).status is Status.REFUSED
    assert result(monkeypatch, finding("RUN-ARG-TYPE"), finding("EW-10")).status is Status.FINDING
    assert result(monkeypatch, finding("EW-10")).status is Status.FINDING


def test_a_result_keeps_the_first_findings(monkeypatch: pytest.MonkeyPatch) -> None:
    found = result(monkeypatch, *(finding("EW-10", k) for k in range(30)), finding("EW-1"))
    assert len(found.findings) == working.KEPT
    assert found.rules == ("EW-1", "EW-10")
    assert found.message == "finding 0 [EW-10] (and 30 more)"


def test_what_is_no_case() -> None:
    entry = CASE.as_json()
    assert read_case(entry) == CASE
    for wrong in ({**entry, "more": 1}, {k: v for k, v in entry.items() if k != "text"}, [], "k"):
        with pytest.raises(ValueError, match="not a case"):
            read_case(wrong)
