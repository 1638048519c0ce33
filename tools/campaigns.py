"""The project's own campaigns: every test that is marked `campaign`, on processes or on a cluster.

    python tools/campaigns.py [PATH ...] [-k TEXT] [--jobs N] [--executor WHERE] [--timeout SECONDS]

PATH: files and folders of tests, by default all. Each test is a task of its own; one that hangs or ends its process
costs no other anything. Workers elsewhere need this checkout at the same place. Exit status 1 if a test did not pass.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ptokit.workers.executors import cores, drive, open_executor
from ptokit.workers.minder import How, Task

ROOT = Path(__file__).parents[1]
MARKED = ("-o", "addopts=", "-m", "campaign", "-p", "no:cacheprovider")


def pytest(*args: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-q", *MARKED, *args]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def collected(paths: Sequence[str], text: str) -> list[str]:
    """The ids of the tests."""
    chosen = ("-k", text) if text else ()
    lines = pytest("--collect-only", *chosen, *paths).stdout.splitlines()
    return [line for line in lines if "::" in line]


def run_test(given: dict[str, Any], _: object) -> str:
    """The task of a worker: what a test that does not pass says, else nothing."""
    ran = pytest(given["test"])
    return "" if ran.returncode == 0 else ran.stdout[-4000:]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="*", default=["tests"], metavar="PATH")
    parser.add_argument("-k", default="", metavar="TEXT", help="as of pytest")
    parser.add_argument("--jobs", "-j", type=int, default=cores())
    parser.add_argument("--executor", default="processes", help="processes, dask://HOST:PORT or ray")
    parser.add_argument("--timeout", type=float, default=3600, help="seconds for each test (default 3600)")
    given = parser.parse_args()
    tests = collected(given.paths, given.k)
    tasks = (Task(test, "campaigns:run_test", {"test": test}, (), given.timeout) for test in tests)
    failed, done, start = 0, 0, time.perf_counter()
    with open_executor(given.executor, given.jobs) as (executor, workers):
        for answers in drive(tasks, executor, workers, together=1):
            for answer in answers:
                done += 1
                passed = answer.how is How.DONE and not answer.value
                failed += not passed
                print(f"[{done}/{len(tests)}] {'passed' if passed else 'FAILED'} {answer.seconds:7.1f} s  {answer.id}")
                if not passed:
                    print(answer.value or f"{answer.how}: {answer.message}")
    print(f"{done - failed} passed, {failed} failed in {time.perf_counter() - start:.0f} s")
    return int(failed > 0 or not tests)


if __name__ == "__main__":
    sys.exit(main())
