"""Processor time of a small `ptokit run` from start to exit, beside what a process with its libraries takes.

Run with ``python benchmarks/start.py``. Both are started in turn; figures are user and system time together.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

KERNEL = Path(__file__).parents[1] / "examples" / "pto" / "vec_add.pto"
ONES, ROUNDS = ("-a", "ones:f32:64"), 12
WORK = {
    "ptokit run": ["-m", "ptokit", "run", str(KERNEL), "-t", "a5", *ONES, *ONES, "-a", "zeros:f32:64", "-a", "64"],
    "import numpy, ml_dtypes, typer": ["-c", "import numpy, ml_dtypes, typer"],
}


def used(arguments: list[str], environment: dict[str, str]) -> float:
    """Processor seconds of one process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], check=True, env=environment, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:  # byte code is kept, as pip does for what it installs
        environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": folder}
        taken: dict[str, list[float]] = {name: [] for name in WORK}
        for round in range(ROUNDS + 1):
            for name, arguments in WORK.items():
                seconds = used(arguments, environment)
                if round:
                    taken[name].append(seconds)
    least = [min(seconds) for seconds in taken.values()]
    for name, seconds in taken.items():
        print(f"{name:32} min {min(seconds):.3f} s   median {statistics.median(seconds):.3f} s")
    print(f"{'ratio':32} min {least[0] / least[1]:.2f}")


if __name__ == "__main__":
    main()
