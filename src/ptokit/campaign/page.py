"""The report of a run as one HTML page that needs nothing else: counts, filters, every case, what was found."""

from __future__ import annotations

import json
from html import escape
from pathlib import Path

from .case import Status
from .summary import Summary

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
