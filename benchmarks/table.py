"""One table: what kernels take as machine code, beside plain NumPy doing the same work, and what is asked of them.

Run with ``make bench`` or ``python benchmarks/table.py [WORD ...]``: only rows whose names contain a word. Each pair is
measured in turn, in a process of its own, on one thread and on all processors; the ratios are those of the medians.
``--cpu`` takes processor time on one thread instead, for a machine that is busy.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

import ptokit
from ptokit.asm import read_module
from ptokit.run import Program, compile_program
from ptokit.targets import target

HERE = Path(__file__).parent
PROGRAMS = HERE.parent / "tests" / "data" / "programs" / "kernels"
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

Launch = Callable[[int], object]
Pair = tuple[Launch, Callable[[], object]]


class Row(NamedTuple):
    """A workload. ``target``: the largest ratio, on one thread and on all; in seconds for ``unit`` pieces of work."""

    name: str
    make: Callable[[], Pair]
    against: str
    target: tuple[float | None, float | None]
    unit: int = 0  # tile instructions: the target is seconds for each


def load(path: Path, on: str = "a5") -> Program:
    parsed = read_module(str(path), target=target(on))
    parsed.diagnostics.raise_if_errors()
    return compile_program(parsed.module, target(on))


def launches(program: Program, args: list[Any], blocks: int, **options: Any) -> Launch:
    return lambda threads: program.launch(args, blocks, backend="native", threads=threads, **options)


def numbers(*shape: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def looping(size: int, count: int) -> Pair:
    x = numbers(count * size, size)
    y, z = np.zeros_like(x), np.zeros_like(x)
    program = load(HERE / "kernels" / f"loop_{size}x{size}.pto")
    return launches(program, [x, y, count], 1), lambda: np.multiply(x, np.add(x, x, out=z), out=z)


def movement(height: int, width: int, megabytes: int) -> Pair:
    x = numbers(megabytes * 2**18 // width, width)
    y, z = np.zeros_like(x), np.zeros_like(x)
    program = load(HERE / "kernels" / f"copy_{height}x{width}.pto")
    return launches(program, [x, y, len(x)], len(x) // height), lambda: np.copyto(z, x)


def softmax() -> Pair:
    x = numbers(512 * 64, 128)
    y, e = np.zeros_like(x), np.zeros_like(x)

    def plain() -> None:
        np.exp(np.subtract(x, x.max(axis=1, keepdims=True), out=e), out=e)
        np.divide(e, e.sum(axis=1, keepdims=True), out=e)

    return launches(load(HERE / "kernels" / "softmax.pto"), [x, y, len(x)], 512), plain


def rmsnorm() -> Pair:
    x, g = numbers(4096, 512), numbers(1, 512)
    y, e = np.zeros_like(x), np.zeros_like(x)

    def plain() -> None:
        root = np.sqrt(np.multiply(x, x, out=e).sum(axis=1, keepdims=True) / np.float32(512) + np.float32(1e-6))
        np.multiply(np.divide(x, root, out=e), g, out=e)

    return launches(load(PROGRAMS / "rmsnorm.pto", "a2a3"), [x, g, y, len(x)], 1), plain


def layernorm() -> Pair:
    x, g, b = numbers(8192, 256), numbers(1, 256), numbers(1, 256)
    y, d, e = (np.zeros_like(x) for _ in range(3))

    def plain() -> None:
        np.subtract(x, x.sum(axis=1, keepdims=True) / np.float32(256), out=d)
        root = np.sqrt(np.multiply(d, d, out=e).sum(axis=1, keepdims=True) / np.float32(256) + np.float32(1e-5))
        np.add(np.multiply(np.divide(d, root, out=d), g, out=d), b, out=d)

    return launches(load(PROGRAMS / "layernorm.pto", "a2a3"), [x, g, b, y, len(x)], 1), plain


def gemm(mode: str) -> Pair:
    a, b = (numbers(1024, 1024, seed=s).astype(np.float16) for s in (1, 2))
    c, left, right = np.zeros((1024, 1024), np.float32), a.astype(np.float32), b.astype(np.float32)
    return launches(load(HERE / "kernels" / "gemm.pto"), [a, b, c], 64, matmul=mode), lambda: left @ right


def gemm_in_cpp() -> Pair:
    """A product lifted from C++, beside the same one as text."""
    a, b = (numbers(1024, 1024, seed=s).astype(np.float16) for s in (1, 2))
    text = load(HERE / "kernels" / "gemm.pto")
    args: list[Any] = [a, b, np.zeros((1024, 1024), np.float32)]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "gemm.cpp"
        file.write_text(ptokit.convert(HERE / "kernels" / "gemm.pto", "cpp", target="a5"), encoding="utf-8")
        kernels = ptokit.cpp(file, target="a5", define=["__PTO_AUTO__"])
        lifted = kernels[next(iter(kernels))].program
    return launches(lifted, args, 64), partial(launches(text, args, 64), 1)


def flash(mode: str) -> Pair:
    """Beside the formula with products in f32."""
    q, k, v = (numbers(n, 64, seed=n).astype(np.float16) for n in (256, 4096, 4095 + 1))
    o, s, w = np.zeros((256, 64), np.float32), np.zeros((64, 64), np.float32), np.zeros((64, 64), np.float32)
    p = np.zeros((64, 64), np.float16)
    wide = [x.astype(np.float32) for x in (q, k, v)]

    def plain() -> None:
        e = wide[0] @ wide[1].T * np.float32(0.125)
        e = np.exp(e - e.max(axis=1, keepdims=True))
        (e @ wide[2]) / e.sum(axis=1, keepdims=True)

    program = load(PROGRAMS / "flash_attention.pto", "a2a3")
    return launches(program, [q, k, v, o, s, p, w, 256, 4096], 1, matmul=mode), plain


def vector_add() -> Pair:
    x, y = numbers(2, 4 << 20)
    z, w = np.zeros_like(x), np.zeros_like(x)
    program = load(HERE / "kernels" / "vector_add.pto")
    return launches(program, [x, y, z], len(x) // 16384), lambda: np.add(x, y, out=w)


def gather() -> Pair:
    """A million elements of a table of as many."""
    table, index = numbers(1 << 20), np.random.default_rng(2).integers(0, 1 << 20, (1 << 14, 64)).astype(np.int32)
    y, z = np.zeros(index.shape, np.float32), np.zeros(index.shape, np.float32)
    program = load(HERE / "kernels" / "mgather.pto")
    args = [table, index, y, len(table) // 64, len(index)]
    return launches(program, args, len(index) // 64), lambda: np.take(table, index, out=z, mode="clip")


def scatter() -> Pair:
    index = np.random.default_rng(2).permutation(1 << 20).reshape(-1, 64).astype(np.int32)
    values, table, other = numbers(*index.shape), np.zeros(1 << 20, np.float32), np.zeros(1 << 20, np.float32)

    def plain() -> None:
        other[index] = values

    program = load(HERE / "kernels" / "mscatter.pto")
    return launches(program, [table, index, values, len(table) // 64, len(index)], len(index) // 64), plain


ROWS = [
    Row("one block over 16x16 tiles", partial(looping, 16, 10_000), "numpy", (0.1e-6, None), 40_000),
    Row("one block over 64x64 tiles", partial(looping, 64, 1000), "numpy", (0.6e-6, None), 4000),
    Row("movement, 64 MB in 64x256", partial(movement, 64, 256, 64), "memcpy", (1.1, None)),
    Row("movement, 16 MB in 16x16", partial(movement, 16, 16, 16), "memcpy", (1.3, None)),
    Row("softmax, 512 of 64x128", softmax, "numpy", (0.8, 0.45)),
    Row("RMSNorm, 4096 rows of 512", rmsnorm, "numpy", (0.8, None)),
    Row("layernorm, 8192 rows of 256", layernorm, "numpy", (0.8, None)),
    Row("GEMM 1024^3, fast", partial(gemm, "fast"), "numpy f32", (1.3, 1.3)),
    Row("GEMM 1024^3, exact", partial(gemm, "exact"), "numpy f32", (3.0, 3.0)),
    Row("GEMM 1024^3, exact, from C++", gemm_in_cpp, "as .pto", (1.1, None)),
    Row("flash attention 256x4096, fast", partial(flash, "fast"), "numpy f32", (1.0, None)),
    Row("flash attention 256x4096, exact", partial(flash, "exact"), "numpy f32", (1.0, None)),
    Row("gather of a million of f32", gather, "np.take", (1.2, None)),
    Row("scatter of a million of f32", scatter, "numpy", (1.2, None)),
    Row("vector registers, add of 16 MB", vector_add, "numpy", (1.2, None)),
]


def measured(row: Row, rounds: int, cpu: bool) -> list[float]:
    """Median seconds: ours and plain NumPy on one thread, and both on all processors; ``cpu``: the first two."""
    ours, plain = row.make()
    clock = time.process_time if cpu else time.perf_counter
    out: list[float] = []
    for threads in (1,) if cpu else (1, CORES):
        times: tuple[list[float], list[float]] = ([], [])
        with threadpool_limits(threads):
            for round in range(rounds + 1):
                for run, kept in zip((partial(ours, threads), plain), times):
                    start = clock()
                    run()
                    if round:
                        kept.append(clock() - start)
        out += [statistics.median(kept) for kept in times]
    return out


def started(*command: str) -> float:
    """Least seconds of a process out of five."""
    times = []
    for _ in range(5):
        start = time.perf_counter()
        subprocess.run([sys.executable, *command], check=True, capture_output=True)
        times.append(time.perf_counter() - start)
    return min(times)


def compiling() -> list[tuple[str, float, float]]:
    """Seconds to compile a kernel of 100 tile instructions, without and with the cache, and to start."""
    from ptokit.backends.native.program import NativeProgram

    tile = "!pto.tile_buf<vec, 16x64xf32>"
    ops = [("add", "a"), ("mul", "b"), ("max", "a"), ("sub", "b")] * 25
    lines = [f"%{name} = pto.alloc_tile : {tile}" for name in "ab"]
    lines += [f"pto.t{op} ins(%a, %b : {tile}, {tile}) outs(%{out} : {tile})" for op, out in ops]
    text = "\n".join(["func.func @k() {", *lines, "return", "}"])
    folder = Path(tempfile.mkdtemp())
    (folder / "k.pto").write_text(text)
    os.environ["PTOKIT_CACHE"] = str(folder)
    out = []
    warm = load(HERE / "kernels" / "copy_16x16.pto")  # importing LLVM is not compiling
    _ = NativeProgram(warm).loaded
    for name, asked in (("compile 100 tile instructions", 0.25), ("the same from the cache", 0.03)):
        program = load(folder / "k.pto")
        start = time.perf_counter()
        made = NativeProgram(program)
        _ = made.loaded
        out.append((name, time.perf_counter() - start, asked))
    run = ["-m", "ptokit", "run", str(HERE / "kernels" / "softmax.pto"), "-t", "a5"]
    run += [x for a in ("ones:f32:64x128", "zeros:f32:64x128", "64") for x in ("-a", a)]
    out.append(("ptokit run of a small kernel", started(*run), 0.35))
    out.append(("import ptokit", started("-c", "import ptokit") - started("-c", "pass"), 0.1))
    return out


def verdict(value: float, asked: float | None) -> str:
    return "" if asked is None else f"{'met' if value <= asked else 'missed'} ({asked:g})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("words", nargs="*", help="only rows whose names contain one of these")
    parser.add_argument("--rounds", type=int, default=11, help="measured rounds of each pair (default 11)")
    parser.add_argument("--cpu", action="store_true", help="processor time, on one thread only")
    given = parser.parse_args()
    os.environ["PTOKIT_CACHE"] = "off"
    os.environ["OPENBLAS_THREAD_TIMEOUT"] = "4"  # or its threads spin for 0.1 s behind each product, on our processors
    print(f"{'work':32} {'threads':>7} {'ours':>11} {'other':>11} {'ratio':>6}  target, against", flush=True)
    for row in ROWS:
        if given.words and not any(word in row.name for word in given.words):
            continue
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            times = pool.submit(measured, row, given.rounds, given.cpu).result()
        for threads, ours, other, asked in zip((1, CORES), times[::2], times[1::2], row.target):
            value, note = ours / other, ""
            if row.unit:
                value = ours / row.unit
                note = f", {value * 1e6:.3f} us an instruction"
            judged = verdict(value, asked)
            print(
                f"{row.name:32} {threads:7} {ours * 1e3:8.2f} ms {other * 1e3:8.2f} ms {ours / other:6.2f}  "
                f"{judged}{note}, {row.against}",
                flush=True,
            )
    if not given.words:
        for name, seconds, asked in compiling():
            print(f"{name:32} {'':7} {seconds * 1e3:8.1f} ms {'':11} {'':6}  {verdict(seconds, asked)}", flush=True)


if __name__ == "__main__":
    main()
