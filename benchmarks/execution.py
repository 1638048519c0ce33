"""Speed of the NumPy backend against plain NumPy doing the same work, side by side in one process.

Run with ``python benchmarks/execution.py``. Every pair is measured alternately in a process of its own, so that no pair
meets the memory another has left behind; the ratio is of the medians.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from ptokit.asm import read_module
from ptokit.run import Program, compile_program
from ptokit.targets import target

KERNELS = Path(__file__).parent / "kernels"


def load(name: str) -> Program:
    """A compiled kernel of this folder, for A5."""
    parsed = read_module(str(KERNELS / name), target=target("a5"))
    parsed.diagnostics.raise_if_errors()
    return compile_program(parsed.module, target("a5"))


def compare(ours: Callable[[], object], plain: Callable[[], object], rounds: int) -> tuple[float, float]:
    """Median seconds of both, measured in turn after one warm-up."""
    times: tuple[list[float], list[float]] = ([], [])
    for round in range(rounds + 1):
        for run, kept in zip((ours, plain), times):
            start = time.perf_counter()
            run()
            if round:
                kept.append(time.perf_counter() - start)
    return statistics.median(times[0]), statistics.median(times[1])


def gemm(mode: str, rounds: int) -> tuple[str, float, float, str]:
    """1024 x 1024 x 1024, f16 inputs, f32 result, against NumPy's own float32 product."""
    rng = np.random.default_rng(1)
    a = rng.standard_normal((1024, 1024)).astype(np.float16)
    b = rng.standard_normal((1024, 1024)).astype(np.float16)
    c = np.zeros((1024, 1024), np.float32)
    a32, b32 = a.astype(np.float32), b.astype(np.float32)
    program = load("gemm.pto")
    ours, plain = compare(
        lambda: program.launch([a, b, c], 64, matmul=mode, backend="numpy"), lambda: a32 @ b32, rounds
    )
    assert np.allclose(c, a32 @ b32, rtol=1e-3, atol=1e-2)
    return f"tiled GEMM 1024^3, f16 to f32, {mode}", ours, plain, "numpy f32 matmul"


def softmax(rounds: int) -> tuple[str, float, float, str]:
    """512 tiles of 64 x 128."""
    x = np.random.default_rng(2).standard_normal((512 * 64, 128)).astype(np.float32)
    y = np.zeros_like(x)

    def plain() -> np.ndarray:
        e = np.exp(x - x.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)

    program = load("softmax.pto")
    ours, other = compare(lambda: program.launch([x, y, len(x)], 512, backend="numpy"), plain, rounds)
    assert np.allclose(y, plain(), rtol=1e-5)
    return "softmax, 512 tiles of 64x128", ours, other, "numpy softmax"


def movement(height: int, width: int, megabytes: int, rounds: int) -> tuple[str, float, float, str]:
    """Load and store of every tile."""
    x = np.random.default_rng(3).random((megabytes * 2**18 // width, width), dtype=np.float32)
    y, z = np.zeros_like(x), np.zeros_like(x)
    program = load(f"copy_{height}x{width}.pto")
    blocks = len(x) // height
    ours, plain = compare(
        lambda: program.launch([x, y, len(x)], blocks, backend="numpy"), lambda: np.copyto(z, x), rounds
    )
    assert (x == y).all()
    return f"movement, {megabytes} MB in {height}x{width} tiles", ours, plain, "memcpy"


def vector_add(rounds: int) -> tuple[str, float, float, str]:
    """16 MB each of x, y and z: copies to and from UB, and a loop of vlds, vadd and vsts."""
    rng = np.random.default_rng(4)
    x, y = rng.random((2, 4 << 20), dtype=np.float32)
    z, w = np.zeros_like(x), np.zeros_like(x)
    program = load("vector_add.pto")
    ours, plain = compare(
        lambda: program.launch([x, y, z], len(x) // 16384, backend="numpy"), lambda: np.add(x, y, out=w), rounds
    )
    assert (z == w).all()
    return "vector registers: add of 16 MB", ours, plain, "numpy add"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15, help="measured rounds of each pair (default 15)")
    rounds = parser.parse_args().rounds
    print(f"{'work':44} {'ptokit':>10} {'other':>10} {'ratio':>7}  against")
    for measure, *args in PAIRS:
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            name, ours, plain, against = pool.submit(measure, *args, rounds).result()
        print(f"{name:44} {ours * 1e3:7.2f} ms {plain * 1e3:7.2f} ms {ours / plain:6.2f}x  {against}", flush=True)


PAIRS: list[tuple[Callable[..., tuple[str, float, float, str]], *tuple[object, ...]]] = [
    (gemm, "fast"),
    (gemm, "exact"),
    (softmax,),
    (movement, 64, 256, 64),
    (movement, 16, 16, 16),
    (vector_add,),
]

if __name__ == "__main__":
    main()
