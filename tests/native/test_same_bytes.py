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


def after(case: ProgramCase, backend: str) -> list[Any]:
    """The bytes of all array arguments after a run."""
    program = compiled(case.file, case.entry, case.target.name)
    args = [arg.make() if isinstance(arg, Pointer) else arg for arg in case.args]
    given = [
        a.view(p.dtype.storage) if isinstance(a, np.ndarray) and p.dtype is not None else a
        for a, p in zip(args, program.params)
    ]
    program.launch(given, case.blocks, backend=backend)
    return [a.tobytes() for a in args if isinstance(a, np.ndarray)]


@pytest.mark.parametrize("case", SUITE.cases, ids=lambda case: case.id)
def test_programs(case: ProgramCase) -> None:
    assert after(case, "native") == after(case, "numpy")
