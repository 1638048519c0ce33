"""Write the table of docs/evidence.md: every rule of the instruction set, and what it rests on.

    python tools/evidence.py [--check]

With --check nothing is written; the exit code is 1 if the page is not current.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

from ptokit.api.findings import load_catalogue
from ptokit.diagnostics import Scope, catalogue
from ptokit.diagnostics.rules import WORDS, Evidence

PAGE = Path(__file__).parents[1] / "docs" / "evidence.md"
MARK = "<!-- made by tools/evidence.py -->\n"


def table() -> str:
    """The part of the page below the mark."""
    load_catalogue()
    rules = [rule for rule in catalogue() if rule.scope in (Scope.ISA, Scope.ASSEMBLER) and rule.enforced]
    isa = [rule for rule in rules if rule.scope is Scope.ISA]
    kinds = Counter((kind, rule.severity) for rule in rules for kind in rule.evidence)
    lines = ["| evidence | means | errors | warnings |", "|---|---|---|---|"]
    for kind in Evidence:
        counts = [
            sum(n for (k, s), n in kinds.items() if k is kind and (s == "error") is error) for error in (True, False)
        ]
        lines.append(f"| {kind} | {WORDS[kind]} | {counts[0]} | {counts[1]} |")
    lines += ["", "| rule | targets | evidence | verdict |", "|---|---|---|---|"]
    for rule in isa:
        lines.append(f"| {rule.id} | {' '.join(rule.targets)} | {', '.join(rule.evidence)} | {rule.severity} |")
    return "\n".join(lines) + "\n"


def main(arguments: list[str]) -> int:
    """Run the tool."""
    text = PAGE.read_text(encoding="utf-8")
    head, _, old = text.partition(MARK)
    new = "\n" + table()
    if "--check" in arguments:
        return int(old != new)
    PAGE.write_text(head + MARK + new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
