"""What the sanitizer costs: against plain execution, and with the length of a loop; all in one process, in turn.

Run with ``python benchmarks/sanitizer.py``. Plain execution runs one block at a time, as the sanitizer does. The
kernel works on two buffers with all the flags that takes: eighteen flag operations for ten instructions.
"""

from __future__ import annotations

import argparse
import statistics
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np

from ptokit.asm import read_module
from ptokit.ir import Module
from ptokit.run import compile_program
from ptokit.sanitize import sanitize, uninit
from ptokit.targets import target
from ptokit.types.dtypes import DTYPES

KERNEL = Path(__file__).parent / "kernels" / "pipelined.pto"
PER_PAIR = 10  # instructions per iteration
TILES = 64  # of each block
ON = target("a2a3")


def module() -> Module:
    parsed = read_module(str(KERNEL), target=ON)
    parsed.diagnostics.raise_if_errors()
    return parsed.module


def arguments(pairs: int, blocks: int) -> list[object]:
    shape = (TILES * blocks, 16, 64)
    return [np.zeros(shape, np.float32), uninit(shape, DTYPES["f32"]), pairs, TILES]


def watched(pairs: int, blocks: int) -> Callable[[], None]:
    """A run under observation that has to be clean."""
    program, values = module(), arguments(pairs, blocks)

    def run() -> None:
        report = sanitize(program, ON, values, blocks)
        assert report.clean, str(report)
        assert report.instructions == PER_PAIR * pairs * blocks

    return run


def plain(pairs: int, blocks: int) -> Callable[[], None]:
    """The same without observation."""
    program, values = compile_program(module(), ON), arguments(pairs, blocks)
    return lambda: program.launch(values, blocks, chunk=1)


def compare(runs: list[Callable[[], None]], rounds: int) -> list[float]:
    """Median seconds of each, measured in turn after one warm-up."""
    times: list[list[float]] = [[] for _ in runs]
    for round in range(rounds + 1):
        for run, kept in zip(runs, times):
            start = time.perf_counter()
            run()
            if round:
                kept.append(time.perf_counter() - start)
    return [statistics.median(kept) for kept in times]


def peak(pairs: int) -> int:
    """Most bytes held during a run, the arguments not counted."""
    run = watched(pairs, 1)
    run()
    tracemalloc.start()
    run()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9, help="measured rounds of each pair (default 9)")
    rounds = parser.parse_args().rounds
    for pairs, blocks in ((100, 1), (100, 8)):
        ours, other = compare([watched(pairs, blocks), plain(pairs, blocks)], rounds)
        what = f"{PER_PAIR * pairs} instructions in each of {blocks} block{'s' if blocks > 1 else ''}"
        print(f"{what:44} {ours * 1e3:8.1f} ms, plain {other * 1e3:7.1f} ms: {ours / other:5.2f}x")
    short, long = compare([watched(100, 1), watched(1000, 1)], rounds)
    print(
        f"{'a loop of 1000 iterations instead of 100':44} {long * 1e3:8.1f} ms, short {short * 1e3:7.1f} ms: "
        f"{long / short:5.2f}x"
    )
    few, many = peak(200), peak(2000)
    print(
        f"{'memory of 2000 iterations instead of 200':44} {many / 1e6:8.2f} MB, short {few / 1e6:7.2f} MB: "
        f"{many / few:5.2f}x"
    )


if __name__ == "__main__":
    main()
