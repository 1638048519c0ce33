"""Every example runs and computes what it says."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ptokit.asm import parse_module, read_module
from ptokit.ir.verify import verify
from ptokit.run import compile_program
from ptokit.sanitize import sanitize, uninit
from ptokit.targets import TARGETS, Target
from ptokit.types.dtypes import DTYPES

EXAMPLES = Path(__file__).parents[1] / "examples"
FAULTS = {("UB-CAPACITY", 22), ("EW-04", 28)}  # of faulty.pto
PIPES = ("flash_attention.pto", "split_k.pto")  # for a5, see test_pipe_examples.py
RANKS = ("ring_all_reduce.pto",)  # see test_rank_examples.py
KERNELS = sorted(p.name for p in (EXAMPLES / "pto").glob("*.pto") if p.name not in ("faulty.pto", *PIPES, *RANKS))


def launch(kernel: str, target: Target, blocks: int, *args: object) -> None:
    result = read_module(str(EXAMPLES / "pto" / kernel), target=target)
    assert list(result.diagnostics) == []
    compile_program(result.module, target).launch(list(args), blocks)


def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


@pytest.fixture(params=[t for t in TARGETS.values() if not t.missing], ids=lambda t: t.name)
def target(request: pytest.FixtureRequest) -> Target:
    return request.param


@pytest.mark.parametrize("kernel", KERNELS)
def test_kernels_have_no_findings(kernel: str, target: Target) -> None:
    result = read_module(str(EXAMPLES / "pto" / kernel), target=target)
    found = [d.rule for d in [*result.diagnostics, *verify(result.module, target)]]
    assert found == (["VEC-A3-01"] if "vector" in kernel and not target.vector_registers else [])


def test_the_racy_kernel_has_one_race() -> None:
    on = TARGETS["a2a3"]
    result = read_module(str(EXAMPLES / "pto" / "racy.pto"), target=on)
    x = np.ones((64, 256), np.float32)
    report = sanitize(result.module, on, [x, uninit((64, 256), DTYPES["f32"]), 4])
    assert [(d.rule, d.location.line) for d in report.diagnostics] == [("RACE-WAR", 22)]


@pytest.mark.parametrize(("n", "blocks"), [(1, 1), (4096, 3), (4097, 2), (100_003, 7)])
def test_vec_add(target: Target, n: int, blocks: int) -> None:
    x, y = np.random.default_rng(n).random((2, n), np.float32)
    z = np.full(n + 8, 7, np.float32)
    launch("vec_add.pto", target, blocks, x, y, z, n)
    assert np.array_equal(z[:n], x + y)
    assert (z[n:] == 7).all()


@pytest.mark.parametrize(("rows", "blocks"), [(1, 1), (16, 2), (203, 5)])
def test_softmax(target: Target, rows: int, blocks: int) -> None:
    x = (10 * np.random.default_rng(rows).standard_normal((rows, 512))).astype(np.float32)
    y = np.full((rows + 1, 512), 7, np.float32)
    launch("softmax.pto", target, blocks, x, y, rows)
    np.testing.assert_allclose(y[:rows], softmax(x.astype(np.float64)), rtol=2e-6, atol=1e-12)
    assert (y[rows] == 7).all()


@pytest.mark.parametrize(("rows", "blocks"), [(1, 1), (35, 2)])
@pytest.mark.parametrize("target", [TARGETS["cpu"], TARGETS["a5"]], ids=lambda t: t.name)
def test_softmax_on_registers_agrees_with_the_one_on_tiles(target: Target, rows: int, blocks: int) -> None:
    """Both compute the same exponentials; their sums and quotients round 7 + 1 + 1 and 1 + 1 times."""
    x = (10 * np.random.default_rng(rows).standard_normal((rows, 512))).astype(np.float32)
    y, tiles = (np.full((rows + 1, 512), 7, np.float32) for _ in range(2))
    launch("vector_softmax.pto", target, blocks, x, y, rows)
    launch("softmax.pto", target, blocks, x, tiles, rows)
    np.testing.assert_allclose(y, tiles, rtol=11 * 2.0**-24)
    assert (y[rows] == 7).all()


def test_the_softmax_on_registers_in_python_has_no_findings_and_agrees_too() -> None:
    kernel = runpy.run_path(str(EXAMPLES / "python" / "vector_softmax.py"))["softmax"]
    x = (10 * np.random.default_rng(1).standard_normal((35, 512))).astype(np.float32)
    y, tiles = np.zeros_like(x), np.zeros_like(x)
    kernel[2](x, y, 35)
    launch("softmax.pto", TARGETS["a5"], 2, x, tiles, 35)
    np.testing.assert_allclose(y, tiles, rtol=11 * 2.0**-24)
    assert list(kernel[2].sanitize(x, y, 35).diagnostics) == []


VECTOR_SOFTMAX = (EXAMPLES / "pto" / "vector_softmax.pto").read_text().splitlines(True)
WAITS = [i for i, line in enumerate(VECTOR_SOFTMAX) if "wait_flag" in line and line.startswith("      ")]


@pytest.mark.parametrize("removed", [None, *WAITS])
def test_a_wait_removed_from_the_softmax_on_registers_is_a_race(removed: int | None) -> None:
    lines = [line for i, line in enumerate(VECTOR_SOFTMAX) if i != removed]
    result = parse_module("".join(lines))
    assert list(result.diagnostics) == []
    x = np.ones((33, 512), np.float32)
    report = sanitize(result.module, "a5", [x, uninit((33, 512), DTYPES["f32"]), 33])
    races = {d.rule for d in report.symptoms if d.rule.startswith("RACE")}
    assert bool(races) == (removed is not None)
    assert removed is not None or list(report.diagnostics) == []


@pytest.mark.parametrize(("m", "k", "n", "blocks"), [(128, 64, 128, 1), (256, 320, 384, 4)])
def test_gemm(target: Target, m: int, k: int, n: int, blocks: int) -> None:
    rng = np.random.default_rng(m)
    a, b = rng.integers(-8, 8, (m, k)), rng.integers(-8, 8, (k, n))
    c = np.zeros((m, n), np.float32)
    launch("gemm.pto", target, blocks, a.astype(np.float16), b.astype(np.float16), c, m, k, n)
    assert np.array_equal(c, a @ b)


def test_the_faulty_kernel_is_refused_for_its_mistakes() -> None:
    result = read_module(str(EXAMPLES / "pto" / "faulty.pto"), target=TARGETS["a2a3"])
    assert list(result.diagnostics) == []
    found = {(d.rule, d.location.line) for d in verify(result.module, TARGETS["a2a3"]).errors}
    assert found == FAULTS


@pytest.mark.parametrize("example", sorted(p.name for p in (EXAMPLES / "python").glob("*.py")))
def test_python_examples_run(example: str, capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(EXAMPLES / "python" / example), run_name="__main__")
    assert "NumPy" in capsys.readouterr().out


def test_the_demonstration_runs(tmp_path: Path) -> None:
    ptokit = tmp_path / "ptokit"
    ptokit.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m ptokit "$@"\n')
    ptokit.chmod(0o755)
    shown = subprocess.run(["sh", EXAMPLES / "demo.sh", ptokit], capture_output=True, text=True, timeout=120)
    assert shown.returncode == 0, shown.stderr
    assert "softmax on a2a3: 4 blocks" in shown.stdout
    assert "gemm on a5: 4 blocks" in shown.stdout
    assert shown.stderr.count(": error: ") == len(FAULTS) + 1  # and the race
