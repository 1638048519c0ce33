"""Random programs of threads, against one thread after the other in Python."""

from __future__ import annotations

import numpy as np
import pytest

from .programs import launch, run
from .random_threads import THREADS, Program


def check(seed: int, backend: str = "numpy") -> None:
    """What threads store is what one thread after the other stores."""
    program, rng = Program(seed), np.random.default_rng(seed)
    x, y = (rng.integers(-(2**31), 2**31, THREADS).astype(np.int32) for _ in range(2))
    x[::3] = np.arange(len(x[::3]))
    out = np.full((4, THREADS), -7, np.int32)
    body = "\n".join(program.text)
    text = launch(body, (THREADS, 1, 1), more=program.functions, x="i32", y="i32", out="i32")
    run(text, x, y, out, backend=backend)
    for thread in range(THREADS):
        expected = [-7] * 4
        for slot, value in program.of(thread, int(x[thread]), int(y[thread])).items():
            expected[slot] = value
        assert out[:, thread].tolist() == expected, f"seed {seed}, thread {thread}\n{text}"


@pytest.mark.parametrize("seed", range(40))
def test_random_threads(seed: int) -> None:
    check(seed)


@pytest.mark.parametrize("seed", range(40, 55))
def test_random_threads_step_by_step(seed: int) -> None:
    check(seed, "reference")


def test_programs_have_control_flow_of_every_kind() -> None:
    texts = ["\n".join(Program(seed).text) + Program(seed).functions for seed in range(40)]
    for name in ("scf.for", "scf.while", "scf.if", "scf.index_switch", "scf.execute_region", "cf.cond_br", "cf.switch"):
        assert sum(name in text for text in texts) > 5, name


@pytest.mark.campaign
def test_many_random_threads() -> None:
    for seed in range(100, 1500):
        check(seed)
