"""``ptokit run --executor``."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..cli.conftest import Run, ptokit
from .test_random import Moves

__all__ = ["ptokit"]

EXAMPLE = Path(__file__).parents[2] / "examples/pto/softmax.pto"
ON = ("--target", "a2a3", "--blocks", "8")
ARGS = (*ON, "--arg", "random:f32:400x512", "--arg", "zeros:f32:400x512", "--arg", "400")


def test_blocks_on_processes_leave_the_same_files(ptokit: Run, tmp_path: Path) -> None:
    one = ptokit("run", EXAMPLE, *ARGS, "--out", tmp_path / "one")
    two = ptokit("run", EXAMPLE, *ARGS, "--out", tmp_path / "two", "-j", "2")
    assert (one.status, two.status) == (0, 0)
    for name in ("x", "y"):
        assert (tmp_path / "one" / f"{name}.npy").read_bytes() == (tmp_path / "two" / f"{name}.npy").read_bytes()


def test_files_larger_than_memory_stay_files(ptokit: Run, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.random.default_rng(1).random((400, 512), np.float32))
    x, y = f"mmap:{tmp_path / 'x.npy'}", f"mmap:{tmp_path / 'y.npy'}:f32:400x512"
    args = (*ON, "--arg", x, "--arg", y, "--arg", "400")
    assert ptokit("run", EXAMPLE, *args, "--executor", "processes", "-j", "1").status == 0
    found = np.load(tmp_path / "y.npy")
    assert np.allclose(found.sum(axis=1), 1)


def test_a_launch_that_cannot_be_divided_says_so(ptokit: Run, tmp_path: Path) -> None:
    still = ("%rb0b = arith.constant 0 :", "%cb0b = arith.constant 0 :")  # where the first store of all blocks goes
    made = next(m for m in map(Moves, range(100)) if m.blocks > 1 and all(line in m.text for line in still))
    (tmp_path / "k.pto").write_text(made.text)
    args = [f"zeros:f32:{rows}x{cols}" for rows, cols in made.shapes.values()]
    given = [text for arg in args for text in ("-a", arg)]
    ran = ptokit("run", tmp_path / "k.pto", "-t", "a5", "-b", made.blocks, *given, "-j", "1")
    assert ran.status == 0
    assert "one worker runs all blocks of k: blocks 0 and 1 use the same bytes of argument " in ran.out


def test_an_executor_that_there_is_not(ptokit: Run) -> None:
    ran = ptokit("run", EXAMPLE, *ARGS, "--executor", "nowhere")
    assert (ran.status, "[RUN-EXECUTOR]" in ran.err) == (1, True)
