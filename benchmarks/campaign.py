"""What many processes are worth: cases and blocks a second on one process, on two, and on a Dask cluster of two.

    python benchmarks/campaign.py CHECKOUT [--programs N] [--rounds N]

CHECKOUT is a checkout of PTOAS, whose sample kernels are checked, run and sanitized. All ways take turns; medians are
shown. Workers start within what is measured for campaigns, and before it for launches.
"""

from __future__ import annotations

import argparse
import logging
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import ptokit as pto
from ptokit.campaign.case import Action
from ptokit.campaign.run import run_campaign
from ptokit.campaign.spec import Spec, of_paths
from ptokit.launches.access import footprints
from ptokit.launches.launch import launch
from ptokit.run import Program
from ptokit.workers.executors import open_executor

WORKERS = 2


@contextmanager
def cluster() -> Iterator[str | None]:
    """The address of a Dask cluster on this machine; None without Dask."""
    try:
        from distributed import LocalCluster
    except ImportError:
        yield None
        return
    limits: dict[str, Any] = {"n_workers": WORKERS, "threads_per_worker": 1, "dashboard_address": None}
    limits["silence_logs"] = logging.CRITICAL
    with LocalCluster(processes=True, **limits) as running:
        yield running.scheduler_address.replace("tcp://", "dask://")


def in_turn(ways: dict[str, Callable[[], float]], rounds: int) -> dict[str, float]:
    """Seconds of each way, medians of rounds in which all take their turn."""
    found: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            found[name].append(way())
    return {name: statistics.median(times) for name, times in found.items()}


# --- campaigns -------------------------------------------------------------------------------------------------------


def timed(spec: Spec, executor: str, jobs: int) -> float:
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        run_campaign(spec, Path(folder) / "r.sqlite", executor=executor, jobs=jobs)
        return time.perf_counter() - start


def campaigns(checkout: Path, programs: int, rounds: int, dask: str | None) -> None:
    spec = of_paths([str(checkout / "test/samples")])
    spec = replace(spec, default_target="a2a3", modes=({"sync": "auto"},))
    mixed = replace(spec, programs=spec.programs[:: max(1, len(spec.programs) // programs)])
    small = replace(mixed, do=(Action.CHECK,), seeds=(0,))
    for name, chosen in (("check, run and sanitize", mixed), ("check alone", small)):
        cases = len(list(chosen.cases()))
        ways: dict[str, Callable[[], float]] = {
            "1 process": lambda spec=chosen: timed(spec, "processes", 1),
            f"{WORKERS} processes": lambda spec=chosen: timed(spec, "processes", WORKERS),
        }
        if dask is not None:
            ways[f"Dask, {WORKERS} workers"] = lambda spec=chosen: timed(spec, dask, WORKERS)
        print(f"\n{name}: {cases} cases of {len(chosen.programs)} programs")
        found = in_turn(ways, rounds)
        first = found["1 process"]
        for way, seconds in found.items():
            print(f"  {way:18} {cases / seconds:7.2f} cases/s {first / seconds:6.2f}x")


# --- launches --------------------------------------------------------------------------------------------------------


@pto.kernel(target="a5")
def work(x: pto.Ptr[pto.f32], y: pto.Ptr[pto.f32], rows: int, turns: int) -> None:
    """16 rows a block; ``turns`` exponentials of each element."""
    top = pto.get_block_idx() * 16
    tile = pto.Tile(pto.TileType.Vec, pto.f32, 16, 256)
    pto.TLOAD(tile, pto.GlobalTensor(x, (rows, 256))[top : top + 16])
    for _ in range(turns):
        pto.TEXP(tile, tile)
        pto.TRECIP(tile, tile)
    pto.TSTORE(pto.GlobalTensor(y, (rows, 256))[top : top + 16], tile)


def launches(rounds: int, dask: str | None, blocks: int = 4096) -> None:
    x = np.random.default_rng(1).random((blocks * 16, 256), np.float32)
    y = np.zeros_like(x)
    print(f"\nlaunches of {blocks} blocks, {x.nbytes >> 20} MB read and {y.nbytes >> 20} MB written")
    for turns in (0, 1, 4, 16):
        args = [x, y, len(x), turns]
        program: Program = work.compile(*args)
        with (
            open_executor("processes", WORKERS) as (processes, _),
            open_executor(dask, WORKERS) if dask is not None else nullcontext((None, 0)) as (there, _),
        ):

            def alone(program: Program = program, args: list[Any] = args) -> float:
                start = time.perf_counter()
                program.launch(args, blocks, threads=1)
                return time.perf_counter() - start

            def spread(executor: Any, program: Program = program, args: list[Any] = args) -> float:
                start = time.perf_counter()
                launch(program, args, blocks, executor=executor, jobs=WORKERS)
                return time.perf_counter() - start

            ways = {"this process": alone, f"{WORKERS} processes": lambda to=processes: spread(to)}
            if there is not None:
                ways[f"Dask, {WORKERS} workers"] = lambda to=there: spread(to)
            for way in ways.values():
                way()  # compiles, and starts workers
            found = in_turn(ways, rounds)
        start = time.perf_counter()
        footprints(program, args, blocks)
        looked = (time.perf_counter() - start) / blocks
        first = found["this process"]
        print(f"  {first / blocks * 1e6:7.1f} us of work a block, {looked * 1e6:.1f} us to find what it touches")
        for way, seconds in found.items():
            print(f"    {way:18} {seconds:7.3f} s {first / seconds:6.2f}x")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--programs", type=int, default=48, help="of the sample kernels (default 48)")
    parser.add_argument("--rounds", type=int, default=3, help="measured rounds (default 3)")
    given = parser.parse_args()
    with cluster() as dask:
        launches(given.rounds, dask)
        campaigns(given.checkout, given.programs, given.rounds, dask)


if __name__ == "__main__":
    main()
