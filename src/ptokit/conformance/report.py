"""What to tell about the results of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from ptokit.records import dataclass
from ptokit.targets import TARGETS

from .result import Outcome, Result


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
