"""How one case went on one target."""

from __future__ import annotations

from enum import StrEnum

from ptokit.records import dataclass


class Outcome(StrEnum):
    """The verdict on a case."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class Result:
    """One case on one target.

    ``op`` is the instruction, or the kernel of a program. ``message`` says why a case failed or was skipped, and may
    add a remark to a pass. ``reported`` are the error rules that fired, sorted. ``seconds`` took the case to replay.
    """

    case: str
    op: str
    target: str
    outcome: Outcome
    message: str = ""
    reported: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def passed(self) -> bool:
        """True if the case was replayed and nothing differed."""
        return self.outcome is Outcome.PASSED

    @property
    def reason(self) -> str:
        """Why it did not pass; empty if it did."""
        return "" if self.passed else self.message
