"""What to tell about a run of a campaign: counts, what changed since the run before, the slowest cases."""

from __future__ import annotations

from collections import Counter
from enum import StrEnum

from ptokit.records import dataclass

from .case import Status
from .store import Row, Store


class Change(StrEnum):
    """How a case went compared with the run before."""

    WORSE = "worse"  # passed before, does not now
    BETTER = "better"
    OTHER = "other"  # does not pass in another way
    ANSWER = "another answer"  # passes, but leaves other bytes in the arguments
    NEW = "new"
    SAME = ""


@dataclass(frozen=True)
class Summary:
    """A run. ``changes`` has an entry for each case that went otherwise than in the run before, if there is one."""

    name: str
    run: int
    finished: bool
    about: dict[str, str]
    rows: tuple[Row, ...]
    changes: dict[str, Change]
    before: int | None

    @property
    def counts(self) -> Counter[str]:
        """How many cases went which way; ``missing`` are those without a result yet."""
        return Counter(row.result.status.value if row.result else "missing" for row in self.rows)

    @property
    def table(self) -> dict[tuple[str, str], Counter[str]]:
        """The same by action and target."""
        out: dict[tuple[str, str], Counter[str]] = {}
        for row in self.rows:
            counts = out.setdefault((row.action, row.target), Counter())
            counts[row.result.status.value if row.result else "missing"] += 1
        return out

    @property
    def failed(self) -> list[Row]:
        """Cases that have a result and did not pass, in order."""
        return [row for row in self.rows if row.result is not None and row.result.status is not Status.PASSED]

    @property
    def last_line(self) -> str:
        """``N passed, N refused, …``: what there is, passed first."""
        counts = self.counts
        words = [*(s.value for s in Status), "missing"]
        return ", ".join(f"{counts[w]} {w}" for w in words if counts[w] or w == Status.PASSED)


def summarise(store: Store, run: int | None = None) -> Summary | None:
    """The last run of a file, or the one with that number; None if there is none. Raises `DiagnosticError`."""
    runs = {number: (name, about, finished) for number, name, about, finished in store.runs()}
    chosen = max(runs, default=None) if run is None else run
    if chosen is None or chosen not in runs:
        return None
    name, about, finished = runs[chosen]
    rows = tuple(store.rows(chosen))
    before = max((n for n in runs if n < chosen), default=None)
    changes: dict[str, Change] = {}
    if before is not None:
        old = {row.id: row for row in store.rows(before)}
        for row in rows:
            change = _change(old.get(row.id), row)
            if change is not Change.SAME:
                changes[row.id] = change
    return Summary(name, chosen, finished, about, rows, changes, before)


def _change(old: Row | None, new: Row) -> Change:
    if new.result is None:
        return Change.SAME
    if old is None or old.result is None:
        return Change.NEW
    was, now = old.result.status is Status.PASSED, new.result.status is Status.PASSED
    if was != now:
        return Change.BETTER if now else Change.WORSE
    if not now:
        same = (old.result.status, old.result.rules) == (new.result.status, new.result.rules)
        return Change.SAME if same else Change.OTHER
    return Change.SAME if old.result.digest == new.result.digest else Change.ANSWER
