"""Predicates go through on-chip memory as machine code, to the same bytes as with NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from ptokit.backends.native.program import prepare
from ptokit.diagnostics import DiagnosticError
from ptokit.run import Program, compile_program
from ptokit.targets import target

from ..isa.vector.programs import read
from ..isa.vector.test_predicate_memory import POINTER, data, program

pytest.importorskip("llvmlite")

MASK = "!pto.mask<b8>"
TO = f'    pto.psts %m, %q[%c0], "NORM" : {MASK}, {POINTER}, index\n'
FROM = f'    %m = pto.plds %p[%c0], "NORM" : {POINTER}, index -> {MASK}\n'
W = "!pto.ptr<ui32, ub>"
LOADS = [
    form.format(dist)
    for dist in ("NORM", "US", "DS")
    for form in (
        f'    %m = pto.plds %p[%c32], "{{}}" : {POINTER}, index -> {MASK}\n',
        f'    %m = pto.pldi %p[%c2], "{{}}" : {POINTER}, index -> {MASK}\n',
        f'    %m = pto.pldi %p, 4, "{{}}" : {POINTER}, i32 -> {MASK}\n',
        f'    %m, %e = pto.plds %p[%c64], "{{}}" : {POINTER}, index -> {MASK}, {POINTER}\n'
        f'    pto.psts %m, %q[%c64], "NORM" : {MASK}, {POINTER}, index\n'
        f'    %m2 = pto.plds %e[%c0], "NORM" : {POINTER}, index -> {MASK}\n'
        f'    pto.psts %m2, %q[%c32], "NORM" : {MASK}, {POINTER}, index\n',
    )
]
STORES = [
    form.format(dist)
    for dist in ("NORM", "PK")
    for form in (
        f'    pto.psts %m, %q[%c64], "{{}}" : {MASK}, {POINTER}, index\n',
        f'    pto.psti %m, %q[%c2], "{{}}" : {MASK}, {POINTER}, index\n',
        f'    pto.psti %m, %q, 8, "{{}}" : {MASK}, {POINTER}, i32\n',
        f'    %e = pto.psts %m, %w[%c64], "{{}}" : {MASK}, {W}, index -> {W}\n'
        f'    pto.psts %m, %e[%c0], "NORM" : {MASK}, {W}, index\n',
    )
]
NUMBERS = "  %c2 = arith.constant 2 : index\n  %c0 = "


def compiled(body: str) -> Program:
    return compile_program(read(program(body).replace("  %c0 = ", NUMBERS, 1)), target("a5"))


@pytest.mark.parametrize("body", [*(load + TO for load in LOADS), *(FROM + store for store in STORES)])
def test_both_backends(body: str) -> None:
    made = compiled(body)
    called = {step.op.name for step in prepare(made).made.module.called}
    assert not {"pto.plds", "pto.pldi", "pto.psts", "pto.psti"} & called
    found = []
    for backend in ("numpy", "native"):
        y = np.zeros(256, np.uint8)
        made.launch([data(), y], 2, backend=backend, threads=1)
        found.append(y)
    assert found[0].tobytes() == found[1].tobytes()
    assert found[0].any()


@pytest.mark.parametrize("bad", ["%c2", "%far"])
def test_a_place_that_cannot_be_is_the_same_finding(bad: str) -> None:
    body = f'    %far = arith.constant 1048576 : index\n    pto.psts %m, %q[{bad}], "NORM" : {MASK}, {POINTER}, index\n'
    made, found = compiled(FROM + body), []
    for backend in ("numpy", "native"):
        with pytest.raises(DiagnosticError) as error:
            made.launch([data(), np.zeros(256, np.uint8)], 1, backend=backend)
        found.append([(d.rule, d.message, d.location) for d in error.value.diagnostics])
    assert found[0] == found[1]
