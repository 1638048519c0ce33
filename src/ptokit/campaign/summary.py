"""What to tell about a run of a campaign, on the terminal and as one HTML page."""

from __future__ import annotations

import json
from collections import Counter
from enum import StrEnum
from html import escape
from pathlib import Path

from ptokit.records import dataclass

from .case import Status
from .store import Row, Store

# What to tell about a run of a campaign: counts, what changed since the run before, the slowest cases.


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


# The report of a run as one HTML page that needs nothing else: counts, filters, every case, what was found.


_HERE = Path(__file__).parent
_STYLE = (_HERE / "page.css").read_text(encoding="utf-8")
_SCRIPT = (_HERE / "page.js").read_text(encoding="utf-8")


def page(summary: Summary) -> str:
    """The page. Cases travel in it as data; the script in it shows those that the filters leave."""
    title = f"{summary.name}: {summary.last_line}"
    data = {"cases": [_case(summary, i) for i in range(len(summary.rows))], "before": summary.before is not None}
    text = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    counts = summary.counts
    tiles = "".join(
        f"<button data-status='{escape(status)}'><b>{counts[status]:,}</b> {escape(status)}</button>"
        for status in (*(s.value for s in Status), "missing")
        if counts[status]
    )
    facts = {"run": str(summary.run), "cases": f"{len(summary.rows):,}", **summary.about}
    listed = "".join(f"<div><dt>{escape(k)}</dt><dd>{escape(v)}</dd></div>" for k, v in facts.items() if k != "spec")
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body><main>"
        f"<header><p class='kicker'>ptokit campaign</p><h1>{escape(summary.name)}</h1>"
        f"<div id='counts'>{tiles}</div><dl>{listed}</dl></header>"
        "<div id='rules' aria-label='rules that cases break most often'></div>"
        "<form id='filters'></form><p id='shown'></p>"
        "<table><thead><tr></tr></thead><tbody></tbody></table><p id='more'></p>"
        f"<h2>Slowest</h2><ol id='slowest'></ol></main>"
        f"<script type='application/json' id='data'>{text}</script><script>{_SCRIPT}</script></body></html>\n"
    )


def _case(summary: Summary, index: int) -> dict[str, object]:
    row = summary.rows[index]
    out: dict[str, object] = {"id": row.id, "program": row.program, "target": row.target, "action": row.action}
    if row.id in summary.changes:
        out["change"] = summary.changes[row.id].value
    if row.result is None:
        return {**out, "status": "missing"}
    out |= {"status": row.result.status.value, "seconds": round(row.result.seconds, 4)}
    if row.result.message:
        out["message"] = row.result.message
    if row.result.rules:
        out["rules"] = row.result.rules
    if row.result.findings:
        out["findings"] = [
            {
                "rule": f["rule"],
                "severity": f["severity"],
                "line": f["line"],
                "message": f["message"],
                "hint": f["hint"],
            }
            for f in row.result.findings
        ]
    return out
