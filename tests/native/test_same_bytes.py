"""Whole programs give the same bytes as machine code and with NumPy."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import numpy as np
import pytest

from ptokit.asm import read_module
from ptokit.conformance.programs import Pointer, ProgramCase, ProgramSuite
from ptokit.run import Program, compile_program
from ptokit.targets import target

from ..conformance.suites import PROGRAMS

pytest.importorskip("llvmlite")

SUITE = ProgramSuite(PROGRAMS, json.loads((PROGRAMS / "manifest.json").read_text()))


@cache
def compiled(file: str, entry: str, on: str) -> Program:
    read = read_module(PROGRAMS / file, target=target(on))
    return compile_program(read.module, target(on), entry=entry or None)


def after(case: ProgramCase, backend: str, matmul: str = "exact") -> list[Any]:
    """The bytes of all array arguments after a run."""
    program = compiled(case.file, case.entry, case.target.name)
    args = [arg.make() if isinstance(arg, Pointer) else arg for arg in case.args]
    given = [
        a.view(p.dtype.storage) if isinstance(a, np.ndarray) and p.dtype is not None else a
        for a, p in zip(args, program.params)
    ]
    program.launch(given, case.blocks, backend=backend, matmul=matmul)
    return [a.tobytes() for a in args if isinstance(a, np.ndarray)]


@pytest.mark.parametrize("case", SUITE.cases, ids=lambda case: case.id)
def test_programs(case: ProgramCase) -> None:
    assert after(case, "native") == after(case, "numpy")


@pytest.mark.parametrize("matmul", ["exact", "fast", "ref"])
@pytest.mark.parametrize("id", ["gemm_tiled", "gemm_relu_f16", "matmul_nz", "matmul_nz_bf16_a5", "flash_attention"])
def test_modes_of_products(id: str, matmul: str) -> None:
    case = min(
        (c for c in SUITE.cases if f".{id}--" in c.id), key=lambda c: sum(getattr(a, "elements", 0) for a in c.args)
    )
    assert after(case, "native", matmul) == after(case, "numpy", matmul)
