"""How one case went, what to tell about all, and results as JUnit XML."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from enum import StrEnum
from xml.etree import ElementTree

from ptokit.records import dataclass
from ptokit.targets import TARGETS

# How one case went on one target.


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


# What to tell about the results of a run.


@dataclass(frozen=True)
class Report:
    """Counts by instruction and target; what failed; why cases were skipped, most frequent reason first."""

    rows: tuple[tuple[str, str, Counter[Outcome]], ...]
    failures: tuple[Result, ...]
    skipped: tuple[tuple[str, int], ...]
    total: Counter[Outcome]

    @property
    def last_line(self) -> str:
        """``N passed, N failed, N skipped``."""
        return ", ".join(f"{self.total[outcome]} {outcome}" for outcome in Outcome)


def report(results: Sequence[Result]) -> Report:
    """The report of results; failures in their order."""
    skipped = Counter(r.message for r in results if r.outcome is Outcome.SKIPPED)
    return Report(
        tuple((op, target, counts) for (op, target), counts in tally(results).items()),
        tuple(r for r in results if r.outcome is Outcome.FAILED),
        tuple(sorted(skipped.items(), key=lambda entry: (-entry[1], entry[0]))),
        Counter(r.outcome for r in results),
    )


def tally(results: Iterable[Result]) -> dict[tuple[str, str], Counter[Outcome]]:
    """(instruction, target) -> number of cases by outcome; instructions by name, targets in their usual order."""
    counts: dict[tuple[str, str], Counter[Outcome]] = {}
    for r in results:
        counts.setdefault((r.op, r.target), Counter())[r.outcome] += 1
    targets = list(TARGETS)
    return dict(sorted(counts.items(), key=lambda entry: (entry[0][0], targets.index(entry[0][1]))))


# Results as JUnit XML, which continuous integration systems read.


# Characters that XML 1.0 cannot hold.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit_xml(name: str, results: Sequence[Result]) -> bytes:
    """A test suite `name` with one test case per case and target; seconds as they were measured."""
    count = {outcome: sum(r.outcome is outcome for r in results) for outcome in Outcome}
    totals = {
        "tests": str(len(results)),
        "failures": str(count[Outcome.FAILED]),
        "errors": "0",
        "skipped": str(count[Outcome.SKIPPED]),
        "time": f"{sum(r.seconds for r in results):.3f}",
    }
    top = ElementTree.Element("testsuites", {"name": "ptokit conformance", **totals})
    suite = ElementTree.SubElement(top, "testsuite", {"name": _clean(name), **totals})
    for r in results:
        names = {"classname": f"{_clean(r.op)}.{r.target}", "name": f"{_clean(r.case)}[{r.target}]"}
        case = ElementTree.SubElement(suite, "testcase", {**names, "time": f"{r.seconds:.6f}"})
        if r.outcome is Outcome.FAILED:
            failure = ElementTree.SubElement(case, "failure", {"message": _clean(r.message), "type": "conformance"})
            failure.text = _clean(r.message)
        elif r.outcome is Outcome.SKIPPED:
            ElementTree.SubElement(case, "skipped", {"message": _clean(r.message)})
    ElementTree.indent(top)
    return ElementTree.tostring(top, encoding="utf-8", xml_declaration=True) + b"\n"


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("?", text)
