"""Runs pypto's own system tests on ptokit, judged by their own references, and writes the table of docs/corpora.md.

    python tools/pypto_suite.py CHECKOUT --target a2a3 --results FILE [TEST ...]
    python tools/pypto_suite.py --table FILE ...

CHECKOUT is a clone of hw-native-sys/pypto with its extension built in place (or installed), beside torch and pytest, or
one of pypto-lib. FILE gets one line of JSON for each test; tests that it has are not run again. TEST: folders, files or
node ids below CHECKOUT, by default the system tests of single chips; a file that is no test is a program, which judges
itself. ``--sanitize`` looks at each launch first. ``--table`` writes the table from the results of both targets.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import re
import runpy
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[1] / "docs" / "corpora.md"
BEGIN, END = "<!-- pypto: begin -->", "<!-- pypto: end -->"
TESTS = ("tests/st/runtime", "tests/st/examples", "tests/st/codegen")
KINDS = ("right", "wrong", "refused", "fails", "skipped", "for another target", "launches nothing")
_WRONG = re.compile(
    r"does not match golden|Mismatched elements|not close|allclose|max_diff|mismatch|AssertionError: assert"
)
_RULE = re.compile(r"\b(?:error|warning)?\[?([A-Z][A-Z0-9]+(?:-[A-Z0-9]+)+)\]?:? ")


class Watch:
    """What pytest tells of each test, as lines of the file of results."""

    def __init__(self, device: Any, results: Path, target: str, seconds: int) -> None:
        self.device, self.results, self.target, self.seconds = device, results, target, seconds
        self.known = {each["test"] for each in read([results])}
        self.launches = 0

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        """Leave out what has been run, and let the tests see a device."""
        for module in list(sys.modules.values()):
            if "is_hardware_available" in getattr(module, "__dict__", {}):
                module.__dict__["is_hardware_available"] = lambda: True
        harness: Any = importlib.import_module("harness.core.harness")
        runner = importlib.import_module("harness.core.test_runner").TestRunner
        original = runner.run

        def run(own: Any, case: Any) -> Any:
            # Most tests say a2a3, by a default of theirs, and would be compiled for it wherever they run.
            importlib.import_module("pypto.backend").reset_for_testing()
            case.get_backend_type = lambda: harness.platform_to_backend(case.get_platform() or self.target)
            return original(own, case)

        runner.run = run

    def pytest_runtest_setup(self) -> None:
        """The launches of a test are counted from here; pypto has one target until it is told to forget it."""
        importlib.import_module("pypto.backend").reset_for_testing()
        self.device.launches.clear()
        signal.alarm(self.seconds)

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Write down how a test has ended."""
        if report.when == "call" or report.outcome != "passed":
            signal.alarm(0)
            text = str(report.longrepr or "")
            found = {
                "target": self.target, "test": report.nodeid, "outcome": report.outcome,
                "launches": len(self.device.launches), "seconds": round(report.duration, 2),
                "reason": reason(text), "text": text[-6000:] if report.outcome == "failed" else "",
            }  # fmt: skip
            with self.results.open("a") as file:
                file.write(json.dumps(found) + "\n")


def reason(text: str) -> str:
    """The line of a failure that says most."""
    lines = [line.removeprefix("E ").strip() for line in text.splitlines() if line.strip()]
    for wanted in (_RULE, re.compile(r"^\w*(?:Error|Exception|Failure)\b.*: "), _WRONG):
        for line in lines:
            if wanted.search(line):
                return line[:300]
    return lines[-1][:300] if lines else ""


def kind(result: dict[str, Any]) -> str:
    """One of `KINDS`."""
    if result["outcome"] == "skipped":
        return "skipped"
    if result["outcome"] == "passed":
        return "right" if result["launches"] else "launches nothing"
    if "is compiled for" in result["text"]:
        return "for another target"
    if _WRONG.search(result["text"]) and "DiagnosticError" not in result["text"]:
        return "wrong"
    return "refused" if "DiagnosticError" in result["text"] else "fails"


def read(files: Sequence[Path]) -> list[dict[str, Any]]:
    """The results in some files, the last of each test."""
    lines = [json.loads(line) for file in files if file.exists() for line in file.read_text().splitlines()]
    return list({(each["target"], each["test"]): each for each in lines}.values())


def table(results: Sequence[dict[str, Any]]) -> Iterator[str]:
    """The lines of the page."""
    targets = sorted({each["target"] for each in results})
    counts = {target: Counter(kind(each) for each in results if each["target"] == target) for target in targets}
    yield "| target | judged | " + " | ".join(KINDS) + " |"
    yield "|---" * (2 + len(KINDS)) + "|"
    for target, found in counts.items():
        judged = sum(found[k] for k in KINDS[:4])
        yield f"| {target} | {judged} | " + " | ".join(str(found[k]) for k in KINDS) + " |"
    yield ""


def run_programs(checkout: Path, target: str, results: Path, files: Sequence[str], seconds: int) -> int:
    """Run files of a checkout, each in a process of its own."""
    known = {each["test"] for each in read([results])}
    for file in files:
        if file in known:
            continue
        start = time.perf_counter()
        command = [sys.executable, __file__, str(checkout), "--target", target, "--program", file]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=seconds)
            text, passed = done.stdout + done.stderr, done.returncode == 0
        except subprocess.TimeoutExpired:
            text, passed = f"TimeoutError: the program takes longer than {seconds} s", False
        launches = re.findall(r"^launches: (\d+)$", text, re.MULTILINE)
        found = {
            "target": target, "test": file, "outcome": "passed" if passed else "failed",
            "launches": int(launches[-1]) if launches else 0, "seconds": round(time.perf_counter() - start, 2),
            "reason": "" if passed else reason(text), "text": "" if passed else text[-6000:],
        }  # fmt: skip
        print(found["outcome"], file, found["reason"], flush=True)
        with results.open("a") as lines:
            lines.write(json.dumps(found) + "\n")
    return 0


def run_program(checkout: Path, target: str, file: str) -> int:
    """Run a file here; ``-p`` says the platform where it takes that."""
    import ptokit

    checkout = checkout.resolve()
    sys.path[:0] = [str((checkout / file).parent), str(checkout), str(checkout / "python")]
    os.chdir(checkout)
    takes = '"-p"' in Path(file).read_text()
    sys.argv = [file, *(["-p", f"{target}sim"] if takes else [])]
    with ptokit.pypto.on_device(target) as device:
        try:
            runpy.run_path(file, run_name="__main__")
        finally:
            print(f"\nlaunches: {len(device.launches)}")
    return 0


def run(checkout: Path, target: str, results: Path, tests: Sequence[str], seconds: int, sanitize: bool) -> int:
    """Run the tests of a checkout for a target."""
    import pytest

    import ptokit

    checkout = checkout.resolve()
    results = results.resolve()
    sys.path[:0] = [str(checkout / "python"), str(checkout)]
    os.chdir(checkout)

    def late(*_: Any) -> None:
        raise TimeoutError(f"the test takes longer than {seconds} s")

    signal.signal(signal.SIGALRM, late)
    with ptokit.pypto.on_device(target, sanitize=sanitize) as device:
        watch = Watch(device, results, target, seconds)
        start = time.perf_counter()
        options = ["-q", "-p", "no:cacheprovider", "--no-header", "--tb=short", "--continue-on-collection-errors"]
        options += [f"--platform={target}"]
        code = pytest.main([*options, *(tests or TESTS)], plugins=[watch])
        print(f"{time.perf_counter() - start:.0f} s")
    return int(code)


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", nargs="?", type=Path)
    parser.add_argument("tests", nargs="*")
    parser.add_argument("--target", default="a2a3")
    parser.add_argument("--results", type=Path, default=Path("pypto.jsonl"))
    parser.add_argument("--seconds", type=int, default=300, help="the most that a test may take")
    parser.add_argument("--sanitize", action="store_true")
    parser.add_argument("--table", type=Path, nargs="+")
    parser.add_argument("--program", help=argparse.SUPPRESS)
    given = parser.parse_intermixed_args()
    if given.table:
        lines = "\n".join(table(read(given.table)))
        page = PAGE.read_text()
        before, _, rest = page.partition(BEGIN)
        PAGE.write_text(f"{before}{BEGIN}\n{lines}\n{END}{rest.partition(END)[2]}")
        return 0
    if given.checkout is None:
        parser.error("name a checkout of pypto")
    if given.program:
        return run_program(given.checkout, given.target, given.program)
    programs = [t for t in given.tests if t.endswith(".py") and not Path(t).name.startswith("test_")]
    if programs:
        return run_programs(given.checkout, given.target, given.results.resolve(), programs, given.seconds)
    return run(given.checkout, given.target, given.results, given.tests, given.seconds, given.sanitize)


if __name__ == "__main__":
    sys.exit(main())
