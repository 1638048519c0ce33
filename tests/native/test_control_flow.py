"""Random programs of loops, branches, calls and blocks give the same bytes as machine code and with NumPy."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from ptokit.asm import parse_module
from ptokit.diagnostics import DiagnosticError
from ptokit.run import compile_program
from ptokit.targets import A5

from ..run.random_control import LANES, SLOTS, ControlProgram

BLOCKS = 5


def after(seed: int, backend: str) -> tuple[bytes, bytes, list[object]]:
    program = compile_program(parse_module(ControlProgram(seed).text).module, A5)
    slots = np.random.default_rng(seed).integers(0, 4, (BLOCKS, SLOTS))
    raised, found = np.zeros((64, LANES), np.float32), []
    try:
        program.launch([slots, raised, seed % 5], BLOCKS, backend=backend)
    except DiagnosticError as error:
        found = [(d.rule, d.message, d.location, d.notes) for d in error.diagnostics]
    return slots.tobytes(), raised.tobytes(), found


@pytest.mark.parametrize("seed", range(8))
def test_same_bytes(seed: int) -> None:
    assert after(seed, "native") == after(seed, "numpy")


@pytest.mark.campaign
def test_many_programs() -> None:
    for seed in range(8, 400):
        assert after(seed, "native") == after(seed, "numpy"), seed
