"""Replays the device suites of a checkout of the C++ library, and writes what came of them.

    python tools/device_suites.py CHECKOUT RESULTS.jsonl [--target a2a3] [--suite NAME …] [--sanitize]
    python tools/device_suites.py --table RESULTS.jsonl

A line of the results is one suite; ``--suite`` names it, or a folder that it is in (``comm``). Suites whose results are
there are not replayed again, so that a run can be interrupted and goes on. The suites' own programs and scripts are
executed.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from pathlib import Path

from ptokit.cpp.replay import SuiteReport, replay, stated
from ptokit.targets import target

TARGETS = ("a2a3", "a5")


def suites(checkout: Path, name: str) -> list[Path]:
    """The folders of a target's suites: of one device, then of several."""
    kinds = [checkout / "tests" / "npu" / name / kind / "st" for kind in ("src", "comm")]
    return [folder for kind in kinds for folder in sorted({main.parent for main in kind.rglob("main.c*")})]


def as_json(report: SuiteReport, place: str) -> str:
    """A line of the results."""
    tests = [[t.name, t.outcome, t.reason, t.rules] for t in report.tests]
    findings = [f"{d.rule} {Path(d.location.file or '').name}:{d.location.line} {d.message}" for d in report.findings]
    found = {"place": place, "target": report.target, "suite": report.name, "stated": report.stated}
    return json.dumps({**found, "failure": report.failure, "tests": tests, "findings": findings})


def table(results: Path) -> str:
    """The results as a page has them: of each target how many tests there are, and what became of them."""
    rows = [json.loads(line) for line in results.read_text().splitlines()]
    lines = ["| target | suites | tests | right | refused | wrong | not run |", "|---|---|---|---|---|---|---|"]
    reasons: Counter[tuple[str, str, str]] = Counter()
    for name in TARGETS:
        own = [row for row in rows if row["target"] == name]
        outcomes = Counter(test[1] for row in own for test in row["tests"])
        stated = sum(max(row["stated"], len(row["tests"])) for row in own)
        wrong = outcomes["failed"] + outcomes["crashed"]
        rest = stated - outcomes.total()
        numbers = (len(own), stated, outcomes["passed"], outcomes["refused"], wrong, rest)
        lines.append(f"| {name} | {' | '.join(map(str, numbers))} |")
        for row in own:
            for _, outcome, reason, _ in row["tests"]:
                if outcome != "passed":
                    reasons[name, row["suite"], reason.partition(": ")[0].split(" ")[0] or "wrong"] += 1
            if row["failure"]:
                reasons[name, row["suite"], row["failure"][:120]] += row["stated"] - len(row["tests"])
    lines += ["", "| target | suite | tests | why |", "|---|---|---|---|"]
    lines += [f"| {name} | {suite} | {n} | {why} |" for (name, suite, why), n in sorted(reasons.items())]
    found = [(row["target"], row["suite"], each) for row in rows for each in row.get("findings", ())]
    lines += ["", "| target | suite | the sanitizer |", "|---|---|---|"] if found else []
    lines += [f"| {' | '.join(each)} |" for each in found]
    return "\n".join(lines)


def main() -> int:
    """Replay what is missing, or print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path, nargs="?")
    parser.add_argument("results", type=Path, nargs="?")
    parser.add_argument("--table", type=Path)
    parser.add_argument("--target", choices=TARGETS, action="append")
    parser.add_argument("--suite", action="append", default=[])
    parser.add_argument("--sanitize", action="store_true")
    given = parser.parse_args()
    if given.table:
        print(table(given.table))
        return 0
    if given.checkout is None or given.results is None:
        parser.error("name a checkout, and the file of results")
    done = set()
    if given.results.exists():
        done = {(row["target"], row["place"]) for row in map(json.loads, given.results.read_text().splitlines())}
    for name in given.target or TARGETS:
        for folder in suites(given.checkout, name):
            place = str(folder.relative_to(given.checkout))
            if (name, place) in done or (given.suite and set(given.suite).isdisjoint(folder.parts)):
                continue
            try:
                report = replay(folder, target(name), sanitize=given.sanitize)
            except Exception as error:  # a defect of ptokit's own: the other suites go on, and its line says so
                report = SuiteReport(folder.name, name, failure=f"ptokit: {type(error).__name__}: {error}")
                report.stated = stated(folder)
            with given.results.open("a") as file:
                file.write(as_json(report, place) + "\n")
            print(f"{name} {folder.name}: {report.passed} of {report.stated} {report.failure[:100]}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
