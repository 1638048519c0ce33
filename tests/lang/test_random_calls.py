"""Random kernels of Python: text and what workers are sent is the same program."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ptokit as pto
from ptokit.asm import parse_module, print_module
from ptokit.asm.convert import FORMS, convert
from ptokit.ir import Module
from ptokit.ir.verify import verify
from ptokit.launches.launch import launch
from ptokit.run import Program, compile_program

from ..launches.conftest import Inline
from .random_calls import RandomKernel, callable_names


def left_by(go: Any, args: list[Any]) -> tuple[list[bytes], list[Any]]:
    """What a run leaves in its arguments, and what it finds."""
    given = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
    found: list[Any] = []
    try:
        go(given)
    except pto.DiagnosticError as error:
        found = [d.rule for d in error.diagnostics]
    return [a.tobytes() for a in given if isinstance(a, np.ndarray)], found


def read_back(text: str, kernel: pto.Kernel) -> Module:
    read = parse_module(text, "kernel.pto", target=kernel.target)
    assert not read.diagnostics.errors, f"read: {read.diagnostics.errors[0].rule}"
    found = verify(read.module, kernel.target, extended=kernel.extended).errors
    assert not found, f"check: {found[0].rule}"
    return read.module


def same(made: RandomKernel) -> str:
    """Compare; how the launch of the kernel itself ended."""
    kernel, args = made.kernel, made.arguments()
    assert kernel is not None
    try:
        program: Program = kernel.compile()
    except pto.DiagnosticError:
        return "not compiled"
    wanted = left_by(lambda given: program.launch(given, made.blocks), args)
    try:
        text = kernel.to_pto()
    except pto.DiagnosticError as refused:
        if "left tiles in text" not in str(refused):
            raise
        return "layout of no text"
    module = read_back(text, kernel)
    assert print_module(module) == text, "fixed point"

    def runs(module: Module, what: str) -> None:
        again = compile_program(module, kernel.target, entry=kernel.name, extended=kernel.extended)
        assert left_by(lambda given: again.launch(given, made.blocks), args) == wanted, what

    runs(module, "bytes of the text")
    for form in FORMS if made.seed % 3 == 0 else ():  # it takes longer than all else
        converted = convert(module, form)
        if converted.text is not None:
            other = read_back(converted.text, kernel)
            assert convert(other, form).text == converted.text, f"fixed point of {form}"
            runs(other, f"bytes of {form}")
    executor = Inline()
    found = left_by(
        lambda given: launch(program, given, made.blocks, executor=executor, jobs=2, say=lambda _: None), args
    )
    assert found == wanted, "bytes of workers"
    return "ran" if not wanted[1] else "failed alike"


def compare(seeds: range, folder: Path) -> tuple[Counter[str], Counter[str]]:
    """How runs ended, and how many kernels call each instruction."""
    ends: Counter[str] = Counter()
    called: Counter[str] = Counter()
    for seed in seeds:
        made = RandomKernel(seed, folder)
        if made.kernel is None:
            ends["refused"] += 1
            continue
        try:
            end = same(made)
        except Exception as error:
            raise AssertionError(f"seed {seed}: {error}\n{made.source}") from error
        ends[end] += 1
        if end in ("ran", "failed alike"):
            called.update({call.instr.name for call in made.calls})
    return ends, called


@pytest.mark.filterwarnings("ignore::ptokit.KernelWarning")
def test_random_kernels(tmp_path: Path) -> None:
    ends, called = compare(range(40), tmp_path)
    assert ends["ran"] > 10
    assert len(called) > 15


@pytest.mark.campaign
def test_many_random_kernels(tmp_path: Path) -> None:
    ends, called = compare(range(10_000, 22_000), tmp_path)
    assert ends["ran"] > 5000
    assert len(called) > len(callable_names()) * 3 // 4
