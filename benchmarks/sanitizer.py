"""What the sanitizer costs: against plain execution, with the length of a loop, with the number of blocks, with races
and with tiles at many addresses; all in one process, in turn.

Run with ``python benchmarks/sanitizer.py``. Plain execution runs one block at a time, as the sanitizer does. The first
kernel works on two buffers with all the flags that takes: eighteen flag operations for ten instructions. `racy.pto` has
no flags in its loop, and all blocks store to one place. `addresses.pto` puts a tile elsewhere in every iteration. In
`signals.pto`, each block waits for the one before it, or for all.
"""

from __future__ import annotations

import argparse
import statistics
import time
import tracemalloc
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from ptokit.asm import parse_module
from ptokit.ir import Module
from ptokit.run import compile_program
from ptokit.sanitize import sanitize, uninit
from ptokit.targets import target
from ptokit.types.dtypes import DTYPES

KERNELS = Path(__file__).parent / "kernels"
PER_PAIR = 10  # instructions per iteration
TILES = 64  # of each block
ON = target("a2a3")


PADDED = {
    "tile_buf<vec, 16x64xf32>": "tile_buf<vec, 16x64xf32, valid=16x60>",
    "1x16x64xf32": "1x16x60xf32",
    "%c16, %c64] : !pto.tensor_view<?x?x?xf32> ->": "%c16, %c60] : !pto.tensor_view<?x?x?xf32> ->",
    "%c64 = arith": "%c60 = arith.constant 60 : index\n    %c64 = arith",
}
"""What makes 60 of 64 columns of the first kernel valid."""


def module(name: str = "pipelined", changed: Mapping[str, str] | None = None) -> Module:
    text = (KERNELS / f"{name}.pto").read_text(encoding="utf-8")
    for before, after in (changed or {}).items():
        text = text.replace(before, after)
    parsed = parse_module(text, target=ON)
    parsed.diagnostics.raise_if_errors()
    return parsed.module


def arguments(pairs: int, blocks: int) -> list[object]:
    shape = (TILES * blocks, 16, 64)
    return [np.zeros(shape, np.float32), uninit(shape, DTYPES["f32"]), pairs, TILES]


def watched(pairs: int, blocks: int, changed: Mapping[str, str] | None = None) -> Callable[[], None]:
    """A run under observation that has to be clean."""
    program, values = module(changed=changed), arguments(pairs, blocks)

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


def peak(run: Callable[[], None]) -> int:
    """Most bytes held during a run, the arguments not counted."""
    run()
    tracemalloc.start()
    run()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most


def racy(times: int, blocks: int = 8) -> Callable[[], None]:
    """Blocks that race in every iteration."""
    program = module("racy")
    x, y = (np.ones((16, 32), np.float32) for _ in range(2))

    def run() -> None:
        assert len(sanitize(program, ON, [x, y, times], blocks).races) > 2

    return run


def addresses(times: int) -> Callable[[], None]:
    """As many tiles at different addresses."""
    program = module("addresses")
    x, y = np.ones(8, np.float32), np.ones(8, np.float32)

    def run() -> None:
        assert sanitize(program, ON, [x, y, times]).clean

    return run


def signals(kernel: str, blocks: int) -> tuple[float, float]:
    """Seconds of processor time and bytes that so many blocks take who wait for one another."""
    program = module("signals")

    def run() -> None:
        given = [np.zeros((8, 8), np.float32), np.zeros(blocks + 1, np.int32), blocks + 1]
        assert sanitize(program, ON, given, blocks, entry=kernel).clean

    begin = time.process_time()
    run()
    return time.process_time() - begin, peak(run)


def grown(what: str, make: Callable[[int], Callable[[], None]], few: int, many: int, rounds: int) -> None:
    """Print what a larger number costs."""
    long, short = compare([make(many), make(few)], rounds)
    times = f"{long / short:5.2f}x"
    print(f"{f'{what}, {many} instead of {few}':44} {long * 1e3:8.1f} ms, fewer {short * 1e3:7.1f} ms: {times}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9, help="measured rounds of each pair (default 9)")
    parser.add_argument("--blocks", type=int, default=512, help="most blocks that wait for one another (default 512)")
    asked = parser.parse_args()
    rounds = asked.rounds
    for pairs, blocks in ((100, 1), (100, 8)):
        ours, other = compare([watched(pairs, blocks), plain(pairs, blocks)], rounds)
        what = f"{PER_PAIR * pairs} instructions in each of {blocks} block{'s' if blocks > 1 else ''}"
        print(f"{what:44} {ours * 1e3:8.1f} ms, plain {other * 1e3:7.1f} ms: {ours / other:5.2f}x")
    short, long = compare([watched(100, 1), watched(1000, 1)], rounds)
    print(
        f"{'a loop of 1000 iterations instead of 100':44} {long * 1e3:8.1f} ms, short {short * 1e3:7.1f} ms: "
        f"{long / short:5.2f}x"
    )
    padded, whole = compare([watched(300, 1, PADDED), watched(300, 1)], rounds)
    print(
        f"{'tiles with padding instead of whole ones':44} {padded * 1e3:8.1f} ms, whole {whole * 1e3:7.1f} ms: "
        f"{padded / whole:5.2f}x"
    )
    few, many = peak(watched(200, 1)), peak(watched(2000, 1))
    print(
        f"{'memory of 2000 iterations instead of 200':44} {many / 1e6:8.2f} MB, short {few / 1e6:7.2f} MB: "
        f"{many / few:5.2f}x"
    )
    ended = (peak(racy(1, 1100)) - peak(racy(1, 100))) / 1000
    print(f"{'memory of a block that has ended':44} {ended / 1e3:8.2f} KB")
    grown("iterations of 8 blocks that race", racy, 200, 2000, min(rounds, 3))
    grown("tiles at different addresses", addresses, 400, 4000, min(rounds, 3))
    for kernel in ("chain", "meetings", "rendezvous"):
        for blocks in (asked.blocks // 4, asked.blocks // 2, asked.blocks):
            seconds, most = signals(kernel, blocks)
            print(f"{f'{kernel} of {blocks} blocks':44} {seconds:8.2f} s  {most / 1e6:8.1f} MB")


if __name__ == "__main__":
    main()
